"""Options that commands share, the groups in `--help`, and its examples; importing them costs little."""

import inspect
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from headwater.cli.printing import CSV, WIDE

Data = Annotated[Path | None, typer.Option("--data", help="Data folder; default headwater-data.")]
Server = Annotated[
    str | None, typer.Option("--server", help="Address of a running Headwater, in place of --data; or HEADWATER_URL.")
]
Key = Annotated[
    str | None, typer.Option("--key", envvar="HEADWATER_KEY", help="Of --server: a key with the role it needs.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs, errors too.")]
Wide = Annotated[
    bool, typer.Option("--wide", callback=lambda wide: WIDE.set(wide) and wide, help="Show names whole, however long.")
]
Csv = Annotated[
    bool,
    typer.Option("--csv", callback=lambda given: CSV.set(given) and given, help="Print tables as CSV, names whole."),
]
End = Annotated[str, typer.Argument(help="DATASET or DATASET#COLUMN.")]

LOOK, OPERATE, FEED, BUILD = "Ask about lineage", "See that all is well", "Bring events in, send them on", "Run it"
"""What commands are for."""


def example(*words: str) -> str:
    """Return what stands below the help of a command."""
    return f"Example: `{shlex.join(words)}`"


_TABLES: Mapping[str, Any] = {"_wide": Wide, "_csv": Csv}


def offer_tables(app: typer.Typer) -> None:
    """Let every command that takes `--json` and prints a table take `--wide` and `--csv`, too."""
    for group in app.registered_groups:
        if group.typer_instance:
            offer_tables(group.typer_instance)
    for each in app.registered_commands:
        if each.callback and each.callback.__name__ not in _PRINT_LINES:
            each.callback = _with_tables(each.callback)


_PRINT_LINES = ("watch",)
"""Commands that print a line for each thing that happens."""


def _with_tables(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command with the options of tables before `--json`."""
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
    """Return a parameter of a command that typer reads."""
    return inspect.Parameter(key, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation, default=default)
