"""Index the events of bronze. Each batch commits its derived data and its position in one transaction."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Raw

from headwater.common.errors import InvalidEvent
from headwater.common.garbage_collection import gc_paused
from headwater.common.resources import close_on_error
from headwater.events.cpu_budget import TOO_SLOW
from headwater.events.event import Sent
from headwater.events.position import Source
from headwater.index.reading.indexed_relations import SqliteRelatedRuns
from headwater.index.stored.binding_table import SqliteNaming
from headwater.index.stored.content_table import SqliteContents
from headwater.index.stored.database import chunks, open_for_writing
from headwater.index.stored.dataset_table import DatasetTable
from headwater.index.stored.edge_set_table import CountedEdgeSet, EdgeSetTable
from headwater.index.stored.event_table import places_of
from headwater.index.stored.facet_table import Bodies, FacetTable, few_at_a_time
from headwater.index.stored.index_packing import encode
from headwater.index.stored.name_numbers import NameNumbers
from headwater.index.stored.page_sums import MANY_FRAMES, PageSums
from headwater.index.stored.progress import newest_generation, read_progress
from headwater.index.stored.recent_facets import RecentFacets
from headwater.index.stored.recreated import Recreated
from headwater.index.stored.run_context_table import RunContextTable
from headwater.index.stored.run_numbers import RunNumbers
from headwater.index.stored.set_aside import SetAside, put_aside
from headwater.index.stored.tag_table import TagTable
from headwater.index.writing.index_store import SqliteStore
from headwater.index.writing.work_bound import WorkBound
from headwater.lake.bronze_follower import BronzeEvent, Progress
from headwater.lineage.edges.column_spellings import spellings_from, spellings_text
from headwater.lineage.edges.current_candidates import ATTEMPTED, Candidate, JobOutput
from headwater.lineage.edges.edge_sets import EdgeSet, outcome
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.derivation import Derivation
from headwater.lineage.runs.event_reading import ReadShape, facts_reader
from headwater.lineage.runs.recurring_runs import ContentTraits
from headwater.lineage.runs.run_facts import RunFacts
from headwater.lineage.runs.sent_facets import members


class Indexer:
    """The only writer of an index file."""

    def __init__(self, path: Path, rules: NameRules, bound: WorkBound | None = None):
        """Open or create the file for these name rules. bound: the CPU limit of a batch."""
        self._bound = bound or WorkBound()
        with close_on_error(open_for_writing(path)) as self._sql:
            self._sums = PageSums(path, self._sql)
            self._sums.checkpoint()
            self._begin(rules)

    def _begin(self, rules: NameRules) -> None:
        self._names = NameNumbers(self._sql)
        self._contents = SqliteContents(self._sql)
        runs = RunNumbers(self._sql)
        self._store = SqliteStore(self._sql, self._names, runs, rules.onelake_names)
        self._relations = SqliteRelatedRuns(self._sql, self._store.edge_sets)
        self._recreated = Recreated(self._sql, self._names, self._store.candidates)
        self._tags = TagTable(self._sql, self._names)
        self._datasets = DatasetTable(self._sql)
        self._derivation = Derivation(self._store, self._contents, SqliteNaming(self._sql, self._names))
        context = RunContextTable(self._sql, self._names, runs, self._store.search, rules.job)
        self._facets = FacetTable(self._sql, self._names, context)
        self._recent = RecentFacets(self._sql, runs)
        self._reader = facts_reader(rules, self._contents)
        self._generation = newest_generation(self._sql)
        self._spelt: set[int] = set()

    def progress(self) -> Progress:
        """Return the position of the index in bronze."""
        return read_progress(self._sql)

    def add(self, source: Source, sequence: int, events: Sequence[BronzeEvent], bodies: Bodies) -> None:
        """Process the events of a partition up to a sequence number. Repeated events change nothing.

        bodies: called only for events that cannot be processed without their bodies, such as the first of a new shape.
        """
        self._bound.begin(len(events))
        self._sql.set_progress_handler(self._bound.is_spent, self._bound.every)
        self._sql.execute("BEGIN IMMEDIATE")
        try:
            self._generation += 1
            self._names.begin()
            self._store.search.begin()
            self._store.history.generation = self._facets.generation = self._generation
            with gc_paused():
                self._store.places, self._store.told = places_of(self._sql, source, events), self._facets.told
                self._apply(self._read(events, bodies), bodies)
            self._store.feed.write(self._generation)
            self._store.edge_sets.collect(self._generation)
            self._sql.set_progress_handler(None, 0)
            self._move(source, sequence)
        except BaseException as error:
            self._sql.set_progress_handler(None, 0)
            if self._sql.in_transaction:  # if the disk is full, SQLite has already ended it
                self._sql.execute("ROLLBACK")
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                raise self._too_slow() from error
            raise

    def _too_slow(self) -> InvalidEvent:
        what = f"Taking it takes the index more than {self._bound.event_cpu_s:g} s of CPU."
        return InvalidEvent(TOO_SLOW, what, "Send less in one event.")

    def _keep_to_bound(self) -> None:
        """Check the CPU limit between statements.

        SQLite's progress handler counts the steps of each statement separately, and many statements are short.
        """
        if self._bound.is_spent():
            raise self._too_slow()

    def set_aside(self, source: Source, sequence: int, found: Sequence[SetAside]) -> None:
        """Store events that cannot be processed, and advance the position past them."""
        self._sql.execute("BEGIN IMMEDIATE")
        put_aside(self._sql, source, found)
        self._move(source, sequence)

    def _move(self, source: Source, sequence: int) -> None:
        row = (source.epoch, source.partition, sequence)
        self._sql.execute("INSERT OR REPLACE INTO positions VALUES (?, ?, ?)", row)
        self._sql.execute("COMMIT")
        self._sums.checkpoint(least_frames=MANY_FRAMES)

    def note_removed(self, before_us: int) -> None:
        """Record that events received before a time (us) were removed before the index could process them."""
        known = self._sql.execute("SELECT max(before_us) FROM removed_events").fetchone()[0]
        if known is None or known < before_us:
            self._sql.execute("BEGIN IMMEDIATE")
            self._sql.execute("INSERT OR REPLACE INTO removed_events VALUES (1, ?)", (before_us,))
            self._sql.execute("COMMIT")

    def tell_rejected(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rejections to the feed."""
        self._generation += 1
        self._sql.execute("BEGIN IMMEDIATE")
        self._store.feed.rejected(rows)
        self._store.feed.write(self._generation)
        self._sql.execute("COMMIT")

    def shape_lookups(self) -> tuple[int, int]:
        """Return how many runs were looked up in the cache of shapes, and how many were found."""
        return self._derivation.shapes.lookups, self._derivation.shapes.hits

    def close(self) -> None:
        """Write the page checksums and close the file."""
        try:
            self._sums.checkpoint()
        finally:
            self._sql.close()

    def _read(self, events: Sequence[BronzeEvent], bodies: Bodies) -> list[RunFacts]:
        """Return the facts of a batch. For a new shape, the body of its first event is read."""
        if self._facets.is_full():
            self._facets.forget()
            self._reader.forget()
        shapes = self._known(events)
        read: dict[int, Sent] = {}
        for at, body in few_at_a_time(bodies, _untold(events, shapes)):
            event = self._reader.read_body(body)
            if event.shape not in shapes:
                shapes[event.shape] = self._reader.learn(event.said, event.contents)
                self._facets.learn(event, shapes[event.shape])
            read[at] = event.sent
        facts = []
        for event_id, received_us, sequence, sent in events:
            told = sent if sent and sequence not in read else read[sequence]
            fact = self._reader.fact(event_id, received_us, told, shapes[told.shape])
            of_run = members(Raw(told.run_facets.encode())) if told.run_facets else {}
            self._facets.take(sequence, told, fact, of_run)
            self._recent.take(fact, of_run)
            facts.append(fact)
        return facts

    def _known(self, events: Sequence[BronzeEvent]) -> dict[str, ReadShape]:
        shapes = {event.sent.shape for event in events if event.sent}
        return {shape: read for shape in shapes if (read := self._reader.known(shape))}

    def _apply(self, facts: Sequence[RunFacts], bodies: Bodies) -> None:
        changed = self._derivation.add(facts)
        self._keep_to_bound()
        told = [(fact, self._derivation.shapes.traits(fact)) for fact in facts]
        tagged = [fact for fact, each in told if each.tagged]
        self._tags.add(tagged)
        self._store.search.add([fact for fact, each in told if each.links], tagged)
        self._store.flush()
        self._facets.flush(bodies)
        self._recent.flush(self._store.new_runs())
        self._store.candidates.look_at_statements(job_output.output for job_output in changed if job_output.output)
        for some in chunks([self._recreated.around(of_output) for of_output in _by_output(changed)]):
            self._keep_to_bound()
            self._settle_all(some)
        self._store.edge_sets.flush(self._generation)
        self._store.rewrites.update(self._generation)
        self._store.rewrites.see(facts)
        self._set_datasets(changed, (each for _, each in told))
        self._keep_to_bound()
        self._store.search.flush()

    def _settle_all(self, by_output: Sequence[Sequence[int]]) -> None:
        """Count the edge sets of groups of job outputs. No two groups contain job outputs of the same dataset."""
        numbers = [number for job_outputs in by_output for number in job_outputs]
        alone, counted = self._store.candidates.alone_in(numbers), self._store.edge_sets.counted(numbers)
        for job_outputs in by_output:
            before = {number: each for group in job_outputs for number, each in counted.get(group, {}).items()}
            self._settle(job_outputs, alone, before)

    def _settle(
        self, job_outputs: Sequence[int], only: Mapping[int, Candidate[int]], before: Mapping[int, CountedEdgeSet]
    ) -> None:
        """Determine which edge sets of one output's job outputs count now, and store the changes.

        only: the candidates of job outputs that have exactly one. before: the edge sets that have counted until now,
        and how.
        """
        candidates, edge_sets = self._store.candidates, self._store.edge_sets
        asked = [candidates.job_output(number) for number in job_outputs]
        can_count = candidates.that_can_count(job_outputs, only)
        counting_sets = outcome(can_count, edge_sets.edges, self._relations, asked)
        after = {counting.lineage: _counted(counting) for own_sets in counting_sets.values() for counting in own_sets}
        for number in before.keys() | after.keys():
            self._mark(number, before.get(number, CountedEdgeSet()), after.get(number, CountedEdgeSet()))
        alone = {
            candidates.number(job_output): found
            for job_output, own in counting_sets.items()
            if (found := _alone(own, edge_sets)) is not None
        }
        for number in job_outputs:
            candidates.settle(number, alone.get(number))
        self._recreated.settle(
            job_outputs,
            [job_output for job_output, own in counting_sets.items() if any(counting.reading for counting in own)],
        )

    def _mark(self, number: int, before: CountedEdgeSet, after: CountedEdgeSet) -> None:
        if before.live != after.live:
            self._store.feed.counts(number, live=bool(after.live))
        if before != after:
            self._store.edge_sets.count(number, after)

    def _set_datasets(self, changed: Iterable[JobOutput], told: Iterable[ContentTraits]) -> None:
        spellings = self._fresh_spellings(told)
        looked_at = self._derivation.looked_at
        concerned = self._derivation.naming.names_of_any(looked_at)  # a name also shows its earlier generations
        shown = concerned | {each.output.plain for each in changed if each.output and each.layer != ATTEMPTED}
        self._datasets.look(self._names.number(name) for names in (looked_at, shown, spellings) for name in names)
        for dataset in looked_at:
            self._set_schema(dataset)
        for dataset in shown:
            self._set_shown(dataset)
        for name, columns in spellings.items():
            number = self._names.number(name)
            before = spellings_from(self._datasets.text(number, "spellings"))
            self._datasets.set(number, "spellings", spellings_text({*before, *columns}))
        self._datasets.flush(self._generation)

    def _fresh_spellings(self, told: Iterable[ContentTraits]) -> dict[Name, set[str]]:
        """Return how columns are spelled in event contents that were not processed before, by dataset name."""
        found: dict[Name, set[str]] = {}
        for each in told:
            if each.spellings and each.number not in self._spelt:
                self._spelt.add(each.number)
                for name, column in each.spellings:
                    found.setdefault(name, set()).add(column)
        return found

    def _set_schema(self, dataset: Name) -> None:
        number = self._names.number(dataset)
        if self._datasets.set(number, "schema", self._derivation.schemas.newest(dataset)):
            self._datasets.set(number, "nests", int(self._derivation.schemas.columns(dataset).nests))

    def _set_shown(self, dataset: Name) -> None:
        """Store the columns of a dataset, from the newest generation that has a schema, and whether it is dropped."""
        generations, schemas = self._derivation.naming.generations, self._derivation.schemas
        every = generations.meanings(dataset)
        schema = next((found for each in every if (found := schemas.newest(each))), None)
        number = self._names.number(dataset)
        if self._datasets.set(number, "shown", schema):
            self._store.search.set_columns(dataset, self._contents.schema(schema) if schema else ())
        self._datasets.set(number, "dropped", int(not generations.is_there(dataset)))


def _by_output(job_outputs: Iterable[JobOutput]) -> Iterable[Sequence[JobOutput]]:
    """Group job outputs by dataset, in any generation. A job output without a dataset forms its own group."""
    found: dict[object, list[JobOutput]] = {}
    for job_output in job_outputs:
        found.setdefault(job_output.output.plain if job_output.output else job_output, []).append(job_output)
    return found.values()


def _untold(events: Sequence[BronzeEvent], shapes: Mapping[str, ReadShape]) -> set[int]:
    """Return the sequences of events whose bodies must be read, including the first event of each new shape."""
    found = {event.sequence for event in events if event.sent is None or _is_cut(event.sent, shapes)}
    first = {event.sent.shape: event.sequence for event in reversed(events) if event.sent}
    return found | {sequence for shape, sequence in first.items() if shape not in shapes}


def _is_cut(sent: Sent, shapes: Mapping[str, ReadShape]) -> bool:
    """Return whether only the body contains the run facets."""
    if sent.run_facets is not None or sent.kind != "RUN":
        return False
    return sent.shape not in shapes or shapes[sent.shape].has_run_facets


def _counted(counting: EdgeSet[int]) -> CountedEdgeSet:
    names = (encode(sorted(counting.explained)), encode(sorted(counting.accounted)))
    return CountedEdgeSet(int(counting.live), int(counting.latest), int(counting.reading), *names)


def _alone(edge_sets_of_it: Sequence[EdgeSet[int]], edge_sets: EdgeSetTable) -> int | None:
    """Return the only edge set that counts. None if it has no column lineage or other runs may explain it."""
    counting = [each for each in edge_sets_of_it if each.live or each.latest or each.reading]
    if len(counting) != 1 or not (counting[0].live and counting[0].latest and counting[0].reading):
        return None
    lineage = edge_sets.edges(counting[0].lineage)
    return counting[0].lineage if lineage.carries and not lineage.asks else None
