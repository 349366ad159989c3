"""How far an index is in bronze: it moves with what was derived, or not at all."""

import sqlite3

from headwater.lake.follow import Progress


def read_progress(sql: sqlite3.Connection) -> Progress:
    """Return how far an index is."""
    rows = sql.execute("SELECT incarnation, part, sequence FROM positions")
    return {(incarnation, part): sequence for incarnation, part, sequence in rows}
