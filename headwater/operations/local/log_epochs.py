"""Start a new epoch for a log that no longer matches its lake: it was deleted, restored, or moved to another route."""

import time
from contextlib import closing
from pathlib import Path
from typing import Any

from headwater.intake.parser.bronze_batch import build_gap_batch
from headwater.lake.bronze_tables import Bronze
from headwater.lake.ownership import ROUTES
from headwater.operations.runtime.data_folder import folder_lock, require_data_folder
from headwater.operations.runtime.event_log import open_log_readers, renew_log_epoch
from headwater.operations.runtime.storage import open_bronze
from headwater.operations.settings import Settings


def begin_epoch(settings: Settings, owner: str = ROUTES["parser"]) -> dict[str, Any]:
    """Make the lake accept the current log, written by the ingest route `owner`.

    A local log gets a new epoch. Its records keep their sequence numbers, and the parser parses them again. A log
    service defines its own epochs: a new log is parsed from its start; for an unchanged log, only the owner changes.

    Records that retention has deleted do not count as lost in the new epoch. Acknowledged records that the log has lost
    are recorded as a gap in the old epoch. The lake keeps the number of events of earlier epochs for the audit.
    Returns the new `epoch`, the epoch `before` it, and the number of `events in the lake`.
    Raises WrongSetting while `headwater up` is running.
    """
    folder = require_data_folder(settings)
    with folder_lock(folder, "up", wait_s=0), folder_lock(folder, "serve", wait_s=0):
        bronze = open_bronze(settings)
        before = bronze.expected_epoch()
        if before:
            _record_lost_events(settings, folder, bronze, before)
        readers = renew_log_epoch(settings, folder)
        sources = [reader.source for reader in readers]
        fresh = sources[0].epoch
        if not bronze.exists():
            return {"epoch": fresh, "before": None, "events in the lake": 0}
        counts = bronze.row_counts(sources)  # now includes rows of the old epoch beyond its watermark
        in_lake = counts.stored + counts.duplicates + counts.rejected
        ended = bronze.ended_epochs()
        if before and before != fresh:
            gone = 0
            for reader, source in zip(readers, sources, strict=True):
                gone += (lost := reader.head() - 1)
                if lost:
                    bronze.commit(source, {}, lost)
            ended.append((before, in_lake - gone - counts.earlier, time.time_ns() // 1000))
        for reader in readers:
            reader.close()
        bronze.begin_epoch(owner, fresh, ended)
    return {"epoch": fresh, "before": before or fresh, "events in the lake": in_lake}


def _record_lost_events(settings: Settings, folder: Path, bronze: Bronze, epoch: str) -> None:
    """Record gaps in bronze for the events that the log acknowledged in the old epoch and no longer contains."""
    for reader in open_log_readers(settings, folder):
        with closing(reader):
            source = reader.in_epoch(epoch)
            for first, last in reader.missing_ranges(
                source, bronze.watermark(source), bronze.acknowledged_sequence(source)
            ):
                batch = build_gap_batch(source, first - 1, last)
                bronze.commit(source, batch.rows, batch.last)
