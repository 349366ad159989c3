"""`headwater spark stream`: the topic into bronze with Spark on this machine, in place of the parser."""

import time
from pathlib import Path
from typing import Annotated

import typer

from headwater.cli.printing import pairs, show
from headwater.durations import seconds
from headwater.errors import WrongSetting
from headwater.settings import load_settings


def stream(
    data: Annotated[Path | None, typer.Option("--data", help="Data folder; default headwater-data.")] = None,
    every: Annotated[
        float | None,
        typer.Option(parser=seconds, metavar="SECONDS", help="Between two batches (30s); without: until caught up."),
    ] = None,
    batch_events: Annotated[int, typer.Option(help="Events that are taken at a time.")] = 50_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Take what waits in Kafka into bronze, for when one parser is too few. Settings say which topic."""
    from headwater.runtime.folders import prepare_folder
    from headwater.runtime.logs import kafka_address
    from headwater.runtime.private import private_spark
    from headwater.runtime.storage import claims_folder, is_lake_remote, lake_folder
    from headwater.spark.session import local_session

    settings, _ = load_settings({"data": data})
    if settings.log != "kafka" or is_lake_remote(settings) or settings.claims_url:
        raise WrongSetting(
            '`headwater spark stream` reads Kafka (log = "kafka") into a lake on this machine. For another lake, or '
            "claims in a container, run `python -m headwater.spark.stream_job` on a cluster."
        )
    prepare_folder(settings)
    began = time.monotonic()
    with local_session(more=private_spark(settings), streams=True) as spark:
        from headwater.spark.bronze.topic_stream import TopicStream, run

        lake, claims = str(lake_folder(settings)), str(claims_folder(settings))
        run(spark, TopicStream(kafka_address(settings), lake, claims, batch_events, every))
    found = {"topic": settings.kafka_topic, "lake": lake, "seconds": round(time.monotonic() - began, 1)}
    show(found, as_json, lambda: pairs("Caught up", found))
