"""`headwater ingest`: send the events of files to a running Headwater, each event once."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli.errors import warn
from headwater.cli.options import DeprecatedTo, Json, RunningServer, example_text
from headwater.cli.printing import pairs_table, print_value
from headwater.cli.server_client import server_or_local
from headwater.common.durations import parse_duration_s, parse_since
from headwater.operations.settings import Settings, load_settings

if TYPE_CHECKING:
    from headwater.intake.files.file_taking import IngestReport


app = typer.Typer()


@app.command(epilog=example_text("headwater", "ingest", "/mnt/lineage", "--follow"))
def ingest(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH...", help="Local or mounted files or folders, or abfss:// URLs."),
    ],
    server: RunningServer = None,
    to: DeprecatedTo = None,
    key: Annotated[
        str | None, typer.Option(envvar="HEADWATER_KEY", help="Key with the role write; --keep also needs read.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Keep sending new events until Ctrl-C.")] = False,
    since: Annotated[
        str | None, typer.Option(help="Only files modified since 2026-03-01 or for 2d. Skips older dt= folders.")
    ] = None,
    keep: Annotated[
        str | None, typer.Option(help="Delete files this long after they were sent, such as 7d. Default: never.")
    ] = None,
    state: Annotated[
        Path | None, typer.Option(help="Folder for the state; default ~/.local/state/headwater/ingest.")
    ] = None,
    max_rejected: Annotated[
        int, typer.Option(min=1, help="Skip the rest of a file after this many lines that are not events.")
    ] = 1000,
    as_json: Json = False,
) -> None:
    """Send the events of files that transports wrote. Run it again to send only new events.

    Reads NDJSON (including growing and rotated files), single events, arrays, gzip, and Avro of Event Hubs Capture.
    Exits with 1 if a line is not an event, the server rejects an event, or a symlink leads out of its folder.
    """
    from headwater.intake.files.batch_sending import BatchSender, open_receiver
    from headwater.intake.files.confirmation import ask_log_age_s, stored_in_bronze_before_us
    from headwater.intake.files.file_taking import FileIngester
    from headwater.intake.files.sources.source_registry import open_file_source
    from headwater.intake.files.taken_ledger import IngestLedger, ledger_path
    from headwater.operations.local.child_process import retry_while_disk_full
    from headwater.operations.local.ingest import PATIENCE_S, IngestOptions, ingest_files
    from headwater.operations.runtime.storage import resolve_secrets

    url = server_or_local(server or to)
    settings = load_settings({})[0]
    orders = IngestOptions(parse_since(since), parse_duration_s(keep) if keep else None, follow)
    options = resolve_secrets(settings.ingest_options)
    sources = [open_file_source(path, options, settings.identity_client_id) for path in paths]
    patience_s = float("inf") if follow else PATIENCE_S

    def opened() -> IngestLedger:
        return IngestLedger(ledger_path(state or _default_state_folder(), url))

    with (
        closing(retry_while_disk_full(opened, warn, time.sleep) if follow else opened()) as ledger,
        open_receiver(url, key) as ask,
        _progress_bar(shown=not as_json and sys.stderr.isatty()) as on_batch,
        suppress(KeyboardInterrupt),  # the ledger already contains all acknowledged events
    ):
        sender = BatchSender(ask, patience_s=patience_s, on_failure=warn)
        taker = FileIngester(ledger, sender, _claim_reader(settings), on_batch, max_rejected)
        ingest_files(taker, sources, orders, lambda: stored_in_bronze_before_us(lambda: ask_log_age_s(ask)), warn)
    outcome = {**taker.done.as_json(), "state": str(ledger.path)}
    print_value(outcome, as_json, lambda: pairs_table("Ingested", outcome))
    sys.exit(0 if taker.done.is_complete else 1)


def _default_state_folder() -> Path:
    """Return the state folder by the XDG Base Directory specification."""
    return Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state") / "headwater" / "ingest"


def _claim_reader(settings: Settings) -> Callable[[bytes], bytes]:
    """Return a function that reads a large body (claim) to which an event hub record refers.

    The first call opens the storage.
    """
    from headwater.operations.runtime.storage import open_claims

    return lambda key: open_claims(settings).get(key)


@contextmanager
def _progress_bar(*, shown: bool) -> Iterator[Callable[["IngestReport"], None]]:
    """Yield a function that updates the progress bar. Handle SIGTERM like Ctrl-C. shown: whether to show the bar."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    signal.signal(signal.SIGTERM, _raise_interrupt)
    columns = (BarColumn(), TextColumn("{task.fields[status]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not shown) as bar:
        task = bar.add_task("ingesting", total=None, status="listing files")

        def update(done: "IngestReport") -> None:
            rate = done.events / max(bar.tasks[0].elapsed or 0, 1e-3) if shown else 0
            bar.update(task, status=f"{done.events:,} events of {done.files:,} files, {rate:,.0f}/s")

        yield update


def _raise_interrupt(*_: Any) -> None:
    raise KeyboardInterrupt
