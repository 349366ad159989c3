"""Tables of the results of data quality tests, by dataset and test.

The newest results of each test are stored, and the first result of the spell to which the oldest of them belongs. So
the time since which a test fails is known, however long that is.
"""

import sqlite3
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from msgspec import Raw, msgpack

from headwater.events.decode import decode
from headwater.events.error_facets import ASSERTIONS, FacetTest, test_results
from headwater.events.wire import NULL, WireDataset
from headwater.index.stored.numbers import RunNumbers
from headwater.lineage.runs.event_order import order_bytes
from headwater.lineage.runs.run_facts import RunFacts
from headwater.lineage.runs.sent_facets import decode_members

RESULTS = 100
"""The number of results that are stored for each test of a dataset."""

_MAX_TESTS = 10_000
"""The maximum number of results of one event that are stored. Failed tests come first."""

_LONGEST = 300
"""The maximum number of characters of a name or a text of a test."""


class AssertionDetail(NamedTuple):
    """What a producer reports about a failed test."""

    severity: str | None
    description: str | None
    expected: str | None
    actual: str | None


_encode = msgpack.Encoder().encode
detail_from = msgpack.Decoder(AssertionDetail).decode

Tested = Sequence[tuple[int, int]]
"""(position of a dataset in the event, number of its name)."""


class _EventResults(NamedTuple):
    """An event with test results of datasets in its body."""

    fact: RunFacts
    datasets: Tested


class AssertionTable:
    """Collects the results of tests in events and writes them in `flush`."""

    def __init__(self, connection: sqlite3.Connection, runs: RunNumbers):
        self._sql, self._runs = connection, runs
        self._events: dict[int, _EventResults] = {}
        self._rows: dict[tuple[int, tuple[str, str], str], tuple[bytes, int, bool, bytes | None]] = {}
        self._numbers: dict[tuple[str, str], int] = {}

    def add_event(self, sequence: int, fact: RunFacts, datasets: Tested) -> None:
        """Add an event whose datasets have assertions. `read_body` must be called for it."""
        self._events[sequence] = _EventResults(fact, datasets)

    def add_run_facet(self, fact: RunFacts, facet: Raw, name: int) -> None:
        """Add the facet `test` of a run. name: the number of the name of the tested dataset."""
        self._add(fact, name, test_results("test", decode(bytes(facet)), fact.content.producer))

    def sequences(self) -> Collection[int]:
        """Return the sequences of the events whose bodies are needed."""
        return self._events.keys()

    def read_body(self, sequence: int, datasets: Sequence[WireDataset]) -> None:
        """Read the results in an event. datasets: the datasets of its body, inputs before outputs."""
        found = self._events.get(sequence)
        for place, name in found.datasets if found else ():
            dataset = datasets[place]
            facets = (decode_members(each).get(ASSERTIONS, NULL) for each in (dataset.inputFacets, dataset.facets))
            for raw in facets:
                if found and raw != NULL:
                    fact, facet = found.fact, decode(bytes(raw))
                    self._add(fact, name, test_results(ASSERTIONS, facet, fact.content.producer))

    def _add(self, fact: RunFacts, name: int, results: Sequence[FacetTest]) -> None:
        """Add results. Of several results of a run, the newest counts; in one event, a failure counts."""
        order = order_bytes(fact.order)
        for each in sorted(results, key=lambda result: result.success)[:_MAX_TESTS]:
            key = name, (_test_name(each.name), (each.column or "")[:_LONGEST]), fact.run_key
            known = self._rows.get(key)
            if known is None or known[0] < order or (known[0] == order and known[2] and not each.success):
                texts = (each.severity, each.description, each.expected, each.actual)
                detail = None if each.success else _encode([text and text[:_LONGEST] for text in texts])
                self._rows[key] = order, fact.time_us, each.success, detail

    def flush(self) -> None:
        """Write everything that was added since the last call."""
        if self._rows:
            self._assign_numbers()
            rows = [
                (name, self._numbers[test], self._runs[run], *result)
                for (name, test, run), result in self._rows.items()
            ]
            self._sql.executemany(
                "INSERT INTO assertion_results VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                "event_order = excluded.event_order, time_us = excluded.time_us, success = excluded.success, "
                "detail = excluded.detail WHERE excluded.event_order > event_order",
                rows,
            )
            for name, test in sorted({row[:2] for row in rows}):
                self._delete_older(name, test)
        self._rows.clear()
        self._events.clear()

    def _assign_numbers(self) -> None:
        for test in {test for _, test, _ in self._rows if test not in self._numbers}:
            self._sql.execute("INSERT OR IGNORE INTO assertions(test, tested_column) VALUES (?, ?)", test)
            query = "SELECT id FROM assertions WHERE test = ? AND tested_column = ?"
            self._numbers[test] = self._sql.execute(query, test).fetchone()[0]

    def _delete_older(self, name: int, test: int) -> None:
        """Delete the results before the newest ones, but not the first one of the spell to which the oldest belongs."""
        rows: list[tuple[Any, ...]] = self._sql.execute(
            "SELECT run, success FROM assertion_results WHERE name = ? AND assertion = ? "
            f"ORDER BY event_order DESC LIMIT -1 OFFSET {RESULTS - 1}",
            (name, test),
        ).fetchall()
        if len(rows) < 3:
            return
        begin = next((at for at, row in enumerate(rows) if row[1] != rows[0][1]), len(rows)) - 1
        deleted = [(name, test, run) for at, (run, _) in enumerate(rows) if at not in (0, begin)]
        self._sql.executemany("DELETE FROM assertion_results WHERE name = ? AND assertion = ? AND run = ?", deleted)


def _test_name(name: str) -> str:
    """Return the name of a test. dbt names a test in one facet as in its project, in the other one by a unique id."""
    if name.startswith("test.") and name.count(".") == 2:  # test.PROJECT.NAME
        return name.rpartition(".")[2][:_LONGEST]
    return name[:_LONGEST]
