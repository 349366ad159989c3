"""The store of `lineage.derive` in the index's file: what events said and what follows outlive the process."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from headwater.index.database import chunks, marks
from headwater.index.edge_set_table import EdgeSetTable
from headwater.index.feed_table import FeedTable
from headwater.index.happened_table import HappenedTable
from headwater.index.history_table import HistoryTable
from headwater.index.names import NameNumbers
from headwater.index.part_table import PartTable, Places, Told
from headwater.index.search_table import SearchTable
from headwater.index.vote_table import VoteTable
from headwater.lineage.current import Group
from headwater.lineage.derive import Derived
from headwater.lineage.generations import Span
from headwater.lineage.jobs import job_key as shown_job
from headwater.lineage.name import Name
from headwater.lineage.newest import newest_first
from headwater.lineage.part import Part
from headwater.lineage.schemas import SeenSchema


class _Before(NamedTuple):
    """What the index says of a run until now."""

    state: str | None
    job_key: int
    said: bytes


_NEW = _Before(None, 0, b"")


class SqliteStore:
    """See `lineage.derive.Store`."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers):
        """Use the index's connection; the caller holds its transaction."""
        self._sql = connection
        self._names = names
        self.places: Places = {}
        self.told: Told = {}
        self._seen: list[tuple[object, ...]] = []
        self._runs: list[tuple[Any, ...]] = []
        self._used: set[tuple[int, int]] = set()
        self._parts = PartTable(connection)
        self.feed = FeedTable(connection)
        self._happened = HappenedTable(connection)
        self._history = HistoryTable(connection, names)
        self.search = SearchTable(connection, names)
        self.edge_sets = EdgeSetTable(connection, names)
        self.votes = VoteTable(connection, names, self.edge_sets)

    def add(self, parts: Sequence[Part]) -> Sequence[Part]:
        """Keep parts, whose places in bronze `places` has, what they told `told`; returns those that are new."""
        fresh = self._parts.add(parts, self.places, self.told)
        self._happened.add(fresh, self.places)
        return fresh

    def parts(self, run_keys: Iterable[str]) -> Mapping[str, Sequence[Part]]:
        """Return all parts of each of these runs."""
        return self._parts.parts(run_keys)

    def put(self, derived: Sequence[Derived]) -> set[Group]:
        """Replace what runs say; returns the groups where that made a difference."""
        before = self._before([one.run.key for one in derived])
        for one in derived:
            self._put_run(one, before.get(one.run.key, _NEW))
        changed = self.votes.replace(derived)
        self.flush()
        executions = {vote.execution for one in derived for vote in one.said.values() if vote.carries}
        return changed | self.votes.touching([one.run.key for one in derived if one.run.parent], executions)

    def _before(self, run_keys: Sequence[str]) -> dict[str, _Before]:
        found: dict[str, _Before] = {}
        for some in chunks(run_keys):
            query = f"SELECT run, state, job_key, said FROM runs WHERE run IN ({marks(some)})"
            found.update((run, _Before(*row)) for run, *row in self._sql.execute(query, some))
        return found

    def users(self, spans: Iterable[Span]) -> Iterable[str]:
        """Return the runs, at such a time, of jobs that use one of these names, and what they declare."""
        self.flush()
        query = (
            "SELECT r.run FROM uses u JOIN runs r ON r.job_key = u.job_key "
            "WHERE u.name = ? AND ((r.started_us <= ? AND r.last_us >= ?) OR r.kind <> 'RUN')"
        )
        found: set[str] = set()
        for span in spans:
            row = (self._names.known(span.name), span.until_us, span.since_us)
            found.update(run for (run,) in self._sql.execute(query, row))
        return found

    def borrowers(self, dataset: Name) -> Iterable[str]:
        """Return the runs that took the columns of this output from another run's schema."""
        return self.votes.borrowers(dataset)

    def see(self, name: Name, seen: SeenSchema) -> None:
        """Keep a mention of a schema."""
        self._seen.append((self._names.number(name), *seen))

    def flush(self) -> None:
        """Write what `see` and `put` have gathered."""
        self._sql.executemany("INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?, ?, ?, ?)", self._seen)
        self._sql.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._runs)
        self.search.flush()
        self._seen.clear()
        self._runs.clear()
        self._history.flush()

    def newest_first(self, name: Name) -> Iterator[SeenSchema]:
        """Return the schemas mentioned under a name, newest first."""
        self.flush()
        rows = self._sql.execute(
            f"SELECT {', '.join(SeenSchema._fields)} FROM seen WHERE name = ? "
            f"ORDER BY {newest_first(SeenSchema._fields)}",
            (self._names.number(name),),
        )
        return (SeenSchema(bool(row[0]), *row[1:]) for row in rows)

    def _put_run(self, derived: Derived, before: _Before) -> None:
        run, _, used = derived
        job, job_key = self._names.number(run.job), self._names.number(run.job_key)
        self._runs.append((
            run.key, run.kind, job, job_key, run.execution, run.parent, run.state, run.processing, run.started_us,
            run.ended_us, run.last_us, run.time_us, self._history.take(derived, job_key, (before.job_key, before.said)),
        ))  # fmt: skip
        if run.state != before.state:
            self.feed.run_state(run.key, run.state)
        partners = 0
        for name in used:
            pair, new = (self._names.number(name), job_key), 0
            if pair not in self._used:
                self._used.add(pair)
                new = self._sql.execute("INSERT OR IGNORE INTO uses VALUES (?, ?)", pair).rowcount
            partners += new
            self.search.use("dataset", name, run.time_us, partners=new)
        if run.kind != "DATASET":
            self.search.use("job", shown_job(run.job, None), run.time_us, partners=partners)
