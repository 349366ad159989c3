"""A new epoch for a log that no longer matches its lake: deleted, restored, or taken over from another route."""

import time
from contextlib import closing
from pathlib import Path
from typing import Any

from headwater.lake.bronze_tables import Bronze
from headwater.lake.ownership import ROUTES
from headwater.parser.bronze_batch import lost_batch
from headwater.runtime.folders import existing_folder, folder_lock
from headwater.runtime.logs import begin_log, open_log_readers
from headwater.runtime.storage import open_bronze
from headwater.settings import Settings


def begin_epoch(settings: Settings, owner: str = ROUTES["parser"]) -> dict[str, Any]:
    """Make the lake expect the log as it is now, brought by the ingest route `owner`.

    Raises WrongSetting while `headwater up` runs.

    A log on our own disk gets another name: its sequence numbers keep their values, and everything still in it is
    parsed once more. A service names its logs itself: a new one is parsed from its beginning, of one that is the same
    as before only the owner changes. What retention took before is no gap of the new life. What the log acknowledged
    and has lost becomes a gap of the old one. What the lake has and the log no longer counts is noted in the lake, so
    that the audit goes on counting it.
    """
    folder = existing_folder(settings)
    with folder_lock(folder, "up", wait_s=0), folder_lock(folder, "serve", wait_s=0):
        bronze = open_bronze(settings)
        before = bronze.life()
        if before:
            _note_lost(settings, folder, bronze, before)
        readers = begin_log(settings, folder)
        sources = [reader.source for reader in readers]
        fresh = sources[0].epoch
        if not bronze.exists():
            return {"epoch": fresh, "before": None, "events in the lake": 0}
        counts = bronze.counts(sources)  # rows of the life before that lie beyond its watermark count from now on
        in_lake = counts.stored + counts.duplicates + counts.rejected
        past = bronze.past()
        if before and before != fresh:
            gone = 0
            for reader, source in zip(readers, sources, strict=True):
                gone += (lost := reader.head() - 1)
                if lost:
                    bronze.commit(source, {}, lost)
            past.append((before, in_lake - gone - counts.earlier, time.time_ns() // 1000))
        for reader in readers:
            reader.close()
        bronze.begin_life(owner, fresh, past)
    return {"epoch": fresh, "before": before or fresh, "events in the lake": in_lake}


def _note_lost(settings: Settings, folder: Path, bronze: Bronze, epoch: str) -> None:
    """Note as gaps what the log acknowledged in the epoch that ends, and nobody can parse any more."""
    for reader in open_log_readers(settings, folder):
        with closing(reader):
            life = reader.in_epoch(epoch)
            for first, last in reader.missing(life, bronze.watermark(life), bronze.acknowledged(life)):
                batch = lost_batch(life, first - 1, last)
                bronze.commit(life, batch.rows, batch.last)
