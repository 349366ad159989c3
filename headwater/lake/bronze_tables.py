"""The bronze tables: ownership, watermarks, commits and counts."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from headwater.common.failpoints import reach_failpoint
from headwater.events.position import Source
from headwater.events.rows import Row
from headwater.lake.delta_table import Beside, LakeTable
from headwater.lake.ownership import EPOCH, OWNER, PAST, check_owner, creation_properties
from headwater.lake.queries import QueryRows
from headwater.lake.settling import JUDGED, BatchAttempt, SettledAttempts, count_attempts, lowest_unsettled_sequence
from headwater.tables import BRONZE, DUPLICATES, EVENTS, HASHED, REFUSED, REJECTED, SHAPES, Table, stored_key
from headwater.tables.bronze import REMOVED_BEFORE

Rows = Mapping[str, Sequence[tuple[int, Row]]]
"""Rows with their sequence numbers, by table name."""

_ONE_ROW_EACH = frozenset({REJECTED.name, DUPLICATES.name, REFUSED.name})
_AT_ONCE = 100_000
"""The number of sequence numbers that one query covers when it searches for records that are in two tables."""
_HASHES = {table.name: column for table, column in HASHED}

REMOVED = "headwater/removed"
"""The `app_id` of a transaction of `events`: the number of rows that retention or `headwater forget` removed."""

LogEpoch = tuple[str, int, int]
"""An ended log epoch: its name, the number of its events in the lake, and when it ended (us, UTC)."""


@dataclass(frozen=True, slots=True)
class RowCounts:
    """The row counts of bronze up to the watermarks. rejected: a gap counts as many times as it has lost records.

    stored: the number of events, including removed ones. refused: the number of refused requests. notes: the number of
    log records of the current epoch that describe refused requests. earlier: the number of events received in earlier
    log epochs. watermarks: the newest sequence in the lake, by partition.
    """

    stored: int
    removed: int
    duplicates: int
    rejected: int
    refused: int
    notes: int
    earlier: int
    watermarks: Mapping[str, int]


class StoredRecord(NamedTuple):
    """Facts that identify a stored record: its time of receipt (us, UTC), and its run id, or None without a run."""

    received_us: int
    run_id: str | None


class Gap(NamedTuple):
    """A range of sequence numbers, inclusive, that a log acknowledged and lost."""

    incarnation: str
    partition: str
    from_sequence: int
    to_sequence: int

    @property
    def lost_records(self) -> int:
        """The number of lost records."""
        return self.to_sequence - self.from_sequence + 1


class Bronze:
    """The bronze tables at a folder or URI. One parser writes them, and any number of processes read them."""

    def __init__(self, root: str, storage_options: Mapping[str, str] | None = None):
        """root: the folder or URI that contains one folder for each table. Tables are opened at their first use."""
        self.tables = {
            table.name: LakeTable(f"{root}/{table.name}", table, storage_options, keeps_checksums=True)
            for table in BRONZE
        }
        self.events = self.tables[EVENTS.name]
        self._created = False

    def exists(self) -> bool:
        """Whether a parser has created the tables. The parser creates `events` last, so this checks only `events`."""
        self._created = self._created or self.events.exists()
        return self._created

    def create(self, owner: str, epoch: str) -> None:
        """Create missing tables, owned by an ingest route (`owner`) and a log epoch."""
        for table in self.tables.values():
            table.create(creation_properties(table.table, owner, epoch))

    def check_owner(self, owner: str) -> None:
        """Raise WrongSetting if another ingest route owns the tables. Two routes would store every event twice."""
        check_owner(self.properties(), owner)

    def properties(self) -> Mapping[str, str]:
        """Return the properties of `events`, which are authoritative."""
        return self.events.properties()

    def watermark(self, source: Source) -> int:
        """Return the newest sequence number of a partition in the lake; 0 if there is none."""
        return (self.events.watermark(source.app_id) or 0) if self.exists() else 0

    def watermarks(self, sources: Sequence[Source]) -> dict[Source, int]:
        """Return the newest sequence number of each partition, from one table version."""
        found = self.events.watermarks([source.app_id for source in sources]) if self.exists() else [0] * len(sources)
        return dict(zip(sources, found, strict=True))

    def acknowledged_sequence(self, source: Source) -> int:
        """Return the log's count of acknowledged records at the last commit; 0 if the log does not count records."""
        return (self.events.watermark(_count_id(source)) or 0) if self.exists() else 0

    def commit(
        self, source: Source, rows: Rows, last: int, acknowledged: int = 0, settled: SettledAttempts | None = None
    ) -> SettledAttempts:
        """Commit a batch: most tables in parallel, then `shapes`, and finally `events`, which completes the batch.

        last: the sequence number to which the batch moves the watermark. acknowledged: the log's count of acknowledged
        records; it is stored with the watermark, because the lake must know the count even if the log is lost.
        settled: the result of `delete_unfinished_rows` or of the previous commit. None: no attempt is recorded as
        settled. Returns the value of `settled` for the next commit.
        Raises ValueError or TypeError if a value does not fit its column; then no row was committed.
        """
        ready = {
            name: table.prepare(rows.get(name, ()))
            for name, table in self.tables.items()
            if rows.get(name) or name == EVENTS.name
        }

        attempt = BatchAttempt(source, settled or SettledAttempts(0, {}))

        def append(name: str) -> None:
            beside: Beside = partial(attempt.count_attempt, name) if name in JUDGED else lambda _: ()
            self.tables[name].append_missing(source.app_id, ready[name], last, _HASHES.get(name), beside)
            reach_failpoint(f"parser.after_{name}")

        if beside := [name for name in ready if name not in (SHAPES.name, EVENTS.name)]:
            with ThreadPoolExecutor(len(beside)) as pool:
                appended = [pool.submit(append, name) for name in beside]
            for one in appended:  # after the pool has finished: if one fails, the others are complete
                one.result()
        if SHAPES.name in ready:
            append(SHAPES.name)
        counted = [(_count_id(source), acknowledged)] if acknowledged else []
        own = [sequence for name in beside if name in _ONE_ROW_EACH for sequence in ready[name].sequences]
        beside_last: Beside = lambda read: [*counted, *(attempt.settled_transactions(read) if settled else ())]  # noqa: E731
        self.events.append_once(source.app_id, ready[EVENTS.name], last, beside_last)
        reach_failpoint(f"parser.after_{EVENTS.name}")
        passed = self.events.passed or 0
        if own and passed >= min(own):
            self._delete_duplicate_rows(source, min(own) - 1, max(own))
        return attempt.settled_after(last, passed)

    def stored_at(self, source: Source, sequence: int) -> StoredRecord | None:
        """Return the stored facts of one record; None if the record was lost or does not exist."""
        where = (
            f"log = '{source.log}' AND incarnation = '{source.epoch}' AND partition = '{source.partition}' "
            f"AND sequence = {sequence}"
        )
        for table in (EVENTS, DUPLICATES, REFUSED, REJECTED):
            run = "run_id" if table is EVENTS else "cast(null as string)"
            only = f"{where} AND reason NOT IN ('gap', 'hole')" if table is REJECTED else where
            sql = f"SELECT cast(received_at as bigint) AS received_us, {run} AS run_id FROM t WHERE {only}"
            found = self.tables[table.name].run_query(sql)
            if times := found.column("received_us").to_pylist():
                return StoredRecord(times[0], found.column("run_id").to_pylist()[0])
        return None

    def gaps(self) -> list[Gap]:
        """List acknowledged records, and claims of records, that were lost before the parser read them, newest last.

        For the log of another service, a gap before the lake's first record is left out, because the service's
        retention deleted these records. Missing claims in such a log are left out, too.
        """
        if not self.exists():
            return []
        rows = self.tables[REJECTED.name].run_query(
            "SELECT incarnation, partition, sequence, to_sequence FROM t "
            "WHERE reason = 'gap' AND (log = 'local' OR sequence > 1) OR reason = 'claim_missing' AND log = 'local' "
            "ORDER BY received_at, sequence"
        )
        names = ("incarnation", "partition", "sequence", "to_sequence")
        return [Gap(*row) for row in zip(*(rows.column(name).to_pylist() for name in names), strict=True)]

    def delete_unfinished_rows(self, source: Source, watermark: int) -> SettledAttempts:
        """Delete rows of records that other parsers, killed or still running, have written to a second table.

        Returns the settled attempts up to the watermark, for the first `commit`. If there are no such rows, this
        costs four reads of table logs, even after a parser was killed.
        """
        attempts = count_attempts(self.tables, source)
        lowest = lowest_unsettled_sequence(self.tables, self.events, source, attempts)
        for after in range(watermark if lowest is None else lowest - 1, watermark, _AT_ONCE):
            self._delete_duplicate_rows(source, after, min(after + _AT_ONCE, watermark))
        return SettledAttempts(watermark, attempts)

    def _delete_duplicate_rows(self, source: Source, after: int, last: int) -> None:
        """Delete rows of `duplicates` and `rejected` in (after, last] if another table contains the same record.

        Two parsers can decide differently about a record, for example if its claim was missing for only one of them.
        The parser that moved the watermark past the record decides; the other row is deleted.
        """
        place = f"log = '{source.log}' AND incarnation = '{source.epoch}' AND partition = '{source.partition}'"
        found = {
            name: _sequences_in(self.tables[name].run_query(
                f"SELECT sequence FROM t WHERE {place} AND sequence > {after} AND sequence <= {last}{only}"
            ))
            for name, only in ((DUPLICATES.name, ""), (REJECTED.name, " AND reason NOT IN ('gap', 'hole')"))
        }  # fmt: skip
        if not (beside := found[DUPLICATES.name] | found[REJECTED.name]):
            return
        between = f"{place} AND sequence BETWEEN {min(beside)} AND {max(beside)}"
        decided = _sequences_in(self.events.run_query(f"SELECT sequence FROM t WHERE {between}"))
        for name, sequences in found.items():  # `duplicates` comes first and wins over `rejected`
            if doubled := sorted(sequences & decided):
                self.tables[name].delete(f"{place} AND sequence IN ({', '.join(map(str, doubled))})")
            decided |= sequences

    def recent_ids(self, source: Source, watermark: int, since_us: int, limit: int) -> Iterator[tuple[int, bytes]]:
        """Return (time of receipt (us), event id) of a partition's newest events up to the watermark, oldest first.

        Excludes events after the watermark, which another parser has stored meanwhile. Otherwise, this parser would
        take the same records for duplicates. since_us: the earliest time of receipt. limit: the maximum number of ids.
        """
        found = self.events.run_query(
            "SELECT event_id, cast(received_at as bigint) AS received_us FROM t "
            f"WHERE log = '{source.log}' AND partition = '{source.partition}' "
            f"AND received_at >= to_timestamp_micros({since_us}) "
            f"AND NOT (incarnation = '{source.epoch}' AND sequence > {watermark}) "
            f"ORDER BY received_at DESC, sequence DESC LIMIT {limit}"
        )
        times, ids = found.column("received_us").to_pylist(), found.column("event_id").to_pylist()
        return zip(reversed(times), map(bytes.fromhex, reversed(ids)), strict=True)

    def run_namespaces(self, run_ids: Collection[str], since_us: int | None = None) -> dict[str, str]:
        """Return the job namespace of the first received event of each run, by lower-case run id.

        run_ids: lower-case UUIDs. The query compares with the lower-case and the upper-case form instead of converting
        the column, so that it can skip files by their statistics. since_us: search only events received from the day
        of this time (us, UTC) on.
        """
        forms = ", ".join(f"'{form}'" for run_id in run_ids for form in (run_id, run_id.upper()))
        days = "" if since_us is None else f" AND received_date >= to_timestamp_micros({since_us})::date"
        found = self.events.run_query(
            "SELECT lower(run_id) AS run, first_value(job_namespace ORDER BY received_at, sequence) AS namespace "
            f"FROM t WHERE run_id IN ({forms}){days} GROUP BY lower(run_id)"
        )
        return dict(zip(found.column("run").to_pylist(), found.column("namespace").to_pylist(), strict=True))

    def known_hashes(self, limit: int) -> set[bytes]:
        """Return the keys of stored rows that are found by a hash, at most `limit` for each table."""
        known: set[bytes] = set()
        for table, column in HASHED:
            found = self.tables[table.name].run_query(f"SELECT DISTINCT {column} AS hash FROM t LIMIT {limit}")
            known.update(stored_key(table.name, each) for each in found.column("hash").to_pylist())
        return known

    def stored_sequences(self, source: Source, watermark: int) -> set[int]:
        """Return the sequences after the watermark that an interrupted batch has already stored in a table."""
        found: set[int] = set()
        for name in JUDGED:
            if (self.tables[name].watermark(source.app_id) or 0) > watermark:
                rows = self.tables[name].run_query(
                    f"SELECT sequence FROM t WHERE log = '{source.log}' AND incarnation = '{source.epoch}' "
                    f"AND partition = '{source.partition}' AND sequence > {watermark}"
                )
                found.update(rows.column("sequence").to_pylist())
        return found

    def removed_before_us(self) -> int | None:
        """Return the start (us, UTC) of the oldest day that retention kept; None if retention removed no event."""
        return self.events.watermark(REMOVED_BEFORE)

    def ended_epochs(self) -> list[LogEpoch]:
        """List the ended epochs of the log that feeds this lake."""
        if not self.exists():
            return []
        return [(name, received, ended) for name, received, ended in json.loads(self.properties().get(PAST, "[]"))]

    def begin_epoch(self, owner: str, epoch: str, ended: Sequence[LogEpoch]) -> None:
        """Set the owner, the expected log epoch and the ended epochs. `events` is authoritative and is updated last."""
        for table in self.tables.values():
            table.set_properties({OWNER: owner, EPOCH: epoch, PAST: json.dumps(ended)})

    def row_counts(self, partitions: Sequence[Source]) -> RowCounts:
        """Count the rows up to the watermarks, from one version of `events`. partitions: the partitions of one log."""
        if not self.exists():
            return RowCounts(0, 0, 0, 0, 0, 0, 0, {source.partition: 0 for source in partitions})
        apps = [source.app_id for source in partitions]
        rows, (*watermarks, removed) = self.events.rows_and_watermarks([*apps, REMOVED])
        epoch = partitions[0].epoch
        beyond = " OR ".join(
            f"(partition = '{source.partition}' AND sequence > {watermark})"
            for source, watermark in zip(partitions, watermarks, strict=True)
        )
        done = f"NOT (incarnation = '{epoch}' AND ({beyond}))"
        return RowCounts(
            stored=rows + removed,
            removed=removed,
            duplicates=self._query_number(DUPLICATES, "count(*)", done),
            rejected=self._query_number(REJECTED, "sum(to_sequence - sequence + 1)", done),
            refused=self._query_number(REFUSED, "sum(count)", done),
            notes=self._query_number(REFUSED, "count(*)", f"incarnation = '{epoch}' AND {done}"),
            earlier=sum(received for _, received, _ in self.ended_epochs()),
            watermarks={source.partition: mark for source, mark in zip(partitions, watermarks, strict=True)},
        )

    def expected_epoch(self) -> str | None:
        """Return the expected epoch of the log; None if there is no lake."""
        return self.properties().get(EPOCH) if self.exists() else None

    def _query_number(self, table: Table, expression: str, condition: str) -> int:
        found = self.tables[table.name].run_query(f"SELECT {expression} AS n FROM t WHERE {condition}")
        return found.column("n")[0].as_py() or 0


def _sequences_in(rows: QueryRows) -> set[int]:
    return set(rows.column("sequence").to_pylist())


def _count_id(source: Source) -> str:
    return f"{source.app_id}/acknowledged"
