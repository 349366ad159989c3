"""Plan everything that a workspace needs, in the order of dependencies; `steps` checks and applies the plan."""

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.common.errors import WrongSetting
from headwater.operations.fabric.client import FabricClient, shortcut_url
from headwater.operations.fabric.items import (
    LAKEHOUSE,
    PIPELINE,
    FabricItem,
    placeholders,
    read_items,
    workspace_placeholder,
)
from headwater.operations.fabric.shortcuts import Shortcut, ShortcutPlace
from headwater.operations.fabric.steps import (
    ONELAKE,
    StepState,
    WorkspaceItems,
    WorkspaceStep,
    capacity_step,
    connection_step,
    find_connection,
    identity_step,
    schedule_step,
    write_step,
)

UNKNOWN = "unknown until it is created"
_UNSAFE_NAME = re.compile(r"[^\w .()&+-]")
_SAFE_VALUE = re.compile(r"[^\s\"'\\#]+")


@dataclass(frozen=True)
class WorkspacePlan:
    """What to deploy, and where.

    workspace: id of the workspace. folder: contains the items and `parameter.yml`. lake: location of the lake.
    shortcuts: the shortcuts of the lakehouse. connection: id of the connection to the lake, or None to create a
    connection named `connection_name`. values: values by variable of `parameter.yml`, except values that Fabric
    defines. minutes: minutes between two runs of the pipeline. api, onelake: URLs of Fabric's API and of OneLake.
    """

    workspace: str
    folder: Path
    lake: ShortcutPlace
    shortcuts: Sequence[Shortcut]
    connection: str | None
    connection_name: str
    values: Mapping[str, str]
    minutes: int
    api: str
    onelake: str = ONELAKE


def deployment_steps(fabric: FabricClient, plan: WorkspacePlan) -> Iterator[WorkspaceStep]:
    """Yield the steps in order. Apply each step before you request the next one, which may need its result."""
    items = read_items(plan.folder)
    workspace = fabric.get(f"/workspaces/{plan.workspace}")
    yield capacity_step(workspace, lambda: fabric.list_all("/capacities"))
    connection = yield from _connection_steps(fabric, plan, workspace)
    there = WorkspaceItems(fabric, plan.workspace)
    texts = _placeholder_values(plan, workspace, connection)
    for item in items:
        filled = item.with_values(texts)
        yield there.item_step(filled)
        found = there.find_item(filled)
        texts[item.logical] = found["id"] if found else UNKNOWN
        if item.kind == LAKEHOUSE:
            yield _shortcut_step(fabric, plan, found, connection)
        if item.kind == PIPELINE:
            yield _schedule_step(fabric, plan, found)
    yield write_step(fabric, plan.onelake, plan.workspace, _lakehouse_id(items, texts))


def _lakehouse_id(items: Sequence[FabricItem], ids: Mapping[str, str]) -> str | None:
    """Return the id of the lakehouse, None if it does not exist yet. ids: ids of existing items by logical id."""
    found = next((ids[item.logical] for item in items if item.kind == LAKEHOUSE), UNKNOWN)
    return None if found == UNKNOWN else found


def _connection_steps(
    fabric: FabricClient, wanted: WorkspacePlan, workspace: dict[str, Any]
) -> Generator[WorkspaceStep, None, str]:
    if wanted.connection is not None:
        return wanted.connection
    yield identity_step(fabric, workspace)
    found = find_connection(fabric, wanted.connection_name)
    yield connection_step(fabric, wanted.connection_name, wanted.lake, found)
    found = found or find_connection(fabric, wanted.connection_name)
    return found["id"] if found else UNKNOWN


def _shortcut_step(
    fabric: FabricClient, wanted: WorkspacePlan, lakehouse: dict[str, Any] | None, connection: str
) -> WorkspaceStep:
    """Compare the shortcuts of the lakehouse with the plan.

    Shortcuts may be missing or may point to another folder, such as an older generation.
    """
    what = f"{len(wanted.shortcuts)} shortcuts"
    if lakehouse is None:
        return WorkspaceStep(what, StepState.MISSING, "created after the lakehouse")
    listed = fabric.list_all(f"/workspaces/{wanted.workspace}/items/{lakehouse['id']}/shortcuts")
    found = {(each["path"].strip("/"), each["name"]): each["target"].get("adlsGen2") for each in listed}
    bodies = [each.body(connection) for each in wanted.shortcuts]
    other = [body for body in bodies if found.get((body["path"], body["name"])) != body["target"]["adlsGen2"]]
    if not other:
        return WorkspaceStep(what, StepState.THERE)
    is_new = any((body["path"], body["name"]) not in found for body in other)
    names = ", ".join(body["name"] for body in other)
    url = shortcut_url(wanted.api, wanted.workspace, lakehouse["id"])

    def create_shortcuts() -> None:
        for body in other:
            fabric.post(url, body)

    return WorkspaceStep(what, StepState.MISSING if is_new else StepState.DIFFERS, names, create_shortcuts)


def _schedule_step(fabric: FabricClient, wanted: WorkspacePlan, pipeline: dict[str, Any] | None) -> WorkspaceStep:
    if pipeline is None:
        return WorkspaceStep(f"schedule, every {wanted.minutes} min", StepState.MISSING, "created after the pipeline")
    return schedule_step(fabric, wanted.workspace, pipeline["id"], wanted.minutes)


def _placeholder_values(wanted: WorkspacePlan, workspace: Mapping[str, Any], connection: str) -> dict[str, str]:
    """Return the replacement text for each placeholder in the items, by placeholder.

    Raises WrongSetting for a value with characters that have a special meaning in Python or YAML, the languages of
    the items.
    """
    values = {
        **wanted.values,
        "HEADWATER_LAKE_LOCATION": wanted.lake.location,
        "HEADWATER_LAKE_SUBPATH": wanted.lake.subpath,
        "HEADWATER_LAKE_CONNECTION": connection,
        "HEADWATER_WORKSPACE_NAME": _UNSAFE_NAME.sub("_", workspace["displayName"]),
    }
    for variable, value in wanted.values.items():
        if not _SAFE_VALUE.fullmatch(value):
            raise WrongSetting(f"{variable} is empty, or contains a space, a quote, `\\` or `#`. Correct it.")
    named = placeholders(wanted.folder)
    return workspace_placeholder(wanted.workspace) | {text: values[variable] for text, variable in named.items()}
