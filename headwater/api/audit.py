"""Compare the event log with the lake."""

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.api.shapes import Audit, LostRange
from headwater.common.errors import LogDamaged, LogMissing, WrongSetting
from headwater.events.position import Source
from headwater.intake.event_log import LogReader, call_all_readers
from headwater.intake.parser.log_match import check_log_matches
from headwater.lake.bronze_tables import Bronze, Gap

MAX_RANGES = 1000
"""Maximum number of lost ranges in an answer. If there are more, the answer lists the newest."""


def audit(readers: Sequence[LogReader], bronze: Bronze) -> Audit:
    """Compare the acknowledged events with the rows of the lake. Every event must be in exactly one table (promise P2).

    In the answer, `balanced` is false if events are missing, stored twice or lost, or if log and lake do not belong
    together; `trouble` contains the reason. `removed` counts stored events that retention or `headwater forget`
    deleted. `received` is the sum of the records up to the lake's watermark, the records that wait in the log, and the
    acknowledged records that the log has lost, without records that only note refusals.

    readers: one reader for every partition of the log.
    """
    trouble = _mismatch_reason(readers, bronze)
    expected = bronze.expected_epoch()
    epochs = [reader.in_epoch(expected) if expected else reader.source for reader in readers]
    counts = bronze.row_counts(epochs)
    passed = counts.watermarks
    missing = _missing_ranges(readers, epochs, bronze, passed)
    if missing and bronze.watermarks(epochs) != {epoch: passed[epoch.partition] for epoch in epochs}:
        return audit(readers, bronze)  # repeat: during the audit, the parser moved on and retention deleted records
    pending = (
        0 if trouble else sum(call_all_readers(readers, lambda reader: reader.pending(passed[reader.source.partition])))
    )
    noted = bronze.gaps()
    lost = sum(found.lost_records for found in (*noted, *missing))
    rejected = counts.rejected - sum(found.lost_records for found in noted)
    received = (
        sum(passed.values()) - counts.notes + pending + sum(found.lost_records for found in missing) + counts.earlier
    )
    accounted = counts.stored + counts.duplicates + rejected + pending + lost
    return Audit(
        received, counts.stored - counts.removed, counts.removed, counts.duplicates, rejected, counts.refused,
        pending, lost,
        received == accounted and not lost and not trouble,
        [LostRange(*found) for found in (*noted, *missing)][-MAX_RANGES:],
        trouble,
    )  # fmt: skip


def _mismatch_reason(readers: Sequence[LogReader], bronze: Bronze) -> str | None:
    """Return why log and lake do not belong together; None if they do."""
    try:
        if bronze.exists():
            check_log_matches(readers, bronze)
    except (WrongSetting, LogDamaged, LogMissing) as error:
        return str(error)
    return None


def _missing_ranges(
    readers: Sequence[LogReader], epochs: Sequence[Source], bronze: Bronze, passed: Mapping[str, int]
) -> list[Gap]:
    """List the records that were acknowledged in the expected epoch of the log, but can no longer be read."""
    return [
        Gap(epoch.epoch, epoch.partition, *ends)
        for reader, epoch in zip(readers, epochs, strict=True)
        for ends in reader.missing_ranges(epoch, passed[epoch.partition], bronze.acknowledged_sequence(epoch))
    ]


def log_state(readers: Sequence[LogReader], bronze: Bronze) -> dict[str, Any]:
    """Return the range of the log and the watermark of the lake for each partition. `past` lists the ended epochs."""
    passed = bronze.watermarks([reader.source for reader in readers])

    def partition_state(reader: LogReader) -> dict[str, Any]:
        mark = passed[reader.source]
        return {
            "partition": reader.source.partition, "head": reader.head(), "tail": reader.tail(), "passed": mark,
            "pending": reader.pending(mark), "bytes": reader.size_bytes(),
        }  # fmt: skip

    source = readers[0].source
    ended_epochs = [{"incarnation": name, "received": received} for name, received, _ in bronze.ended_epochs()]
    return {
        "log": source.log,
        "incarnation": source.epoch,
        "items": call_all_readers(readers, partition_state),
        "past": ended_epochs,
    }
