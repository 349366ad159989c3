"""`headwater watch`: print live events from the stream of a server until Ctrl-C."""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Annotated, Any, NamedTuple

import httpx
import typer

from headwater.api import routes
from headwater.cli.errors import warn
from headwater.cli.options import Json, Key, RunningServer, example_text
from headwater.cli.server_client import ServerClient, server_or_local
from headwater.cli.text_format import as_text, dataset_text, escape_unprintable
from headwater.common.errors import HeadwaterError
from headwater.questions import definitions

app = typer.Typer()

RECONNECT_AFTER_S = 45.0
"""Seconds without data after which to reconnect. The server sends three heartbeats in this time."""

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
_FAILED = ("FAIL", "ABORT")

_Patterns = Annotated[list[str] | None, typer.Option(help="Only these: exact, or with * ? [...]; repeatable.")]
_Failed = Annotated[bool, typer.Option("--failed", help="Only failed and aborted runs, and rejected events.")]


class StreamEvent(NamedTuple):
    """An event of the stream."""

    id: str
    event: str
    data: Any


@app.command(epilog=example_text("headwater", "watch", "--failed", "--json"))
def watch(
    job: _Patterns = None, dataset: _Patterns = None, failed: _Failed = False, server: RunningServer = None,
    key: Key = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Print live events until Ctrl-C: run states, lineage that appears or ends, rejected events.

    Without --server, it listens to HEADWATER_URL, else to the Headwater on this machine. If the connection breaks, it
    reconnects and prints the missed events. With --dataset, it shows only runs that read or wrote the dataset.
    """
    with closing(ServerClient(server_or_local(server), key, warn)) as answers, suppress(KeyboardInterrupt):
        for event in follow_events(answers):
            if _is_wanted(event, answers, job or (), dataset or (), failed):
                sys.stdout.write(
                    (json.dumps(event._asdict(), ensure_ascii=False) if as_json else _event_line(event)) + "\n"
                )
                sys.stdout.flush()


def follow_events(answers: ServerClient, wait: Callable[[float], None] = time.sleep) -> Iterator[StreamEvent]:
    """Yield the events of a server, and reconnect when the connection breaks.

    Raises the error of the first connection if it fails. wait: pauses for the given seconds.
    """
    last, has_listened, pause_s = "", False, _FIRST_PAUSE_S
    while True:
        try:
            with answers.stream("live", {"last-event-id": last} if last else {}, RECONNECT_AFTER_S) as answer:
                if answer.status_code == 200:
                    has_listened, pause_s = True, _FIRST_PAUSE_S
                    for event in read_events(answer.iter_lines()):
                        last = event.id or last
                        yield event
                elif answer.status_code != 503:
                    raise answers.stream_error(routes.live, answer)
            why = f"{answers.url} ended the stream"
        except httpx.RequestError as error:
            if not has_listened:
                raise answers.connection_error(error) from error
            why = f"The connection to {answers.url} broke"
        warn(f"{why}; reconnecting.")
        wait(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def read_events(lines: Iterable[str]) -> Iterator[StreamEvent]:
    """Parse server-sent events (HTML Living Standard). An incomplete event at the end is dropped."""
    found: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        if name:
            found[name] = value.removeprefix(" ")
        elif "data" in found:
            with suppress(ValueError):
                yield StreamEvent(found.get("id", ""), found.get("event", "message"), json.loads(found["data"]))
            found = {}


def _is_wanted(
    event: StreamEvent, answers: ServerClient, jobs: Iterable[str], datasets: Iterable[str], failed: bool
) -> bool:  # fmt: skip
    data = event.data
    if event.event in ("hello", "reset"):
        warn(f"Listening to {answers.url}. Press Ctrl-C to stop." if event.event == "hello" else _RESET)
        return False
    if failed and event.event != "rejected" and data.get("state") not in _FAILED:
        return False
    if jobs and not _matches(jobs, data.get("job"), "name"):
        return False
    return not datasets or any(_matches(datasets, each, "dataset") for each in _datasets_of(event, answers))


_RESET = "The server no longer has the missed events of the stream. Run `headwater events` to list them."


def _matches(patterns: Iterable[str], thing: Any, member: str) -> bool:
    if not isinstance(thing, Mapping):
        return False
    names = thing[member], f"{thing['namespace']}/{thing[member]}"
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _datasets_of(event: StreamEvent, answers: ServerClient) -> list[Any]:
    if event.event != "run":
        return [event.data.get("from"), event.data.get("to")]
    try:
        found = answers.ask(definitions.run, {}, run=event.data["run"])
    except HeadwaterError:
        return []
    return [*found["reads"], *found["writes"]]


def _event_line(event: StreamEvent) -> str:
    data, now = event.data, datetime.now(UTC).strftime("%H:%M:%SZ")
    return escape_unprintable(f"{now} {event.event} {_LINES.get(event.event, as_text)(data)}")


_LINES: Mapping[str, Callable[[Any], str]] = {
    "run": lambda run: f"{run['state']} {as_text(run['job'])} {run['run']}",
    "edge": lambda edge: (
        f"{edge['change']} {dataset_text(edge['from'])} → {dataset_text(edge['to'])} by {as_text(edge['job'])}, "
        f"{edge['columns']} {'column' if edge['columns'] == 1 else 'columns'}"
    ),
    "rejected": lambda rejected: f"{rejected['reason']}: {rejected['message'] or rejected['field'] or ''}",
}
