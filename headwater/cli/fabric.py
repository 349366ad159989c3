"""`headwater fabric`: deploy Headwater to a workspace of Microsoft Fabric, and create shortcuts to the lake."""

import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, get_type_hints

import typer

from headwater.cli.options import Data
from headwater.cli.printing import CSV, list_table, print_value
from headwater.common.errors import HeadwaterError, WrongSetting
from headwater.operations.settings import Settings, load_settings

if TYPE_CHECKING:
    from headwater.operations.fabric.deployment import WorkspacePlan
    from headwater.operations.fabric.shortcuts import Shortcut, ShortcutPlace
    from headwater.operations.fabric.steps import StepResult, WorkspaceStep


app = typer.Typer(help="Headwater in a workspace of Microsoft Fabric.", no_args_is_help=True)

_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_ADDRESS = re.compile(
    r"https://[\w.-]+(:\d+)?(/[\w./-]*)?|http://(127\.0\.0\.1|localhost)(:\d+)?(/[\w./-]*)?", re.ASCII
)

Api = Annotated[str, typer.Option("--api", help="URL of the Fabric REST API.")]
OneLake = Annotated[str, typer.Option("--onelake", help="URL of the OneLake file API.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_T = TypeVar("_T")
WRITE_KEY = "HEADWATER_WRITE_KEY"
_API = "https://api.fabric.microsoft.com"
_ONELAKE = "https://onelake.dfs.fabric.microsoft.com"
_NAME = "headwater lake"
Items = Annotated[Path, typer.Option("--items", help="Folder with the items built by `make fabric`.")]
Minutes = Annotated[
    int, typer.Option("--every", help="Minutes between two runs of the pipeline Refresh.", min=1, max=5_270_400)
]
ConnectionName = Annotated[str, typer.Option(help="Name of the connection to create.", min=1, max=200)]


def parse_id(value: str | None) -> str | None:
    """Return an id in lower case; raises BadParameter if it is not a UUID."""
    if value is not None and not _ID.fullmatch(value):
        raise typer.BadParameter(f"{value!r} is not a UUID. Write it like 5f7c0f2e-0000-4000-8000-000000000001.")
    return value.lower() if value else None


def parse_schema(value: str | None) -> str | None:
    """Return the name of a schema; raises BadParameter if it is not valid."""
    if value is not None and not re.fullmatch(r"\w{1,128}", value, re.ASCII):
        raise typer.BadParameter(f"{value!r} is not a valid schema name. Use letters, digits and underscores.")
    return value


def parse_address(value: str) -> str:
    """Return a URL without a slash at its end; raises BadParameter if it is not an https:// URL."""
    if not _ADDRESS.fullmatch(value):
        raise typer.BadParameter(f"{value!r} is not an https:// URL. Write it like https://NAME.azurewebsites.net.")
    return value.rstrip("/")


WorkspaceId = Annotated[str, typer.Option("--workspace", help="Id of the workspace.", callback=parse_id)]
Schema = Annotated[
    str | None,
    typer.Option(
        "--schema", help="Schema of the tables, such as dbo, if the lakehouse has schemas.", callback=parse_schema
    ),
]


def lake_shortcuts(settings: Settings, schema: str | None) -> "tuple[ShortcutPlace, list[Shortcut]]":
    """Return the location of the lake and the shortcuts to it. Warns about layers that do not exist yet."""
    from headwater.lake.gold_pass import current_generation_folder
    from headwater.operations.fabric.shortcuts import LAYERS, lake_shortcuts, parse_lake_address
    from headwater.operations.runtime.storage import lake_root_and_options

    lake, options = lake_root_and_options(settings)
    place = parse_lake_address(lake)
    generations = {layer: current_generation_folder(lake, layer, options) for layer in LAYERS}
    for layer, name in generations.items():
        if name is None:
            sys.stderr.write(
                f"headwater: {layer} does not exist yet. Run the Spark pass, then run this command again.\n"
            )
    return place, list(lake_shortcuts(place, {layer: name for layer, name in generations.items() if name}, schema))


def with_options(options: type[_T]) -> Callable[[Callable[[_T], None]], Callable[..., None]]:
    """Turn a function of one named tuple into a command with an option for each field.

    options: a named tuple whose fields are annotated for typer.
    """

    def declare(command: Callable[[_T], None]) -> Callable[..., None]:
        def run(**given: Any) -> None:
            command(options(**given))

        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__annotations__ = get_type_hints(options, include_extras=True)
        run.__signature__ = inspect.signature(options)  # type: ignore[attr-defined]
        return run

    return declare


Receiver = Annotated[
    str, typer.Option(help="URL of the receiver, to which Spark sessions send events.", callback=parse_address)
]
ReaderUrl = Annotated[str, typer.Option("--reader", help="URL of the reading API.", callback=parse_address)]
KeyVault = Annotated[
    str,
    typer.Option(
        help="URL of the Key Vault with the secrets headwater-write and headwater-read.", callback=parse_address
    ),
]
ConnectionId = Annotated[
    str | None,
    typer.Option(
        "--connection",
        help="Id of a connection to the storage account of the lake; by default, one is created.",
        callback=parse_id,
    ),
]


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


@app.command()
@with_options(WorkspaceOptions)
def deploy(asked: WorkspaceOptions) -> None:
    """Deploy Headwater to a Fabric workspace. Run it again to update the workspace; it changes only what differs.

    Creates the workspace identity, a connection to the lake, the lakehouse with its shortcuts, the environment with
    the wheel, the notebooks, the pipeline Refresh and its schedule. The key of the listener comes from the variable
    HEADWATER_WRITE_KEY, else from the secret headwater-write in the key vault.
    """
    from headwater.operations.fabric.steps import deploy_steps as put

    done = _run_steps(asked, lambda steps: _print_progress(put(steps), asked.as_json))
    if not (asked.as_json or CSV.get()) and all(each.state == "unchanged" for each in done):
        sys.stdout.write("The workspace is up to date.\n")


@app.command()
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
    from headwater.operations.fabric.client import OPERATION_S, open_fabric
    from headwater.operations.fabric.deployment import deployment_steps

    settings = load_settings({"data": asked.data})[0]
    wanted = _workspace_plan(settings, asked)
    with closing(open_fabric(settings, asked.api, OPERATION_S)) as client:
        done = list(run(deployment_steps(client, wanted)))
    items: dict[str, Any] = {"items": [each._asdict() for each in done]}
    print_value(items, asked.as_json, lambda: list_table("Workspace", items, ("what", "state", "note")))
    return done


def _workspace_plan(settings: Settings, asked: WorkspaceOptions) -> "WorkspacePlan":
    from headwater.operations.fabric.deployment import WorkspacePlan
    from headwater.operations.fabric.items import read_items

    read_items(asked.items)  # report errors on this machine before Azure asks the user to sign in
    lake, shortcuts = lake_shortcuts(settings, asked.schema)
    values = _parameter_values(settings, asked.receiver, asked.reader, asked.key_vault)
    return WorkspacePlan(
        asked.workspace, asked.items, lake, shortcuts, asked.connection, asked.connection_name, values, asked.every,
        asked.api, asked.onelake.rstrip("/"),
    )  # fmt: skip


def _parameter_values(settings: Settings, receiver: str, reader: str, key_vault: str) -> dict[str, str]:
    """Return the values of `parameter.yml` that Fabric cannot provide."""
    from headwater.intake.event_log.azure_log_lines import disable_sdk_logging
    from headwater.operations.runtime.sinks import open_secrets
    from headwater.sinks.interface.options import SecretLocation

    key = os.environ.get(WRITE_KEY)
    if not key:
        disable_sdk_logging()
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


def _print_progress(done: "Iterator[StepResult]", as_json: bool) -> "Iterator[StepResult]":
    """Print each step when it ends. Publishing an environment takes minutes, and a later step may fail."""
    for each in done:
        if not as_json:
            sys.stderr.write(f"headwater: {each.what}: {each.state}\n")
        yield each


@app.command()
def shortcut(
    workspace: WorkspaceId,
    lakehouse: Annotated[str, typer.Option(help="Id of the lakehouse.", callback=parse_id)],
    connection: Annotated[
        str, typer.Option(help="Id of the Fabric connection to the storage account of the lake.", callback=parse_id)
    ],
    schema: Schema = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the requests without sending them.")] = False,
    api: Api = _API,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Create shortcuts to the lake in a lakehouse: Files/headwater for all files, and tables for bronze, silver, gold.

    Run the command again after a change of rules or an upgrade. Until then, the shortcuts show the previous tables.
    """
    from headwater.operations.fabric.client import open_fabric, shortcut_url

    settings = load_settings({"data": data})[0]
    _, found = lake_shortcuts(settings, schema)
    url, bodies = shortcut_url(api, workspace, lakehouse), [each.body(connection) for each in found]
    if dry_run:
        _print_requests(url, bodies, as_json)
        return
    with closing(open_fabric(settings, api)) as client:
        for body in bodies:
            client.post(url, body)
    items = {"items": [each._asdict() for each in found]}
    print_value(items, as_json, lambda: list_table("Shortcuts", items, ("path", "name", "location", "subpath")))


def _print_requests(url: str, bodies: list[dict[str, Any]], as_json: bool) -> None:
    items = [{"method": "POST", "url": url, "body": body} for body in bodies]
    if as_json:
        sys.stdout.write(json.dumps({"items": items}) + "\n")
        return
    for item in items:
        sys.stdout.write(f"POST {item['url']}\n{json.dumps(item['body'])}\n\n")
