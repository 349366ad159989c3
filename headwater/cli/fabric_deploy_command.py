"""A whole workspace of Microsoft Fabric in one command: `headwater fabric deploy`, and `check`, which only looks."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli.fabric_options import Api, Data, Json, Schema, WorkspaceId, as_address, as_id, lake_shortcuts
from headwater.cli.printing import show, table
from headwater.errors import HeadwaterError, WrongSetting
from headwater.settings import Settings, load_settings

if TYPE_CHECKING:
    from headwater.fabric.deployment import WorkspacePlan
    from headwater.fabric.steps import Done, WorkspaceStep

WRITE_KEY = "HEADWATER_WRITE_KEY"

_API = "https://api.fabric.microsoft.com"
_NAME = "headwater lake"

Items = Annotated[Path, typer.Option("--items", help="Folder of the items, which `make fabric` makes.")]
Receiver = Annotated[str, typer.Option(help="Address of the receiver, which sessions post to.", callback=as_address)]
ReaderUrl = Annotated[str, typer.Option("--reader", help="Address that answers questions.", callback=as_address)]
KeyVault = Annotated[
    str,
    typer.Option(help="Key Vault with the secrets headwater-write and headwater-read.", callback=as_address),
]
Minutes = Annotated[int, typer.Option("--every", help="Minutes between two runs of Refresh.", min=1, max=5_270_400)]
ConnectionId = Annotated[
    str | None,
    typer.Option("--connection", help="Id of a connection to the lake's account; default is one made.", callback=as_id),
]
ConnectionName = Annotated[str, typer.Option(help="Name of the connection that is made.", min=1, max=200)]


def deploy(
    workspace: WorkspaceId,
    receiver: Receiver,
    reader: ReaderUrl,
    key_vault: KeyVault,
    items: Items = Path("dist/fabric"),
    every: Minutes = 60,
    connection: ConnectionId = None,
    connection_name: ConnectionName = _NAME,
    schema: Schema = None,
    api: Api = _API,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Put all that Headwater is in Fabric into a workspace; run again it changes what is not as it should be.

    An identity of the workspace, a connection to the lake, the lakehouse with its shortcuts, the environment with the
    wheel, the notebooks, the pipeline Refresh and its schedule. The listener's key is the variable HEADWATER_WRITE_KEY,
    else the secret headwater-write of the key vault.
    """
    from headwater.fabric.steps import deploy as put

    settings = load_settings({"data": data})[0]
    values = _values(settings, receiver, reader, key_vault)
    wanted = _wanted(settings, workspace, items, connection, connection_name, schema, values, every, api)
    done = _done(settings, wanted, lambda steps: _said(put(steps), as_json))
    _show(done, as_json)
    if not as_json and all(each.state == "unchanged" for each in done):
        sys.stdout.write("Nothing was changed: all of it was there.\n")


def check(
    workspace: WorkspaceId,
    receiver: Receiver,
    reader: ReaderUrl,
    key_vault: KeyVault,
    items: Items = Path("dist/fabric"),
    every: Minutes = 60,
    connection: ConnectionId = None,
    connection_name: ConnectionName = _NAME,
    schema: Schema = None,
    api: Api = _API,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Say what of a deployment a workspace has and what is missing, with the role or setting that allows it.

    Changes nothing. Ends with status 1 where something is missing or differs.
    """
    from headwater.fabric.steps import look

    settings = load_settings({"data": data})[0]
    values = _values(settings, receiver, reader, key_vault)
    wanted = _wanted(settings, workspace, items, connection, connection_name, schema, values, every, api)
    found = _done(settings, wanted, look)
    _show(found, as_json)
    if any(each.state != "there" for each in found):
        raise typer.Exit(1)


def _values(settings: Settings, receiver: str, reader: str, key_vault: str) -> dict[str, str]:
    """Return the values of `parameter.yml` that Fabric does not know."""
    from headwater.eventlog.azure_log_lines import silence_sdk
    from headwater.runtime.sink_opening import open_secrets
    from headwater.sinks.contract.sink_options import Reference

    key = os.environ.get(WRITE_KEY)
    if not key:
        silence_sdk()
        try:
            key = open_secrets(settings).reveal(Reference(env=None, vault=f"{key_vault}/secrets/headwater-write"))
        except HeadwaterError as error:
            raise WrongSetting(f"{str(error).rstrip('.')}. Or set {WRITE_KEY} to the listener's key.") from error
    return {
        "HEADWATER_RECEIVER_URL": receiver,
        "HEADWATER_READER_URL": reader,
        "HEADWATER_KEY_VAULT": f"{key_vault}/",
        WRITE_KEY: key,
    }


def _wanted(
    settings: Settings, workspace: str, items: Path, connection: str | None, connection_name: str, schema: str | None,
    values: dict[str, str], minutes: int, api: str,
) -> "WorkspacePlan":  # fmt: skip
    from headwater.fabric.deployment import WorkspacePlan

    lake, shortcuts = lake_shortcuts(settings, schema)
    return WorkspacePlan(workspace, items, lake, shortcuts, connection, connection_name, values, minutes, api)


def _done(
    settings: Settings, wanted: "WorkspacePlan", go: "Callable[[Iterable[WorkspaceStep]], Iterable[Done]]"
) -> "list[Done]":
    from headwater.fabric.deployment import steps
    from headwater.fabric.rest import OPERATION_S
    from headwater.runtime.workspaces import open_fabric

    with closing(open_fabric(settings, wanted.api, OPERATION_S)) as client:
        return list(go(steps(client, wanted)))


def _said(done: "Iterator[Done]", as_json: bool) -> "Iterator[Done]":
    """Say each as it is done: publishing an environment takes minutes, and what was done stays if the rest fails."""
    for each in done:
        if not as_json:
            sys.stderr.write(f"headwater: {each.what}: {each.state}\n")
        yield each


def _show(done: "list[Done]", as_json: bool) -> None:
    items: dict[str, Any] = {"items": [each._asdict() for each in done]}
    show(items, as_json, lambda: table("Workspace", items, ("what", "state", "note")))
