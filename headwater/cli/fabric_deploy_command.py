"""A whole workspace of Microsoft Fabric in one command: `headwater fabric deploy`, and `check`, which only looks."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from headwater.cli.fabric_options import (
    Api,
    Data,
    Json,
    OneLake,
    Schema,
    WorkspaceId,
    as_address,
    as_id,
    lake_shortcuts,
)
from headwater.cli.option_sets import taking
from headwater.cli.printing import CSV, show, table
from headwater.errors import HeadwaterError, WrongSetting
from headwater.settings import Settings, load_settings

if TYPE_CHECKING:
    from headwater.fabric.deployment import WorkspacePlan
    from headwater.fabric.steps import Done, WorkspaceStep

WRITE_KEY = "HEADWATER_WRITE_KEY"

_API = "https://api.fabric.microsoft.com"
_ONELAKE = "https://onelake.dfs.fabric.microsoft.com"
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


class WorkspaceOptions(NamedTuple):
    """What both commands are asked with."""

    workspace: WorkspaceId
    receiver: Receiver
    reader: ReaderUrl
    key_vault: KeyVault
    items: Items = Path("dist/fabric")
    every: Minutes = 60
    connection: ConnectionId = None
    connection_name: ConnectionName = _NAME
    schema: Schema = None
    api: Api = _API
    onelake: OneLake = _ONELAKE
    data: Data = None
    as_json: Json = False


@taking(WorkspaceOptions)
def deploy(asked: WorkspaceOptions) -> None:
    """Put all that Headwater is in Fabric into a workspace; run again it changes what is not as it should be.

    An identity of the workspace, a connection to the lake, the lakehouse with its shortcuts, the environment with the
    wheel, the notebooks, the pipeline Refresh and its schedule. The listener's key is the variable HEADWATER_WRITE_KEY,
    else the secret headwater-write of the key vault.
    """
    from headwater.fabric.steps import deploy as put

    done = _done(asked, lambda steps: _said(put(steps), asked.as_json))
    if not (asked.as_json or CSV.get()) and all(each.state == "unchanged" for each in done):
        sys.stdout.write("Nothing was changed: all of it was there.\n")


@taking(WorkspaceOptions)
def check(asked: WorkspaceOptions) -> None:
    """Say what of a deployment a workspace has and what is missing, with the role or setting that allows it.

    Changes nothing, but for an empty file that it writes to silver and to gold and deletes again: that proves the right
    to write through the shortcut. Ends with status 1 where something is missing or differs.
    """
    from headwater.fabric.steps import look

    if any(each.state != "there" for each in _done(asked, look)):
        raise typer.Exit(1)


def _done(asked: WorkspaceOptions, go: "Callable[[Iterable[WorkspaceStep]], Iterable[Done]]") -> "list[Done]":
    """Go through the steps, and print what became of each."""
    from headwater.fabric.deployment import steps
    from headwater.fabric.rest import OPERATION_S
    from headwater.runtime.workspaces import open_fabric

    settings = load_settings({"data": asked.data})[0]
    wanted = _wanted(settings, asked)
    with closing(open_fabric(settings, asked.api, OPERATION_S)) as client:
        done = list(go(steps(client, wanted)))
    items: dict[str, Any] = {"items": [each._asdict() for each in done]}
    show(items, asked.as_json, lambda: table("Workspace", items, ("what", "state", "note")))
    return done


def _wanted(settings: Settings, asked: WorkspaceOptions) -> "WorkspacePlan":
    from headwater.fabric.deployment import WorkspacePlan
    from headwater.fabric.items import read_items

    read_items(asked.items)  # what is wrong on this machine is said before anybody is asked to sign in
    lake, shortcuts = lake_shortcuts(settings, asked.schema)
    values = _values(settings, asked.receiver, asked.reader, asked.key_vault)
    return WorkspacePlan(
        asked.workspace, asked.items, lake, shortcuts, asked.connection, asked.connection_name, values, asked.every,
        asked.api, asked.onelake.rstrip("/"),
    )  # fmt: skip


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
            raise WrongSetting(
                f"The listener's key is not to be had from the key vault. {str(error).rstrip('.')}. Or set {WRITE_KEY} "
                "to the key."
            ) from error
    return {
        "HEADWATER_RECEIVER_URL": receiver,
        "HEADWATER_READER_URL": reader,
        "HEADWATER_KEY_VAULT": f"{key_vault}/",
        WRITE_KEY: key,
    }


def _said(done: "Iterator[Done]", as_json: bool) -> "Iterator[Done]":
    """Say each as it is done: publishing an environment takes minutes, and what was done stays if the rest fails."""
    for each in done:
        if not as_json:
            sys.stderr.write(f"headwater: {each.what}: {each.state}\n")
        yield each
