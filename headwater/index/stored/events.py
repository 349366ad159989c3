"""Tables of events: their facts by run, their times and places in bronze, and the names of their facets.

Equal event contents and equal dataset uses are stored once. Bodies are only in bronze. To show a page of events or the
facets of a run, a question reads only the bodies at the stored places.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import timedelta
from hashlib import blake2b
from typing import Generic, TypeVar

from msgspec import msgpack

from headwater.events.position import Source
from headwater.index.stored.database import json_array, question_marks, split_for_parameters
from headwater.index.stored.numbers import RunNumbers
from headwater.index.stored.packing import encode, pack_content, packed_facts_from, use_from, versions_from
from headwater.lake.bronze_follower import BronzeEvent
from headwater.lineage.runs.bounded_cache import BoundedCache
from headwater.lineage.runs.event_order import event_order
from headwater.lineage.runs.run_facts import LONG_RUN_EVENTS, DatasetUse, DecidingFactsSelector, EventContent, RunFacts

T = TypeVar("T")

_KEEP = 50_000
_LONG_RUNS = 1_000

Places = Mapping[str, tuple[int, int]]
"""Event id → (the number of the event's partition, the event's sequence)."""

FacetNames = Mapping[str, int]
"""Event id → the number of the event's combination of facet names (`FacetNamesTable`)."""

_FACTS = (
    "SELECT k.key, p.event, p.content, p.versions, p.time_us, p.received_us, e.key, a.key, p.nominal_us "
    "FROM event_facts p "
    "JOIN run_keys k ON k.id = p.run LEFT JOIN run_keys e ON e.id = p.execution LEFT JOIN run_keys a ON a.id = p.parent"
)


class RunFactsTable:
    """The facts of events, by run."""

    def __init__(self, connection: sqlite3.Connection, runs: RunNumbers):
        self._sql = connection
        self._runs = runs
        self._contents = _NumberedValues[EventContent](
            connection, "event_contents", self._pack_content, self._unpack_content
        )
        self._uses = _NumberedValues[DatasetUse](connection, "dataset_uses", encode, use_from)
        self._new_runs: dict[str, list[RunFacts]] = {}
        self._long: dict[str, DecidingFactsSelector] = {}

    def add(self, facts: Sequence[RunFacts], event_places: Places, facet_names: FacetNames) -> Sequence[RunFacts]:
        """Store the facts of events, with their places in bronze and facet names. Return the facts of new events."""
        self._runs.begin_batch()
        self._runs.assign_all(key for fact in facts for key in (fact.run_key, fact.execution, fact.parent))
        number = self._runs
        by_key: dict[tuple[int, bytes], RunFacts] = {}
        for fact in facts:  # if an event was received twice, the first one counts, also within one batch
            by_key.setdefault((number[fact.run_key], bytes.fromhex(fact.order.event_id)), fact)
        older = self._runs_with_events({run for run, _ in by_key if not self._runs.is_new_in_batch(run)})
        known = self._stored_event_keys([key for key in by_key if key[0] in older])
        fresh = {key: fact for key, fact in by_key.items() if key not in known}
        rows = [
            (
                *key, self._contents.number(fact.content), _pack_versions(fact.versions), fact.order.time_us,
                fact.received_us,
                fact.execution and number[fact.execution], fact.parent and number[fact.parent],
                *event_places[fact.order.event_id], facet_names[fact.order.event_id], fact.nominal_us,
            )
            for key, fact in fresh.items()
        ]  # fmt: skip
        self._sql.executemany("INSERT INTO event_facts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        self._new_runs = {}
        for (run, _), fact in fresh.items():
            if run not in older:
                self._new_runs.setdefault(fact.run_key, []).append(fact)
            elif long := self._long.get(fact.run_key):
                long.add(fact)
        return list(fresh.values())

    def _runs_with_events(self, runs: Set[int]) -> set[int]:
        """Return the numbers in `runs` of runs that have an event in the table."""
        query = "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM event_facts WHERE run = value)"
        return {run for (run,) in self._sql.execute(query, (json_array(runs),))}

    def _stored_event_keys(self, keys: Sequence[tuple[int, bytes]]) -> set[tuple[int, bytes]]:
        """Return the keys of events that are stored already. keys: (run number, event id).

        Other events of the same runs are not read.
        """
        found: set[tuple[int, bytes]] = set()
        for some in split_for_parameters(keys):
            values = ", ".join(["(?, ?)"] * len(some))
            query = f"SELECT run, event FROM event_facts WHERE (run, event) IN (VALUES {values})"
            found.update(self._sql.execute(query, [cell for key in some for cell in key]))
        return found

    def new_runs(self) -> Set[str]:
        """Return the keys of the runs whose events all came with the last `add`."""
        return self._new_runs.keys()

    def facts(self, run_keys: Iterable[str]) -> Mapping[str, Sequence[RunFacts]]:
        """Return all facts of each of these runs, by run key. Runs without events are left out."""
        wanted = list(run_keys)
        found = {run: facts for run in wanted if (facts := self._new_runs.get(run))}  # the new runs are still in memory
        for some in split_for_parameters([run for run in wanted if run not in found]):
            for fact in self._query_facts(f"{_FACTS} WHERE k.key IN ({question_marks(some)})", some):
                found.setdefault(fact.run_key, []).append(fact)
        return found

    def deciding_facts(self, run_keys: Iterable[str]) -> Mapping[str, Sequence[RunFacts]]:
        """Return the facts that decide the lineage of each run, by run key.

        These are all facts of a run, or the selection of `DecidingFactsSelector` for a run with many events. Selectors
        are cached from batch to batch.
        """
        found: dict[str, Sequence[RunFacts]] = {}
        read: list[str] = []
        for run in run_keys:
            if long := self._long.get(run):
                found[run] = long.deciding_facts()
            else:
                read.append(run)
        for run, facts in self.facts(read).items():
            found[run] = facts
            if len(facts) > LONG_RUN_EVENTS:
                found[run] = self._cache_facts(run, facts)
        return found

    def _cache_facts(self, run: str, facts: Sequence[RunFacts]) -> Sequence[RunFacts]:
        long = DecidingFactsSelector(facts)
        few = long.deciding_facts()
        if len(few) > len(facts) // 2:
            return facts
        if len(self._long) >= _LONG_RUNS:
            self._long.clear()
        self._long[run] = long
        return few

    def facts_until(self, as_of_us: int, known_at_us: int) -> list[RunFacts]:
        """Return the facts of all events up to an event time (`as_of_us`) and a time of receipt (us, UTC)."""
        facts = self._query_facts(_FACTS, ())
        return [fact for fact in facts if fact.time_us <= as_of_us and fact.received_us <= known_at_us]

    def _pack_content(self, content: EventContent) -> bytes:
        inputs, outputs = ([self._uses.number(each) for each in side] for side in (content.inputs, content.outputs))
        return pack_content(content, inputs, outputs)

    def _unpack_content(self, value: bytes) -> EventContent:
        packed = packed_facts_from(value)
        inputs, outputs = (tuple(map(self._uses.value, side)) for side in (packed.inputs, packed.outputs))
        return EventContent(
            packed.kind, packed.type, packed.job, packed.artifact, packed.processing, packed.snapshot, inputs, outputs,
            packed.declared, packed.leads_to, packed.producer, packed.sql, packed.write_signs,
            packed.sent_job, packed.forms,
        )  # fmt: skip

    def _query_facts(self, query: str, values: Sequence[str]) -> Iterator[RunFacts]:
        for run, event, stored, versions, *rest in self._sql.execute(query, values):
            if isinstance(stored, bytes):  # before format 8
                content, packed = self._unpack_content(stored), packed_facts_from(stored)
                rest = [packed.time_us, packed.received_us, packed.execution, packed.parent, None]  # noqa: PLW2901
            else:
                content = self._contents.value(stored)
            time_us, received_us, execution, parent, nominal_us = rest
            order = event_order(event.hex(), content.type, time_us, received_us)
            yield RunFacts(
                order,
                received_us,
                run,
                execution,
                parent,
                content,
                versions_from(versions) if versions else {},
                nominal_us,
            )


def _pack_versions(versions: dict[int, str]) -> bytes | None:
    return encode(versions) if versions else None


class _NumberedValues(Generic[T]):
    """A table of recurring values. Each value is stored once and is found by its digest."""

    def __init__(
        self, connection: sqlite3.Connection, table: str, pack: Callable[[T], bytes], unpack: Callable[[bytes], T]
    ):
        self._sql = connection
        self._table = table
        self._pack = pack
        self._unpack = unpack
        self._numbers: dict[T, int] = {}
        self._values: dict[int, T] = {}

    def number(self, value: T) -> int:
        """Return the number of a value. A new value is stored and gets a number."""
        found = self._numbers.get(value)
        if found is None:
            if len(self._numbers) > _KEEP:
                self._numbers.clear()
            packed = self._pack(value)
            digest = blake2b(packed, digest_size=16).digest()
            found = self._numbers[value] = self._insert(digest, packed)
        return found

    def value(self, number: int) -> T:
        found = self._values.get(number)
        if found is None:
            if len(self._values) > _KEEP:
                self._values.clear()
            row = self._sql.execute(f"SELECT value FROM {self._table} WHERE id = ?", (number,)).fetchone()
            found = self._values[number] = self._unpack(row[0])
        return found

    def _insert(self, digest: bytes, packed: bytes) -> int:
        made = self._sql.execute(f"INSERT OR IGNORE INTO {self._table} VALUES (NULL, ?, ?)", (digest, packed))
        if made.rowcount:
            return int(made.lastrowid or 0)
        return int(self._sql.execute(f"SELECT id FROM {self._table} WHERE digest = ?", (digest,)).fetchone()[0])


QUARTER_US = timedelta(minutes=15) // timedelta(microseconds=1)
"""Events are counted by quarter of an hour, because every time zone offset is a multiple of a quarter of an hour."""


def event_places(sql: sqlite3.Connection, source: Source, events: Sequence[BronzeEvent]) -> Places:
    """Return the place in bronze of each event of a batch, by event id.

    If the partition is new, it is stored and gets a number. The caller manages the transaction.
    """
    row = (source.log, source.epoch, source.partition)
    sql.execute("INSERT OR IGNORE INTO partitions(log, incarnation, part) VALUES (?, ?, ?)", row)
    query = "SELECT id FROM partitions WHERE log = ? AND incarnation = ? AND part = ?"
    number = int(sql.execute(query, row).fetchone()[0])
    return {event.event_id: (number, event.sequence) for event in events}


class EventTable:
    """Writes the times and places of run events (table `run_events`), and counts of events by type (`quarters`)."""

    def __init__(self, connection: sqlite3.Connection):
        self._sql = connection

    def add_events(self, fresh: Sequence[RunFacts], event_places: Places) -> None:
        """Add events that the index does not contain yet."""
        rows = [(fact.time_us, *event_places[fact.event_id]) for fact in fresh if fact.kind == "RUN"]
        self._sql.executemany("INSERT OR IGNORE INTO run_events VALUES (?, ?, ?)", rows)
        counts = Counter((fact.time_us // QUARTER_US, fact.type if fact.kind == "RUN" else fact.kind) for fact in fresh)
        self._sql.executemany(
            "INSERT INTO quarters VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET events = events + excluded.events",
            [(*key, count) for key, count in counts.items()],
        )


RUN, JOB = 0, 1
"""Positions in the value of a `facet_names` row: RUN of the names of run facets, JOB of the names of job facets."""

EventPlace = tuple[str, str, str, int]
"""The place of an event in bronze: log, epoch, partition, sequence."""

_Names = tuple[tuple[str, ...], tuple[str, ...]]
_names_from = msgpack.Decoder(_Names).decode
_EVENTS_OF_RUN = (
    "SELECT p.event, coalesce(y.value, p.content), p.time_us, p.received_us, f.value, s.log, s.incarnation, s.part, "
    "p.sequence FROM event_facts p JOIN run_keys k ON k.id = p.run LEFT JOIN event_contents y ON y.id = p.content "
    "JOIN facet_names f ON f.id = p.facet_names JOIN partitions s ON s.id = p.place WHERE k.key = ?"
)


class FacetNamesTable:
    """Assigns a number to each combination of facet names that occurs in an event.

    Because the index knows the facet names of each event, a question reads only the bodies with the newest facets.
    """

    def __init__(self, connection: sqlite3.Connection):
        self._sql = connection
        self._numbers: BoundedCache[_Names, int] = BoundedCache()

    def combination_number(self, run_facets: Iterable[str], job_facets: Iterable[str]) -> int:
        """Return the number of a combination of facet names. The arguments are names of facets that are not null."""
        names = tuple(sorted(run_facets)), tuple(sorted(job_facets))
        found = self._numbers.get(names)
        if found is None:
            value = msgpack.encode(names)
            self._sql.execute("INSERT OR IGNORE INTO facet_names(value) VALUES (?)", (value,))
            row = self._sql.execute("SELECT id FROM facet_names WHERE value = ?", (value,)).fetchone()
            found = self._numbers.put(names, int(row[0]), 0)
        return found


def newest_facet_places(sql: sqlite3.Connection, run: str, kind: int) -> set[EventPlace]:
    """Return the places of the events with the newest value of each facet of a run or of its job.

    run: the run key. kind: RUN for facets of the run, JOB for facets of its job. For both, only events of this run are
    considered.
    """
    newest: dict[str, tuple[tuple[object, ...], EventPlace]] = {}
    for event, content, time_us, received_us, names, *place in sql.execute(_EVENTS_OF_RUN, (run,)):
        facts = packed_facts_from(content)
        times = (facts.time_us, facts.received_us) if time_us is None else (time_us, received_us)  # before format 8
        found = event_order(event.hex(), facts.type, *times), (place[0], place[1], place[2], place[3])
        for facet in _names_from(names)[kind]:
            newest[facet] = max(newest.get(facet, found), found)
    return {place for _, place in newest.values()}
