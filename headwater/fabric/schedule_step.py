"""When the pipeline runs."""

from datetime import UTC, datetime, timedelta
from typing import Any

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
        return WorkspaceStep(what, StepState.MISSING, "", lambda: fabric.post(path, schedule_body(minutes)))
    first, note = found[0], "" if len(found) == 1 else f"there are {len(found)}: delete what is too many"
    if not first["enabled"]:
        return WorkspaceStep(what, StepState.THERE, "it is switched off, and stays so")
    if first["configuration"]["interval"] == minutes:
        return WorkspaceStep(what, StepState.THERE, note)
    change = f"{path}/{first['id']}"
    return WorkspaceStep(what, StepState.DIFFERS, note, lambda: fabric.patch(change, schedule_body(minutes)))


def schedule_body(minutes: int) -> dict[str, Any]:
    """Return what `datapipeline/background-jobs/schedule-execute` takes."""
    now = datetime.now(UTC).replace(microsecond=0)
    begin, end = (f"{each:%Y-%m-%dT%H:%M:%S}" for each in (now, now + timedelta(days=365 * YEARS)))
    configuration = {"type": "Cron", "interval": minutes, "startDateTime": begin, "endDateTime": end}
    return {"enabled": True, "configuration": {**configuration, "localTimeZoneId": "UTC"}}
