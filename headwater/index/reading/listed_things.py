"""All datasets and all jobs with what lists of them show, read at once from the index's file."""

from functools import lru_cache
from typing import Any, NamedTuple

from headwater.events.decode import decode
from headwater.events.facet_digests import is_deleted
from headwater.events.rule_facets import text_at
from headwater.index.reading.catalog_lists import DATASETS, DELETED_JOBS
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.catalog_tables import DATASET, JOB
from headwater.index.writing.announced_changes import NAMESPACE
from headwater.lineage.names.dataset_generations import EVER_US
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import UserRules

_WRITTEN = (
    "SELECT g.output, g.job, max(e.last_us) FROM groups g JOIN edge_sets e ON e.grp = g.id "
    "WHERE g.layer = 'observed' AND g.output <> 0 AND e.runs > 0 GROUP BY g.output"
)
_FACETS = "SELECT name, value FROM newest_facets WHERE kind = ? AND facet = ? ORDER BY event_order"
_JOBS = (
    "SELECT j.key, j.shown, j.state, e.last_us, k.key, r.started_us, r.ended_us, r.processing FROM jobs j "
    "JOIN entities e ON e.kind = 1 AND e.name = j.key JOIN names n ON n.id = j.shown LEFT JOIN runs r ON r.run = "
    "(SELECT run FROM runs WHERE job_key = j.key AND kind = 'RUN' ORDER BY time_us DESC, run DESC LIMIT 1) "
    f"LEFT JOIN run_keys k ON k.id = r.run WHERE n.namespace <> ? AND j.key NOT IN ({DELETED_JOBS})"
)


class ListedJob(NamedTuple):
    """A job: who made its events, its last run; times in us, UTC."""

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


class ListedDataset(NamedTuple):
    """A dataset: when it was written last and by which job; columns: how many, None where nobody says."""

    name: Name
    owners: tuple[str, ...]
    tags: tuple[str, ...]
    columns: int | None
    seen_us: int
    written_us: int | None
    job: ListedJob | None


class ListedThings:
    """Reads one generation of the index; what was read is kept until the next."""

    def __init__(self, live: LiveGraph, rules: UserRules):
        """live: at rest on one generation while this is used."""
        self._live, self._sql, self._rules = live, live.sql, rules

    def jobs(self) -> list[ListedJob]:
        """Return every job but our own and those that were deleted."""
        return list(self._live.remembered("jobs", self._jobs).values())

    def datasets(self) -> list[ListedDataset]:
        """Return every dataset by the name it goes by now; no deleted one until it is written again."""
        return self._live.remembered(("datasets", self._rules.rules_hash), self._datasets)

    def _jobs(self) -> dict[Name, ListedJob]:
        """Read jobs by their keys."""
        names, owners, kinds = self._live.names, self._facets(JOB, "ownership"), self._facets(JOB, "jobType")
        tags, marks = self._facets(JOB, "tags"), self._marked()
        found = {}
        for key, shown, state, *run in self._sql.execute(_JOBS, (NAMESPACE,)):
            name = names.name(shown)
            own = tuple(sorted({*_tags(tags.get(name)), *marks.get(name, ())}))
            told = _owners(owners.get(name)), own, text_at(kinds.get(name), "integration")
            found[names.name(key)] = ListedJob(name, *told, state, *run)
        return found

    def _datasets(self) -> list[ListedDataset]:
        live, owners, tags = self._live, self._facets(DATASET, "ownership"), self._tags()
        jobs, written = live.remembered("jobs", self._jobs), self._written()
        found = []
        for number, seen_us in self._sql.execute(DATASETS.format(columns="n.id, e.last_us", where="true")):
            name = live.names.name(number)
            columns = len(live.shown_columns(name).names) or None
            written_us, job = written.get(name, (None, None))
            told = _owners(owners.get(name)), tuple(sorted(tags.get(name, ()))), columns
            found.append(ListedDataset(name, *told, seen_us, written_us, jobs.get(job) if job else None))
        return found

    def _written(self) -> dict[Name, tuple[int, Name]]:
        """Return when each dataset was last written, and by the job of which key."""
        found: dict[Name, tuple[int, Name]] = {}
        for output, job, last_us in self._sql.execute(_WRITTEN):
            name, by = self._meant(self._live.names.name(output)), (last_us, self._live.names.name(job))
            found[name] = max(found.get(name, by), by)
        return found

    def _facets(self, kind: int, facet: str) -> dict[Name, Any]:
        """Return the newest value of a facet of everything that has it, by the name it goes by now."""
        found, names = {}, self._live.names
        for number, value in self._sql.execute(_FACETS, (kind, facet)):
            name = names.name(number) if kind == JOB else self._meant(names.name(number))
            found[name] = _read(value if isinstance(value, str) else self._live.facet_text(value))
        return found

    def _tags(self) -> dict[Name, set[str]]:
        """Return the tags of datasets and of their columns: by facets, by hand, by the tags file."""
        found, live, rules = self._marked(), self._live, self._rules
        for dataset, tags in live.tags().items():
            found.setdefault(dataset, set()).update(tag.key for tag in tags if tag.value.casefold() != "false")
        for dataset in live.datasets() if rules.tags else ():
            for column in (None, *live.shown_columns(dataset).names):
                for key, value in rules.tags_of(*dataset.parts, column):
                    if value.casefold() != "false":
                        found.setdefault(dataset, set()).add(key)
        return found

    def _marked(self) -> dict[Name, set[str]]:
        found: dict[Name, set[str]] = {}
        for number, tag in self._sql.execute("SELECT name, detail FROM changes WHERE mark = 'tag' AND value = 'true'"):
            found.setdefault(self._live.names.name(number), set()).add(tag)
        return found

    def _meant(self, name: Name) -> Name:
        return self._live.naming.resolve(name, EVER_US).plain


@lru_cache(maxsize=10_000)
def _read(text: str) -> Any:
    """Return the value of a facet, None of one that was taken back: few texts are shared by many."""
    return None if "_deleted" in text and is_deleted(text.encode()) else decode(text.encode())


def _owners(facet: Any) -> tuple[str, ...]:
    return _each(facet, "owners", "name")


def _tags(facet: Any) -> tuple[str, ...]:
    return _each(facet, "tags", "key")


def _each(facet: Any, members: str, name: str) -> tuple[str, ...]:
    listed = facet.get(members) if isinstance(facet, dict) else None
    found = [text_at(each, name) for each in listed] if isinstance(listed, list) else []
    return tuple(dict.fromkeys(each for each in found if each))
