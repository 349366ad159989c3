"""`headwater spark`: update silver and gold, and load events into bronze, with Spark on this machine."""

import sys
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from headwater.cli.options import Data
from headwater.cli.printing import pairs_table, print_value
from headwater.common.durations import parse_duration_s, parse_since
from headwater.common.errors import WrongSetting
from headwater.lineage.rules.user_rules import UserRules
from headwater.operations.settings import load_settings

app = typer.Typer(help="Build the tables for notebooks and Fabric, with Spark on this machine.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def stream(
    data: Data = None,
    every: Annotated[
        float | None,
        typer.Option(
            parser=parse_duration_s,
            metavar="SECONDS",
            help="Run until stopped, with this interval between batches, such as 30s. Default: exit when caught up.",
        ),
    ] = None,
    batch_events: Annotated[int, typer.Option(help="Events per batch.")] = 50_000,
    as_json: Json = False,
) -> None:
    """Parse the Kafka topic of the settings into bronze. Use it if one parser is too slow."""
    from headwater.common.extras import require_extra
    from headwater.intake.event_log.kafka_kind import kafka_address
    from headwater.operations.runtime.data_folder import prepare_folder, private_spark_options
    from headwater.operations.runtime.storage import claims_folder, is_lake_remote, lake_folder
    from headwater.spark.session import local_session

    settings, _ = load_settings({"data": data})
    if settings.log != "kafka" or is_lake_remote(settings) or settings.claims_url:
        raise WrongSetting(
            '`headwater spark stream` requires log = "kafka", and a lake and claims on this machine. For a remote lake '
            "or remote claims, run `python -m headwater.spark.stream_job` on a cluster."
        )
    prepare_folder(settings)
    began = time.monotonic()
    with require_extra("kafka"), local_session(more=private_spark_options(settings), streams=True) as spark:
        from headwater.spark.log_ingest.topic_stream import TopicStream, run_stream

        lake, claims = str(lake_folder(settings)), str(claims_folder(settings))
        run_stream(spark, TopicStream(kafka_address(settings), lake, claims, batch_events, every))
    found = {"topic": settings.kafka_topic, "lake": lake, "seconds": round(time.monotonic() - began, 1)}
    print_value(found, as_json, lambda: pairs_table("Caught up", found))


@app.command()
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
            parser=parse_duration_s,
            metavar="DURATION",
            help="For files: delete ingested files that were not modified for this long, such as 30d.",
        ),
    ] = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Load new events into bronze. Events that the lake already contains are counted as duplicates."""
    from rich.console import Console

    from headwater.operations.runtime.data_folder import private_spark_options, require_data_folder
    from headwater.operations.runtime.storage import claims_folder, is_lake_remote, lake_folder
    from headwater.spark.session import local_session

    settings, _ = load_settings({"data": data})
    require_data_folder(settings)
    if is_lake_remote(settings):
        raise WrongSetting(
            "The lake is not on this machine. Run `headwater-spark ingest` on a cluster that can read it."
        )
    if "://" not in place and not Path(place).exists():
        raise WrongSetting(f"{place} does not exist. Give an existing path, or a URI that Spark reads.")
    place = place if "://" in place else str(Path(place).resolve())
    since_us = parse_since(since)()
    with local_session(more=private_spark_options(settings), streams=True) as spark:
        from headwater.spark.file_ingest.source_kinds import StorageSource, ingest_source

        landing = StorageSource(place, name, kind, column, since_us, keep, str(claims_folder(settings)))
        found = ingest_source(spark, str(lake_folder(settings)), landing, Console(stderr=True, quiet=as_json).print)
    print_value(found, as_json, lambda: pairs_table("Ingested", found))


Rebuild = Annotated[
    bool, typer.Option("--rebuild", help="Rebuild all tables from scratch next to the current ones, then switch.")
]
Every = Annotated[
    float | None,
    typer.Option(
        parser=parse_duration_s,
        metavar="SECONDS",
        help="Run until stopped: look for new events at this interval, such as 30s, and run a pass if there are any.",
    ),
]


@app.command()
def refresh(data: Data = None, rebuild: Rebuild = False, every: Every = None, as_json: Json = False) -> None:
    """Update silver (runs, jobs, datasets, facets) and gold (edges over time, answers, run health) with new events."""
    from headwater.lake.gold_pass import is_refreshed
    from headwater.operations.runtime.data_folder import private_spark_options, require_data_folder
    from headwater.spark.session import LASTING, local_session

    if rebuild and every is not None:
        raise WrongSetting(
            "--rebuild runs one pass, so --every cannot be used with it. Run `headwater spark refresh --rebuild` first."
        )
    settings, _ = load_settings({"data": data})
    lake, rules = str(require_data_folder(settings) / "lake"), partial(_read_rules, settings)

    began, now = time.monotonic(), rules()  # report invalid rules before Spark starts
    if every is None and not rebuild and is_refreshed(lake, now.rules_hash):
        _print_pass(0, time.monotonic() - began, lake, as_json)
        return
    with local_session(more={**private_spark_options(settings), **(LASTING if every is not None else {})}) as spark:
        from headwater.spark.refresh import refresh
        from headwater.spark.repeated_passes import run_passes

        if every is None:
            _print_pass(refresh(spark, lake, rules(), rebuild=rebuild), time.monotonic() - began, lake, as_json)
            return
        for events, took_s in run_passes(spark, lake, rules, every):
            _print_pass(events, took_s, lake, as_json)


def _print_pass(events: int, took_s: float, lake: str, as_json: bool) -> None:
    found = {"events": events, "seconds": round(took_s, 1), "lake": lake}
    print_value(found, as_json, lambda: pairs_table("Silver and gold", found))
    sys.stdout.flush()


def _read_rules(settings: Any) -> UserRules:
    from headwater.operations.runtime.index import open_rules

    files = open_rules(settings)
    rules = files.current_rules()
    if files.problems:
        raise WrongSetting(" ".join(files.problems))
    return rules
