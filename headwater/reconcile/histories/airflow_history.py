"""`airflow:URL`: task instances that ran, by Airflow's stable REST API: version 2 (Airflow 3), else 1 (Airflow 2)."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from headwater.errors import WrongSetting
from headwater.events.times import parse_time
from headwater.reconcile.histories.history_api import MOST_PAGES, HistoryApi
from headwater.reconcile.histories.history_entry import HistoryEntry, HistoryPlace, HistorySpan, State

_PAGE = 100
"""Most that servers give unless they are set up otherwise."""
_STATES: dict[str, State] = {"success": "SUCCEEDED", "failed": "FAILED", "up_for_retry": "FAILED", "running": "RUNNING"}
"""Others did not run."""
_EMPTY = ("EmptyOperator", "DummyOperator")
"""Never run by a worker, so nobody reports them."""


def read_history(place: HistoryPlace, span: HistorySpan) -> Iterator[HistoryEntry]:
    """Yield the tasks that ended since the span began, or run; of a task tried again the last try."""
    since = datetime.fromtimestamp(span.since_us / 1e6, UTC).isoformat()
    with HistoryApi(place.place, place.token(), "AIRFLOW_TOKEN") as api:
        version = "v2" if api.get("/api/v2/version", {}) is not None else "v1"
        path = f"/api/{version}/dags/~/dagRuns/~/taskInstances"
        for asked in ({"end_date_gte": since}, {"state": "running"}):
            for task in _pages(api, path, asked):
                if task.get("state") in _STATES and task.get("operator") not in _EMPTY and task.get("start_date"):
                    yield _entry(api.address, task)


def _pages(api: HistoryApi, path: str, asked: dict[str, str]) -> Iterator[Any]:
    offset = 0
    for _ in range(MOST_PAGES):
        found = api.get(path, {**asked, "limit": _PAGE, "offset": offset, "order_by": "start_date"})
        if not isinstance(found, dict) or not isinstance(found.get("task_instances"), list):
            raise WrongSetting(f"{api.address}{path} lists no task instances. Name an Airflow, as https://host:8080.")
        yield from found["task_instances"]
        offset += len(found["task_instances"])
        if not found["task_instances"] or offset >= found["total_entries"]:
            return


def _entry(address: str, task: Any) -> HistoryEntry:
    dag, run, name, index = (task[part] for part in ("dag_id", "dag_run_id", "task_id", "map_index"))
    mapped = [str(index)] if isinstance(index, int) and index >= 0 else []
    ended_us = parse_time(task["end_date"])[0] if task.get("end_date") else None
    place = "/".join([dag, run, name, *mapped])
    return HistoryEntry(
        system="airflow",
        id=place,
        name=f"{dag}.{name}",
        state="RUNNING" if ended_us is None else _STATES[task["state"]],
        started_us=parse_time(task["start_date"])[0] or 0,
        ended_us=ended_us,
        ids=(place,),
        who=str(task.get("unixname") or ""),
        where=f"{address}/dags/{quote(dag, safe='')}/grid?dag_run_id={quote(run, safe='')}",
    )
