"""`headwater backup` and `headwater restore`."""

from pathlib import Path
from typing import Annotated

import typer

from headwater.cli.options import BUILD, Data, Json, example
from headwater.cli.printing import pairs, show
from headwater.settings import load_settings

app = typer.Typer()


@app.command(rich_help_panel=BUILD, epilog=example("headwater", "backup", "/mnt/backups/2026-11-23"))
def backup(
    dest: Annotated[Path, typer.Argument(help="A new folder, on another disk.")],
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Copy log and lake as they belong together, while Headwater runs; all that was acknowledged before is in it."""
    from headwater.local.backup.backing_up import back_up

    found = back_up(load_settings({"data": data})[0], dest)
    show(found, as_json, lambda: pairs("Backup", found))


@app.command(rich_help_panel=BUILD, epilog=example("headwater", "restore", "/mnt/backups/2026-11-23"))
def restore(
    src: Annotated[Path, typer.Argument(help="The folder of a backup.")],
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Bring a backup back into a data folder that is empty; names what is missing, and then changes nothing."""
    from headwater.local.backup import restoring

    found = restoring.restore(load_settings({"data": data})[0], src)
    show(found, as_json, lambda: pairs("Restored", found))
