"""When the pipeline runs."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from headwater.fabric.fabric_refusals import GONE, FabricRefusal
from headwater.fabric.rest import Fabric
from headwater.fabric.steps import StepState, WorkspaceStep

YEARS = 10
"""Fabric wants an end."""


def schedule_step(fabric: Fabric, workspace: str, pipeline: str, minutes: int) -> WorkspaceStep:
    """Tell whether a pipeline is scheduled every so many minutes; one that somebody has switched off stays off."""
    what = f"schedule, every {minutes} min"
    path = f"/workspaces/{workspace}/dataPipelines/{pipeline}/jobs/execute/schedules"
    found = [each for each in fabric.every(path) if each.get("configuration", {}).get("type") == "Cron"]
    if not found:
        return WorkspaceStep(what, StepState.MISSING, "", lambda: _make_one(fabric, path, minutes))
    if extra := _extra(found, minutes):
        note = f"{len(extra)} too many of it"
        return WorkspaceStep(what, StepState.DIFFERS, note, lambda: _take_back(fabric, path, extra))
    first = next((each for each in found if _fits(each, minutes)), found[0])
    note = "" if len(found) == 1 else f"there are {len(found)}: delete what is too many"
    if not first["enabled"]:
        return WorkspaceStep(what, StepState.THERE, "it is switched off, and stays so")
    if _fits(first, minutes):
        return WorkspaceStep(what, StepState.THERE, note)
    change = f"{path}/{first['id']}"
    return WorkspaceStep(what, StepState.DIFFERS, note, lambda: fabric.patch(change, schedule_body(minutes)))


def _make_one(fabric: Fabric, path: str, minutes: int) -> None:
    """Make a schedule, then look again: Fabric names none, so whoever else was at it has made one of its own.

    All keep the same one, and who made the last sees all that others made before.
    """
    fabric.post(path, schedule_body(minutes))
    _take_back(fabric, path, _extra(list(fabric.every(path)), minutes))


def _extra(found: Sequence[Mapping[str, Any]], minutes: int) -> list[str]:
    """Return the ids of all but one of the schedules that do the same."""
    return sorted(each["id"] for each in found if _fits(each, minutes))[1:]


def _fits(schedule: Mapping[str, Any], minutes: int) -> bool:
    said = schedule.get("configuration", {})
    return bool(schedule["enabled"] and said.get("type") == "Cron" and said.get("interval") == minutes)


def _take_back(fabric: Fabric, path: str, schedules: Sequence[str]) -> None:
    for each in schedules:
        try:
            fabric.delete(f"{path}/{each}")
        except FabricRefusal as error:
            if error.status != GONE:
                raise


def schedule_body(minutes: int) -> dict[str, Any]:
    """Return what `datapipeline/background-jobs/schedule-execute` takes."""
    now = datetime.now(UTC).replace(microsecond=0)
    begin, end = (f"{each:%Y-%m-%dT%H:%M:%S}" for each in (now, now + timedelta(days=365 * YEARS)))
    configuration = {"type": "Cron", "interval": minutes, "startDateTime": begin, "endDateTime": end}
    return {"enabled": True, "configuration": {**configuration, "localTimeZoneId": "UTC"}}
