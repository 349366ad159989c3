"""`headwater sinks`: what each sink does, and what it is told to do. Headwater may run meanwhile, or not."""

import sys
from typing import Any

import typer

from headwater.api import sink_routes
from headwater.cli.asking import asking
from headwater.cli.failing import warn
from headwater.cli.options import Csv, Data, Json, Key, Server, Wide
from headwater.cli.printing import Given, listed, pairs, show, table
from headwater.cli.question_commands import command
from headwater.cli.wording import safe

app = typer.Typer(name="sinks", help="Other systems that get what the lake has taken: see, check, pause, repeat.")

_SHOWN = ("name", "type", "state", "behind.events", "behind.seconds", "delivered", "failed", "next_try", "trouble")

_LOST = ("part", "name", "held", "things", "runs", "why")


@app.callback(invoke_without_command=True, help=sink_routes.sinks.does)
def _list(
    context: typer.Context, server: Server = None, key: Key = None, data: Data = None, _wide: Wide = False,
    _csv: Csv = False, as_json: Json = False,
) -> None:  # fmt: skip
    if context.invoked_subcommand:
        return
    with asking(server, key, data) as source:
        found = source.ask(sink_routes.sinks, {})
    if found["problem"] and not as_json:
        warn(found["problem"])
    show(found, as_json, lambda: table("Sinks", found, _SHOWN))


def _checked(found: Any, as_json: bool, _: Given) -> None:
    show(found, as_json, lambda: pairs("Checked", found))


def _named(found: Any, as_json: bool, _: Given) -> None:
    steps = " → ".join(step["rule"] for step in found["items"])
    shown = {**{key: value for key, value in found.items() if key != "items"}, "canonical by": steps or "as sent"}
    show(found, as_json, lambda: pairs("Name", shown))


def _reset(found: Any, as_json: bool, _: Given) -> None:
    show(found, as_json, lambda: pairs("Reset", found))


def _redriven(found: Any, as_json: bool, _: Given) -> None:
    show(found, as_json, lambda: pairs("Sent again", found))
    sys.exit(1 if found["refused"] else 0)


def _lost(found: Any, as_json: bool, _: Given) -> None:
    more = ", there is more" if found["truncated"] else ""
    show(found, as_json, lambda: table(f"Not held of {found['events']} events{more}", found, _LOST))


def _preview(found: Any, as_json: bool, _: Given) -> None:
    if as_json:
        show(found, True, dict)
        return
    for item in found["items"]:
        sys.stdout.write(f"{item['payload']}\n" if not item["unfit"] else f"# not sent: {safe(item['unfit'])}\n")


command(app, sink_routes.check, _checked)
command(app, sink_routes.pause)
command(app, sink_routes.resume)
command(app, sink_routes.reset, _reset, options=("to",))
command(app, sink_routes.failures, listed("Failures", ("received_at", "event_id", "run_id", "attempts", "reason")))
command(app, sink_routes.redrive, _redriven, also="Status 1 if anything stays.")
command(app, sink_routes.preview, _preview)
command(app, sink_routes.losses, _lost, arguments=("run",))
command(app, sink_routes.names, _named)
