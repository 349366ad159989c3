"""`headwater fabric`: deploy Headwater to a workspace of Microsoft Fabric."""

import json
import sys
from contextlib import closing
from typing import Annotated, Any

import typer

from headwater.cli.fabric_deploy_command import check, deploy
from headwater.cli.fabric_options import Api, Data, Json, Schema, WorkspaceId, as_id, lake_shortcuts
from headwater.cli.printing import show, table
from headwater.operations.settings import load_settings

app = typer.Typer(help="Headwater in a workspace of Microsoft Fabric.", no_args_is_help=True)

app.command()(deploy)
app.command()(check)


@app.command()
def shortcut(
    workspace: WorkspaceId,
    lakehouse: Annotated[str, typer.Option(help="Id of the lakehouse.", callback=as_id)],
    connection: Annotated[
        str, typer.Option(help="Id of the Fabric connection to the storage account of the lake.", callback=as_id)
    ],
    schema: Schema = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the requests without sending them.")] = False,
    api: Api = "https://api.fabric.microsoft.com",
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Create shortcuts to the lake in a lakehouse: Files/headwater for all files, and tables for bronze, silver, gold.

    Run the command again after a change of rules or an upgrade. Until then, the shortcuts show the previous tables.
    """
    from headwater.operations.fabric.rest import shortcut_url
    from headwater.operations.runtime.workspaces import open_fabric

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
    show(items, as_json, lambda: table("Shortcuts", items, ("path", "name", "location", "subpath")))


def _print_requests(url: str, bodies: list[dict[str, Any]], as_json: bool) -> None:
    items = [{"method": "POST", "url": url, "body": body} for body in bodies]
    if as_json:
        sys.stdout.write(json.dumps({"items": items}) + "\n")
        return
    for item in items:
        sys.stdout.write(f"POST {item['url']}\n{json.dumps(item['body'])}\n\n")
