"""`headwater replay`: send events of the lake again, to a sink of `sinks.yml` or to a URL."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.options import Data, Json, example_text
from headwater.cli.printing import pairs_table, print_value
from headwater.common.errors import WrongSetting
from headwater.operations.runtime.data_folder import folder_lock, require_data_folder
from headwater.operations.runtime.sinks import open_replay
from headwater.operations.settings import load_settings
from headwater.questions import parameters as p
from headwater.questions.declaring import parse_as

if TYPE_CHECKING:
    from headwater.sinks.control.replay import Replay


app = typer.Typer()

_Patterns = Annotated[list[str] | None, typer.Option(help="Only these: exact, or with * ? [...]; repeatable.")]


@app.command(
    epilog=example_text("headwater", "replay", "--to", "http://marquez:5000", "--since", "2026-03-01"),
)
def replay(
    to: Annotated[
        str,
        typer.Option("--to", help="Name of a sink in sinks.yml, or URL of Marquez or another OpenLineage API."),
    ],
    since: Annotated[str | None, typer.Option(help="Only events with this or a later time.", metavar="TIME")] = None,
    until: Annotated[str | None, typer.Option(help="Only events with an earlier time.", metavar="TIME")] = None,
    received_since: Annotated[
        str | None, typer.Option(help="Only events received at or after this time; not with --since.", metavar="TIME")
    ] = None,
    received_until: Annotated[
        str | None, typer.Option(help="Only events received before this time.", metavar="TIME")
    ] = None,
    namespace: _Patterns = None,
    job: _Patterns = None,
    run: _Patterns = None,
    rate: Annotated[float | None, typer.Option(help="Maximum events per second.", min=0.001)] = None,
    batch: Annotated[int, typer.Option(help="For a URL: events per request.", min=1, max=2000)] = 1,
    key: Annotated[str | None, typer.Option(envvar="HEADWATER_KEY", help="For a URL: its key.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be sent, and send nothing.")] = False,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Send events of the lake again, in the order of event times. Exits with 1 if the target rejects an event.

    Headwater may be running or not. If the command is interrupted, run it again to continue.
    """
    from headwater.sinks.control.replay_span import ReplaySpan

    span = ReplaySpan.between(
        (parse_as(p.Since, "since", since), parse_as(p.Since, "until", until)),
        (parse_as(p.Since, "received_since", received_since), parse_as(p.Since, "received_until", received_until)),
        namespaces=namespace or (), jobs=job or (), runs=run or (),
    )  # fmt: skip
    settings = load_settings({"data": data})[0]
    folder = require_data_folder(settings)
    with folder_lock(folder, "replay", wait_s=0):
        found = open_replay(settings, folder, span, to, rate=rate, batch=batch, key=key)
        if dry_run:
            outcome = found.preview()
            print_value(outcome, as_json, lambda: pairs_table("Would be sent", outcome))
        else:
            _run_with_progress(found, as_json=as_json)


def _run_with_progress(replay: "Replay", *, as_json: bool) -> None:
    from rich.console import Console
    from rich.progress import Progress

    from headwater.sinks.running.runner import Status

    with Progress(console=Console(stderr=True), disable=as_json) as bar:
        task = bar.add_task("replaying", total=replay.total)

        def seen(settled: int, total: int, status: Status) -> None:
            bar.update(task, completed=settled, total=total, description=f"replaying, {status.state}")

        try:
            outcome = replay.run(seen)
        except KeyboardInterrupt:
            raise WrongSetting("Stopped. Run the same command again to continue.") from None
    print_value(outcome, as_json, lambda: pairs_table("Replayed", outcome))
    sys.exit(1 if outcome["refused"] else 0)
