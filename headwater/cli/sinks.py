"""`headwater sinks`: list and control sinks, whether or not Headwater is running."""

import sys
from typing import Any

import typer

from headwater.api import sink_routes
from headwater.cli.answer_source import open_answer_source
from headwater.cli.errors import warn
from headwater.cli.options import Csv, Data, Json, Key, Server, Wide
from headwater.cli.printing import Arguments, list_printer, list_table, pairs_printer, pairs_table, print_value
from headwater.cli.question_commands import add_command
from headwater.cli.text_format import escape_unprintable

app = typer.Typer(
    name="sinks", help="Sinks, which forward events to other systems: list, check, pause, reset, redrive."
)

_SHOWN = ("name", "type", "state", "behind.events", "behind.seconds", "delivered", "failed", "next_try", "trouble")

_LOST = ("part", "name", "held", "things", "runs", "why")


@app.callback(invoke_without_command=True, help=sink_routes.sinks.description)
def _print_sinks(
    context: typer.Context, server: Server = None, key: Key = None, data: Data = None, _wide: Wide = False,
    _csv: Csv = False, as_json: Json = False,
) -> None:  # fmt: skip
    if context.invoked_subcommand:
        return
    with open_answer_source(server, key, data) as source:
        found = source.ask(sink_routes.sinks, {})
    if found["problem"] and not as_json:
        warn(found["problem"])
    print_value(found, as_json, lambda: list_table("Sinks", found, _SHOWN))


def _print_names(found: Any, as_json: bool, _: Arguments) -> None:
    steps = " → ".join(step["rule"] for step in found["items"])
    shown = {**{key: value for key, value in found.items() if key != "items"}, "canonical by": steps or "as sent"}
    print_value(found, as_json, lambda: pairs_table("Name", shown))


def _print_redriven(found: Any, as_json: bool, _: Arguments) -> None:
    print_value(found, as_json, lambda: pairs_table("Sent again", found))
    sys.exit(1 if found["refused"] else 0)


def _print_losses(found: Any, as_json: bool, _: Arguments) -> None:
    more = " (truncated)" if found["truncated"] else ""
    print_value(found, as_json, lambda: list_table(f"Losses in {found['events']} events{more}", found, _LOST))


def _print_preview(found: Any, as_json: bool, _: Arguments) -> None:
    if as_json:
        print_value(found, True, dict)
        return
    for item in found["items"]:
        sys.stdout.write(
            f"{item['payload']}\n" if not item["unfit"] else f"# not sent: {escape_unprintable(item['unfit'])}\n"
        )


add_command(app, sink_routes.check, pairs_printer("Checked"))
add_command(app, sink_routes.send_test, pairs_printer("Sent"))
add_command(app, sink_routes.pause)
add_command(app, sink_routes.resume)
add_command(app, sink_routes.reset, pairs_printer("Reset"), options=("to",))
add_command(
    app, sink_routes.failures, list_printer("Failures", ("received_at", "event_id", "run_id", "attempts", "reason"))
)
add_command(
    app, sink_routes.redrive, _print_redriven, extra_help="Exits with 1 if the target rejects any of them again."
)
add_command(app, sink_routes.preview, _print_preview)
add_command(app, sink_routes.losses, _print_losses, arguments=("run",))
add_command(app, sink_routes.names, _print_names)
