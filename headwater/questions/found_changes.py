"""Finds changes between two moments, of everything or of some datasets and jobs."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from headwater.events.decode import decode
from headwater.events.rule_facets import text_at
from headwater.index.reading.change_history import ChangeHistory, FacetBetween, ListsBetween
from headwater.index.reading.dataset_readers import unlisted_by_readers
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.moments import CODE
from headwater.index.stored.database import DATASET, JOB
from headwater.lineage.names.dataset_history import EVER_US
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.tags import TagsFacet
from headwater.lineage.runs.newest_first import Order
from headwater.questions.answers.list_answers import ChangedThing, ChangeWord

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
        dataset = naming.resolve(name, EVER_US).plain
        if dataset in new or not history.is_mentioned_before(naming.names_of(dataset)):
            new[dataset] = min(at_us, new.get(dataset, at_us))
    for dataset, at_us in new.items():
        run = partial(history.run_at, naming.names_of(dataset), at_us)
        yield Difference("dataset", dataset, None, None, dataset.name, at_us, run)
    for location, renamed, at_us, key in history.dropped():
        if renamed or not naming.generations.is_there(location):
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
            if each.since.time_us > history.since_us:
                types = history.described_columns(names, [each.listed])
                shown = next(column for column in types if columns.key(column) == each.column)
                kind, order = types[shown].type, Order(*each.since[:4])
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
