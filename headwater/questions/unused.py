"""The question `unused`: verdict, reason and caveats of columns."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cache
from typing import get_args

from msgspec import UNSET

from headwater.common.paging import ListPage, RowOrder
from headwater.events.times import iso_time
from headwater.lineage.edges.accounted_columns import ALL_COLUMNS
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import UserRules, is_never_hidden
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.snapshots.named_columns import verdict_columns
from headwater.lineage.snapshots.snapshot import Snapshot, Window
from headwater.lineage.snapshots.whole_rewrites import DAY_US
from headwater.lineage.traversal.column_verdicts import (
    ATTEMPT,
    UNACCOUNTED,
    ColumnVerdict,
    VerdictSubject,
    column_verdicts,
    only_displays,
)
from headwater.questions.answer_types.columns import (
    DatasetReaders,
    Reason,
    Showing,
    Unused,
    Verdict,
    Verdicts,
    Word,
)
from headwater.questions.answer_types.common import Job, JobUnread
from headwater.questions.conversions import former_location
from headwater.questions.incomplete_lineage import describe_unfinished_runs, events_removed_before_day, unfinished_runs
from headwater.questions.subjects import Subject, find_dataset

_Row = tuple[Name, ColumnVerdict]


def verdicts_answer(
    snapshot: Snapshot, rules: UserRules, counted: CountedEdges, *, asked: Subject | None, page: ListPage,
    only: Word | None = None, strict: bool = False, hides: Callable[[Name], bool] = is_never_hidden,
    window: Window | None = None, former: bool = False,
) -> Unused:  # fmt: skip
    """Return which columns of a dataset, or of all datasets, are used, unused, or unknown.

    only: list only this verdict. strict: a batch job that read a dataset and wrote nothing may have used all its
    columns.
    hides: a predicate for datasets to omit. It is not applied to a requested dataset, and hidden datasets still count
    as readers. window: the period of executions that `counted` takes into account. former: include columns of former
    locations.
    """
    is_former = snapshot.naming.moved_names.former_location
    every = () if asked else snapshot.current_names(attempted=True)
    there = [each for each in every if former or not is_former(each)]
    datasets = [find_dataset(snapshot, rules.names, asked)] if asked else [each for each in there if not hides(each)]
    rows = [
        (dataset, each)
        for dataset in datasets
        for each in dataset_verdicts(snapshot, rules, counted, dataset, strict=strict)
    ]
    cut = _row_order(snapshot).page((row for row in rows if only in (None, row[1].verdict)), page)
    counts = Counter[Word](each.verdict for _, each in rows)
    reasons = Counter[tuple[Word, str]]((each.verdict, each.reason) for _, each in rows)
    shown = dict.fromkeys(dataset for dataset, _ in cut.rows)
    readers = {dataset: _dataset_readers(snapshot, counted, dataset) for dataset in shown}
    return Unused(
        _to_verdicts(snapshot, counted, cut.rows, {dataset: at for at, dataset in enumerate(readers)}, window),
        list(readers.values()),
        Verdicts(**{word: counts[word] for word in get_args(Word)}),
        [Reason(*why, count) for why, count in sorted(reasons.items(), key=lambda each: (-each[1], each[0]))],
        hidden=0 if asked else len(there) - len(datasets),
        former_hidden=len(every) - len(there),
        **cut.info,
    )


def _row_order(snapshot: Snapshot) -> RowOrder[_Row]:
    def column(row: _Row) -> str | None:
        return snapshot.shown_columns(row[0]).displayed_spelling(row[1].key)

    return RowOrder(
        "unused",
        {
            "namespace": lambda row: row[0].namespace,
            "dataset": lambda row: row[0].name,
            "column": column,
            "verdict": lambda row: row[1].verdict,
            "reason": lambda row: row[1].reason,
            "observed_since": lambda row: observed_since_us(snapshot, row[1]),
            "last_used": lambda row: last_used_us(snapshot, row[1]),
        },
        "namespace",
        lambda row: (*row[0].parts, row[1].key),
        ties=3,
        texts=lambda row: (*row[0].parts, column(row), row[1].reason),
    )


def last_used_us(snapshot: Snapshot, verdict: ColumnVerdict) -> int | None:
    """Return the time (us) of the last use of a column by a run; None if no use is known."""
    return max((snapshot.report_times(number).last_us for number in verdict.ever_used_by), default=None)


def observed_since_us(snapshot: Snapshot, verdict: ColumnVerdict) -> int | None:
    """Return the start of the period that proves a verdict: for unused columns, the first read of the dataset."""
    return min((snapshot.report_times(number).first_us for number in _proof_edge_sets(verdict)), default=None)


def _proof_edge_sets(verdict: ColumnVerdict) -> tuple[int, ...]:
    return verdict.ever_readers if verdict.verdict == "unused" else verdict.edge_sets


def dataset_verdicts(
    snapshot: Snapshot, rules: UserRules, counted: CountedEdges, dataset: Name, *, strict: bool = False
) -> list[ColumnVerdict]:
    """Return the verdicts of the columns of a dataset. The list is empty if the dataset is dropped."""
    if not counted.shows_dropped and not snapshot.exists(dataset):
        return []
    columns = verdict_columns(snapshot, dataset)
    consumers: dict[str | None, list[str]] = {}
    for consumer in rules.consumers_of(*dataset.parts):
        for key, name in columns.by_key.items():
            if consumer.is_reader_of(name):
                consumers.setdefault(key, []).append(consumer.consumer)
    numbers = counted.lifetimes.all_generations(dataset)
    newest = counted.lifetimes.existing_generation(dataset)
    locations = (dataset, *snapshot.naming.moved_names.other_current_locations(dataset))
    ever_read = any(map(snapshot.was_read_to_write, locations))
    removed_before = events_removed_before_day(snapshot)
    subject = VerdictSubject(numbers, newest, columns, consumers, ever_read, strict, removed_before, locations)
    return column_verdicts(snapshot.graph, subject, counted)


def _to_verdicts(
    snapshot: Snapshot,
    counted: CountedEdges,
    rows: Sequence[_Row],
    positions: Mapping[Name, int],
    window: Window | None,
) -> list[Verdict]:
    """Convert verdicts for an answer. positions: maps each dataset to its index in the list `readers` of the answer."""

    @cache
    def caveats(dataset: Name) -> list[str]:
        return _proof_caveats(snapshot, counted, dataset)

    @cache
    def first_seen(edge_sets: tuple[int, ...]) -> int | None:
        return min((snapshot.report_times(number).first_us for number in edge_sets), default=None)

    reason_of = reason_formatter(snapshot)
    return [
        _to_verdict(
            snapshot,
            dataset,
            each,
            reason=reason_of(each),
            caveats=[
                *caveats(dataset),
                *_short_observation_caveat(snapshot, first_seen(_proof_edge_sets(each)), window),
            ],
            readers=positions[dataset],
            since_us=first_seen(_proof_edge_sets(each)),
            presumed=counted.presumed_retired,
        )
        for dataset, each in rows
    ]


def _short_observation_caveat(snapshot: Snapshot, since_us: int | None, window: Window | None) -> list[str]:
    """Return a caveat if readers are known for less time than the window."""
    begin_us = window and snapshot.window_start_us(window)
    if window is None or begin_us is None or since_us is None or since_us <= begin_us:
        return []
    days = (begin_us + window.length_us - since_us) // DAY_US
    return [f"Observed for {days} of {window.length_us // DAY_US} days."]


def _to_verdict(
    snapshot: Snapshot, dataset: Name, each: ColumnVerdict, *, reason: str, caveats: list[str], readers: int,
    since_us: int | None, presumed: Set[int],
) -> Verdict:  # fmt: skip
    return Verdict(
        *dataset.parts,
        snapshot.shown_columns(dataset).displayed_spelling(each.key),
        each.verdict,
        reason,
        [*caveats, *_display_jobs_caveat(snapshot, each)] if each.verdict == "unused" else [],
        _jobs_for_answer(snapshot, each.edge_sets, presumed) if each.verdict == "used" else [],
        each.recreated,
        _display_jobs(snapshot, each.display_only),
        list(each.consumers),
        readers,
        iso_time(since_us),
        iso_time(last_used_us(snapshot, each)),
        each.earlier,
        snapshot.is_named_only_by_readers(dataset, each.key),
        each.presumed_retired or UNSET,
    )


def _display_jobs_caveat(snapshot: Snapshot, verdict: ColumnVerdict) -> list[str]:
    """Return a caveat that names the batch jobs that read a dataset and wrote nothing, with the times of their runs."""
    found = _display_jobs(snapshot, verdict.display_only)
    named_jobs = [f"{each.job.name} at {each.time}" for each in found[:_MAX_NAMED]]
    more = len(found) - _MAX_NAMED
    names = ", ".join(named_jobs) + (f" and {more} more" if more > 0 else "")
    return (
        [f"Jobs read it and wrote nothing; they do not report which columns they used: {names}."] if named_jobs else []
    )


def _job_keys(snapshot: Snapshot, edge_sets: Iterable[int]) -> list[Name]:
    return sorted({snapshot.graph.edge_sets[number][0].job for number in edge_sets})


def _jobs_for_answer(snapshot: Snapshot, edge_sets: Iterable[int], presumed: Set[int]) -> list[Job]:
    """Return the jobs of edge sets, sorted by name. Jobs that are presumed retired come last."""
    numbers = set(edge_sets)
    jobs = (*_job_keys(snapshot, numbers - presumed), *_job_keys(snapshot, numbers & presumed))
    return [Job(*snapshot.job_name(job).parts) for job in dict.fromkeys(jobs)]


def reason_formatter(snapshot: Snapshot) -> Callable[[ColumnVerdict], str]:
    """Return a function that formats the reason of a verdict, for index and gold. An `unknown` names its jobs."""

    @cache
    def readers_text(reason: str, edge_sets: tuple[int, ...]) -> str:
        if reason == ATTEMPT:
            return describe_unfinished_runs(snapshot, edge_sets)
        jobs = first_jobs_text(snapshot, edge_sets)
        return f"{jobs} ({_unaccounted_columns_text(snapshot, edge_sets)})" if reason == UNACCOUNTED else jobs

    def display_jobs_text(verdict: ColumnVerdict) -> str:
        named = verdict.verdict == "unknown" and verdict.edge_sets
        return f"{verdict.reason}: {readers_text(verdict.reason, verdict.edge_sets)}" if named else verdict.reason

    return display_jobs_text


def _unaccounted_columns_text(snapshot: Snapshot, edge_sets: tuple[int, ...]) -> str:
    """Return the first columns that readers do not account for."""
    found_sets = [snapshot.graph.edge_sets[number][1] for number in edge_sets]
    found = {(each.output, key) for each in found_sets if each.output for key in each.unaccounted_columns}
    names = [
        f"all of {output.name}" if key == ALL_COLUMNS else snapshot.columns(output).displayed_spelling(key)
        for output, key in sorted(found)
    ]
    return _first_names_text(list(dict.fromkeys(names)))


def first_jobs_text(snapshot: Snapshot, edge_sets: tuple[int, ...]) -> str:
    """Return a text with the names of the first jobs and the number of further jobs.

    A dataset may have hundreds of readers.
    """
    return _first_names_text([snapshot.job_name(job).name for job in _job_keys(snapshot, edge_sets)])


def _first_names_text(names: Sequence[str]) -> str:
    more = len(names) - _MAX_NAMED
    return ", ".join(names[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


_MAX_NAMED = 3


def _dataset_readers(snapshot: Snapshot, counted: CountedEdges, dataset: Name) -> DatasetReaders:
    graph, counted = snapshot.graph, counted.with_earlier_uses()
    feeds = {
        (number, each)
        for each in counted.lifetimes.all_generations(dataset)
        for number in graph.edge_sets_reading(each)
        if counted.is_counted(number) or counted.reading_mask[number]
    }
    possibly_open = ((number, each) for number, each in feeds if number in graph.possibly_open)
    opaque = {
        number
        for number, each in possibly_open
        if graph.is_opaque(number, each) or graph.may_use_unaccounted(number, each)
    }
    shown = {number for number, each in feeds if only_displays(graph, number, each)}

    readers, presumed = {number for number, _ in feeds}, counted.presumed_retired
    attempts = {
        number
        for each in counted.lifetimes.all_generations(dataset)
        for number in counted.attempted.intersection(graph.attempts_reading(each))
        if graph.attempt_may_use(number, each)
    }
    return DatasetReaders(
        *dataset.parts,
        _jobs_for_answer(snapshot, readers, presumed),
        _jobs_for_answer(snapshot, opaque, presumed),
        _display_jobs(snapshot, shown),
        unfinished_runs(snapshot, attempts),
        _jobs_with_unread_sql(snapshot, readers),
        former_location(snapshot.naming, dataset),
        _jobs_for_answer(snapshot, readers & presumed, presumed) or UNSET,
    )


def _jobs_with_unread_sql(snapshot: Snapshot, edge_sets: Iterable[int]) -> list[JobUnread]:
    """Return the jobs with SQL that was not used for lineage, or only in part, with the reasons."""
    found_sets = [snapshot.graph.edge_sets[number] for number in edge_sets]
    found = {
        (snapshot.job_name(job_output.job).parts, lineage.unread_sql_reason)
        for job_output, lineage in found_sets
        if lineage.unread_sql_reason
    }
    return [JobUnread(Job(*job), reason) for job, reason in sorted(found)]


def _display_jobs(snapshot: Snapshot, edge_sets: Iterable[int]) -> list[Showing]:
    """Return jobs with the time of their last read, newest first."""
    found = [
        Showing(
            Job(*snapshot.job_name(snapshot.graph.edge_sets[number][0].job).parts),
            iso_time(snapshot.report_times(number).last_us),
        )
        for number in edge_sets
    ]
    found.sort(key=lambda each: (each.job.namespace, each.job.name))
    return sorted(found, key=lambda each: each.time or "", reverse=True)


def _proof_caveats(snapshot: Snapshot, counted: CountedEdges, dataset: Name) -> list[str]:
    """Return the limits of proofs by reported lineage."""
    found = ["Readers that report no lineage (ad-hoc queries, BI tools) are unknown; declare them as consumers."]
    number = counted.lifetimes.newest_with_lineage(dataset)
    writers = snapshot.graph.writers_by_dataset.get(number, ()) if number is not None else ()
    if not any(map(counted.is_counted, writers)):
        found.append("No reported job writes this dataset, so its origin is unknown.")
    return found
