"""The commands that need no rules of lineage: `up`, `check` and `--version`."""

import sys
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from headwater.cli.options import BUILD, FEED, LOOK, OPERATE, Data, Json, example
from headwater.cli.printing import show, table
from headwater.durations import seconds
from headwater.settings import load_settings

NAME, COMPLETE = "headwater", "_HEADWATER_COMPLETE"


class ByUse(TyperGroup):
    """Commands in the order of what they are for, questions first."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of commands."""
        panels = [LOOK, OPERATE, FEED, BUILD]
        panel = {name: getattr(each, "rich_help_panel", None) for name, each in self.commands.items()}
        return sorted(super().list_commands(ctx), key=lambda name: panels.index(panel.get(name) or BUILD))


def base_app() -> typer.Typer:
    """Return a command line that has these commands alone."""
    app = typer.Typer(
        cls=ByUse,
        help="Headwater takes OpenLineage events in, loses none, and answers column questions from open Delta tables.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        epilog="Example: `headwater impact silver/customers email --server http://127.0.0.1:5000`",
    )
    app.callback()(_options)
    app.command(
        "up", rich_help_panel=BUILD, epilog=example(NAME, "up", "--data", "./headwater-data", "--port", "5000")
    )(up)
    app.command("check", rich_help_panel=BUILD, epilog=example(NAME, "check"))(check)
    return app


def _say_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"headwater {version('headwater')}\n")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print it and end.")]


def _options(version: Version = False) -> None:
    pass


def up(
    data: Data = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; default 5000, 0 picks a free one.")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on; default 127.0.0.1.")] = None,
    tick: Annotated[str | None, typer.Option(help="Least time between two commits, such as 1s or 250ms.")] = None,
    station: Annotated[
        list[str] | None,
        typer.Option(help="Run this one alone: receiver, parser, api or sinks; may be given again. Default: all."),
    ] = None,
) -> None:
    """Run receiver, parser and API in the foreground, until Ctrl-C."""
    from headwater.local.up import up as run

    overrides = {
        "data": data, "port": port, "host": host, "tick_s": seconds(tick) if tick else None,
        "stations": tuple(station) if station else None,
    }  # fmt: skip
    sys.exit(run(load_settings(overrides)[0]))


def check(data: Data = None, as_json: Json = False) -> None:
    """Print the effective settings and where each came from; secrets are not shown."""
    settings, sources = load_settings({"data": data})
    values = settings.model_dump(mode="json")
    items = [{"setting": name, "value": values[name], "from": sources[name]} for name in values]
    show({"items": items}, as_json, lambda: table("Settings", {"items": items}, ("setting", "value", "from")))
