"""What a workspace has before items: a capacity that runs, an identity, and a connection to the lake's account."""

from collections.abc import Callable, Iterator
from typing import Any

from headwater.fabric.fabric_refusals import TAKEN, FabricRefusal
from headwater.fabric.rest import Fabric
from headwater.fabric.shortcuts import ShortcutPlace
from headwater.fabric.steps import StepState, WorkspaceStep

STORAGE = "AzureDataLakeStorage"
"""A connection's type and how it is made, as `connections/supportedConnectionTypes` names both."""

_ADMIN = "it takes an Admin of the workspace"
_READER = "Storage Blob Data Reader on the lake's container, and the ACL rwx on silver and gold"


def capacity_step(workspace: dict[str, Any], capacities: Callable[[], Iterator[dict[str, Any]]]) -> WorkspaceStep:
    """Tell whether the workspace has a capacity, and whether it runs, as far as we may see it."""
    capacity = workspace.get("capacityId")
    if not capacity or workspace.get("capacityAssignmentProgress") not in (None, "Completed"):
        note = (
            "assign the workspace to a Fabric capacity (workspace settings, *License info*); that takes an Admin of "
            "the workspace who is Contributor of the capacity"
        )
        return WorkspaceStep("capacity", StepState.BLOCKED, note)
    state = next((each["state"] for each in capacities() if each["id"] == capacity), "Active")
    if state != "Active":
        note = (
            "it is paused: resume it in Azure (Microsoft.Fabric/capacities), which takes Contributor of that resource"
        )
        return WorkspaceStep("capacity", StepState.BLOCKED, note)
    return WorkspaceStep("capacity", StepState.THERE, str(workspace.get("capacityRegion", "")))


def identity_step(fabric: Fabric, workspace: dict[str, Any]) -> WorkspaceStep:
    """Tell whether the workspace has an identity, by which the connection reads the lake."""
    if own := workspace.get("workspaceIdentity"):
        return WorkspaceStep("workspace identity", StepState.THERE, f"give {own['servicePrincipalId']} {_READER}")
    path, then = f"/workspaces/{workspace['id']}", f"give it {_READER}; `check` names it"
    return WorkspaceStep("workspace identity", StepState.MISSING, _ADMIN, lambda: _make_identity(fabric, path), then)


def _make_identity(fabric: Fabric, workspace: str) -> None:
    """Give the workspace an identity, of which it has one at most; Fabric documents no word for *somebody else has*."""
    try:
        fabric.post(f"{workspace}/provisionIdentity")
    except FabricRefusal:
        if not fabric.get(workspace).get("workspaceIdentity"):
            raise


def find_connection(fabric: Fabric, name: str) -> dict[str, Any] | None:
    """Return the connection of a name, among those that we may use."""
    return next((each for each in fabric.every("/connections") if each.get("displayName") == name), None)


def connection_step(fabric: Fabric, name: str, lake: ShortcutPlace, found: dict[str, Any] | None) -> WorkspaceStep:
    """Tell whether there is a connection of this name to the lake's container."""
    what = f"connection {name!r}"
    if found is not None and _is_to(found, lake):
        return WorkspaceStep(what, StepState.THERE, found["id"])
    if found is not None:
        path = found["connectionDetails"].get("path")
        note = f"it leads to {path}, not to {lake.location}: choose another name with --connection-name, or delete it"
        return WorkspaceStep(what, StepState.BLOCKED, note)
    note = (
        f"the workspace's identity needs {_READER}; a service principal that makes it needs the tenant setting "
        "*Service principals can create workspaces, connections, and deployment pipelines*"
    )
    return WorkspaceStep(what, StepState.MISSING, note, lambda: _make_connection(fabric, name, lake))


def _make_connection(fabric: Fabric, name: str, lake: ShortcutPlace) -> None:
    try:
        fabric.post("/connections", connection_body(name, lake))
    except FabricRefusal as error:
        if error.code not in TAKEN:
            raise


def connection_body(name: str, lake: ShortcutPlace) -> dict[str, Any]:
    """Return what `connections/create-connection` takes; it signs in as the workspace's identity, without a secret."""
    parameters = {"server": lake.location, "path": lake.subpath.strip("/").partition("/")[0]}
    return {
        "connectivityType": "ShareableCloud",
        "displayName": name,
        "connectionDetails": {
            "type": STORAGE,
            "creationMethod": STORAGE,
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


def _is_to(connection: dict[str, Any], lake: ShortcutPlace) -> bool:
    details = connection["connectionDetails"]
    host = lake.location.removeprefix("https://")
    path = str(details.get("path", "")).removeprefix("https://")
    return details.get("type") == STORAGE and (path == host or path.startswith((f"{host}/", f"{host};")))
