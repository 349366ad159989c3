"""How far the index is that questions read: whoever asks later sees at least that."""

import sqlite3
from contextlib import closing

from headwater.errors import LakeUnavailable
from headwater.index.home import IndexHome
from headwater.index.stored.database import open_for_reading
from headwater.index.stored.progress import read_progress
from headwater.lake.bronze_follower import Progress


def served_progress(home: IndexHome) -> Progress:
    """Return how far the file is that questions read, not one that is built beside it; empty before the first.

    A question takes what its file holds before it answers, and another file is switched to only when it holds more.
    Raises LakeUnavailable.
    """
    if not home.is_published():
        return {}
    try:
        with closing(home.opened(open_for_reading)[1]) as sql:
            return read_progress(sql)
    except sqlite3.Error as error:
        raise LakeUnavailable(f"The index cannot be read ({error}). Ask again in a moment.") from error
