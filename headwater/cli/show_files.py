"""`headwater show`: open the page on files of events, without a data folder."""

import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.errors import warn
from headwater.cli.options import example_text
from headwater.operations.settings import load_settings

if TYPE_CHECKING:
    from headwater.api.shapes import Audit

app = typer.Typer()


@app.command(epilog=example_text("headwater", "show", "events.ndjson"))
def show(
    files: Annotated[list[Path], typer.Argument(help="NDJSON, a JSON document or a JSON array; plain or gzip.")],
    port: Annotated[int, typer.Option(help="Port to listen on; 0 picks a free port.", min=0, max=65535)] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the URL without opening a browser.")] = False,
) -> None:
    """Show files of OpenLineage events on the page, without a data folder. Ctrl-C ends it and deletes its data.

    The server listens on 127.0.0.1 and is read-only. It uses your rules, but no other setting of this machine.
    """
    from headwater.operations.local.file_server import show_files

    def open_page(url: str, counts: "Audit") -> None:
        if counts.rejected:
            lines = "1 line is not an event" if counts.rejected == 1 else f"{counts.rejected} lines are not events"
            warn(f"{lines}. The page lists the reasons under Rejected.")
        sys.stdout.write(f"Headwater listens on {url} · {counts.stored} events, read-only · stop with Ctrl-C\n")
        sys.stdout.flush()
        if not no_browser:
            webbrowser.open(url)

    settings = load_settings({})[0]
    rules = (settings.rules or settings.data / "rules").expanduser().resolve()
    sys.exit(show_files(files, port, rules if rules.is_dir() else None, open_page))
