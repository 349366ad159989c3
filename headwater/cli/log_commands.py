"""`headwater log`: what the event log holds, and a new epoch of it."""

from typing import Annotated, Literal

import typer

from headwater.cli.data_folder import DataFolder
from headwater.cli.options import Data, Json
from headwater.cli.printing import pairs, show, table
from headwater.settings import load_settings

app = typer.Typer(help="Look at the event log, or begin a new epoch of it.", no_args_is_help=True)


@app.command("show")
def log_show(data: Data = None, as_json: Json = False) -> None:
    """Print, per partition, first and newest sequence number, what the lake has passed, and bytes on disk."""
    from headwater.api.operation_lists import log_state

    folder = DataFolder(data)
    found = log_state(folder.readers(), folder.bronze)
    columns = ("partition", "head", "tail", "passed", "pending", "bytes")
    show(found, as_json, lambda: table(f"Event log {found['incarnation']}", found, columns))


@app.command("new-epoch")
def log_new_epoch(
    data: Data = None,
    route: Annotated[
        Literal["parser", "function", "spark"], typer.Option(help="What feeds the lake from now on.")
    ] = "parser",
    as_json: Json = False,
) -> None:
    """Go on with a log that was deleted or restored behind its lake, or by another route. Stop what feeds it first.

    Everything in the log is parsed again; what the lake already has is recognised and counted as duplicate.
    """
    from headwater.lake.ownership import ROUTES
    from headwater.local.log_epochs import begin_epoch

    found = begin_epoch(load_settings({"data": data})[0], ROUTES[route])
    show(found, as_json, lambda: pairs("New epoch", found))
