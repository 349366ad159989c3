"""Options shared by commands, the panels of `--help`, and examples. This module is cheap to import."""

import inspect
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from headwater.cli.printing import CSV, WIDE

Data = Annotated[Path | None, typer.Option("--data", help="Data folder; default headwater-data.")]
Server = Annotated[
    str | None,
    typer.Option("--server", help="Ask the running Headwater at this URL instead of --data; default HEADWATER_URL."),
]
Key = Annotated[
    str | None, typer.Option("--key", envvar="HEADWATER_KEY", help="Key for --server, with the required role.")
]
Json = Annotated[bool, typer.Option("--json", help="Print answers and errors as JSON.")]
Wide = Annotated[bool, typer.Option("--wide", callback=lambda wide: WIDE.set(wide) and wide, help="Show full names.")]
Csv = Annotated[
    bool,
    typer.Option("--csv", callback=lambda given: CSV.set(given) and given, help="Print tables as CSV with full names."),
]
End = Annotated[str, typer.Argument(help="DATASET or DATASET#COLUMN.")]

LINEAGE, OPERATIONS, EVENTS, SETUP = "Lineage", "Operations", "Send and forward events", "Setup"
"""Titles of the panels in `--help`."""


def example(*words: str) -> str:
    """Return the example below the help of a command."""
    return f"Example: `{shlex.join(words)}`"


_TABLES: Mapping[str, Any] = {"_wide": Wide, "_csv": Csv}


def add_table_options(app: typer.Typer) -> None:
    """Add `--wide` and `--csv` to every command that has `--json` and prints tables."""
    for group in app.registered_groups:
        if group.typer_instance:
            add_table_options(group.typer_instance)
    for each in app.registered_commands:
        if each.callback and each.callback.__name__ not in _LINE_COMMANDS:
            each.callback = _with_tables(each.callback)


_LINE_COMMANDS = ("watch",)
"""Commands that print lines instead of tables."""


def _with_tables(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Insert the options of tables before `--json`."""
    parameters = [*inspect.signature(callback).parameters.values()]
    places = [number for number, each in enumerate(parameters) if each.name == "as_json"]
    if not places:
        return callback

    def run(**given: Any) -> Any:
        return callback(**{name: value for name, value in given.items() if name not in _TABLES})

    parameters[places[0] : places[0]] = [as_parameter(name, annotation, False) for name, annotation in _TABLES.items()]
    run.__name__, run.__doc__ = callback.__name__, callback.__doc__
    run.__annotations__ = {**get_type_hints(callback, include_extras=True), **_TABLES}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def as_parameter(key: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """Return a parameter for the signature of a command."""
    return inspect.Parameter(key, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation, default=default)
