"""`headwater fabric deploy` sets up a workspace of Microsoft Fabric; `headwater fabric check` lists missing parts."""

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
from headwater.cli.option_groups import with_options
from headwater.cli.printing import CSV, show, table
from headwater.common.errors import HeadwaterError, WrongSetting
from headwater.operations.settings import Settings, load_settings

if TYPE_CHECKING:
    from headwater.operations.fabric.deployment import WorkspacePlan
    from headwater.operations.fabric.steps import StepResult, WorkspaceStep

WRITE_KEY = "HEADWATER_WRITE_KEY"

_API = "https://api.fabric.microsoft.com"
_ONELAKE = "https://onelake.dfs.fabric.microsoft.com"
_NAME = "headwater lake"

Items = Annotated[Path, typer.Option("--items", help="Folder with the items built by `make fabric`.")]
Receiver = Annotated[
    str, typer.Option(help="URL of the receiver, to which Spark sessions send events.", callback=as_address)
]
ReaderUrl = Annotated[str, typer.Option("--reader", help="URL of the reading API.", callback=as_address)]
KeyVault = Annotated[
    str,
    typer.Option(help="URL of the Key Vault with the secrets headwater-write and headwater-read.", callback=as_address),
]
Minutes = Annotated[
    int, typer.Option("--every", help="Minutes between two runs of the pipeline Refresh.", min=1, max=5_270_400)
]
ConnectionId = Annotated[
    str | None,
    typer.Option(
        "--connection",
        help="Id of a connection to the storage account of the lake; by default, one is created.",
        callback=as_id,
    ),
]
ConnectionName = Annotated[str, typer.Option(help="Name of the connection to create.", min=1, max=200)]


class WorkspaceOptions(NamedTuple):
    """The options of both commands."""

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


@with_options(WorkspaceOptions)
def deploy(asked: WorkspaceOptions) -> None:
    """Deploy Headwater to a Fabric workspace. Run it again to update the workspace; it changes only what differs.

    Creates the workspace identity, a connection to the lake, the lakehouse with its shortcuts, the environment with
    the wheel, the notebooks, the pipeline Refresh and its schedule. The key of the listener comes from the variable
    HEADWATER_WRITE_KEY, else from the secret headwater-write in the key vault.
    """
    from headwater.operations.fabric.steps import deploy as put

    done = _run_steps(asked, lambda steps: _with_progress(put(steps), asked.as_json))
    if not (asked.as_json or CSV.get()) and all(each.state == "unchanged" for each in done):
        sys.stdout.write("The workspace is up to date.\n")


@with_options(WorkspaceOptions)
def check(asked: WorkspaceOptions) -> None:
    """Compare a workspace with the deployment, and name the role or setting that a missing part needs.

    To test write access through the shortcuts, it writes an empty file to silver and to gold and deletes both. It
    changes nothing else. Exits with 1 if something is missing or differs.
    """
    from headwater.operations.fabric.steps import check_steps

    if any(each.state != "there" for each in _run_steps(asked, check_steps)):
        raise typer.Exit(1)


def _run_steps(
    asked: WorkspaceOptions, run: "Callable[[Iterable[WorkspaceStep]], Iterable[StepResult]]"
) -> "list[StepResult]":
    from headwater.operations.fabric.deployment import steps
    from headwater.operations.fabric.rest import OPERATION_S
    from headwater.operations.runtime.workspaces import open_fabric

    settings = load_settings({"data": asked.data})[0]
    wanted = _workspace_plan(settings, asked)
    with closing(open_fabric(settings, asked.api, OPERATION_S)) as client:
        done = list(run(steps(client, wanted)))
    items: dict[str, Any] = {"items": [each._asdict() for each in done]}
    show(items, asked.as_json, lambda: table("Workspace", items, ("what", "state", "note")))
    return done


def _workspace_plan(settings: Settings, asked: WorkspaceOptions) -> "WorkspacePlan":
    from headwater.operations.fabric.deployment import WorkspacePlan
    from headwater.operations.fabric.items import read_items

    read_items(asked.items)  # report errors on this machine before Azure asks the user to sign in
    lake, shortcuts = lake_shortcuts(settings, asked.schema)
    values = _values(settings, asked.receiver, asked.reader, asked.key_vault)
    return WorkspacePlan(
        asked.workspace, asked.items, lake, shortcuts, asked.connection, asked.connection_name, values, asked.every,
        asked.api, asked.onelake.rstrip("/"),
    )  # fmt: skip


def _values(settings: Settings, receiver: str, reader: str, key_vault: str) -> dict[str, str]:
    """Return the values of `parameter.yml` that Fabric cannot provide."""
    from headwater.intake.event_log.azure_log_lines import silence_sdk
    from headwater.operations.runtime.sink_opening import open_secrets
    from headwater.sinks.contract.sink_options import SecretLocation

    key = os.environ.get(WRITE_KEY)
    if not key:
        silence_sdk()
        try:
            key = open_secrets(settings).reveal(SecretLocation(env=None, vault=f"{key_vault}/secrets/headwater-write"))
        except HeadwaterError as error:
            raise WrongSetting(
                f"Cannot read the key of the listener from the key vault. {str(error).rstrip('.')}. Or set {WRITE_KEY} "
                "to the key."
            ) from error
    return {
        "HEADWATER_RECEIVER_URL": receiver,
        "HEADWATER_READER_URL": reader,
        "HEADWATER_KEY_VAULT": f"{key_vault}/",
        WRITE_KEY: key,
    }


def _with_progress(done: "Iterator[StepResult]", as_json: bool) -> "Iterator[StepResult]":
    """Print each step when it ends. Publishing an environment takes minutes, and a later step may fail."""
    for each in done:
        if not as_json:
            sys.stderr.write(f"headwater: {each.what}: {each.state}\n")
        yield each
