"""The state of the index that questions read: its position in bronze, the events set aside, its size and growth."""

import sqlite3
from collections.abc import Callable
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from headwater.common.errors import HeadwaterError, NotBuilt
from headwater.events.position import Source
from headwater.index.home import IndexHome
from headwater.index.stored.database import open_for_reading
from headwater.index.stored.progress import SetAsideEvent, read_progress, set_aside_events_since
from headwater.lake.bronze_follower import Progress

T = TypeVar("T")


def published_progress(home: IndexHome) -> Progress:
    """Return the position in bronze of the file that questions read, or an empty mapping if there is no such file.

    Every later answer includes at least the events up to this position. A question reads everything in its file, and
    questions switch to another file only when that file has caught up with bronze. Raises LakeUnavailable.
    """
    return _query_index(home, read_progress, {})


def unpublished_progress(home: IndexHome) -> Progress:
    """Return the position in bronze of an index that is being built, before questions can read it.

    Returns an empty mapping if there is no readable file. Raises LakeUnavailable.
    """
    path = home.unpublished_path()
    try:
        with closing(open_for_reading(path)) if path else nullcontext() as sql:
            return read_progress(sql) if sql else {}
    except (NotBuilt, sqlite3.Error, UnicodeDecodeError):  # the file is just being created, or it is damaged
        return {}


def published_set_aside_events(home: IndexHome, since_us: int) -> list[tuple[Source, SetAsideEvent]]:
    """Return the events, with their sources, that are missing from all answers because the index set them aside.

    since_us: the earliest time of receipt (us, UTC). Raises LakeUnavailable.
    """
    none: list[tuple[Source, SetAsideEvent]] = []
    return _query_index(home, lambda sql: set_aside_events_since(sql, since_us), none)


def _query_index(home: IndexHome, read: Callable[[sqlite3.Connection], T], default: T) -> T:
    if not home.has_published_file():
        return default
    published, sql = home.open_published(open_for_reading)
    with closing(sql), home.index_errors(published):
        return read(sql)


_DAY_US = 86_400_000_000
_LONGEST_US = 7 * _DAY_US
"""The growth rate is computed from the last seven days, or from the whole history if it is shorter."""
_LEAST_US = 3_600_000_000
"""The shortest history (us) from which a growth rate is computed."""


class IndexGrowth(NamedTuple):
    """The size of all index files (bytes), and their growth (bytes per day; None if it is unknown)."""

    bytes: int
    bytes_per_day: float | None

    def days_until(self, size: float) -> float | None:
        """Return the days until the index has a size (bytes), or None if it does not grow or the rate is unknown."""
        return max(0.0, size - self.bytes) / self.bytes_per_day if self.bytes_per_day else None


def index_growth(home: IndexHome, now_us: int, *, with_rate: bool = True) -> IndexGrowth:
    """Measure the index that questions read.

    The growth rate is the size per event times the rate of received events. with_rate: also compute the growth rate,
    for which one row of each event is read. If the file cannot be read, the growth rate is unknown.
    """
    size = home.size_bytes()
    if not with_rate:
        return IndexGrowth(size, None)
    with suppress(HeadwaterError, sqlite3.Error):
        count, recent, oldest_us = home.open_published(lambda path: _event_counts(path, now_us - _LONGEST_US))[1]
        period_us = min(_LONGEST_US, now_us - oldest_us) if count else 0
        if period_us >= _LEAST_US:
            return IndexGrowth(size, size * recent / count * _DAY_US / period_us)
    return IndexGrowth(size, None)


def _event_counts(path: Path, since_us: int) -> tuple[int, int, int]:
    """Return (number of events in the file, number of events received since a time (us), first time of receipt (us)).

    The last element is 0 if there is no event.
    """
    with closing(open_for_reading(path)) as sql:
        count, recent, oldest_us = sql.execute(
            "SELECT count(*), coalesce(sum(received_us >= ?), 0), coalesce(min(received_us), 0) FROM event_facts",
            [since_us],
        ).fetchone()
    return count, recent, oldest_us
