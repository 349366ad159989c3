"""Health as it is asked: of one dataset or job, of all that do not fare well, of what is drawn, of what a run left."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import count
from operator import attrgetter

from headwater.errors import WrongQuestion
from headwater.events.times import iso
from headwater.index.reading.catalog import Catalog
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.view_opener import ViewOpener
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.time.as_of import AsOf, View
from headwater.questions.about import about_of, decoded
from headwater.questions.answers.health_answers import (
    About,
    HealthAnswer,
    HealthItem,
    HealthOfShown,
    NotRefreshed,
    Status,
)
from headwater.questions.emptied import emptied, rewritten
from headwater.questions.health_reader import HealthReader, Own
from headwater.questions.known_health import KnownHealth
from headwater.questions.subjects import Subject, find_dataset, find_job

_WORST: tuple[Status, ...] = ("failed", "late", "stale")
_AT_ONCE = 500
_COUNTED = 200
"""Datasets of the list of all, those written last, of which the rows of the newest write are read."""

_FORMER = 5
"""Runs of a job before one whose outputs it is measured by."""

SHOWN = 100
"""Things of one question of what is drawn."""


def health_of_dataset(here: View, live: LiveGraph, asked: Subject, now_us: int, limit: int) -> HealthAnswer:
    """Answer how a dataset fares, whose it is, and what waits for it."""
    reader = HealthReader(live, here.counted, now_us)
    name = find_dataset(here.snapshot, here.rules.names, asked, in_events=True)
    about = about_of(decoded(Catalog(live).dataset_facets(name, without={"schema"})), live.tags().get(name, ()))
    never = reader.never_written(name)
    if never is not None:
        own, runs = never
        found = _one(reader.shown("dataset", name, own, []), about, (), limit)
        found.never_written = True
        found.failed_runs = [reader.shown_run(run) for run in runs if run.failed][:limit]
        return found
    own, item = reader.of_dataset(name), reader.shown_dataset(name)
    waiting = [] if own.since_us is None else reader.not_refreshed(name, own.since_us)
    return _one(item, about, waiting, limit)


def whole_health_of_dataset(
    open_views: ViewOpener, asked: Subject, now_us: int, limit: int, bronze: Bronze
) -> HealthAnswer:  # fmt: skip
    """Answer as `health_of_dataset`, with what bronze has of the rows of its newest writes."""
    with open_views.catalog(AsOf()) as (here, live):
        answer = health_of_dataset(here, live, asked, now_us, limit)
        (item,) = answer.items
        name, names = Name(item.namespace, item.name), here.rules.names
        candidates = rewritten(live, HealthReader(live, here.counted, now_us), [name])
    found = emptied(bronze, names, candidates).get(name)
    if found is not None:
        answer.items = [found.shown(item)]
        answer.statuses = {answer.items[0].status: 1}
    return answer


def health_of_job(here: View, live: LiveGraph, asked: tuple[str | None, str], now_us: int, limit: int) -> HealthAnswer:
    """Answer how a job fares, whose it is, and what it has not refreshed."""
    reader, (namespace, called) = HealthReader(live, here.counted, now_us), asked
    row = Catalog(live).job(Name(namespace, called)) if namespace is not None else None
    key = row.key if row else None
    if key is None:
        every = (live.names.name(number) for number in reader.times.jobs())
        key = live.names.known(find_job(here.snapshot, every, namespace, called)) or 0
    own, shown = reader.of_job(key), live.job(live.names.name(key))
    outputs = {name.plain for name in reader.times.written_by(key)}
    waiting = [] if own.since_us is None else _left(reader, sorted(outputs), own.since_us, now_us)
    about = about_of(decoded(Catalog(live).job_facets(shown)))
    return _one(reader.shown("job", shown, own, []), about, waiting, limit)


def _one(item: HealthItem, about: About, waiting: Iterable[NotRefreshed], limit: int) -> HealthAnswer:
    found = list(waiting)
    return HealthAnswer([item], {item.status: 1}, about, found[:limit], False, [], 1, len(found) > limit)


def unhealthy(
    open_views: ViewOpener,
    now_us: int,
    only: Status | None,
    limit: int,
    bronze: Bronze | None = None,
    *,
    at_once: int = _AT_ONCE,
) -> HealthAnswer:
    """Answer all that does not fare well, the worst first, of one kind the newest trouble first.

    bronze: where the rows of the newest writes are read; at_once: so many things are judged before other questions
    have their turn.
    """
    for some in count(at_once, at_once):  # more each time: an end comes however much happens meanwhile
        with open_views.catalog(AsOf()) as (here, live):
            known = live.brought_up("health", KnownHealth)
            reader = HealthReader(live, here.counted, known.moment(now_us))
            if known.bring_up(live, reader, some):
                names = here.rules.names
                answer, stale = _unwell(live, reader, known, only, limit)
                datasets = known.datasets.items()
                well = ((each.success_us, name) for name, each in datasets if not each.unwell and name not in stale)
                newest = sorted(((us, name) for us, name in well if us is not None), reverse=True)[:_COUNTED]
                candidates = rewritten(live, reader, [name for _, name in newest]) if bronze else {}
                break
    else:
        raise AssertionError  # count has no end
    found = emptied(bronze, names, candidates) if bronze else {}
    lost = {name: each for name, each in found.items() if each.rows_before is not None}
    if not lost:
        return answer
    with open_views.catalog(AsOf()) as (here, live):
        reader = HealthReader(live, here.counted, now_us)
        items = [each.shown(reader.shown("dataset", name, reader.of_dataset(name), [])) for name, each in lost.items()]
    return _with_emptied(answer, items, only, limit)


def _with_emptied(answer: HealthAnswer, items: list[HealthItem], only: Status | None, limit: int) -> HealthAnswer:
    """Return the list of all with the datasets that were emptied behind those that failed."""
    added = items if only in (None, "failed") else []
    failed = [each for each in answer.items if each.status == "failed"]
    listed = [*failed, *added, *(each for each in answer.items if each.status != "failed")]
    statuses: dict[Status, int] = {**answer.statuses, "failed": answer.statuses["failed"] + len(items)}
    total = answer.totalCount + len(added)
    return HealthAnswer(listed[:limit], statuses, None, [], False, [], total, total > limit)


def _unwell(
    live: LiveGraph, reader: HealthReader, known: KnownHealth, only: Status | None, limit: int
) -> tuple[HealthAnswer, Set[Name]]:
    """Return the list of all by what the index knows, and which datasets are stale."""
    roots = {name: each.unwell for name, each in known.datasets.items() if each.unwell}
    stale = _stale(reader, roots, known)
    jobs = {job: each.unwell for job, each in known.jobs.items() if each.unwell}
    above = _failed_above(reader, jobs)
    folded = set[int]().union(*above.values())
    found: list[tuple[Status, int, str, Name, Own | None, list[Name], list[Name]]] = [
        *((own.status, -(own.since_us or 0), "dataset", name, own, [], []) for name, own in roots.items()),
        *(
            (
                own.status,
                -(own.since_us or 0),
                "job",
                _job(live, job),
                own,
                [],
                [_job(live, each) for each in above[job]],
            )
            for job, own in jobs.items()
            if job not in folded
        ),
        *(("stale", -(roots[root].since_us or 0), "dataset", name, None, [root], []) for name, root in stale.items()),
    ]
    counts = Counter(each[0] for each in found)
    found = [each for each in found if only is None or each[0] == only]
    found.sort(key=lambda each: (_WORST.index(each[0]), *each[1:4]))
    items = [
        reader.shown(kind, name, own or reader.of_dataset(name), root, failed_with)
        for _, _, kind, name, own, root, failed_with in found[:limit]
    ]
    statuses = {word: counts[word] for word in _WORST}
    return HealthAnswer(items, statuses, None, [], False, [], len(found), len(found) > limit), stale.keys()


def _job(live: LiveGraph, key: int) -> Name:
    return live.job(live.names.name(key))


def _failed_above(reader: HealthReader, jobs: Mapping[int, Own]) -> dict[int, list[int]]:
    """Return of each job the failed jobs above it whose failed runs its own failed run is part of, the nearest first.

    A task that fails makes its DAG fail: both are one incident, and the task's run has the error.
    """
    failed = {own.run.run: job for job, own in jobs.items() if own.status == "failed" and own.run}
    parents = reader.times.parents(failed.keys())
    found: dict[int, list[int]] = {job: [] for job in jobs}
    for run, job in failed.items():
        seen, todo = {run}, [run]
        for each in todo:  # grows meanwhile
            above = [above for above in parents.get(each, ()) if above in failed and above not in seen]
            seen.update(above)
            todo.extend(above)
        found[job] = [failed[each] for each in todo[1:]]
    return found


def _stale(reader: HealthReader, roots: dict[Name, Own], known: KnownHealth) -> dict[Name, Name]:
    """Return what was not written since something upstream of it is not well: of its roots the newest trouble.

    Who was reached by a newer trouble need not be looked at for an older one, nor what lies behind.
    """
    seen: set[int] = set()
    found: dict[Name, Name] = {}
    for root, own in sorted(roots.items(), key=lambda item: (-(item[1].since_us or 0), item[0])):
        for name, _ in reader.around(root, forward=True, seen=seen):
            here = known.datasets.get(name)
            if here and not here.unwell and here.success_us is not None and here.success_us < (own.since_us or 0):
                found[name] = root
    return found


def health_of_shown(here: View, live: LiveGraph, asked: tuple[str, ...], now_us: int) -> HealthOfShown:
    """Answer how those fare that are drawn; each asked for as JSON `["dataset","namespace","name"]`, or a job."""
    if len(asked) > SHOWN:
        raise WrongQuestion(f"{len(asked)} things are asked for at once. Ask for {SHOWN} at most.")
    reader = HealthReader(live, here.counted, now_us)
    return HealthOfShown([item for each in asked for item in _shown(reader, here, live, each)])


def _shown(reader: HealthReader, here: View, live: LiveGraph, asked: str) -> Iterator[HealthItem]:
    try:
        kind, namespace, name = map(str, json.loads(asked))
    except (ValueError, TypeError) as error:
        raise WrongQuestion(f'{asked[:80]!r} is not ["dataset","NAMESPACE","NAME"], nor ["job", …].') from error
    if kind == "job":
        row = Catalog(live).job(Name(namespace, name))
        if row:
            yield reader.shown("job", Name(namespace, name), reader.of_job(row.key), [])
    elif here.snapshot.knows(dataset := here.snapshot.resolve(here.rules.names.canonical(namespace, name))):
        yield reader.shown_dataset(dataset)


def left_by_run(here: View, live: LiveGraph, key: str, now_us: int, limit: int) -> list[NotRefreshed]:
    """Return what a run that is over did not write, by its job's runs before, and what lies downstream of it.

    Of one that did not complete all that one of them wrote; of one that did only what all of them wrote.
    """
    reader = HealthReader(live, here.counted, now_us)
    run = reader.times.run(key)
    if run is None or run.state in ("RUNNING", "DECLARED"):
        return []
    before = [each for each in reader.times.completed(run.job, run.time_us) if each.run != run.run][:_FORMER]
    former = [reader.times.wrote(each.run) for each in before]
    if not former:
        return []
    usual = set.union(*former) if run.failed else set.intersection(*former)
    return list(_left(reader, sorted(usual - reader.times.wrote(run.run)), run.time_us, now_us))[:limit]


def _left(reader: HealthReader, outputs: Iterable[Name], since_us: int, now_us: int) -> Iterator[NotRefreshed]:
    """Yield datasets that were to be written, then what lies downstream of those that were not since."""
    found: dict[tuple[str, str], NotRefreshed] = {}
    for name in outputs:
        last = reader.times.last(reader.times.outputs(name), now_us)
        is_since = last is not None and last > since_us
        found[name.parts] = NotRefreshed(*name.parts, 0, iso(last), is_since)
        for each in () if is_since else reader.not_refreshed(name, since_us):
            known = found.get((each.namespace, each.dataset))
            if known is None or each.distance < known.distance:
                found[each.namespace, each.dataset] = each
    yield from sorted(found.values(), key=attrgetter("distance", "namespace", "dataset"))
