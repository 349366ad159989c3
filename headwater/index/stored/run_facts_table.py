"""Table `parts`: the facts of each event by run. Event contents and dataset uses recur and are stored once."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from hashlib import blake2b
from typing import Generic, TypeVar

from headwater.index.stored.database import chunks, marks, one_value
from headwater.index.stored.index_packing import encode, pack_content, packed_facts_from, use_from, versions_from
from headwater.index.stored.run_numbers import RunNumbers
from headwater.lineage.runs.long_runs import MANY, LongRun
from headwater.lineage.runs.newest_first import order_of
from headwater.lineage.runs.run_facts import DatasetUse, EventContent, RunFacts

T = TypeVar("T")

_KEEP = 50_000
_LONG_RUNS = 1_000

Places = Mapping[str, tuple[int, int]]
"""Event id → the number of its partition and its sequence there."""

Told = Mapping[str, int]
"""Event id → the number of its facet names (`FacetNamesTable`)."""

_PARTS = (
    "SELECT k.key, p.event, p.saying, p.versions, p.time_us, p.received_us, e.key, a.key, p.nominal_us FROM parts p "
    "JOIN run_keys k ON k.id = p.run LEFT JOIN run_keys e ON e.id = p.execution LEFT JOIN run_keys a ON a.id = p.parent"
)


class RunFactsTable:
    """The facts of events, by run."""

    def __init__(self, connection: sqlite3.Connection, runs: RunNumbers):
        self._sql = connection
        self._runs = runs
        self._known_contents = _Numbered[EventContent](connection, "sayings", self._pack, self._unpack)
        self._uses = _Numbered[DatasetUse](connection, "mentions", encode, use_from)
        self._whole: dict[str, list[RunFacts]] = {}
        self._long: dict[str, LongRun] = {}

    def add(self, facts: Sequence[RunFacts], places: Places, told: Told) -> Sequence[RunFacts]:
        """Store the facts of events, with their places in bronze and facet names. Return those that are new."""
        self._runs.begin()
        self._runs.take(key for fact in facts for key in (fact.run_key, fact.execution, fact.parent))
        number = self._runs
        by_key: dict[tuple[int, bytes], RunFacts] = {}
        for fact in facts:  # if an event came twice, its first receipt counts, also within one batch
            by_key.setdefault((number[fact.run_key], bytes.fromhex(fact.order.event_id)), fact)
        older = self._with_events({run for run, _ in by_key if not self._runs.is_new(run)})
        known = self._known([key for key in by_key if key[0] in older])
        fresh = {key: fact for key, fact in by_key.items() if key not in known}
        rows = [
            (
                *key, self._known_contents.number(fact.content), _packed(fact.versions), fact.order.time_us,
                fact.received_us,
                fact.execution and number[fact.execution], fact.parent and number[fact.parent],
                *places[fact.order.event_id], told[fact.order.event_id], fact.nominal_us,
            )
            for key, fact in fresh.items()
        ]  # fmt: skip
        self._sql.executemany("INSERT INTO parts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        self._whole = {}
        for (run, _), fact in fresh.items():
            if run not in older:
                self._whole.setdefault(fact.run_key, []).append(fact)
            elif long := self._long.get(fact.run_key):
                long.add(fact)
        return list(fresh.values())

    def _with_events(self, runs: Set[int]) -> set[int]:
        """Filter runs to those with an event in the table."""
        query = "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM parts WHERE run = value)"
        return {run for (run,) in self._sql.execute(query, (one_value(runs),))}

    def _known(self, keys: Sequence[tuple[int, bytes]]) -> set[tuple[int, bytes]]:
        """Filter events to those that are stored, without reading the other events of their runs."""
        found: set[tuple[int, bytes]] = set()
        for some in chunks(keys):
            values = ", ".join(["(?, ?)"] * len(some))
            query = f"SELECT run, event FROM parts WHERE (run, event) IN (VALUES {values})"
            found.update(self._sql.execute(query, [cell for key in some for cell in key]))
        return found

    def new_runs(self) -> Set[str]:
        """Return the runs whose events all came with the last `add`."""
        return self._whole.keys()

    def facts(self, run_keys: Iterable[str]) -> Mapping[str, Sequence[RunFacts]]:
        """Return all facts of each of these runs."""
        asked = list(run_keys)
        found = {run: facts for run in asked if (facts := self._whole.get(run))}  # the new runs are still in memory
        for some in chunks([run for run in asked if run not in found]):
            for fact in self._unpacked(f"{_PARTS} WHERE k.key IN ({marks(some)})", some):
                found.setdefault(fact.run_key, []).append(fact)
        return found

    def enough(self, run_keys: Iterable[str]) -> Mapping[str, Sequence[RunFacts]]:
        """Return the facts that suffice for each run: all of them, or `FewFacts` for a run of many events.

        `FewFacts` are cached from batch to batch.
        """
        found: dict[str, Sequence[RunFacts]] = {}
        read: list[str] = []
        for run in run_keys:
            if long := self._long.get(run):
                found[run] = long.facts()
            else:
                read.append(run)
        for run, facts in self.facts(read).items():
            found[run] = facts
            if len(facts) > MANY:
                found[run] = self._keep(run, facts)
        return found

    def _keep(self, run: str, facts: Sequence[RunFacts]) -> Sequence[RunFacts]:
        long = LongRun(facts)
        few = long.facts()
        if len(few) > len(facts) // 2:
            return facts
        if len(self._long) >= _LONG_RUNS:
            self._long.clear()
        self._long[run] = long
        return few

    def until(self, as_of_us: int, known_at_us: int) -> list[RunFacts]:
        """Return the facts of all events up to an event time and a time of receipt (us)."""
        facts = self._unpacked(_PARTS, ())
        return [fact for fact in facts if fact.time_us <= as_of_us and fact.received_us <= known_at_us]

    def _pack(self, said: EventContent) -> bytes:
        inputs, outputs = ([self._uses.number(each) for each in side] for side in (said.inputs, said.outputs))
        return pack_content(said, inputs, outputs)

    def _unpack(self, value: bytes) -> EventContent:
        said = packed_facts_from(value)
        inputs, outputs = (tuple(map(self._uses.value, side)) for side in (said.inputs, said.outputs))
        return EventContent(
            said.kind, said.type, said.job, said.artifact, said.processing, said.snapshot, inputs, outputs,
            said.declared, said.leads_to, said.producer, said.sql, said.write_signs, said.sent_job, said.forms,
        )  # fmt: skip

    def _unpacked(self, query: str, values: Sequence[str]) -> Iterator[RunFacts]:
        for run, event, content, versions, *rest in self._sql.execute(query, values):
            if isinstance(content, bytes):  # before format 8
                said, packed = self._unpack(content), packed_facts_from(content)
                rest = [packed.time_us, packed.received_us, packed.execution, packed.parent, None]  # noqa: PLW2901
            else:
                said = self._known_contents.value(content)
            time_us, received_us, execution, parent, nominal_us = rest
            order = order_of(event.hex(), said.type, time_us, received_us)
            yield RunFacts(
                order,
                received_us,
                run,
                execution,
                parent,
                said,
                versions_from(versions) if versions else {},
                nominal_us,
            )


def _packed(versions: dict[int, str]) -> bytes | None:
    return encode(versions) if versions else None


class _Numbered(Generic[T]):
    """A table of recurring values, which are found by their digest."""

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
            found = self._numbers[value] = self._add(digest, packed)
        return found

    def value(self, number: int) -> T:
        found = self._values.get(number)
        if found is None:
            if len(self._values) > _KEEP:
                self._values.clear()
            row = self._sql.execute(f"SELECT value FROM {self._table} WHERE id = ?", (number,)).fetchone()
            found = self._values[number] = self._unpack(row[0])
        return found

    def _add(self, digest: bytes, packed: bytes) -> int:
        made = self._sql.execute(f"INSERT OR IGNORE INTO {self._table} VALUES (NULL, ?, ?)", (digest, packed))
        if made.rowcount:
            return int(made.lastrowid or 0)
        return int(self._sql.execute(f"SELECT id FROM {self._table} WHERE digest = ?", (digest,)).fetchone()[0])
