"""What job history remembers, held against the runs that landed."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from headwater.events.times import iso
from headwater.lineage.runs.lost_runs import is_lost
from headwater.questions.answers.report_answers import Finding
from headwater.reconcile.histories.history_entry import HistoryEntry
from headwater.reconcile.joining.landed_runs import LandedRun, LandedRuns

_LOOK_FOR_END = (
    "Look for what killed the driver or held its events: what a transport's queue held is lost. Run it again."
)
_LOOK_LATER = "If the driver still idles, look again later, or with a longer --silent; if it was killed, run it again."


class Patience(NamedTuple):
    """How long what is missing may yet come (us): grace: behind an end; silent: behind a last sign of life.

    slack: by how much clocks differ; now_us: up to when events have surely landed.
    """

    now_us: int
    grace_us: int
    silent_us: int
    slack_us: int


def unreported(entries: Sequence[HistoryEntry], runs: LandedRuns, by: Patience) -> Iterator[Finding]:
    """Yield what ran without lineage, and what began and never ended."""
    shared = Counter(each for entry in entries for each in entry.ids)
    joined: set[str] = set()
    for entry in entries:
        over_us = _over_us(entry, by)
        found, certain = _runs_of(entry, runs, by, alone=all(shared[each] == 1 for each in entry.ids))
        joined.update(found)
        if over_us is None or over_us > by.now_us - by.grace_us:
            continue  # it runs, or its events may be on their way
        if not found:
            yield _not_reported(entry)
        elif entry.is_spark and not any(run.said.reads or run.said.writes for run in found.values()):
            yield _no_datasets(entry, found)
        unended = _open(found)
        yield from (_never_ended(entry, run, certain) for run in unended)
        if entry.ended_us is None and found and not unended:
            yield _broken_off(entry, found)
    yield from _lost(runs, joined, by)


def _over_us(entry: HistoryEntry, by: Patience) -> int | None:
    """Return since when an execution is over: without an end since its last sign of life, if that is long ago."""
    if entry.ended_us is not None:
        return entry.ended_us
    silent = entry.seen_us is not None and entry.seen_us < by.now_us - by.silent_us
    return entry.seen_us if silent else None


def _runs_of(
    entry: HistoryEntry, runs: LandedRuns, by: Patience, *, alone: bool
) -> tuple[Mapping[str, LandedRun], bool]:
    """Return its runs, and whether their own words say so; attempts that share an id are told apart by time."""
    from_us, to_us = entry.started_us - by.slack_us, (entry.ended_us or by.now_us) + by.slack_us
    called = runs.called(entry.ids)
    if not alone:
        called = {key: run for key, run in called.items() if run.started_us <= to_us and run.until_us >= from_us}
    if called:
        return called, True
    return runs.named(entry.name, from_us, to_us), False


def _open(found: Mapping[str, LandedRun]) -> list[LandedRun]:
    """Return the runs on top that say no end. Jobs of RDDs below them often say none, which means nothing."""
    tops = [run for run in found.values() if run.said.parent not in found]
    parents = {run.said.parent for run in found.values()}
    leading = [run for run in tops if run.said.id in parents]
    if leading or len(tops) == 1:
        return [run for run in leading or tops if _runs_on(run)]
    return tops[:1] if tops and all(_runs_on(run) for run in tops) else []


def _runs_on(run: LandedRun) -> bool:
    return not run.has_ended and not run.said.streaming


def _not_reported(entry: HistoryEntry) -> Finding:
    return _finding(
        entry,
        kind="not_reported",
        certain=True,
        reason=f"{_it(entry)} and no event names it, nor a run of its name at that time.",
        advice="Configure the listener there; if it is, look in the driver's log for `LINEAGE` and `openlineage`.",
    )


def _no_datasets(entry: HistoryEntry, found: Mapping[str, LandedRun]) -> Finding:
    return _finding(
        entry,
        kind="no_datasets",
        certain=True,
        run=min(found.values(), key=lambda run: run.started_us).said.id,
        count=len(found),
        reason=f"{_it(entry)}; it reported, but none of its {len(found)} runs names a dataset.",
        advice="Nothing where it only works with RDDs, UDFs or APIs; else see whether the listener knows its version.",
    )


def _never_ended(entry: HistoryEntry, run: LandedRun, certain: bool) -> Finding:
    ended = entry.ended_us is not None
    return _finding(
        entry,
        kind="never_ended",
        certain=certain and ended,
        run=run.said.id,
        reason=f"{_it(entry)}, but its run {run.said.id} has no end; its newest event is of {run.said.last_event}.",
        advice=_LOOK_FOR_END if ended else _LOOK_LATER,
    )


def _broken_off(entry: HistoryEntry, found: Mapping[str, LandedRun]) -> Finding:
    """Tell it by the history alone: a listener may fail to send the application's own run, or to name it."""
    return _finding(
        entry,
        kind="never_ended",
        certain=False,
        count=len(found),
        reason=f"{_it(entry)}; its own history has no end of it, though its {len(found)} runs that landed have one.",
        advice=_LOOK_LATER,
    )


def _lost(runs: LandedRuns, joined: set[str], by: Patience) -> Iterator[Finding]:
    """Yield what no history remembers and what is lost by rule 1; what is part of another run is told with that one."""
    for run in runs.all:
        said = run.said
        lost = is_lost(has_ended=run.has_ended, is_streaming=said.streaming, last_us=run.last_us, now_us=by.now_us)
        if lost and said.parent is None and said.id not in joined:
            yield Finding(
                kind="never_ended",
                certain=False,
                name=f"{said.job.namespace}/{said.job.name}",
                time=said.last_event,
                run=said.id,
                reason="Nothing was heard of it for 24 h, and it said no end.",
                advice="Name the history of the system that it runs in, which knows whether it is over.",
            )


def _it(entry: HistoryEntry) -> str:
    state = {"RUNNING": "was heard of last", "SUCCEEDED": "succeeded", "FAILED": "failed"}.get(entry.state, "ended")
    return f"It began {iso(entry.started_us)}, {state} {iso(entry.ended_us or entry.seen_us)}"


def _finding(entry: HistoryEntry, **said: object) -> Finding:
    known = {"system": entry.system, "id": entry.id, "where": entry.where or None}
    time_us = entry.ended_us or entry.seen_us or entry.started_us
    return Finding(name=entry.name or entry.id, time=str(iso(time_us)), **known, **said)  # type: ignore[arg-type]
