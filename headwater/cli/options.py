"""Options shared by commands, and examples for `--help`. This module is cheap to import."""

import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from headwater.cli.errors import warn
from headwater.cli.printing import CSV, WIDE
from headwater.common.server_address import LOCAL

Data = Annotated[Path | None, typer.Option("--data", help="Data folder; default headwater-data.")]
Server = Annotated[
    str | None,
    typer.Option("--server", help="Ask the running Headwater at this URL instead of --data; default HEADWATER_URL."),
]
RunningServer = Annotated[
    str | None,
    typer.Option("--server", help=f"URL of a running Headwater; default HEADWATER_URL, else {LOCAL}."),
]
WriteKey = Annotated[
    str | None, typer.Option("--key", envvar="HEADWATER_KEY", help="Key for --server, with the role write.")
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


def deprecated_option(name: str, fix: str) -> Any:
    """Return an option that works for one more minor version, and warns on standard error when it is used.

    fix: what to do instead, as a sentence.
    """

    def warned(given: str | None) -> str | None:
        if given is not None:
            warn(f"{name} is deprecated, and the next minor version removes it. {fix}")
        return given

    return typer.Option(name, callback=warned, help=f"Deprecated. {fix}")


DeprecatedTo = Annotated[str | None, deprecated_option("--to", "Use --server.")]


def choices_placeholder(choices: Sequence[str]) -> str:
    """Return the placeholder of a value that must be one of the choices."""
    return f"[{'|'.join(choices)}]"


def example_text(*words: str) -> str:
    """Return the example below the help of a command."""
    return f"Example: `{shlex.join(words)}`"


_TABLE_OPTIONS: Mapping[str, Any] = {"_wide": Wide, "_csv": Csv}


def add_table_options(app: typer.Typer) -> None:
    """Add `--wide` and `--csv` to every command that has `--json` and prints tables."""
    for group in app.registered_groups:
        if group.typer_instance:
            add_table_options(group.typer_instance)
    for each in app.registered_commands:
        if each.callback and each.callback.__name__ not in _LINE_COMMANDS:
            each.callback = _add_to_command(each.callback)


_LINE_COMMANDS = ("watch", "connect")
"""Commands that print lines instead of tables."""


def _add_to_command(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Insert the options of tables before `--json`."""
    parameters = [*inspect.signature(callback).parameters.values()]
    places = [number for number, each in enumerate(parameters) if each.name == "as_json"]
    if not places:
        return callback

    def run(**given: Any) -> Any:
        return callback(**{name: value for name, value in given.items() if name not in _TABLE_OPTIONS})

    parameters[places[0] : places[0]] = [
        signature_parameter(name, annotation, False) for name, annotation in _TABLE_OPTIONS.items()
    ]
    run.__name__, run.__doc__ = callback.__name__, callback.__doc__
    run.__annotations__ = {**get_type_hints(callback, include_extras=True), **_TABLE_OPTIONS}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def signature_parameter(key: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """Return a parameter for the signature of a command."""
    return inspect.Parameter(key, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation, default=default)
