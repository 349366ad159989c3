"""Schedule the pipeline."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from headwater.operations.fabric.fabric_refusals import NOT_FOUND, FabricRefusal
from headwater.operations.fabric.rest import Fabric
from headwater.operations.fabric.steps import StepState, WorkspaceStep

YEARS = 10
"""Duration of the schedule, because Fabric requires an end."""


def schedule_step(fabric: Fabric, workspace: str, pipeline: str, minutes: int) -> WorkspaceStep:
    """Compare the schedules of a pipeline with one run every so many minutes; a disabled schedule stays disabled."""
    what = f"schedule, every {minutes} min"
    path = f"/workspaces/{workspace}/dataPipelines/{pipeline}/jobs/execute/schedules"
    found = [each for each in fabric.list_all(path) if each.get("configuration", {}).get("type") == "Cron"]
    if not found:
        return WorkspaceStep(what, StepState.MISSING, "", lambda: _make_one(fabric, path, minutes))
    if extra := _extra(found, minutes):
        note = f"{len(extra)} duplicates"
        return WorkspaceStep(what, StepState.DIFFERS, note, lambda: _delete_schedules(fabric, path, extra))
    first = next((each for each in found if _fits(each, minutes)), found[0])
    note = "" if len(found) == 1 else f"there are {len(found)}; delete the others"
    if not first["enabled"]:
        return WorkspaceStep(what, StepState.THERE, "it is disabled, and stays disabled")
    if _fits(first, minutes):
        return WorkspaceStep(what, StepState.THERE, note)
    change = f"{path}/{first['id']}"
    return WorkspaceStep(what, StepState.DIFFERS, note, lambda: fabric.patch(change, schedule_body(minutes)))


def _make_one(fabric: Fabric, path: str, minutes: int) -> None:
    """Create a schedule, then remove duplicates: schedules have no names, so concurrent deployments each create one.

    All deployments keep the same schedule, and the last one sees all others.
    """
    fabric.post(path, schedule_body(minutes))
    _delete_schedules(fabric, path, _extra(list(fabric.list_all(path)), minutes))


def _extra(found: Sequence[Mapping[str, Any]], minutes: int) -> list[str]:
    """Return the ids of all but one of the equivalent schedules."""
    return sorted(each["id"] for each in found if _fits(each, minutes))[1:]


def _fits(schedule: Mapping[str, Any], minutes: int) -> bool:
    configuration = schedule.get("configuration", {})
    is_cron = configuration.get("type") == "Cron"
    return bool(schedule["enabled"] and is_cron and configuration.get("interval") == minutes)


def _delete_schedules(fabric: Fabric, path: str, schedules: Sequence[str]) -> None:
    for each in schedules:
        try:
            fabric.delete(f"{path}/{each}")
        except FabricRefusal as error:
            if error.status != NOT_FOUND:
                raise


def schedule_body(minutes: int) -> dict[str, Any]:
    """Return the body for `datapipeline/background-jobs/schedule-execute`."""
    now = datetime.now(UTC).replace(microsecond=0)
    begin, end = (f"{each:%Y-%m-%dT%H:%M:%S}" for each in (now, now + timedelta(days=365 * YEARS)))
    configuration = {"type": "Cron", "interval": minutes, "startDateTime": begin, "endDateTime": end}
    return {"enabled": True, "configuration": {**configuration, "localTimeZoneId": "UTC"}}
