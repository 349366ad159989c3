"""The bronze tables as one thing: who owns them, how far they are, what they hold."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from headwater.events.position import Source
from headwater.events.rows import Row
from headwater.failpoints import reach
from headwater.lake.delta_table import Beside, LakeTable
from headwater.lake.ownership import EPOCH, OWNER, PAST, check_owner, creation_properties
from headwater.lake.query_rows import QueryRows
from headwater.lake.settling import JUDGED, Attempt, Settled, attempts_so_far, lowest_unsettled
from headwater.tables import BRONZE, DUPLICATES, EVENTS, HASHED, REFUSED, REJECTED, SHAPES, Table, stored_key
from headwater.tables.bronze_layer import REMOVED_BEFORE

Rows = Mapping[str, Sequence[tuple[int, Row]]]
"""Table name to rows, each beside its sequence number."""

_ONE_ROW_EACH = frozenset({REJECTED.name, DUPLICATES.name, REFUSED.name})
_AT_ONCE = 100_000
"""Sequence numbers that are looked at at once for what is in two tables."""
_HASHES = {table.name: column for table, column in HASHED}

REMOVED = "headwater/removed"
"""Transaction of `events`: how many of its rows were taken out on purpose, by age or by `headwater forget`."""

Life = tuple[str, int, int]
"""An ended log epoch: name, events in the lake that the present one does not count, when it ended (us)."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows of the lake up to the watermark; a gap counts by its length, refused requests one by one.

    stored: with those that were removed on purpose since; notes: records of the log's present life that only note
    refused requests; earlier: what its lives before received; watermarks: by partition.
    """

    stored: int
    removed: int
    duplicates: int
    rejected: int
    refused: int
    notes: int
    earlier: int
    watermarks: Mapping[str, int]


class Stored(NamedTuple):
    """What tells one record from another of the same number: when it was received (us), and its run, if it is told."""

    received_us: int
    run_id: str | None


class Gap(NamedTuple):
    """Sequence numbers that a log acknowledged and lost, both ends included."""

    incarnation: str
    partition: str
    from_sequence: int
    to_sequence: int

    @property
    def records(self) -> int:
        """How many records these are."""
        return self.to_sequence - self.from_sequence + 1


class Bronze:
    """Bronze at a folder or URI; one parser writes, anybody reads."""

    def __init__(self, root: str, storage_options: Mapping[str, str] | None = None):
        """Touch nothing yet. root: holds one folder per table."""
        self.tables = {
            table.name: LakeTable(f"{root}/{table.name}", table, storage_options, keeps_checksums=True)
            for table in BRONZE
        }
        self.events = self.tables[EVENTS.name]
        self._created = False

    def exists(self) -> bool:
        """Tell whether a parser has created the tables; `events` is the last of them."""
        self._created = self._created or self.events.exists()
        return self._created

    def create(self, owner: str, epoch: str) -> None:
        """Create the tables that are missing, owned by one ingest route."""
        for table in self.tables.values():
            table.create(creation_properties(table.table, owner, epoch))

    def check_owner(self, owner: str) -> None:
        """Raise WrongSetting if another ingest route owns these tables: two would store every event twice."""
        check_owner(self.properties(), owner)

    def properties(self) -> Mapping[str, str]:
        """Return the properties of `events`, which decides."""
        return self.events.properties()

    def watermark(self, source: Source) -> int:
        """Return the newest sequence number that is in the lake, 0 before the first."""
        return (self.events.watermark(source.app_id) or 0) if self.exists() else 0

    def watermarks(self, sources: Sequence[Source]) -> dict[Source, int]:
        """Return the newest sequence number of each partition that is in the lake, all of one moment."""
        found = self.events.watermarks([source.app_id for source in sources]) if self.exists() else [0] * len(sources)
        return dict(zip(sources, found, strict=True))

    def acknowledged(self, source: Source) -> int:
        """Return how far the log had acknowledged when it was read last, 0 where it does not count."""
        return (self.events.watermark(_count_id(source)) or 0) if self.exists() else 0

    def commit(
        self, source: Source, rows: Rows, last: int, acknowledged: int = 0, settled: Settled | None = None
    ) -> Settled:
        """Commit a batch, the tables side by side, `shapes` behind them, `events` last: its transaction counts as done.

        acknowledged: how far the log has counted, kept beside the watermark: it outlives the log. settled: of `settle`
        or the commit before; what comes back goes into the next. Without it nothing is noted as settled.
        Raises ValueError or TypeError if a value fits no column; then nothing of the batch has been committed.
        """
        ready = {
            name: table.prepare(rows.get(name, ()))
            for name, table in self.tables.items()
            if rows.get(name) or name == EVENTS.name
        }

        attempt = Attempt(source, settled or Settled(0, {}))

        def append(name: str) -> None:
            beside: Beside = partial(attempt.count, name) if name in JUDGED else lambda _: ()
            self.tables[name].append_missing(source.app_id, ready[name], last, _HASHES.get(name), beside)
            reach(f"parser.after_{name}")

        if beside := [name for name in ready if name not in (SHAPES.name, EVENTS.name)]:
            with ThreadPoolExecutor(len(beside)) as pool:
                appended = [pool.submit(append, name) for name in beside]
            for one in appended:  # behind the pool's end: where one fails, the others have what they were given
                one.result()
        if SHAPES.name in ready:
            append(SHAPES.name)
        counted = [(_count_id(source), acknowledged)] if acknowledged else []
        own = [sequence for name in beside if name in _ONE_ROW_EACH for sequence in ready[name].sequences]
        beside_last: Beside = lambda read: [*counted, *(attempt.note(read) if settled else ())]  # noqa: E731
        self.events.append_once(source.app_id, ready[EVENTS.name], last, beside_last)
        reach(f"parser.after_{EVENTS.name}")
        passed = self.events.passed or 0
        if own and passed >= min(own):
            self._take_back(source, min(own) - 1, max(own))
        return attempt.done(last, passed)

    def stored_at(self, source: Source, sequence: int) -> Stored | None:
        """Return what the lake holds of one record, None where that was lost or is not there."""
        where = (
            f"log = '{source.log}' AND incarnation = '{source.epoch}' AND partition = '{source.partition}' "
            f"AND sequence = {sequence}"
        )
        for table in (EVENTS, DUPLICATES, REFUSED, REJECTED):
            run = "run_id" if table is EVENTS else "cast(null as string)"
            only = f"{where} AND reason NOT IN ('gap', 'hole')" if table is REJECTED else where
            sql = f"SELECT cast(received_at as bigint) AS received_us, {run} AS run_id FROM t WHERE {only}"
            found = self.tables[table.name].query(sql)
            if times := found.column("received_us").to_pylist():
                return Stored(times[0], found.column("run_id").to_pylist()[0])
        return None

    def lost(self) -> list[Gap]:
        """List what was acknowledged and lost before it was parsed, newest last: records, or bodies beside the log.

        Not what its retention took from a service before the lake's first record, nor what others put there.
        """
        if not self.exists():
            return []
        rows = self.tables[REJECTED.name].query(
            "SELECT incarnation, partition, sequence, to_sequence FROM t "
            "WHERE reason = 'gap' AND (log = 'local' OR sequence > 1) OR reason = 'claim_missing' AND log = 'local' "
            "ORDER BY received_at, sequence"
        )
        names = ("incarnation", "partition", "sequence", "to_sequence")
        return [Gap(*row) for row in zip(*(rows.column(name).to_pylist() for name in names), strict=True)]

    def settle(self, source: Source, watermark: int) -> Settled:
        """Take back what parsers that were killed have left in a second table; they may still be at work.

        Costs four looks at the tables' logs where nobody left anything, also after a kill.
        """
        attempts = attempts_so_far(self.tables, source)
        lowest = lowest_unsettled(self.tables, self.events, source, attempts)
        for after in range(watermark if lowest is None else lowest - 1, watermark, _AT_ONCE):
            self._take_back(source, after, min(after + _AT_ONCE, watermark))
        return Settled(watermark, attempts)

    def _take_back(self, source: Source, after: int, last: int) -> None:
        """Delete what says of a record, behind one sequence number up to another, that it is no event, and it is one.

        Two parsers can judge a record differently: its claim vanished, or its CPU time was spent, for one of them
        only. Whoever moved the watermark over it has decided; who came later takes back what it has put beside.
        """
        place = f"log = '{source.log}' AND incarnation = '{source.epoch}' AND partition = '{source.partition}'"
        found = {
            name: _sequences(self.tables[name].query(
                f"SELECT sequence FROM t WHERE {place} AND sequence > {after} AND sequence <= {last}{only}"
            ))
            for name, only in ((DUPLICATES.name, ""), (REJECTED.name, " AND reason NOT IN ('gap', 'hole')"))
        }  # fmt: skip
        if not (beside := found[DUPLICATES.name] | found[REJECTED.name]):
            return
        between = f"{place} AND sequence BETWEEN {min(beside)} AND {max(beside)}"
        decided = _sequences(self.events.query(f"SELECT sequence FROM t WHERE {between}"))
        for name, sequences in found.items():  # of two that say that it is no event the first counts
            if doubled := sorted(sequences & decided):
                self.tables[name].delete(f"{place} AND sequence IN ({', '.join(map(str, doubled))})")
            decided |= sequences

    def recent_ids(self, source: Source, watermark: int, since_us: int, limit: int) -> Iterator[tuple[int, bytes]]:
        """Return the newest event ids of a partition, oldest first, with the time each was received (us).

        None beyond the watermark: what another parser has stored meanwhile is no repeat when it is looked at again.
        """
        found = self.events.query(
            "SELECT event_id, cast(received_at as bigint) AS received_us FROM t "
            f"WHERE log = '{source.log}' AND partition = '{source.partition}' "
            f"AND received_at >= to_timestamp_micros({since_us}) "
            f"AND NOT (incarnation = '{source.epoch}' AND sequence > {watermark}) "
            f"ORDER BY received_at DESC, sequence DESC LIMIT {limit}"
        )
        times, ids = found.column("received_us").to_pylist(), found.column("event_id").to_pylist()
        return zip(reversed(times), map(bytes.fromhex, reversed(ids)), strict=True)

    def begun_in(self, run_ids: Collection[str], since_us: int | None = None) -> dict[str, str]:
        """Return, by lower-case run id, the job namespace of the event of each run that was received first.

        run_ids: UUIDs, lower case; found as producers write them, in lower or upper case, so that files are left out by
        their statistics. since_us: look only at days from this moment on.
        """
        forms = ", ".join(f"'{form}'" for run_id in run_ids for form in (run_id, run_id.upper()))
        days = "" if since_us is None else f" AND received_date >= to_timestamp_micros({since_us})::date"
        found = self.events.query(
            "SELECT lower(run_id) AS run, first_value(job_namespace ORDER BY received_at, sequence) AS namespace "
            f"FROM t WHERE run_id IN ({forms}){days} GROUP BY lower(run_id)"
        )
        return dict(zip(found.column("run").to_pylist(), found.column("namespace").to_pylist(), strict=True))

    def known_hashes(self, limit: int) -> set[bytes]:
        """Return hashes whose rows are stored, at most `limit` of each table."""
        known: set[bytes] = set()
        for table, column in HASHED:
            found = self.tables[table.name].query(f"SELECT DISTINCT {column} AS hash FROM t LIMIT {limit}")
            known.update(stored_key(table.name, each) for each in found.column("hash").to_pylist())
        return known

    def decided(self, source: Source, watermark: int) -> set[int]:
        """Return the sequences beyond the watermark that a batch cut off before its last commit has put in a table."""
        found: set[int] = set()
        for name in JUDGED:
            if (self.tables[name].watermark(source.app_id) or 0) > watermark:
                rows = self.tables[name].query(
                    f"SELECT sequence FROM t WHERE log = '{source.log}' AND incarnation = '{source.epoch}' "
                    f"AND partition = '{source.partition}' AND sequence > {watermark}"
                )
                found.update(rows.column("sequence").to_pylist())
        return found

    def removed_before_us(self) -> int | None:
        """Return the begin (us) of the oldest day that retention has left, None if it has removed no event."""
        return self.events.watermark(REMOVED_BEFORE)

    def past(self) -> list[Life]:
        """List the ended lives of the log that feeds this lake."""
        if not self.exists():
            return []
        return [(name, received, ended) for name, received, ended in json.loads(self.properties().get(PAST, "[]"))]

    def begin_life(self, owner: str, epoch: str, past: Sequence[Life]) -> None:
        """Expect another life of the log, fed by `owner`; `events`, which decides, comes last."""
        for table in self.tables.values():
            table.set_properties({OWNER: owner, EPOCH: epoch, PAST: json.dumps(past)})

    def counts(self, sources: Sequence[Source]) -> Counts:
        """Count what the lake holds up to its watermarks, all of one moment; sources: the partitions of one log."""
        if not self.exists():
            return Counts(0, 0, 0, 0, 0, 0, 0, {source.partition: 0 for source in sources})
        apps = [source.app_id for source in sources]
        rows, (*watermarks, removed) = self.events.rows_and_watermarks([*apps, REMOVED])
        epoch = sources[0].epoch
        beyond = " OR ".join(
            f"(partition = '{source.partition}' AND sequence > {watermark})"
            for source, watermark in zip(sources, watermarks, strict=True)
        )
        done = f"NOT (incarnation = '{epoch}' AND ({beyond}))"
        return Counts(
            stored=rows + removed,
            removed=removed,
            duplicates=self._number(DUPLICATES, "count(*)", done),
            rejected=self._number(REJECTED, "sum(to_sequence - sequence + 1)", done),
            refused=self._number(REFUSED, "sum(count)", done),
            notes=self._number(REFUSED, "count(*)", f"incarnation = '{epoch}' AND {done}"),
            earlier=sum(received for _, received, _ in self.past()),
            watermarks={source.partition: mark for source, mark in zip(sources, watermarks, strict=True)},
        )

    def life(self) -> str | None:
        """Return the epoch of the log that the lake expects, None before there is a lake."""
        return self.properties().get(EPOCH) if self.exists() else None

    def _number(self, table: Table, expression: str, condition: str) -> int:
        found = self.tables[table.name].query(f"SELECT {expression} AS n FROM t WHERE {condition}")
        return found.column("n")[0].as_py() or 0


def _sequences(rows: QueryRows) -> set[int]:
    return set(rows.column("sequence").to_pylist())


def _count_id(source: Source) -> str:
    return f"{source.app_id}/acknowledged"
