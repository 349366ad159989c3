"""`headwater spark refresh`: update silver and gold with Spark on this machine."""

import sys
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.cli.printing import pairs, show
from headwater.cli.spark_ingest_command import ingest
from headwater.cli.stream_command import stream
from headwater.common.durations import seconds
from headwater.common.errors import WrongSetting
from headwater.lineage.rules.user_rules import UserRules
from headwater.operations.settings import load_settings

app = typer.Typer(help="Build the tables for notebooks and Fabric, with Spark on this machine.", no_args_is_help=True)

app.command()(stream)
app.command()(ingest)

Data = Annotated[Path | None, typer.Option("--data", help="Data folder; default headwater-data.")]
Rebuild = Annotated[
    bool, typer.Option("--rebuild", help="Rebuild all tables from scratch next to the current ones, then switch.")
]
Every = Annotated[
    float | None,
    typer.Option(
        parser=seconds,
        metavar="SECONDS",
        help="Run until stopped: look for new events at this interval, such as 30s, and run a pass if there are any.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def refresh(data: Data = None, rebuild: Rebuild = False, every: Every = None, as_json: Json = False) -> None:
    """Update silver (runs, jobs, datasets, facets) and gold (edges over time, answers, run health) with new events."""
    from headwater.lake.gold_pass import is_refreshed
    from headwater.operations.runtime.folders import existing_folder
    from headwater.operations.runtime.private import private_spark_options
    from headwater.spark.session import LASTING, local_session

    if rebuild and every is not None:
        raise WrongSetting(
            "--rebuild runs one pass, so --every cannot be used with it. Run `headwater spark refresh --rebuild` first."
        )
    settings, _ = load_settings({"data": data})
    lake, rules = str(existing_folder(settings) / "lake"), partial(_rules, settings)

    began, now = time.monotonic(), rules()  # report invalid rules before Spark starts
    if every is None and not rebuild and is_refreshed(lake, now.rules_hash):
        _print(0, time.monotonic() - began, lake, as_json)
        return
    with local_session(more={**private_spark_options(settings), **(LASTING if every is not None else {})}) as spark:
        from headwater.spark.refresh import refresh
        from headwater.spark.repeated_passes import passes

        if every is None:
            _print(refresh(spark, lake, rules(), rebuild=rebuild), time.monotonic() - began, lake, as_json)
            return
        for events, took_s in passes(spark, lake, rules, every):
            _print(events, took_s, lake, as_json)


def _print(events: int, took_s: float, lake: str, as_json: bool) -> None:
    found = {"events": events, "seconds": round(took_s, 1), "lake": lake}
    show(found, as_json, lambda: pairs("Silver and gold", found))
    sys.stdout.flush()


def _rules(settings: Any) -> UserRules:
    from headwater.operations.runtime.indexes import open_rules

    files = open_rules(settings)
    rules = files.current()
    if files.problems:
        raise WrongSetting(" ".join(files.problems))
    return rules
