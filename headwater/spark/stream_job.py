"""Stream a topic into bronze in a job of Fabric or any cluster: `python -m headwater.spark.stream_job LAKE …`.

The cluster must have Spark's Kafka connector (spark-sql-kafka-0-10) and Delta. HEADWATER_KAFKA_OPTIONS, a JSON object,
contains options that must not be on a command line.
In a notebook: `from headwater.spark.stream_job import main; main([...])`.
"""

import argparse
import json
import os
from collections.abc import Sequence

from pyspark.sql import SparkSession

from headwater.common.durations import parse_duration_s
from headwater.common.extras import require_extra

with require_extra("kafka"):
    from headwater.intake.event_log.kafka_clients import KafkaAddress
    from headwater.spark.log_ingest.topic_stream import BATCH_EVENTS, TopicStream, run_stream


def main(arguments: Sequence[str] | None = None) -> None:
    """Stream a topic into bronze, in the session of the cluster."""
    parser = argparse.ArgumentParser(prog="headwater-stream", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("lake", help="folder or URI that contains `bronze`")
    parser.add_argument("--servers", required=True, help="host:port, separated by commas")
    parser.add_argument("--topic", default="openlineage")
    parser.add_argument("--group", default="headwater", help="prefix of the consumer group")
    parser.add_argument("--token-scope", help="scope of the tokens of an event hub, as `kafka_token_scope`")
    parser.add_argument("--claims", help="folder or URI of large bodies")
    parser.add_argument(
        "--every", type=parse_duration_s, help="time between batches (30s); by default, stop after all events"
    )
    parser.add_argument("--batch-events", type=int, default=BATCH_EVENTS, help="maximum number of events in a batch")
    parser.add_argument("--epoch", help="epoch of the log of an event hub, as `headwater log show` prints it")
    given = parser.parse_args(arguments)
    options = json.loads(os.environ.get("HEADWATER_KAFKA_OPTIONS", "{}"))
    address = KafkaAddress(given.servers, given.topic, given.group, options, given.token_scope)
    lake = given.lake.rstrip("/")
    stream = TopicStream(address, lake, given.claims, given.batch_events, given.every, given.epoch)
    run_stream(SparkSession.builder.getOrCreate(), stream)


if __name__ == "__main__":
    main()
