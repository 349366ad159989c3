"""Checks that a log and a lake belong together, before anything is acknowledged or parsed."""

from collections.abc import Sequence

from headwater.common.errors import InvalidEvent, LogMissing
from headwater.events.event_reader import EventReader
from headwater.intake.event_log import LoggedRecord, LogReader, RecordKind, call_all_readers
from headwater.lake.bronze_tables import Bronze, StoredRecord
from headwater.lake.ownership import changed_log_error, check_epoch


def check_log_belongs_to_lake(readers: Sequence[LogReader], bronze: Bronze) -> None:
    """Check that the log exists and is the log from which the lake was filled; then close the readers.

    Raises WrongSetting if log and lake do not belong together; LogUnavailable or LakeUnavailable if the check is not
    possible now.
    """
    try:
        if epoch := bronze.expected_epoch():
            check_log_matches(readers, bronze)
    except LogMissing:
        raise changed_log_error(f"the log {epoch} fed the lake, but there is no log: it was deleted or moved") from None
    finally:
        for reader in readers:
            reader.close()


def check_log_matches(readers: Sequence[LogReader], bronze: Bronze) -> None:
    """Raise WrongSetting unless each partition has the lake's epoch, reaches the watermark and has its record.

    The record at the watermark must be compared, too. A log that was restored from a backup and then written to has the
    same epoch and may be as long, but contains other records.
    """
    properties, passed = bronze.properties(), bronze.watermarks([reader.source for reader in readers])
    tails = call_all_readers(readers, lambda reader: reader.tail())
    for (source, watermark), tail in zip(passed.items(), tails, strict=True):
        check_epoch(properties, source, tail=tail, watermark=watermark)
    found = call_all_readers(
        readers, lambda reader: reader.record_at(passed[reader.source]) if passed[reader.source] else None
    )
    for (source, watermark), record in zip(passed.items(), found, strict=True):
        stored = bronze.stored_at(source, watermark) if record else None
        if record and stored and not _is_same_record(record, stored):
            raise changed_log_error(
                f"record {watermark}, the newest in the lake, is a different record in the log: an older log was "
                "restored and written to"
            )


def _is_same_record(record: LoggedRecord, stored: StoredRecord) -> bool:
    """Whether a record of the log and a stored record have the same time of receipt and run id.

    The event id is not compared, because new redaction rules of a release may change it.
    """
    if record.received_us != stored.received_us:
        return False
    if stored.run_id is None or record.kind is not RecordKind.EVENT:
        return True
    (event,) = EventReader().read([record.body])
    return isinstance(event, InvalidEvent) or event.run_id == stored.run_id
