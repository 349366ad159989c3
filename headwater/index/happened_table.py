"""When events of runs happened and where bronze has them, so that a page of them reads only their bodies."""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from headwater.events.position import Source
from headwater.index.part_table import Places
from headwater.lake.follow import StoredEvent
from headwater.lineage.part import Part

QUARTER_US = timedelta(minutes=15) // timedelta(microseconds=1)
"""Events are counted by quarter of an hour: the offset of every time zone is a multiple of it."""


def places_of(sql: sqlite3.Connection, source: Source, events: Sequence[StoredEvent]) -> Places:
    """Return the place of each event of a batch; part of the caller's transaction."""
    row = (source.log, source.incarnation, source.partition)
    sql.execute("INSERT OR IGNORE INTO places(log, incarnation, part) VALUES (?, ?, ?)", row)
    query = "SELECT id FROM places WHERE log = ? AND incarnation = ? AND part = ?"
    number = int(sql.execute(query, row).fetchone()[0])
    return {event.event_id: (number, event.sequence) for event in events}


class HappenedTable:
    """Events of runs by time, and how many events of each type there were."""

    def __init__(self, connection: sqlite3.Connection):
        """Use the index's connection."""
        self._sql = connection

    def add(self, fresh: Sequence[Part], places: Places) -> None:
        """Take events that are not known yet."""
        rows = [(part.time_us, *places[part.event_id]) for part in fresh if part.kind == "RUN"]
        self._sql.executemany("INSERT OR IGNORE INTO happened VALUES (?, ?, ?)", rows)
        counts = Counter((part.time_us // QUARTER_US, part.type if part.kind == "RUN" else part.kind) for part in fresh)
        self._sql.executemany(
            "INSERT INTO quarters VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET events = events + excluded.events",
            [(*key, count) for key, count in counts.items()],
        )
