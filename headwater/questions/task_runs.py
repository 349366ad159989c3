"""What Airflow sends about the run of a task or a DAG: task group, map index, attempt, kind of run, and owner."""

from collections.abc import Mapping
from typing import Any

from headwater.events.rule_facets import text_at
from headwater.questions.answer_types.common import TaskRun

TASK_FACETS = ("airflow", "airflowDagRun", "airflow_mappedTask")
"""The run facets that `task_run_of` reads."""


def task_run_of(facets: Mapping[str, Any]) -> TaskRun | None:
    """Return what the decoded facets of a run contain about its task or DAG; None if Airflow did not send them."""
    facet = facets.get("airflow") or facets.get("airflowDagRun")
    dag = text_at(facet, "dag", "dag_id")
    if dag is None:
        return None
    map_index = _count_at(facet, "taskInstance", "map_index")
    if map_index is None:
        map_index = _count_at(facets, "airflow_mappedTask", "mapIndex")
    return TaskRun(
        dag,
        text_at(facet, "task", "task_id"),
        text_at(facet, "task", "task_group", "group_id"),
        map_index,
        _count_at(facet, "taskInstance", "try_number"),
        _count_at(facet, "task", "retries"),
        text_at(facet, "dagRun", "run_type"),
        text_at(facet, "task", "owner") or text_at(facet, "dag", "owner"),
    )


def _count_at(value: Any, *path: str) -> int | None:
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
