"""The lineage that one run reports for one output: edges, sources and open questions."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple, get_args

from msgspec import Struct, field

from headwater.lineage.edges.candidates import JobOutput
from headwater.lineage.edges.facet_contents import FacetContents, SentEdge, Transformation
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import NameResolver

ColumnKey = Callable[[Name, str], str]
"""(dataset, column as sent) → the key that all spellings of the column share (rule 12)."""


SchemaAt = Callable[[Name, int], str | None]
"""(dataset, time in microseconds) → hash of its columns at that time (rule 12.7), None without a list."""


TimedLine = tuple[SentEdge, int | None]
"""A line of a facet and the time of its event in microseconds. The time decides which dataset a name means.

The time is None if the line follows from the run's SQL. Its source is then a resolved dataset.
"""


class Edge(Struct, frozen=True, gc=False):
    """An edge from an input column to an output column, or to all of them if `target` is None (always INDIRECT)."""

    source: Name
    column: str
    target: str | None
    transformation: Transformation = field(name="how")  # the name in stored edge sets


class ColumnMention(Struct, frozen=True, gc=False):
    """Columns of a dataset, by key, that lineage of a run names and that no edge of the run has (rule 12.9)."""

    dataset: Name
    columns: tuple[str, ...]


class AmbiguousName(Struct, frozen=True, gc=False):
    """A name in lineage that the run does not list, and the inputs that it may mean (rule 4.10).

    source: the dataset at which its edges start.
    separate_dataset: the dataset that the name means if lineage in force knows it; the name is not ambiguous then.
    """

    source: Name
    possible_inputs: tuple[Name, ...] = field(name="inputs")
    separate_dataset: Name | None = field(default=None, name="dataset")


class JobFeed(Struct, frozen=True, gc=False):
    """A job and its sources in a `lineage` facet: datasets and other jobs. Jobs have their names as sent."""

    job: Name
    source_datasets: tuple[Name, ...] = field(default=(), name="datasets")
    source_jobs: tuple[Name, ...] = field(default=(), name="jobs")


class OutputLineage(Struct, frozen=True, gc=False):
    """The lineage that one run reports for one output. It is the content of an edge set.

    output: None if the run reports no output; the inputs of a streaming job are then opaque.
    dataset_wide_targets: keys of the columns that dataset-wide edges lead to; empty without such edges.
    sourceless_columns: keys of columns that are made of no column.
    source_datasets: datasets that feed the output: sources in its column lineage (`column_sources`), and inputs.
    other_inputs: other datasets that the run reads.
    opaque_inputs: inputs that the run does not cover, or that feed an output without column lineage (rules 4.5, 4.6).
    has_column_lineage: the run carries column lineage for the output.
    has_transformations: some line of the run has a transformation, so the run reports its filters and joins.
    is_inferred: all edges follow from the run's SQL.
    unread_sql_reason: why nothing, or not everything, follows from the SQL.
    unaccounted_columns: keys of columns that the run may have written without reporting their sources (rule 4.9),
    although it carries column lineage; `ALL_COLUMNS` if no column of the output is known.
    ambiguous_names: names that may mean inputs, unless they are separate datasets (rule 4.10).
    doubtful_sources: datasets that the lineage names and that the SQL explains differently (rule 4.10a); their
    edges account for no column.
    attempt_state: the state of the run or attempt if it did not complete; it then proves nothing.
    column_mentions: columns that the lineage, or lineage that newer events of the run replaced, names without an edge.
    source_jobs: jobs, by their names as sent, that feed the output or its unaccounted columns (rule 4.12).
    job_feeds: jobs that the run reports as targets, without an output (rule 4.13); their sources are opaque.
    has_conflicting_events: the run did not complete, and its events differ about the output (rule 6.10).
    """

    output: Name | None
    edges: tuple[Edge, ...] = ()
    dataset_wide_targets: tuple[str, ...] = field(default=(), name="columns")
    sourceless_columns: tuple[str, ...] = field(default=(), name="bare")
    source_datasets: tuple[Name, ...] = field(default=(), name="tables")
    column_sources: tuple[Name, ...] = field(default=(), name="named")
    other_inputs: tuple[Name, ...] = field(default=(), name="also_read")
    opaque_inputs: tuple[Name, ...] = field(default=(), name="opaque")
    has_column_lineage: bool = field(default=False, name="carries")
    has_transformations: bool = field(default=True, name="shows")
    rows_confirmed: bool = field(default=False, name="landed")
    is_inferred: bool = field(default=False, name="inferred")
    unread_sql_reason: str | None = field(default=None, name="unread")
    unaccounted_columns: tuple[str, ...] = field(default=(), name="unaccounted")
    ambiguous_names: tuple[AmbiguousName, ...] = field(default=(), name="doubts")
    attempt_state: str | None = field(default=None, name="attempt")
    column_mentions: tuple[ColumnMention, ...] = field(default=(), name="mentions")
    doubtful_sources: tuple[Name, ...] = field(default=(), name="doubtful")
    source_jobs: tuple[Name, ...] = field(default=(), name="jobs")
    job_feeds: tuple[JobFeed, ...] = field(default=(), name="feeds")
    has_conflicting_events: bool = field(default=False, name="disagrees")

    @property
    def has_sources(self) -> bool:
        """Whether the run reports sources of the output, or columns that are made of no column."""
        return bool(self.has_column_lineage or self.source_datasets or self.source_jobs)

    @property
    def has_hidden_inputs(self) -> bool:
        """Whether there are inputs that other runs may explain (rule 4.7)."""
        return bool(self.hidden_inputs)

    @property
    def hidden_inputs(self) -> tuple[Name, ...]:
        """The inputs whose columns may be used in ways that the run does not report."""
        if self.unaccounted_columns or self.attempt_state:
            return self.read_datasets
        return (*self.opaque_inputs, *(name for doubt in self.ambiguous_names for name in doubt.possible_inputs))

    def direct_targets_of(self, dataset: Name) -> set[str]:
        """Return the keys of the columns that DIRECT edges from a dataset lead to."""
        return {
            edge.target
            for edge in self.edges
            if edge.source == dataset and edge.target is not None and edge.transformation.is_direct
        }

    @property
    def read_datasets(self) -> tuple[Name, ...]:
        """All datasets that the output may be made of; some may occur twice."""
        return (*self.opaque_inputs, *self.source_datasets, *self.other_inputs)

    @property
    def named_datasets(self) -> Iterator[Name]:
        """All datasets that it names in addition to its output. Names may repeat."""
        yield from (*self.read_datasets, *self.column_sources, *self.doubtful_sources)
        yield from (edge.source for edge in self.edges)
        yield from (each.dataset for each in self.column_mentions)
        for doubt in self.ambiguous_names:
            yield from (doubt.source, *doubt.possible_inputs)
        for feed in self.job_feeds:
            yield from feed.source_datasets

    @property
    def proof_key(self) -> frozenset[object]:
        """A value to compare what two edge sets prove; subtypes, descriptions and reasons make no difference."""
        edges = {
            (edge.source, edge.column, target, edge.transformation.is_direct, edge.transformation.is_masked)
            for edge in self.edges
            for target in ((edge.target,) if edge.target is not None else self.dataset_wide_targets)
        }
        parts = {
            "reads": frozenset(self.read_datasets),
            "bare": self.sourceless_columns,
            "left out": self.unaccounted_columns,
            "doubts": frozenset(self.ambiguous_names),
            "jobs": self.source_jobs,
            "feeds": self.job_feeds,
            "disagrees": self.has_conflicting_events,
        }
        return frozenset(
            {*edges, *parts.items(), ("is", self.output, self.has_column_lineage, self.has_transformations)}
        )


class EdgeRules(NamedTuple):
    """What the derivation of edges needs in addition to the run."""

    contents: FacetContents
    naming: NameResolver
    column_key: ColumnKey
    schema_at: SchemaAt


def inputs_other_than_output(lineage: OutputLineage) -> Iterable[Name]:
    """Yield the datasets that a run reads to write a different dataset; a MERGE of a table into itself has none."""
    own = lineage.output.plain if lineage.output is not None and not lineage.attempt_state else None
    return (name for name in (*lineage.source_datasets, *lineage.other_inputs) if own is not None and name.plain != own)


EdgeOrigin = Literal["observed", "declared", "inferred"]


EDGE_ORIGINS: frozenset[EdgeOrigin] = frozenset(get_args(EdgeOrigin))


def edge_origin(job_output: JobOutput, lineage: OutputLineage) -> EdgeOrigin:
    """Return the origin of the lineage of an output."""
    if lineage.is_inferred:
        return "inferred"
    return "declared" if job_output.layer == "declared" else "observed"
