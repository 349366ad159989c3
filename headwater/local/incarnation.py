"""A new life for a log that no longer matches its lake: deleted, restored, or taken over from another route."""

import time
from dataclasses import replace
from typing import Any

from headwater.eventlog.segments import new_incarnation, open_writable, read_header, segment_files
from headwater.eventlog.sqlite import SqliteLog
from headwater.lake.bronze import INCARNATION, OWNER
from headwater.runtime import OWNER as ROUTE
from headwater.runtime import existing_folder, folder_lock, open_bronze, open_log_reader
from headwater.settings import Settings


def begin_incarnation(settings: Settings) -> dict[str, Any]:
    """Rename the log's life and make the lake expect it; raises WrongSetting while `headwater up` runs.

    Sequence numbers keep their values, and everything still in the log is parsed once more; what retention took before
    is no gap of the new life. What the lake has and the log no longer counts is written into the log, so that the
    audit goes on counting it.
    """
    folder = existing_folder(settings)
    with folder_lock(folder, "up", wait_s=0), folder_lock(folder, "serve", wait_s=0):
        SqliteLog(folder / "log").close()  # makes one where it was deleted
        reader, bronze = open_log_reader(folder), open_bronze(folder)
        fresh = replace(reader.source, incarnation=new_incarnation())
        before = bronze.events.property(INCARNATION) or reader.source.incarnation
        counts = bronze.counts(fresh)  # of the life before, rows beyond its watermark count as well from now on
        in_lake = counts.stored + counts.duplicates + counts.rejected
        head = reader.head()
        not_counted = in_lake - (head - 1) - sum(past[1] for past in reader.past())
        reader.close()
        if head > 1:
            bronze.commit(fresh, {}, head - 1)
        for path in segment_files(folder / "log"):
            connection = open_writable(path)
            if read_header(connection):
                connection.execute("BEGIN")
                connection.execute("UPDATE header SET incarnation = ?", (fresh.incarnation,))
                connection.execute("INSERT INTO past VALUES (?,?,?)", (before, not_counted, time.time_ns() // 1000))
                connection.execute("COMMIT")
            connection.close()
        for table in bronze.tables.values():
            table.set_property(OWNER, ROUTE)
            table.set_property(INCARNATION, fresh.incarnation)
    return {"incarnation": fresh.incarnation, "before": before, "events in the lake": in_lake}
