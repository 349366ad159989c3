"""Runs that did not complete, as reasons: which they are, in what state, and what to do about them."""

from collections.abc import Iterable

from headwater.events.times import iso
from headwater.lineage.runs.lost_runs import ENDED
from headwater.lineage.time.snapshot import Snapshot
from headwater.questions.answers.answer_parts import Job, UnfinishedRun

_NAMED = 3


def unfinished_runs(snapshot: Snapshot, numbers: Iterable[int]) -> list[UnfinishedRun]:
    """Return the newest run behind each of some edge sets of attempts, each run once, the newest first."""
    found: dict[tuple[str, str], UnfinishedRun] = {}
    for number in numbers:
        job_output, lineage = snapshot.graph.sets[number]
        run, job = snapshot.newest_run(number), Job(*snapshot.job(job_output.job).parts)
        if run is not None and lineage.attempt:
            state = ENDED if lineage.attempt == "RUNNING" and snapshot.has_ended(run) else lineage.attempt
            each = UnfinishedRun(run, job, state, iso(snapshot.stats(number).last_us))
            known = found.setdefault((run, lineage.attempt), each)
            found[run, lineage.attempt] = max(known, each, key=_newest)
    return sorted(found.values(), key=lambda each: (each.time or "", each.run, each.state), reverse=True)


def told_runs(snapshot: Snapshot, numbers: Iterable[int]) -> str:
    """Name the first runs with their states and jobs, and how many more there are."""
    runs = unfinished_runs(snapshot, numbers)
    more = len(runs) - _NAMED
    told = [f"run {each.run} of {each.job.name} is {each.state}" for each in runs[:_NAMED]]
    return ", ".join(told) + (f" and {more} more" if more > 0 else "")


def _newest(run: UnfinishedRun) -> tuple[str, str, str]:
    return run.time or "", run.job.namespace, run.job.name
