"""What changed beside lineage: datasets, columns and their types, owners, tags, jobs, their SQL and their code."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from headwater.errors import WrongQuestion
from headwater.events.decode import decode
from headwater.events.rows import schema_columns
from headwater.events.rule_facets import text_at
from headwater.events.times import iso
from headwater.index.reading.change_history import ChangeHistory, FacetBetween, SchemaBetween
from headwater.index.reading.known_moments import CODE
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.catalog_tables import DATASET, JOB
from headwater.lineage.names.dataset_history import EVER_US
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.tags import TagsFacet
from headwater.lineage.runs.job_identity import run_id_of
from headwater.lineage.runs.newest_first import Order
from headwater.paging import ListPage, RowOrder
from headwater.questions.answers.answer_parts import Job
from headwater.questions.answers.list_answers import ChangedThing, ChangeItem, Changes, ChangeWord

_LONGEST = 2_000
"""Characters that are shown of what something was and is."""

_Run = Callable[[], tuple[str, Name] | None]


class _Difference(NamedTuple):
    """A change; run: looks up which run brought it, for what is shown alone."""

    thing: ChangedThing
    name: Name
    column: str | None
    before: str | None
    after: str | None
    time_us: int
    run: _Run
    of: Literal["dataset", "job"] = "dataset"

    @property
    def word(self) -> ChangeWord:
        """Return what kind of change it is."""
        return "added" if self.before is None else "removed" if self.after is None else "changed"


class OnlyChanges(NamedTuple):
    """What alone is listed of it; everything is counted."""

    thing: ChangedThing | None = None
    change: ChangeWord | None = None

    def fits(self, found: _Difference) -> bool:
        """Tell whether a change is wanted."""
        return self.thing in (None, found.thing) and self.change in (None, found.word)


def changes_between(live: LiveGraph, since_us: int, until_us: int | None, only: OnlyChanges, page: ListPage) -> Changes:
    """Answer what is other at one moment than at another, newest first; None: now.

    Raises WrongQuestion where the first is not before the second.
    """
    between = (since_us, EVER_US if until_us is None else until_us)
    if between[0] >= between[1]:
        raise WrongQuestion(f"from ({iso(since_us)}) is not before to ({iso(until_us)}). Ask the other way round.")
    key = ("changes", between)
    found = live.listed(key, lambda: _found(live, ChangeHistory(live, *between)))
    counts = live.listed((*key, "counts"), lambda: sorted(Counter(each.thing for each in found).items()))
    placed = live.listed((*key, only, page.sort, page.folded), lambda: _ORDER.placed(filter(only.fits, found), page))
    cut = _ORDER.page_of(placed, page)
    items = [_item(live, each) for each in cut.rows]
    return Changes(iso(since_us) or "", iso(until_us), dict(counts), items, **cut.told)


_ORDER = RowOrder[_Difference](
    "changes",
    {
        "time": lambda each: each.time_us, "change": lambda each: each.word, "thing": lambda each: each.thing,
        "namespace": lambda each: each.name.namespace, "name": lambda each: each.name.name,
    },
    "-time",
    lambda each: (each.thing, *each.name.parts, each.column, each.before, each.after),
    ties=6,
    texts=lambda each: (*each.name.parts, each.column),
)  # fmt: skip


def _found(live: LiveGraph, history: ChangeHistory) -> list[_Difference]:
    return [*_datasets(live, history), *_tags(history), *_owners(live, history), *_jobs(live, history)]


def _datasets(live: LiveGraph, history: ChangeHistory) -> Iterator[_Difference]:
    naming = live.naming
    new: dict[Name, int] = {}
    for name, at_us in history.first_heard(DATASET):
        dataset = naming.resolve(name, EVER_US).plain
        if dataset in new or not history.heard_before(naming.names_of(dataset)):
            new[dataset] = min(at_us, new.get(dataset, at_us))
    for dataset, at_us in new.items():
        run = partial(history.run_at, naming.names_of(dataset), at_us)
        yield _Difference("dataset", dataset, None, None, dataset.name, at_us, run)
    for location, renamed, at_us, key in history.dropped():
        if renamed or not naming.generations.is_there(location):
            after = renamed.name if renamed else None
            yield _Difference("dataset", location.plain, None, location.name, after, at_us, partial(history.run, key))
    for each in history.schemas():
        if each.before is not None:
            yield from _columns(history, each, each.before.schema)


def _columns(history: ChangeHistory, found: SchemaBetween, before: str) -> Iterator[_Difference]:
    was, now = (_types(history.schema_text(found.names, each)) for each in (before, found.after.schema))
    order = Order(*found.after[:4])
    for column in {**was, **now}:
        old, new = was.get(column), now.get(column)
        if old != new:
            run = partial(history.run_of, order)
            yield _Difference("column", found.dataset, column, old, new, order.time_us, run)


def _types(text: str) -> dict[str, str]:
    """Return columns by dots → their types as sent, empty where none was."""
    facet = decode(text.encode()) if text else None
    return {".".join(path): kind or "" for path, kind in schema_columns(facet)} if isinstance(facet, dict) else {}


def _tags(history: ChangeHistory) -> Iterator[_Difference]:
    for each in history.tags():
        was, now, newest = _held(each.before), _held(each.after), max(facet.order for facet in each.after)
        for column, key in {**was, **now}:
            old, new = was.get((column, key)), now.get((column, key))
            if old != new:
                run = partial(history.run_of, newest)
                yield _Difference("tag", each.dataset, column, old, new, newest.time_us, run)


def _held(facets: Sequence[TagsFacet]) -> dict[tuple[str | None, str], str]:
    """Return the tags that hold: column and key → as answers show it."""
    tags = (tag for facet in facets for tag in facet.tags)
    return {(tag.column, tag.key): f"{tag.key}={tag.value}" for tag in tags if tag.value.casefold() != "false"}


def _owners(live: LiveGraph, history: ChangeHistory) -> Iterator[_Difference]:
    for each in history.facets(DATASET, ("ownership",)):
        dataset = live.naming.resolve(each.name, each.time_us).plain
        yield from _owned(dataset, each, partial(history.run_at, live.naming.names_of(dataset), each.time_us))


def _owned(
    name: Name, found: FacetBetween, run: _Run, of: Literal["dataset", "job"] = "dataset"
) -> Iterator[_Difference]:
    was, now = (_owner_names(text) for text in (found.before, found.after))
    for owner in sorted(was ^ now):
        old, new = (owner if owner in each else None for each in (was, now))
        yield _Difference("owner", name, None, old, new, found.time_us, run, of)


def _owner_names(text: str | None) -> set[str]:
    facet = decode(text.encode()) if text else None
    owners = facet.get("owners") if isinstance(facet, dict) else None
    named = ((text_at(each, "name"), text_at(each, "type")) for each in (owners if isinstance(owners, list) else ()))
    return {f"{name} ({kind})" if kind else name for name, kind in named if name}


def _jobs(live: LiveGraph, history: ChangeHistory) -> Iterator[_Difference]:
    new = set[Name]()
    for key, at_us in history.first_heard(JOB):
        job = live.job(key)
        new.add(job)
        yield _Difference("job", job, None, None, job.name, at_us, partial(history.run_of_job, key, at_us), "job")
    for job, at_us in history.deleted_jobs():
        yield _Difference("job", job, None, job.name, None, at_us, lambda: None, "job")
    for each in history.facets(JOB, ("ownership", *_TEXTS)):
        run = partial(history.run_of_job, each.name, each.time_us)
        if each.facet == "ownership":
            yield from _owned(each.name, each, run, "job")
        elif each.name not in new:
            thing, read = _TEXTS[each.facet]
            old, text = (read(decode(text.encode())) if text else None for text in (each.before, each.after))
            if old != text:
                yield _Difference(thing, each.name, None, old, text, each.time_us, run, "job")


def _query(facet: Any) -> str | None:
    return text_at(facet, "query")


def _code(facet: Any) -> str | None:
    return text_at(facet, "version") or text_at(facet, "tag")


_TEXTS: dict[str, tuple[ChangedThing, Callable[[Any], str | None]]] = {"sql": ("sql", _query), CODE: ("code", _code)}
"""Facets of jobs → what of them changes, and how it is read."""


def _item(live: LiveGraph, found: _Difference) -> ChangeItem:
    run = found.run()
    before, after = (None if text is None else text[:_LONGEST] for text in (found.before, found.after))
    return ChangeItem(
        found.word, found.thing, found.of, *found.name.parts, found.column,
        before, after,
        iso(found.time_us) or "", run_id_of(run[0]) if run else None, Job(*live.job(run[1]).parts) if run else None,
    )  # fmt: skip
