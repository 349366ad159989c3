"""Loads all datasets and jobs with the fields that lists display. Later calls reload only what events changed."""

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from headwater.events.decode import decode
from headwater.events.facet_digests import is_deleted
from headwater.events.rule_facets import text_at
from headwater.index.api_changes import NAMESPACE
from headwater.index.reading.catalog import DATASETS, DELETED_JOBS
from headwater.index.reading.change_history import entities_changed_since
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.database import DATASET, JOB, json_array
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US
from headwater.lineage.rules.user_rules import UserRules

T = TypeVar("T")

_IN_LIST = "IN (SELECT value FROM json_each(?1))"
_WRITTEN = (
    "SELECT g.output, g.job, max(e.last_us) FROM job_outputs g JOIN edge_sets e ON e.job_output = g.id "
    "WHERE g.layer = 'observed' AND g.output <> 0 AND e.runs > 0 AND {} GROUP BY g.output"
)
_FACETS = "SELECT name, value FROM newest_facets WHERE {} AND kind = ?2 AND facet = ?3 ORDER BY event_order"
_JOBS = (
    "SELECT j.key, j.display_name, r.state, e.last_us, k.key, r.started_us, r.ended_us, r.processing, "
    "r.time_us FROM jobs j "
    "JOIN entities e ON e.kind = 1 AND e.name = j.key JOIN names n ON n.id = j.display_name "
    "LEFT JOIN runs r ON r.run = j.newest LEFT JOIN run_keys k ON k.id = r.run "
    f"WHERE {{}} AND n.namespace <> ?2 AND j.key NOT IN ({DELETED_JOBS})"
)
_ALL = "?1 IS NULL"
_SAME_NAME = f"SELECT key FROM jobs WHERE display_name IN (SELECT display_name FROM jobs WHERE key {_IN_LIST})"
_API_TAGS = "SELECT name, detail FROM changes WHERE mark = 'tag' AND value = 'true'"


class ListedJob(NamedTuple):
    """A job in a list. Times are in microseconds, UTC.

    integration: the integration in its `jobType` facet. last_us: the time of the job's last event. run: the key of its
    newest run. newest_event_us: the time of this run's newest event.
    """

    name: Name
    owners: tuple[str, ...]
    tags: tuple[str, ...]
    integration: str | None
    state: str | None
    last_us: int
    run: str | None
    started_us: int | None
    ended_us: int | None
    processing: str | None
    newest_event_us: int | None


class ListedDataset(NamedTuple):
    """A dataset in a list. Times are in microseconds, UTC.

    column_count: None if the columns are unknown. seen_us: the time of the newest event that names it. written_us,
    written_by: when it was last written, and by which job; None if it was never written.
    """

    name: Name
    owners: tuple[str, ...]
    tags: tuple[str, ...]
    column_count: int | None
    seen_us: int
    written_us: int | None
    written_by: ListedJob | None


class _CachedLists:
    """The loaded rows.

    generation: the generation of the index from which the rows were loaded. jobs: by job key. datasets: by number.
    written_by: the numbers of the datasets that a job last wrote, by job key.
    """

    def __init__(self, rules_hash: str = "") -> None:
        self.generation = 0
        self.rules_hash = rules_hash
        self.jobs: dict[Name, ListedJob] = {}
        self.datasets: dict[int, ListedDataset] = {}
        self.written_by: dict[Name, set[int]] = {}

    def add_dataset(self, number: int, dataset: ListedDataset, job: Name | None) -> None:
        """Add a dataset by its number. job: the key of the job that last wrote it, or None."""
        self.datasets[number] = dataset
        if job is not None:
            self.written_by.setdefault(job, set()).add(number)


class EntityLists:
    """The lists in one generation of the index. Rows are cached, and only rows that events affected are read again."""

    def __init__(self, live: LiveGraph, rules: UserRules):
        """Read from `live`, which must not be refreshed while this object is in use."""
        self._live, self._sql, self._rules = live, live.sql, rules

    def jobs(self) -> list[ListedJob]:
        """Return all jobs except internal and deleted ones."""
        return self._live.cached_in_generation("jobs", lambda: list(self._load_lists().jobs.values()))

    def datasets(self) -> list[ListedDataset]:
        """Return all datasets by their current names. Deleted ones are left out until they are written again."""
        key = ("datasets", self._rules.rules_hash)
        return self._live.cached_in_generation(key, lambda: list(self._load_lists().datasets.values()))

    def _load_lists(self) -> _CachedLists:
        live = self._live
        known = live.cached_across_generations("listed", _CachedLists)
        touched = entities_changed_since(live, known.generation) if known.rules_hash == self._rules.rules_hash else None
        if touched is None or live.api_generation > known.generation:
            known = live.cached_across_generations("listed", lambda: _CachedLists(self._rules.rules_hash), reset=True)
            self._read_jobs(known, None)
            self._read_datasets(known, None)
        elif touched.job_key_numbers or touched.dataset_numbers:
            jobs = self._read_jobs(known, touched.job_key_numbers)
            written = {number for job in jobs for number in known.written_by.get(job, ())}
            self._read_datasets(known, written | self._numbers_with_current(touched.dataset_numbers))
        known.generation = live.generation
        return known

    def _read_jobs(self, known: _CachedLists, keys: Collection[int] | None) -> list[Name]:
        """Read jobs into `known`. keys: the key numbers of the jobs, or None for all jobs.

        Jobs with the same display name are read together, because they share facets. Returns the keys of the jobs that
        were read again.
        """
        names, sql = self._live.names, self._sql
        numbers = None if keys is None else [key for (key,) in sql.execute(_SAME_NAME, (json_array(keys),))]
        where, these = (_ALL, None) if numbers is None else (f"j.key {_IN_LIST}", json_array(numbers))
        rows = sql.execute(_JOBS.format(where), (these, NAMESPACE)).fetchall()
        shown = None if numbers is None else {row[1] for row in rows}
        owners, tags = (
            self._facet_values(JOB, "ownership", _parse_owners, shown),
            self._facet_values(JOB, "tags", _parse_tags, shown),
        )
        kinds, marks = self._facet_values(JOB, "jobType", _parse_integration, shown), self._api_tags()
        removed = [names.name(number) for number in numbers or ()]
        for job in removed:
            known.jobs.pop(job, None)
        for key, called, state, *run in rows:
            name = names.name(called)
            own = tuple(sorted({*tags.get(name, ()), *marks.get(name, ())}))
            fields = owners.get(name, ()), own, kinds.get(name)
            known.jobs[names.name(key)] = ListedJob(name, *fields, state, *run)
        return removed

    def _read_datasets(self, known: _CachedLists, numbers: Collection[int] | None) -> None:
        """Read datasets into `known`. numbers: the name numbers of the datasets, or None for all datasets."""
        live = self._live
        where, these = ("true", None) if numbers is None else (f"n.id {_IN_LIST}", json_array(numbers))
        rows = self._sql.execute(DATASETS.format(columns="n.id, e.last_us", where=where), (these,) if these else ())
        sent = None if numbers is None else self._numbers_of_all_names(numbers)
        owners, tags, written = (
            self._facet_values(DATASET, "ownership", _parse_owners, sent),
            self._dataset_tags(sent),
            self._last_writes(sent),
        )
        for number in numbers or ():
            known.datasets.pop(number, None)
        for number, seen_us in rows.fetchall():
            name = live.names.name(number)
            columns = len(live.shown_columns(name).names) or None
            written_us, key = written.get(name, (None, None))
            fields = owners.get(name, ()), tuple(sorted(tags.get(name, ()))), columns
            job = known.jobs.get(key) if key else None
            known.add_dataset(number, ListedDataset(name, *fields, seen_us, written_us, job), key)

    def _numbers_with_current(self, sent: Collection[int]) -> set[int]:
        """Return the numbers of the datasets that some names as sent mean now, and the numbers of these names."""
        names = self._live.names
        found = {self._current_name(names.name(number)) for number in sent}
        return {number for name in found if (number := names.find_number(name)) is not None} | {
            number for each in sent if (number := names.find_number(names.name(each).without_generation)) is not None
        }

    def _numbers_of_all_names(self, numbers: Collection[int]) -> set[int]:
        """Return the numbers of all names of some datasets, in all their generations."""
        names = self._live.names
        every = self._live.naming.names_of_any(names.name(number) for number in numbers)
        return {names.find_number(each) or 0 for name in every for each in (name, *names.generations(name))}

    def _last_writes(self, sent: Collection[int] | None) -> dict[Name, tuple[int, Name]]:
        """Return (time of the last write (us), key of the job that wrote it) by dataset.

        sent: the numbers of names as sent, or None for all.
        """
        found: dict[Name, tuple[int, Name]] = {}
        where, these = (_ALL, None) if sent is None else (f"g.output {_IN_LIST}", json_array(sent))
        for output, job, last_us in self._sql.execute(_WRITTEN.format(where), (these,)):
            name, by = self._current_name(self._live.names.name(output)), (last_us, self._live.names.name(job))
            found[name] = max(found.get(name, by), by)
        return found

    def _facet_values(
        self, kind: int, facet: str, read: Callable[[str], T], numbers: Collection[int] | None
    ) -> dict[Name, T]:
        """Return values from the newest text of a facet, by the current name of the dataset or job.

        read: returns the value from the facet's text. numbers: name numbers, or None for all.
        """
        found, names = {}, self._live.names
        where, these = (_ALL, None) if numbers is None else (f"name {_IN_LIST}", json_array(numbers))
        for number, value in self._sql.execute(_FACETS.format(where), (these, kind, facet)):
            name = names.name(number) if kind == JOB else self._current_name(names.name(number))
            found[name] = read(value if isinstance(value, str) else self._live.facet_text(value))
        return found

    def _dataset_tags(self, sent: Collection[int] | None) -> dict[Name, set[str]]:
        """Return the tags of datasets and their columns, by dataset: from facets, the API and the tags file.

        sent: the numbers of names as sent, or None for all.
        """
        found, live, rules = self._api_tags(), self._live, self._rules
        some = None if sent is None else {live.names.name(number).without_generation for number in sent}
        for dataset, tags in (live.current_tags() if some is None else live.tags_of(some)).items():
            found.setdefault(dataset, set()).update(tag.key for tag in tags if tag.value.casefold() != "false")
        for dataset in (live.datasets() if some is None else some) if rules.tags else ():
            for column in (None, *live.shown_columns(dataset).names):
                for key, value in rules.tags_of(*dataset.parts, column):
                    if value.casefold() != "false":
                        found.setdefault(dataset, set()).add(key)
        return found

    def _api_tags(self) -> dict[Name, set[str]]:
        found: dict[Name, set[str]] = {}
        for number, tag in self._sql.execute(_API_TAGS):
            found.setdefault(self._live.names.name(number), set()).add(tag)
        return found

    def _current_name(self, name: Name) -> Name:
        return self._live.naming.resolve(name, MAX_TIME_US).without_generation


def _parse_facet(text: str) -> Any:
    """Return the value of a facet, or None if it was deleted."""
    return None if "_deleted" in text and is_deleted(text.encode()) else decode(text.encode())


@lru_cache(maxsize=10_000)  # many datasets share few texts
def _parse_owners(text: str) -> tuple[str, ...]:
    return _member_texts(_parse_facet(text), "owners", "name")


@lru_cache(maxsize=10_000)
def _parse_tags(text: str) -> tuple[str, ...]:
    return _member_texts(_parse_facet(text), "tags", "key")


@lru_cache(maxsize=1_000)
def _parse_integration(text: str) -> str | None:
    return text_at(_parse_facet(text), "integration")


def _member_texts(facet: Any, members: str, name: str) -> tuple[str, ...]:
    listed = facet.get(members) if isinstance(facet, dict) else None
    found = [text_at(each, name) for each in listed] if isinstance(listed, list) else []
    return tuple(dict.fromkeys(each for each in found if each))
