"""`headwater connect`: print the configuration of producers, such as Spark, Airflow and dbt."""

import sys
from typing import Annotated

import typer
from msgspec import to_builtins

from headwater.cli.options import Json, deprecated_option, example_text
from headwater.cli.printing import print_value
from headwater.cli.server_client import configured_server
from headwater.questions import definitions
from headwater.questions import parameters as p
from headwater.questions.declaring import parse_as
from headwater.questions.producer_setup import producer_setups

app = typer.Typer()

_DEFAULT = next(each.default for each in definitions.connect.parameters)


@app.command(
    help=definitions.connect.description,
    epilog=example_text("headwater", "connect", "--server", "https://h.example.org"),
)
def connect(
    server: Annotated[
        str | None,
        typer.Option(
            "--server", help=f"URL at which producers reach Headwater; default HEADWATER_URL, else {_DEFAULT}."
        ),
    ] = None,
    url: Annotated[str | None, deprecated_option("--url", "Use --server.")] = None,
    _data: Annotated[
        str | None, deprecated_option("--data", "Omit it, because the command needs no data folder.")
    ] = None,
    _key: Annotated[str | None, deprecated_option("--key", "Omit it, because the command asks no server.")] = None,
    as_json: Json = False,
) -> None:
    """Print the configuration as text to copy; the question describes the command in its help."""
    found = to_builtins(producer_setups(parse_as(p.Address, "server", url or configured_server(server)) or _DEFAULT))
    if as_json:
        print_value(found, True, lambda: None)
        return
    for each in found["items"]:
        sys.stdout.write(f"# {each['title']} ({each['where']})\n{each['text']}\n\n")
