"""`databricks:URL`: job runs of a workspace, from the Jobs API (docs.databricks.com/api/workspace/jobs/listruns).

Fields and states are those of `list_runs` in Databricks' own client, databricks-sdk 0.162.0. The API lists only the
first 100 tasks of a run.
"""

from collections.abc import Iterator
from typing import Any

from headwater.common.errors import WrongSetting
from headwater.governance.reconcile.histories.client import MAX_PAGES, HistoryApi
from headwater.governance.reconcile.histories.entry import HistoryEntry, HistoryPlace, HistorySpan, State

_PAGE = 24
"""Runs per page: the API accepts at most 24."""
_NOT_RUN = frozenset({
    "SKIPPED", "EXCLUDED", "DISABLED", "UPSTREAM_FAILED", "UPSTREAM_CANCELED", "MAXIMUM_CONCURRENT_RUNS_REACHED",
    "MAX_CONCURRENT_RUNS_EXCEEDED", "MAX_JOB_QUEUE_SIZE_EXCEEDED", "WORKSPACE_RUN_LIMIT_EXCEEDED",
})  # fmt: skip
"""End states of runs that were never executed and therefore send no events."""
_LONGEST_US = 48 * 3_600_000_000
"""Time before the period for which runs are requested, too, because the API filters by start time (us)."""


def read_history(place: HistoryPlace, span: HistorySpan) -> Iterator[HistoryEntry]:
    """Yield the runs that started in the period or up to two days before it, from API version 2.2 or 2.1."""
    since_ms = (span.since_us - _LONGEST_US) // 1000
    asked: dict[str, str | int] = {"start_time_from": since_ms, "limit": _PAGE, "expand_tasks": "true"}
    with HistoryApi(place.place, place.token(), "DATABRICKS_TOKEN") as api:
        path = "/api/2.2/jobs/runs/list"
        for _ in range(MAX_PAGES):
            found = api.get_document(path, asked)
            if found is None and "2.2" in path:
                path = "/api/2.1/jobs/runs/list"
                found = api.get_document(path, asked)
            if not isinstance(found, dict):
                raise WrongSetting(
                    f"{api.address}{path} did not return runs. Use the address of a workspace, such as "
                    "https://adb-1.azuredatabricks.net."
                )
            yield from (
                _to_history_entry(run)
                for run in found.get("runs", ())
                if run.get("start_time") and not _end_states(run) & _NOT_RUN
            )
            if not found.get("next_page_token"):
                return
            asked["page_token"] = found["next_page_token"]


def _to_history_entry(run: Any) -> HistoryEntry:
    ended_ms = run.get("end_time") or None
    tasks = [str(task["run_id"]) for task in run.get("tasks", ()) if task.get("run_id")]
    return HistoryEntry(
        system="databricks",
        id=str(run["run_id"]),
        name=str(run.get("run_name") or run.get("job_id") or ""),
        state=_run_state(run, ended_ms),
        started_us=int(run["start_time"]) * 1000,
        ended_us=int(ended_ms) * 1000 if ended_ms else None,
        ids=(str(run["run_id"]), *tasks),
        who=str(run.get("creator_user_name") or ""),
        where=str(run.get("run_page_url") or ""),
    )


def _run_state(run: Any, ended_ms: int | None) -> State:
    if not ended_ms:
        return "RUNNING"
    states = _end_states(run)
    if states & {"SUCCESS", "SUCCESS_WITH_FAILURES"}:
        return "SUCCEEDED"
    return "FAILED" if states else "ENDED"


def _end_states(run: Any) -> set[str]:
    """Return the end states of a run, from its member `state` and from the newer member `status`, which replaces it."""
    state, details = run.get("state") or {}, (run.get("status") or {}).get("termination_details") or {}
    skipped = state.get("life_cycle_state") == "SKIPPED" and "SKIPPED"
    return {states for states in (state.get("result_state"), details.get("code"), skipped) if states}
