"""The position of an index in bronze. It is committed in the same transaction as the data derived up to it."""

import sqlite3

from headwater.index.stored.database import GENERATIONS
from headwater.lake.bronze_follower import Progress


def read_progress(sql: sqlite3.Connection) -> Progress:
    """Return the position of an index. Raises sqlite3.Error, also if a stored position has the wrong type."""
    rows = sql.execute("SELECT incarnation, part, sequence FROM positions").fetchall()
    if not all(isinstance(epoch, str) and isinstance(part, str) and isinstance(at, int) for epoch, part, at in rows):
        raise sqlite3.DatabaseError("a position in bronze has changed since it was written")
    return {(epoch, part): sequence for epoch, part, sequence in rows}


def newest_generation(sql: sqlite3.Connection) -> int:
    """Return the newest generation of an index, or 0 if it is empty."""
    newest = " UNION ".join(f"SELECT max(generation) AS newest FROM {table}" for table in GENERATIONS)
    return int(sql.execute(f"SELECT max(newest) FROM ({newest})").fetchone()[0] or 0)
