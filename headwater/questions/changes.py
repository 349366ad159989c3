"""The question `changes`: datasets, columns, types, owners, tags, jobs, SQL and code between two moments.

Changes of a dataset or job depend only on events about its names, so they stay valid without new events. The cache
computes only datasets and jobs with new events again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, Literal, NamedTuple

from headwater.common.errors import WrongQuestion
from headwater.common.paging import ListPage, RowOrder
from headwater.events.decode import decode
from headwater.events.rule_facets import text_at
from headwater.events.times import iso
from headwater.index.reading.change_history import (
    ChangedEntities,
    ChangeHistory,
    FacetBetween,
    ListsBetween,
    changed_since,
    job_names,
)
from headwater.index.reading.dataset_readers import unlisted_by_readers
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.moments import CODE
from headwater.index.stored.database import DATASET, JOB
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US, Span
from headwater.lineage.rules.tags import TagsFacet
from headwater.lineage.runs.event_order import Order
from headwater.lineage.runs.jobs import run_id_of
from headwater.questions.answer_types.common import Job
from headwater.questions.answer_types.lists import ChangedThing, ChangeItem, Changes, ChangeWord

_Run = Callable[[], tuple[str, Name] | None]


class Difference(NamedTuple):
    """A change.

    run: looks up its run, which is only needed for listed changes. unlisted: readers no longer list the column.
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
    yield from _datasets(live, history)
    yield from _unlisted(live, history)
    yield from _tags(history)
    yield from _owners(live, history)


def _datasets(live: LiveGraph, history: ChangeHistory) -> Iterator[Difference]:
    naming = live.naming
    new: dict[Name, int] = {}
    for name, at_us in history.first_event_us(DATASET):
        dataset = naming.resolve(name, MAX_TIME_US).plain
        if dataset in new or not history.is_mentioned_before(naming.names_of(dataset)):
            new[dataset] = min(at_us, new.get(dataset, at_us))
    for dataset, at_us in new.items():
        run = partial(history.run_at, naming.names_of(dataset), at_us)
        yield Difference("dataset", dataset, None, None, dataset.name, at_us, run)
    for location, renamed, at_us, key in history.dropped():
        if renamed or not naming.generations.exists_at(location):
            after = renamed.name if renamed else None
            yield Difference("dataset", location.plain, None, location.name, after, at_us, partial(history.run, key))
    for each in history.schemas():
        if each.before:
            yield from _columns(history, each)


def _columns(history: ChangeHistory, found: ListsBetween) -> Iterator[Difference]:
    was, now = (history.described_columns(found.names, each) for each in (found.before, found.after))
    for column in {**was, **now}:
        old, new = (each[column].type or "" if column in each else None for each in (was, now))
        if old != new:
            by = now[column].by if column in now else None
            order = Order(*(by or found.after[0])[:4])  # only the base list removes columns
            run = partial(history.run_of, order)
            yield Difference("column", found.dataset, column, old, new, order.time_us, run)


def _unlisted(live: LiveGraph, history: ChangeHistory) -> Iterator[Difference]:
    for dataset in history.mentioned():
        names, columns = live.naming.names_of(dataset), live.columns(dataset)
        for each in unlisted_by_readers(live, dataset, history.until_us):
            if each.unlisted_since.time_us > history.since_us:
                types = history.described_columns(names, [each.last_mention])
                shown = next(column for column in types if columns.key(column) == each.column)
                kind, order = types[shown].type, Order(*each.unlisted_since[:4])
                run = partial(history.run_of, order)
                yield Difference("column", dataset, shown, kind, None, order.time_us, run, unlisted=True)


def _tags(history: ChangeHistory) -> Iterator[Difference]:
    for each in history.tags():
        was, now, newest = _active_tags(each.before), _active_tags(each.after), max(facet.order for facet in each.after)
        for column, key in {**was, **now}:
            old, new = was.get((column, key)), now.get((column, key))
            if old != new:
                run = partial(history.run_of, newest)
                yield Difference("tag", each.dataset, column, old, new, newest.time_us, run)


def _active_tags(facets: Sequence[TagsFacet]) -> dict[tuple[str | None, str], str]:
    """Return the active tags: column and key → text in answers."""
    tags = (tag for facet in facets for tag in facet.tags)
    return {(tag.column, tag.key): f"{tag.key}={tag.value}" for tag in tags if tag.value.casefold() != "false"}


def _owners(live: LiveGraph, history: ChangeHistory) -> Iterator[Difference]:
    for each in history.facets(DATASET, ("ownership",)):
        dataset = live.naming.resolve(each.name, each.time_us).plain
        yield from _owner_changes(dataset, each, partial(history.run_at, live.naming.names_of(dataset), each.time_us))


def _owner_changes(
    name: Name, found: FacetBetween, run: _Run, of: Literal["dataset", "job"] = "dataset"
) -> Iterator[Difference]:
    was, now = (_owner_names(text) for text in (found.before, found.after))
    for owner in sorted(was ^ now):
        old, new = (owner if owner in each else None for each in (was, now))
        yield Difference("owner", name, None, old, new, found.time_us, run, of)


def _owner_names(text: str | None) -> set[str]:
    facet = decode(text.encode()) if text else None
    owners = facet.get("owners") if isinstance(facet, dict) else None
    named = ((text_at(each, "name"), text_at(each, "type")) for each in (owners if isinstance(owners, list) else ()))
    return {f"{name} ({kind})" if kind else name for name, kind in named if name}


def new_jobs(live: LiveGraph, history: ChangeHistory) -> Iterator[tuple[Name, Difference]]:
    """Yield the keys of new jobs, and their changes under their current names."""
    for key, at_us in history.first_event_us(JOB):
        job = live.job(key)
        yield key, Difference("job", job, None, None, job.name, at_us, partial(history.run_of_job, key, at_us), "job")


def deleted_jobs(history: ChangeHistory) -> Iterator[Difference]:
    """Yield the jobs that were deleted manually and have not run since."""
    for job, at_us in history.deleted_jobs():
        yield Difference("job", job, None, job.name, None, at_us, lambda: None, "job")


def job_differences(history: ChangeHistory) -> Iterator[Difference]:
    """Yield changes of owners, SQL and code of all jobs, including new ones."""
    for each in history.facets(JOB, ("ownership", *_TEXTS)):
        run = partial(history.run_of_job, each.name, each.time_us)
        if each.facet == "ownership":
            yield from _owner_changes(each.name, each, run, "job")
            continue
        thing, read = _TEXTS[each.facet]
        old, text = (read(decode(text.encode())) if text else None for text in (each.before, each.after))
        if old != text:
            yield Difference(thing, each.name, None, old, text, each.time_us, run, "job")


def _query(facet: Any) -> str | None:
    return text_at(facet, "query")


def _code(facet: Any) -> str | None:
    return text_at(facet, "version") or text_at(facet, "tag")


_TEXTS: dict[str, tuple[ChangedThing, Callable[[Any], str | None]]] = {"sql": ("sql", _query), CODE: ("code", _code)}
"""Facets of jobs → the kind of change, and the function that reads the compared text."""


_MAX_PERIODS, _MAX_ROWS = 4, 100_000
"""Maximum number of cached periods, and of all their differences together (about 50 MB)."""


def cached_changes(live: LiveGraph, between: tuple[int, int]) -> Sequence[Difference]:
    """Return all changes after one moment and up to another (us, UTC), unsorted."""
    cache: dict[tuple[int, int], _Period] = live.across_generations("changes", dict)
    period = cache.pop(between, None) or _Period(between)
    found = period.update(live)
    cache[between] = period
    while len(cache) > _MAX_PERIODS or (cache and sum(each.rows for each in cache.values()) > _MAX_ROWS):
        del cache[next(iter(cache))]  # least recently used
    return found


class _Period:
    """The cached changes of one period."""

    def __init__(self, between: tuple[int, int]) -> None:
        self.rows = 0
        self._between = between
        self._generation = 0
        self._clear()

    def _clear(self) -> None:
        self._datasets: dict[Name, list[Difference]] = {}
        self._new_jobs: dict[Name, Difference] = {}
        self._jobs: dict[Name, list[Difference]] = {}

    def update(self, live: LiveGraph) -> list[Difference]:
        """Process new events and return all changes. live: locked to one generation."""
        touched = changed_since(live, self._generation)
        if touched is None or live.api_generation > self._generation:
            self._clear()
            self._compute(live, None)
        elif touched.datasets or touched.jobs:
            self._compute(live, touched)
        self._generation = live.generation
        new = {each.name for each in self._new_jobs.values()}
        job_changes = (
            each for each in chain.from_iterable(self._jobs.values()) if each.thing == "owner" or each.name not in new
        )
        deleted = deleted_jobs(ChangeHistory(live, *self._between))
        found = [*chain.from_iterable(self._datasets.values()), *self._new_jobs.values(), *deleted, *job_changes]
        self.rows = len(found)
        return found

    def _compute(self, live: LiveGraph, touched: ChangedEntities | None) -> None:
        """Compute the changes of touched datasets and jobs, None for all."""
        datasets = jobs = None
        if touched is not None:
            datasets, jobs = _datasets_of(live, touched.datasets), job_names(live, touched.jobs)
            for name in datasets:
                self._datasets.pop(name, None)
            for name in jobs:
                self._new_jobs.pop(name, None)
                self._jobs.pop(name, None)
            touched = ChangedEntities(_numbers(live, live.naming.names_of_any(datasets)), _numbers(live, jobs))
        history = ChangeHistory(live, *self._between, of=touched)
        for each in dataset_differences(live, history):
            if datasets is None or each.name in datasets:
                self._datasets.setdefault(each.name, []).append(each)
        self._new_jobs.update(new_jobs(live, history))
        for each in job_differences(history):
            self._jobs.setdefault(each.name, []).append(each)


def _datasets_of(live: LiveGraph, numbers: Iterable[int]) -> set[Name]:
    """Return all datasets, without generations, that the given names may mean at any time."""
    naming, found = live.naming, set[Name]()
    for name in map(live.names.name, numbers):
        locations = (location for _, location in naming.bindings.get(name, ()))
        found.update(each.plain for each in (name, *locations, *naming.datasets_in(Span(name))))
    return found


def _numbers(live: LiveGraph, names: Iterable[Name]) -> set[int]:
    return {number for number in map(live.names.known, names) if number}


_LONGEST = 2_000
"""Maximum number of characters of `before` and `after`."""


class ChangeFilter(NamedTuple):
    """A filter for the listed changes. Counts include all changes."""

    thing: ChangedThing | None = None
    change: ChangeWord | None = None

    def matches(self, found: Difference) -> bool:
        """Return whether a change matches the filter."""
        return self.thing in (None, found.thing) and self.change in (None, found.kind)


def changes_between(
    live: LiveGraph, since_us: int, until_us: int | None, only: ChangeFilter, page: ListPage
) -> Changes:
    """Answer the differences between two moments, newest first. until_us: None for now.

    Raises WrongQuestion if the first moment is not before the second.
    """
    between = (since_us, MAX_TIME_US if until_us is None else until_us)
    if between[0] >= between[1]:
        raise WrongQuestion(f"from ({iso(since_us)}) is not before to ({iso(until_us)}). Swap the two times.")
    key = ("changes", between)
    found = live.listed(key, lambda: cached_changes(live, between))
    counts = live.listed((*key, "counts"), lambda: sorted(Counter(each.thing for each in found).items()))
    sorted_rows = live.listed(
        (*key, only, page.sort, page.folded), lambda: _ORDER.sorted_rows(filter(only.matches, found), page)
    )
    cut = _ORDER.page_from_sorted(sorted_rows, page)
    items = [_item(live, each) for each in cut.rows]
    return Changes(iso(since_us) or "", iso(until_us), dict(counts), items, **cut.info)


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


def _item(live: LiveGraph, found: Difference) -> ChangeItem:
    run = found.run()
    before, after = (None if text is None else text[:_LONGEST] for text in (found.before, found.after))
    return ChangeItem(
        found.kind, found.thing, found.of, *found.name.parts, found.column,
        before, after,
        iso(found.time_us) or "", run_id_of(run[0]) if run else None, Job(*live.job(run[1]).parts) if run else None,
    )  # fmt: skip
