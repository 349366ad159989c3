"""Match entries of job histories with reported runs."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from headwater.events.times import iso_time
from headwater.governance.reconcile.histories.entry import HistoryEntry
from headwater.governance.reconcile.run_index import RunIndex, TimedRun
from headwater.lineage.runs.lost_runs import is_lost
from headwater.questions.answer_types.reports import Finding

_ADVICE_ENDED = (
    "Find out what stopped the driver or delayed its events. Events in the transport's queue are lost. Run it again."
)
_ADVICE_IDLE = (
    "If the driver is still idle, check again later or with a longer --silent. If it was killed, run it again."
)


class WaitTimes(NamedTuple):
    """How long to wait for missing events; all values are in us.

    complete_until_us: time up to which all events have certainly arrived (UTC). grace_us: wait after an execution's
    end.
    silent_us: wait after the last activity of an execution without an end. slack_us: tolerated difference between
    clocks.
    """

    complete_until_us: int
    grace_us: int
    silent_us: int
    slack_us: int


def unreported_executions(entries: Sequence[HistoryEntry], runs: RunIndex, wait_times: WaitTimes) -> Iterator[Finding]:
    """Yield findings about executions without lineage, and about executions and runs that never ended."""
    shared = Counter(each for entry in entries for each in entry.ids)
    joined: set[str] = set()
    for entry in entries:
        over_us = _ended_us(entry, wait_times)
        found, certain = _runs_of(entry, runs, wait_times, unique=all(shared[each] == 1 for each in entry.ids))
        joined.update(found)
        if over_us is None or over_us > wait_times.complete_until_us - wait_times.grace_us:
            continue  # it is running, or its events may still arrive
        if not found:
            yield _not_reported_finding(entry)
        elif entry.is_spark and not any(run.report.reads or run.report.writes for run in found.values()):
            yield _no_datasets_finding(entry, found)
        unended = _unended_runs(found)
        yield from (_never_ended_finding(entry, run, certain) for run in unended)
        if entry.ended_us is None and found and not unended:
            yield _missing_end_finding(entry, found)
    yield from _lost_run_findings(runs, joined, wait_times)


def _ended_us(entry: HistoryEntry, wait_times: WaitTimes) -> int | None:
    """Return the time (us) of an execution's end, or without an end, its last activity if that is long ago, or None."""
    if entry.ended_us is not None:
        return entry.ended_us
    silent = entry.seen_us is not None and entry.seen_us < wait_times.complete_until_us - wait_times.silent_us
    return entry.seen_us if silent else None


def _runs_of(
    entry: HistoryEntry, runs: RunIndex, wait_times: WaitTimes, *, unique: bool
) -> tuple[Mapping[str, TimedRun], bool]:
    """Return the runs of an execution by run id, and whether they contain an id of the execution.

    If no run contains an id, runs are matched by name and time.
    unique: whether no other entry has these ids; otherwise the time distinguishes attempts with the same id.
    """
    from_us, to_us = (
        entry.started_us - wait_times.slack_us,
        (entry.ended_us or wait_times.complete_until_us) + wait_times.slack_us,
    )
    called = runs.runs_by_ids(entry.ids)
    if not unique:
        called = {key: run for key, run in called.items() if run.started_us <= to_us and run.until_us >= from_us}
    if called:
        return called, True
    return runs.runs_by_name(entry.name, from_us, to_us), False


def _unended_runs(found: Mapping[str, TimedRun]) -> list[TimedRun]:
    """Return the top-level runs without an end; ignores child runs, because Spark often sends no end for RDD jobs."""
    tops = [run for run in found.values() if run.report.parent not in found]
    parents = {run.report.parent for run in found.values()}
    leading = [run for run in tops if run.report.id in parents]
    if leading or len(tops) == 1:
        return [run for run in leading or tops if _is_unended(run)]
    return tops[:1] if tops and all(_is_unended(run) for run in tops) else []


def _is_unended(run: TimedRun) -> bool:
    return not run.has_ended and not run.report.streaming


def _not_reported_finding(entry: HistoryEntry) -> Finding:
    return _make_finding(
        entry,
        kind="not_reported",
        certain=True,
        reason=f"{_describe_execution(entry)}. No event names it, and no run with its name was reported at that time.",
        advice="Configure the listener there. If it is configured, search the driver's log for `LINEAGE` and "
        "`openlineage`.",
    )


def _no_datasets_finding(entry: HistoryEntry, found: Mapping[str, TimedRun]) -> Finding:
    return _make_finding(
        entry,
        kind="no_datasets",
        certain=True,
        run=min(found.values(), key=lambda run: run.started_us).report.id,
        count=len(found),
        reason=f"{_describe_execution(entry)}. It sent events, but none of its {len(found)} runs names a dataset.",
        advice="No action is needed if it only uses RDDs, UDFs or APIs. Otherwise check whether the listener supports "
        "its Spark version.",
    )


def _never_ended_finding(entry: HistoryEntry, run: TimedRun, certain: bool) -> Finding:
    ended = entry.ended_us is not None
    return _make_finding(
        entry,
        kind="never_ended",
        certain=certain and ended,
        run=run.report.id,
        reason=f"{_describe_execution(entry)}, but its run {run.report.id} sent no end event. Its newest event is from "
        f"{run.report.last_event}.",
        advice=_ADVICE_ENDED if ended else _ADVICE_IDLE,
    )


def _missing_end_finding(entry: HistoryEntry, found: Mapping[str, TimedRun]) -> Finding:
    """Return a finding for an execution without an end in the history, although all its reported runs have ended.

    The application's own run may be missing, because a listener may fail to send or name it.
    """
    return _make_finding(
        entry,
        kind="never_ended",
        certain=False,
        count=len(found),
        reason=f"{_describe_execution(entry)}. "
        f"The history has no end for it, but its {len(found)} reported runs have ended.",
        advice=_ADVICE_IDLE,
    )


def _lost_run_findings(runs: RunIndex, joined: set[str], wait_times: WaitTimes) -> Iterator[Finding]:
    """Yield findings about lost runs (rule 1) that no history contains, without child runs.

    joined: ids of the runs that match an execution.
    """
    for run in runs.all:
        report = run.report
        lost = is_lost(
            has_ended=run.has_ended,
            is_streaming=report.streaming,
            last_us=run.last_us,
            now_us=wait_times.complete_until_us,
        )
        if lost and report.parent is None and report.id not in joined:
            yield Finding(
                kind="never_ended",
                certain=False,
                name=f"{report.job.namespace}/{report.job.name}",
                time=report.last_event,
                run=report.id,
                reason="It sent no end event and no other event for 24 h.",
                advice="Add the history of the system that runs it, which records whether it has ended.",
            )


def _describe_execution(entry: HistoryEntry) -> str:
    words = {"RUNNING": "was last active at", "SUCCEEDED": "succeeded at", "FAILED": "failed at"}
    state = words.get(entry.state, "ended at")
    return f"It started at {iso_time(entry.started_us)} and {state} {iso_time(entry.ended_us or entry.seen_us)}"


def _make_finding(entry: HistoryEntry, **fields: object) -> Finding:
    known = {"system": entry.system, "id": entry.id, "where": entry.where or None}
    time_us = entry.ended_us or entry.seen_us or entry.started_us
    return Finding(name=entry.name or entry.id, time=str(iso_time(time_us)), **known, **fields)  # type: ignore[arg-type]
