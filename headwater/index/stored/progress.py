"""How far the index has processed bronze: its position, and the events that it set aside with the reason.

The position is committed in the same transaction as the data that is derived from the events up to it. When the index
is rebuilt, it tries to process the events again that were set aside.
"""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from headwater.events.position import Source
from headwater.index.stored.database import GENERATIONS
from headwater.lake.bronze_follower import Progress


def read_progress(sql: sqlite3.Connection) -> Progress:
    """Return the position of an index. Raises sqlite3.Error, also if a stored position has the wrong type."""
    rows = sql.execute("SELECT incarnation, part, sequence FROM positions").fetchall()
    if not all(isinstance(epoch, str) and isinstance(part, str) and isinstance(at, int) for epoch, part, at in rows):
        raise sqlite3.DatabaseError("a stored position in bronze has the wrong type")
    return {(epoch, part): sequence for epoch, part, sequence in rows}


def newest_generation(sql: sqlite3.Connection) -> int:
    """Return the newest generation of an index, or 0 if the index is empty."""
    newest = " UNION ".join(f"SELECT max(generation) AS newest FROM {table}" for table in GENERATIONS)
    return int(sql.execute(f"SELECT max(newest) FROM ({newest})").fetchone()[0] or 0)


class SetAsideEvent(NamedTuple):
    """An event that is stored in bronze but missing from all answers. Times are in microseconds, UTC.

    at_us: when the event was set aside. reason: `too_slow`, `kills_index` or the class name of an error. message: the
    error message.
    """

    sequence: int
    event_id: str
    received_us: int
    at_us: int
    reason: str
    message: str


def store_set_aside_events(sql: sqlite3.Connection, source: Source, events: Sequence[SetAsideEvent]) -> None:
    """Store events that cannot be processed. Writes to the caller's transaction."""
    rows = [(source.log, source.epoch, source.partition, *each) for each in events]
    sql.executemany("INSERT OR REPLACE INTO set_aside VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def set_aside_events_since(sql: sqlite3.Connection, since_us: int) -> list[tuple[Source, SetAsideEvent]]:
    """Return the events that were set aside and were received at or after a time (us, UTC), with their sources."""
    rows = sql.execute(
        "SELECT log, incarnation, part, sequence, event_id, received_us, at_us, reason, message FROM set_aside "
        "WHERE received_us >= ?",
        (since_us,),
    )
    return [(Source(*row[:3]), SetAsideEvent(*row[3:])) for row in rows]
