"""Silver and gold on this machine: `headwater spark refresh`."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.cli.backfill import backfill
from headwater.cli.printing import pairs, show
from headwater.cli.stream import stream
from headwater.errors import WrongSetting
from headwater.lineage.user_rules import UserRules
from headwater.settings import load_settings

app = typer.Typer(
    help="Build the tables that notebooks and Fabric read, with Spark on this machine.", no_args_is_help=True
)

app.command()(stream)
app.command()(backfill)

Data = Annotated[Path | None, typer.Option("--data", help="Data folder; default headwater-data.")]
Rebuild = Annotated[
    bool, typer.Option("--rebuild", help="Build anew beside the old tables though the rules are the same, then switch.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


@app.command()
def refresh(data: Data = None, rebuild: Rebuild = False, as_json: Json = False) -> None:
    """Take new events into silver (runs, jobs, datasets, facets) and gold (edges in time, answers, run health)."""
    from headwater.runtime.folders import existing_folder
    from headwater.runtime.private import private_spark
    from headwater.spark.session import local_session

    settings, _ = load_settings({"data": data})
    lake, rules = str(existing_folder(settings) / "lake"), _rules(settings)
    began = time.monotonic()
    with local_session(more=private_spark(settings)) as spark:
        from headwater.spark.refresh import refresh

        taken = refresh(spark, lake, rules, rebuild=rebuild)
    found = {"events": taken, "seconds": round(time.monotonic() - began, 1), "lake": lake}
    show(found, as_json, lambda: pairs("Silver and gold", found))


def _rules(settings: Any) -> UserRules:
    from headwater.runtime.indexes import open_rules

    files = open_rules(settings)
    rules = files.current()
    if files.problems:
        raise WrongSetting(" ".join(files.problems))
    return rules
