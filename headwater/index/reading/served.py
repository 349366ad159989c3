"""The position in bronze of the index that questions read, and the events that it set aside."""

import sqlite3
from collections.abc import Callable
from contextlib import closing, nullcontext
from typing import TypeVar

from headwater.common.errors import NotBuilt
from headwater.events.position import Source
from headwater.index.home import IndexHome
from headwater.index.stored.database import open_for_reading
from headwater.index.stored.progress import read_progress
from headwater.index.stored.set_aside import SetAside, set_aside_since
from headwater.lake.bronze_follower import Progress

T = TypeVar("T")


def served_progress(home: IndexHome) -> Progress:
    """Return the position of the file that questions read; empty if there is none. Raises LakeUnavailable.

    Every later answer includes at least the events up to this position: a question reads all that its file contains,
    and questions switch to another file only when it contains more.
    """
    return _asked(home, read_progress, {})


def building_progress(home: IndexHome) -> Progress:
    """Return the position of the first index while it is being built, before there is one to read.

    Raises LakeUnavailable.
    """
    path = home.building()
    try:
        with closing(open_for_reading(path)) if path else nullcontext() as sql:
            return read_progress(sql) if sql else {}
    except (NotBuilt, sqlite3.Error, UnicodeDecodeError):  # just being created, or damaged
        return {}


def served_set_aside(home: IndexHome, since_us: int) -> list[tuple[Source, SetAside]]:
    """Return the events that this file has set aside. Raises LakeUnavailable."""
    none: list[tuple[Source, SetAside]] = []
    return _asked(home, lambda sql: set_aside_since(sql, since_us), none)


def _asked(home: IndexHome, ask: Callable[[sqlite3.Connection], T], without: T) -> T:
    if not home.is_published():
        return without
    published, sql = home.opened(open_for_reading)
    with closing(sql), home.reading(published):
        return ask(sql)
