"""The catalog: datasets, jobs, facets, tags and deletions, read from the index file without caching."""

from collections.abc import Container, Iterable, Sequence

from headwater.index.reading.catalog_events import CatalogEvents
from headwater.index.reading.catalog_lists import CatalogLists, JobRow
from headwater.index.reading.catalog_runs import CatalogRuns
from headwater.index.reading.catalog_versions import CatalogVersions
from headwater.index.reading.described import SETS, Described, set_from
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.catalog_tables import DATASET, JOB
from headwater.index.stored.tag_table import TagTable
from headwater.lineage.names.dataset_history import EVER_US
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.tags import TagsFacet, newest_tags
from headwater.lineage.runs.job_identity import job_key
from headwater.lineage.runs.run_facts import Tag


class Catalog:
    """What the index contains at one point in time. `as_of_us` hides what came later; None is now."""

    def __init__(self, live: LiveGraph, as_of_us: int | None = None):
        """Read from `live`, which must not be refreshed while this object is in use."""
        self.live = live
        self._sql = live.sql
        self._until = EVER_US if as_of_us is None else as_of_us
        self.lists, self.events = CatalogLists(live.sql), CatalogEvents(live.sql)
        self.runs, self.versions = CatalogRuns(live.sql, self._until), CatalogVersions(live, self._until)
        self.is_now = as_of_us is None
        self._described = Described(live)

    def name(self, number: int) -> Name:
        """Return the name for a number."""
        return self.live.names.name(number)

    def number(self, name: Name) -> int:
        """Return the number of a name, or 0 if it has none."""
        return self.live.names.known(name) or 0

    def span(self, kind: int, names: Iterable[Name]) -> tuple[int, int] | None:
        """Return the first and last time (us) at which events use one of these names, or None if none does yet."""
        rows = [
            row
            for name in names
            for row in self._sql.execute(
                "SELECT first_us, last_us FROM entities WHERE kind = ? AND name = ? AND first_us <= ?",
                (kind, self.number(name), self._until),
            )
        ]
        return (min(row[0] for row in rows), min(self._until, max(row[1] for row in rows))) if rows else None

    def dataset_facets(
        self, dataset: Name, only: str | None = None, without: Container[str] = ()
    ) -> dict[str, str]:  # fmt: skip
        """Return the newest text of each facet of a dataset under all its names.

        only: return just this facet. without: facets to leave out.
        """
        if self.is_now:
            return self._described.of_dataset(dataset, only, without)
        return self._described.until(self._until, DATASET, self.live.naming.names_of(dataset), only, without)

    def job_facets(self, job: Name) -> dict[str, str]:
        """Return the newest text of each facet of a job. job: its display name."""
        return self._described.of_job(job) if self.is_now else self._described.until(self._until, JOB, [job])

    def facets_of_version(self, names: Iterable[Name], schema: str | None) -> dict[str, str]:
        """Return the facets that were sent with a schema of a dataset, without those that belong to a single run."""
        found: dict[str, str] = {}
        for name in names:
            rows = self._sql.execute(
                "SELECT s.value FROM described d JOIN facet_sets s ON s.id = d.facet_set "
                "WHERE d.kind = ? AND d.name = ? AND s.schema IS ? ORDER BY d.event_order DESC, s.digest LIMIT ?",
                (DATASET, self.number(name), schema, SETS),
            ).fetchall()
            for facet, number in (pair for (value,) in rows for pair in set_from(value)):
                if facet not in found:
                    found[facet] = self.live.facet_text(number)
        return found

    def tags(self, dataset: Name, names: Iterable[Name]) -> Sequence[Tag]:
        """Return the current tags of a dataset and its columns."""
        found = newest_tags(self.tagged_by(names), self.live.naming).get(dataset, [])
        return [tag for tag in found if tag.value.casefold() != "false"]

    def tagged_by(self, names: Iterable[Name]) -> list[TagsFacet]:
        """Return the newest `tags` facet of each producer under each of these names."""
        table = TagTable(self._sql, self.live.names)
        return [facet for name in names for facet in table.newest_of(name, self._until)]

    def job(self, name: Name) -> JobRow | None:
        """Return a job by its key, by its display name, or by the name that one of its runs sent."""
        numbers = (self.number(name), self.number(job_key(name, None)))
        keys = self._sql.execute(
            "SELECT key FROM jobs WHERE key IN (?1, ?2) UNION SELECT key FROM jobs WHERE shown IN (?1, ?2) "
            "UNION SELECT job_key FROM runs WHERE sent_job = ?1",
            numbers,
        ).fetchall()
        rows = [row for (key,) in keys if (row := self.job_of(key))]
        return max(rows, key=lambda row: (row.state is not None, row.last_us), default=None)

    def with_parents(self, row: JobRow) -> str:
        """Return a job's name with the names of its ancestors as prefixes, as Marquez names jobs."""
        name, seen = self.name(row.shown).name, {row.key}
        above: JobRow | None = row
        while above and above.parent and above.parent not in seen:
            seen.add(above.parent)
            parent = self.name(above.parent).name
            name = name if name.startswith(f"{parent}.") else f"{parent}.{name}"
            above = self.job(self.name(above.parent))
        return name

    def job_of(self, key: int) -> JobRow | None:
        """Return a job by the number of its key, or None if it is unknown."""
        row = self._sql.execute(
            "SELECT j.key, j.shown, j.state, j.parent, e.first_us, e.last_us FROM jobs j "
            "JOIN entities e ON e.kind = ? AND e.name = j.key WHERE j.key = ? AND e.first_us <= ?",
            (JOB, key, self._until),
        ).fetchone()
        return JobRow(*row) if row else None

    def marks(self, name: Name) -> dict[tuple[str, str], tuple[int, str]]:
        """Return the changes made to something through the API, as (mark, detail) → (time, value)."""
        rows = self._sql.execute(
            "SELECT mark, detail, time_us, value FROM changes WHERE name = ? AND time_us <= ?",
            (self.number(name), self._until),
        )
        return {(mark, detail): (time_us, value) for mark, detail, time_us, value in rows}

    def deleted_us(self, name: Name) -> int | None:
        """Return when something or its namespace was last deleted through the API (us), or None."""
        marks = (self.marks(each).items() for each in (name, Name(name.namespace, "")))
        return max((time_us for every in marks for (mark, _), (time_us, _) in every if mark == "deleted"), default=None)

    def running_at(self, names: Iterable[Name]) -> set[Name]:
        """Return the keys of running jobs that have ever read or written one of these names."""
        query = "SELECT u.job_key FROM uses u JOIN jobs j ON j.key = u.job_key WHERE u.name = ? AND j.state = 'RUNNING'"
        rows = [row for name in names for row in self._sql.execute(query, (self.number(name),))]
        return {self.name(number) for (number,) in rows}
