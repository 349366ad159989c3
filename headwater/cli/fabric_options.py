"""Options shared by the commands of `headwater fabric`."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.operations.settings import Settings

if TYPE_CHECKING:
    from headwater.operations.fabric.shortcuts import Shortcut, ShortcutPlace

_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_ADDRESS = re.compile(
    r"https://[\w.-]+(:\d+)?(/[\w./-]*)?|http://(127\.0\.0\.1|localhost)(:\d+)?(/[\w./-]*)?", re.ASCII
)


def as_id(value: str | None) -> str | None:
    """Return an id in lower case; raises BadParameter if it is not a UUID."""
    if value is not None and not _ID.fullmatch(value):
        raise typer.BadParameter(f"{value!r} is not a UUID. Write it like 5f7c0f2e-0000-4000-8000-000000000001.")
    return value.lower() if value else None


def as_schema(value: str | None) -> str | None:
    """Return the name of a schema; raises BadParameter if it is not valid."""
    if value is not None and not re.fullmatch(r"\w{1,128}", value, re.ASCII):
        raise typer.BadParameter(f"{value!r} is not a valid schema name. Use letters, digits and underscores.")
    return value


def as_address(value: str) -> str:
    """Return a URL without a slash at its end; raises BadParameter if it is not an https:// URL."""
    if not _ADDRESS.fullmatch(value):
        raise typer.BadParameter(f"{value!r} is not an https:// URL. Write it like https://NAME.azurewebsites.net.")
    return value.rstrip("/")


WorkspaceId = Annotated[str, typer.Option("--workspace", help="Id of the workspace.", callback=as_id)]
Schema = Annotated[
    str | None,
    typer.Option(
        "--schema", help="Schema of the tables, such as dbo, if the lakehouse has schemas.", callback=as_schema
    ),
]
Api = Annotated[str, typer.Option("--api", help="URL of the Fabric REST API.")]
OneLake = Annotated[str, typer.Option("--onelake", help="URL of the OneLake file API.")]
Data = Annotated[Path | None, typer.Option("--data", help="Data folder; default headwater-data.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def lake_shortcuts(settings: Settings, schema: str | None) -> "tuple[ShortcutPlace, list[Shortcut]]":
    """Return the location of the lake and the shortcuts to it. Warns about layers that do not exist yet."""
    from headwater.lake.generations import generation_in_force
    from headwater.operations.fabric.shortcuts import LAYERS, shortcut_place, shortcuts
    from headwater.operations.runtime.storage import lake_place

    lake, options = lake_place(settings)
    place = shortcut_place(lake)
    generations = {layer: generation_in_force(lake, layer, options) for layer in LAYERS}
    for layer, name in generations.items():
        if name is None:
            sys.stderr.write(
                f"headwater: {layer} does not exist yet. Run the Spark pass, then run this command again.\n"
            )
    return place, list(shortcuts(place, {layer: name for layer, name in generations.items() if name}, schema))
