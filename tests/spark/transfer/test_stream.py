"""Kafka to bronze by Spark: row for row what the parser makes, each event once, whatever kills the driver when."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.api.audit import audit
from headwater.common.errors import WrongSetting
from headwater.intake.event_log import Record, RecordKind
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.event_log.kafka_reader import KafkaReaders
from headwater.intake.parser.partition_parser import PartitionParser
from headwater.lake.bronze_tables import Bronze
from headwater.operations.local.log_epochs import begin_epoch
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.settings import load_settings
from headwater.spark.log_ingest.kafka_options import source_options
from headwater.spark.log_ingest.topic_stream import TopicStream, run_stream
from headwater.tables import BRONZE, HASHED
from tests.support.data.parsing import event, note
from tests.support.lake_check import rows
from tests.support.running import headwater
from tests.support.servers.kafka_broker import PASSWORD, USER, Broker
from tests.support.servers.kafka_log import address, append, secured, with_principal
from tests.support.spark.spark_noise import SPARK_NOISE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    *SPARK_NOISE,
]

PARTITIONS = 2
LAST = "stream.after_duplicates"
CONTENTS = {table.name for table, _ in HASHED}


def record(run: str, kind: RecordKind = RecordKind.EVENT, body: bytes | None = None) -> Record:
    return Record(kind, event(run, [run[-1]]) if body is None else body, f'{{"key": "{run}"}}', run)


def settings_of(kafka: Broker, topic: str, folder: Path) -> Any:
    given = {"data": folder, "log": "kafka", "kafka_servers": kafka.servers, "kafka_topic": topic}
    return load_settings(given, folder=folder, environment={})[0]


def parse(kafka: Broker, topic: str, folder: Path, claims: Path) -> None:
    """Let the parser take all there is."""
    for reader in KafkaReaders(address(kafka, topic))():
        parser = PartitionParser(reader, Bronze(str(folder / "lake" / "bronze")), FolderClaims(claims), "parser/local")
        while parser.commit_next():
            pass
        reader.close()


def contents(folder: Path) -> dict[str, Counter[str]]:
    """Read all tables; a facet stored twice counts once, as for every reader, and each place of claims has its name."""
    found = {}
    for table in BRONZE:
        shown = (
            row | {"message": ""} if row.get("reason") == "claim_missing" else row for row in rows(folder, table.name)
        )
        texts = Counter(json.dumps(row, default=repr, sort_keys=True) for row in shown)
        found[table.name] = Counter(set(texts)) if table.name in CONTENTS else texts
    return found


def test_spark_goes_on_after_the_parser_and_makes_the_same_rows(
    spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    topic = kafka.topic("same-rows", partitions=PARTITIONS)
    ours, parsers, claims = tmp_path / "spark", tmp_path / "parser", tmp_path / "claims"
    kept, gone = FolderClaims(claims).put(event("large", ["x"] * 2000)), b"0" * 32
    append(address(kafka, topic), *[record(f"run-{n}") for n in range(300)], record("n", RecordKind.REFUSAL, note(3)))
    parse(kafka, topic, parsers, claims)
    parse(kafka, topic, ours, claims)

    append(address(kafka, topic), *[record(f"run-{n}") for n in range(250, 800)])
    for keep in (True, False):
        producer = kafka.producer(transactional_id=topic)
        producer.init_transactions()
        producer.begin_transaction()
        producer.produce(topic, event("in a transaction"), partition=0)
        producer.flush()
        producer.commit_transaction() if keep else producer.abort_transaction()
    foreign = kafka.producer()
    foreign.produce(topic, event("others' headers"), partition=1, headers=[("k", b"many"), ("h", b"\xff")])
    foreign.flush()
    append(
        address(kafka, topic),
        *[record(f"run-{n % 500}-again") for n in range(600)],
        record("n", RecordKind.REFUSAL, note(2)),
        record("n", RecordKind.REFUSAL, note("unstorable")),
        record("c", RecordKind.CLAIM, kept),
        record("c", RecordKind.CLAIM, gone),
        record("b", body=b"no json, password=hunter22"),
        *[record(f"run-{n}") for n in range(20)],
    )
    readers, bronze = KafkaReaders(address(kafka, topic))(), Bronze(str(ours / "lake" / "bronze"))
    kafka.forget(topic, bronze.watermark(readers[0].source) + 10)  # of these ten nothing is known any more
    stream = TopicStream(with_principal(kafka, topic), str(ours / "lake"), str(claims), batch_events=900)
    with pytest.raises(WrongSetting, match="new-epoch --route spark"):
        run_stream(spark, stream)
    settings = settings_of(kafka, topic, ours)
    prepare_folder(settings)
    begin_epoch(settings, "spark/stream")
    for _ in range(2):
        run_stream(spark, stream)
    parse(kafka, topic, parsers, claims)

    assert contents(ours) == contents(parsers)
    counted = audit(readers, bronze)
    for reader in readers:
        reader.close()
    assert (counted.pending, counted.lost) == (0, 10)
    accounted = counted.stored + counted.duplicates + counted.rejected + counted.lost
    assert counted.received == accounted
    reasons = {row["reason"]: row["to_sequence"] - row["sequence"] + 1 for row in rows(ours, "rejected")}
    assert reasons == {"gap": 10, "hole": 3, "unstorable": 1, "claim_missing": 1, "not_json": 1}
    assert len({row["event_id"] for row in rows(ours, "events")}) == counted.stored


@pytest.mark.parametrize(
    ("places", "count"),
    [
        pytest.param([LAST], 2_000, id="once"),  # behind column lineage: what that leaves is there, too
        pytest.param(["stream.after_column_lineage", LAST], 20_000, id="twice", marks=pytest.mark.long),
    ],
)
def test_distinct_events_end_as_exactly_one_row_each_though_the_driver_is_killed_in_a_batch(
    spark: SparkSession, kafka: Broker, tmp_path: Path, places: list[str], count: int
) -> None:
    topic, batch = kafka.topic(f"killed-{len(places)}", partitions=PARTITIONS), count * 7 // 10
    draw = random.Random(1)
    distinct = [record(f"run-{n}") for n in range(count * 9 // 10)]
    sent = [*distinct, *draw.choices(distinct, k=count - len(distinct))]
    draw.shuffle(sent)
    append(address(kafka, topic), *sent)
    environment = {
        "HEADWATER_LOG": "kafka",
        "HEADWATER_KAFKA_SERVERS": kafka.servers,
        "HEADWATER_KAFKA_TOPIC": topic,
        "HEADWATER_DATA": str(tmp_path),
    }
    for place in places:
        armed = {**environment, "HEADWATER_FAILPOINT": place}
        done = headwater("spark", "stream", "--batch-events", str(batch), environment=armed, timeout_s=400)
        assert done.returncode == -9, done.stderr
    run_stream(spark, TopicStream(secured(kafka, topic), str(tmp_path / "lake"), batch_events=batch))
    stored = Counter(row["run_id"] for row in rows(tmp_path, "events", ["run_id"]))
    assert stored == Counter(f"run-{n}" for n in range(count * 9 // 10))
    assert sum(1 for _ in rows(tmp_path, "duplicates", ["sequence"])) == count // 10
    readers = KafkaReaders(address(kafka, topic))()
    assert audit(readers, Bronze(str(tmp_path / "lake" / "bronze"))).balanced
    for reader in readers:
        reader.close()


def test_options_that_spark_cannot_follow_are_named(kafka: Broker) -> None:
    found = source_options(secured(kafka, "t", ssl_ca_location="/ca.pem"))
    assert found["kafka.sasl.jaas.config"].endswith(f'username="{USER}" password="{PASSWORD}";')
    assert found["kafka.ssl.truststore.location"] == "/ca.pem"
    for wrong in ({"sasl_mechanisms": "OAUTHBEARER"}, {"linger_ms": "9"}):
        with pytest.raises(WrongSetting, match=r"OAUTHBEARER|linger\.ms"):
            source_options(address(kafka, "t", **wrong))
