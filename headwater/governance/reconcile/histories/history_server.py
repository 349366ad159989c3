"""`historyserver:URL`: Spark's History Server, by its REST API (spark.apache.org/docs/latest/monitoring.html#rest-api).

The server lists applications by end, newest first, then running applications, and has no offset. Therefore, the module
reads ended applications page by page with `maxEndDate`, and running applications with a separate request.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from headwater.common.errors import WrongSetting
from headwater.governance.reconcile.histories.client import MAX_PAGES, HistoryApi
from headwater.governance.reconcile.histories.entry import HistoryEntry, HistoryPlace, HistorySpan

PAGE = 1_000
_PATH = "/api/v1/applications"


def read_history(place: HistoryPlace, span: HistorySpan, page: int = PAGE) -> Iterator[HistoryEntry]:
    """Yield the attempts of applications that ended since the start of the period or are running.

    page: maximum number of applications per request.
    """
    with HistoryApi(place.place, place.token(), "HISTORY_SERVER_TOKEN") as api:
        for app in (*_ended_applications(api, span, page), *_list_applications(api, {"status": "running"})):
            for attempt in app["attempts"]:
                yield _to_history_entry(api.address, app, attempt)


def _ended_applications(api: HistoryApi, span: HistorySpan, page: int) -> Iterator[Any]:
    asked: dict[str, str | int] = {"status": "completed", "minEndDate": _date_parameter(span.since_us), "limit": page}
    seen: set[str] = set()
    for _ in range(MAX_PAGES):
        found = _list_applications(api, asked)
        fresh = [app for app in found if app["id"] not in seen]
        seen.update(app["id"] for app in fresh)
        yield from fresh
        if len(found) < int(asked["limit"]):
            return
        asked["maxEndDate"] = _date_parameter(min(_end_us(app) for app in found))
        if not fresh:
            asked["limit"] = int(asked["limit"]) * 2  # more than a page ended at the same moment


def _list_applications(api: HistoryApi, asked: dict[str, str | int]) -> list[Any]:
    found = api.get_document(_PATH, asked)
    if not isinstance(found, list):
        raise WrongSetting(
            f"{api.address}{_PATH} did not return applications. Use the address of a History Server, such as "
            "http://host:18080."
        )
    return found


def _end_us(app: Any) -> int:
    return max(int(attempt["endTimeEpoch"]) for attempt in app["attempts"]) * 1000


def _date_parameter(time_us: int) -> str:
    moment = datetime.fromtimestamp(time_us / 1e6, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "GMT")


def _to_history_entry(address: str, app: Any, attempt: Any) -> HistoryEntry:
    name, turn, ended = str(app["id"]), attempt.get("attemptId"), bool(attempt["completed"])
    place = f"{name}/{turn}" if turn else name
    return HistoryEntry(
        system="spark",
        id=place,
        name=str(app["name"]),
        state="ENDED" if ended else "RUNNING",
        started_us=int(attempt["startTimeEpoch"]) * 1000,
        ended_us=int(attempt["endTimeEpoch"]) * 1000 if ended else None,
        ids=(name,),
        seen_us=int(attempt["lastUpdatedEpoch"]) * 1000,
        who=str(attempt.get("sparkUser", "")),
        where=f"{address}/history/{place}/jobs/",
        is_spark=True,
    )
