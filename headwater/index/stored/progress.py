"""How far an index is in bronze: it moves with what was derived, or not at all."""

import sqlite3

from headwater.lake.bronze_follower import Progress


def read_progress(sql: sqlite3.Connection) -> Progress:
    """Return how far an index is."""
    rows = sql.execute("SELECT incarnation, part, sequence FROM positions")
    return {(epoch, part): sequence for epoch, part, sequence in rows}
