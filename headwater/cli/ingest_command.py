"""`headwater ingest`: files of events to a running Headwater, each event once."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli.options import FEED, Json, example
from headwater.cli.printing import pairs, show
from headwater.durations import read_since, seconds
from headwater.server_address import LOCAL
from headwater.settings import Settings, load_settings

if TYPE_CHECKING:
    from headwater.file_intake.file_taking import Intake

app = typer.Typer()


@app.command(rich_help_panel=FEED, epilog=example("headwater", "ingest", "/mnt/lineage", "--follow"))
def ingest(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH...", help="Files or folders: of this machine, mounted, or abfss://…"),
    ],
    to: Annotated[str, typer.Option("--to", envvar="HEADWATER_URL", help="Address of a running Headwater.")] = LOCAL,
    key: Annotated[
        str | None, typer.Option(envvar="HEADWATER_KEY", help="Key with the role write; for --keep also read.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on taking what comes, until Ctrl-C.")] = False,
    since: Annotated[
        str | None, typer.Option(help="Only files modified since: 2026-03-01, or 2d. Older dt= folders are left out.")
    ] = None,
    keep: Annotated[
        str | None, typer.Option(help="Delete files so long after they were taken, such as 7d; never by default.")
    ] = None,
    state: Annotated[
        Path | None, typer.Option(help="Folder of what was taken; default ~/.local/state/headwater/ingest.")
    ] = None,
    max_rejected: Annotated[
        int, typer.Option(min=1, help="Leave the rest of a file after so many lines that are no events.")
    ] = 1000,
    as_json: Json = False,
) -> None:
    """Take events from files that transports wrote; run again, it sends only what is new.

    Lines (also of files that grow or are rotated), one event a file, arrays, gzip, and Avro of Event Hubs Capture.
    Status 1 if some of it is no event, was refused, or lies behind a link that leads out of its folder.
    """
    from headwater.file_intake.batch_sending import BatchSender, open_receiver
    from headwater.file_intake.confirmation import ask_log_age_s, in_bronze_us
    from headwater.file_intake.file_taking import FileTaker
    from headwater.file_intake.sources.source_registry import open_source
    from headwater.file_intake.taken_ledger import TakenLedger, ledger_path
    from headwater.local.child_process import patiently
    from headwater.local.file_ingest import PATIENCE_S, IngestOrders, ingest_files
    from headwater.runtime.storage import revealed

    settings = load_settings({})[0]
    orders = IngestOrders(read_since(since), seconds(keep) if keep else None, follow)
    options = revealed(settings.ingest_options)
    sources = [open_source(path, options, settings.identity_client_id) for path in paths]
    patience_s = float("inf") if follow else PATIENCE_S

    def opened() -> TakenLedger:
        return TakenLedger(ledger_path(state or _default_state(), to))

    with (
        closing(patiently(opened, _warn, time.sleep) if follow else opened()) as ledger,
        open_receiver(to, key) as ask,
        _progress(shown=not as_json and sys.stderr.isatty()) as on_batch,
        suppress(KeyboardInterrupt),  # all that was acknowledged is in the ledger
    ):
        sender = BatchSender(ask, patience_s=patience_s, on_trouble=_warn)
        taker = FileTaker(ledger, sender, _claims(settings), on_batch, max_rejected)
        ingest_files(taker, sources, orders, lambda: in_bronze_us(lambda: ask_log_age_s(ask)), _warn)
    outcome = {**taker.done.shown(), "state": str(ledger.path)}
    show(outcome, as_json, lambda: pairs("Taken", outcome))
    sys.exit(0 if taker.done.is_well else 1)


def _default_state() -> Path:
    """Return where programs keep what is theirs (XDG Base Directory): the same wherever the command is run from."""
    return Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state") / "headwater" / "ingest"


def _claims(settings: Settings) -> Callable[[bytes], bytes]:
    """Return what gets large bodies that a Capture of our own hub names, opened when the first one comes."""
    from headwater.runtime.storage import open_claims

    return lambda key: open_claims(settings).get(key)


def _warn(text: str) -> None:
    sys.stderr.write(f"headwater: {text}\n")


@contextmanager
def _progress(*, shown: bool) -> Iterator[Callable[["Intake"], None]]:
    """Show what was taken so far; SIGTERM ends as Ctrl-C does."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    signal.signal(signal.SIGTERM, _interrupt)
    columns = (BarColumn(), TextColumn("{task.fields[said]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not shown) as bar:
        task = bar.add_task("taking", total=None, said="looking")

        def tell(done: "Intake") -> None:
            rate = done.events / max(bar.tasks[0].elapsed or 0, 1e-3) if shown else 0
            bar.update(task, said=f"{done.events:,} events of {done.files:,} files, {rate:,.0f}/s")

        yield tell


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt
