"""`airflow:URL`: task instances from Airflow's stable REST API, version 2 (Airflow 3) or version 1 (Airflow 2).

Parameters and fields are those of `getTaskInstances` in Airflow's own clients, apache-airflow-client 2.10.0 and 3.3.2
(airflow.apache.org/docs/apache-airflow/stable/stable-rest-api-ref.html). Airflow 2.10 returns no defined order and
rejects `order_by` (github.com/apache/airflow/issues/48494). Therefore, if a period has more than one page of results,
the module requests two shorter periods instead.
"""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from headwater.common.errors import WrongSetting
from headwater.events.times import AHEAD_US, parse_time
from headwater.governance.reconcile.histories.client import MAX_PAGES, HistoryApi
from headwater.governance.reconcile.histories.entry import HistoryEntry, HistoryPlace, HistorySpan, State

_PAGE = 100
"""Tasks per page; servers accept at most this number by default."""
_STATES: dict[str, State] = {"success": "SUCCEEDED", "failed": "FAILED", "up_for_retry": "FAILED", "running": "RUNNING"}
"""Maps the states of Airflow; tasks in all other states did not run."""
_EMPTY = ("EmptyOperator", "DummyOperator")
"""Operators that do nothing and send no events."""


def read_history(place: HistoryPlace, span: HistorySpan) -> Iterator[HistoryEntry]:
    """Yield the tasks that ended since the start of the period or are running; of retried tasks, only the last try."""
    until_us = max(span.until_us, time.time_ns() // 1000) + AHEAD_US
    with HistoryApi(place.place, place.token(), "AIRFLOW_TOKEN") as api:
        version = "v2" if api.get_document("/api/v2/version", {}) is not None else "v1"
        path = f"/api/{version}/dags/~/dagRuns/~/taskInstances"
        ended = _tasks_between(api, path, {}, "end_date", (span.since_us, until_us))
        running = _tasks_between(api, path, {"state": "running"}, "start_date", (0, until_us))
        for task in (*ended, *running):
            if task.get("state") in _STATES and task.get("operator") not in _EMPTY and task.get("start_date"):
                yield _to_history_entry(task, api.address, version)


def _tasks_between(
    api: HistoryApi, path: str, asked: dict[str, str], by: str, span_us: tuple[int, int]
) -> Iterator[Any]:
    """Yield the tasks that started or ended in a period. by: the time to compare, `start_date` or `end_date`.

    If a period has more than one page of tasks, it is halved. A single moment is read page by page.
    """
    spans = [(*span_us, 0)]
    for _ in range(MAX_PAGES):
        if not spans:
            return
        from_us, to_us, offset = spans.pop()
        bounds = {f"{by}_gte": _iso_time(from_us), f"{by}_lte": _iso_time(to_us)}
        found = api.get_document(path, {**asked, **bounds, "limit": _PAGE, "offset": offset})
        if not isinstance(found, dict) or not isinstance(found.get("task_instances"), list):
            raise WrongSetting(
                f"{api.address}{path} did not return task instances. Use the address of an Airflow webserver, such as "
                "https://host:8080."
            )
        tasks = found["task_instances"]
        is_all = not tasks or offset + len(tasks) >= found["total_entries"]
        if not is_all and from_us < to_us:
            middle_us = (from_us + to_us) // 2
            spans += [(middle_us + 1, to_us, 0), (from_us, middle_us, 0)]
            continue
        yield from tasks
        if not is_all:
            spans.append((from_us, to_us, offset + len(tasks)))


def _iso_time(moment_us: int) -> str:
    return datetime.fromtimestamp(moment_us / 1e6, UTC).isoformat()


def _to_history_entry(task: Any, address: str, version: str) -> HistoryEntry:
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
        where=f"{address}/dags/{_task_page_url(version, dag, run, name, mapped)}",
    )


def _task_page_url(version: str, dag: str, run: str, name: str, mapped: list[str]) -> str:
    """Return the path of a task's web page, which differs between Airflow 2 (`v1`) and Airflow 3."""
    dag, run, name = (quote(each, safe="") for each in (dag, run, name))
    if version == "v1":
        return f"{dag}/grid?dag_run_id={run}&task_id={name}"
    return "/".join([dag, "runs", run, "tasks", name, *(["mapped", *mapped] if mapped else [])])
