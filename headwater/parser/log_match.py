"""Log and lake belong together: the log goes on where the lake is. Asked before anything is acknowledged or parsed."""

from collections.abc import Sequence

from headwater.errors import InvalidEvent, LogMissing
from headwater.eventlog import LoggedRecord, LogReader, RecordKind, each
from headwater.events.event_reader import EventReader
from headwater.lake.bronze_tables import Bronze, Stored
from headwater.lake.ownership import changed, check_life


def check_log_is_of_lake(readers: Sequence[LogReader], bronze: Bronze) -> None:
    """Check that there is a log where the lake has had one, and that it is this one; closes the readers.

    Raises WrongSetting where they do not belong together, LogUnavailable or LakeUnavailable where nobody can tell.
    """
    try:
        if life := bronze.life():
            check_log_matches(readers, bronze)
    except LogMissing:
        raise changed(f"the lake was fed by log {life}, and there is none: it was deleted or moved") from None
    finally:
        for reader in readers:
            reader.close()


def check_log_matches(readers: Sequence[LogReader], bronze: Bronze) -> None:
    """Raise WrongSetting unless each partition is of the lake's epoch, as long, and has its record at the watermark.

    A log that was restored and written to again is as long, and of the same epoch: its records are others.
    """
    properties, passed = bronze.properties(), bronze.watermarks([reader.source for reader in readers])
    tails = each(readers, lambda reader: reader.tail())
    for (source, watermark), tail in zip(passed.items(), tails, strict=True):
        check_life(properties, source, tail=tail, watermark=watermark)
    found = each(readers, lambda reader: reader.at(passed[reader.source]) if passed[reader.source] else None)
    for (source, watermark), record in zip(passed.items(), found, strict=True):
        stored = bronze.stored_at(source, watermark) if record else None
        if record and stored and not _is_same(record, stored):
            raise changed(
                f"record {watermark}, the newest that the lake has taken, is another one in the log: an older log was "
                "restored and written to"
            )


def _is_same(record: LoggedRecord, stored: Stored) -> bool:
    """Compare time and run, which no rule of redaction touches: the id of an event may change with a release."""
    if record.received_us != stored.received_us:
        return False
    if stored.run_id is None or record.kind is not RecordKind.EVENT:
        return True
    (event,) = EventReader().read([record.body])
    return isinstance(event, InvalidEvent) or event.run_id == stored.run_id
