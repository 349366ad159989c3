"""Tables of run facets: the facets of each job's newest runs, and parent jobs, nominal times and API changes.

Table `run_facets` contains either all facets of a run or none, so that a page of newest runs is shown without reading
the lake. The facets of older runs are read from bronze.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from lz4.block import compress, decompress
from msgspec import msgpack

from headwater.events.decode import decode
from headwater.events.event import Sent
from headwater.events.facet_digests import is_deleted
from headwater.events.rule_facets import text_at
from headwater.events.times import parse_time
from headwater.events.wire import NULL
from headwater.index.api_changes import ApiChange, read_change
from headwater.index.stored.database import JOB, question_marks, split_for_parameters
from headwater.index.stored.numbers import NameNumbers, RunNumbers
from headwater.index.stored.search import SearchTable
from headwater.index.stored.upserts import ENTITY, NEWER, WIDEN, Span, entity_rows, span_rows, widen_span
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.event_order import Order, order_bytes, order_text
from headwater.lineage.runs.jobs import job_key
from headwater.lineage.runs.run_facts import RunFacts
from headwater.lineage.runs.sent_facets import Facets

RUNS = 100
"""The facets of this number of runs are stored for each job. Up to 25 more may remain until the next cleanup."""

_MORE = 25

_SentFacets = list[tuple[bytes, dict[str, bytes]]]
"""(order of an event as sortable bytes, texts by facet name of the facets for which this event is the newest)."""

_facets_from = msgpack.Decoder(_SentFacets).decode
_ROWS = "SELECT k.key, f.value FROM run_keys k JOIN run_facets f ON f.run = k.id WHERE k.key IN ({})"
_DELETE_OLDER = (
    "DELETE FROM run_facets WHERE run IN (SELECT f.run FROM run_facets f JOIN run_keys k ON k.id = f.run "
    f"WHERE f.job = ? ORDER BY f.time_us DESC, k.key DESC LIMIT -1 OFFSET {RUNS})"
)
_DICTIONARY = b"".join((
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
        self._batch: dict[str, _SentFacets] = {}
        self._written: Counter[int] = Counter()

    def add_event(self, fact: RunFacts, facets: Facets) -> None:
        """Add an event with the facets of its run. Events that are not run events are ignored."""
        if fact.kind == "RUN":
            sent = {facet: bytes(text) for facet, text in facets.items() if text != NULL}
            self._batch.setdefault(fact.run_key, []).append((order_bytes(fact.order), sent))

    def flush(self, new: Iterable[str]) -> None:
        """Write the collected facets.

        new: the keys of the runs whose first event came with this batch. Another run is written only if the table
        already contains it. Otherwise, the facets of its earlier events would be missing.
        """
        complete = set(new)
        before = _read_stored_facets(self._sql, [run for run in self._batch if run not in complete])
        values = {
            self._runs[run]: _pack_facets(_newest_values([*before.get(run, ()), *sent]))
            for run, sent in self._batch.items()
            if run in complete or run in before
        }
        self._batch.clear()
        found = self._job_and_time(list(values))
        rows = [(run, job, time_us, values[run]) for run, job, time_us in found]
        self._sql.executemany("INSERT OR REPLACE INTO run_facets VALUES (?, ?, ?, ?)", rows)
        for job, count in Counter(job for _, job, _ in found).items():
            self._delete_older(job, count)

    def _job_and_time(self, runs: Sequence[int]) -> list[tuple[int, int, int]]:
        query = "SELECT run, job_key, time_us FROM runs WHERE run IN ({})"
        return [
            row
            for some in split_for_parameters(runs)
            for row in self._sql.execute(query.format(question_marks(some)), some)
        ]

    def _delete_older(self, job: int, written: int) -> None:
        """Delete the facets of a job's older runs, but only after more than 25 writes."""
        self._written[job] += written
        if self._written[job] > _MORE:
            self._sql.execute(_DELETE_OLDER, (job,))
            del self._written[job]


def recent_facets(sql: sqlite3.Connection, runs: Sequence[str]) -> dict[str, dict[str, bytes]]:
    """Return the facet texts of runs by run key and facet name, without deleted facets.

    Runs that are not in table `run_facets` are left out.
    """
    return {
        run: {facet: text for _, facets in sent for facet, text in facets.items() if not is_deleted(text)}
        for run, sent in _read_stored_facets(sql, runs).items()
    }


_NEWEST_OF_TASKS = (
    "SELECT j.key, coalesce(r.started_us, r.time_us), f.value FROM newest_facets n "
    "JOIN facet_texts t ON t.id = n.value JOIN jobs j ON j.display_name = n.name JOIN runs r ON r.run = j.newest "
    "JOIN run_facets f ON f.run = r.run WHERE n.kind = ? AND n.facet = 'jobType' AND t.value LIKE '%\"TASK\"%' "
    "ORDER BY r.time_us DESC, j.key LIMIT ?"
)
_MAX_TASKS = 20_000


def newest_task_facets(sql: sqlite3.Connection, facet: str) -> Iterator[tuple[int, int, bytes]]:
    """Yield (number of the job's key, start of the run in us, facet text) for the newest run of each task.

    Tasks are the jobs of type TASK. If there are more than 20,000, those that ran last are read.
    """
    for job, started_us, value in sql.execute(_NEWEST_OF_TASKS, (JOB, _MAX_TASKS)):
        texts = (facets[facet] for _, facets in _unpack_facets(value) if facet in facets)
        text = next(texts, None)
        if text is not None and not is_deleted(text):
            yield job, started_us, text


def _read_stored_facets(sql: sqlite3.Connection, runs: Sequence[str]) -> Mapping[str, _SentFacets]:
    rows = (row for some in split_for_parameters(runs) for row in sql.execute(_ROWS.format(question_marks(some)), some))
    return {run: _unpack_facets(value) for run, value in rows}


def _newest_values(sent: _SentFacets) -> _SentFacets:
    """Keep each facet only in the newest event that has it."""
    known: set[str] = set()
    found: _SentFacets = []
    for order, facets in sorted(sent, key=lambda each: each[0], reverse=True):
        if fresh := {facet: text for facet, text in facets.items() if facet not in known}:
            found.append((order, fresh))
            known |= fresh.keys()
    return found


def _pack_facets(sent: _SentFacets) -> bytes:
    packed: bytes = compress(msgpack.encode(sent), dict=_DICTIONARY)
    return packed


def _unpack_facets(value: bytes) -> _SentFacets:
    return _facets_from(decompress(value, dict=_DICTIONARY))


class RunContextTable:
    """Collects parent jobs, nominal times and API changes from the facets of runs and writes them in `flush`."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        names: NameNumbers,
        runs: RunNumbers,
        search: SearchTable,
        display_name_of: Callable[[Name], Name],
    ):
        """search: receives the jobs that `parent` facets name. display_name_of: returns the canonical name of a job."""
        self._jobs = display_name_of
        self._sql = connection
        self._names = names
        self._runs = runs
        self._search = search
        self._parents: dict[int, tuple[Order, Name]] = {}
        self._above: dict[tuple[Name], Span] = {}
        self._nominal: list[tuple[str, bytes, int | None, int | None]] = []
        self._changes: list[ApiChange] = []

    def add_event(self, facets: Facets, sent: Sent, fact: RunFacts, display_name: int) -> None:
        """Add the facets of an event's run. display_name: the number of the display name of the event's job."""
        if sent.parent_job_namespace is not None and sent.parent_job_name:
            known, name = (
                self._parents.get(display_name),
                self._jobs(Name(sent.parent_job_namespace, sent.parent_job_name)),
            )
            widen_span(self._above, (job_key(name, None),), (fact.order.time_us, fact.order.time_us))
            if known is None or known[0] < fact.order:
                self._parents[display_name] = fact.order, name
        if facets.get("nominalTime", NULL) != NULL:
            self._nominal.append(
                (fact.run_key, order_bytes(fact.order), *_nominal_start_and_end(bytes(facets["nominalTime"])))
            )
        change = read_change(facets, fact)
        if change:
            self._changes.append(change)

    def flush(self, generation: int) -> None:
        """Write everything that was added since the last call. generation: number of the batch."""
        write = self._sql.executemany
        write(
            "INSERT INTO nominal_times VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            f"event_order = excluded.event_order, start_us = excluded.start_us, end_us = excluded.end_us {NEWER}",
            [(self._runs[run_key], *rest) for run_key, *rest in self._nominal],
        )
        write(
            "UPDATE jobs SET parent = ?1, parent_order = ?2 WHERE display_name = ?3 "
            "AND coalesce(parent_order, '') <= ?2",
            [
                (self._names.number(job_key(name, None)), order_text(order), shown)
                for shown, (order, name) in self._parents.items()
            ],
        )
        self._flush_parents(generation)
        write(
            "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            "event_order = excluded.event_order, time_us = excluded.time_us, value = excluded.value, "
            f"generation = excluded.generation {NEWER}",
            [(self._names.number(each.subject), *each[1:], generation) for each in self._changes],
        )
        for each in (self._parents, self._above, self._nominal, self._changes):
            each.clear()

    def _flush_parents(self, generation: int) -> None:
        """Add the jobs that only `parent` facets name."""
        found = {(JOB, self._names.number(name)): span for (name,), span in self._above.items()}
        write = self._sql.executemany
        write(
            "INSERT INTO jobs(key, display_name, is_parent) VALUES (?1, ?1, 1) ON CONFLICT DO UPDATE SET is_parent = 1",
            [(number,) for _, number in found],
        )
        write(ENTITY, entity_rows(found, generation))
        for (name,), (_, last_us) in self._above.items():
            self._search.add_use("job", name, last_us, partner_count=0)
        spaces: dict[tuple[str], Span] = {}
        for (name,), span in self._above.items():
            widen_span(spaces, (name.namespace,), span)
        write(f"INSERT INTO namespaces VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET {WIDEN}", span_rows(spaces))


@lru_cache(maxsize=1_000)
def _nominal_start_and_end(facet: bytes) -> tuple[int | None, int | None]:
    """Return (start, end) of a `nominalTime` facet (us, UTC; None if missing or invalid).

    Results are cached, because many runs have the same nominal time.
    """
    nominal = decode(facet)
    return _parse_time_us(text_at(nominal, "nominalStartTime")), _parse_time_us(text_at(nominal, "nominalEndTime"))


def _parse_time_us(text: str | None) -> int | None:
    return parse_time(text)[0] if text else None
