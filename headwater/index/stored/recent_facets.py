"""Table `run_facets`: the facets of each job's newest runs, so that a page of runs does not read from the lake.

The table has either all facets of a run or none. The facets of older runs are read from bronze.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from lz4.block import compress, decompress
from msgspec import msgpack

from headwater.events.facet_digests import is_deleted
from headwater.events.wire import NULL
from headwater.index.stored.database import chunks, marks
from headwater.index.stored.run_numbers import RunNumbers
from headwater.lineage.runs.newest_first import order_bytes
from headwater.lineage.runs.run_facts import RunFacts
from headwater.lineage.runs.sent_facets import Facets

RUNS = 100
"""How many runs of a job are stored. Up to 25 more may remain until the next cleanup."""

_MORE = 25

_Told = list[tuple[bytes, dict[str, bytes]]]
"""(order of an event, texts of the facets for which this event is the newest)."""

_told_from = msgpack.Decoder(_Told).decode
_ROWS = "SELECT k.key, f.value FROM run_keys k JOIN run_facets f ON f.run = k.id WHERE k.key IN ({})"
_TIDY = (
    "DELETE FROM run_facets WHERE run IN (SELECT f.run FROM run_facets f JOIN run_keys k ON k.id = f.run "
    f"WHERE f.job = ? ORDER BY f.time_us DESC, k.key DESC LIMIT -1 OFFSET {RUNS})"
)
_USUAL = b"".join((
    b'properties{"spark.master":"yarn","spark.app.name":"name":"spark","version":"3.5.0","openlineageAdapterVersion":"',
    b"processing_engine1-1-1/ProcessingEngineRunFacet.json#/$defs/ProcessingEngineRunFacet",
    b'nominalTime"nominalStartTime":"2026-01-01T00:00:00.000Z","nominalEndTime":"2026-01-01T00:00:00Z"',
    b"1-0-1/NominalTimeRunFacet.json#/$defs/NominalTimeRunFacetspark_properties",
    b'parent{"_producer":"https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark","_schemaURL":"',
    b"https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunFacethttps://openlineage.io/spec/facets/1-1-0/",
    b'ParentRunFacet.json#/$defs/ParentRunFacet","job":{"name":"","namespace":""},"root":{"run":{"runId":"0',
))  # fmt: skip
"""An LZ4 dictionary of text that is frequent in run facets. Changing it requires another file format."""


class RecentFacets:
    """Collects the run facets of events. `flush` writes them after the runs have been written."""

    def __init__(self, connection: sqlite3.Connection, runs: RunNumbers):
        self._sql = connection
        self._runs = runs
        self._batch: dict[str, _Told] = {}
        self._written: Counter[int] = Counter()

    def take(self, fact: RunFacts, facets: Facets) -> None:
        """Add an event with the facets of its run."""
        if fact.kind == "RUN":
            told = {facet: bytes(text) for facet, text in facets.items() if text != NULL}
            self._batch.setdefault(fact.run_key, []).append((order_bytes(fact.order), told))

    def flush(self, new: Iterable[str]) -> None:
        """Write the collected facets.

        new: the runs whose first event came with this batch. Other runs are written only if the table already has them,
        because their earlier facets would be missing.
        """
        complete = set(new)
        before = _read(self._sql, [run for run in self._batch if run not in complete])
        values = {
            self._runs[run]: _packed(_newest([*before.get(run, ()), *told]))
            for run, told in self._batch.items()
            if run in complete or run in before
        }
        self._batch.clear()
        found = self._placed(list(values))
        rows = [(run, job, time_us, values[run]) for run, job, time_us in found]
        self._sql.executemany("INSERT OR REPLACE INTO run_facets VALUES (?, ?, ?, ?)", rows)
        for job, count in Counter(job for _, job, _ in found).items():
            self._tidy(job, count)

    def _placed(self, runs: Sequence[int]) -> list[tuple[int, int, int]]:
        query = "SELECT run, job_key, time_us FROM runs WHERE run IN ({})"
        return [row for some in chunks(runs) for row in self._sql.execute(query.format(marks(some)), some)]

    def _tidy(self, job: int, written: int) -> None:
        """Delete the facets of older runs, but only now and then, because one run may be written several times."""
        self._written[job] += written
        if self._written[job] > _MORE:
            self._sql.execute(_TIDY, (job,))
            del self._written[job]


def recent_facets(sql: sqlite3.Connection, runs: Sequence[str]) -> dict[str, dict[str, bytes]]:
    """Return the facets of runs by run key, without deleted facets. Runs that are not in the table are left out."""
    return {
        run: {facet: text for _, facets in told for facet, text in facets.items() if not is_deleted(text)}
        for run, told in _read(sql, runs).items()
    }


def _read(sql: sqlite3.Connection, runs: Sequence[str]) -> Mapping[str, _Told]:
    rows = (row for some in chunks(runs) for row in sql.execute(_ROWS.format(marks(some)), some))
    return {run: _unpacked(value) for run, value in rows}


def _newest(told: _Told) -> _Told:
    """Keep each facet only in the newest event that has it."""
    known: set[str] = set()
    found: _Told = []
    for order, facets in sorted(told, key=lambda each: each[0], reverse=True):
        if fresh := {facet: text for facet, text in facets.items() if facet not in known}:
            found.append((order, fresh))
            known |= fresh.keys()
    return found


def _packed(told: _Told) -> bytes:
    packed: bytes = compress(msgpack.encode(told), dict=_USUAL)
    return packed


def _unpacked(value: bytes) -> _Told:
    return _told_from(decompress(value, dict=_USUAL))
