"""Changes other than lineage: the entities that changed since a generation, and the changes in a time range.

The queries start from the rows that events within the range have written. Their cost depends on the number of changes,
plus one scan of the tables of mentions.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from headwater.events.decode import decode
from headwater.events.rows import described_columns
from headwater.index.api_changes import NAMESPACE
from headwater.index.reading.facets import facet_set_from
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.database import DATASET, JOB, json_array
from headwater.index.stored.datasets import TagTable
from headwater.index.stored.schemas import mention_from_row
from headwater.lineage.edges.schema_columns import join_column_lists
from headwater.lineage.edges.schema_history import DatasetColumnLists, SchemaMention
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US, NameSpan
from headwater.lineage.rules.tags import TagsFacet, datasets_of_tags_facet
from headwater.lineage.runs.event_order import Order
from headwater.lineage.runs.jobs import job_key

_ENTITIES = "SELECT kind, name FROM entities WHERE generation > ?"
_DATASETS = "SELECT name FROM datasets WHERE generation > ?"


class ChangedEntities(NamedTuple):
    """The numbers of dataset names, as sent, and of job keys."""

    dataset_numbers: set[int]
    job_key_numbers: set[int]


def entities_changed_since(live: LiveGraph, generation: int) -> ChangedEntities | None:
    """Return the datasets and jobs that events have changed since a generation of the index.

    Returns None if names may mean other datasets since then, so that everything must be read again. Tags and deletions
    through the API are not included; see `LiveGraph.api_generation`.
    """
    if generation == live.generation:
        return ChangedEntities(set(), set())
    if not generation or live.naming_generation > generation:
        return None
    found = ChangedEntities({name for (name,) in live.sql.execute(_DATASETS, (generation,))}, set())
    for kind, name in live.sql.execute(_ENTITIES, (generation,)):
        if kind in (DATASET, JOB):
            (found.job_key_numbers if kind == JOB else found.dataset_numbers).add(name)
    return found


def all_job_names(live: LiveGraph, key_numbers: Iterable[int]) -> set[Name]:
    """Return the keys and all current and former names of some jobs. key_numbers: the numbers of the job keys.

    The names differ from the key if the key is an artifact id.
    """
    rows = live.sql.execute(
        "WITH these AS (SELECT value AS key FROM json_each(?1)) SELECT key FROM these UNION "
        "SELECT j.display_name FROM jobs j JOIN these t ON t.key = j.key UNION "
        "SELECT r.job FROM these t JOIN jobs j ON j.key = t.key AND j.display_name <> j.key "
        "JOIN runs r ON r.job_key = j.key",
        (json_array(key_numbers),),
    )
    names = [live.names.name(number) for (number,) in rows]
    return {*names, *(job_key(name, None) for name in names)}


_SCAN_LIMIT = 200
"""The number of runs with a newest event at or after an event that are searched for the event's run."""


class TimeRange(NamedTuple):
    """A time range in microseconds, UTC. The start is excluded, the end included."""

    since_us: int
    until_us: int


class ChangedColumnLists(NamedTuple):
    """The column lists of a dataset at the start and the end of a time range. names: the dataset's names as sent."""

    dataset: Name
    names: set[Name]
    before: Sequence[SchemaMention]
    after: Sequence[SchemaMention]


class ChangedTags(NamedTuple):
    """The newest `tags` facets of each producer for a dataset, at the start and the end of a time range."""

    dataset: Name
    before: list[TagsFacet]
    after: list[TagsFacet]


class DescribedColumn(NamedTuple):
    """A column's type and description, and the column list that contains them. Each may be None if it is unknown."""

    type: str | None
    description: str | None
    source_list: SchemaMention | None


class ChangedFacet(NamedTuple):
    """The text of a facet at the start and the end of a time range. before: None if the facet is new.

    name: a dataset's name as sent, or a job's display name. time_us: when the new text was first sent (us, UTC).
    """

    name: Name
    facet: str
    before: str | None
    after: str
    time_us: int


RunAndJob = tuple[str, Name]
"""(run key, key of the run's job)."""


class ChangeHistory:
    """Changes in a time range, from one generation of the index."""

    def __init__(self, live: LiveGraph, since_us: int, until_us: int, only: ChangedEntities | None = None):
        """Read from `live`, which must not be refreshed while this object is in use.

        since_us, until_us: the range in us, UTC; the start is excluded, the end is included. only: the datasets and
        jobs to which schemas, tags, facets and first mentions are restricted; None for all.
        """
        self._live, self._sql, self._names = live, live.sql, live.names
        self._between = TimeRange(since_us, until_us)
        self.since_us, self.until_us = self._between
        self._of = only
        self._columns: dict[str, Sequence[tuple[str, str | None, str | None]]] = {}

    def changed_column_lists(self) -> Iterator[ChangedColumnLists]:
        """Yield the datasets whose column lists differ between the start and the end."""
        known: tuple[dict[Name, DatasetColumnLists], ...] = ({}, {})
        names: dict[Name, set[Name]] = {}
        these, only = self._entity_condition(DATASET, 3)
        changed = f"SELECT name FROM schema_mentions WHERE time_us > ?1 AND time_us <= ?2{only}"
        query = (
            f"SELECT name, {', '.join(SchemaMention._fields)} FROM schema_mentions WHERE name IN ({changed}) "
            "AND time_us <= ?2"
        )
        for number, *row in self._sql.execute(query, (*self._between, *these)):
            seen, name = mention_from_row(row), self._names.name(number)
            dataset = seen.described_dataset(name, self._live.naming)
            names.setdefault(dataset.without_generation, set()).add(name)
            for at_end, until_us in zip(known, self._between, strict=True):
                if seen.time_us <= until_us:
                    self._known_lists(at_end, dataset).add_mention(seen)
        for plain, own in names.items():
            before, after = (self._newest_lists(at_end, plain) for at_end in known)
            if [seen.schema for seen in before] != [seen.schema for seen in after]:
                yield ChangedColumnLists(plain, own, before, after)

    def departed_columns(self) -> Iterator[tuple[Name, str, SchemaMention]]:
        """Yield (dataset, column, first list without it) of columns that left in the range and did not come back."""
        these, only = self._entity_condition(DATASET, 3)
        changed = (
            f"SELECT name FROM schema_mentions WHERE name IN (SELECT name FROM schema_mentions WHERE time_us > ?1 "
            f"AND time_us <= ?2{only}) GROUP BY name HAVING count(DISTINCT schema) > 1"
        )
        numbers = self._sql.execute(changed, (*self._between, *these))
        naming, names = self._live.naming, (self._names.name(number) for (number,) in numbers.fetchall())
        for dataset in {naming.resolve(name, MAX_TIME_US).without_generation for name in names}:
            newest = next(iter(naming.generations.all_generations(dataset)), dataset)
            known, before, gone = self._known_lists({}, newest), set[str](), dict[str, SchemaMention]()
            for seen in self._mentions_of(newest):
                known.add_mention(seen)
                lists = [self._live.contents.schema(each.schema) for each in known.lists]
                now = {".".join(path) for path in join_column_lists(lists)}
                gone = {column: each for column, each in gone.items() if column not in now}
                gone.update(dict.fromkeys(before - now, seen))
                before = now
            for column, seen in gone.items():
                if seen.time_us > self.since_us:
                    yield dataset, column, seen

    def _mentions_of(self, dataset: Name) -> list[SchemaMention]:
        """Return the mentions of column lists of a dataset generation up to the end of the range, oldest first."""
        query = f"SELECT {', '.join(SchemaMention._fields)} FROM schema_mentions WHERE name = ? AND time_us <= ?"
        naming = self._live.naming
        return sorted(
            seen
            for name in naming.names_of(dataset.without_generation)
            for seen in map(
                mention_from_row, self._sql.execute(query, (self._number_of_name(name), self.until_us)).fetchall()
            )
            if seen.described_dataset(name, naming) == dataset
        )

    def datasets_with_lists(self) -> set[Name]:
        """Return the datasets for which events in the range contain a column list."""
        these, only = self._entity_condition(DATASET, 3)
        query = f"SELECT DISTINCT name FROM schema_mentions WHERE time_us > ?1 AND time_us <= ?2{only}"
        names = [self._names.name(number) for (number,) in self._sql.execute(query, (*self._between, *these))]
        naming = self._live.naming
        return {each.without_generation for name in names for each in naming.datasets_in(NameSpan(name))}

    def _known_lists(self, known: dict[Name, DatasetColumnLists], dataset: Name) -> DatasetColumnLists:
        if dataset not in known:
            known[dataset] = DatasetColumnLists(has_parts=self._live.is_written_by_parts(dataset))
        return known[dataset]

    def _newest_lists(self, known: Mapping[Name, DatasetColumnLists], dataset: Name) -> Sequence[SchemaMention]:
        """Return the column lists of the dataset's newest generation that has any. known: lists by generation."""
        every = self._live.naming.generations.all_generations(dataset)
        return next((known[each].lists for each in every if each in known), [])

    def described_columns(self, names: Iterable[Name], lists: Sequence[SchemaMention]) -> dict[str, DescribedColumn]:
        """Return the columns of some lists by name, each with the description from the first list that contains it.

        names: the names of the dataset as sent. lists: at least one list if there are columns.
        """
        names = sorted(names)
        columns = join_column_lists([self._live.contents.schema(seen.schema) for seen in lists])
        found = {".".join(path): DescribedColumn(None, None, None) for path in columns}
        for seen in lists:
            for column, kind, description in self._parse_schema_columns(names, seen.schema):
                if column in found and found[column].source_list is None:
                    found[column] = DescribedColumn(kind, description, seen)
        return {
            column: each if each.source_list else each._replace(source_list=lists[0]) for column, each in found.items()
        }

    def _parse_schema_columns(self, names: Iterable[Name], schema: str) -> Sequence[tuple[str, str | None, str | None]]:
        """Return (column, type, description) for the columns of a schema.

        If several texts were sent for the schema, any of them is used, because they hardly differ.
        """
        if schema not in self._columns:
            text = self.schema_text(names, schema)
            facet: Any = decode(text.encode()) if text else None
            rows = described_columns(facet) if isinstance(facet, dict) else ()
            self._columns[schema] = [(".".join(path), kind, description) for path, kind, description in rows]
        return self._columns[schema]

    def schema_text(self, names: Iterable[Name], schema: str) -> str:
        """Return a text of a schema that was sent under one of these names, or "" if it is no longer stored."""
        query = (
            "SELECT s.value FROM facet_set_uses d JOIN facet_sets s ON s.id = d.facet_set "
            "WHERE d.kind = ? AND d.name = ? AND s.schema = ? LIMIT 1"
        )
        rows = (self._sql.execute(query, (DATASET, self._number_of_name(name), schema)).fetchone() for name in names)
        value = next((row[0] for row in rows if row), None)
        return self._live.facet_text(dict(facet_set_from(value))["schema"]) if value else ""

    def changed_tags(self) -> Iterator[ChangedTags]:
        """Yield the datasets for which an event in the range contains a `tags` facet."""
        these, only = self._entity_condition(DATASET, 3)
        query = f"SELECT DISTINCT name, time_us FROM tags WHERE time_us > ?1 AND time_us <= ?2{only}"
        rows = self._sql.execute(query, (*self._between, *these)).fetchall()
        table, naming = TagTable(self._sql, self._names), self._live.naming
        datasets = {
            each for number, at_us in rows for each in datasets_of_tags_facet(self._names.name(number), at_us, naming)
        }
        for dataset in datasets:
            names = naming.names_of(dataset)
            was, now = ([each for name in names for each in table.newest_facets(name, at)] for at in self._between)
            yield ChangedTags(dataset, was, now)

    def changed_facets(self, kind: int, wanted: Collection[str]) -> Iterator[ChangedFacet]:
        """Yield the facets that differ between the start and the end of the range.

        kind: DATASET for facets of datasets, by names as sent, or JOB for facets of jobs, by display names. wanted: the
        names of the facets. If a text was first sent before the range and again within it, it counts as unchanged.
        """
        these, only = self._entity_condition(kind, 4)
        fresh = f"SELECT name FROM facet_set_uses WHERE kind = ?1 AND first_us > ?2 AND first_us <= ?3{only}"
        rows = self._sql.execute(
            "SELECT d.name, d.first_us, s.value FROM facet_set_uses d JOIN facet_sets s ON s.id = d.facet_set "
            f"WHERE d.kind = ?1 AND d.first_us <= ?3 AND d.name IN ({fresh}) ORDER BY d.name, d.event_order",
            (kind, *self._between, *these),
        )
        read = cache(facet_set_from)
        found: dict[tuple[int, str], list[tuple[int, int] | None]] = {}
        for name, first_us, value in rows:
            for facet, text in read(value):
                if facet in wanted:
                    ends = found.setdefault((name, facet), [None, None])
                    is_old = first_us <= self._between.since_us
                    ends[0] = (text, first_us) if is_old else ends[0]
                    known = ends[1]
                    ends[1] = (text, min(first_us, known[1]) if known and known[0] == text else first_us)
        for (name, facet), (before, after) in found.items():
            if after is not None and (before is None or before[0] != after[0]):
                texts = (self._live.facet_text(before[0]) if before else None, self._live.facet_text(after[0]))
                yield ChangedFacet(self._names.name(name), facet, *texts, after[1])

    def first_seen_us(self, kind: int) -> Iterator[tuple[Name, int]]:
        """Yield (name, time of the first event (us, UTC)) of datasets or jobs with their first event in the range.

        kind: DATASET for datasets, by names as sent, or JOB for jobs, by keys.
        """
        these, only = self._entity_condition(kind, 4)
        query = f"SELECT name, first_us FROM entities WHERE kind = ?1 AND first_us > ?2 AND first_us <= ?3{only}"
        rows = self._sql.execute(query, (kind, *self._between, *these))
        named = ((self._names.name(number), at_us) for number, at_us in rows)
        return ((name, at_us) for name, at_us in named if kind != JOB or name.namespace != NAMESPACE)

    def is_mentioned_before(self, names: Iterable[Name]) -> bool:
        """Return whether one of a dataset's names was in an event before the range."""
        values = [(DATASET, self._number_of_name(name), self._between.since_us) for name in names]
        query = "SELECT 1 FROM {} WHERE kind = ? AND name = ? AND first_us <= ? LIMIT 1"
        # `entities` may lack an earlier declaration that a newer one has replaced
        queries = [query.format(table) for table in ("entities", "facet_set_uses")]
        return any(self._sql.execute(query, each).fetchone() for each in values for query in queries)

    def drops_and_renames(self) -> Iterator[tuple[Name, Name | None, int, str]]:
        """Yield the drops and renames in the range as (dataset, new name or None for a drop, time (us), run key)."""
        rows = self._sql.execute(
            "SELECT location, renamed, time_us, run FROM dataset_changes WHERE NOT written AND time_us > ? "
            "AND time_us <= ?",
            self._between,
        )
        for location, renamed, at_us, run in rows.fetchall():
            yield self._names.name(location), self._names.name(renamed) if renamed else None, at_us, run

    def deleted_jobs(self) -> Iterator[tuple[Name, int]]:
        """Yield (display name, time of deletion (us)) of jobs that were deleted in the range and have not run since."""
        rows = self._sql.execute(
            "SELECT c.name, c.time_us FROM changes c JOIN jobs j ON j.display_name = c.name "
            "JOIN entities e ON e.kind = ? AND e.name = j.key "
            "WHERE c.mark = 'deleted' AND c.detail = 'JOB' "
            "AND c.time_us > ? AND c.time_us <= ? AND e.last_us <= c.time_us",
            (JOB, *self._between),
        )
        return ((self._names.name(number), at_us) for number, at_us in rows)

    def run_of_event(self, event_order: Order) -> RunAndJob | None:
        """Return the run of an event, or None if the run is not found.

        Only the first 200 runs with a newest event at or after this event are searched.
        """
        return self._query_run(
            f"SELECT run FROM runs WHERE time_us >= ?1 ORDER BY time_us LIMIT {_SCAN_LIMIT}",
            "JOIN event_facts p ON p.run = r.run AND p.event = ?2",
            (event_order.time_us, bytes.fromhex(event_order.event_id)),
        )

    def job_run_at(self, job: Name, at_us: int) -> RunAndJob | None:
        """Return a run of a job that was in progress at a time (us), or None. job: the job's key."""
        return self._run_in_progress(self._number_of_name(job), at_us)

    def run_using_at(self, names: Iterable[Name], at_us: int) -> RunAndJob | None:
        """Return a run in progress at a time (us), by a job that uses one of these names, or None."""
        query = f"SELECT job_key FROM uses WHERE name = ? LIMIT {_SCAN_LIMIT}"
        rows = [row for name in names for row in self._sql.execute(query, (self._number_of_name(name),)).fetchall()]
        return next((found for (job,) in rows if (found := self._run_in_progress(job, at_us))), None)

    def _run_in_progress(self, job: int, at_us: int) -> RunAndJob | None:
        next_ones = f"SELECT * FROM runs WHERE job_key = ?2 AND time_us >= ?1 ORDER BY time_us LIMIT {_SCAN_LIMIT}"
        return self._query_run(f"SELECT run FROM ({next_ones}) WHERE started_us <= ?1", "", (at_us, job))

    def run_with_job(self, key: str) -> RunAndJob | None:
        """Return a run and its job by the run key, or None if the run is unknown."""
        return self._query_run("SELECT id AS run FROM run_keys WHERE key = ?1", "", (key,))

    def _query_run(self, query: str, joined: str, values: tuple[object, ...]) -> RunAndJob | None:
        row = self._sql.execute(
            f"SELECT k.key, v.job_key FROM ({query}) r {joined} JOIN runs v ON v.run = r.run "
            "JOIN run_keys k ON k.id = r.run LIMIT 1",
            values,
        ).fetchone()
        return (row[0], self._names.name(row[1])) if row else None

    def _entity_condition(self, kind: int, parameter_number: int) -> tuple[tuple[str, ...], str]:
        """Return (parameters, SQL condition) that restrict a query to the entities in `only`, both empty for all.

        parameter_number: the number of the parameter in the query.
        """
        if self._of is None:
            return (), ""
        numbers = self._of.job_key_numbers if kind == JOB else self._of.dataset_numbers
        return (json_array(numbers),), f" AND name IN (SELECT value FROM json_each(?{parameter_number}))"

    def _number_of_name(self, name: Name) -> int:
        return self._names.find_number(name) or 0
