"""`headwater spark ingest`: what landed in storage straight into bronze, with Spark on this machine."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from headwater.cli.printing import pairs, show
from headwater.durations import read_since, seconds
from headwater.errors import WrongSetting
from headwater.settings import load_settings


def ingest(
    place: Annotated[str, typer.Argument(help="Folder, file or Delta table, on this machine or as Spark reads it.")],
    name: Annotated[str, typer.Option(help="Name of the log that they make up in the lake.")],
    kind: Annotated[
        Literal["ndjson", "capture", "plugin", "table"] | None,
        typer.Option("--format", help="Found out; files of Event Hubs Capture need to be named."),
    ] = None,
    column: Annotated[str | None, typer.Option(help="Of a table of JSON: the column with the events.")] = None,
    since: Annotated[str | None, typer.Option(help="Of files: only those written to since: 2026-03-01, or 2d.")] = None,
    keep: Annotated[
        float | None,
        typer.Option(
            parser=seconds,
            metavar="DURATION",
            help="Of files: delete those taken and not written to for so long (30d).",
        ),
    ] = None,
    data: Annotated[Path | None, typer.Option("--data", help="Data folder; default headwater-data.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Take into bronze what was not taken before; what the lake holds already is counted as duplicate."""
    from rich.console import Console

    from headwater.runtime.folders import existing_folder
    from headwater.runtime.private import private_spark
    from headwater.runtime.storage import claims_folder, is_lake_remote, lake_folder
    from headwater.spark.session import local_session

    settings, _ = load_settings({"data": data})
    existing_folder(settings)
    if is_lake_remote(settings):
        raise WrongSetting("The lake is not on this machine. Run `headwater-spark ingest` on a cluster that reads it.")
    if "://" not in place and not Path(place).exists():
        raise WrongSetting(f"No folder {place}. Name what is there, or an address that Spark reads.")
    place = place if "://" in place else str(Path(place).resolve())
    since_us = read_since(since)()
    with local_session(more=private_spark(settings), streams=True) as spark:
        from headwater.spark.landing.landing_kinds import Landing, take_in

        landing = Landing(place, name, kind, column, since_us, keep, str(claims_folder(settings)))
        found = take_in(spark, str(lake_folder(settings)), landing, Console(stderr=True, quiet=as_json).print)
    show(found, as_json, lambda: pairs("Taken in", found))
