"""Why lineage may be incomplete: runs that did not complete, and events that retention removed."""

from collections.abc import Iterable, Iterator

from headwater.events.times import iso_time
from headwater.lineage.runs.lost_runs import ENDED
from headwater.lineage.snapshots.snapshot import Snapshot
from headwater.lineage.traversal.masking_surface import SurfaceColumn
from headwater.questions.answer_types.common import Job, UnfinishedRun

_MAX_NAMED = 3


def unfinished_runs(snapshot: Snapshot, numbers: Iterable[int]) -> list[UnfinishedRun]:
    """Return the newest run of each edge set of an attempt, each run once, newest first."""
    found: dict[tuple[str, str], UnfinishedRun] = {}
    for number in numbers:
        job_output, lineage = snapshot.graph.sets[number]
        run, job = snapshot.newest_run(number), Job(*snapshot.job(job_output.job).parts)
        if run is not None and lineage.attempt_state:
            state = (
                ENDED
                if lineage.attempt_state == "RUNNING" and snapshot.ended_with_parent(run)
                else lineage.attempt_state
            )
            each = UnfinishedRun(run, job, state, iso_time(snapshot.stats(number).last_us))
            known = found.setdefault((run, lineage.attempt_state), each)
            found[run, lineage.attempt_state] = max(known, each, key=_newest_run_key)
    return sorted(found.values(), key=lambda each: (each.time or "", each.run, each.state), reverse=True)


def describe_runs(snapshot: Snapshot, numbers: Iterable[int]) -> str:
    """Return a text with the first runs, their states and jobs, and how many more there are."""
    runs = unfinished_runs(snapshot, numbers)
    more = len(runs) - _MAX_NAMED
    texts = [f"run {each.run} of {each.job.name} is {each.state}" for each in runs[:_MAX_NAMED]]
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")


def _newest_run_key(run: UnfinishedRun) -> tuple[str, str, str]:
    return run.time or "", run.job.namespace, run.job.name


def removed_day(snapshot: Snapshot) -> str | None:
    """Return the day (UTC) before which events were removed, None if none were removed."""
    time = iso_time(snapshot.removed_before_us)
    return time and time.partition("T")[0]


def removal_note(snapshot: Snapshot) -> str:
    """Return a sentence about removed events for errors about unknown names, empty if none were removed."""
    day = removed_day(snapshot)
    return f"Retention removed all events before {day}, which may have named it." if day else ""


def with_unproven_exposure(columns: Iterable[SurfaceColumn]) -> Iterator[SurfaceColumn]:
    """Yield surface columns with the exposure that holds if removed events may have written them unmasked.

    No column is proven to be masked then: a tagged column counts as exposed (rule 8.5), any other masked column as
    unknown.
    """
    for each in columns:
        exposure = each.exposure
        if exposure == "masked":
            exposure = "exposed" if each.tagged else "unknown"
        yield each._replace(exposure=exposure)
