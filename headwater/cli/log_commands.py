"""`headwater log`: show the event log, and start a new epoch."""

from typing import Annotated, Literal

import typer

from headwater.cli.data_folder import DataFolder
from headwater.cli.options import Data, Json
from headwater.cli.printing import pairs, show, table
from headwater.operations.settings import load_settings

app = typer.Typer(help="Show the event log, or start a new epoch of it.", no_args_is_help=True)


@app.command("show")
def log_show(data: Data = None, as_json: Json = False) -> None:
    """Show each partition: oldest and newest sequence number, watermark of the lake, and bytes on disk."""
    from headwater.api.log_audit import log_state

    folder = DataFolder(data)
    found = log_state(folder.readers(), folder.bronze)
    columns = ("partition", "head", "tail", "passed", "pending", "bytes")
    show(found, as_json, lambda: table(f"Event log {found['incarnation']}", found, columns))


@app.command("new-epoch")
def log_new_epoch(
    data: Data = None,
    route: Annotated[
        Literal["parser", "function", "spark"], typer.Option(help="The writer of the lake from now on.")
    ] = "parser",
    as_json: Json = False,
) -> None:
    """Start a new epoch after the log was deleted or restored, or to change the writer. Stop the current writer first.

    The writer parses the whole log again. It counts events that the lake already contains as duplicates.
    """
    from headwater.lake.ownership import ROUTES
    from headwater.operations.local.log_epochs import begin_epoch

    found = begin_epoch(load_settings({"data": data})[0], ROUTES[route])
    show(found, as_json, lambda: pairs("New epoch", found))
