"""Why lineage may be incomplete: runs that did not complete, and events that retention removed."""

from collections.abc import Iterable, Iterator

from headwater.events.times import iso_time
from headwater.lineage.runs.lost_runs import ENDED
from headwater.lineage.snapshots.snapshot import Snapshot
from headwater.lineage.traversal.masking_surface import SurfaceColumn
from headwater.questions.answer_types.common import Job, UnfinishedRun

_MAX_NAMED = 3


def unfinished_runs(snapshot: Snapshot, numbers: Iterable[int]) -> list[UnfinishedRun]:
    """Return the runs that did not complete, newest first, each once.

    numbers: edge sets of attempts; the newest run of each edge set is returned.
    """
    found: dict[tuple[str, str], UnfinishedRun] = {}
    for number in numbers:
        job_output, lineage = snapshot.graph.edge_sets[number]
        run, job = snapshot.newest_run(number), Job(*snapshot.job_name(job_output.job).parts)
        if run is not None and lineage.attempt_state:
            state = (
                ENDED
                if lineage.attempt_state == "RUNNING" and snapshot.ended_with_parent(run)
                else lineage.attempt_state
            )
            each = UnfinishedRun(run, job, state, iso_time(snapshot.edge_set_stats(number).last_us))
            known = found.setdefault((run, lineage.attempt_state), each)
            found[run, lineage.attempt_state] = max(known, each, key=_newest_run_key)
    return sorted(found.values(), key=lambda each: (each.time or "", each.run, each.state), reverse=True)


def describe_unfinished_runs(snapshot: Snapshot, numbers: Iterable[int]) -> str:
    """Return a text with the newest unfinished runs, their jobs and states, and the number of further runs."""
    runs = unfinished_runs(snapshot, numbers)
    more = len(runs) - _MAX_NAMED
    texts = [f"run {each.run} of {each.job.name} is {each.state}" for each in runs[:_MAX_NAMED]]
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")


def _newest_run_key(run: UnfinishedRun) -> tuple[str, str, str]:
    return run.time or "", run.job.namespace, run.job.name


def events_removed_before_day(snapshot: Snapshot) -> str | None:
    """Return the day (UTC) before which retention removed events; None if no events were removed."""
    time = iso_time(snapshot.removed_before_us)
    return time and time.partition("T")[0]


def removal_note(snapshot: Snapshot) -> str:
    """Return a sentence about removed events for errors about unknown names. It is empty if no events were removed."""
    day = events_removed_before_day(snapshot)
    return f"Retention removed all events before {day}, which may have named it." if day else ""


def with_proven_exposure(columns: Iterable[SurfaceColumn]) -> Iterator[SurfaceColumn]:
    """Yield surface columns with the exposure that is still proven after events were removed.

    Removed events may have written columns unmasked, so no column is proven to be masked. A masked column with the tag
    counts as exposed (rule 8.5), and any other masked column as unknown.
    """
    for each in columns:
        exposure = each.exposure
        if exposure == "masked":
            exposure = "exposed" if each.tagged else "unknown"
        yield each._replace(exposure=exposure)
