"""Prerequisites of a workspace: an active capacity, an identity, and a connection to the lake's account."""

from collections.abc import Callable, Iterator
from typing import Any

from headwater.operations.fabric.fabric_refusals import ALREADY_EXISTS, FabricRefusal
from headwater.operations.fabric.rest import Fabric
from headwater.operations.fabric.shortcuts import ShortcutPlace
from headwater.operations.fabric.steps import StepState, WorkspaceStep

STORAGE = "AzureDataLakeStorage"
"""Type and creation method of a connection, as in `connections/supportedConnectionTypes`."""

_ADMIN = "needs an Admin of the workspace"
_READER = "Storage Blob Data Reader on the lake's container, and the ACL rwx on silver and gold"


def capacity_step(workspace: dict[str, Any], capacities: Callable[[], Iterator[dict[str, Any]]]) -> WorkspaceStep:
    """Check whether the workspace has an active capacity, as far as this identity may see it."""
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


def identity_step(fabric: Fabric, workspace: dict[str, Any]) -> WorkspaceStep:
    """Check whether the workspace has an identity, by which the connection reads the lake."""
    if own := workspace.get("workspaceIdentity"):
        return WorkspaceStep("workspace identity", StepState.THERE, f"give {own['servicePrincipalId']} {_READER}")
    path, then = f"/workspaces/{workspace['id']}", f"give it {_READER}; `check` shows its id"
    return WorkspaceStep("workspace identity", StepState.MISSING, _ADMIN, lambda: _make_identity(fabric, path), then)


def _make_identity(fabric: Fabric, workspace: str) -> None:
    """Create the workspace's only identity; Fabric documents no error code for an identity that already exists."""
    try:
        fabric.post(f"{workspace}/provisionIdentity")
    except FabricRefusal:
        if not fabric.get(workspace).get("workspaceIdentity"):
            raise


def find_connection(fabric: Fabric, name: str) -> dict[str, Any] | None:
    """Return the connection with a name, among those that this identity may use."""
    return next((each for each in fabric.list_all("/connections") if each.get("displayName") == name), None)


def connection_step(fabric: Fabric, name: str, lake: ShortcutPlace, found: dict[str, Any] | None) -> WorkspaceStep:
    """Check whether a connection with this name points to the lake's container."""
    what = f"connection {name!r}"
    if found is not None and _is_to(found, lake):
        return WorkspaceStep(what, StepState.THERE, found["id"])
    if found is not None:
        path = found["connectionDetails"].get("path")
        note = f"it points to {path}, not to {lake.location}: choose another name with --connection-name, or delete it"
        return WorkspaceStep(what, StepState.BLOCKED, note)
    note = (
        f"the workspace's identity needs {_READER}; a service principal that creates it needs the tenant setting "
        "*Service principals can create workspaces, connections, and deployment pipelines*"
    )
    return WorkspaceStep(what, StepState.MISSING, note, lambda: _make_connection(fabric, name, lake))


def _make_connection(fabric: Fabric, name: str, lake: ShortcutPlace) -> None:
    try:
        fabric.post("/connections", connection_body(name, lake))
    except FabricRefusal as error:
        if error.code not in ALREADY_EXISTS:
            raise


def connection_body(name: str, lake: ShortcutPlace) -> dict[str, Any]:
    """Return the body for `connections/create-connection`; it uses the workspace's identity, without a secret."""
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
