"""The question `hierarchy`: parents and children of a run, with states and durations."""

from headwater.events.times import iso_time
from headwater.index.reading.run_history import RunTree, TreeRun
from headwater.lineage.runs.jobs import job_key
from headwater.lineage.runs.run_facts import duration_us
from headwater.questions.answer_types.common import Job
from headwater.questions.answer_types.graphs import Hierarchy, HierarchyRun

UNREPORTED = "UNREPORTED"
"""The state of a run that has sent no event itself, but that other runs name as parent or root."""


def hierarchy(runs: RunTree, run_id: str, *, limit: int, offset: int) -> Hierarchy:
    """Answer a run, its ancestors, and a page of its descendants, oldest first.

    Raises NotKnown for an unknown run, and WrongQuestion if the id matches several runs.
    """
    run = runs.find_run(run_id)
    states = {state or UNREPORTED: count for state, count in runs.child_state_counts(run)}
    items = [_to_hierarchy_run(each) for each in runs.children_page(run, limit, offset)]
    total = sum(states.values())
    above = [_to_hierarchy_run(each) for each in reversed(runs.ancestors(run))]
    return Hierarchy(
        _to_hierarchy_run(run), above, dict(sorted(states.items())), items, total, total > offset + len(items)
    )


def _to_hierarchy_run(run: TreeRun) -> HierarchyRun:
    took_us = duration_us(run.started_us, run.ended_us)
    took = None if took_us is None else took_us // 1000
    job = None if run.job is None else Job(*job_key(run.job, None).parts)
    return HierarchyRun(
        run.key, job, run.state or UNREPORTED, iso_time(run.started_us), iso_time(run.ended_us), took, run.child_count
    )
