"""The question `hierarchy`: parents and children of a run, with states and durations."""

from collections.abc import Mapping
from typing import Any

from headwater.events.times import iso_time
from headwater.index.reading.run_history import RunTree, TreeRun
from headwater.lineage.runs.jobs import job_key
from headwater.lineage.runs.run_facts import duration_us
from headwater.questions.answer_types.common import Job
from headwater.questions.answer_types.graphs import Hierarchy, HierarchyRun
from headwater.questions.task_runs import TASK_FACETS, task_run_of

UNREPORTED = "UNREPORTED"
"""The state of a run that has sent no event itself, but that other runs name as parent or root."""


def hierarchy(runs: RunTree, run_id: str, *, limit: int, offset: int) -> Hierarchy:
    """Answer a run, its ancestors, and a page of its descendants, oldest first.

    Raises NotKnown for an unknown run, and WrongQuestion if the id matches several runs.
    """
    run = runs.find_run(run_id)
    states = {state or UNREPORTED: count for state, count in runs.child_state_counts(run)}
    children, ancestors = runs.children_page(run, limit, offset), runs.ancestors(run)
    facets = runs.run_facets([run, *children, *ancestors], TASK_FACETS)
    items = [_to_hierarchy_run(each, facets) for each in children]
    total = sum(states.values())
    above = [_to_hierarchy_run(each, facets) for each in reversed(ancestors)]
    return Hierarchy(
        _to_hierarchy_run(run, facets), above, dict(sorted(states.items())), items, total, total > offset + len(items)
    )


def _to_hierarchy_run(run: TreeRun, facets: Mapping[str, Mapping[str, Any]]) -> HierarchyRun:
    took_us = duration_us(run.started_us, run.ended_us)
    took = None if took_us is None else took_us // 1000
    job = None if run.job is None else Job(*job_key(run.job, None).parts)
    return HierarchyRun(
        run.key,
        job,
        run.state or UNREPORTED,
        iso_time(run.started_us),
        iso_time(run.ended_us),
        took,
        run.child_count,
        task_run_of(facets.get(run.key, {})),
    )
