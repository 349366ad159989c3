"""The parser: takes what is behind the watermark, commits it, and knows what to do when either fails."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from headwater.collector import paused
from headwater.errors import InvalidEvent, LogUnavailable
from headwater.eventlog import Claims, LoggedRecord, LogReader, RecordKind
from headwater.events.cpu_budget import RECORD_CPU_S
from headwater.events.event_reader import EventReader
from headwater.lake.attempts import BATCH_RECORDS
from headwater.lake.bronze_tables import Bronze
from headwater.lake.settling import Settled
from headwater.parser.bronze_batch import Before, BronzeBatch, bisect, build_batch, lost_batch, rejected_batch
from headwater.parser.dedupe_window import MAX_AGE_US, MAX_IDS, DedupeWindow
from headwater.parser.log_match import check_log_matches
from headwater.parser.run_scopes import RunsBegun

log = logging.getLogger(__name__)

BATCH_BYTES = 16 << 20
MAX_HASHES = 500_000
_UNKNOWN = -1
REPORT = "Partition %s: %d records in the lake up to sequence %d, %d rejected; the oldest waited %.0f s"
GAP = (
    "Partition %s: %d of the records up to sequence %d are lost: the log let go of them before the parser came, or a "
    "segment is damaged or missing. Table `rejected` names them. Restore the segment from a copy, or let the log keep "
    "more and see what stopped the parser."
)  # alerts of deployed apps look for "are lost: the log let go of them"


class Parser:
    """Moves one partition of a log into bronze. Two of them on one partition are safe, only wasteful."""

    def __init__(
        self, reader: LogReader, bronze: Bronze, claims: Claims, owner: str, record_cpu_s: float = RECORD_CPU_S
    ):
        """Create the tables if they are missing and check that they belong to this log.

        record_cpu_s: CPU time that reading one record may take, else it is rejected as `too_slow`.
        Raises WrongSetting when another route owns the lake, or when the log was deleted or restored behind it.
        """
        self._reader = reader
        self._bronze = bronze
        self._claims = claims
        self._source = reader.source
        self._event_reader = EventReader(record_cpu_s)
        self._window = DedupeWindow()
        self._hashes: set[bytes] = set()
        self._decided: set[int] = set()
        self._settled = Settled(0, {}, is_sure=False)
        self._begun = RunsBegun(bronze.begun_in)
        self.committed = _UNKNOWN
        """The newest sequence in the lake, as of this process's last commit or look."""
        self._done = _Done()
        self.filled = False
        """Whether the last step took as much as one batch may hold, so that more is likely to wait."""
        bronze.create(owner, self._source.epoch)
        bronze.check_owner(owner)
        check_log_matches([reader], bronze)

    def watermark(self) -> int:
        """Return the newest sequence number that is in the lake."""
        return self._bronze.watermark(self._source)

    def step(self, limit: int = BATCH_RECORDS) -> int:
        """Commit the next records of the log, at most `limit`; returns how many, 0 when caught up.

        Raises LogUnavailable or LakeUnavailable; the next call starts again from the table's watermark.
        """
        watermark = self._start_from_watermark()
        if self._reader.source != self._source:
            raise LogUnavailable(f"Another log is in the place of {self._source.log!r}. It is looked at anew.")
        records = self._reader.read(watermark, limit=limit, max_bytes=BATCH_BYTES)
        if not records and (lost := self._reader.lost(watermark)):
            return self._skip_lost(watermark, lost)
        fitting = self._fitting(records)
        self.filled = len(fitting) == limit or len(fitting) < len(records) or _bytes(records) >= BATCH_BYTES
        return self._take(fitting, watermark)

    def reject_next(self, error: InvalidEvent) -> int:
        """Quarantine the next record without reading its body, which may be what kills the process."""
        watermark = self._start_from_watermark()
        records = self._reader.read(watermark, limit=1, max_bytes=1)
        for record in records:
            self._reject(replace(record, kind=RecordKind.EVENT, body=b""), watermark, error)
        return len(records)

    def take(self, delivered: Sequence[LoggedRecord]) -> int:
        """Commit a batch that a trigger delivered: what is done is left out, what is missing is read from the log.

        Returns how many of the delivered were not there yet. Ends with one log line, which the alerts of a deployment
        read: `REPORT` is its text.
        """
        self._done = _Done()
        watermark = self._start_from_watermark(delivered[0].received_us if delivered else None)
        taken = fresh = [record for record in delivered if record.sequence > watermark]
        while fresh:
            records = self._fitting(self._missing(watermark, fresh[0].sequence) or _unbroken(fresh))
            self._take(records, watermark)
            watermark = records[-1].sequence
            fresh = [record for record in fresh if record.sequence > watermark]
        self._done.report(self._source.partition, watermark)
        return len(taken)

    def _missing(self, after: int, until: int) -> list[LoggedRecord]:
        """Read what lies between a watermark and the next record; nothing if the log no longer has it: a gap."""
        if until == after + 1:
            return []
        return self._reader.read_between(after, until, limit=BATCH_RECORDS, max_bytes=BATCH_BYTES)

    def _take(self, records: Sequence[LoggedRecord], watermark: int) -> int:
        if records:
            self._done.begin(records)
            self.committed = _UNKNOWN  # whatever stops this attempt, the next one looks at what it has left behind
            bisect(records, watermark, self._commit, self._reject)
        return len(records)

    def _fitting(self, records: Sequence[LoggedRecord]) -> Sequence[LoggedRecord]:
        """Cut a batch where its bodies, large ones beside the log included, become too much memory at once."""
        size = 0
        for count, record in enumerate(records):
            size += self._claims.size(record.body) if record.kind is RecordKind.CLAIM else len(record.body)
            if count and size > BATCH_BYTES:
                return records[:count]
        return records

    def _skip_lost(self, watermark: int, tail: int) -> int:
        """Note as a gap, up to `tail`, what the log has counted but no longer holds."""
        self._put(lost_batch(self._source, watermark, tail))
        return tail - watermark

    def _commit(self, records: Sequence[LoggedRecord], watermark: int) -> None:
        before = Before(watermark, self._window, self._hashes, self._decided, begun_in=self._begun)
        with paused():
            batch = build_batch(self._source, records, before, self._event_reader, self._claims)
        self._put(batch)

    def _reject(self, record: LoggedRecord, watermark: int, error: InvalidEvent) -> None:
        log.warning("Record %d is rejected: %s", record.sequence, error)
        batch = BronzeBatch(record.sequence, record.received_us)
        if record.sequence not in self._decided:  # else it has its row, and only the watermark moves
            batch = rejected_batch(self._source, record, watermark, error)
        self._put(batch)

    def _put(self, batch: BronzeBatch) -> None:
        acknowledged = self._reader.acknowledged()
        self._settled = self._bronze.commit(self._source, batch.rows, batch.last, acknowledged, self._settled)
        self._window.add(batch.received_us, list(batch.ids))
        self._hashes |= batch.hashes
        self._begun.remember(batch.begun)
        if len(self._hashes) > MAX_HASHES:
            self._hashes = set(batch.hashes)  # a forgotten hash is stored once more: readers count it once
        self._done.rejected += batch.rejected
        if batch.lost:
            log.error(GAP, self._source.partition, batch.lost, batch.last)
        self.committed = batch.last

    def _start_from_watermark(self, received_us: int | None = None) -> int:
        """Return the table's watermark; reload what is remembered unless this process made it.

        received_us: when what comes next was received; without it the log is asked, which may open a link to it.
        """
        watermark = self._bronze.watermark(self._source)
        if watermark != self.committed or not self._settled.is_sure:
            if received_us is None:
                newest = self._reader.read(watermark, limit=1, max_bytes=1)
                received_us = newest[0].received_us if newest else MAX_AGE_US
            since_us = received_us - MAX_AGE_US
            self._window = DedupeWindow(self._bronze.recent_ids(self._source, watermark, since_us, MAX_IDS))
            self._hashes = self._bronze.known_hashes(MAX_HASHES)
            self._settled = self._bronze.settle(self._source, watermark)  # before what was decided is read
            self._decided = self._bronze.decided(self._source, watermark)
            self.committed = watermark
        return watermark


@dataclass(slots=True)
class _Done:
    """What came of one delivery, for its log line."""

    records: int = 0
    rejected: int = 0
    oldest_us: int | None = None

    def begin(self, records: Sequence[LoggedRecord]) -> None:
        self.records += len(records)
        self.oldest_us = self.oldest_us or records[0].received_us

    def report(self, partition: str, last: int) -> None:
        now = time.time_ns() // 1000
        waited_s = (now - (self.oldest_us or now)) / 1e6
        log.info(REPORT, partition, self.records, last, self.rejected, waited_s)


def _unbroken(records: Sequence[LoggedRecord]) -> Sequence[LoggedRecord]:
    """Return the records up to the first hole in their sequence numbers."""
    for count, record in enumerate(records):
        if record.sequence != records[0].sequence + count:
            return records[:count]
    return records


def _bytes(records: Sequence[LoggedRecord]) -> int:
    return sum(len(record.body) for record in records)
