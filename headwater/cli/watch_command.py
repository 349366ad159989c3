"""`headwater watch`: what happens now, from a server's stream of events, until Ctrl-C."""

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

from headwater.api import api_routes
from headwater.cli.failing import warn
from headwater.cli.options import OPERATE, Json, Key, Server, example
from headwater.cli.server_answers import ServerAnswers, asked_server
from headwater.cli.wording import place, safe, said
from headwater.errors import HeadwaterError
from headwater.questions import declared
from headwater.server_address import LOCAL

app = typer.Typer()

SILENT_S = 45.0
"""Three heartbeats of the server: a connection without a sign for so long is given up."""

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
_FAILED = ("FAIL", "ABORT")

_Patterns = Annotated[list[str] | None, typer.Option(help="Only these; exact, or with * ? [...]; several times.")]
_Failed = Annotated[bool, typer.Option("--failed", help="Only runs that failed or were aborted, and rejected events.")]


class StreamEvent(NamedTuple):
    """An event of the stream."""

    id: str
    event: str
    data: Any


@app.command(rich_help_panel=OPERATE, epilog=example("headwater", "watch", "--failed", "--json"))
def watch(
    job: _Patterns = None, dataset: _Patterns = None, failed: _Failed = False, server: Server = None, key: Key = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Follow what happens now: states of runs, lineage that appears or ends, rejected events. Until Ctrl-C.

    Asks HEADWATER_URL, or the Headwater of this machine, without --server. A connection that breaks is made again, and
    what was missed meanwhile is told. With --dataset of runs those that read or wrote it.
    """
    with closing(ServerAnswers(asked_server(server) or LOCAL, key, warn)) as answers, suppress(KeyboardInterrupt):
        for told in follow(answers):
            if _is_wanted(told, answers, job or (), dataset or (), failed):
                sys.stdout.write((json.dumps(told._asdict(), ensure_ascii=False) if as_json else _line(told)) + "\n")
                sys.stdout.flush()


def follow(answers: ServerAnswers, wait: Callable[[float], None] = time.sleep) -> Iterator[StreamEvent]:
    """Yield what a server tells, whatever happens to the connection once there was one; raises why there was none."""
    last, has_listened, pause_s = "", False, _FIRST_PAUSE_S
    while True:
        try:
            with answers.stream("live", {"last-event-id": last} if last else {}, SILENT_S) as answer:
                if answer.status_code == 200:
                    has_listened, pause_s = True, _FIRST_PAUSE_S
                    for told in read_events(answer.iter_lines()):
                        last = told.id or last
                        yield told
                elif answer.status_code != 503:
                    raise answers.refusal(api_routes.live, answer)
            why = f"{answers.url} ended the stream"
        except httpx.RequestError as error:
            if not has_listened:
                raise answers.no_answer(error) from error
            why = f"The connection to {answers.url} broke"
        warn(f"{why}; it is tried again.")
        wait(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def read_events(lines: Iterable[str]) -> Iterator[StreamEvent]:
    """Yield the events of a stream (HTML, server-sent events); one that is cut off is none, and comes again."""
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
    told: StreamEvent, answers: ServerAnswers, jobs: Iterable[str], datasets: Iterable[str], failed: bool
) -> bool:  # fmt: skip
    data = told.data
    if told.event in ("hello", "reset"):
        warn(f"Listening to {answers.url}; Ctrl-C ends it." if told.event == "hello" else _RESET)
        return False
    if failed and told.event != "rejected" and data.get("state") not in _FAILED:
        return False
    if jobs and not _fits(jobs, data.get("job"), "name"):
        return False
    return not datasets or any(_fits(datasets, each, "dataset") for each in _datasets(told, answers))


_RESET = "What happened meanwhile cannot be told any more: `headwater events` lists it."


def _fits(patterns: Iterable[str], thing: Any, member: str) -> bool:
    if not isinstance(thing, Mapping):
        return False
    names = thing[member], f"{thing['namespace']}/{thing[member]}"
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _datasets(told: StreamEvent, answers: ServerAnswers) -> list[Any]:
    if told.event != "run":
        return [told.data.get("from"), told.data.get("to")]
    try:
        found = answers.ask(declared.run, {}, run=told.data["run"])
    except HeadwaterError:
        return []
    return [*found["reads"], *found["writes"]]


def _line(told: StreamEvent) -> str:
    data, now = told.data, datetime.now(UTC).strftime("%H:%M:%SZ")
    return safe(f"{now} {told.event} {_LINES.get(told.event, said)(data)}")


_LINES: Mapping[str, Callable[[Any], str]] = {
    "run": lambda run: f"{run['state']} {said(run['job'])} {run['run']}",
    "edge": lambda edge: (
        f"{edge['change']} {place(edge['from'])} → {place(edge['to'])} by {said(edge['job'])}, "
        f"{edge['columns']} {'column' if edge['columns'] == 1 else 'columns'}"
    ),
    "rejected": lambda rejected: f"{rejected['reason']}: {rejected['message'] or rejected['field'] or ''}",
}
