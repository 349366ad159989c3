"""Runs that did not complete, for answers and reasons."""

from collections.abc import Iterable

from headwater.events.times import iso
from headwater.lineage.runs.lost_runs import ENDED
from headwater.lineage.time.snapshot import Snapshot
from headwater.questions.answers.answer_parts import Job, UnfinishedRun

_MAX_NAMED = 3


def unfinished_runs(snapshot: Snapshot, numbers: Iterable[int]) -> list[UnfinishedRun]:
    """Return the newest run of each edge set of an attempt, each run once, newest first."""
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


def describe_runs(snapshot: Snapshot, numbers: Iterable[int]) -> str:
    """Return a text with the first runs, their states and jobs, and how many more there are."""
    runs = unfinished_runs(snapshot, numbers)
    more = len(runs) - _MAX_NAMED
    texts = [f"run {each.run} of {each.job.name} is {each.state}" for each in runs[:_MAX_NAMED]]
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")


def _newest(run: UnfinishedRun) -> tuple[str, str, str]:
    return run.time or "", run.job.namespace, run.job.name
