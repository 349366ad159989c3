"""Steps of a deployment: what a workspace needs, whether it exists, and how to create it.

The steps are a capacity, an identity, a connection, the items with the published environment, the schedule, and a test
of the right to write.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import uuid4

from headwater.common.errors import Retry, WrongSetting
from headwater.operations.fabric.client import ALREADY_EXISTS, NOT_FOUND, FabricClient, FabricRefusal
from headwater.operations.fabric.items import ENVIRONMENT, LAKEHOUSE, FabricItem, is_deployed_by_headwater
from headwater.operations.fabric.shortcuts import LAKE_NAME, LAYERS, ShortcutPlace

CONNECTION_TYPE = "AzureDataLakeStorage"
"""Type and creation method of a connection, as in `connections/supportedConnectionTypes`."""

_ADMIN = "needs an Admin of the workspace"
_READER = "Storage Blob Data Reader on the lake's container, and the ACL rwx on silver and gold"
_ROLE = "needs a Contributor of the workspace, and the tenant setting *Users can create Fabric items*"
_BUSY = ("Waiting", "Running", "Cancelling")
_NOT_OURS = "it was not created by Headwater, and its content is replaced"
_SCHEDULE_YEARS = 10
"""Years until the schedule ends. Fabric requires an end."""

ONELAKE = "https://onelake.dfs.fabric.microsoft.com"
WRITE_RIGHT = "right to write silver and gold"
_NEEDED = (
    "the connection's identity cannot write {}: give it the ACL rwx on silver and gold, see "
    "docs/how-to/data-engineer/fabric.md. "
    "Azure needs some minutes until a new permission is effective"
)


class StepState(StrEnum):
    """The result of a check. Applying the step fixes `missing` and `differs`; `blocked` needs a person."""

    THERE = "there"
    MISSING = "missing"
    DIFFERS = "differs"
    BLOCKED = "blocked"


class WorkspaceStep(NamedTuple):
    """A step of a deployment.

    note: information about the state, or the role that the step needs. apply: applies the step; None if there is
    nothing to do or if only a person can do it. follow_up: what a person must do after the step.
    """

    what: str
    state: StepState
    note: str = ""
    apply: Callable[[], None] | None = None
    follow_up: str = ""


class StepResult(NamedTuple):
    """The result of a step."""

    what: str
    state: str
    note: str


def deploy_steps(steps: Iterable[WorkspaceStep]) -> Iterator[StepResult]:
    """Apply the steps in order, and yield the results. Raises WrongSetting at a step that only a person can do."""
    for step in steps:
        if step.state is StepState.THERE:
            yield StepResult(step.what, "unchanged", step.note)
        elif step.apply is None:
            raise WrongSetting(f"{step.what}: {step.note}")
        else:
            step.apply()
            yield StepResult(step.what, "made" if step.state is StepState.MISSING else "changed", step.follow_up)


def check_steps(steps: Iterable[WorkspaceStep]) -> Iterator[StepResult]:
    """Yield the state of each step without applying it."""
    for step in steps:
        yield StepResult(step.what, str(step.state), step.note)


def capacity_step(workspace: dict[str, Any], capacities: Callable[[], Iterator[dict[str, Any]]]) -> WorkspaceStep:
    """Check whether the workspace has an active capacity, if the signed-in identity may see capacities."""
    capacity = workspace.get("capacityId")
    if not capacity or workspace.get("capacityAssignmentProgress") not in (None, "Completed"):
        note = (
            "assign the workspace to a Fabric capacity (workspace settings, *License info*); that needs an Admin of "
            "the workspace who is Contributor of the capacity"
        )
        return WorkspaceStep("capacity", StepState.BLOCKED, note)
    state = next((each["state"] for each in capacities() if each["id"] == capacity), "Active")
    if state != "Active":
        note = (
            "it is paused: resume it in Azure (Microsoft.Fabric/capacities), which needs Contributor of that resource"
        )
        return WorkspaceStep("capacity", StepState.BLOCKED, note)
    return WorkspaceStep("capacity", StepState.THERE, str(workspace.get("capacityRegion", "")))


def identity_step(fabric: FabricClient, workspace: dict[str, Any]) -> WorkspaceStep:
    """Check whether the workspace has an identity. The connection reads the lake with this identity."""
    if own := workspace.get("workspaceIdentity"):
        return WorkspaceStep("workspace identity", StepState.THERE, f"give {own['servicePrincipalId']} {_READER}")
    path, then = f"/workspaces/{workspace['id']}", f"give it {_READER}; `check` shows its id"
    return WorkspaceStep("workspace identity", StepState.MISSING, _ADMIN, lambda: _create_identity(fabric, path), then)


def _create_identity(fabric: FabricClient, workspace: str) -> None:
    """Create the workspace's only identity; Fabric documents no error code for an identity that already exists."""
    try:
        fabric.post(f"{workspace}/provisionIdentity")
    except FabricRefusal:
        if not fabric.get(workspace).get("workspaceIdentity"):
            raise


def find_connection(fabric: FabricClient, name: str) -> dict[str, Any] | None:
    """Return the connection with this name, None if the signed-in identity may use no such connection."""
    return next((each for each in fabric.list_all("/connections") if each.get("displayName") == name), None)


def connection_step(
    fabric: FabricClient, name: str, lake: ShortcutPlace, found: dict[str, Any] | None
) -> WorkspaceStep:
    """Check whether a connection with this name points to the lake's container."""
    what = f"connection {name!r}"
    if found is not None and _is_connection_to(found, lake):
        return WorkspaceStep(what, StepState.THERE, found["id"])
    if found is not None:
        path = found["connectionDetails"].get("path")
        note = f"it points to {path}, not to {lake.location}: choose another name with --connection-name, or delete it"
        return WorkspaceStep(what, StepState.BLOCKED, note)
    note = (
        f"the workspace's identity needs {_READER}; a service principal that creates it needs the tenant setting "
        "*Service principals can create workspaces, connections, and deployment pipelines*"
    )
    return WorkspaceStep(what, StepState.MISSING, note, lambda: _create_connection(fabric, name, lake))


def _create_connection(fabric: FabricClient, name: str, lake: ShortcutPlace) -> None:
    try:
        fabric.post("/connections", connection_body(name, lake))
    except FabricRefusal as error:
        if error.code not in ALREADY_EXISTS:
            raise


def connection_body(name: str, lake: ShortcutPlace) -> dict[str, Any]:
    """Return the body for `connections/create-connection`. The connection uses the workspace's identity, no secret."""
    parameters = {"server": lake.location, "path": lake.subpath.strip("/").partition("/")[0]}
    return {
        "connectivityType": "ShareableCloud",
        "displayName": name,
        "connectionDetails": {
            "type": CONNECTION_TYPE,
            "creationMethod": CONNECTION_TYPE,
            "parameters": [
                {"dataType": "Text", "name": parameter, "value": value} for parameter, value in parameters.items()
            ],
        },
        "privacyLevel": "Organizational",
        "credentialDetails": {
            "singleSignOnType": "None",
            "connectionEncryption": "NotEncrypted",
            "skipTestConnection": False,
            "credentials": {"credentialType": "WorkspaceIdentity"},
        },
    }


def _is_connection_to(connection: dict[str, Any], lake: ShortcutPlace) -> bool:
    details = connection["connectionDetails"]
    host = lake.location.removeprefix("https://")
    path = str(details.get("path", "")).removeprefix("https://")
    return details.get("type") == CONNECTION_TYPE and (path == host or path.startswith((f"{host}/", f"{host};")))


class WorkspaceItems:
    """The items of one workspace. The list of items is requested once, and again after each creation."""

    def __init__(self, fabric: FabricClient, workspace: str) -> None:
        self._fabric = fabric
        self._path = f"/workspaces/{workspace}"
        self._items: dict[tuple[str, str], dict[str, Any]] | None = None

    def find_item(self, item: FabricItem) -> dict[str, Any] | None:
        """Return the entry of an item in the list of items, None if the workspace has no such item."""
        if self._items is None:
            listed = self._fabric.list_all(f"{self._path}/items")
            self._items = {(each["type"], each["displayName"]): each for each in listed}
        return self._items.get((item.kind, item.name))

    def item_step(self, item: FabricItem) -> WorkspaceStep:
        """Compare the deployed item with the item of the plan."""
        found = self.find_item(item)
        if item.kind == LAKEHOUSE:
            if found:
                return WorkspaceStep(item.title, StepState.THERE, found["id"])
            return WorkspaceStep(item.title, StepState.MISSING, _ROLE, lambda: self._create_empty(item))
        if found and found.get("description") == item.description_with_hash():
            return WorkspaceStep(item.title, StepState.THERE, found["id"])
        note = _ROLE if found is None else "" if is_deployed_by_headwater(found.get("description")) else _NOT_OURS
        return WorkspaceStep(
            item.title, StepState.DIFFERS if found else StepState.MISSING, note, lambda: self._create_or_update(item)
        )

    def _create_empty(self, item: FabricItem) -> None:
        self._create(item)

    def _create_or_update(self, item: FabricItem) -> None:
        """Create an item or replace its content, then write the hash of its parts into its description.

        If the process is killed before the hash is written, the next deployment replaces the item.
        """
        found = self.find_item(item) or self._create(item)
        place = f"{self._path}/items/{found['id']}"
        if not found.get("made"):
            self._fabric.post(f"{place}/updateDefinition", {"definition": item.definition()})
        if item.kind == ENVIRONMENT:
            self._fabric.post(f"{self._path}/environments/{found['id']}/staging/publish?beta=false")
            self._wait_until_published(found["id"])
        self._fabric.patch(place, {"displayName": item.name, "description": item.description_with_hash()})

    def _create(self, item: FabricItem) -> dict[str, Any]:
        body: dict[str, Any] = {"displayName": item.name, "type": item.kind, "description": item.description}
        made: Mapping[str, Any] = {"made": True}
        try:
            self._fabric.post(f"{self._path}/items", body | ({"definition": item.definition()} if item.parts else {}))
        except FabricRefusal as error:
            if error.code not in ALREADY_EXISTS:
                raise
            made = {}
        self._items = None
        found = self.find_item(item)
        if found is None:
            raise Retry(f"Fabric has created {item.title} but does not list it yet. Run the same command again.")
        return {**found, **made}

    def _wait_until_published(self, environment: str) -> None:
        found = self._fabric.wait_until(
            f"{self._path}/environments/{environment}", lambda each: _publish_state(each) not in _BUSY
        )
        if (state := _publish_state(found)) != "Success":
            raise Retry(
                f"Publishing the environment ended with {state!r}. Check in Fabric which library it names, then "
                "run the same command again."
            )


def _publish_state(environment: Mapping[str, Any]) -> str:
    return str(environment.get("properties", {}).get("publishDetails", {}).get("state", "Waiting"))


def schedule_step(fabric: FabricClient, workspace: str, pipeline: str, minutes: int) -> WorkspaceStep:
    """Check whether a pipeline has exactly one schedule with this interval. A disabled schedule stays disabled."""
    what = f"schedule, every {minutes} min"
    path = f"/workspaces/{workspace}/dataPipelines/{pipeline}/jobs/execute/schedules"
    found = [each for each in fabric.list_all(path) if each.get("configuration", {}).get("type") == "Cron"]
    if not found:
        return WorkspaceStep(what, StepState.MISSING, "", lambda: _create_schedule(fabric, path, minutes))
    if extra := _duplicate_schedules(found, minutes):
        note = f"{len(extra)} duplicates"
        return WorkspaceStep(what, StepState.DIFFERS, note, lambda: _delete_schedules(fabric, path, extra))
    first = next((each for each in found if _is_wanted_schedule(each, minutes)), found[0])
    note = "" if len(found) == 1 else f"there are {len(found)}; delete the others"
    if not first["enabled"]:
        return WorkspaceStep(what, StepState.THERE, "it is disabled, and stays disabled")
    if _is_wanted_schedule(first, minutes):
        return WorkspaceStep(what, StepState.THERE, note)
    change = f"{path}/{first['id']}"
    return WorkspaceStep(what, StepState.DIFFERS, note, lambda: fabric.patch(change, schedule_body(minutes)))


def _create_schedule(fabric: FabricClient, path: str, minutes: int) -> None:
    """Create a schedule, then delete duplicates.

    Schedules have no names, so each of several concurrent deployments creates one. All deployments choose the same
    schedule to keep, and the last deployment sees the schedules of all others.
    """
    fabric.post(path, schedule_body(minutes))
    _delete_schedules(fabric, path, _duplicate_schedules(list(fabric.list_all(path)), minutes))


def _duplicate_schedules(found: Sequence[Mapping[str, Any]], minutes: int) -> list[str]:
    """Return the ids of the enabled schedules with this interval, except the id that sorts first."""
    return sorted(each["id"] for each in found if _is_wanted_schedule(each, minutes))[1:]


def _is_wanted_schedule(schedule: Mapping[str, Any], minutes: int) -> bool:
    configuration = schedule.get("configuration", {})
    is_cron = configuration.get("type") == "Cron"
    return bool(schedule["enabled"] and is_cron and configuration.get("interval") == minutes)


def _delete_schedules(fabric: FabricClient, path: str, schedules: Sequence[str]) -> None:
    for each in schedules:
        try:
            fabric.delete(f"{path}/{each}")
        except FabricRefusal as error:
            if error.status != NOT_FOUND:
                raise


def schedule_body(minutes: int) -> dict[str, Any]:
    """Return the body for `datapipeline/background-jobs/schedule-execute`."""
    now = datetime.now(UTC).replace(microsecond=0)
    begin, end = (f"{each:%Y-%m-%dT%H:%M:%S}" for each in (now, now + timedelta(days=365 * _SCHEDULE_YEARS)))
    configuration = {"type": "Cron", "interval": minutes, "startDateTime": begin, "endDateTime": end}
    return {"enabled": True, "configuration": {**configuration, "localTimeZoneId": "UTC"}}


def write_step(fabric: FabricClient, onelake: str, workspace: str, lakehouse: str | None) -> WorkspaceStep:
    """Check write access: write an empty file to each layer through the shortcut, and delete the file."""
    if lakehouse is None:
        return WorkspaceStep(WRITE_RIGHT, StepState.MISSING, "needs the lakehouse")
    root = f"{onelake}/{workspace}/{lakehouse}/Files/{LAKE_NAME}"
    refused = [layer for layer in LAYERS if not _can_write(fabric, f"{root}/{layer}/_headwater_check_{uuid4().hex}")]
    if refused:
        return WorkspaceStep(WRITE_RIGHT, StepState.BLOCKED, _NEEDED.format(" and ".join(refused)))
    return WorkspaceStep(WRITE_RIGHT, StepState.THERE, "an empty file was written to each and deleted")


def _can_write(fabric: FabricClient, url: str) -> bool:
    """Create and delete a file, and return whether OneLake allowed it.

    OneLake accesses the lake with the identity of the shortcut's connection.
    """
    try:
        fabric.request_onelake("PUT", f"{url}?resource=file")
        fabric.request_onelake("DELETE", url)
    except FabricRefusal:
        return False
    return True
