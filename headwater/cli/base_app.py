"""The commands that do not import the rules of lineage at once: `up`, `demo`, `check` and `--version`."""

import sys
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from headwater.cli.demo import demo
from headwater.cli.errors import warn
from headwater.cli.options import EVENTS, LINEAGE, OPERATIONS, SETUP, Data, Json, example
from headwater.cli.printing import show, table
from headwater.common.durations import seconds
from headwater.operations.settings import load_settings

NAME, COMPLETE = "headwater", "_HEADWATER_COMPLETE"


class GroupedCommands(TyperGroup):
    """Commands sorted by help panel, lineage first."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands in the order of `--help`."""
        panels = [LINEAGE, OPERATIONS, EVENTS, SETUP]
        panel = {name: getattr(each, "rich_help_panel", None) for name, each in self.commands.items()}
        return sorted(super().list_commands(ctx), key=lambda name: panels.index(panel.get(name) or SETUP))


def base_app(group: type[TyperGroup] = GroupedCommands) -> typer.Typer:
    """Return a command line with the commands of this module only. group: decides which commands there are."""
    app = typer.Typer(
        cls=group,
        help="Headwater ingests OpenLineage events without loss and answers column-level questions about lineage.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        epilog="Example: `headwater impact silver/customers email --server http://127.0.0.1:5000`",
    )
    app.callback()(_options)
    app.command(
        "up", rich_help_panel=SETUP, epilog=example(NAME, "up", "--data", "./headwater-data", "--port", "5000")
    )(up)
    app.command("demo", rich_help_panel=SETUP, epilog=example(NAME, "demo"))(demo)
    app.command("check", rich_help_panel=SETUP, epilog=example(NAME, "check"))(check)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"headwater {version('headwater')}\n")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
]


def _options(version: Version = False) -> None:
    pass


def up(
    data: Data = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; default 5000, 0 picks a free port.")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on; default 127.0.0.1.")] = None,
    tick: Annotated[str | None, typer.Option(help="Minimum time between two commits, such as 1s or 250ms.")] = None,
    station: Annotated[
        list[str] | None,
        typer.Option(help="Run only this station: receiver, parser, api or sinks; repeatable. Default: all."),
    ] = None,
) -> None:
    """Run receiver, parser, API and sinks in the foreground until Ctrl-C."""
    from headwater.operations.local.up import up as run

    overrides = {
        "data": data, "port": port, "host": host, "tick_s": seconds(tick) if tick else None,
        "stations": tuple(station) if station else None,
    }  # fmt: skip
    sys.exit(run(load_settings(overrides)[0]))


def check(data: Data = None, as_json: Json = False) -> None:
    """Print the effective settings and the source of each, without secrets.

    Sinks and event logs of other packages that cannot be used are reported on standard error.
    """
    from headwater.intake.event_log.log_registry import LOGS
    from headwater.sinks.interface.target_registry import TARGETS

    settings, sources = load_settings({"data": data})
    values = settings.model_dump(mode="json")
    items = [{"setting": name, "value": values[name], "from": sources[name]} for name in values]
    show({"items": items}, as_json, lambda: table("Settings", {"items": items}, ("setting", "value", "from")))
    for problem in (*LOGS.installed().problems, *TARGETS.installed().problems):
        warn(problem)
