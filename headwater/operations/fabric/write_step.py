"""Verify that silver and gold can be written through the shortcut, as Refresh does."""

from uuid import uuid4

from headwater.operations.fabric.fabric_refusals import FabricRefusal
from headwater.operations.fabric.rest import Fabric
from headwater.operations.fabric.shortcuts import LAKE_NAME, LAYERS
from headwater.operations.fabric.steps import StepState, WorkspaceStep

ONELAKE = "https://onelake.dfs.fabric.microsoft.com"
WHAT = "right to write silver and gold"
_NEEDED = (
    "the connection's identity cannot write {}: give it the ACL rwx on silver and gold, see docs/fabric.md. "
    "Azure needs some minutes until a new permission is effective"
)


def write_step(fabric: Fabric, onelake: str, workspace: str, lakehouse: str | None) -> WorkspaceStep:
    """Write an empty file to each layer through the shortcut, and delete it."""
    if lakehouse is None:
        return WorkspaceStep(WHAT, StepState.MISSING, "needs the lakehouse")
    root = f"{onelake}/{workspace}/{lakehouse}/Files/{LAKE_NAME}"
    refused = [layer for layer in LAYERS if not _can_write(fabric, f"{root}/{layer}/_headwater_check_{uuid4().hex}")]
    if refused:
        return WorkspaceStep(WHAT, StepState.BLOCKED, _NEEDED.format(" and ".join(refused)))
    return WorkspaceStep(WHAT, StepState.THERE, "an empty file was written to each and deleted")


def _can_write(fabric: Fabric, url: str) -> bool:
    """Create and delete a file; OneLake accesses the lake with the identity of the shortcut's connection."""
    try:
        fabric.onelake("PUT", f"{url}?resource=file")
        fabric.onelake("DELETE", url)
    except FabricRefusal:
        return False
    return True
