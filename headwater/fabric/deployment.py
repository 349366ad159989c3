"""All that a workspace shall have, in the order in which one thing needs another; asked and put by `steps`."""

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.errors import WrongSetting
from headwater.fabric.item_steps import Workspace
from headwater.fabric.items import LAKEHOUSE, PIPELINE, Item, here, placeholders, read_items
from headwater.fabric.rest import Fabric, shortcut_url
from headwater.fabric.schedule_step import schedule_step
from headwater.fabric.shortcuts import Shortcut, ShortcutPlace
from headwater.fabric.steps import StepState, WorkspaceStep
from headwater.fabric.workspace_steps import capacity_step, connection_step, find_connection, identity_step
from headwater.fabric.write_step import ONELAKE, write_step

UNKNOWN = "unknown until it is made"
_QUIET = re.compile(r"[^\w .()&+-]")
_PLAIN = re.compile(r"[^\s\"'\\#]+")


@dataclass(frozen=True)
class WorkspacePlan:
    """What to put where.

    folder: of items and their `parameter.yml`; lake, shortcuts: what the lakehouse shows; connection: its id, or None
    to make one under `connection_name`; values: by variables of `parameter.yml`, but for those that Fabric knows;
    minutes: between two runs of the pipeline; api, onelake: addresses of the two services.
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


def steps(fabric: Fabric, wanted: WorkspacePlan) -> Iterator[WorkspaceStep]:
    """Yield each thing in its order; what a later one needs of an earlier one is read after that was put."""
    items = read_items(wanted.folder)
    workspace = fabric.get(f"/workspaces/{wanted.workspace}")
    yield capacity_step(workspace, lambda: fabric.every("/capacities"))
    connection = yield from _connection(fabric, wanted, workspace)
    there = Workspace(fabric, wanted.workspace)
    texts = _texts(wanted, workspace, connection)
    for item in items:
        filled = item.filled(texts)
        yield there.step(filled)
        found = there.find(filled)
        texts[item.logical] = found["id"] if found else UNKNOWN
        if item.kind == LAKEHOUSE:
            yield _shortcut_step(fabric, wanted, found, connection)
        if item.kind == PIPELINE:
            yield _scheduled(fabric, wanted, found)
    yield write_step(fabric, wanted.onelake, wanted.workspace, _lakehouse(items, texts))


def _lakehouse(items: Sequence[Item], ids: Mapping[str, str]) -> str | None:
    """Return the id of the lakehouse, None before it is made."""
    found = next((ids[item.logical] for item in items if item.kind == LAKEHOUSE), UNKNOWN)
    return None if found == UNKNOWN else found


def _connection(
    fabric: Fabric, wanted: WorkspacePlan, workspace: dict[str, Any]
) -> Generator[WorkspaceStep, None, str]:
    if wanted.connection is not None:
        return wanted.connection
    yield identity_step(fabric, workspace)
    found = find_connection(fabric, wanted.connection_name)
    yield connection_step(fabric, wanted.connection_name, wanted.lake, found)
    found = found or find_connection(fabric, wanted.connection_name)
    return found["id"] if found else UNKNOWN


def _shortcut_step(
    fabric: Fabric, wanted: WorkspacePlan, lakehouse: dict[str, Any] | None, connection: str
) -> WorkspaceStep:
    """Tell which shortcuts are not there, or lead elsewhere, such as to a generation that is in force no more."""
    what = f"{len(wanted.shortcuts)} shortcuts"
    if lakehouse is None:
        return WorkspaceStep(what, StepState.MISSING, "they come with the lakehouse")
    listed = fabric.every(f"/workspaces/{wanted.workspace}/items/{lakehouse['id']}/shortcuts")
    found = {(each["path"].strip("/"), each["name"]): each["target"].get("adlsGen2") for each in listed}
    bodies = [each.body(connection) for each in wanted.shortcuts]
    other = [body for body in bodies if found.get((body["path"], body["name"])) != body["target"]["adlsGen2"]]
    if not other:
        return WorkspaceStep(what, StepState.THERE)
    is_new = any((body["path"], body["name"]) not in found for body in other)
    names = ", ".join(body["name"] for body in other)
    url = shortcut_url(wanted.api, wanted.workspace, lakehouse["id"])

    def put() -> None:
        for body in other:
            fabric.post(url, body)

    return WorkspaceStep(what, StepState.MISSING if is_new else StepState.DIFFERS, names, put)


def _scheduled(fabric: Fabric, wanted: WorkspacePlan, pipeline: dict[str, Any] | None) -> WorkspaceStep:
    if pipeline is None:
        return WorkspaceStep(f"schedule, every {wanted.minutes} min", StepState.MISSING, "it comes with the pipeline")
    return schedule_step(fabric, wanted.workspace, pipeline["id"], wanted.minutes)


def _texts(wanted: WorkspacePlan, workspace: Mapping[str, Any], connection: str) -> dict[str, str]:
    """Return what takes the place of which text in the items.

    Raises WrongSetting for a value that would be something else in Python or YAML, which the items are written in.
    """
    values = {
        **wanted.values,
        "HEADWATER_LAKE_LOCATION": wanted.lake.location,
        "HEADWATER_LAKE_SUBPATH": wanted.lake.subpath,
        "HEADWATER_LAKE_CONNECTION": connection,
        "HEADWATER_WORKSPACE_NAME": _QUIET.sub("_", workspace["displayName"]),
    }
    for variable, value in wanted.values.items():
        if not _PLAIN.fullmatch(value):
            raise WrongSetting(f"{variable} has a blank, a quote, `\\` or `#` in it, or is empty. Correct it.")
    named = placeholders(wanted.folder)
    return here(wanted.workspace) | {text: values[variable] for text, variable in named.items()}
