"""The catalogue as questions read it: from the index's file, nothing of it is kept in memory."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headwater.index.reading.described import SETS, Described, set_from
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.catalog_tables import DATASET, JOB
from headwater.index.stored.tag_table import TagTable
from headwater.index.stored.version_table import RunDatasets, said_from
from headwater.lineage.names.dataset_generations import EVER_US
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.tags import newest_tags
from headwater.lineage.runs.job_identity import job_key
from headwater.lineage.runs.run_facts import Tag

_RUN = (
    "SELECT k.key, r.job_key, r.state, r.processing, r.started_us, r.ended_us, r.time_us, r.said, n.start_us, n.end_us "
    "FROM run_keys k JOIN runs r ON r.run = k.id LEFT JOIN nominal_times n ON n.run = r.run "
)


class RunRow(NamedTuple):
    """A run as the index knows it; times in microseconds, UTC."""

    run: str
    job_key: int
    state: str
    processing: str
    started_us: int
    ended_us: int | None
    time_us: int
    said: bytes
    nominal_start_us: int | None
    nominal_end_us: int | None

    def datasets(self) -> RunDatasets:
        """Return what it reads and writes."""
        return said_from(self.said)


class VersionRow(NamedTuple):
    """A version of a dataset or job: what it is made of (encoded), since when, up to when, by which first run."""

    version: bytes
    value: bytes
    first_us: int
    last_us: int
    run: str


class JobRow(NamedTuple):
    """A job: numbers of its key, of the name people see, of its parent; the state of its newest run."""

    key: int
    shown: int
    state: str | None
    parent: int | None
    first_us: int
    last_us: int


class Catalog:
    """What the index knows at one moment; `as_of_us` leaves out what came later."""

    def __init__(self, live: LiveGraph, as_of_us: int | None = None):
        """live: at rest on one generation while this is used."""
        self.live = live
        self.sql = live.sql
        self._until = EVER_US if as_of_us is None else as_of_us
        self.is_now = as_of_us is None
        self._described = Described(live)

    def name(self, number: int) -> Name:
        """Return the name of a number."""
        return self.live.names.name(number)

    def number(self, name: Name) -> int:
        """Return the number of a name, 0 where it has none."""
        return self.live.names.known(name) or 0

    def span(self, kind: int, names: Iterable[Name]) -> tuple[int, int] | None:
        """Return the first and last time that something goes by one of these names; None before."""
        rows = [
            row
            for name in names
            for row in self.sql.execute(
                "SELECT first_us, last_us FROM entities WHERE kind = ? AND name = ? AND first_us <= ?",
                (kind, self.number(name), self._until),
            )
        ]
        return (min(row[0] for row in rows), min(self._until, max(row[1] for row in rows))) if rows else None

    def dataset_facets(self, dataset: Name, only: str | None = None) -> dict[str, str]:
        """Return the newest text of each facet (or of one) of a dataset, by all its names."""
        if self.is_now:
            return self._described.of_dataset(dataset, only)
        return self._described.until(self._until, DATASET, self.live.naming.names_of(dataset), only)

    def job_facets(self, job: Name) -> dict[str, str]:
        """Return the newest text of each facet of a job, by the name people see."""
        return self._described.of_job(job) if self.is_now else self._described.until(self._until, JOB, [job])

    def facets_of_version(self, names: Iterable[Name], schema: str | None) -> dict[str, str]:
        """Return the facets that came with a schema of a dataset, without those of one run alone."""
        found: dict[str, str] = {}
        for name in names:
            rows = self.sql.execute(
                "SELECT s.value FROM described d JOIN facet_sets s ON s.id = d.facet_set "
                "WHERE d.kind = ? AND d.name = ? AND s.schema IS ? ORDER BY d.event_order DESC, s.digest LIMIT ?",
                (DATASET, self.number(name), schema, SETS),
            ).fetchall()
            for facet, number in (pair for (value,) in rows for pair in set_from(value)):
                if facet not in found:
                    found[facet] = self.live.facet_text(number)
        return found

    def tags(self, dataset: Name, names: Iterable[Name]) -> Sequence[Tag]:
        """Return the tags that hold on a dataset and its columns."""
        table = TagTable(self.sql, self.live.names)
        facets = [facet for name in names for facet in table.newest_of(name) if facet.order[1] <= self._until]
        found = newest_tags(facets, self.live.naming).get(dataset, [])
        return [tag for tag in found if tag.value.casefold() != "false"]

    def job(self, name: Name) -> JobRow | None:
        """Return a job by its key, by the name people see, or as one of its runs was sent."""
        numbers = (self.number(name), self.number(job_key(name, None)))
        keys = self.sql.execute(
            "SELECT key FROM jobs WHERE key IN (?1, ?2) UNION SELECT key FROM jobs WHERE shown IN (?1, ?2)", numbers
        ).fetchall()
        rows = [row for (key,) in keys if (row := self.job_of(key))]
        return max(rows, key=lambda row: row.last_us, default=None)

    def job_of(self, key: int) -> JobRow | None:
        """Return a job by the number of its key."""
        row = self.sql.execute(
            "SELECT j.key, j.shown, j.state, j.parent, e.first_us, e.last_us FROM jobs j "
            "JOIN entities e ON e.kind = ? AND e.name = j.key WHERE j.key = ? AND e.first_us <= ?",
            (JOB, key, self._until),
        ).fetchone()
        return JobRow(*row) if row else None

    def runs(self, job: int, limit: int, offset: int = 0) -> list[RunRow]:
        """Return the newest runs of a job."""
        rows = self.sql.execute(
            f"{_RUN} WHERE r.job_key = ? AND r.kind = 'RUN' AND r.time_us <= ? "
            "ORDER BY r.time_us DESC, k.key DESC LIMIT ? OFFSET ?",
            (job, self._until, limit, offset),
        )
        return [RunRow(*row) for row in rows]

    def run(self, key: str) -> RunRow | None:
        """Return a run by its key."""
        row = self.sql.execute(f"{_RUN} WHERE k.key = ? AND r.kind = 'RUN'", (key,)).fetchone()
        return RunRow(*row) if row else None

    def count_runs(self, job: int) -> int:
        """Count the runs of a job."""
        query = "SELECT count(*) FROM runs WHERE job_key = ? AND kind = 'RUN' AND time_us <= ?"
        return int(self.sql.execute(query, (job, self._until)).fetchone()[0])

    def versions(self, kind: int, name: int, limit: int, offset: int = 0) -> list[VersionRow]:
        """Return the versions of a dataset or job, the one that was written last first."""
        written = "last_us" if self.is_now else f"min(last_us, {self._until})"  # an index has the first
        rows = self.sql.execute(
            "SELECT version, value, first_us, last_us, run FROM versions WHERE kind = ? AND name = ? AND first_us <= ? "
            f"ORDER BY {written} DESC, version DESC LIMIT ? OFFSET ?",
            (kind, name, self._until, limit, offset),
        )
        return [VersionRow(*row) for row in rows]

    def count_versions(self, kind: int, name: int) -> int:
        """Count the versions of a dataset or job."""
        query = "SELECT count(*) FROM versions WHERE kind = ? AND name = ? AND first_us <= ?"
        return int(self.sql.execute(query, (kind, name, self._until)).fetchone()[0])

    def marks(self, name: Name) -> dict[tuple[str, str], tuple[int, str]]:
        """Return what was changed of something by hand: (mark, detail) → (time, value)."""
        rows = self.sql.execute(
            "SELECT mark, detail, time_us, value FROM changes WHERE name = ? AND time_us <= ?",
            (self.number(name), self._until),
        )
        return {(mark, detail): (time_us, value) for mark, detail, time_us, value in rows}
