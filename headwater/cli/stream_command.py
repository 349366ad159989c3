"""`headwater spark stream`: parse a Kafka topic into bronze with Spark on this machine, instead of the parser."""

import time
from pathlib import Path
from typing import Annotated

import typer

from headwater.cli.printing import pairs, show
from headwater.common.durations import seconds
from headwater.common.errors import WrongSetting
from headwater.operations.settings import load_settings


def stream(
    data: Annotated[Path | None, typer.Option("--data", help="Data folder; default headwater-data.")] = None,
    every: Annotated[
        float | None,
        typer.Option(
            parser=seconds,
            metavar="SECONDS",
            help="Run until stopped, with this interval between batches, such as 30s. Default: exit when caught up.",
        ),
    ] = None,
    batch_events: Annotated[int, typer.Option(help="Events per batch.")] = 50_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Parse the Kafka topic of the settings into bronze. Use it if one parser is too slow."""
    from headwater.common.extras import extra
    from headwater.intake.event_log.kafka_kind import kafka_address
    from headwater.operations.runtime.folders import prepare_folder
    from headwater.operations.runtime.private import private_spark_options
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
    with extra("kafka"), local_session(more=private_spark_options(settings), streams=True) as spark:
        from headwater.spark.bronze.topic_stream import TopicStream, run

        lake, claims = str(lake_folder(settings)), str(claims_folder(settings))
        run(spark, TopicStream(kafka_address(settings), lake, claims, batch_events, every))
    found = {"topic": settings.kafka_topic, "lake": lake, "seconds": round(time.monotonic() - began, 1)}
    show(found, as_json, lambda: pairs("Caught up", found))
