"""Table `set_aside`: events that the index could not process, with the reason. A rebuild tries them again."""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from headwater.events.position import Source


class SetAside(NamedTuple):
    """An event that is stored in bronze but missing from all answers. Times are in microseconds, UTC.

    reason: `too_slow`, `kills_index` or the name of an error.
    """

    sequence: int
    event_id: str
    received_us: int
    at_us: int
    reason: str
    message: str


def put_aside(sql: sqlite3.Connection, source: Source, found: Sequence[SetAside]) -> None:
    """Store events that cannot be processed. Writes to the caller's transaction."""
    rows = [(source.log, source.epoch, source.partition, *each) for each in found]
    sql.executemany("INSERT OR REPLACE INTO set_aside VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def set_aside_since(sql: sqlite3.Connection, since_us: int) -> list[tuple[Source, SetAside]]:
    """Return the events that were received at or after a time (us), with their sources."""
    rows = sql.execute(
        "SELECT log, incarnation, part, sequence, event_id, received_us, at_us, reason, message FROM set_aside "
        "WHERE received_us >= ?",
        (since_us,),
    )
    return [(Source(*row[:3]), SetAside(*row[3:])) for row in rows]
