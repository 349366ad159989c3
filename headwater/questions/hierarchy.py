"""The question `hierarchy`: parents and children of a run, with states and durations."""

from headwater.events.times import iso
from headwater.index.reading.run_history import RunTree, TreeRun
from headwater.lineage.runs.jobs import job_key
from headwater.lineage.runs.run_facts import duration_us
from headwater.questions.answer_types.common import Job
from headwater.questions.answer_types.graphs import Hierarchy, HierarchyRun

UNREPORTED = "UNREPORTED"
"""State of a run that other runs name as parent or root, but that sent no event."""


def hierarchy(runs: RunTree, run_id: str, *, limit: int, offset: int) -> Hierarchy:
    """Answer a run, its ancestors, and a page of its descendants, oldest first.

    Raises NotKnown for an unknown run, and WrongQuestion if the id matches several runs.
    """
    run = runs.find(run_id)
    states = {state or UNREPORTED: count for state, count in runs.states(run)}
    items = [_shown(each) for each in runs.below(run, limit, offset)]
    total = sum(states.values())
    above = [_shown(each) for each in reversed(runs.above(run))]
    return Hierarchy(_shown(run), above, dict(sorted(states.items())), items, total, total > offset + len(items))


def _shown(run: TreeRun) -> HierarchyRun:
    took_us = duration_us(run.started_us, run.ended_us)
    took = None if took_us is None else took_us // 1000
    job = None if run.job is None else Job(*job_key(run.job, None).parts)
    return HierarchyRun(
        run.key, job, run.state or UNREPORTED, iso(run.started_us), iso(run.ended_us), took, run.children
    )
