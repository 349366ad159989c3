"""The lineage that one run reports for one output: edges, sources, and what the run leaves open."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple, get_args

from msgspec import Struct, field

from headwater.lineage.edges.candidates import JobOutput
from headwater.lineage.edges.facet_contents import FacetContents, SentEdge, Transformation
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import NameResolver

ColumnKey = Callable[[Name, str], str]
"""(dataset, column as sent) → key that all spellings of the column share (rule 12)"""


SchemaAt = Callable[[Name, int], str | None]
"""(dataset, time in us) → hash of the columns at the time (rule 12.7), or None if no event lists columns"""


TimedLine = tuple[SentEdge, int | None]
"""A line of a facet and the time of its event in microseconds. The time decides which dataset a name means.

The time is None if the line follows from the SQL of the run, or if rule 4.10 replaced its source by an input of the
run. The source is then a resolved dataset.
"""


class Edge(Struct, frozen=True, gc=False):
    """An edge from the column of an input to columns of the output.

    source: the input. column: the key of its column.
    target: the key of the output column. If it is None, the edge leads to all columns of the output and is INDIRECT.
    """

    source: Name
    column: str
    target: str | None
    transformation: Transformation = field(name="how")  # the name in stored edge sets


class ColumnMention(Struct, frozen=True, gc=False):
    """The keys of columns of a dataset that lineage of a run names although no edge of the run has them (rule 12.9)."""

    dataset: Name
    columns: tuple[str, ...]


class AmbiguousName(Struct, frozen=True, gc=False):
    """A name in lineage that the run does not list, and the inputs that it may mean (rule 4.10).

    source: the dataset at which the edges from this name start.
    possible_inputs: the inputs of the run that the name may mean.
    separate_dataset: the dataset that the name means if lineage in force contains this dataset. The name is then not
    ambiguous. None if there is no such dataset.
    """

    source: Name
    possible_inputs: tuple[Name, ...] = field(name="inputs")
    separate_dataset: Name | None = field(default=None, name="dataset")


class JobFeed(Struct, frozen=True, gc=False):
    """A job that a `lineage` facet names as a target, with the datasets and jobs that feed this job.

    Jobs have their names as sent.
    """

    job: Name
    source_datasets: tuple[Name, ...] = field(default=(), name="datasets")
    source_jobs: tuple[Name, ...] = field(default=(), name="jobs")


class OutputLineage(Struct, frozen=True, gc=False):
    """The lineage that one run reports for one output. This is the content of an edge set.

    output: the output; None if the run reports no output. The inputs of a streaming job without outputs are opaque.
    edges: the edges from columns of inputs to the output.
    dataset_wide_targets: the keys of the columns to which dataset-wide edges lead; empty without dataset-wide edges.
    sourceless_columns: the keys of the output columns that are made of no column.
    source_datasets: the datasets that feed the output, both inputs of the run and sources in column lineage.
    column_sources: the datasets that the column lineage of the output names as sources.
    other_inputs: the other datasets that the run reads.
    opaque_inputs: the inputs that the run does not cover, and the inputs that feed an output without column lineage
    (rules 4.5, 4.6).
    has_column_lineage: whether the run carries column lineage for the output (rule 4.4).
    has_transformations: whether some line of the run has a transformation. If so, the run reports filters and joins.
    rows_confirmed: whether the events prove that the run wrote rows of the output.
    is_inferred: whether all edges follow from the SQL of the run.
    unread_sql_reason: why no lineage, or incomplete lineage, follows from the SQL; None if there is no such reason.
    unaccounted_columns: the keys of the columns that the run may have written without reporting their sources, although
    the run carries column lineage (rule 4.9). It is `(ALL_COLUMNS,)` if no column of the output is known.
    ambiguous_names: the names in the lineage that may mean inputs, unless they are separate datasets (rule 4.10).
    doubtful_sources: the datasets that the lineage names and that the SQL explains differently (rule 4.10a). Edges from
    these datasets do not account for columns.
    attempt_state: the state of the run or attempt if it did not complete, else None. Such a run proves nothing.
    column_mentions: the columns that the lineage names without an edge. This includes lineage that newer events of the
    run replaced.
    source_jobs: the jobs, by their names as sent, that feed the output or its unaccounted columns (rule 4.12).
    job_feeds: the jobs that the run reports as targets (rule 4.13). Then `output` is None, and all sources are opaque.
    has_conflicting_events: whether the run did not complete and its events contradict each other (rule 6.10).
    is_declared: whether the output, or all inputs of an output without column lineage, are inlets or outlets (4.14).
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
    is_declared: bool = field(default=False, name="assets")

    @property
    def has_sources(self) -> bool:
        """Whether the run reports sources of the output or columns that are made of no column."""
        return bool(self.has_column_lineage or self.source_datasets or self.source_jobs)

    @property
    def has_hidden_inputs(self) -> bool:
        """Whether the run has hidden inputs, which other runs may explain (rule 4.7)."""
        return bool(self.hidden_inputs)

    @property
    def hidden_inputs(self) -> tuple[Name, ...]:
        """The inputs with columns that the run may use without reporting the use."""
        if self.unaccounted_columns or self.attempt_state:
            return self.read_datasets
        return (*self.opaque_inputs, *(name for doubt in self.ambiguous_names for name in doubt.possible_inputs))

    def direct_targets_of(self, dataset: Name) -> set[str]:
        """Return the keys of the output columns to which DIRECT edges from a dataset lead."""
        return {
            edge.target
            for edge in self.edges
            if edge.source == dataset and edge.target is not None and edge.transformation.is_direct
        }

    @property
    def read_datasets(self) -> tuple[Name, ...]:
        """All datasets from which the output may be made. Some datasets may occur twice."""
        return (*self.opaque_inputs, *self.source_datasets, *self.other_inputs)

    @property
    def named_datasets(self) -> Iterator[Name]:
        """All datasets that this lineage names besides the output. Some datasets may occur several times."""
        yield from (*self.read_datasets, *self.column_sources, *self.doubtful_sources)
        yield from (edge.source for edge in self.edges)
        yield from (each.dataset for each in self.column_mentions)
        for doubt in self.ambiguous_names:
            yield from (doubt.source, *doubt.possible_inputs)
        for feed in self.job_feeds:
            yield from feed.source_datasets

    @property
    def proof_key(self) -> frozenset[object]:
        """A value that is equal for two edge sets that prove the same.

        It ignores subtypes and descriptions of transformations, and the reason why SQL was not read.
        """
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
    """What the derivation of edges needs in addition to the run.

    contents: the contents of facets. naming: resolves names to datasets.
    column_key: returns the key of a column. schema_at: returns the hash of the columns of a dataset at a time.
    """

    contents: FacetContents
    naming: NameResolver
    column_key: ColumnKey
    schema_at: SchemaAt


def inputs_other_than_output(lineage: OutputLineage) -> Iterable[Name]:
    """Yield the datasets that a run reads, except for the output itself in any generation.

    The result is empty for a MERGE of a table into itself, a run without output, and a run that did not complete.
    """
    own = lineage.output.without_generation if lineage.output is not None and not lineage.attempt_state else None
    return (
        name
        for name in (*lineage.source_datasets, *lineage.other_inputs)
        if own is not None and name.without_generation != own
    )


EdgeOrigin = Literal["observed", "declared", "inferred"]


EDGE_ORIGINS: frozenset[EdgeOrigin] = frozenset(get_args(EdgeOrigin))


def edge_origin(job_output: JobOutput, lineage: OutputLineage) -> EdgeOrigin:
    """Return the origin of the lineage: `inferred` from SQL, `declared` by a declaration or assets, else `observed`."""
    if lineage.is_inferred:
        return "inferred"
    return "declared" if job_output.layer == "declared" or lineage.is_declared else "observed"
