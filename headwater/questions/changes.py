"""The question `changes`: datasets, columns, types, owners, tags, jobs, SQL and code between two moments.

Changes of a dataset or job depend only on events about its names, so they stay valid without new events. The cache
computes only datasets and jobs with new events again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from headwater.common.errors import WrongQuestion
from headwater.common.paging import ListPage, RowOrder
from headwater.events.decode import decode
from headwater.events.rule_facets import text_at
from headwater.events.times import iso_time
from headwater.index.reading.change_history import (
    ChangedColumnLists,
    ChangedEntities,
    ChangedFacet,
    ChangeHistory,
    all_job_names,
    entities_changed_since,
)
from headwater.index.reading.dataset_readers import columns_unlisted_by_readers
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.moments import CODE
from headwater.index.stored.database import DATASET, JOB
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US, NameSpan
from headwater.lineage.rules.tags import TagsFacet
from headwater.lineage.runs.event_order import Order
from headwater.lineage.runs.jobs import run_id_of
from headwater.questions.answer_types.common import Job
from headwater.questions.answer_types.lists import ChangedThing, ChangeItem, Changes, ChangeWord

_Run = Callable[[], tuple[str, Name] | None]


class Difference(NamedTuple):
    """A change.

    name: the dataset or job. before, after: the compared texts; None if the thing did not exist. run: looks up (run
    key, job key) of the run that made the change. It is a function because only listed changes need their runs.
    unlisted: the column was not removed, but readers no longer list it.
    """

    thing: ChangedThing
    name: Name
    column: str | None
    before: str | None
    after: str | None
    time_us: int
    run: _Run
    of: Literal["dataset", "job"] = "dataset"
    unlisted: bool = False

    @property
    def kind(self) -> ChangeWord:
        """The kind of change."""
        if self.unlisted:
            return "not_listed"
        return "added" if self.before is None else "removed" if self.after is None else "changed"


def dataset_differences(live: LiveGraph, history: ChangeHistory) -> Iterator[Difference]:
    """Yield the changes of datasets, by their names without generations."""
    yield from _dataset_existence_changes(live, history)
    yield from _columns_that_readers_stopped_listing(live, history)
    yield from _tag_changes(history)
    yield from _dataset_owner_changes(live, history)


def _dataset_existence_changes(live: LiveGraph, history: ChangeHistory) -> Iterator[Difference]:
    naming = live.naming
    new: dict[Name, int] = {}
    for name, at_us in history.first_seen_us(DATASET):
        dataset = naming.resolve(name, MAX_TIME_US).without_generation
        if dataset in new or not history.is_mentioned_before(naming.names_of(dataset)):
            new[dataset] = min(at_us, new.get(dataset, at_us))
    for dataset, at_us in new.items():
        run = partial(history.run_using_at, naming.names_of(dataset), at_us)
        yield Difference("dataset", dataset, None, None, dataset.name, at_us, run)
    for location, renamed, at_us, key in history.drops_and_renames():
        if renamed or not naming.generations.exists_at(location):
            after = renamed.name if renamed else None
            yield Difference(
                "dataset",
                location.without_generation,
                None,
                location.name,
                after,
                at_us,
                partial(history.run_with_job, key),
            )
    for each in history.changed_column_lists():
        if each.before:
            yield from _column_changes(history, each)


def _column_changes(history: ChangeHistory, lists: ChangedColumnLists) -> Iterator[Difference]:
    was, now = (history.described_columns(lists.names, each) for each in (lists.before, lists.after))
    for column in {**was, **now}:
        old, new = (each[column].type or "" if column in each else None for each in (was, now))
        if old != new:
            by = now[column].source_list if column in now else None
            order = Order(*(by or lists.after[0])[:4])  # only the base list removes columns
            run = partial(history.run_of_event, order)
            yield Difference("column", lists.dataset, column, old, new, order.time_us, run)


def _columns_that_readers_stopped_listing(live: LiveGraph, history: ChangeHistory) -> Iterator[Difference]:
    for dataset in history.datasets_with_lists():
        names, columns = live.naming.names_of(dataset), live.columns(dataset)
        for each in columns_unlisted_by_readers(live, dataset, history.until_us):
            if each.unlisted_since.time_us > history.since_us:
                types = history.described_columns(names, [each.last_mention])
                shown = next(column for column in types if columns.key(column) == each.column)
                kind, order = types[shown].type, Order(*each.unlisted_since[:4])
                run = partial(history.run_of_event, order)
                yield Difference("column", dataset, shown, kind, None, order.time_us, run, unlisted=True)


def _tag_changes(history: ChangeHistory) -> Iterator[Difference]:
    for each in history.changed_tags():
        was, now, newest = _active_tags(each.before), _active_tags(each.after), max(facet.order for facet in each.after)
        for column, key in {**was, **now}:
            old, new = was.get((column, key)), now.get((column, key))
            if old != new:
                run = partial(history.run_of_event, newest)
                yield Difference("tag", each.dataset, column, old, new, newest.time_us, run)


def _active_tags(facets: Sequence[TagsFacet]) -> dict[tuple[str | None, str], str]:
    """Return the active tags as a mapping from (column, key) to the text in answers."""
    tags = (tag for facet in facets for tag in facet.tags)
    return {(tag.column, tag.key): f"{tag.key}={tag.value}" for tag in tags if tag.value.casefold() != "false"}


def _dataset_owner_changes(live: LiveGraph, history: ChangeHistory) -> Iterator[Difference]:
    for each in history.changed_facets(DATASET, ("ownership",)):
        dataset = live.naming.resolve(each.name, each.time_us).without_generation
        yield from _owner_changes(
            dataset, each, partial(history.run_using_at, live.naming.names_of(dataset), each.time_us)
        )


def _owner_changes(
    name: Name, facet: ChangedFacet, run: _Run, entity: Literal["dataset", "job"] = "dataset"
) -> Iterator[Difference]:
    was, now = (_owner_names(text) for text in (facet.before, facet.after))
    for owner in sorted(was ^ now):
        old, new = (owner if owner in each else None for each in (was, now))
        yield Difference("owner", name, None, old, new, facet.time_us, run, entity)


def _owner_names(text: str | None) -> set[str]:
    facet = decode(text.encode()) if text else None
    owners = facet.get("owners") if isinstance(facet, dict) else None
    named = ((text_at(each, "name"), text_at(each, "type")) for each in (owners if isinstance(owners, list) else ()))
    return {f"{name} ({kind})" if kind else name for name, kind in named if name}


def new_job_differences(live: LiveGraph, history: ChangeHistory) -> Iterator[tuple[Name, Difference]]:
    """Yield (job key, change) for each new job. The change contains the current name of the job."""
    for key, at_us in history.first_seen_us(JOB):
        job = live.job_name(key)
        yield key, Difference("job", job, None, None, job.name, at_us, partial(history.job_run_at, key, at_us), "job")


def deleted_job_differences(history: ChangeHistory) -> Iterator[Difference]:
    """Yield the jobs that were deleted manually and have not run since."""
    for job, at_us in history.deleted_jobs():
        yield Difference("job", job, None, job.name, None, at_us, lambda: None, "job")


def job_facet_differences(history: ChangeHistory) -> Iterator[Difference]:
    """Yield changes of owners, SQL and code of all jobs, including new ones."""
    for each in history.changed_facets(JOB, ("ownership", *_TEXTS)):
        run = partial(history.job_run_at, each.name, each.time_us)
        if each.facet == "ownership":
            yield from _owner_changes(each.name, each, run, "job")
            continue
        thing, read = _TEXTS[each.facet]
        old, text = (read(decode(text.encode())) if text else None for text in (each.before, each.after))
        if old != text:
            yield Difference(thing, each.name, None, old, text, each.time_us, run, "job")


def _sql_text(facet: Any) -> str | None:
    return text_at(facet, "query")


def _code_location(facet: Any) -> str | None:
    return text_at(facet, "version") or text_at(facet, "tag")


_TEXTS: dict[str, tuple[ChangedThing, Callable[[Any], str | None]]] = {
    "sql": ("sql", _sql_text),
    CODE: ("code", _code_location),
}
"""Maps each job facet to (kind of changed thing, function that reads the compared text from the facet)."""


_MAX_PERIODS, _MAX_ROWS = 4, 100_000
"""Maximum number of cached periods, and of the differences in all cached periods together (about 50 MB)."""


def cached_changes(live: LiveGraph, between: tuple[int, int]) -> Sequence[Difference]:
    """Return all changes after one moment and up to another (us, UTC), unsorted."""
    cache: dict[tuple[int, int], _CachedPeriod] = live.cached_across_generations("changes", dict)
    period = cache.pop(between, None) or _CachedPeriod(between)
    found = period.update_changes(live)
    cache[between] = period
    while len(cache) > _MAX_PERIODS or (cache and sum(each.rows for each in cache.values()) > _MAX_ROWS):
        del cache[next(iter(cache))]  # least recently used
    return found


class _CachedPeriod:
    """The cached changes of one period."""

    def __init__(self, between: tuple[int, int]) -> None:
        self.rows = 0
        self._between = between
        self._generation = 0
        self._clear_cache()

    def _clear_cache(self) -> None:
        self._datasets: dict[Name, list[Difference]] = {}
        self._new_jobs: dict[Name, Difference] = {}
        self._jobs: dict[Name, list[Difference]] = {}

    def update_changes(self, live: LiveGraph) -> list[Difference]:
        """Process new events and return all changes of the period.

        live: the caller locks it to one generation.
        """
        touched = entities_changed_since(live, self._generation)
        if touched is None or live.api_generation > self._generation:
            self._clear_cache()
            self._compute_changes(live, None)
        elif touched.dataset_numbers or touched.job_key_numbers:
            self._compute_changes(live, touched)
        self._generation = live.generation
        new = {each.name for each in self._new_jobs.values()}
        job_changes = (
            each for each in chain.from_iterable(self._jobs.values()) if each.thing == "owner" or each.name not in new
        )
        deleted = deleted_job_differences(ChangeHistory(live, *self._between))
        found = [*chain.from_iterable(self._datasets.values()), *self._new_jobs.values(), *deleted, *job_changes]
        self.rows = len(found)
        return found

    def _compute_changes(self, live: LiveGraph, only: ChangedEntities | None) -> None:
        """Compute the changes of the datasets and jobs in `only`; None computes the changes of all."""
        datasets = jobs = None
        if only is not None:
            datasets, jobs = _datasets_named_by(live, only.dataset_numbers), all_job_names(live, only.job_key_numbers)
            for name in datasets:
                self._datasets.pop(name, None)
            for name in jobs:
                self._new_jobs.pop(name, None)
                self._jobs.pop(name, None)
            only = ChangedEntities(
                _numbers_of_names(live, live.naming.names_of_any(datasets)), _numbers_of_names(live, jobs)
            )
        history = ChangeHistory(live, *self._between, only=only)
        for each in dataset_differences(live, history):
            if datasets is None or each.name in datasets:
                self._datasets.setdefault(each.name, []).append(each)
        self._new_jobs.update(new_job_differences(live, history))
        for each in job_facet_differences(history):
            self._jobs.setdefault(each.name, []).append(each)


def _datasets_named_by(live: LiveGraph, numbers: Iterable[int]) -> set[Name]:
    """Return all datasets that names may mean at any time, without generations.

    numbers: the numbers of the names in the index.
    """
    naming, found = live.naming, set[Name]()
    for name in map(live.names.name, numbers):
        locations = (location for _, location in naming.bindings.get(name, ()))
        found.update(each.without_generation for each in (name, *locations, *naming.datasets_in(NameSpan(name))))
    return found


def _numbers_of_names(live: LiveGraph, names: Iterable[Name]) -> set[int]:
    return {number for number in map(live.names.find_number, names) if number}


class RemovedColumn(NamedTuple):
    """A column that left the column list of a dataset. run: looks up (run key, job key), as in `Difference`."""

    dataset: Name
    column: str
    time_us: int
    run: _Run


class _RemovedColumns:
    """The cached columns that left their datasets since a moment."""

    def __init__(self, since_us: int) -> None:
        self._since_us, self._generation = since_us, 0
        self._found: dict[Name, list[RemovedColumn]] = {}

    def update(self, live: LiveGraph) -> list[RemovedColumn]:
        only = entities_changed_since(live, self._generation)
        if only is None:
            self._found.clear()
        else:
            datasets = _datasets_named_by(live, only.dataset_numbers)
            for name in datasets:
                self._found.pop(name, None)
            only = ChangedEntities(_numbers_of_names(live, live.naming.names_of_any(datasets)), set())
        if only is None or only.dataset_numbers:
            history = ChangeHistory(live, self._since_us, MAX_TIME_US, only=only)
            for dataset, column, seen in history.departed_columns():
                run = partial(history.run_of_event, Order(*seen[:4]))
                self._found.setdefault(dataset, []).append(RemovedColumn(dataset, column, seen.time_us, run))
        self._generation = live.generation
        return [each for name in sorted(self._found) for each in sorted(self._found[name], key=attrgetter("column"))]


def removed_columns(live: LiveGraph, since_us: int) -> list[RemovedColumn]:
    """Return the columns that left the column lists of their datasets after a time (us) and did not come back."""
    cache: dict[int, _RemovedColumns] = live.cached_across_generations("removed columns", dict)
    period = cache.pop(since_us, None) or _RemovedColumns(since_us)
    found = period.update(live)
    cache[since_us] = period
    while len(cache) > _MAX_PERIODS:
        del cache[next(iter(cache))]  # least recently used
    return found


_LONGEST = 2_000
"""Maximum number of characters of `before` and `after`."""


class ChangeFilter(NamedTuple):
    """A filter for the listed changes. Counts include all changes."""

    thing: ChangedThing | None = None
    change: ChangeWord | None = None

    def matches(self, difference: Difference) -> bool:
        """Return whether a change matches the filter."""
        return self.thing in (None, difference.thing) and self.change in (None, difference.kind)


def changes_between(
    live: LiveGraph, since_us: int, until_us: int | None, only: ChangeFilter, page: ListPage
) -> Changes:
    """Return the differences between two moments, newest first. until_us: the second moment; None means now.

    Raises WrongQuestion if the first moment is not before the second.
    """
    between = (since_us, MAX_TIME_US if until_us is None else until_us)
    if between[0] >= between[1]:
        raise WrongQuestion(f"from ({iso_time(since_us)}) is not before to ({iso_time(until_us)}). Swap the two times.")
    key = ("changes", between)
    found = live.cached_list(key, lambda: cached_changes(live, between))
    counts = live.cached_list((*key, "counts"), lambda: sorted(Counter(each.thing for each in found).items()))
    sorted_rows = live.cached_list(
        (*key, only, page.sort, page.folded_text), lambda: _ORDER.sorted_rows(filter(only.matches, found), page)
    )
    cut = _ORDER.page_from_sorted(sorted_rows, page)
    items = [_to_change_item(live, each) for each in cut.rows]
    return Changes(iso_time(since_us) or "", iso_time(until_us), dict(counts), items, **cut.info)


_ORDER = RowOrder[Difference](
    "changes",
    {
        "time": lambda each: each.time_us, "change": lambda each: each.kind, "thing": lambda each: each.thing,
        "namespace": lambda each: each.name.namespace, "name": lambda each: each.name.name,
    },
    "-time",
    lambda each: (each.thing, *each.name.parts, each.column, each.before, each.after),
    ties=6,
    texts=lambda each: (*each.name.parts, each.column),
)  # fmt: skip


def _to_change_item(live: LiveGraph, difference: Difference) -> ChangeItem:
    run = difference.run()
    before, after = (None if text is None else text[:_LONGEST] for text in (difference.before, difference.after))
    return ChangeItem(
        difference.kind, difference.thing, difference.of, *difference.name.parts, difference.column,
        before, after,
        iso_time(difference.time_us) or "", run_id_of(run[0]) if run else None,
        Job(*live.job_name(run[1]).parts) if run else None,
    )  # fmt: skip
