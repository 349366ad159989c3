"""The lake in Microsoft Fabric: `headwater fabric shortcut`."""

import json
import re
import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.cli.printing import show, table
from headwater.settings import load_settings

app = typer.Typer(help="Show the lake in Microsoft Fabric.", no_args_is_help=True)

_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@app.callback()
def _commands() -> None:
    """Let the command have a name: typer drops it where there is only one."""


def _id(value: str) -> str:
    if not _ID.fullmatch(value):
        raise typer.BadParameter(f"{value!r} is no id. Write it like 5f7c0f2e-0000-4000-8000-000000000001.")
    return value.lower()


def _schema(value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"\w{1,128}", value, re.ASCII):
        raise typer.BadParameter(f"{value!r} is no name of a schema: letters, digits and underscores.")
    return value


@app.command()
def shortcut(
    workspace: Annotated[str, typer.Option(help="Id of the workspace.", callback=_id)],
    lakehouse: Annotated[str, typer.Option(help="Id of the lakehouse.", callback=_id)],
    connection: Annotated[str, typer.Option(help="Id of Fabric's connection to the lake's account.", callback=_id)],
    schema: Annotated[
        str | None,
        typer.Option(help="Schema for the tables, such as dbo, in a lakehouse with schemas.", callback=_schema),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the requests, send none.")] = False,
    api: Annotated[str, typer.Option(help="Address of Fabric's REST API.")] = "https://api.fabric.microsoft.com",
    data: Annotated[Path | None, typer.Option("--data", help="Data folder; default headwater-data.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Show the lake in a lakehouse: all of it as Files/headwater, events, silver and gold as tables.

    Run it again after other rules or another release: tables then point to what was built anew; until then they show
    what was there before.
    """
    from headwater.fabric.rest import shortcut_url
    from headwater.fabric.shortcuts import LAYERS, place_of, shortcuts
    from headwater.lake.generations import generation_in_force
    from headwater.runtime.storage import lake_place
    from headwater.runtime.workspaces import open_fabric

    settings = load_settings({"data": data})[0]
    lake, options = lake_place(settings)
    place = place_of(lake)
    generations = {layer: generation_in_force(lake, layer, options) for layer in LAYERS}
    found = list(shortcuts(place, {layer: name for layer, name in generations.items() if name}, schema))
    url, bodies = shortcut_url(api, workspace, lakehouse), [each.body(connection) for each in found]
    for layer, name in generations.items():
        if name is None:
            sys.stderr.write(f"headwater: there is no {layer} yet: run Spark's pass, then this again\n")
    if dry_run:
        _print_requests(url, bodies, as_json)
        return
    with closing(open_fabric(settings, api)) as client:
        for body in bodies:
            client.post(url, body)
    items = {"items": [each._asdict() for each in found]}
    show(items, as_json, lambda: table("Shortcuts", items, ("path", "name", "location", "subpath")))


def _print_requests(url: str, bodies: list[dict[str, Any]], as_json: bool) -> None:
    items = [{"method": "POST", "url": url, "body": body} for body in bodies]
    if as_json:
        sys.stdout.write(json.dumps({"items": items}) + "\n")
        return
    for item in items:
        sys.stdout.write(f"POST {item['url']}\n{json.dumps(item['body'])}\n\n")
