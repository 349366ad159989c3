"""The question `health`: one dataset or job, the list of problems, emptied tables, and the effects of a run."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import count
from operator import attrgetter
from typing import NamedTuple

from msgspec.structs import replace

from headwater.common.errors import WrongQuestion
from headwater.events.times import iso_time
from headwater.index.reading.catalog import Catalog
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.run_history import RunHistory
from headwater.index.reading.view_opener import ViewOpener
from headwater.index.stored.events import EventPlace
from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_bodies import StoredBody, events_at
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.snapshots.as_of import AsOf, View
from headwater.questions.about import about_from_facets, decode_facets
from headwater.questions.answer_types.health import (
    About,
    HealthAnswer,
    HealthItem,
    HealthOfShown,
    NotRefreshed,
    Status,
)
from headwater.questions.failed_ancestors import failed_ancestors
from headwater.questions.health_reader import HealthCache, HealthReader, HealthState
from headwater.questions.owners import OwnerReader
from headwater.questions.run_details import row_count_in
from headwater.questions.subjects import Subject, find_dataset, find_job

_WRITES = 6
"""Number of newest writes of a dataset from which row counts are compared."""

_EVENTS = 5
"""Number of newest events of a run that are read for its row count."""


class ReplacedTable(NamedTuple):
    """A dataset for which the newest write replaced all rows.

    writes: for each of the newest writes, newest first, the bronze positions of the run's events.
    """

    writes: list[set[EventPlace]]


class EmptiedTable(NamedTuple):
    """An emptied dataset.

    rows_before: row count of the newest earlier write with rows; None if no earlier write reported a row count.
    """

    rows_before: int | None

    def mark_as_emptied(self, item: HealthItem) -> HealthItem:
        """Return the health item of the dataset with the count, status and reason."""
        if self.rows_before is None:
            reason = "the newest write replaced all rows with 0 rows; no earlier write reports its row count"
            status: Status = "unknown" if item.status == "ok" else item.status
        else:
            reason = f"emptied: the newest write replaced all rows with 0 rows, an earlier one wrote {self.rows_before}"
            status = "failed"
        return replace(item, status=status, reason=f"{reason}; {item.reason}", rows=0, rows_before=self.rows_before)


def replaced_tables(live: LiveGraph, reader: HealthReader, names: Iterable[Name]) -> dict[Name, ReplacedTable]:
    """Return the datasets for which the newest write replaced all rows.

    live: the caller locks it to one generation during the call.
    """
    history, found = RunHistory(live), {}
    for name in names:
        outputs = reader.times.job_outputs_of(name)
        writes = reader.times.newest_writes(outputs)[:_WRITES]
        if writes and reader.times.is_whole_rewrite(writes[0].run, outputs):
            places = [history.event_places(reader.times.run_key(write.run), _EVENTS) for write in writes]
            found[name] = ReplacedTable(places)
    return found


def emptied_tables(
    bronze: Bronze, names: NameRules, candidates: Mapping[Name, ReplacedTable]
) -> dict[Name, EmptiedTable]:
    """Return the emptied datasets.

    This function reads bronze, which is slow, so call it without holding the index.
    """
    if not candidates or not bronze.exists():
        return {}
    newest = events_at(bronze, set().union(*(each.writes[0] for each in candidates.values())))
    zero = {
        name: each for name, each in candidates.items() if _written_row_count(newest, each.writes[0], name, names) == 0
    }
    before = set[EventPlace]().union(*(places for each in zero.values() for places in each.writes[1:]))
    older = events_at(bronze, before) if before else {}
    found: dict[Name, EmptiedTable] = {}
    for name, each in zero.items():
        counts = [_written_row_count(older, places, name, names) for places in each.writes[1:]]
        rows = next((count for count in counts if count), None)
        if rows is not None or (counts and all(count is None for count in counts)):
            found[name] = EmptiedTable(rows)
    return found


def _written_row_count(
    events: Mapping[EventPlace, StoredBody], places: set[EventPlace], name: Name, names: NameRules
) -> int | None:
    counts = (row_count_in(events[place].body, name, names) for place in places if place in events)
    return max((rows for rows in counts if rows is not None), default=None)


_WORST: tuple[Status, ...] = ("failed", "late", "stale")
_BATCH = 500
_CHECKED = 200
"""Maximum number of healthy datasets for which the list checks row counts. The most recently written are checked."""

_PREVIOUS_RUNS = 5
"""Number of earlier runs of a job that are read to find its expected outputs."""

MAX_SHOWN = 100
"""Maximum number of datasets and jobs in one request of `health/shown`."""


def health_of_dataset(view: View, live: LiveGraph, asked: Subject, now_us: int, limit: int) -> HealthAnswer:
    """Answer the health of a dataset, its owners, and the datasets downstream that its problem makes stale."""
    reader = HealthReader(live, view.counted_edges, now_us)
    name = find_dataset(view.snapshot, view.rules.names, asked, in_events=True)
    about = about_from_facets(
        decode_facets(Catalog(live).dataset_facets(name, excluded={"schema"})), live.current_tags().get(name, ())
    )
    about.owners = OwnerReader(live, view.rules).owners_of(name)
    never = reader.health_of_never_written(name)
    if never is not None:
        state, runs = never
        found = _single_health_answer(reader.health_item("dataset", name, state, []), about, (), limit)
        found.never_written = True
        found.failed_runs = [reader.run_for_answer(run) for run in runs if run.has_failed][:limit]
        return found
    state, item = reader.dataset_health(name), reader.dataset_health_item(name)
    waiting = [] if state.since_us is None else reader.downstream_not_refreshed(name, state.since_us)
    return _single_health_answer(item, about, waiting, limit)


def health_of_dataset_with_row_counts(
    open_views: ViewOpener, asked: Subject, now_us: int, limit: int, bronze: Bronze
) -> HealthAnswer:  # fmt: skip
    """Answer as `health_of_dataset`, and check the row counts of its newest writes in bronze."""
    with open_views.open_view_and_index(AsOf()) as (view, live):
        answer = health_of_dataset(view, live, asked, now_us, limit)
        (item,) = answer.items
        name, names = Name(item.namespace, item.name), view.rules.names
        candidates = replaced_tables(live, HealthReader(live, view.counted_edges, now_us), [name])
    found = emptied_tables(bronze, names, candidates).get(name)
    if found is not None:
        answer.items = [found.mark_as_emptied(item)]
        answer.statuses = {answer.items[0].status: 1}
    return answer


def health_of_job(view: View, live: LiveGraph, asked: tuple[str | None, str], now_us: int, limit: int) -> HealthAnswer:
    """Answer the health of a job, its owners, and the datasets that it has not refreshed."""
    reader, (namespace, called) = HealthReader(live, view.counted_edges, now_us), asked
    row = Catalog(live).find_job(Name(namespace, called)) if namespace is not None else None
    key = row.key_number if row else None
    if key is None:
        every = (live.names.name(number) for number in reader.times.job_key_numbers())
        key = live.names.find_number(find_job(view.snapshot, every, namespace, called)) or 0
    state, shown = reader.job_health(key), live.job_name(live.names.name(key))
    outputs = {name.without_generation for name in reader.times.datasets_written_by_job(key)}
    waiting = [] if state.since_us is None else _outputs_not_refreshed(reader, sorted(outputs), state.since_us, now_us)
    about = about_from_facets(decode_facets(Catalog(live).job_facets(shown)))
    about.owners = OwnerReader(live, view.rules).owners_of_job(live.names.name(key))
    return _single_health_answer(reader.health_item("job", shown, state, []), about, waiting, limit)


def _single_health_answer(item: HealthItem, about: About, waiting: Iterable[NotRefreshed], limit: int) -> HealthAnswer:
    found = list(waiting)
    return HealthAnswer([item], {item.status: 1}, about, found[:limit], False, [], 1, len(found) > limit)


def list_health_problems(
    open_views: ViewOpener,
    now_us: int,
    only_status: Status | None,
    limit: int,
    bronze: Bronze | None = None,
    *,
    max_checks: int = _BATCH,
) -> HealthAnswer:
    """Answer everything that failed, is late or stale, worst status first, then newest first.

    only_status: list only this status. bronze: source of the row counts of the newest writes; None omits this check.
    max_checks: number of items to check before the index is released for other questions.
    """
    for some in count(max_checks, max_checks):  # larger batches each time, so that it ends despite new events
        with open_views.open_view_and_index(AsOf()) as (view, live):
            known = live.cached_across_generations("health", HealthCache)
            reader = HealthReader(live, view.counted_edges, known.answer_time_us(now_us))
            if known.check_due_items(live, reader, some):
                names = view.rules.names
                answer, stale = _find_problems(live, reader, known, only_status, limit)
                datasets = known.datasets.items()
                well = ((each.success_us, name) for name, each in datasets if not each.problem and name not in stale)
                newest = sorted(((us, name) for us, name in well if us is not None), reverse=True)[:_CHECKED]
                candidates = replaced_tables(live, reader, [name for _, name in newest]) if bronze else {}
                break
    else:
        raise AssertionError  # count() never ends
    found = emptied_tables(bronze, names, candidates) if bronze else {}
    lost = {name: each for name, each in found.items() if each.rows_before is not None}
    if not lost:
        return answer
    with open_views.open_view_and_index(AsOf()) as (view, live):
        reader = HealthReader(live, view.counted_edges, now_us)
        items = [
            each.mark_as_emptied(reader.health_item("dataset", name, reader.dataset_health(name), []))
            for name, each in lost.items()
        ]
    return _insert_emptied_datasets(answer, items, only_status, limit)


def _insert_emptied_datasets(
    answer: HealthAnswer, items: list[HealthItem], only: Status | None, limit: int
) -> HealthAnswer:
    """Return the list of problems with emptied datasets inserted after the failed items."""
    added = items if only in (None, "failed") else []
    failed = [each for each in answer.items if each.status == "failed"]
    listed = [*failed, *added, *(each for each in answer.items if each.status != "failed")]
    statuses: dict[Status, int] = {**answer.statuses, "failed": answer.statuses["failed"] + len(items)}
    total = answer.totalCount + len(added)
    return HealthAnswer(listed[:limit], statuses, None, [], False, [], total, total > limit)


def _find_problems(
    live: LiveGraph, reader: HealthReader, known: HealthCache, only: Status | None, limit: int
) -> tuple[HealthAnswer, Set[Name]]:
    """Return (list of problems from the health cache, stale datasets)."""
    roots = {name: each.problem for name, each in known.datasets.items() if each.problem}
    stale = _stale_datasets(reader, roots, known)
    jobs = {job: each.problem for job, each in known.jobs.items() if each.problem}
    above = _failed_jobs_upstream(reader, jobs)
    folded = set[int]().union(*above.values())
    found: list[tuple[Status, int, str, Name, HealthState | None, list[Name], list[Name]]] = [
        *((state.status, -(state.since_us or 0), "dataset", name, state, [], []) for name, state in roots.items()),
        *(
            (
                state.status,
                -(state.since_us or 0),
                "job",
                _job_display_name(live, job),
                state,
                [],
                [_job_display_name(live, each) for each in above[job]],
            )
            for job, state in jobs.items()
            if job not in folded
        ),
        *(("stale", -(roots[root].since_us or 0), "dataset", name, None, [root], []) for name, root in stale.items()),
    ]
    counts = Counter(each[0] for each in found)
    found = [each for each in found if only is None or each[0] == only]
    found.sort(key=lambda each: (_WORST.index(each[0]), *each[1:4]))
    items = [
        reader.health_item(kind, name, state or reader.dataset_health(name), root, failed_with)
        for _, _, kind, name, state, root, failed_with in found[:limit]
    ]
    statuses = {word: counts[word] for word in _WORST}
    return HealthAnswer(items, statuses, None, [], False, [], len(found), len(found) > limit), stale.keys()


def _job_display_name(live: LiveGraph, key: int) -> Name:
    return live.job_name(live.names.name(key))


def _failed_jobs_upstream(reader: HealthReader, jobs: Mapping[int, HealthState]) -> dict[int, list[int]]:
    """Return for each failed job the failed jobs that contain it, nearest first.

    The failed run of a containing job is a parent of the job's failed run. For example, a failed task makes its DAG
    fail: both are one incident, and the run of the task has the error.
    """
    failed = {state.run.run: job for job, state in jobs.items() if state.status == "failed" and state.run}
    above = failed_ancestors(reader.times, failed.keys())
    found: dict[int, list[int]] = {job: [] for job in jobs}
    return found | {job: [failed[each] for each in above[run]] for run, job in failed.items()}


def _stale_datasets(reader: HealthReader, roots: dict[Name, HealthState], known: HealthCache) -> dict[Name, Name]:
    """Return the stale datasets with the newest upstream problem of each.

    Problems are processed from the newest to the oldest. A dataset that was reached from a newer problem, and the
    datasets downstream of it, are not visited again.
    """
    seen: set[int] = set()
    found: dict[Name, Name] = {}
    for root, state in sorted(roots.items(), key=lambda item: (-(item[1].since_us or 0), item[0])):
        for name, _ in reader.connected_datasets(root, forward=True, seen=seen):
            cached = known.datasets.get(name)
            if not cached or cached.problem or cached.success_us is None:
                continue
            if cached.success_us < (state.since_us or 0):
                found[name] = root
    return found


def health_of_graph(view: View, live: LiveGraph, ids: tuple[str, ...], now_us: int) -> HealthOfShown:
    """Answer the health of datasets and jobs in a graph, each requested as JSON `["dataset","namespace","name"]`."""
    if len(ids) > MAX_SHOWN:
        raise WrongQuestion(f"The request names {len(ids)} datasets and jobs. Name at most {MAX_SHOWN}.")
    reader = HealthReader(live, view.counted_edges, now_us)
    return HealthOfShown([item for each in ids for item in _health_items_of(reader, view, live, each)])


def _health_items_of(reader: HealthReader, view: View, live: LiveGraph, asked: str) -> Iterator[HealthItem]:
    try:
        kind, namespace, name = map(str, json.loads(asked))
    except (ValueError, TypeError) as error:
        raise WrongQuestion(
            f'{asked[:80]!r} is not a JSON list. Write ["dataset","NAMESPACE","NAME"] or ["job","NAMESPACE","NAME"].'
        ) from error
    if kind == "job":
        row = Catalog(live).find_job(Name(namespace, name))
        if row:
            yield reader.health_item("job", Name(namespace, name), reader.job_health(row.key_number), [])
    elif view.snapshot.has_lineage_or_schema(
        dataset := view.snapshot.resolve(view.rules.names.canonical(namespace, name))
    ):
        yield reader.dataset_health_item(dataset)


def not_refreshed_by_run(view: View, live: LiveGraph, key: str, now_us: int, limit: int) -> list[NotRefreshed]:
    """Return the expected outputs that a finished run did not write, and the datasets downstream of them.

    The expected outputs of a failed run are all datasets that any of the previous runs of its job wrote. The expected
    outputs of another run are the datasets that all of these previous runs wrote.
    """
    reader = HealthReader(live, view.counted_edges, now_us)
    run = reader.times.run_by_key(key)
    if run is None or run.state in ("RUNNING", "DECLARED"):
        return []
    before = [each for each in reader.times.newest_completed_runs(run.job, run.time_us) if each.run != run.run][
        :_PREVIOUS_RUNS
    ]
    former = [reader.times.datasets_written_by_run(each.run) for each in before]
    if not former:
        return []
    usual = set.union(*former) if run.has_failed else set.intersection(*former)
    missing = sorted(usual - reader.times.datasets_written_by_run(run.run))
    return list(_outputs_not_refreshed(reader, missing, run.time_us, now_us))[:limit]


def _outputs_not_refreshed(
    reader: HealthReader, outputs: Iterable[Name], since_us: int, now_us: int
) -> Iterator[NotRefreshed]:
    """Yield the expected outputs, and the datasets downstream of each output that was not written after a moment.

    since_us: this moment (us).
    """
    found: dict[tuple[str, str], NotRefreshed] = {}
    for name in outputs:
        last = reader.times.last_write_us(reader.times.job_outputs_of(name), now_us)
        is_since = last is not None and last > since_us
        found[name.parts] = NotRefreshed(*name.parts, 0, iso_time(last), is_since)
        for each in () if is_since else reader.downstream_not_refreshed(name, since_us):
            known = found.get((each.namespace, each.dataset))
            if known is None or each.distance < known.distance:
                found[each.namespace, each.dataset] = each
    yield from sorted(found.values(), key=attrgetter("distance", "namespace", "dataset"))
