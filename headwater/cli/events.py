"""Commands for events: send, validate and list them, and retry rejected ones."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.api import routes
from headwater.cli.answer_source import DataFolder, open_answer_source, print_answer
from headwater.cli.options import Data, DeprecatedTo, Json, Key, RunningServer, Server, WriteKey, example_text
from headwater.cli.printing import Arguments, any_answer_printer, list_printer, list_table, pairs_table, print_value
from headwater.cli.question_commands import add_command, parameter_option
from headwater.cli.server_client import server_or_local

app = typer.Typer()


@app.command(epilog=example_text("headwater", "send", "events.ndjson"))
def send(
    files: Annotated[list[Path], typer.Argument(help="NDJSON, a JSON document or a JSON array; plain or gzip.")],
    server: RunningServer = None,
    to: DeprecatedTo = None,
    key: WriteKey = None,
    as_json: Json = False,
) -> None:
    """Send all events of files, even if they were sent before. `ingest` sends only new events."""
    from headwater.operations.local.ingest import send_files

    outcome = send_files(files, server_or_local(server or to), key, progress=not as_json)
    print_value(outcome, as_json, lambda: pairs_table("Sent", outcome))
    sys.exit(1 if outcome["refused"] else 0)


def _print_audit(found: Any, as_json: bool, given: Arguments) -> None:
    flat = {**found, **{f"index: {name}": value for name, value in (found["index"] or {}).items()}}
    del flat["index"]
    any_answer_printer("Audit")(found if as_json else flat, as_json, given)
    sys.exit(0 if found["balanced"] else 1)


add_command(app, routes.audit, _print_audit, extra_help="Exits with 1 if it is not.")
_EVENTS = ("received_at", "event_kind", "event_type", "job_namespace", "job_name", "run_id", "flags")
add_command(app, routes.events, list_printer("Events", _EVENTS))


@app.command(epilog=example_text("headwater", "rejected", "--since", "2026-03-01"))
def rejected(
    index: Annotated[
        bool, typer.Option("--index", help="List stored events that the index could not process.")
    ] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Send the events again to a running Headwater.")] = False,
    to: DeprecatedTo = None,
    since: Annotated[str | None, parameter_option(routes.rejected, "since")] = None,
    limit: Annotated[int, parameter_option(routes.rejected, "limit")] = 100,
    server: Server = None,
    key: Key = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """List acknowledged events that could not be stored, with reasons, or send them again.

    With --retry, --data and --server together send the events of the data folder to the server.
    """
    from headwater.operations.local.ingest import send_bodies

    question, title, columns = _REJECTED[index]
    with open_answer_source(None if retry and data else server, key, data) as source:
        found = source.ask(question, {"since": since or "", "limit": str(limit)})
        if not retry or index:
            print_answer(source, question, found, lambda found: list_printer(title, columns)(found, as_json, {}))
            return
        bodies = [item["body"].encode() for item in found["items"] if item["body"]]
        receiver = server_or_local(to or server)
        outcome = send_bodies(bodies, receiver, key, progress=not as_json)
        if isinstance(source, DataFolder):
            source.record("rejected retry", receiver, detail=f"{len(bodies)} sent, {outcome['refused']} refused")
    print_value(outcome, as_json, lambda: pairs_table("Sent again", outcome))
    sys.exit(1 if outcome["refused"] else 0)


_REJECTED = {
    False: (
        routes.rejected, "Rejected",
        ("received_at", "sequence", "to_sequence", "reason", "field", "message", "origin"),
    ),
    True: (
        routes.set_aside, "Set aside",
        ("received_at", "event_id", "partition", "sequence", "set_aside_at", "reason", "message"),
    ),
}  # fmt: skip
"""Question, title and columns of the table, by the value of the option --index."""


@app.command(epilog=example_text("headwater", "validate", "events.ndjson"))
def validate(
    files: Annotated[list[Path], typer.Argument(help="NDJSON, a JSON document or a JSON array.")],
    infos: Annotated[
        bool, typer.Option("--infos", help="Also show findings that do not make an event invalid.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Validate events and facets against the published schemas, offline. Exits with 1 if any event is invalid."""
    from headwater.events.file_validation import validate_file

    items = []
    checked = invalid = 0
    for path in files:
        for event in validate_file(path):
            checked += 1
            invalid += not event.is_valid
            shown = [problem for problem in event.problems if infos or problem.severity == "error"]
            items += [{"file": str(path), "line": event.line, **asdict(problem)} for problem in shown]
    found = {"checked": checked, "invalid": invalid, "items": items}
    print_value(found, as_json, lambda: list_table(f"{checked} events checked, {invalid} invalid", found, _PROBLEM))
    sys.exit(1 if invalid else 0)


_PROBLEM = ("file", "line", "path", "message")
