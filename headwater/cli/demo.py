"""`headwater demo`: a running Headwater with the recorded events of a shop, and its main answers."""

import os
import shutil
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from headwater.cli.printing import ITSELF, list_table, print_value
from headwater.common.errors import HeadwaterError
from headwater.common.standard_output import print_line

if TYPE_CHECKING:
    from headwater.cli.server_client import ServerClient


class DemoQuestion(NamedTuple):
    """A question of the demo: the command that asks it, and the columns of its answer that the demo prints."""

    title: str
    command: str
    asked: Mapping[str, str]
    columns: Sequence[str]


QUESTIONS = (
    DemoQuestion(
        "Upstream: the columns that the metric gold.revenue#revenue comes from",
        "upstream gold.revenue revenue",
        {"dataset": "gold.revenue", "column": "revenue"},
        ("distance", ITSELF, "via.transformation"),
    ),
    DemoQuestion(
        "Personal data: where the e-mail address is readable",
        "surface landing/customers email",
        {"dataset": "landing/customers", "column": "email"},
        ("exposure", ITSELF, "how"),
    ),
    DemoQuestion(
        "Unused: the columns of silver/orders that can be dropped",
        "unused silver/orders",
        {"dataset": "silver/orders"},
        ("verdict", ITSELF, "reason"),
    ),
    DemoQuestion(
        "Incidents: what failed last night, and what is late", "incidents", {}, ("kind", "affectedCount", "summary")
    ),
)

_HEADERS = {ITSELF: "column", "distance": "steps", "via.transformation": "how", "affectedCount": "affected"}
_PORT = 5000


def demo(
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder that keeps the demo's data; default is a temporary folder."),
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on; default 5000, or a free port if 5000 is in use.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the dashboard in the browser.")] = True,
    leave: Annotated[bool, typer.Option("--exit", help="Exit after the answers.")] = False,
) -> None:
    """Replay the recorded events of a shop, print four answers and serve the dashboard until Ctrl-C."""
    started = monotonic()
    from headwater.operations.demo.replay import demo_settings, prepare_demo
    from headwater.operations.local.up import run_headwater

    with _data_folder(data) as folder:
        end = prepare_demo(folder)
        prepared = ThreadPoolExecutor(1).submit(_load_recording, end)  # runs while the server starts
        settings = demo_settings(folder, _PORT if port is None and _is_free(_PORT) else port or 0, end)
        open_page = browser and not leave and _is_interactive()
        status = run_headwater(
            settings, lambda url: _run_session(folder, url, end, prepared, started, open_page, leave)
        )
    sys.exit(status)


@contextmanager
def _data_folder(data: Path | None) -> Iterator[Path]:
    """Yield the folder for the data. If `data` is None, the folder is temporary and is deleted at the end."""
    if data:
        yield data.expanduser().resolve()
        return
    folder = Path(tempfile.mkdtemp(prefix="headwater-demo-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _load_recording(end: datetime) -> list[bytes]:
    """Read the recording and import the commands that ask questions."""
    from headwater.operations.demo.recording import recording_until

    lines = recording_until(end)
    import_module("headwater.cli.app")
    return [line.encode() for line in lines]


def _run_session(
    folder: Path, url: str, end: datetime, prepared: "Future[list[bytes]]", started: float, open_page: bool, leave: bool
) -> int | None:
    """Send the recording, answer the questions and open the dashboard. Returns the exit status if the demo ends."""
    from headwater.cli.server_client import ServerClient

    print_line(f"Headwater listens on {url} · data in {folder} · stop with Ctrl-C")
    try:
        with closing(ServerClient(url, None)) as client:
            _send_recording(folder, url, end, prepared.result(), client)
            for number, question in enumerate(QUESTIONS):
                answer = _answer_items(client, question)
                if not number:
                    print_line(f"First answer {monotonic() - started:.1f} s after the start.")
                _print_question(question, answer, url)
    except HeadwaterError as error:
        print_line(f"headwater: {error}")
        return 3
    if leave:
        return 0
    print_line(_next_steps(url, end))
    if open_page:
        with suppress(webbrowser.Error):
            webbrowser.open(url)
    return None


def _send_recording(folder: Path, url: str, end: datetime, events: list[bytes], client: "ServerClient") -> None:
    from headwater.api import routes
    from headwater.operations.demo.replay import has_sent_all_events, send_recording, wait_until_answered

    if has_sent_all_events(folder):
        print_line(f"This folder already has the recorded events; the last one is at {end:%Y-%m-%d %H:%M} UTC.")
    else:
        send_recording(folder, url, end, events)
        print_line(
            f"Sent {len(events)} recorded events of a shop: Spark notebooks fill bronze and silver, dbt fills gold.\n"
            f"All times were moved together, so that the last event is now ({end:%Y-%m-%d %H:%M} UTC)."
        )
    wait_until_answered(lambda: int(client.ask(routes.freshness, {})["events"]))


def _answer_items(client: "ServerClient", question: DemoQuestion) -> dict[str, Any]:
    """Return the items of an answer."""
    from headwater.questions import definitions

    found = client.ask(getattr(definitions, question.command.split()[0]), question.asked)
    return {"items": found["columns"] if "columns" in found else found["items"]}


def _print_question(question: DemoQuestion, answer: dict[str, Any], url: str) -> None:
    """Print an answer, and the command that prints all of its members."""
    print_line("")
    print_value(answer, False, lambda: list_table(question.title, answer, question.columns, _HEADERS))
    print_line(f"More: headwater {question.command} --server {url}")


def _next_steps(url: str, end: datetime) -> str:
    day = timedelta(days=1)
    week_ago = f"--from {end - 8 * day:%Y-%m-%dT%H:%MZ} --to {end - 7 * day:%Y-%m-%dT%H:%MZ}"
    steps = {
        f"{url}/": "the dashboard",
        f"headwater changes {week_ago} --server {url}": "the schema change of a week ago",
        f"headwater impact silver/customers email --server {url}": "what breaks if this column changes?",
        f"headwater connect --server {url}": "how to send lineage from Spark, Airflow or dbt",
    }
    lines = "\n".join(f"  {step}\n      {what}" for step, what in steps.items())
    return f"\nThe demo runs until Ctrl-C. Try next:\n{lines}"


def _is_free(port: int) -> bool:
    with socket.socket() as probe, suppress(OSError):
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        return True
    return False


def _is_interactive() -> bool:
    """Return whether a person can see a browser: standard output is a terminal and, on Linux, there is a display."""
    has_display = sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    return sys.stdout.isatty() and has_display
