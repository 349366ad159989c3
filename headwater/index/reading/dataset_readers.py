"""Finds the runs that read a dataset, and the columns that the readers of an unwritten dataset no longer list."""

import sqlite3
from collections.abc import Iterable, Iterator, Set
from functools import cache, lru_cache

from headwater.events.decode import decode
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.database import question_marks
from headwater.index.stored.events import RunFactsTable
from headwater.index.stored.numbers import RunNumbers
from headwater.index.stored.run_facets import recent_facets
from headwater.index.stored.schemas import mention_from_row
from headwater.index.stored.versions import run_datasets_from
from headwater.lineage.edges.schema_history import DatasetColumnLists, SchemaMention, schema_mentions
from headwater.lineage.edges.unlisted_columns import ReaderList, UnlistedColumn, find_unlisted_columns
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.snapshots.whole_rewrites import WINDOW_US

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
        named = (live.names.find_number(name) for name in live.naming.names_of(dataset))
        self._numbers = frozenset(number for number in named if number is not None)
        self._reads = lru_cache(maxsize=10_000)(lambda datasets: _unpack_inputs(datasets) & self._numbers)

    def job_key_numbers(self) -> list[int]:
        """Return the key numbers of the jobs that have ever read or written the dataset."""
        numbers = sorted(self._numbers)
        query = f"SELECT DISTINCT job_key FROM uses WHERE name IN ({question_marks(numbers)}) ORDER BY job_key"
        return [job for (job,) in self._sql.execute(query, numbers)]

    def job_key(self, key_number: int) -> Name:
        """Return the key of a job. key_number: the number of the job's key."""
        return self._live.names.name(key_number)

    def job_display_name(self, key_number: int) -> Name:
        """Return the display name of a job. key_number: the number of the job's key."""
        return self._live.job_name(self._live.names.name(key_number))

    def read_times_us(self, job: int, since_us: int, until_us: int) -> Iterator[int]:
        """Yield the times (us, UTC) in [since, until] of a job's runs that read the dataset."""
        query = "SELECT datasets, time_us FROM runs WHERE job_key = ? AND kind = 'RUN' AND time_us BETWEEN ? AND ?"
        return (
            time_us
            for datasets, time_us in self._sql.execute(query, (job, since_us, until_us))
            if self._reads(datasets)
        )

    def run_facets(self, job: int) -> Iterable[dict[str, object]]:
        """Return the decoded facets by name of a job's five newest runs and of their executions.

        Runs are left out if the index no longer contains their facets.
        """
        keys = dict.fromkeys(key for row in self._sql.execute(_NEWEST, (job,)) for key in row)
        found = recent_facets(self._sql, list(keys))
        return [{name: decode(text) for name, text in facets.items()} for facets in found.values()]


def _unpack_inputs(datasets: bytes | None) -> Set[int]:
    return frozenset(run_datasets_from(datasets).inputs) if datasets else frozenset()


_RUNS = 200
"""At most this many runs of a job are read, the newest first."""


def columns_unlisted_by_readers(live: LiveGraph, dataset: Name, until_us: int) -> list[UnlistedColumn]:
    """Return the columns of a dataset that its readers no longer list (rule 12.10), from lists up to a time (us).

    live: must not be refreshed during the call.
    """
    every = list(_column_lists(live, dataset, until_us))
    if len({seen.schema for seen in every}) < 2 or _is_written(live, dataset, until_us):
        return []
    known = DatasetColumnLists(has_parts=live.is_written_by_parts(dataset))
    for seen in every:
        known.add_mention(seen)
    if known.base_list is not None:
        return []
    columns = live.columns(dataset)

    @cache
    def column_keys(schema: str) -> frozenset[str]:
        return frozenset(columns.key(".".join(path)) for path in live.contents.schema(schema))

    since_us = max(seen.time_us for seen in every) - WINDOW_US
    return find_unlisted_columns(_reader_lists(live, dataset, since_us, until_us), every, column_keys)


def _column_lists(live: LiveGraph, dataset: Name, until_us: int) -> Iterator[SchemaMention]:
    """Yield the column lists of a dataset, except lists in events with a time ahead of their receipt."""
    query = (
        f"SELECT {', '.join(SchemaMention._fields)} FROM schema_mentions WHERE name = ? AND credible AND time_us <= ?"
    )
    for name in live.naming.names_of(dataset):
        for seen in map(
            mention_from_row, live.sql.execute(query, (live.names.find_number(name) or 0, until_us)).fetchall()
        ):
            if seen.described_dataset(name, live.naming).without_generation == dataset:
                yield seen


def _is_written(live: LiveGraph, dataset: Name, until_us: int) -> bool:
    generations = (dataset, *live.naming.generations.all_generations(dataset))
    numbers = sorted({number for each in generations if (number := live.names.find_number(each)) is not None})
    query = (
        "SELECT 1 FROM job_outputs g JOIN candidates v ON v.job_output = g.id "
        f"WHERE g.output IN ({question_marks(numbers)})"
    )
    query += " AND g.layer <> 'declared' AND v.time_us <= ? LIMIT 1"
    return live.sql.execute(query, (*numbers, until_us)).fetchone() is not None


def _reader_lists(live: LiveGraph, dataset: Name, since_us: int, until_us: int) -> Iterator[ReaderList]:
    table = RunFactsTable(live.sql, RunNumbers(live.sql))
    for job in DatasetReaders(live, dataset).job_key_numbers():
        rows = live.sql.execute(
            "SELECT k.key FROM runs r JOIN run_keys k ON k.id = r.run WHERE r.job_key = ? AND r.kind = 'RUN' "
            f"AND r.last_us >= ? ORDER BY r.time_us DESC LIMIT {_RUNS}",
            (job, since_us),
        )
        facts = table.facts([key for (key,) in rows.fetchall()])
        for fact in (each for own in facts.values() for each in own):
            for name, seen in schema_mentions(fact):
                is_read = seen.credible and seen.place < len(fact.inputs) and since_us <= seen.time_us <= until_us
                if is_read and seen.described_dataset(name, live.naming).without_generation == dataset:
                    yield ReaderList(live.names.name(job), seen)
