"""The questions `datasets`, `jobs` and `runs`: filtered, sorted and paged lists."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from headwater.common.paging import Cell, ListPage, RowOrder, SortedRow
from headwater.events.times import iso_time
from headwater.index.reading.entity_lists import EntityLists, ListedDataset, ListedJob
from headwater.index.reading.jobs import original_names
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.run_lists import LOST, ListedRun, RunFilter, listed_runs
from headwater.lineage.rules.user_rules import UserRules, is_never_hidden
from headwater.lineage.runs.lost_runs import is_lost
from headwater.lineage.runs.run_facts import duration_us
from headwater.questions import parameters as p
from headwater.questions.answer_types.common import Job
from headwater.questions.answer_types.lists import (
    Choices,
    DatasetInList,
    Datasets,
    JobInList,
    Jobs,
    LastRun,
    RunInList,
    Runs,
)
from headwater.questions.conversions import former_location
from headwater.questions.declaring import parameter_group

_CHOICES = 200
_MINUTE_US = 60_000_000
T = TypeVar("T")


class ListFilter(NamedTuple):
    """A filter for datasets or jobs. Times are in us, UTC, and apply to the last write or the last event."""

    namespace: str | None
    owner: str | None
    tag: str | None
    state: str | None
    since_us: int | None
    until_us: int | None

    def matches(self, row: ListedDataset | ListedJob, job: ListedJob | None, time_us: int | None, now_us: int) -> bool:
        """Return whether a row matches. job: the job with the state to compare.

        time_us: the time to compare with `since_us` and `until_us`.
        """
        return (
            self.namespace in (None, row.name.namespace)
            and (self.owner is None or self.owner in row.owners)
            and (self.tag is None or self.tag.casefold() in map(str.casefold, row.tags))
            and (self.state is None or (job is not None and self.state in _states_for_filter(job, now_us)))
            and (self.since_us is None or (time_us is not None and time_us >= self.since_us))
            and (self.until_us is None or (time_us is not None and time_us < self.until_us))
        )


@parameter_group
def list_filter(
    *, namespace: p.InNamespace = None, owner: p.Owner = None, tag: p.Tagged = None, state: p.RunStateAsked = None,
    since: p.Since = None, until: p.Before = None,
) -> ListFilter:  # fmt: skip
    """Return the filter for datasets or jobs."""
    return ListFilter(namespace, owner, tag, state, since, until)


def datasets(
    live: LiveGraph, rules: UserRules, wanted: ListFilter, page: ListPage, now_us: int, *, system: bool,
    former: bool = False,
) -> Datasets:  # fmt: skip
    """Answer a page of datasets. system: include system tables. former: include former locations."""
    known, of = EntityLists(live, rules).datasets(), ("datasets", rules.rules_hash, former)
    is_former = live.naming.moved_names.former_location
    every = (
        known if former else live.cached_list((*of, "named"), lambda: [row for row in known if not is_former(row.name)])
    )
    hides = is_never_hidden if system else rules.is_system
    rows = live.cached_list((*of, system), lambda: [row for row in every if not hides(row.name)])
    left_out = [] if system else live.cached_list((*of, "hidden"), lambda: [row for row in every if hides(row.name)])
    hidden = sum(wanted.matches(row, row.written_by, row.written_us, now_us) for row in left_out)

    def sorted_rows() -> list[SortedRow[ListedDataset]]:
        fitting = (row for row in rows if wanted.matches(row, row.written_by, row.written_us, now_us))
        return _DATASETS.sorted_rows(fitting, page)

    cut = _DATASETS.page_from_sorted(_cached_rows(live, (*of, system), wanted, page, sorted_rows), page)
    items = [
        DatasetInList(
            *row.name.parts, list(row.owners), list(row.tags), row.column_count,
            iso_time(row.seen_us) or "", iso_time(row.written_us),
            Job(*row.written_by.name.parts) if row.written_by else None,
            row.written_by.integration if row.written_by else None,
            _last_run(row.written_by), former_location(live.naming, row.name),
        )
        for row in cut.rows
    ]  # fmt: skip
    (choices,) = _cached_choices(
        live, (*of, system), now_us, lambda: _filter_choices(rows, (row.written_by for row in rows), now_us)
    )
    return Datasets(items, hidden, len(known) - len(every), choices, **cut.info)


def jobs(live: LiveGraph, rules: UserRules, wanted: ListFilter, page: ListPage, now_us: int) -> Jobs:
    """Answer a page of jobs."""
    rows, of = EntityLists(live, rules).jobs(), ("jobs",)

    def sorted_rows() -> list[SortedRow[ListedJob]]:
        return _JOBS.sorted_rows((row for row in rows if wanted.matches(row, row, row.last_us, now_us)), page)

    cut = _JOBS.page_from_sorted(_cached_rows(live, of, wanted, page, sorted_rows), page)
    items = [
        JobInList(
            *row.name.parts, list(row.owners), list(row.tags), row.integration, row.processing,
            iso_time(row.last_us) or "",
            _last_run(row), original_names(live, row.name),
        )
        for row in cut.rows
    ]  # fmt: skip
    (choices,) = _cached_choices(live, of, now_us, lambda: _filter_choices(rows, rows, now_us))
    return Jobs(items, choices, **cut.info)


def _cached_rows(
    live: LiveGraph, cache_key: tuple[object, ...], wanted: ListFilter, page: ListPage,
    compute: Callable[[], Sequence[T]],
) -> Sequence[T]:  # fmt: skip
    """Return a sorted list, cached for its next pages.

    Lists filtered by state are not cached, because runs become lost.
    """
    return compute() if wanted.state else live.cached_list((*cache_key, wanted, page.sort, page.folded_text), compute)


def _cached_choices(
    live: LiveGraph, cache_key: tuple[object, ...], now_us: int, compute: Callable[[], Choices]
) -> Sequence[Choices]:  # fmt: skip
    """Return the filter choices of a list, cached for at most a minute, because runs become lost."""
    return live.cached_list((*cache_key, "choices", now_us // _MINUTE_US), lambda: [compute()])


def runs(live: LiveGraph, asked: RunFilter, page: ListPage, now_us: int) -> Runs:
    """Answer a page of runs."""
    cut = listed_runs(live, asked, page, now_us)
    return Runs([_to_run_in_list(row) for row in cut.rows], **cut.info)


def _to_run_in_list(row: ListedRun) -> RunInList:
    started, ended, heard = iso_time(row.started_us), iso_time(row.ended_us), iso_time(row.time_us) or ""
    took = _duration_s(row.started_us, row.ended_us)
    return RunInList(row.key, Job(*row.job.parts), row.state, row.processing, started, ended, heard, took)


def _last_run(job: ListedJob | None) -> LastRun | None:
    if job is None or job.run is None:
        return None
    took = _duration_s(job.started_us, job.ended_us)
    return LastRun(job.run, job.state or "", iso_time(job.started_us), iso_time(job.ended_us), took)


def _duration_s(started_us: int | None, ended_us: int | None) -> float | None:
    took_us = duration_us(started_us, ended_us)
    return None if took_us is None else took_us / 1_000_000


def _states_for_filter(job: ListedJob, now_us: int) -> tuple[str, ...]:
    if job.state is None or job.newest_event_us is None:
        return ()
    has_ended, is_streaming = job.state != "RUNNING", job.processing != "BATCH"
    lost = is_lost(has_ended=has_ended, is_streaming=is_streaming, last_us=job.newest_event_us, now_us=now_us)
    return (job.state, LOST) if lost else (job.state,)


def _filter_choices(
    rows: Sequence[ListedDataset] | Sequence[ListedJob], of_jobs: Iterable[ListedJob | None], now_us: int
) -> Choices:
    return Choices(
        _most_frequent(row.name.namespace for row in rows),
        _most_frequent(owner for row in rows for owner in row.owners),
        _most_frequent(tag for row in rows for tag in row.tags),
        _most_frequent(state for job in of_jobs if job for state in _states_for_filter(job, now_us)),
    )


def _most_frequent(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items(), key=lambda each: (-each[1], each[0]))[:_CHOICES])


def _job_member(job: ListedJob | None, member: str) -> Cell:
    found: Cell = getattr(job, member) if job else None
    return found


_DATASETS = RowOrder[ListedDataset](
    "datasets",
    {
        "name": lambda row: row.name.name, "namespace": lambda row: row.name.namespace,
        "owners": lambda row: ", ".join(row.owners), "tags": lambda row: ", ".join(row.tags),
        "columns": lambda row: row.column_count, "last_seen": lambda row: row.seen_us,
        "last_written": lambda row: row.written_us,
        "job": lambda row: row.written_by.name.name if row.written_by else None,
        "integration": lambda row: _job_member(row.written_by, "integration"),
        "state": lambda row: _job_member(row.written_by, "state"),
        "duration": lambda row: (
            _duration_s(row.written_by.started_us, row.written_by.ended_us) if row.written_by else None
        ),
    },
    "name",
    lambda row: row.name.parts,
    ties=2,
    texts=lambda row: (*row.name.parts, *row.owners, *row.tags),
)  # fmt: skip
_JOBS = RowOrder[ListedJob](
    "jobs",
    {
        "name": lambda row: row.name.name, "namespace": lambda row: row.name.namespace,
        "owners": lambda row: ", ".join(row.owners), "tags": lambda row: ", ".join(row.tags),
        "integration": lambda row: row.integration, "processing": lambda row: row.processing,
        "last_seen": lambda row: row.last_us, "state": lambda row: row.state,
        "started": lambda row: row.started_us, "duration": lambda row: _duration_s(row.started_us, row.ended_us),
    },
    "name",
    lambda row: row.name.parts,
    ties=2,
    texts=lambda row: (*row.name.parts, *row.owners, *row.tags),
)  # fmt: skip
