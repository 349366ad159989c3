"""Kafka as the log, on a real broker: acknowledged records are stored, and are read once and in order."""

import asyncio
import itertools
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Consumer, TopicPartition

from headwater.api.audit import audit
from headwater.common.errors import LogUnavailable, WrongSetting
from headwater.intake.event_log import LoggedRecord, Record, RecordKind
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.event_log.kafka_clients import KafkaAddress
from headwater.intake.event_log.kafka_log import KafkaLog
from headwater.intake.event_log.kafka_reader import KafkaReader, KafkaReaders
from headwater.intake.parser.partition_parser import PartitionParser
from headwater.lake.bronze_tables import Bronze
from tests.support.data.made_events import body, run_event, with_raw
from tests.support.data.parsing import event
from tests.support.http_client import running
from tests.support.lake_check import rows
from tests.support.servers.kafka_broker import PASSWORD, USER, Broker
from tests.support.servers.kafka_log import PATIENCE_S, address, append, secured, with_log
from tests.support.waiting import rest

pytestmark = pytest.mark.slow

ONE, BATCH = "/api/v1/lineage", "/api/v1/lineage/batch"
_names = (f"topic-{number}" for number in itertools.count())


def append_error(at: KafkaAddress, *records: Record, timeout_s: float = PATIENCE_S) -> str:
    with pytest.raises(LogUnavailable) as caught:
        append(at, *(records or [Record(RecordKind.EVENT, b"{}")]), timeout_s=timeout_s)
    return str(caught.value)


def read(reader: KafkaReader, after: int = 0, limit: int = 100) -> list[LoggedRecord]:
    return reader.read(after, limit=limit, max_bytes=1 << 30)


def read_all(reader: KafkaReader, count: int) -> list[LoggedRecord]:
    """Read until `count` records have arrived. An empty read does not mean the end."""
    found: list[LoggedRecord] = []
    deadline = time.monotonic() + 30
    while len(found) < count:
        assert time.monotonic() < deadline
        found += read(reader, found[-1].sequence if found else 0)
    return found


def places(records: list[LoggedRecord]) -> list[tuple[int, int]]:
    return [(record.sequence, record.holes) for record in records]


@pytest.fixture
def topic(kafka: Broker) -> str:
    return kafka.topic(next(_names))


@pytest.fixture
def reader(kafka: Broker, topic: str) -> Iterator[KafkaReader]:
    (found,) = KafkaReaders(address(kafka, topic))()
    yield found
    found.close()


# Writing


def test_what_is_acknowledged_is_in_the_broker_with_its_key_and_headers(kafka: Broker) -> None:
    topic = kafka.topic(next(_names), partitions=3)
    records = [Record(RecordKind(n % 3), b'{"n": %d}' % n, f'{{"n": {n}}}', f"run-{n % 7}") for n in range(600)]
    append(address(kafka, topic), *records)
    consumer = Consumer({"bootstrap.servers": kafka.servers, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(3)])
    found = consumer.consume(600, PATIENCE_S)
    consumer.close()
    stored = {message.value(): dict(message.headers() or ()) for message in found}
    assert stored == {r.body: {"k": b"%d" % r.kind, "h": r.http.encode()} for r in records}
    for run in range(7):
        of_run = [m for m in found if int((m.value() or b"")[6:-1]) % 7 == run]
        assert len({(m.partition(), m.key()) for m in of_run}) == 1, "all records of a run must be in one partition"
        assert [m.offset() for m in of_run] == sorted(m.offset() or 0 for m in of_run)
        assert [m.value() for m in of_run] == [r.body for r in records if r.key == f"run-{run}"], (
            "the records of a run must keep their order"
        )


def test_bodies_beyond_the_queue_are_refused_whole_and_room_comes_back(kafka: Broker, topic: str) -> None:
    async def crowd(log: KafkaLog) -> list[Any]:
        records = [[Record(RecordKind.EVENT, b"x" * 600)] for _ in range(3)]
        return [
            await asyncio.gather(*(log.append(each, timeout_s=PATIENCE_S) for each in records), return_exceptions=True)
            for _ in range(2)
        ]

    for outcomes in with_log(address(kafka, topic), crowd, queued_bytes=1300):
        assert [type(outcome) for outcome in outcomes] == [type(None), type(None), LogUnavailable]
        assert "Over capacity" in str(outcomes[2])


def test_a_silent_broker_is_unavailable_in_time_and_what_comes_after_is_taken(kafka: Broker, topic: str) -> None:
    async def work(log: KafkaLog) -> str:
        await log.append([Record(RecordKind.EVENT, b"before")], timeout_s=PATIENCE_S)
        with kafka.frozen(), pytest.raises(LogUnavailable) as caught:
            await log.append([Record(RecordKind.EVENT, b"during")], timeout_s=0.5)
        await recovered(log)
        return str(caught.value)

    assert "did not acknowledge within 0.5 s" in with_log(address(kafka, topic), work)


async def recovered(log: KafkaLog) -> None:
    """Append until it succeeds. Until then, producers receive 503."""
    async with asyncio.timeout(PATIENCE_S * 2):
        while True:
            try:
                return await log.append([Record(RecordKind.EVENT, b"after")], timeout_s=PATIENCE_S)
            except LogUnavailable:
                await asyncio.sleep(0.05)  # the log recovers without intervention


@pytest.mark.parametrize(
    ("options", "topic", "says"),
    [
        ({}, "no-such-topic", "has no topic 'no-such-topic'. Create it, or correct `kafka_topic`."),
        ({"sasl_password": "wrong-secret"}, "t", "rejects the credentials"),
    ],
)
def test_what_is_wrong_is_said_with_its_fix_and_without_a_secret(
    kafka: Broker, caplog: pytest.LogCaptureFixture, options: dict[str, str], topic: str, says: str
) -> None:
    at = secured(kafka, topic, **options) if options else address(kafka, topic)
    with caplog.at_level(logging.INFO):
        told = append_error(at)
    assert says in told
    assert "secret" not in told
    assert sum(says in record.message for record in caplog.records) == 1


def test_a_record_too_large_for_the_broker_is_refused_and_others_are_not(kafka: Broker) -> None:
    at = address(kafka, kafka.topic(next(_names), max_message_bytes="2000"))

    async def work(log: KafkaLog) -> None:
        with pytest.raises(LogUnavailable, match="Set `claim_bytes` to 16 KiB less than its"):
            await log.append([Record(RecordKind.EVENT, b"x" * 5000)], timeout_s=PATIENCE_S)
        await log.append([Record(RecordKind.EVENT, b"x")], timeout_s=PATIENCE_S)

    with_log(at, work)


@pytest.mark.parametrize(
    ("options", "says"),
    [({"acks": "0"}, "must not contain acks"), ({"no_such": "1"}, 'No such configuration property: "no.such"')],
)
def test_options_that_cannot_be_are_a_wrong_setting(options: dict[str, str], says: str) -> None:
    with pytest.raises(WrongSetting, match=says):
        KafkaReaders(
            KafkaAddress("127.0.0.1:1", "t", "g", {key.replace("_", "."): value for key, value in options.items()})
        )


# Reading


def test_credentials_of_an_event_hub_s_kind_write_and_read(kafka: Broker, topic: str) -> None:
    append(secured(kafka, topic), Record(RecordKind.CLAIM, b"key", '{"a": 1}', "run"))
    (found,) = KafkaReaders(secured(kafka, topic))()
    (record,) = read(found)
    found.close()
    assert (record.sequence, record.kind, record.http, record.body) == (1, RecordKind.CLAIM, '{"a": 1}', b"key")


def test_a_reader_goes_on_where_it_is_told_and_knows_both_ends(kafka: Broker, topic: str, reader: KafkaReader) -> None:
    assert (read(reader), reader.head(), reader.tail(), reader.pending(0)) == ([], 1, 0, 0)
    append(address(kafka, topic), *[Record(RecordKind.EVENT, b"%d" % n) for n in range(1, 11)])
    assert [record.body for record in read_all(reader, 10)] == [b"%d" % n for n in range(1, 11)]
    assert read(reader, 10) == []
    assert [record.sequence for record in read(reader, 3, limit=2)] == [4, 5]
    assert [record.sequence for record in reader.read(5, limit=9, max_bytes=2)] == [6, 7]
    assert [record.sequence for record in reader.read_between(7, 10, limit=9, max_bytes=100)] == [8, 9]
    assert (reader.head(), reader.tail(), reader.pending(4), reader.pending(10)) == (1, 10, 6, 0)
    assert reader.received_us(4) == read(reader, 3)[0].received_us
    assert reader.received_us(11) is None
    append(address(kafka, topic), Record(RecordKind.EVENT, b"11"))
    assert [record.body for record in read(reader, 10)] == [b"11"]


def test_what_retention_took_is_a_gap_and_what_transactions_left_is_none(
    kafka: Broker, topic: str, reader: KafkaReader
) -> None:
    kafka.produce(topic, [b"1", b"2", b"3"])
    for keep in (False, True):
        producer = kafka.producer(transactional_id=topic)
        producer.init_transactions()
        producer.begin_transaction()
        producer.produce(topic, b"in a transaction", partition=0)
        producer.flush()
        producer.commit_transaction() if keep else producer.abort_transaction()
    kafka.produce(topic, [b"8"])
    assert places(read(reader)) == [(1, 0), (2, 0), (3, 0), (6, 2), (8, 1)], (
        "the transaction of 4 and 5 was aborted, and 7 is its end marker"
    )
    kafka.forget(topic, 2)
    assert places(read(reader)) == [(3, 0), (6, 2), (8, 1)], "1 and 2 were lost"
    kafka.forget(topic, 4)
    assert places(read(reader)) == [(6, 1), (8, 1)], "3 was lost as well, and the fate of 5 is unknown"
    assert reader.lost_up_to(0) == 0
    kafka.forget(topic, 8)
    assert (read(reader), reader.lost_up_to(3), reader.lost_up_to(8), reader.pending(3)) == ([], 8, 0, 0)


def test_the_audit_balances_over_holes_gaps_repeats_and_records_of_others(
    kafka: Broker, topic: str, reader: KafkaReader, tmp_path: Path
) -> None:
    kafka.produce(topic, [event("a"), event("b")])
    kafka.forget(topic, 1)
    producer = kafka.producer(transactional_id=topic)
    producer.init_transactions()
    producer.begin_transaction()
    for each in (event("b"), b"no json", b""):
        producer.produce(topic, each, partition=0)
    producer.commit_transaction()
    append(address(kafka, topic), Record(RecordKind.EVENT, event("c"), '{"key": "k"}'))
    append(address(kafka, topic), Record(RecordKind.CLAIM, b".."), Record(RecordKind.CLAIM, b"\xff"))
    bronze = Bronze(str(tmp_path / "lake" / "bronze"))
    parser = PartitionParser(reader, bronze, FolderClaims(tmp_path / "claims"), "test")
    while parser.commit_next(3):
        rest()
    found = audit([reader], bronze)
    assert found.balanced
    assert (found.received, found.stored, found.duplicates, found.rejected, found.pending) == (9, 2, 1, 6, 0)
    rejected = {row["sequence"]: row["reason"] for row in rows(tmp_path, "rejected")}
    assert rejected == {1: "gap", 4: "not_json", 5: "not_json", 6: "hole", 8: "claim_missing", 9: "claim_missing"}
    assert {row["sequence"]: row["http"] for row in rows(tmp_path, "events")} == {2: "{}", 7: '{"key": "k"}'}
    assert {row["log"] for row in rows(tmp_path, "events")} == {topic}


def test_a_topic_made_anew_is_another_log_and_the_parser_says_so(kafka: Broker, topic: str, tmp_path: Path) -> None:
    readers, bronze = KafkaReaders(address(kafka, topic)), Bronze(str(tmp_path / "bronze"))
    kafka.produce(topic, [event("a"), event("b")])
    (before,) = readers()
    assert list(readers()) == [before]
    PartitionParser(before, bronze, FolderClaims(tmp_path / "claims"), "test").commit_next()
    kafka.delete_topic(topic)
    kafka.topic(topic)
    (after,) = readers()
    assert after.source.epoch != before.source.epoch
    with pytest.raises(WrongSetting, match="new-epoch"):
        PartitionParser(after, bronze, FolderClaims(tmp_path / "claims"), "test")
    after.close()


def test_a_topic_that_would_compact_events_away_is_refused(kafka: Broker) -> None:
    topic = kafka.topic(next(_names), cleanup_policy="compact,delete")
    with pytest.raises(WrongSetting, match="=compact,delete: Kafka would delete"):
        KafkaReaders(address(kafka, topic))()


# From the request to the lake


def test_headwater_up_on_kafka_keeps_what_it_acknowledged_while_the_broker_is_killed(
    kafka: Broker, tmp_path: Path
) -> None:
    topic = kafka.topic(next(_names), partitions=3)
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "PLAIN", "sasl.username": USER}
    settings = {"log": "kafka", "kafka_servers": kafka.secured, "kafka_topic": topic}
    gate = running(tmp_path / "data", **settings, kafka_options=login | {"sasl.password": PASSWORD})
    with gate as gateway, httpx.Client(base_url=gateway.url, timeout=2.5) as client:
        acknowledged = {post(client, 200) for _ in range(20)}
        assert client.post(BATCH, content=body([run_event() for _ in range(300)])).status_code == 204
        large = with_raw(run_event(), b'"' + b"x" * (2 << 20) + b'"')
        assert client.post(ONE, content=large).status_code == 200
        kafka.kill()
        refused = {post(client, 503) for _ in range(3)}
        assert client.post(BATCH, content=body([run_event()] * 5)).status_code == 503
        assert "Kafka" in client.get("/health/ready").json()["components"]["log"]
        kafka.start()
        while client.get("/health/ready").status_code != 200:
            rest()
        acknowledged |= {post(client, 200) for _ in range(20)}
        found = gateway.settled()
    assert PASSWORD not in gateway.said()
    assert found["balanced"]
    assert found["stored"] + found["duplicates"] >= 341
    runs = {row["run_id"]: row["partition"] for row in rows(tmp_path / "data", "events")}
    assert runs.keys() >= acknowledged
    assert len(runs) <= 341 + len(refused) + 1, "each refused event may be stored at most once"
    assert set(runs.values()) == {"0", "1", "2"}


def post(client: httpx.Client, status: int) -> str:
    posted = run_event()
    answer = client.post(ONE, content=body(posted))
    assert answer.status_code == status, answer.text
    return str(posted["run"]["runId"])
