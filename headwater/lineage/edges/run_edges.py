"""Rules 4, 5 and 11: derive the lineage of each output of one run."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from headwater.lineage.edges.accounting import (
    ALL_COLUMNS,
    ColumnList,
    LineColumns,
    columns_of_lines,
    is_related,
    lists_some_columns,
    names_all,
    names_its_columns,
)
from headwater.lineage.edges.facet_contents import OWN_JOB, Contents, SentEdge, Transformation
from headwater.lineage.edges.schema_columns import Path
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.runs.job_identity import is_rdd_step
from headwater.lineage.runs.merged_run import Run, RunDataset
from headwater.lineage.sql.inference import InferredLineage, defined_names, infer_lineage
from headwater.lineage.sql.tables import Parts, name_parts

ColumnKey = Callable[[Name, str], str]
"""(dataset, column as sent) → the key that all spellings of the column share (rule 12)."""

SchemaAt = Callable[[Name, int], str | None]
"""(dataset, time in microseconds) → hash of its columns at that time (rule 12.7), None without a list."""

Dated = tuple[SentEdge, int | None]
"""A line of a facet and the time of its event in microseconds. The time decides which dataset a name means.

The time is None if the line follows from the run's SQL. Its source is then a resolved dataset.
"""


class Edge(Struct, frozen=True, gc=False):
    """An edge from an input column to an output column, or to all of them if `target` is None (always INDIRECT)."""

    source: Name
    column: str
    target: str | None
    transformation: Transformation = field(name="how")  # the name in stored edge sets


class Mention(Struct, frozen=True, gc=False):
    """Columns of a dataset, by key, that lineage of a run names and that no edge of the run has (rule 12.9)."""

    dataset: Name
    columns: tuple[str, ...]


class Doubt(Struct, frozen=True, gc=False):
    """A name in lineage that the run does not list, and the inputs that it may mean (rule 4.10).

    source: the dataset at which its edges start.
    dataset: the dataset that the name means if lineage in force knows it; the doubt does not apply then.
    """

    source: Name
    inputs: tuple[Name, ...]
    dataset: Name | None = None


class JobFeed(Struct, frozen=True, gc=False):
    """A job and its sources in a `lineage` facet: datasets and other jobs. Jobs have their names as sent."""

    job: Name
    datasets: tuple[Name, ...] = ()
    jobs: tuple[Name, ...] = ()


class OutputLineage(Struct, frozen=True, gc=False):
    """The lineage that one run reports for one output. It is the content of an edge set.

    output: None if the run reports no output; the inputs of a streaming job are then opaque.
    columns: keys of the columns that dataset-wide edges lead to; empty without such edges.
    bare: keys of columns that are made of no column.
    tables: datasets that feed the output: sources in its column lineage (`named`), and inputs.
    also_read: other datasets that the run reads.
    opaque: inputs that the run does not cover, or that feed an output without column lineage (rules 4.5, 4.6).
    carries: the run carries column lineage for the output.
    shows: some line of the run has a transformation, so the run reports its filters and joins.
    inferred: all edges follow from the run's SQL.
    unread: why nothing, or not everything, follows from the SQL.
    unaccounted: keys of columns that the run may have written without reporting their sources (rule 4.9), although it
    carries column lineage; `ALL_COLUMNS` if no column of the output is known.
    doubts: names that may mean inputs, unless they are separate datasets (rule 4.10).
    doubtful: datasets that the lineage names and that the SQL explains differently (rule 4.10a); their edges account
    for no column.
    attempt: the state of the run or attempt if it did not complete; it then proves nothing.
    mentions: columns that the lineage, or lineage that newer events of the run replaced, names without an edge.
    jobs: jobs, by their names as sent, that feed the output or its unaccounted columns (rule 4.12).
    feeds: jobs that the run reports as targets, without an output (rule 4.13); their sources are opaque.
    disagrees: the run did not complete, and its events report different things about the output (rule 6.10).
    """

    output: Name | None
    edges: tuple[Edge, ...] = ()
    columns: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    tables: tuple[Name, ...] = ()
    named: tuple[Name, ...] = ()
    also_read: tuple[Name, ...] = ()
    opaque: tuple[Name, ...] = ()
    carries: bool = False
    shows: bool = True
    rows_confirmed: bool = field(default=False, name="landed")
    inferred: bool = False
    unread: str | None = None
    unaccounted: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    attempt: str | None = None
    mentions: tuple[Mention, ...] = ()
    doubtful: tuple[Name, ...] = ()
    jobs: tuple[Name, ...] = ()
    feeds: tuple[JobFeed, ...] = ()
    disagrees: bool = False

    @property
    def says_something(self) -> bool:
        """Whether the run reports sources of the output, or columns that are made of no column."""
        return bool(self.carries or self.tables or self.jobs)

    @property
    def asks(self) -> bool:
        """Whether there are inputs that other runs may explain (rule 4.7)."""
        return bool(self.hidden)

    @property
    def hidden(self) -> tuple[Name, ...]:
        """The inputs whose columns may be used in ways that the run does not report."""
        if self.unaccounted or self.attempt:
            return self.reads
        return (*self.opaque, *(name for doubt in self.doubts for name in doubt.inputs))

    def columns_from(self, dataset: Name) -> set[str]:
        """Return the keys of the columns that DIRECT edges from a dataset lead to."""
        return {
            edge.target
            for edge in self.edges
            if edge.source == dataset and edge.target is not None and edge.transformation.direct
        }

    @property
    def reads(self) -> tuple[Name, ...]:
        """All datasets that the output may be made of; some may occur twice."""
        return (*self.opaque, *self.tables, *self.also_read)

    @property
    def datasets(self) -> Iterator[Name]:
        """All datasets that it names in addition to its output. Names may repeat."""
        yield from (*self.reads, *self.named, *self.doubtful)
        yield from (edge.source for edge in self.edges)
        yield from (each.dataset for each in self.mentions)
        for doubt in self.doubts:
            yield from (doubt.source, *doubt.inputs)
        for feed in self.feeds:
            yield from feed.datasets

    @property
    def proven(self) -> frozenset[object]:
        """A value to compare what two edge sets prove; subtypes, descriptions and reasons make no difference."""
        edges = {
            (edge.source, edge.column, target, edge.transformation.direct, edge.transformation.masked)
            for edge in self.edges
            for target in ((edge.target,) if edge.target is not None else self.columns)
        }
        parts = {
            "reads": frozenset(self.reads),
            "bare": self.bare,
            "left out": self.unaccounted,
            "doubts": frozenset(self.doubts),
            "jobs": self.jobs,
            "feeds": self.feeds,
            "disagrees": self.disagrees,
        }
        return frozenset({*edges, *parts.items(), ("is", self.output, self.carries, self.shows)})


class EdgeRules(NamedTuple):
    """What the derivation of edges needs in addition to the run."""

    contents: Contents
    naming: NameResolver
    column_key: ColumnKey
    schema_at: SchemaAt


def output_lineages(run: Run, rules: EdgeRules) -> list[OutputLineage]:
    """Return the lineage of a run, one item for each output and each target of its `lineage` facets.

    A run that did not complete has none.
    """
    return _contributions(run, rules) if run.makes_edges else []


def attempted_output_lineages(run: Run, rules: EdgeRules) -> list[OutputLineage]:
    """Return the lineage of a run or attempt that did not complete (rule 6.10); empty if it completed."""
    if run.makes_edges:
        return []
    explicit = _explicit_lines(run, rules)
    return [_attempted(run, each, explicit, rules) for each in _contributions(run, rules)]


def _attempted(run: Run, lineage: OutputLineage, explicit: Container[Name], rules: EdgeRules) -> OutputLineage:
    """Add the sources in `columnLineage` that does not count: an attempt may have written what any event reports.

    explicit: the outputs with a `lineage` facet, whose `columnLineage` does not count.
    """
    written = run.outputs.get(lineage.output) if lineage.output else None
    if written is None:
        return replace(lineage, attempt=run.state)
    ignored = ((written.lineage, written.lineage_us),) if written.lineage and lineage.output in explicit else ()
    lines = [(line, at) for content, at in (*written.replaced, *ignored) for line in rules.contents.lineage(content)]
    sources = {rules.naming.input(run.speaker, line.source, at) for line, at in lines if line.source}
    more = tuple(sorted(sources.difference(lineage.reads)))
    disagrees = written.disagrees or bool(ignored) or run.has_scripts
    return replace(lineage, attempt=run.state, also_read=(*lineage.also_read, *more), disagrees=disagrees)


def _contributions(run: Run, rules: EdgeRules) -> list[OutputLineage]:
    feeds = _Feeds(run, rules)
    run = feeds.run
    explicit, read = _explicit_lines(run, rules), tuple(sorted(run.inputs))
    observed = {name: _observed_lines(each, rules) for name, each in run.outputs.items() if name not in explicit}
    sql = _RunContext(run, rules)
    unlisted = {name: _unlisted(run, name, own, sql, rules) for name, own in observed.items()}
    observed = {name: unlisted[name].lines for name in observed}
    reads = bool(run.inputs or feeds.lines) or any(
        line.has_source for own in (*observed.values(), *explicit.values()) for line, _ in own
    )
    declares = names_its_columns(run.producer)
    empty_counts = declares or not reads
    silent = {
        name
        for name, own in observed.items()
        if not (own and (empty_counts or any(line.has_source for line, _ in own)))
    }
    inferred = {name: found for name, found in sql.said.items() if name in silent} if silent else {}
    lines: dict[Name, Sequence[Dated]] = {name: () if name in silent else own for name, own in observed.items()}
    lines.update((name, [(line, None) for line in found.edges]) for name, found in inferred.items())
    says_nothing = not explicit and not feeds.lines and not any((*lines.values(), *observed.values()))
    if says_nothing and _is_echo(run):
        return []
    outputs = {*run.outputs, *explicit}
    if not outputs:
        return feeds.without_output() if feeds.lines else _only_reads(run)
    alone = len(outputs) == 1
    sources, every = read, {**explicit, **lines}
    if silent and not alone and not all(name in inferred for name in silent):
        sources = _all_sources(run, read, every, unlisted, rules)
    filters, metadata = (*_filters(run, rules), *feeds.edges), _metadata_columns(run, rules)
    contexts = {
        output: _OutputContext(
            (read if alone else () if own else _without(output, sources, run)),
            read,
            metadata,
            empty_counts=empty_counts,
            sql=sql,
            filters=filters,
            doubtful=unlisted[output].doubtful,
            is_whole=declares,
            by_sql=_written_keys(output, inferred[output], rules) if output in inferred else frozenset(),
            reads=reads,
        )
        for output, own in lines.items()
    }
    of_entries = _OutputContext((), read, metadata, empty_counts=True, filters=filters, reads=reads)
    contexts.update(dict.fromkeys(explicit, of_entries))
    found = {output: _read(run, output, own, contexts[output], rules) for output, own in every.items()}
    # Lineage of the whole output alone is not column lineage: all sources of the run may feed the output (rule 4.6).
    if wholes := [] if alone else [name for name, own in lines.items() if own and not found[name].carries]:
        sources = _all_sources(run, read, every, unlisted, rules)
        for name in wholes:
            context = contexts[name]._replace(feeding=_without(name, sources, run))
            found[name] = _read(run, name, every[name], context, rules)
    fed = [feeds.with_jobs(each) for each in found.values()]
    settled = [_with_doubts(each, unlisted, run) for each in _settled(run, fed, every.values(), feeds)]
    marked = [_marked(each, inferred, sql, explicit) for each in settled]
    mentioned = [_with_mentions(run, each, explicit, metadata, rules) for each in marked]
    return [*mentioned, *feeds.of_others()]


class _Feeds:
    """Rule 4.13: the entries in a run's `lineage` facets that name a job as their target.

    run: the run, with the datasets that feed its job as additional inputs.
    lines: the lines of all entries with a job as target.
    edges: edges to the whole of each output from the columns that feed the run's own job.
    opaque: the datasets that feed the run's own job.
    """

    def __init__(self, run: Run, rules: EdgeRules):
        self._rules = rules
        every = [(line, at) for content_hash, at in run.declared for line in rules.contents.lineage(content_hash)]
        self.lines = [(line, at) for line, at in every if line.into_job]
        self._meant = {
            (line.source, at): rules.naming.input(run.speaker, line.source, at)
            for line, at in self.lines
            if line.source
        }
        names = {OWN_JOB, run.job, run.sent_job or run.job}
        self._own = [each for each in self.lines if each[0].into_job in names]
        self._others = [each for each in self.lines if each[0].into_job not in names]
        self.opaque = frozenset(self._sources(self._own))
        new = {name: RunDataset(name) for name in self.opaque if name not in run.inputs}
        self.run = replace(run, inputs={**run.inputs, **new}) if new else run

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The edges from the columns that feed the run's own job."""
        return tuple(Edge(name, column, None, _FED) for name, column in self._columns(self._own))

    def with_jobs(self, lineage: OutputLineage) -> OutputLineage:
        """Add the jobs that feed the run's own job to the sources of an output."""
        jobs = self._jobs(self._own)
        return replace(lineage, jobs=tuple(sorted({*lineage.jobs, *jobs}))) if jobs else lineage

    def without_output(self) -> list[OutputLineage]:
        """Return the lineage of a run without outputs. The datasets that feed jobs are opaque."""
        read = tuple(sorted(self.run.inputs)) if not self.run.drops else ()
        found = self._hidden(self.lines)
        opaque = {*found.opaque, *(read if self.run.processing != "BATCH" else ())}
        tables = tuple(sorted({*found.tables, *read}))
        return [replace(found, tables=tables, opaque=tuple(sorted(opaque)), jobs=self._jobs(self._own))]

    def of_others(self) -> list[OutputLineage]:
        """Return what a run with outputs reports about other jobs. Its outputs are not made of these sources."""
        return [self._hidden(self._others)] if self._others else []

    def _hidden(self, lines: Sequence[Dated]) -> OutputLineage:
        sources = tuple(sorted(self._sources(lines)))
        columns: dict[Name, set[str]] = {}
        for name, column in self._columns(lines):
            columns.setdefault(name, set()).add(column)
        mentions = tuple(Mention(name, tuple(sorted(keys))) for name, keys in sorted(columns.items()))
        by_job: dict[Name, list[Dated]] = {}
        for line, at in lines:
            if line.into_job is not None:
                job = self.run.job if line.into_job == OWN_JOB else line.into_job
                by_job.setdefault(job, []).append((line, at))
        feeds = tuple(
            JobFeed(job, tuple(sorted(self._sources(own))), self._jobs(own)) for job, own in sorted(by_job.items())
        )
        return OutputLineage(None, tables=sources, opaque=sources, mentions=mentions, feeds=feeds)

    def _sources(self, lines: Iterable[Dated]) -> set[Name]:
        return {self._meant[line.source, at] for line, at in lines if line.source and at is not None}

    def _columns(self, lines: Iterable[Dated]) -> list[tuple[Name, str]]:
        """Return (dataset, column key) of the columns that lines name as sources, sorted."""
        found = set()
        for line, at in lines:
            if line.source and line.column is not None and at is not None:
                dataset = self._meant[line.source, at]
                found.add((dataset, self._rules.column_key(dataset, line.column)))
        return sorted(found)

    def _jobs(self, lines: Iterable[Dated]) -> tuple[Name, ...]:
        """Return the jobs that lines name as sources, by their names as sent."""
        own = self.run.job
        return tuple(sorted({own if line.job == OWN_JOB else line.job for line, _ in lines if line.job}))


_FED = Transformation(direct=False, masked=False, subtype=None, description=None)


def _all_sources(
    run: Run,
    read: tuple[Name, ...],
    lines: Mapping[Name, Sequence[Dated]],
    unlisted: Mapping[Name, "_Unlisted"],
    rules: EdgeRules,
) -> tuple[Name, ...]:
    """Return the inputs of a run and all sources in its lineage of any output, sorted."""
    found: dict[tuple[int, int | None], Name] = {}
    for output, own in lines.items():
        doubtful = unlisted[output].doubtful if output in unlisted else frozenset()
        for line, at in own:
            if line.source and (id(line.source), at) not in found and (at is None or line.source not in doubtful):
                meant = line.source if at is None else rules.naming.input(run.speaker, line.source, at)
                found[id(line.source), at] = meant
    more = set(found.values()) - {*read}
    return tuple(sorted({*read, *more})) if more else read


def _without(output: Name, sources: tuple[Name, ...], run: Run) -> tuple[Name, ...]:
    """Return sources without the output itself, unless the run lists that as an input."""
    if len(sources) == len(run.inputs) or output in run.inputs:
        return sources  # one tuple shared by thousands of outputs
    return tuple(name for name in sources if name != output)


def _is_echo(run: Run) -> bool:
    """Rule 11.2: tell whether a run without column lineage lists the datasets that it reads or alters as outputs."""
    if not run.inputs or run.inputs.keys() != run.outputs.keys():
        return False
    return is_rdd_step(run.job) or all(output.lifecycle == "ALTER" for output in run.outputs.values())


class _RunContext:
    """The data that all outputs of a run share, computed on demand: its datasets and the lineage in its SQL."""

    def __init__(self, run: Run, rules: EdgeRules):
        self._run = run
        self._rules = rules

    @cached_property
    def listed(self) -> Set[Name]:
        """The datasets that the run lists as inputs or outputs, whatever their generation."""
        return {name.plain for name in (*self._run.inputs, *self._run.outputs)}

    @cached_property
    def reads_others(self) -> bool:
        """Whether the run lists an input that it does not write."""
        return not {name.plain for name in self._run.inputs} <= {name.plain for name in self._run.outputs}

    @cached_property
    def said(self) -> Mapping[Name, InferredLineage]:
        """The lineage that follows from the SQL, by output; empty without SQL."""
        run, rules = self._run, self._rules
        if not run.script:
            return {}
        return infer_lineage(run.script, rules.contents, lambda dataset: rules.schema_at(dataset, run.time_us))

    def inputs_ending_in(self, name: Name) -> tuple[Name, ...]:
        """Return the inputs with a name in the same namespace that ends with the parts of this name."""
        end = name_parts(name.name)
        same = self._input_parts.get(name.namespace, ()) if end else ()
        return tuple(sorted({dataset for dataset, parts in same if parts[-len(end) :] == end}))

    @cached_property
    def _input_parts(self) -> Mapping[str, Sequence[tuple[Name, Parts]]]:
        found: dict[str, list[tuple[Name, Parts]]] = {}
        for dataset in self._run.inputs.values():
            for name in dataset.names:
                found.setdefault(name.namespace, []).append((dataset.name, name_parts(name.name)))
        return found

    def defines(self, name: Name) -> bool:
        """Tell whether the SQL defines the last parts of a name as a CTE, an alias or a temporary table."""
        parts = name_parts(name.name)
        return any(parts[-len(own) :] == own for own in self._defined)

    def reads_whole(self, output: Name) -> bool:
        """Tell whether the SQL that writes an output was read completely, and without a hidden view."""
        found = self.said.get(output)
        return found is not None and found.unread is None and found.is_complete

    @cached_property
    def _defined(self) -> frozenset[Parts]:
        script = self._run.script
        return defined_names(script, self._rules.contents) if script else frozenset()


class _Unlisted(NamedTuple):
    """The lines of an output after rule 4.10 resolved the names that the run does not list.

    lines: the lines, in which names that are the end of one input are replaced by that input.
    doubtful: names that the SQL explains (4.10a).
    doubts: names that may mean several inputs (4.10d).
    ends: the inputs that replaced names (4.10b).
    explained: the datasets that the doubtful names would mean without the SQL.
    """

    lines: list[Dated]
    doubtful: frozenset[Name] = frozenset()
    doubts: tuple[Doubt, ...] = ()
    ends: tuple[Name, ...] = ()
    explained: tuple[Name, ...] = ()


def _with_doubts(lineage: OutputLineage, unlisted: Mapping[Name, _Unlisted], run: Run) -> OutputLineage:
    """Add the names that may mean inputs.

    A name that is the end of one input may also mean an input that the run does not cover.
    """
    names = unlisted.get(lineage.output) if lineage.output else None
    if names is not None and names.explained:
        lineage = replace(lineage, doubtful=names.explained)
    if names is None or not (names.doubts or names.ends):
        return lineage
    hidden = tuple(name for name in lineage.opaque if name in run.inputs)
    ends = [Doubt(name, hidden) for name in names.ends] if hidden else []
    return replace(lineage, doubts=(*names.doubts, *ends))


def _with_mentions(
    run: Run,
    lineage: OutputLineage,
    explicit: Mapping[Name, Sequence[Dated]],
    metadata: Mapping[Name, Set[str]],
    rules: EdgeRules,
) -> OutputLineage:
    """Add the columns that the lineage names and no edge has (rule 12.9).

    metadata: the keys of the columns of metadata tables, by input; these are left out.
    """
    output = lineage.output
    written = run.outputs.get(output) if output else None
    entries = explicit.get(output, ()) if output else ()
    if output is None or not (entries or (written and written.lineage) or (written and written.replaced)):
        return lineage
    targets, who = _Keys(output, rules), run.speaker
    found: dict[Name, set[str]] = {}
    newest = _observed_lines(written, rules) if written else []
    for line, _ in (*entries, *newest):
        if line.output is not None and (line.source is None or line.column is None or entries):
            found.setdefault(output, set()).add(targets[line.output])
    replaced = written.replaced if written else ()
    older = [(line, at) for content_hash, at in replaced for line in rules.contents.lineage(content_hash)]
    for line, at in (*older, *(newest if entries else ())):
        if line.output is not None:
            found.setdefault(output, set()).add(targets[line.output])
        if line.source and line.column is not None:
            source = rules.naming.input(who, line.source, at or 0)
            found.setdefault(source, set()).add(rules.column_key(source, line.column))
    if not found:
        return lineage
    for name, columns in metadata.items():
        found.get(name, set()).difference_update(columns)
    for edge in lineage.edges:
        found.get(edge.source, set()).discard(edge.column)
        found.get(output, set()).difference_update(lineage.columns if edge.target is None else (edge.target,))
    mentions = [Mention(dataset, tuple(sorted(columns))) for dataset, columns in sorted(found.items()) if columns]
    return replace(lineage, mentions=tuple(mentions))


def _unlisted(run: Run, output: Name, own: list[Dated], sql: _RunContext, rules: EdgeRules) -> _Unlisted:
    """Rule 4.10: resolve the names in the lineage of an output that its run lists neither as input nor as output."""
    sources = {id(line.source): (line.source, at) for line, at in own if line.source}
    meant = {name: rules.naming.input(run.speaker, name, at or 0) for name, at in sources.values()}
    new = [name for name, dataset in meant.items() if dataset not in run.inputs and dataset not in run.outputs]
    names = [name for name in new if meant[name].plain not in sql.listed]
    if not names:
        return _Unlisted(own)
    untold = not any(line.stated for line, _ in own if line.column is not None)
    doubtful = {name for name in names if sql.defines(name)}
    if untold and len(doubtful) < len(names) and sql.reads_whole(output):
        doubtful.update(names)
    ended = {name: sql.inputs_ending_in(name) for name in names if name not in doubtful}
    inputs = {name: found[0] for name, found in ended.items() if len(found) == 1}
    lines: list[Dated] = [
        (replace(line, source=inputs[line.source]), None) if line.source in inputs else (line, at) for line, at in own
    ]
    doubts: list[Doubt] = []
    if sql.reads_others:
        every = tuple(sorted(run.inputs))
        unclear = {meant[name]: found or every for name, found in ended.items() if len(found) != 1}
        doubts = [Doubt(name, unclear[name], name) for name in sorted(unclear)]
    explained = tuple(sorted({meant[name] for name in doubtful}))
    return _Unlisted(lines, frozenset(doubtful), tuple(doubts), tuple(sorted(set(inputs.values()))), explained)


def _marked(
    lineage: OutputLineage, inferred: Mapping[Name, InferredLineage], sql: _RunContext, explicit: Container[Name]
) -> OutputLineage:
    """Mark an output as inferred from SQL, or add the reason why the SQL was not read completely."""
    found = inferred.get(lineage.output) if lineage.output else None
    if found is None and lineage.unaccounted and lineage.output and lineage.output not in explicit:
        said = sql.said.get(lineage.output)
        return replace(lineage, unread=(said.unread or _OF_OTHERS) if said else None)
    if found is None:
        return lineage
    opaque = tuple(sorted(found.possible_sources.union(lineage.opaque))) if lineage.carries else lineage.opaque
    return replace(lineage, inferred=lineage.carries, unread=found.unread, opaque=opaque)


_OF_OTHERS = "its columns, or what they are made of, are not those of the reported lineage"


def _only_reads(run: Run) -> list[OutputLineage]:
    """Return the lineage of a run without outputs: its inputs, which are opaque unless it is a batch run."""
    if not run.inputs or run.drops or run.kind != "RUN":
        return []
    read = tuple(sorted(run.inputs))
    return [OutputLineage(None, tables=read, opaque=read if run.processing != "BATCH" else ())]


def _settled(
    run: Run, found: Sequence[OutputLineage], lines: Iterable[Sequence[Dated]], feeds: "_Feeds"
) -> list[OutputLineage]:
    """Add the values that depend on the whole run to the lineage of each output.

    These are the opaque inputs, the sources of unaccounted columns, and whether the run reports transformations.
    """
    covered = {name for each in found for name in each.named}
    shows = any(line.stated for own in lines for line, _ in own if line.column is not None) or not covered
    uncovered = dict.fromkeys(sorted(name for name in run.inputs if name not in covered))
    hidden = tuple(uncovered)
    every_input = _read_by_any(found) if any(each.unaccounted for each in found) else ()
    every_job = tuple(sorted({job for each in found for job in each.jobs}))
    settled = [
        replace(
            _with_all_sources(each, every_input, every_job),
            opaque=hidden if _adds_nothing(each, covered, uncovered) else _opaque(run, each, covered, hidden),
            shows=shows,
        )
        for each in found
    ]
    return [_with_opaque(each, feeds.opaque) for each in settled] if feeds.opaque else settled


def _with_opaque(lineage: OutputLineage, more: Set[Name]) -> OutputLineage:
    """Make more inputs opaque for an output, covered or not."""
    itself = {lineage.output} if lineage.carries else set()
    return replace(lineage, opaque=tuple(sorted({*lineage.opaque, *more} - itself)))


def _read_by_any(found: Sequence[OutputLineage]) -> tuple[Name, ...]:
    """Return all datasets that a run reads for any output, sorted."""
    # Outputs share these tuples, so comparing by id avoids reading them thousands of times.
    parts = {id(part): part for each in found for part in (each.tables, each.also_read)}
    return tuple(sorted(set(chain.from_iterable(parts.values()))))


def _with_all_sources(
    lineage: OutputLineage, every_input: Sequence[Name], every_job: tuple[Name, ...]
) -> OutputLineage:
    """Add all datasets and jobs that the run reads for any output, if this output has unaccounted columns."""
    if not lineage.unaccounted:
        return lineage
    own = set(lineage.tables)
    others = tuple([name for name in every_input if name not in own]) if own else tuple(every_input)
    return replace(lineage, also_read=others, jobs=every_job)


def _adds_nothing(lineage: OutputLineage, covered: Set[Name], uncovered: Mapping[Name, None]) -> bool:
    """Tell whether exactly the uncovered inputs of the run are opaque; thousands of outputs then share one tuple."""
    if not lineage.carries or lineage.output in uncovered:
        return False
    return all(name in uncovered or name in covered or name == lineage.output for name in lineage.tables)


def _opaque(run: Run, lineage: OutputLineage, covered: Set[Name], uncovered: Iterable[Name]) -> tuple[Name, ...]:
    """Rules 4.5 and 4.6: return the opaque inputs of an output.

    These are the inputs that the run does not cover. For an output without column lineage, all its sources are opaque,
    too.
    uncovered: the inputs that are not among `covered`.
    """
    if lineage.carries:
        hidden = {*uncovered, *lineage.tables} - covered - {lineage.output}
    elif not lineage.also_read:
        return lineage.tables  # these contain all inputs
    else:
        hidden = {*lineage.tables, *(name for name in run.inputs if name not in covered or name == lineage.output)}
    return tuple(sorted(hidden))


def _observed_lines(dataset: RunDataset, rules: EdgeRules) -> list[Dated]:
    return [(line, dataset.lineage_us) for line in rules.contents.lineage(dataset.lineage)] if dataset.lineage else []


def _explicit_lines(run: Run, rules: EdgeRules) -> dict[Name, list[Dated]]:
    """Return the lines of all `lineage` facets of a run, by the dataset that they lead to."""
    own = [(dataset.name, *declared) for dataset in run.outputs.values() for declared in dataset.declared]
    found: dict[Name, list[Dated]] = {}
    for content_hash, time_us in run.declared:
        for line in rules.contents.lineage(content_hash):
            if line.target:
                target = rules.naming.output(run.speaker, line.target, time_us)
                found.setdefault(target, []).append((line, time_us))
    for name, content_hash, time_us in own:
        found.setdefault(name, []).extend((line, time_us) for line in rules.contents.lineage(content_hash))
    return found


class _OutputContext(NamedTuple):
    """What is known about an output in addition to its lines.

    feeding: the inputs that feed the output in addition to the sources in its lines.
    inputs: all inputs of the run, sorted. Outputs share these tuples.
    metadata: the keys of the columns of metadata tables that the run reads, by input.
    empty_counts: a column that is named without inputs is made of no column.
    sql: the SQL of the run, which may account for columns that the lines leave out.
    is_whole: the lines name all columns that the run writes.
    by_sql: the keys of the columns that the SQL writes, if it was read completely and counts.
    filters: edges from columns that select the rows which the run reads (rule 4.11), or that feed its job (4.13).
    doubtful: names that the SQL explains; lines from them prove nothing.
    unproven: ids of lines from the SQL that also prove nothing.
    reads: the run reads something for any of its outputs.
    """

    feeding: tuple[Name, ...]
    inputs: tuple[Name, ...]
    metadata: Mapping[Name, Set[str]]
    empty_counts: bool = False
    sql: _RunContext | None = None
    is_whole: bool = False
    by_sql: frozenset[str] = frozenset()
    filters: tuple[Edge, ...] = ()
    doubtful: frozenset[Name] = frozenset()
    unproven: frozenset[int] = frozenset()
    reads: bool = False

    def proves(self, line: SentEdge, time_us: int | None) -> bool:
        """Tell whether a line may account for a column."""
        return id(line) not in self.unproven and (time_us is None or line.source not in self.doubtful)


def _read(run: Run, output: Name, lines: Sequence[Dated], context: _OutputContext, rules: EdgeRules) -> OutputLineage:
    sent_edges = tuple(_edges(run, output, lines, rules, context.doubtful))
    edges = tuple(dict.fromkeys(sent_edges)) if len(sent_edges) > 1 else sent_edges
    named = dict.fromkeys(edge.source for edge in edges)
    who, source_of = run.speaker, rules.naming.input
    without_column = ((line.source, at) for line, at in lines if line.source and line.column is None)
    whole = {source if at is None else source_of(who, source, at): None for source, at in without_column}
    if lines or output in run.inputs:
        tables = tuple(sorted(named | {name: None for name in (*whole, *context.feeding) if name != output}))
        fed = set(tables)
        also_read = tuple([name for name in context.inputs if name not in fed])
    else:  # thousands of outputs without lineage share one tuple
        tables, also_read = context.feeding, () if context.feeding else context.inputs
    sent = dict.fromkeys(line.output for line, _ in lines)
    keys = {column: rules.column_key(output, column) for column in sent if column is not None}
    if len(sent_edges) == len(lines) and not context.doubtful:
        # Each line has a source, as in most facets, so the lines need not be read once more.
        columns = LineColumns(keys.values(), frozenset(), frozenset())
    else:
        columns = columns_of_lines(
            lines,
            keys,
            empty_counts=context.empty_counts,
            proves=context.proves,
            settled=context.by_sql if context.doubtful else frozenset(),
        )
    jobs = tuple(sorted({run.job if line.job == OWN_JOB else line.job for line, _ in lines if line.job}))
    unaccounted: tuple[str, ...] = ()
    if (
        lines
        and (tables or also_read or jobs or context.reads)
        and not context.is_whole
        and not _names_all(run, output, keys, columns, rules)
    ):
        unaccounted = _unaccounted(run, output, columns, rules, by_sql=context.by_sql)
        if (unaccounted or context.doubtful) and context.sql and output in context.sql.said:
            proving = edges
            if context.doubtful:
                proving = tuple(_edges(run, output, [each for each in lines if context.proves(*each)], rules))
            by_sql = _written_by_sql(output, proving, columns, context.sql, rules)
            more = _lines_of_sql(context, output, columns, by_sql)
            if by_sql or more:
                proven = _proven_columns(columns, by_sql) if by_sql and not context.doubtful else by_sql
                unproven = frozenset(id(line) for line, _ in more if line.output not in proven)
                asked = context._replace(sql=None, by_sql=frozenset(by_sql.values()), unproven=unproven)
                return _read(run, output, [*lines, *more], asked, rules)
    carries = bool(columns.empty) or any(edge.target is not None for edge in edges)
    if context.metadata:  # these are not columns of the tables themselves
        edges = tuple(edge for edge in edges if edge.column not in context.metadata.get(edge.source, ()))
    if context.filters:  # added after `carries`, because they are not column lineage
        edges = tuple(dict.fromkeys((*edges, *context.filters)))
    return OutputLineage(
        output,
        edges,
        _columns(run, output, edges, keys.values(), rules),
        bare=tuple(sorted(columns.empty)),
        tables=tables,
        named=tuple(sorted(named)),
        also_read=also_read,
        carries=carries,
        rows_confirmed=output in run.outputs and run.outputs[output].rows_confirmed,
        unaccounted=unaccounted if carries else (),
        jobs=jobs,
    )


def _metadata_columns(run: Run, rules: EdgeRules) -> dict[Name, Set[str]]:
    """Return the keys of the columns of metadata tables that the run reads under the name of an input (rule 11.4).

    A column that the run also lists for the table itself is a column of the table.
    """
    metadata: dict[Name, Set[str]] = {}
    for name, dataset in run.inputs.items():
        if dataset.metadata:
            own = rules.contents.schema(dataset.schema) if dataset.schema else ()
            listed = {rules.column_key(name, ".".join(path)) for path in own}
            metadata[name] = {rules.column_key(name, column) for column in dataset.metadata} - listed
    return metadata


def _filters(run: Run, rules: EdgeRules) -> tuple[Edge, ...]:
    """Rule 4.11: return the dataset-wide edges from the columns that select the rows that a run reads."""
    return tuple(
        Edge(name, rules.column_key(name, column), None, _FILTER)
        for name, dataset in sorted(run.inputs.items())
        for column in dataset.filters
    )


_FILTER = Transformation(direct=False, masked=False, subtype="FILTER", description=None)


def _names_all(run: Run, output: Name, keys: Mapping[str, str], columns: LineColumns, rules: EdgeRules) -> bool:
    """Tell whether the lineage gives inputs for exactly the columns that the run lists, so all are accounted for."""
    written = run.outputs.get(output)
    if columns.empty or columns.unclear or not written or not written.schema or lists_some_columns(run.producer):
        return False
    return names_all(rules.contents.schema(written.schema), keys)


def _unaccounted(
    run: Run, output: Name, columns: LineColumns, rules: EdgeRules, *, by_sql: frozenset[str]
) -> tuple[str, ...]:
    """Rule 4.9: return the keys of the columns that a run may have written and does not account for.

    by_sql: the keys of the columns that its SQL writes; they replace a missing list.
    """
    contents, written = rules.contents, run.outputs.get(output)
    own = contents.schema(written.schema) if written and written.schema else ()
    listed = _column_list(output, own, rules)
    if by_sql:
        return listed.joined(ColumnList(by_sql, frozenset())).unaccounted(columns)
    if not own or lists_some_columns(run.producer) or listed.lacks(columns.accounted):
        known = rules.schema_at(output, run.started_us if own else run.time_us)
        others = _column_list(output, contents.schema(known) if known else (), rules)
        if own and lists_some_columns(run.producer) and others.keys <= listed.keys:
            return (ALL_COLUMNS,)  # no other event lists what the producer may have left out
        listed = listed.joined(others)
    return listed.unaccounted(columns)


def _column_list(output: Name, columns: Sequence[Path], rules: EdgeRules) -> ColumnList:
    keys = {".".join(path): rules.column_key(output, ".".join(path)) for path in columns}
    return ColumnList(frozenset(keys.values()), frozenset(keys[path[0]] for path in columns if len(path) == 1))


def _written_by_sql(
    output: Name, edges: Sequence[Edge], columns: LineColumns, sql: _RunContext, rules: EdgeRules
) -> dict[str, str]:
    """Return the keys of the columns that the SQL of a run writes, by their names in the SQL.

    The result is empty unless the SQL was read completely, writes all columns that the lineage accounts for, and makes
    them of the same columns. Otherwise the SQL is about something else (rule 4.9).
    """
    found = sql.said.get(output)
    if found is None or not found.is_complete or found.possible_sources:
        return {}
    written = {
        line.output: rules.column_key(output, line.output) for line in found.column_edges if line.output is not None
    }
    every = frozenset(written.values())
    if not all(is_related(key, every) for key in columns.accounted):
        return {}
    made = {
        (written[line.output], line.source, rules.column_key(line.source, line.column))
        for line in found.column_edges
        if line.output is not None and line.source and line.column is not None and line.transformation.direct
    }
    values = {(each.target, each.source, each.column) for each in edges if each.target and each.transformation.direct}
    return written if values <= made else {}


def _written_keys(output: Name, inferred: InferredLineage, rules: EdgeRules) -> frozenset[str]:
    """Return the keys of the columns that SQL writes; empty if it may write more columns."""
    named = {line.output for line in inferred.column_edges if line.output is not None} if inferred.is_complete else ()
    return frozenset(rules.column_key(output, column) for column in named)


def _proven_columns(columns: LineColumns, by_sql: Mapping[str, str]) -> set[str]:
    """Return the columns, as the SQL names them, for which the SQL may account.

    A struct that the lineage names without its sources may contain anything, so the SQL accounts for a column in it,
    or around it, only if it accounts for the named column, too.
    """
    accounted = frozenset(columns.accounted)
    missing = {name: key for name, key in by_sql.items() if not is_related(key, accounted)}
    unclear = columns.unclear - set(missing.values())
    return {name for name, key in missing.items() if not is_related(key, unclear)}


def _lines_of_sql(
    context: _OutputContext, output: Name, columns: LineColumns, by_sql: Mapping[str, str]
) -> list[Dated]:
    """Return the lines from the SQL that count in addition to those of the lineage.

    These are the lines for columns that the lineage leaves out, or all lines if the lineage has doubtful names.
    """
    assert context.sql is not None  # noqa: S101 - the caller looked
    found, accounted = context.sql.said[output], frozenset(columns.accounted)
    if context.doubtful:
        return [(line, None) for line in (*found.edges, *(found.column_edges if by_sql else ()))]
    return [
        (line, None)
        for line in (found.column_edges if by_sql else ())
        if line.output is not None and not is_related(by_sql[line.output], accounted)
    ]


def _edges(
    run: Run, output: Name, lines: Sequence[Dated], rules: EdgeRules, doubtful: Set[Name] = frozenset()
) -> Iterator[Edge]:
    targets, who = _Keys(output, rules), run.speaker
    sources: dict[tuple[int, int | None], _Keys] = {}
    for line, time_us in lines:
        name = line.source
        if name and line.column is not None:
            keys = sources.get((id(name), time_us))  # by id, because hashing two long names dominates the cost
            if keys is None:
                keys = sources[id(name), time_us] = _Keys(
                    name if time_us is None else rules.naming.input(who, name, time_us), rules
                )
            yield Edge(
                keys.dataset,
                keys[line.column],
                None if line.output is None else targets[line.output],
                _unmasked(line.transformation) if time_us is not None and name in doubtful else line.transformation,
            )


def _unmasked(transformation: Transformation) -> Transformation:
    return transformation._replace(masked=False)


class _Keys(dict[str, str]):
    """Cache of the keys of a dataset's columns: a facet with 400 lines may name only 150 columns."""

    def __init__(self, dataset: Name, rules: EdgeRules):
        super().__init__()
        self.dataset = dataset
        self._key = rules.column_key

    def __missing__(self, column: str) -> str:
        return self.setdefault(column, self._key(self.dataset, column))


def _columns(run: Run, output: Name, edges: Sequence[Edge], fields: Iterable[str], rules: EdgeRules) -> tuple[str, ...]:
    """Return the keys of the columns that dataset-wide edges lead to (rule 4.3); empty without such edges."""
    if all(edge.target is not None for edge in edges):
        return ()
    own = run.outputs[output].schema if output in run.outputs else None
    schema = own or rules.schema_at(output, run.time_us)
    known = rules.contents.schema(schema) if schema else ()
    keys = dict.fromkeys(rules.column_key(output, ".".join(path)) for path in known)
    keys.update(dict.fromkeys(fields))
    return tuple(keys)


def others_read(lineage: OutputLineage) -> Iterable[Name]:
    """Yield the datasets that a run reads to write a different dataset; a MERGE of a table into itself has none."""
    own = lineage.output.plain if lineage.output is not None and not lineage.attempt else None
    return (name for name in (*lineage.tables, *lineage.also_read) if own is not None and name.plain != own)
