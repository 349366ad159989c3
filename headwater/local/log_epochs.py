"""A new life for a log that no longer matches its lake: deleted, restored, or taken over from another route."""

import time
from typing import Any

from headwater.lake.ownership import EPOCH, ROUTES
from headwater.runtime.folders import existing_folder, folder_lock
from headwater.runtime.logs import begin_log
from headwater.runtime.storage import open_bronze
from headwater.settings import Settings


def begin_epoch(settings: Settings, owner: str = ROUTES["parser"]) -> dict[str, Any]:
    """Make the lake expect the log as it is now, brought by the ingest route `owner`.

    Raises WrongSetting while `headwater up` runs.

    A log on our own disk gets another name: its sequence numbers keep their values, and everything still in it is
    parsed once more. A service names its logs itself: a new one is parsed from its beginning, of one that is the same
    as before only the owner changes. What retention took before is no gap of the new life. What the lake has and the
    log no longer counts is noted in the lake, so that the audit goes on counting it.
    """
    folder = existing_folder(settings)
    with folder_lock(folder, "up", wait_s=0), folder_lock(folder, "serve", wait_s=0):
        bronze = open_bronze(settings)
        readers = begin_log(settings, folder)
        sources = [reader.source for reader in readers]
        fresh = sources[0].epoch
        before = bronze.properties().get(EPOCH, fresh)
        counts = bronze.counts(sources)  # rows of the life before that lie beyond its watermark count from now on
        in_lake = counts.stored + counts.duplicates + counts.rejected
        past = bronze.past()
        if before != fresh:
            gone = 0
            for reader, source in zip(readers, sources, strict=True):
                gone += (lost := reader.head() - 1)
                if lost:
                    bronze.commit(source, {}, lost)
            past.append((before, in_lake - gone - counts.earlier, time.time_ns() // 1000))
        for reader in readers:
            reader.close()
        bronze.begin_life(owner, fresh, past)
    return {"incarnation": fresh, "before": before, "events in the lake": in_lake}
