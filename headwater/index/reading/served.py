"""How far the index is that questions read, and what it could not take: whoever asks later sees at least that."""

import sqlite3
from collections.abc import Callable
from contextlib import closing, nullcontext
from typing import TypeVar

from headwater.errors import NotBuilt
from headwater.events.position import Source
from headwater.index.home import IndexHome
from headwater.index.stored.database import open_for_reading
from headwater.index.stored.progress import read_progress
from headwater.index.stored.set_aside import SetAside, set_aside_since
from headwater.lake.bronze_follower import Progress

T = TypeVar("T")


def served_progress(home: IndexHome) -> Progress:
    """Return how far the file is that questions read, not one that is built beside it; empty before the first.

    A question takes what its file holds before it answers, and another file is switched to only when it holds more.
    Raises LakeUnavailable.
    """
    return _asked(home, read_progress, {})


def building_progress(home: IndexHome) -> Progress:
    """Return how far the file is that is built before there is one that questions read. Raises LakeUnavailable."""
    path = home.building()
    try:
        with closing(open_for_reading(path)) if path else nullcontext() as sql:
            return read_progress(sql) if sql else {}
    except (NotBuilt, sqlite3.Error, UnicodeDecodeError):  # it is only just being made, or its writer meets the damage
        return {}


def served_set_aside(home: IndexHome, since_us: int) -> list[tuple[Source, SetAside]]:
    """Return the events that this file lacks for their own sake; raises as above."""
    none: list[tuple[Source, SetAside]] = []
    return _asked(home, lambda sql: set_aside_since(sql, since_us), none)


def _asked(home: IndexHome, ask: Callable[[sqlite3.Connection], T], without: T) -> T:
    if not home.is_published():
        return without
    published, sql = home.opened(open_for_reading)
    with closing(sql), home.reading(published):
        return ask(sql)
