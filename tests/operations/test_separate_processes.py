"""Processes in separate containers: what they must share, what each answers, and that no events are lost
between them.
"""

import json
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from headwater.common.errors import WrongSetting
from headwater.operations.settings import load_settings
from tests.support.data.parsing import event
from tests.support.running import Running
from tests.support.servers.kafka_broker import Broker
from tests.support.servers.s3 import S3Server
from tests.support.waiting import rest

SECRET = "a-very-secret-key"
KAFKA = {"log": "kafka", "kafka_servers": "127.0.0.1:1"}
APART = {**KAFKA, "lake": "s3://bucket/lake", "claims_url": "s3://bucket/claims"}


@pytest.mark.parametrize("stations", [["receiver"], ["parser"], ["api"], ["parser", "sinks"], ["receiver", "api"]])
def test_stations_run_apart_where_log_lake_and_large_bodies_are_shared(stations: Sequence[str]) -> None:
    assert load_settings({**APART, "stations": stations}, environment={})[0].stations == tuple(stations)


@pytest.mark.parametrize(
    ("stations", "given", "words"),
    [
        ([], APART, ["stations is empty", "receiver, parser, api, sinks"]),
        (["receiver"], {}, ["leaves parser and api to other machines", "log on this disk", 'log = "kafka"']),
        (["parser"], KAFKA, ["lake in this data folder", "Set `lake` to a URL"]),
        (["receiver"], KAFKA, ["large bodies in this data folder", "`claims_url`", "would be lost"]),
        (["reciever"], APART, ["'stations.0'", "receiver"]),
    ],
)
def test_stations_that_would_not_meet_are_refused_with_the_fix(
    stations: Sequence[str], given: dict[str, Any], words: Sequence[str]
) -> None:
    with pytest.raises(WrongSetting) as caught:
        load_settings({**given, "stations": stations}, environment={})
    assert all(word in str(caught.value) for word in words), caught.value


@pytest.fixture(scope="module")
def shared(kafka: Broker) -> Iterator[dict[str, str]]:
    """Provide the variables that three containers share: a topic and a bucket."""
    with S3Server() as server:
        bucket = server.start().bucket()
        options = json.dumps({**server.options(SECRET), "aws_allow_http": "true"})
        yield {
            "HEADWATER_LOG": "kafka",
            "HEADWATER_KAFKA_SERVERS": kafka.servers,
            "HEADWATER_KAFKA_TOPIC": kafka.topic("apart", partitions=2),
            "HEADWATER_LAKE": f"s3://{bucket}/lake",
            "HEADWATER_LAKE_OPTIONS": options,
            "HEADWATER_CLAIMS_URL": f"s3://{bucket}/claims",
            "HEADWATER_CLAIMS_OPTIONS": options,
            "HEADWATER_CLAIM_BYTES": "2000",
            "HEADWATER_TICK_S": "0.5",
        }


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_events_go_from_a_receiver_by_kafka_and_a_parser_that_is_killed_to_s3_and_are_answered_from_there(
    shared: dict[str, str], tmp_path: Path
) -> None:
    without_lake = {name: text for name, text in shared.items() if not name.startswith("HEADWATER_LAKE")}
    with station("receiver", without_lake, tmp_path) as receiver, station("parser", shared, tmp_path) as parser:
        with httpx.Client(base_url=receiver.url, timeout=60) as producer:
            assert producer.get("/api/headwater/v1/audit").status_code == 404
            post(producer, *map(run, range(6)), large(run(6)))
            os.kill(parser.wait_pid("parser"), signal.SIGKILL)
            post(producer, *map(run, range(7, 12)), run(0))
            ready = producer.get("/health/ready").json()
            assert (ready["ready"], ready["components"]["lake"]) == (True, "not asked"), (
                "the receiver has no permission for the lake"
            )
        assert httpx.post(f"{parser.url}/api/v1/lineage", content=run(0)).status_code == 404
        with station("api", shared, tmp_path) as api, httpx.Client(base_url=api.url, timeout=60) as reader:
            assert "Post to an instance" in reader.post("/api/v1/lineage", content=run(0)).json()["fix"]
            audit = settled(reader)
            assert audit | {"stored": 12, "duplicates": 1, "rejected": 0, "balanced": True} == audit
            while reader.get("/health/ready").status_code != 200:
                rest()
            asked = {"namespace": "n", "dataset": "source", "column": "a"}
            while (found := reader.get("/api/headwater/v1/impact", params=asked)).status_code != 200:
                rest()
            assert "target" in found.text
        metrics = httpx.get(f"{parser.url}/metrics", timeout=60).text
        assert "headwater_pending_events 0.0" in metrics
        assert "headwater_freshness_seconds NaN" in metrics, "without an index, the freshness is unknown"
    assert SECRET not in receiver.stderr + parser.stderr
    assert not (tmp_path / "parser" / "lake").exists()


def station(name: str, environment: dict[str, str], folder: Path) -> Running:
    return Running(folder / name, environment=environment, options=["--station", name])


def run(number: int) -> bytes:
    return event(UUID(int=number + 1))


def large(body: bytes) -> bytes:
    return body[:-1] + b', "padding": "%b"}' % (b"x" * 5000)


def post(client: httpx.Client, *bodies: bytes) -> None:
    for body in bodies:
        while client.post("/api/v1/lineage", content=body).status_code != 200:
            rest()  # repeat as producers do, because Kafka may be slow on a busy machine


def settled(client: httpx.Client) -> dict[str, Any]:
    """Ask until there are no pending events. Returns the audit."""
    while True:
        asked = client.get("/api/headwater/v1/audit")
        if asked.status_code == 200 and not asked.json()["pending"]:
            return dict(asked.json())
        rest()
