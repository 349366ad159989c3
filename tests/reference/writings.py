"""The outputs of one run, or of one declared event, and their sources (docs/reference/lineage.md: edges of one run)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tests.reference.gaps import Nested, is_near, left_out
from tests.reference.generations import Dataset, Generations, before_rename, changed
from tests.reference.job_names import canonical_job
from tests.reference.names import Name, filters, is_part, is_subset
from tests.reference.records import (
    Delivered,
    Facets,
    Run,
    facets_of,
    is_half,
    is_own_table,
    is_rdd_step,
    job_key,
    merged,
)
from tests.reference.schemas import Schemas, schema_paths
from tests.reference.sql_reading import Statement, read_statement
from tests.reference.unlisted import Doubt, Listed, Reading, defined_by

# the event of a lineage facet, its run, and how to read the lineage
Said = tuple[Delivered, Run | None, Reading | None]


@dataclass(frozen=True)
class Fed:
    """A source in an entry of a `lineage` facet whose target is a job: a dataset, possibly with a column, or a job.

    job: key of the target. is_own: the target is the job of the event itself.
    """

    job: tuple[str, str]
    is_own: bool
    source: Dataset | None = None
    column: str | None = None
    source_job: tuple[str, str] | None = None


@dataclass
class Content:
    """What the effective events of a run, or one declared event, report about datasets."""

    inputs: set[Dataset]
    outputs: dict[Dataset, dict[str, tuple[Facets, Delivered]]]
    entries: dict[Dataset, list[tuple[Facets, Delivered]]]
    inferred: Statement | None = None
    listed: Listed = field(default_factory=Listed)
    parts: set[Dataset] = field(default_factory=set)
    """The outputs that are written only in part, as a folder or a `subset` shows."""
    selecting: set[tuple[Dataset, str]] = field(default_factory=set)
    """The columns of inputs that select the rows to read."""
    mentions: dict[Dataset, set[tuple[Dataset, str]]] = field(default_factory=dict)
    """By output, the columns that lineage of any event of the run names, even if no edge follows from them."""
    job: str = ""
    fed: frozenset[Fed] = frozenset()
    """The sources that feed jobs."""
    older: dict[Dataset, set[Dataset]] = field(default_factory=dict)
    """By output, the sources in replaced `columnLineage`: a newer event or an entry takes precedence."""
    disputed: set[Dataset] = field(default_factory=set)
    """The outputs for which two events report different lineage."""
    written: set[Dataset] = field(default_factory=set)
    """The outputs of an incomplete run for which some event reports something other than ALTER."""

    @property
    def own_fed(self) -> set[Dataset]:
        """The sources that feed the run's own job."""
        return {each.source for each in self.fed if each.source and each.is_own}

    @property
    def is_self_loop(self) -> bool:
        said = any("columnLineage" in facets for facets in self.outputs.values())
        lineage = self.entries or self.fed or said or (self.inferred and self.inferred.says_something)
        alters = not self.written and all(_is_altered(facets) for facets in self.outputs.values())
        return not lineage and self.inputs == set(self.outputs) and (alters or is_rdd_step(self.job))


@dataclass
class Writing:
    """The write of one output by one run or declared event: its edges, with column names as sent."""

    output: Dataset
    time_us: int
    job: tuple[str, str] = ("", "")
    run: str = ""
    execution: str = ""
    period_us: int = 0
    inputs: set[Dataset] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    """The columns for which the run reports something."""
    empty: set[str] = field(default_factory=set)
    """Those of `named` that are explicitly made from no column."""
    unclear: set[str] = field(default_factory=set)
    """The columns that a dataset as a whole feeds."""
    left_out: set[str] = field(default_factory=set)
    """Keys of the columns that are not accounted for."""
    also_read: set[Dataset] = field(default_factory=set)
    """The possible sources of unaccounted columns: everything that the run reads."""
    tables: set[Dataset] = field(default_factory=set)
    edges: set[tuple[Dataset, str, str, str, bool]] = field(default_factory=set)
    whole: set[tuple[Dataset, str, bool]] = field(default_factory=set)
    bare: set[Dataset] = field(default_factory=set)
    """Sources that a `lineage` facet names without a column."""
    own_edges: set[tuple[Dataset, str, str, str, bool]] = field(default_factory=set)
    """`edges` without those that concern the whole output."""
    copies: set[tuple[Dataset, str, str]] = field(default_factory=set)
    """Those of `own_edges` that copy a column unchanged."""
    selecting: set[tuple[Dataset, str, str, str, bool]] = field(default_factory=set)
    """Edges from the columns that select rows. They are not column lineage and cover nothing."""
    shows_steps: bool = False
    is_inferred: bool = False
    opaque: set[Dataset] = field(default_factory=set)
    """The datasets from which the output is opaquely written, explained or not."""
    behind_view: set[Dataset] = field(default_factory=set)
    """The datasets that the SQL reads through a view, so that the reported columns are only a part."""
    doubtful: set[Dataset] = field(default_factory=set)
    """The datasets whose names in lineage the SQL explains."""
    settled: set[str] = field(default_factory=set)
    """The columns for which the SQL accounts despite doubtful names."""
    ends: set[Dataset] = field(default_factory=set)
    """The inputs whose names end with a name in lineage."""
    doubts: set[Doubt] = field(default_factory=set)
    """Names that may refer to inputs, unless current lineage knows such a dataset."""
    mentions: set[tuple[Dataset, str]] = field(default_factory=set)
    """The columns that the lineage names, with or without an edge."""
    jobs: set[tuple[str, str]] = field(default_factory=set)
    """Keys of the jobs that feed the output in place of a dataset."""
    follows_sql: bool = False
    """Whether edges to the columns follow from SQL that does not account for any of them."""

    @property
    def content(self) -> object:
        """The content of the report, independent of the run that sent it."""
        sets: tuple[set[Any], ...] = (
            self.edges, self.copies, self.whole, self.named, self.empty, self.unclear, self.left_out, self.also_read,
            self.tables, self.inputs, self.bare, self.opaque, self.behind_view, self.jobs,
        )  # fmt: skip
        return self.job, self.output, self.shows_steps, self.is_inferred, tuple(frozenset(each) for each in sets)

    @property
    def column_sources(self) -> set[Dataset]:
        return {edge[0] for edge in self.edges} | {edge[0] for edge in self.whole}

    @property
    def reads(self) -> set[Dataset]:
        return self.inputs | self.tables | self.also_read

    @property
    def carries(self) -> bool:
        return bool(self.own_edges or self.empty or self.follows_sql)

    @property
    def fed_or_empty(self) -> set[str]:
        return self.fed | self.empty

    @property
    def fed(self) -> set[str]:
        """The columns that have their own inputs."""
        return {edge[2] for edge in self.own_edges if edge[0] not in self.doubtful}

    @property
    def says_nothing(self) -> bool:
        """Whether there is no lineage, as for ALTER, TRUNCATE or VALUES."""
        return not self.carries and not self.reads and not self.jobs


class Reader:
    """Reads datasets and edges from events."""

    def __init__(self, generations: Generations, schemas: Schemas) -> None:
        self.generations, self.schemas = generations, schemas

    def content(self, events: Iterable[Delivered], run: Run | None) -> Content:
        """Return the content of a run, or without `run` of a declared event."""
        inputs: set[Dataset] = set()
        said: dict[Dataset, list[tuple[Facets, Delivered]]] = defaultdict(list)
        lineage: dict[tuple[str, Dataset | None], list[tuple[Facets, Delivered]]] = defaultdict(list)
        drops, parts, selecting = False, set[Dataset](), set[tuple[Dataset, str]]()
        for event in events:
            for each in _read(event, run):
                if dataset := self._source(each, event, run):
                    inputs.add(dataset)
                    selecting |= {(dataset, column) for column in filters(each, self.generations.names)}
            for each in event.datasets("outputs", "dataset"):
                drops = drops or self._is_dropped(each, event, run)
                if dataset := self._output(each, event, run):
                    said[dataset].append((facets_of(each), event))
                    parts |= {dataset} if is_part(each, self.generations.names.canonical) or is_subset(each) else set()
                    add_lineage(lineage["output", dataset], facets_of(each), event)
            for entity in ("run", "job"):
                add_lineage(lineage[entity, None], event.facets(entity), event)
        outputs = {dataset: merged(each) for dataset, each in said.items()}
        entries = self._by_target(lineage, run)
        fed = frozenset(self._fed(lineage, run))
        inputs = set() if drops and not outputs and not entries else inputs
        inferred = self._statement(events, run, inputs, outputs) if run else None
        for one in fed:
            if one.is_own and one.source:
                inputs.add(one.source)
                selecting |= {(one.source, one.column)} if one.column else set()
        inferred = None if inferred and inferred.target in entries else inferred
        called: dict[Dataset, set[Name]] = {dataset: {dataset[:2]} for dataset in inputs}
        for event in events:
            for each in _read(event, run):
                if (dataset := self._source(each, event, run)) in called:
                    called[dataset] |= self._called(each)
        listed = Listed(called, set(outputs), defined_by(self._sql(events, run) or "") if run else set())
        mentions = {
            output: self._mentions(output, said.get(output, []), entries.get(output), run)
            for output in said.keys() | entries.keys()
        }
        older = {output: self._older(each, run, is_explicit=output in entries) for output, each in said.items()}
        queries = {query for event in events if (query := self._query(event))} if run else set()
        disputed = {
            output
            for output, each in said.items()
            if len(queries) > 1 or _is_disputed(each) or (output in entries and "columnLineage" in outputs[output])
        }
        is_open = run is not None and not run.counts
        written = {
            output for output, each in said.items() if is_open and not all(_is_altered(merged([one])) for one in each)
        }
        selecting = selecting if inputs else set()
        job = (run.events if run else [*events])[-1].event.get("job", {}).get("name", "")
        return Content(
            inputs, outputs, entries, inferred, listed, parts, selecting, mentions, job, fed, older, disputed, written
        )

    def _older(self, said: list[tuple[Facets, Delivered]], run: Run | None, *, is_explicit: bool) -> set[Dataset]:
        """Return the sources in `columnLineage` that newer events or entries of facets replace."""
        newest = {} if is_explicit else merged(said).get("columnLineage", ({}, None))[0]
        told = [(facets["columnLineage"], event) for facets, event in said if _has_lineage(facets)]
        replaced = [(step, event) for facet, event in told if facet != newest for step in _steps(facet)]
        return {source for step, event in replaced if (source := self._source(step, event, run))}

    def _query(self, event: Delivered) -> str | None:
        """Return the SQL of an event, unless its outputs do not need it."""
        sql = event.facets("job").get("sql") or {}
        query: str | None = sql.get("query")
        return None if self._says_all_itself(event) else query

    def _fed(
        self, lineage: dict[tuple[str, Dataset | None], list[tuple[Facets, Delivered]]], run: Run | None
    ) -> Iterator[Fed]:
        """Yield the sources that the `lineage` facets of run and job report as feeding jobs."""
        told = [each for (_, output), facets in lineage.items() if output is None for each in facets]
        for facet, event in told:
            for entry in facet.get("entries") or []:
                if entry["type"] != "JOB":
                    continue
                target, is_own = _job_named(entry, event), _is_own_job(entry, event)
                for source in entry.get("inputs") or []:
                    if source.get("type") == "JOB":
                        yield Fed(target, is_own, source_job=_job_named(source, event))
                    elif dataset := self._source(source, event, run):
                        yield Fed(target, is_own, dataset, source.get("field"))

    def _mentions(
        self,
        output: Dataset,
        said: list[tuple[Facets, Delivered]],
        entries: list[tuple[Facets, Delivered]] | None,
        run: Run | None,
    ) -> set[tuple[Dataset, str]]:
        """Return the columns that lineage names, including lineage that a newer event of the run replaces."""
        found = {(output, column) for entry, _ in entries or () for column in entry.get("fields") or {}}
        told = [(facets["columnLineage"], event) for facets, event in said if _has_lineage(facets)]
        newest = merged(said).get("columnLineage", ({}, None))[0]
        for facet, event in told:
            found |= {(output, column) for column in facet.get("fields") or {}}
            if entries or facet != newest:
                steps = [(self._source(step, event, run), step.get("field")) for step in _steps(facet)]
                found |= {(source, column) for source, column in steps if source and column}
        return found

    def _sql(self, events: Iterable[Delivered], run: Run) -> str | None:
        """Return the SQL of a run, unless no event needs it."""
        said = [(event.facets("job"), event) for event in events if not self._says_all_itself(event)]
        sql = merged([({"sql": facets["sql"]}, event) for facets, event in said if facets.get("sql")]).get("sql")
        if not sql or is_half(run.events[-1].event["job"]["name"]):
            return None
        query: str = sql[0]["query"]
        return query

    def _statement(
        self,
        events: Iterable[Delivered],
        run: Run,
        inputs: set[Dataset],
        outputs: dict[Dataset, dict[str, tuple[Facets, Delivered]]],
    ) -> Statement | None:
        """Return the lineage of a run's SQL for an output without reported columns."""
        sql = self._sql(events, run)
        if not sql:
            return None
        reads: dict[Dataset, set[str]] = {dataset: {dataset[1]} for dataset in inputs}
        writes: dict[Dataset, set[str]] = {dataset: {dataset[1]} for dataset in outputs}
        told: dict[Dataset, list[tuple[Facets, Delivered]]] = defaultdict(list)
        for event in events:
            for each in _read(event, run):
                if (dataset := self._source(each, event, run)) in reads:
                    reads[dataset] |= self._names(each)
                    told[dataset].append((facets_of(each), event))
            for each in event.datasets("outputs"):
                if (dataset := self._output(each, event, run)) in writes:
                    writes[dataset] |= self._names(each)
        for dataset in reads.keys() & writes.keys():
            reads[dataset] = writes[dataset] = reads[dataset] | writes[dataset]
        own = {dataset: merged(each) for dataset, each in told.items()}
        own.update((each, facets) for each, facets in outputs.items() if each not in own or "schema" in facets)
        columns = {
            dataset: [".".join(path) for path in schema_paths(facets["schema"][0].get("fields") or [])]
            if "schema" in (facets := own.get(dataset, {}))
            else self.schemas.at(dataset, run.time_us)
            for dataset in reads.keys() | writes.keys()
        }
        are_partial = "integration/dbt" in run.events[-1].event["producer"]
        without_own = [dataset for dataset in columns if "schema" not in own.get(dataset, {})]
        joined = {dataset for dataset in without_own if self.schemas.is_joined(dataset, run.time_us)}
        return read_statement(sql, reads, writes, columns, joined=joined, are_partial=are_partial)

    def _names(self, named: Facets) -> set[str]:
        """Return the names of a dataset in an event, including symlinks."""
        return {name for _, name in self._called(named)}

    def _called(self, named: Facets) -> set[Name]:
        links = (facets_of(named).get("symlinks") or {}).get("identifiers") or []
        return {self.generations.names.canonical(each["namespace"], each["name"]) for each in (named, *links)}

    def _says_all_itself(self, event: Delivered) -> bool:
        """Return whether an event reports inputs for all listed columns of each output, so that its SQL is
        not needed.
        """
        if not _says_all_itself(event):
            return False
        listed = {next(iter(self._called({**each, "facets": {}}))) for each in event.datasets("inputs", "outputs")}
        named = [step for each in event.datasets("outputs") for step in _steps(facets_of(each))]
        return all(next(iter(self._called(each))) in listed for each in named if not is_own_table(each["name"]))

    def writings(
        self, content: Content, time_us: int, run: Run | None, started_us: int, producer: str
    ) -> list[Writing]:
        outputs = content.outputs.keys() | content.entries.keys()
        own_jobs = {each.source_job for each in content.fed if each.is_own and each.source_job}
        made = [Writing(output, time_us, inputs=content.inputs, jobs={*own_jobs}) for output in outputs]
        for writing in made:
            self._read_lineage(writing, content, run)
        declares = producer.startswith("urn:headwater:declare")
        reads = bool(content.inputs or content.fed) or any(
            each.column_sources or each.bare or each.jobs for each in made
        )
        for writing in made:
            if writing.output not in content.entries:
                self._account_for_empty(writing, content.inferred, empty_counts=declares or not reads)
        sources = set[Dataset]().union(*((each.column_sources | each.bare) - each.doubtful for each in made))
        for writing in made:
            is_whole = declares and writing.output not in content.entries
            self._read_sql_for_whole(writing, content, started_us, "" if is_whole or not reads else producer)
            others = sources - {writing.output}
            self._find_sources(writing, content, others, is_alone=len(outputs) == 1)
        read = content.inputs.union(*(each.tables for each in made))
        jobs = set[tuple[str, str]]().union(*(each.jobs for each in made))
        for writing in made:
            is_whole = declares and writing.output not in content.entries
            if writing.is_inferred and (reads or writing.column_sources):
                self._find_unwritten(writing, content)
            elif reads and writing.carries and not is_whole:
                self._find_left_out(writing, content, started_us, producer)
            if writing.left_out:
                writing.also_read = read.union(*(each.tables for each in made))
                writing.jobs = writing.jobs | jobs
        for writing in made:
            self._select(writing, content)
            writing.mentions = content.mentions.get(writing.output, set())
        return made

    def _read_lineage(self, writing: Writing, content: Content, run: Run | None) -> None:
        """Read the lineage facet of an output, else its columnLineage facet."""
        facets = content.outputs.get(writing.output, {})
        if writing.output in content.entries:
            self._read_entries(writing, content.entries[writing.output], run)
        elif "columnLineage" in facets:
            facet, event = facets["columnLineage"]
            said = content.inferred if content.inferred and content.inferred.target == writing.output else None
            steps = [each for each in _steps(facet) if each.get("field")]
            reading = Reading(content.listed, said, any(map(_is_stated, steps)))
            self._read_column_lineage(writing, facet, (event, run, reading))

    def _read_sql_for_whole(self, writing: Writing, content: Content, started_us: int, producer: str) -> None:
        """Read the SQL of a run that reports lineage only for the whole output. Does nothing without a producer."""
        if producer and writing.whole and not writing.carries:
            self._find_left_out(writing, content, started_us, producer)
            writing.left_out = writing.left_out if writing.carries else set()

    def _find_sources(self, writing: Writing, content: Content, sources: set[Dataset], *, is_alone: bool) -> None:
        """Find the sources of an output, opaque or not. sources: those in the lineage of the whole run."""
        is_explicit = writing.output in content.entries
        other = {self.schemas.key(writing.output, each) for each in writing.fed | writing.unclear}
        writing.empty = {each for each in writing.empty if self.schemas.key(writing.output, each) not in other}
        if not writing.carries:
            itself = {writing.output} & content.inputs
            writing.opaque = writing.bare | writing.tables | itself if is_explicit else content.inputs | sources
        if not is_explicit and (is_alone or not writing.carries):
            writing.tables |= content.inputs | (set() if writing.carries else sources)
        writing.tables.discard(writing.output)
        writing.tables |= writing.column_sources
        self._spread(writing, content.outputs.get(writing.output, {}))

    def _select(self, writing: Writing, content: Content) -> None:
        """Add edges to every column from the columns that select rows."""
        for source, column in content.selecting:
            columns = self._columns(writing, content.outputs.get(writing.output, {}))
            writing.selecting |= {(source, column, each, "INDIRECT", False) for each in columns}

    def _account_for_empty(self, writing: Writing, inferred: Statement | None, *, empty_counts: bool) -> None:
        """Decide whether columns without inputs count as stated. SQL is used for an output without reported lineage."""
        if empty_counts:
            writing.empty |= writing.named
        elif not (writing.edges or writing.whole or writing.bare):
            writing.named.clear()
        told = inferred is not None and inferred.target == writing.output and inferred.says_something
        if inferred and told and not (writing.edges or writing.whole or writing.empty or writing.bare):
            _read_inferred(writing, inferred)

    def _key(self, dataset: Dataset, column: str) -> str:
        return self.schemas.key(dataset, column)

    def _find_unwritten(self, writing: Writing, content: Content) -> None:
        """Find the columns that a run lists for an output but its SQL does not write."""
        if content.inferred and content.inferred.is_insert:
            return
        facets, output = content.outputs.get(writing.output, {}), writing.output
        paths = schema_paths(facets["schema"][0].get("fields") or []) if "schema" in facets else []
        nested = Nested(paths, lambda column: self.schemas.key(output, column))
        written = {self.schemas.key(output, each) for each in writing.named}
        writing.left_out = {each for each in nested.keys if not nested.is_among(each, written)}

    def _find_left_out(self, writing: Writing, content: Content, started_us: int, producer: str) -> None:
        facets, output = content.outputs.get(writing.output, {}), writing.output
        listed = schema_paths(facets["schema"][0].get("fields") or []) if "schema" in facets else []
        others = self.schemas.paths_at(output, started_us if listed else writing.time_us)

        def key(column: str) -> str:
            return self.schemas.key(output, column)

        def accounted() -> set[str]:
            doubted = {key(edge[2]) for edge in writing.own_edges if edge[0] in writing.doubtful}
            open_ones = doubted - {key(each) for each in writing.settled}
            return {key(each) for each in writing.fed_or_empty} - open_ones - unclear()

        def unclear() -> set[str]:
            return {key(each) for each in writing.unclear}

        def unnamed() -> set[str]:
            return {key(each) for each in writing.named} - accounted()

        writing.left_out = left_out(listed, others, accounted(), unnamed(), key, is_part="integration/dbt" in producer)
        said = content.inferred
        asks = bool(writing.left_out or writing.doubtful)
        is_proven = False
        if asks and said and said.target == output and not said.behind_view:
            before, written = accounted(), {each: key(each) for each in said.named}
            made = {(written[each], source, self._key(source, column)) for source, column, each, _ in said.columns}
            proving = [edge for edge in writing.own_edges if edge[0] not in writing.doubtful]
            values = {
                (key(each), source, self._key(source, column))
                for source, column, each, kind, _ in proving
                if kind == "DIRECT"
            }
            if values <= made and all(is_near(each, written.values()) for each in before):
                is_proven = True
                if writing.doubtful:
                    _take_all(writing, said)
                    writing.settled = set(said.named)
                else:
                    new = {each for each in said.named if not is_near(written[each], before)}
                    open_ones = unnamed() - {written[each] for each in new}
                    unsettled = {each for each in new if is_near(written[each], open_ones)}
                    _take_columns(writing, said, new - unsettled)
                    _take_unproven_columns(writing, said, unsettled)
                self._spread(writing, facets)
                every = [*(() if said.is_insert else listed), *((each,) for each in said.named)]
                nested = Nested(listed, key)
                writing.left_out = {
                    each for each in {key(".".join(path)) for path in every} if not nested.is_among(each, accounted())
                } | unnamed()
        if writing.doubtful and not is_proven and said and said.target == output and said.says_something:
            _take_unproven(writing, said)
            self._spread(writing, facets)
            is_part = "integration/dbt" in producer
            writing.left_out = left_out(listed, others, accounted(), unnamed(), key, is_part=is_part)

    # Names

    def _source(self, named: Facets, event: Delivered, run: Run | None) -> Dataset | None:
        return self.generations.read(named, event, run) if run else self.generations.declared(named, event)

    def _output(self, named: Facets, event: Delivered, run: Run | None) -> Dataset | None:
        if not run:
            return self.generations.declared(named, event)
        return None if self._is_dropped(named, event, run) else self.generations.said(named, event, run)

    def _is_dropped(self, named: Facets, event: Delivered, run: Run | None) -> bool:
        name = self.generations.names.mention(named, event)
        return bool(run and name and self.generations.last_word(run, name) == "DROP")

    def _by_target(
        self, lineage: dict[tuple[str, Dataset | None], list[tuple[Facets, Delivered]]], run: Run | None
    ) -> dict[Dataset, list[tuple[Facets, Delivered]]]:
        targets = defaultdict(list)
        for (_, output), facets in lineage.items():
            for facet, event in facets:
                for entry in [facet] if output else facet["entries"]:
                    target = output or (self._output(entry, event, run) if entry["type"] == "DATASET" else None)
                    if target:
                        targets[target].append((entry, event))
        return dict(targets)

    # Edges

    def _read_column_lineage(self, writing: Writing, facet: Facets, said: Said) -> None:
        self._read_unlisted(writing, facet, said)
        for output, entry in (facet.get("fields") or {}).items():
            writing.named.add(output)
            before = entry.get("transformationType")
            old = [{"masking": before == "MASKED", "subtype": before if before == "IDENTITY" else ""}]
            for source in entry.get("inputFields") or []:
                self._read_source(writing, source, output, old, said)
        for source in facet.get("dataset") or []:
            self._read_source(writing, source, None, [{}], said)

    def _read_unlisted(self, writing: Writing, facet: Facets, said: Said) -> None:
        """Record the names that the SQL explains, and the names that may refer to several inputs."""
        event, run, reading = said
        unclear: dict[Dataset, frozenset[Dataset] | None] = {}
        for source in _steps(facet):
            dataset, (name,) = self._source(source, event, run), self._called({**source, "facets": {}})
            if not dataset or reading is None or reading.listed.is_listed(dataset):
                continue
            if reading.of_sql(name):
                writing.doubtful.add(dataset)
            elif len(ended := reading.listed.ending_in(name)) == 1:
                writing.ends.update(ended)
            elif inputs := reading.listed.may_mean(name):
                unclear[dataset] = inputs if ended else None
        for dataset, meant in unclear.items():
            every = {*reading.listed.inputs, *unclear} if reading else set()
            writing.doubts.add((dataset, frozenset(every - {dataset}) if meant is None else meant, True))

    def _meant(self, source: Facets, said: Said) -> Dataset | None:
        """Return the dataset of a source in lineage, or the only input whose name ends with the source's name."""
        event, run, reading = said
        dataset = self._source(source, event, run)
        if not dataset or reading is None or reading.listed.is_listed(dataset):
            return dataset
        (name,) = self._called({**source, "facets": {}})
        inputs = [] if reading.of_sql(name) else reading.listed.ending_in(name)
        return inputs[0] if len(inputs) == 1 else dataset

    def _read_entries(self, writing: Writing, entries: list[tuple[Facets, Delivered]], run: Run | None) -> None:
        for entry, event in entries:
            for output, told in (entry.get("fields") or {}).items():
                writing.named.add(output)
                writing.empty |= set() if told["inputs"] else {output}
                for source in told["inputs"]:
                    self._read_source(writing, source, output, [{}], (event, run, None))
            for source in entry.get("inputs") or []:
                self._read_source(writing, source, None, [{}], (event, run, None))

    def _read_source(
        self, writing: Writing, source: Facets, output: str | None, without: list[Facets], said: Said
    ) -> None:
        if source.get("type") == "JOB":
            writing.jobs.add(_job_named(source, said[0]))
            writing.unclear |= {output} if output is not None else set()
            return
        dataset = self._meant(source, said) if source.get("type", "DATASET") == "DATASET" else None
        if not dataset:
            return
        writing.tables.add(dataset)
        if not source.get("field"):
            writing.bare.add(dataset)
            writing.unclear |= {output} if output is not None else set()
            return
        writing.shows_steps = writing.shows_steps or bool(source.get("transformations"))
        for step in source.get("transformations") or without:
            masked = step.get("masking") is True and dataset not in writing.doubtful
            if output is None:
                writing.whole.add((dataset, source["field"], masked))
            else:
                kind = "INDIRECT" if step.get("type") == "INDIRECT" else "DIRECT"
                writing.edges.add((dataset, source["field"], output, kind, masked))
                writing.own_edges.add((dataset, source["field"], output, kind, masked))
                if kind == "DIRECT" and step.get("subtype") == "IDENTITY":
                    writing.copies.add((dataset, source["field"], output))

    def _spread(self, writing: Writing, facets: dict[str, tuple[Facets, Delivered]]) -> None:
        """Expand the edges to the whole output into edges to each of its columns."""
        columns = self._columns(writing, facets)
        for source, column, masked in writing.whole:
            writing.edges |= {(source, column, each, "INDIRECT", masked) for each in columns}

    def _columns(self, writing: Writing, facets: dict[str, tuple[Facets, Delivered]]) -> set[str]:
        """Return the columns to which edges to the whole output lead."""
        if "schema" in facets:
            paths = schema_paths(facets["schema"][0].get("fields") or [])
            return {*(".".join(path) for path in paths), *writing.named}
        return {*self.schemas.at(writing.output, writing.time_us), *writing.named}


def _read_inferred(writing: Writing, statement: Statement) -> None:
    writing.is_inferred = writing.shows_steps = True
    writing.behind_view = statement.behind_view
    writing.named |= set(statement.named)
    made = {output for _, _, output, _ in statement.columns}
    writing.empty |= set(statement.named) - made
    writing.copies |= statement.copied
    for source, column, output, masked in statement.columns:
        writing.tables.add(source)
        writing.edges.add((source, column, output, "DIRECT", masked))
        writing.own_edges.add((source, column, output, "DIRECT", masked))
    for source, column in statement.whole:
        writing.tables.add(source)
        writing.whole.add((source, column, False))


def _take_columns(writing: Writing, statement: Statement, columns: set[str]) -> None:
    """Use the SQL's lineage for columns that the run's lineage omits."""
    writing.named |= columns
    writing.empty |= columns - {output for _, _, output, _ in statement.columns}
    for source, column, output, masked in statement.columns:
        if output in columns:
            writing.tables.add(source)
            edge = (source, column, output, "DIRECT", masked)
            writing.edges.add(edge)
            writing.own_edges.add(edge)
            writing.copies |= {(source, column, output)} & statement.copied


def _take_all(writing: Writing, statement: Statement) -> None:
    """Use all of the SQL's lineage, because it explains names in the run's lineage."""
    _take_columns(writing, statement, set(statement.named))
    writing.empty -= writing.fed
    _take_whole(writing, statement)


def _take_unproven(writing: Writing, statement: Statement) -> None:
    """Add all edges of the SQL, without treating the columns as accounted for."""
    _take_unproven_columns(writing, statement, set(statement.named))
    writing.follows_sql = bool(statement.columns)
    _take_whole(writing, statement)


def _take_unproven_columns(writing: Writing, statement: Statement, columns: set[str]) -> None:
    """Add the SQL's edges to some columns, without treating the columns as accounted for."""
    writing.named |= columns
    for source, column, output, masked in statement.columns:
        if output in columns:
            writing.tables.add(source)
            writing.edges.add((source, column, output, "DIRECT", masked))
            writing.copies |= {(source, column, output)} & statement.copied


def _take_whole(writing: Writing, statement: Statement) -> None:
    for source, column in statement.whole if statement.says_something else ():
        writing.tables.add(source)
        writing.whole.add((source, column, False))


def _read(event: Delivered, run: Run | None) -> list[Facets]:
    """Return what an event lists as read; a RENAME of a run that did not complete reads what it renames."""
    is_open = run is not None and not run.completes
    renamed = [each for each in event.datasets("outputs") if changed(each) == "RENAME"] if is_open else []
    return [*event.datasets("inputs"), *(before for each in renamed if (before := before_rename(each)))]


def _is_altered(facets: dict[str, tuple[Facets, Delivered]]) -> bool:
    change = facets.get("lifecycleStateChange", ({}, None))[0].get("lifecycleStateChange")
    return str(change).upper() == "ALTER"


def _steps(facets: Facets) -> list[Facets]:
    """Return the sources in a `columnLineage` facet, or in that of an output's facets."""
    lineage = facets.get("columnLineage") or facets
    found = [step for each in (lineage.get("fields") or {}).values() for step in each.get("inputFields") or []]
    return [*found, *(lineage.get("dataset") or [])]


def _has_lineage(facets: Facets) -> bool:
    return "columnLineage" in merged([(facets, None)])  # type: ignore[list-item]


def _is_disputed(said: list[tuple[Facets, Delivered]]) -> bool:
    """Return whether an event removes or changes the lineage or schema that an earlier event reports for an output."""
    for name, part in (("columnLineage", "fields"), ("schema", "fields")):
        told = [facets[name] for facets, _ in said if facets.get(name)]
        told = [each for each in told if each.get("_deleted") or each.get(part) or each.get("dataset")]
        if any(one != other and not one.get("_deleted") for one, other in pairwise(told)):
            return True
    return False


def _job_named(source: Facets, event: Delivered) -> tuple[str, str]:
    """Return the key of a job that feeds something. Without a name, it is the job of the event itself."""
    return job_key(source if "name" in source else event.event.get("job") or {"namespace": "", "name": ""})


def _is_own_job(named: Facets, event: Delivered) -> bool:
    """Return whether an entry names the job of its event: without a name, as sent, or in canonical form."""
    own = event.event.get("job") or {}
    names = [own.get("name"), canonical_job(own["name"])] if own else []
    return "name" not in named or (named["namespace"] == own.get("namespace") and named["name"] in names)


def _is_stated(step: Facets) -> bool:
    return bool(step.get("transformations"))


def _says_all_itself(event: Delivered) -> bool:
    """Return whether each output of an event has inputs for all its listed columns, so that the SQL is not needed."""
    if "integration/dbt" in event.event["producer"]:
        return False
    written = [facets_of(each) for each in event.datasets("outputs") if not is_own_table(each["name"])]
    return bool(written) and all(map(_says_all_columns, written))


def _says_all_columns(facets: Facets) -> bool:
    lineage, schema = facets.get("columnLineage") or {}, facets.get("schema") or {}
    fed = {name for name, told in (lineage.get("fields") or {}).items() if told.get("inputFields")}
    return bool(fed) and fed == {each["name"] for each in schema.get("fields") or []}


def add_lineage(said: list[tuple[Facets, Delivered]], facets: Facets, event: Delivered) -> None:
    """Add a lineage facet to the earlier ones of the same entity. A deletion removes the earlier ones."""
    facet = facets.get("lineage") or {}
    if facet.get("_deleted"):
        said.clear()
    elif merged([({"lineage": facet}, event)]):
        said.append((facet, event))
