"""The commands that start without importing the rules of lineage: `up`, `demo`, `check` and `--version`."""

import sys
from importlib.metadata import version
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperGroup

from headwater.cli.demo import demo
from headwater.cli.errors import warn
from headwater.cli.help_panels import help_order, panel_of
from headwater.cli.options import Data, Json, choices_placeholder, example_text
from headwater.cli.printing import list_table, print_value
from headwater.common.durations import parse_duration_s
from headwater.operations.settings import Station, load_settings

NAME, COMPLETE = "headwater", "_HEADWATER_COMPLETE"


class GroupedCommands(TyperGroup):
    """Commands in the panels of `help_panels`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands in the order of `--help`."""
        for name, each in self.commands.items():
            each.rich_help_panel = panel_of(name)  # type: ignore[attr-defined]  # typer's own commands have it
        return sorted(super().list_commands(ctx), key=help_order)


def base_app(group: type[TyperGroup] = GroupedCommands) -> typer.Typer:
    """Return a command line with only the commands of this module. group: class that lists and finds the commands."""
    app = typer.Typer(
        cls=group,
        help="Headwater ingests OpenLineage events without loss and answers column-level questions about lineage.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        epilog="Example: `headwater impact silver/customers email --server http://127.0.0.1:5000`",
    )
    app.callback()(_app_options)
    app.command("up", epilog=example_text(NAME, "up", "--data", "./headwater-data", "--port", "5000"))(up)
    app.command("demo", epilog=example_text(NAME, "demo"))(demo)
    app.command("check", epilog=example_text(NAME, "check"))(check)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"headwater {version('headwater')}\n")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
]


def _app_options(version: Version = False) -> None:
    pass


def up(
    data: Data = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; default 5000, 0 picks a free port.")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on; default 127.0.0.1.")] = None,
    tick: Annotated[str | None, typer.Option(help="Minimum time between two commits, such as 1s or 250ms.")] = None,
    station: Annotated[
        list[str] | None,
        typer.Option(
            help="Run only this station; repeatable. Default: all.", metavar=choices_placeholder(get_args(Station))
        ),
    ] = None,
) -> None:
    """Run receiver, parser, API and sinks in the foreground until Ctrl-C."""
    from headwater.operations.local.up import run_headwater as run

    overrides = {
        "data": data, "port": port, "host": host, "tick_s": parse_duration_s(tick) if tick else None,
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
    print_value(
        {"items": items}, as_json, lambda: list_table("Settings", {"items": items}, ("setting", "value", "from"))
    )
    for problem in (*LOGS.installed().problems, *TARGETS.installed().problems):
        warn(problem)
