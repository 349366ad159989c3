"""`fabric:WORKSPACE` or `fabric:WORKSPACE/ITEM`: Microsoft Fabric, by its REST API.

For a workspace, the module reads Livy sessions (learn.microsoft.com/rest/api/fabric/spark/livy-sessions); each session
is one Spark application. For an item, it reads job instances (…/core/job-scheduler/list-item-job-instances); each
instance has the ids of the Spark applications of its sessions.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from headwater.common.errors import WrongSetting
from headwater.events.times import parse_time
from headwater.governance.reconcile.histories.client import MAX_PAGES, HistoryApi
from headwater.governance.reconcile.histories.entry import HistoryEntry, HistoryPlace, HistorySpan, State

_API = "https://api.fabric.microsoft.com"
_NOT_RUN = ("NotStarted", "Deduped")


def read_history(place: HistoryPlace, _: HistorySpan) -> Iterator[HistoryEntry]:
    """Yield all executions of a workspace or an item, because the API has no time filter.

    place: the ids, after the address of the API if it is another one, such as `http://127.0.0.1:8080/WORKSPACE`.
    """
    head, mark, ids = place.place.rpartition("://")
    host, rest = ids.split("/", 1) if mark and "/" in ids else ("", ids)
    workspace, item = rest.split("/", 1) if "/" in rest else (rest, "")
    with HistoryApi(f"{head}://{host}" if mark else _API, place.token(), "FABRIC_TOKEN") as api:
        base = f"/v1/workspaces/{workspace}"
        sessions = [*_items_of_pages(api, f"{base}/spark/livySessions")]
        if not item:
            yield from filter(None, map(_session_entry, sessions))
            return
        applications: dict[str, list[str]] = defaultdict(list)
        for each in sessions:
            if each.get("jobInstanceId") and each.get("sparkApplicationId"):
                applications[each["jobInstanceId"]].append(each["sparkApplicationId"])
        name = next(
            (str(each["itemName"]) for each in sessions if (each.get("item") or {}).get("itemId") == item), item
        )
        for job in _items_of_pages(api, f"{base}/items/{item}/jobs/instances"):
            if job["status"] not in _NOT_RUN and job.get("startTimeUtc"):
                yield _job_entry(job, name, applications[job["id"]])


def _items_of_pages(api: HistoryApi, path: str) -> Iterator[Any]:
    asked: dict[str, str | int] = {}
    for _ in range(MAX_PAGES):
        found = api.get_document(path, asked)
        if not isinstance(found, dict) or not isinstance(found.get("value"), list):
            raise WrongSetting(
                f"{api.address}{path} was not found. Copy the ids of workspace and item from the browser's address bar."
            )
        yield from found["value"]
        if not found.get("continuationToken"):
            return
        asked = {"continuationToken": found["continuationToken"]}


def _session_entry(each: Any) -> HistoryEntry | None:
    started_us = _parse_time_us(each.get("startDateTime")) or _parse_time_us(each.get("submittedDateTime"))
    ended_us, app = _parse_time_us(each.get("endDateTime")), each.get("sparkApplicationId")
    if started_us is None or not app:
        return None  # it is queued, or never became an application
    return HistoryEntry(
        system="fabric",
        id=str(app),
        name=str(each.get("itemName") or each.get("livyName") or ""),
        state=_entry_state(str(each.get("state")), ended_us),
        started_us=started_us,
        ended_us=ended_us,
        ids=tuple(name for name in (app, each.get("livyId"), each.get("jobInstanceId")) if name),
        who=str((each.get("submitter") or {}).get("id") or ""),
        where=f"Livy session {each.get('livyId')}",
        is_spark=True,
    )


def _job_entry(job: Any, name: str, applications: list[str]) -> HistoryEntry:
    ended_us = _parse_time_us(job.get("endTimeUtc"))
    return HistoryEntry(
        system="fabric",
        id=str(job["id"]),
        name=name,
        state=_entry_state(str(job["status"]), ended_us),
        started_us=_parse_time_us(job["startTimeUtc"]) or 0,
        ended_us=ended_us,
        ids=tuple(each for each in (job["id"], job.get("rootActivityId"), *applications) if each),
        where=f"job instance of item {job.get('itemId')}",
    )


def _entry_state(status: str, ended_us: int | None) -> State:
    if ended_us is None:
        return "RUNNING"
    if status in ("Success", "Succeeded", "Completed"):
        return "SUCCEEDED"
    return "FAILED" if status in ("Failed", "Cancelled", "TimedOut", "Error", "Dead", "Killed") else "ENDED"


def _parse_time_us(text: Any) -> int | None:
    return parse_time(text)[0] if isinstance(text, str) else None
