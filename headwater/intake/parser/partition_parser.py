"""The parser of one log partition: reads records after the watermark, commits them, and recovers from failures."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from headwater.common.errors import InvalidEvent, LogUnavailable
from headwater.common.garbage_collection import gc_paused
from headwater.events.cpu_budget import RECORD_CPU_S
from headwater.events.event_reader import EventReader
from headwater.intake.event_log import Claims, LoggedRecord, LogReader, RecordKind
from headwater.intake.parser.bronze_batch import (
    BronzeBatch,
    ParserContext,
    build_batch,
    build_gap_batch,
    build_rejection_batch,
    process_bisecting,
)
from headwater.intake.parser.dedupe_window import MAX_AGE_US, MAX_IDS, DedupeWindow
from headwater.intake.parser.log_match import check_log_matches
from headwater.intake.parser.run_scopes import RunNamespaces
from headwater.lake.attempts import BATCH_RECORDS
from headwater.lake.bronze_tables import Bronze
from headwater.lake.settling import SettledAttempts

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


class PartitionParser:
    """Moves the records of one log partition to bronze.

    Two parsers of one partition are safe, but do the work twice.
    """

    def __init__(
        self, reader: LogReader, bronze: Bronze, claims: Claims, owner: str, record_cpu_s: float = RECORD_CPU_S
    ):
        """Create missing tables, and check that lake and log belong together.

        owner: name of the route that writes the lake. record_cpu_s: maximum CPU seconds for one record; slower records
        are rejected as `too_slow`.
        Raises WrongSetting if another route owns the lake, or if the log was deleted or restored from a backup.
        """
        self._reader = reader
        self._bronze = bronze
        self._claims = claims
        self._source = reader.source
        self._event_reader = EventReader(record_cpu_s)
        self._window = DedupeWindow()
        self._hashes: set[bytes] = set()
        self._decided: set[int] = set()
        self._settled = SettledAttempts(0, {}, is_sure=False)
        self._begun = RunNamespaces(bronze.run_namespaces)
        self.committed = _UNKNOWN
        """The newest sequence in the lake, as this process last committed or read it; -1 if it must be read again."""
        self._done = _DeliveryCounts()
        self.filled = False
        """Whether the last step filled a batch, so that more records are probably waiting."""
        bronze.create(owner, self._source.epoch)
        bronze.check_owner(owner)
        check_log_matches([reader], bronze)

    def watermark(self) -> int:
        """Return the newest sequence number in the lake."""
        return self._bronze.watermark(self._source)

    def commit_next(self, limit: int = BATCH_RECORDS) -> int:
        """Commit at most `limit` records. Returns their number, 0 if there are none.

        Raises LogUnavailable or LakeUnavailable. The next call starts again at the watermark of the lake.
        """
        watermark = self._start_from_watermark()
        if self._reader.source != self._source:
            raise LogUnavailable(
                f"The log {self._source.log!r} was replaced by another log. The parser opens it again."
            )
        records = self._reader.read(watermark, limit=limit, max_bytes=BATCH_BYTES)
        if not records and (lost := self._reader.lost_up_to(watermark)):
            return self._record_gap(watermark, lost)
        fitting = self._limit_batch_bytes(records)
        self.filled = len(fitting) == limit or len(fitting) < len(records) or _body_bytes(records) >= BATCH_BYTES
        return self._commit_records(fitting, watermark)

    def reject_next(self, error: InvalidEvent) -> int:
        """Reject the next record without parsing its body, because parsing may kill the process.

        Returns the number of records.
        """
        watermark = self._start_from_watermark()
        records = self._reader.read(watermark, limit=1, max_bytes=1)
        for record in records:
            self._commit_rejection(replace(record, kind=RecordKind.EVENT, body=b""), watermark, error)
        return len(records)

    def commit_delivery(self, delivered: Sequence[LoggedRecord]) -> int:
        """Commit a batch that a trigger delivered. Skips committed records, and reads missing records from the log.

        Returns how many of the delivered records were new. Writes one log line (`REPORT`), which alerts of deployments
        parse.
        """
        self._done = _DeliveryCounts()
        watermark = self._start_from_watermark(delivered[0].received_us if delivered else None)
        taken = fresh = [record for record in delivered if record.sequence > watermark]
        while fresh:
            records = self._limit_batch_bytes(
                self._read_missing(watermark, fresh[0].sequence) or _up_to_first_gap(fresh)
            )
            self._commit_records(records, watermark)
            watermark = records[-1].sequence
            fresh = [record for record in fresh if record.sequence > watermark]
        self._done.report(self._source.partition, watermark)
        return len(taken)

    def _read_missing(self, after: int, until: int) -> list[LoggedRecord]:
        """Read the records between two sequences, exclusive. The list is empty if the log has lost these records."""
        if until == after + 1:
            return []
        return self._reader.read_between(after, until, limit=BATCH_RECORDS, max_bytes=BATCH_BYTES)

    def _commit_records(self, records: Sequence[LoggedRecord], watermark: int) -> int:
        if records:
            self._done.begin(records)
            self.committed = _UNKNOWN  # if this attempt fails, the next one must read what it has stored
            process_bisecting(records, watermark, self._build_and_commit, self._commit_rejection)
        return len(records)

    def _limit_batch_bytes(self, records: Sequence[LoggedRecord]) -> Sequence[LoggedRecord]:
        """Return the first records with at most BATCH_BYTES of bodies, including claims, but at least one record."""
        size = 0
        for count, record in enumerate(records):
            size += self._claims.size(record.body) if record.kind is RecordKind.CLAIM else len(record.body)
            if count and size > BATCH_BYTES:
                return records[:count]
        return records

    def _record_gap(self, watermark: int, tail: int) -> int:
        """Record the sequences after the watermark up to `tail` as a gap. Returns their number."""
        self._commit_batch(build_gap_batch(self._source, watermark, tail))
        return tail - watermark

    def _build_and_commit(self, records: Sequence[LoggedRecord], watermark: int) -> None:
        before = ParserContext(watermark, self._window, self._hashes, self._decided, run_namespaces=self._begun)
        with gc_paused():
            batch = build_batch(self._source, records, before, self._event_reader, self._claims)
        self._commit_batch(batch)

    def _commit_rejection(self, record: LoggedRecord, watermark: int, error: InvalidEvent) -> None:
        log.warning("Record %d is rejected: %s", record.sequence, error)
        batch = BronzeBatch(record.sequence, record.received_us)
        if record.sequence not in self._decided:  # otherwise the record has a row, and only the watermark moves
            batch = build_rejection_batch(self._source, record, watermark, error)
        self._commit_batch(batch)

    def _commit_batch(self, batch: BronzeBatch) -> None:
        acknowledged = self._reader.acknowledged()
        self._settled = self._bronze.commit(self._source, batch.rows, batch.last, acknowledged, self._settled)
        self._window.add(batch.received_us, list(batch.ids))
        self._hashes |= batch.hashes
        self._begun.cache_namespaces(batch.begun)
        if len(self._hashes) > MAX_HASHES:
            self._hashes = set(batch.hashes)  # a dropped hash is stored again, which readers ignore
        self._done.rejected += batch.rejected
        if batch.lost:
            log.error(GAP, self._source.partition, batch.lost, batch.last)
        self.committed = batch.last

    def _start_from_watermark(self, received_us: int | None = None) -> int:
        """Return the watermark in the lake. Reloads the cached state if another process has moved the watermark.

        received_us: when the next record was received (us). If it is None, the method reads the time from the log.
        """
        watermark = self._bronze.watermark(self._source)
        if watermark != self.committed or not self._settled.is_sure:
            if received_us is None:
                newest = self._reader.read(watermark, limit=1, max_bytes=1)
                received_us = newest[0].received_us if newest else MAX_AGE_US
            since_us = received_us - MAX_AGE_US
            self._window = DedupeWindow(self._bronze.recent_ids(self._source, watermark, since_us, MAX_IDS))
            self._hashes = self._bronze.known_hashes(MAX_HASHES)
            self._settled = self._bronze.delete_unfinished_rows(
                self._source, watermark
            )  # before reading the decided sequences
            self._decided = self._bronze.stored_sequences(self._source, watermark)
            self.committed = watermark
        return watermark


@dataclass(slots=True)
class _DeliveryCounts:
    """Counts of one delivery, for its log line."""

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


def _up_to_first_gap(records: Sequence[LoggedRecord]) -> Sequence[LoggedRecord]:
    """Return the records before the first missing sequence number."""
    for count, record in enumerate(records):
        if record.sequence != records[0].sequence + count:
            return records[:count]
    return records


def _body_bytes(records: Sequence[LoggedRecord]) -> int:
    return sum(len(record.body) for record in records)
