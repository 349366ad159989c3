"""Which runs read a dataset and when, including runs that wrote nothing."""

import sqlite3
from collections.abc import Iterable, Iterator, Set
from functools import lru_cache

from headwater.events.decode import decode
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.database import marks
from headwater.index.stored.recent_facets import recent_facets
from headwater.index.stored.version_table import said_from
from headwater.lineage.names.dataset_name import Name

_NEWEST = (
    "SELECT k.key, e.key FROM runs r JOIN run_keys k ON k.id = r.run JOIN run_keys e ON e.id = r.execution "
    "WHERE r.job_key = ? AND r.kind = 'RUN' ORDER BY r.time_us DESC LIMIT 5"
)


class DatasetReaders:
    """The readers of a dataset in one generation of the index."""

    def __init__(self, live: LiveGraph, dataset: Name):
        """Read from `live`, which must not be refreshed while this object is in use."""
        self._sql: sqlite3.Connection = live.sql
        self._live = live
        named = (live.names.known(name) for name in live.naming.names_of(dataset))
        self._numbers = frozenset(number for number in named if number is not None)
        self._reads = lru_cache(maxsize=10_000)(lambda said: _inputs(said) & self._numbers)

    def jobs(self) -> list[int]:
        """Return the key numbers of the jobs that have ever read or written the dataset."""
        numbers = sorted(self._numbers)
        query = f"SELECT DISTINCT job_key FROM uses WHERE name IN ({marks(numbers)}) ORDER BY job_key"
        return [job for (job,) in self._sql.execute(query, numbers)]

    def job(self, number: int) -> Name:
        """Return the display name of a job. number: of its key."""
        return self._live.job(self._live.names.name(number))

    def times(self, job: int, since_us: int, until_us: int) -> Iterator[int]:
        """Yield the times (us, UTC) of a job's runs that read the dataset."""
        query = "SELECT said, time_us FROM runs WHERE job_key = ? AND kind = 'RUN' AND time_us BETWEEN ? AND ?"
        return (time_us for said, time_us in self._sql.execute(query, (job, since_us, until_us)) if self._reads(said))

    def facets(self, job: int) -> Iterable[dict[str, object]]:
        """Return the facets of a job's newest runs and of their executions, decoded, if the index still has them."""
        keys = dict.fromkeys(key for row in self._sql.execute(_NEWEST, (job,)) for key in row)
        found = recent_facets(self._sql, list(keys))
        return [{name: decode(text) for name, text in facets.items()} for facets in found.values()]


def _inputs(said: bytes | None) -> Set[int]:
    return frozenset(said_from(said).inputs) if said else frozenset()
