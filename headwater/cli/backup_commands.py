"""`headwater backup` and `headwater restore`."""

from pathlib import Path
from typing import Annotated

import typer

from headwater.cli.options import SETUP, Data, Json, example
from headwater.cli.printing import pairs, show
from headwater.operations.settings import load_settings

app = typer.Typer()


@app.command(rich_help_panel=SETUP, epilog=example("headwater", "backup", "/mnt/backups/2026-11-23"))
def backup(
    dest: Annotated[Path, typer.Argument(help="New folder, preferably on another disk.")],
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Back up log and lake consistently while Headwater runs. Contains every event acknowledged before the start."""
    from headwater.operations.backup.backing_up import back_up

    found = back_up(load_settings({"data": data})[0], dest)
    show(found, as_json, lambda: pairs("Backup", found))


@app.command(rich_help_panel=SETUP, epilog=example("headwater", "restore", "/mnt/backups/2026-11-23"))
def restore(
    src: Annotated[Path, typer.Argument(help="Folder of the backup.")],
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Restore a backup into an empty data folder. If the backup is incomplete, list what is missing and stop."""
    from headwater.operations.backup import restoring

    found = restoring.restore(load_settings({"data": data})[0], src)
    show(found, as_json, lambda: pairs("Restored", found))
