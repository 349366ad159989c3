"""The size of the index on its disk and its growth."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from headwater.common.errors import HeadwaterError
from headwater.index.home import IndexHome
from headwater.index.stored.database import open_for_reading

_DAY_US = 86_400_000_000
_LONGEST_US = 7 * _DAY_US
"""The growth rate is that of the last seven days, or of the whole history if that is shorter."""
_LEAST_US = 3_600_000_000
"""The shortest history from which a rate is computed."""


class IndexGrowth(NamedTuple):
    """The size of all index files (bytes) and their growth (bytes per day), None if it is unknown."""

    bytes: int
    bytes_per_day: float | None

    def days_until(self, size: float) -> float | None:
        """Return the days until the index has a size (bytes), or None if it does not grow or the rate is unknown."""
        return max(0.0, size - self.bytes) / self.bytes_per_day if self.bytes_per_day else None


def index_growth(home: IndexHome, now_us: int, *, with_rate: bool = True) -> IndexGrowth:
    """Measure the index that questions read.

    The growth rate is the size per event times the rate of received events. with_rate: reads one row for each event.
    """
    size = home.size_bytes()
    if not with_rate:
        return IndexGrowth(size, None)
    with suppress(HeadwaterError, sqlite3.Error):
        count, lately, oldest_us = home.opened(lambda path: _counted(path, now_us - _LONGEST_US))[1]
        period_us = min(_LONGEST_US, now_us - oldest_us) if count else 0
        if period_us >= _LEAST_US:
            return IndexGrowth(size, size * lately / count * _DAY_US / period_us)
    return IndexGrowth(size, None)


def _counted(path: Path, since_us: int) -> tuple[int, int, int]:
    """Return the number of events in the file, the number received since then, and the first time of receipt (us)."""
    with closing(open_for_reading(path)) as sql:
        count, lately, oldest_us = sql.execute(
            "SELECT count(*), coalesce(sum(received_us >= ?), 0), coalesce(min(received_us), 0) FROM parts", [since_us]
        ).fetchone()
    return count, lately, oldest_us
