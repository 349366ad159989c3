"""Indexes the events of bronze. Each batch commits its derived data and its position in bronze in one transaction."""

import sqlite3
import time
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
from headwater.index.stored.assertions import AssertionTable
from headwater.index.stored.database import open_for_writing, split_for_parameters
from headwater.index.stored.datasets import DatasetTable, SqliteNaming, TagTable
from headwater.index.stored.edge_sets import CountedEdgeSet, EdgeSetTable, SqliteRelatedRuns
from headwater.index.stored.events import event_places
from headwater.index.stored.facets import Bodies, FacetTable, bodies_in_chunks
from headwater.index.stored.integrity import MANY_FRAMES, PageChecksums
from headwater.index.stored.measures import MeasureTable
from headwater.index.stored.numbers import NameNumbers, RunNumbers
from headwater.index.stored.packing import encode
from headwater.index.stored.progress import SetAsideEvent, newest_generation, read_progress, store_set_aside_events
from headwater.index.stored.recreated_outputs import RecreatedOutputs
from headwater.index.stored.run_facets import RecentFacets, RunContextTable
from headwater.index.stored.schemas import SqliteFacetContents
from headwater.index.writing.store import SqliteStore
from headwater.lake.bronze_follower import BronzeEvent, Progress
from headwater.lineage.edges.candidates import ATTEMPTED, Candidate, JobOutput
from headwater.lineage.edges.edge_sets import EdgeSet, resolve_edge_sets
from headwater.lineage.edges.schema_columns import decode_spellings, encode_spellings
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.derivation import Derivation
from headwater.lineage.runs.event_reading import ShapeFacts, make_facts_reader
from headwater.lineage.runs.run_derivation import ContentTraits
from headwater.lineage.runs.run_facts import RunFacts
from headwater.lineage.runs.sent_facets import decode_members

EVENT_CPU_S = 30.0
"""An event that takes more than this many CPU seconds is set aside.

The target for the largest event (30,000 outputs) is 5 s.
"""

_MORE_S = 0.05
"""Additional CPU seconds for each event of a batch."""


class CpuLimit:
    """A limit of the CPU seconds that this thread may use for each batch.

    SQLite's progress handler checks the limit, because all work on a batch uses SQLite.
    """

    def __init__(self, event_cpu_s: float = EVENT_CPU_S, *, check_steps: int = 10_000):
        """event_cpu_s: the CPU seconds for a batch of one event.

        check_steps: the number of steps of SQLite's virtual machine between two checks of the limit.
        """
        self.event_cpu_s = event_cpu_s
        self.every = check_steps
        self._until_s = 0.0

    def begin_batch(self, events: int) -> None:
        """Start the limit for a batch of this many events."""
        self._until_s = time.thread_time() + self.event_cpu_s + _MORE_S * events

    def is_spent(self) -> bool:
        """Return whether the batch has used up its CPU time."""
        return time.thread_time() > self._until_s


class Indexer:
    """The only writer of an index file."""

    def __init__(self, path: Path, rules: NameRules, cpu_limit: CpuLimit | None = None):
        """Open or create the index file for these name rules. cpu_limit: None for the default limit."""
        self._cpu_limit = cpu_limit or CpuLimit()
        with close_on_error(open_for_writing(path)) as self._sql:
            self._sums = PageChecksums(path, self._sql)
            self._sums.checkpoint()
            self._load_tables(rules)

    def _load_tables(self, rules: NameRules) -> None:
        self._names = NameNumbers(self._sql)
        self._contents = SqliteFacetContents(self._sql)
        runs = RunNumbers(self._sql)
        self._store = SqliteStore(self._sql, self._names, runs, rules.onelake_names)
        self._relations = SqliteRelatedRuns(self._sql, self._store.edge_sets)
        self._recreated = RecreatedOutputs(self._sql, self._names, self._store.candidates)
        self._tags = TagTable(self._sql, self._names)
        self._datasets = DatasetTable(self._sql)
        self._derivation = Derivation(self._store, self._contents, SqliteNaming(self._sql, self._names))
        context = RunContextTable(self._sql, self._names, runs, self._store.search, rules.canonical_job)
        self._facets = FacetTable(
            self._sql, self._names, context, AssertionTable(self._sql, runs), MeasureTable(self._sql, runs)
        )
        self._recent = RecentFacets(self._sql, runs)
        self._reader = make_facts_reader(rules, self._contents)
        self._generation = newest_generation(self._sql)
        self._seen_spellings: set[int] = set()

    def progress(self) -> Progress:
        """Return the position of the index in bronze."""
        return read_progress(self._sql)

    def process_events(self, source: Source, sequence: int, events: Sequence[BronzeEvent], bodies: Bodies) -> None:
        """Process the events of a partition up to a sequence number. Repeated events change nothing.

        bodies: returns bodies by sequence. It is called only for events that cannot be processed without their bodies,
        such as the first event of a new shape. Raises InvalidEvent if the batch exceeds the CPU limit.
        """
        self._cpu_limit.begin_batch(len(events))
        self._sql.set_progress_handler(self._cpu_limit.is_spent, self._cpu_limit.every)
        self._sql.execute("BEGIN IMMEDIATE")
        try:
            self._generation += 1
            self._names.begin_batch()
            self._store.search.begin_batch()
            self._store.history.generation = self._facets.generation = self._generation
            with gc_paused():
                self._store.places, self._store.facet_names = (
                    event_places(self._sql, source, events),
                    self._facets.facet_names,
                )
                self._apply_facts(self._read_facts(events, bodies), bodies)
            self._store.feed.write_batch(self._generation)
            self._store.edge_sets.delete_unreported(self._generation)
            self._sql.set_progress_handler(None, 0)
            self._advance_position(source, sequence)
        except BaseException as error:
            self._sql.set_progress_handler(None, 0)
            if self._sql.in_transaction:  # if the disk is full, SQLite has already ended the transaction
                self._sql.execute("ROLLBACK")
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                raise self._too_slow_error() from error
            raise

    def _too_slow_error(self) -> InvalidEvent:
        what = f"Indexing this event takes more than {self._cpu_limit.event_cpu_s:g} s of CPU time."
        return InvalidEvent(TOO_SLOW, what, "Send less in one event.")

    def _check_cpu_limit(self) -> None:
        """Raise InvalidEvent if the batch has used up its CPU time.

        SQLite's progress handler is not enough, because it counts the steps of each statement separately, and many
        statements are short.
        """
        if self._cpu_limit.is_spent():
            raise self._too_slow_error()

    def set_events_aside(self, source: Source, sequence: int, events: Sequence[SetAsideEvent]) -> None:
        """Store events that cannot be processed, and advance the position past them."""
        self._sql.execute("BEGIN IMMEDIATE")
        store_set_aside_events(self._sql, source, events)
        self._advance_position(source, sequence)

    def _advance_position(self, source: Source, sequence: int) -> None:
        row = (source.epoch, source.partition, sequence)
        self._sql.execute("INSERT OR REPLACE INTO positions VALUES (?, ?, ?)", row)
        self._sql.execute("COMMIT")
        self._sums.checkpoint(min_frames=MANY_FRAMES)

    def record_removed_before(self, before_us: int) -> None:
        """Record that bronze lost events received before a time (us, UTC), which the index has not processed."""
        known = self._sql.execute("SELECT max(before_us) FROM removed_events").fetchone()[0]
        if known is None or known < before_us:
            self._sql.execute("BEGIN IMMEDIATE")
            self._sql.execute("INSERT OR REPLACE INTO removed_events VALUES (1, ?)", (before_us,))
            self._sql.execute("COMMIT")

    def add_rejections(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rejected records to the feed. rows: the received_at, reason, field and message of each, oldest first."""
        self._generation += 1
        self._sql.execute("BEGIN IMMEDIATE")
        self._store.feed.add_rejections(rows)
        self._store.feed.write_batch(self._generation)
        self._sql.execute("COMMIT")

    def shape_cache_counts(self) -> tuple[int, int]:
        """Return (number of runs that were looked up in the cache of shapes, number of runs that were found)."""
        return self._derivation.run_cache.lookups, self._derivation.run_cache.hits

    def close(self) -> None:
        """Write the page checksums and close the file."""
        try:
            self._sums.checkpoint()
        finally:
            self._sql.close()

    def _read_facts(self, events: Sequence[BronzeEvent], bodies: Bodies) -> list[RunFacts]:
        """Return the facts of a batch's events. For a new shape, the body of its first event is read."""
        if self._facets.is_full():
            self._facets.clear_cache()
            self._reader.clear_caches()
        shapes = self._cached_shapes(events)
        read: dict[int, Sent] = {}
        for at, body in bodies_in_chunks(bodies, _sequences_without_shape(events, shapes)):
            event = self._reader.read_body(body)
            if event.shape not in shapes:
                shapes[event.shape] = self._reader.add_shape(event.event_shape, event.contents)
                self._facets.add_shape(event, shapes[event.shape])
            read[at] = event.sent
        facts = []
        for event_id, received_us, sequence, sent in events:
            known = sent if sent and sequence not in read else read[sequence]
            fact = self._reader.facts_of_event(event_id, received_us, known, shapes[known.shape])
            of_run = decode_members(Raw(known.run_facets.encode())) if known.run_facets else {}
            self._facets.add_event(sequence, known, fact, of_run)
            self._recent.add_event(fact, of_run)
            facts.append(fact)
        return facts

    def _cached_shapes(self, events: Sequence[BronzeEvent]) -> dict[str, ShapeFacts]:
        shapes = {event.sent.shape for event in events if event.sent}
        return {shape: read for shape in shapes if (read := self._reader.cached_shape(shape))}

    def _apply_facts(self, facts: Sequence[RunFacts], bodies: Bodies) -> None:
        changed = self._derivation.add_facts(facts)
        self._check_cpu_limit()
        traits = [(fact, self._derivation.run_cache.content_traits(fact)) for fact in facts]
        tagged = [fact for fact, each in traits if each.has_tags]
        self._tags.add_facets(tagged)
        self._store.search.add_symlinks_and_tags([fact for fact, each in traits if each.has_symlinks], tagged)
        self._store.flush()
        self._facets.flush(bodies)
        self._recent.flush(self._store.new_runs())
        self._store.candidates.load_explainable_statements(
            job_output.output for job_output in changed if job_output.output
        )
        for some in split_for_parameters(
            [self._recreated.affected_job_outputs(of_output) for of_output in _group_by_dataset(changed)]
        ):
            self._check_cpu_limit()
            self._count_edge_sets_by_output(some)
        self._store.edge_sets.flush(self._generation)
        self._store.rewrites.update_rewrites(self._generation)
        self._store.rewrites.add_proofs(facts)
        self._update_datasets(changed, (each for _, each in traits))
        self._check_cpu_limit()
        self._store.search.flush()

    def _count_edge_sets_by_output(self, by_output: Sequence[Sequence[int]]) -> None:
        """Determine which edge sets count, and store the changes.

        by_output: groups of job output numbers. No two groups contain job outputs of the same dataset.
        """
        numbers = [number for job_outputs in by_output for number in job_outputs]
        only_set, counted = (
            self._store.candidates.single_candidates(numbers),
            self._store.edge_sets.counted_edge_sets(numbers),
        )
        for job_outputs in by_output:
            before = {number: each for group in job_outputs for number, each in counted.get(group, {}).items()}
            self._count_edge_sets(job_outputs, only_set, before)

    def _count_edge_sets(
        self, job_outputs: Sequence[int], single: Mapping[int, Candidate[int]], before: Mapping[int, CountedEdgeSet]
    ) -> None:
        """Determine which edge sets of one dataset's job outputs count now, and store the changes.

        job_outputs: the numbers of the job outputs. single: the only candidate, by the number of the job output, of
        job outputs that have exactly one. before: how the edge sets have counted until now, by edge set number.
        """
        candidates, edge_sets = self._store.candidates, self._store.edge_sets
        outputs = [candidates.job_output_of_number(number) for number in job_outputs]
        can_count = candidates.countable_candidates(job_outputs, single)
        counting_sets = resolve_edge_sets(can_count, edge_sets.lineage_of_edge_set, self._relations, outputs)
        after = {
            counting.lineage: _to_counted_edge_set(counting)
            for own_sets in counting_sets.values()
            for counting in own_sets
        }
        for number in before.keys() | after.keys():
            self._store_how_edge_set_counts(
                number, before.get(number, CountedEdgeSet()), after.get(number, CountedEdgeSet())
            )
        only_set = {
            candidates.job_output_number(job_output): found
            for job_output, own in counting_sets.items()
            if (found := _only_counting_edge_set(own, edge_sets)) is not None
        }
        for number in job_outputs:
            candidates.set_only_counting(number, only_set.get(number))
        self._recreated.set_counting_readers(
            job_outputs,
            [
                job_output
                for job_output, own in counting_sets.items()
                if any(counting.is_live_across_generations for counting in own)
            ],
        )

    def _store_how_edge_set_counts(self, number: int, before: CountedEdgeSet, after: CountedEdgeSet) -> None:
        if before.live != after.live:
            self._store.feed.add_edge_set_change(number, counts_now=bool(after.live))
        if before != after:
            self._store.edge_sets.set_counted(number, after)

    def _update_datasets(self, changed: Iterable[JobOutput], traits: Iterable[ContentTraits]) -> None:
        spellings = self._new_column_spellings(traits)
        datasets = self._derivation.checked_datasets
        names = self._derivation.naming.names_of_any(datasets)  # a name also shows its earlier generations
        shown = names | {each.output.without_generation for each in changed if each.output and each.layer != ATTEMPTED}
        self._datasets.load_rows(self._names.number(name) for some in (datasets, shown, spellings) for name in some)
        for dataset in datasets:
            self._update_schema(dataset)
        for dataset in shown:
            self._update_current_columns(dataset)
        for name, columns in spellings.items():
            number = self._names.number(name)
            before = decode_spellings(self._datasets.text_cell(number, "spellings"))
            self._datasets.set_cell(number, "spellings", encode_spellings({*before, *columns}))
        self._datasets.flush(self._generation)

    def _new_column_spellings(self, traits: Iterable[ContentTraits]) -> dict[Name, set[str]]:
        """Return the spellings of columns in event contents that were not processed before, by dataset name."""
        found: dict[Name, set[str]] = {}
        for each in traits:
            if each.spellings and each.number not in self._seen_spellings:
                self._seen_spellings.add(each.number)
                for name, column in each.spellings:
                    found.setdefault(name, set()).add(column)
        return found

    def _update_schema(self, dataset: Name) -> None:
        number = self._names.number(dataset)
        if self._datasets.set_cell(number, "schema", self._derivation.schema_history.newest_schema_hash(dataset)):
            self._datasets.set_cell(
                number, "nests", int(self._derivation.schema_history.columns(dataset).has_nested_columns)
            )

    def _update_current_columns(self, dataset: Name) -> None:
        """Store the columns of a dataset, from the newest generation that has a schema, and whether it is dropped."""
        generations, schemas = self._derivation.naming.generations, self._derivation.schema_history
        every = generations.all_generations(dataset)
        schema = next((found for each in every if (found := schemas.newest_schema_hash(each))), None)
        number = self._names.number(dataset)
        if self._datasets.set_cell(number, "shown_schema", schema):
            self._store.search.replace_columns(dataset, self._contents.schema(schema) if schema else ())
        self._datasets.set_cell(number, "dropped", int(not generations.exists_at(dataset)))


def _group_by_dataset(job_outputs: Iterable[JobOutput]) -> Iterable[Sequence[JobOutput]]:
    """Group job outputs by dataset; all generations of a dataset are one group.

    A job output without a dataset forms its own group.
    """
    found: dict[object, list[JobOutput]] = {}
    for job_output in job_outputs:
        found.setdefault(job_output.output.without_generation if job_output.output else job_output, []).append(
            job_output
        )
    return found.values()


def _sequences_without_shape(events: Sequence[BronzeEvent], shapes: Mapping[str, ShapeFacts]) -> set[int]:
    """Return the sequences of the events for which the body must be read, such as the first event of a new shape."""
    found = {
        event.sequence
        for event in events
        if event.sent is None or _lacks_run_facets(event.sent, shapes) or _lacks_statistics(event.sent, shapes)
    }
    first = {event.sent.shape: event.sequence for event in reversed(events) if event.sent}
    return found | {sequence for shape, sequence in first.items() if shape not in shapes}


def _lacks_run_facets(sent: Sent, shapes: Mapping[str, ShapeFacts]) -> bool:
    """Return whether the event has run facets that are only in its body, not in the columns of bronze."""
    if sent.run_facets is not None or sent.kind != "RUN":
        return False
    return sent.shape not in shapes or shapes[sent.shape].has_run_facets


def _lacks_statistics(sent: Sent, shapes: Mapping[str, ShapeFacts]) -> bool:
    """Return whether the event may have numbers of datasets that are only in its body, not in the columns of bronze."""
    if sent.statistics is not None or sent.kind != "RUN":
        return False
    return sent.shape not in shapes or shapes[sent.shape].may_have_numbers


def _to_counted_edge_set(counting: EdgeSet[int]) -> CountedEdgeSet:
    names = (encode(sorted(counting.explained_inputs)), encode(sorted(counting.accounted_inputs)))
    return CountedEdgeSet(
        int(counting.is_live), int(counting.is_latest), int(counting.is_live_across_generations), *names
    )


def _only_counting_edge_set(edge_sets_of_it: Sequence[EdgeSet[int]], edge_sets: EdgeSetTable) -> int | None:
    """Return the number of the only edge set that counts, if there is just one and it counts in every way.

    Returns None otherwise, and also if the edge set has no column lineage or other runs may explain it.
    """
    counting = [each for each in edge_sets_of_it if each.is_live or each.is_latest or each.is_live_across_generations]
    if len(counting) != 1 or not (
        counting[0].is_live and counting[0].is_latest and counting[0].is_live_across_generations
    ):
        return None
    lineage = edge_sets.lineage_of_edge_set(counting[0].lineage)
    return counting[0].lineage if lineage.has_column_lineage and not lineage.has_hidden_inputs else None
