"""For datasets that no run writes: find the columns that readers no longer list."""

from collections.abc import Iterator
from functools import cache

from headwater.index.reading.dataset_readers import DatasetReaders
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.database import marks
from headwater.index.stored.run_facts_table import RunFactsTable
from headwater.index.stored.run_numbers import RunNumbers
from headwater.index.stored.schema_use_table import seen_of
from headwater.lineage.edges.schema_history import KnownLists, SeenSchema, seen_schemas
from headwater.lineage.edges.unlisted_columns import ReaderList, UnlistedColumn, unlisted_columns
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.time.whole_rewrites import WINDOW_US

_RUNS = 200
"""How many of each job's newest runs are read."""


def unlisted_by_readers(live: LiveGraph, dataset: Name, until_us: int) -> list[UnlistedColumn]:
    """Return the columns of a dataset that its readers no longer list (rule 12.10), from lists up to a time (us).

    live: must not be refreshed during the call.
    """
    every = list(_mentions(live, dataset, until_us))
    if len({seen.schema for seen in every}) < 2 or _is_written(live, dataset, until_us):
        return []
    known = KnownLists(by_parts=live.is_written_by_parts(dataset))
    for seen in every:
        known.take(seen)
    if known.base is not None:
        return []
    columns = live.columns(dataset)

    @cache
    def keys(schema: str) -> frozenset[str]:
        return frozenset(columns.key(".".join(path)) for path in live.contents.schema(schema))

    since_us = max(seen.time_us for seen in every) - WINDOW_US
    return unlisted_columns(_read(live, dataset, since_us, until_us), every, keys)


def _mentions(live: LiveGraph, dataset: Name, until_us: int) -> Iterator[SeenSchema]:
    """Yield the column lists of a dataset, except those in events that are ahead of their receipt."""
    query = f"SELECT {', '.join(SeenSchema._fields)} FROM seen WHERE name = ? AND credible AND time_us <= ?"
    for name in live.naming.names_of(dataset):
        for seen in map(seen_of, live.sql.execute(query, (live.names.known(name) or 0, until_us)).fetchall()):
            if seen.dataset(name, live.naming).plain == dataset:
                yield seen


def _is_written(live: LiveGraph, dataset: Name, until_us: int) -> bool:
    generations = (dataset, *live.naming.generations.meanings(dataset))
    numbers = sorted({number for each in generations if (number := live.names.known(each)) is not None})
    query = f"SELECT 1 FROM groups g JOIN votes v ON v.grp = g.id WHERE g.output IN ({marks(numbers)})"
    query += " AND g.layer <> 'declared' AND v.time_us <= ? LIMIT 1"
    return live.sql.execute(query, (*numbers, until_us)).fetchone() is not None


def _read(live: LiveGraph, dataset: Name, since_us: int, until_us: int) -> Iterator[ReaderList]:
    table = RunFactsTable(live.sql, RunNumbers(live.sql))
    for job in DatasetReaders(live, dataset).jobs():
        rows = live.sql.execute(
            "SELECT k.key FROM runs r JOIN run_keys k ON k.id = r.run WHERE r.job_key = ? AND r.kind = 'RUN' "
            f"AND r.last_us >= ? ORDER BY r.time_us DESC LIMIT {_RUNS}",
            (job, since_us),
        )
        facts = table.facts([key for (key,) in rows.fetchall()])
        for fact in (each for own in facts.values() for each in own):
            for name, seen in seen_schemas(fact):
                is_read = seen.credible and seen.place < len(fact.inputs) and since_us <= seen.time_us <= until_us
                if is_read and seen.dataset(name, live.naming).plain == dataset:
                    yield ReaderList(live.names.name(job), seen)
