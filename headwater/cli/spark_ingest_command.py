"""`headwater spark ingest`: load files or a table of events into bronze, with Spark on this machine."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from headwater.cli.printing import pairs, show
from headwater.common.durations import read_since, seconds
from headwater.common.errors import WrongSetting
from headwater.operations.settings import load_settings


def ingest(
    place: Annotated[str, typer.Argument(help="Folder, file or Delta table: a local path, or a URI that Spark reads.")],
    name: Annotated[str, typer.Option(help="Name for this source; the lake stores its events as a log of this name.")],
    kind: Annotated[
        Literal["ndjson", "capture", "plugin", "table"] | None,
        typer.Option("--format", help="Format; detected by default, but `capture` must be given."),
    ] = None,
    column: Annotated[str | None, typer.Option(help="For a table of JSON: the column with the events.")] = None,
    since: Annotated[
        str | None, typer.Option(help="For files: only those modified since 2026-03-01, or for 2d.")
    ] = None,
    keep: Annotated[
        float | None,
        typer.Option(
            parser=seconds,
            metavar="DURATION",
            help="For files: delete ingested files that were not modified for this long, such as 30d.",
        ),
    ] = None,
    data: Annotated[Path | None, typer.Option("--data", help="Data folder; default headwater-data.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Load new events into bronze. Events that the lake already contains are counted as duplicates."""
    from rich.console import Console

    from headwater.operations.runtime.folders import existing_folder
    from headwater.operations.runtime.private import private_spark_options
    from headwater.operations.runtime.storage import claims_folder, is_lake_remote, lake_folder
    from headwater.spark.session import local_session

    settings, _ = load_settings({"data": data})
    existing_folder(settings)
    if is_lake_remote(settings):
        raise WrongSetting(
            "The lake is not on this machine. Run `headwater-spark ingest` on a cluster that can read it."
        )
    if "://" not in place and not Path(place).exists():
        raise WrongSetting(f"{place} does not exist. Give an existing path, or a URI that Spark reads.")
    place = place if "://" in place else str(Path(place).resolve())
    since_us = read_since(since)()
    with local_session(more=private_spark_options(settings), streams=True) as spark:
        from headwater.spark.landing.landing_kinds import Landing, take_in

        landing = Landing(place, name, kind, column, since_us, keep, str(claims_folder(settings)))
        found = take_in(spark, str(lake_folder(settings)), landing, Console(stderr=True, quiet=as_json).print)
    show(found, as_json, lambda: pairs("Ingested", found))
