"""`headwater spark backfill`: files of events into bronze, beside the log."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from headwater.cli.printing import pairs, show
from headwater.errors import WrongSetting
from headwater.settings import load_settings


def backfill(
    folder: Annotated[Path, typer.Argument(help="Folder of the files, at any depth.")],
    name: Annotated[str, typer.Option(help="Name of the log that they make up in the lake.")],
    kind: Annotated[
        Literal["capture", "ndjson"], typer.Option("--format", help="Event Hubs Capture (Avro), or an event a line.")
    ] = "ndjson",
    data: Annotated[Path | None, typer.Option("--data", help="Data folder; default headwater-data.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Take files into bronze that were not taken before; what the lake holds already is counted as duplicate."""
    from headwater.runtime.folders import existing_folder
    from headwater.runtime.private import private_spark
    from headwater.runtime.storage import claims_folder, is_lake_remote, lake_folder
    from headwater.spark.session import local_session

    settings, _ = load_settings({"data": data})
    existing_folder(settings)
    if not folder.is_dir() or is_lake_remote(settings):
        raise WrongSetting(
            f"No folder {folder}, or the lake is not on this machine. For another lake call "
            "`headwater.spark.bronze.backfill.backfill` on a cluster."
        )
    with local_session(more=private_spark(settings), streams=True) as spark:
        from headwater.spark.bronze.backfill import Files
        from headwater.spark.bronze.backfill import backfill as run

        claims = str(claims_folder(settings))
        taken = run(spark, str(lake_folder(settings)), Files(kind, str(folder.resolve()), name, claims))
    found = {"log": name, "records in the lake": taken}
    show(found, as_json, lambda: pairs("Backfill", found))
