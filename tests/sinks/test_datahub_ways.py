"""Other ways to DataHub than its service: a file for its file source, and its Kafka topic with a schema registry."""

import io
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import fastavro
import pytest

from headwater.common.errors import WrongSetting
from headwater.sinks.interface.options import Sink
from headwater.sinks.interface.target_registry import open_sink
from tests.sinks.test_datahub import HOSTILE, dataset, proposals, run
from tests.sinks.test_targets import read_all
from tests.support.data.sink_world import SinkWorld, bodies, no_token, sink
from tests.support.servers.azurite import ACCOUNT, KEY, Storage
from tests.support.servers.kafka_broker import Broker
from tests.support.servers.sink_target import Asked, Said, eventually, sink_server
from tools.datahub_env import file_source, judged, topic_schema

pytestmark = pytest.mark.slow

SUBJECT = "MetadataChangeProposal_v1-value"


def to_file(path: Path) -> Sink:
    return sink(type="datahub", emitter="file", every="10ms", **{"file.filename": str(path)})


def written(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())
    return found


def plain(told: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return the content of proposals without the additions of a reader."""
    return [
        (each["entityUrn"], each["aspectName"], each["changeType"], json.loads(each["aspect"]["value"]))
        for each in told
    ]


def test_datahubs_own_source_reads_the_file_which_grows_batch_by_batch(tmp_path: Path) -> None:
    world, path = SinkWorld(tmp_path / "data"), tmp_path / "out" / "proposals.json"
    first, second = run(outputs=[dataset("o")]), run(outputs=[dataset("p")])
    world.store(*bodies([first, *HOSTILE]))
    world.settle(to_file(path))
    world.store(*bodies([second]))
    world.settle(to_file(path))
    told = [*proposals([first, *HOSTILE]), *proposals([second])]
    assert plain(written(path)) == plain(told)
    for read, meant in zip(plain(file_source(path)), plain(told), strict=True):
        assert read[:3] == meant[:3]
        # omitted members get defaults
        assert read[3] | meant[3] == read[3], "a proposal was read back differently"


def test_azures_storage_holds_the_proposals_of_the_file_and_a_repeat_is_the_same(
    tmp_path: Path, storage: Storage
) -> None:
    world, path, container = SinkWorld(tmp_path / "data"), tmp_path / "proposals.json", storage.container()
    world.store(*bodies([run(outputs=[dataset("o")]), *HOSTILE]))
    world.settle(to_file(path))
    known = {"account_name": ACCOUNT, "account_key": {"env": "KEY"}}
    place = {"adls.folder": f"{storage.url}/{container.container_name}/metadata", "adls.options": known}
    out = sink(type="datahub", emitter="adls", every="10ms", **place)
    held = []
    for _ in range(2):
        world.ledger.reset("out", {})
        world.settle(out, {"KEY": KEY})
        names = sorted(blob.name for blob in container.list_blobs())
        held.append({name: container.download_blob(name).readall() for name in names})
    assert held[0] == held[1]
    assert [each for text in held[0].values() for each in json.loads(text)] == written(path)
    assert all(name.startswith("metadata/") for name in held[0])
    assert KEY not in str(held)
    with pytest.raises(WrongSetting, match=r"needs adls\.folder"):
        sink(type="datahub", emitter="adls")


@pytest.mark.parametrize("part", ["", "[", "[\n", '[\n{"a', "whole", "cut", "unended"])
def test_what_a_kill_left_in_the_file_is_cut_off_and_whole_proposals_stay(tmp_path: Path, part: str) -> None:
    world, path = SinkWorld(tmp_path / "data"), tmp_path / "proposals.json"
    made, later = run(outputs=[dataset("o")]), run(outputs=[dataset("p")])
    world.store(*bodies([made]))
    world.settle(to_file(path))
    text, told = path.read_text(), written(path)
    whole = {"whole": text, "cut": text[:-3] + ',\n{"entityUrn": "urn:li:', "unended": text[: text.rindex(",\n") + 9]}
    kept = {"whole": told, "cut": told, "unended": told[:-1]}.get(part, [])
    path.write_text(whole.get(part, part))
    world.store(*bodies([later]))
    world.settle(to_file(path))
    assert plain(written(path)) == plain([*kept, *proposals([later])])


def test_a_file_that_is_taken_away_comes_anew_and_a_strange_one_is_left_alone(tmp_path: Path) -> None:
    world, path = SinkWorld(tmp_path / "data"), tmp_path / "proposals.json"
    path.write_text("something of somebody else")
    world.store(*bodies([run()]))
    with world.running(to_file(path)) as runner:
        eventually(lambda: "not a file of proposals" in (runner.status.trouble or ""))
        assert path.read_text() == "something of somebody else"
        path.unlink()
        eventually(lambda: world.ledger.sink_counts("out").delivered == 1)
    assert plain(written(path)) != []


def test_what_an_emitter_needs_is_named() -> None:
    for options, words in (
        ({}, "`emitter: rest` needs url"),
        ({"emitter": "file"}, r"needs file\.filename"),
        ({"emitter": "kafka", "kafka.bootstrap": "b:9092"}, r"needs kafka\.schema_registry_url"),
    ):
        with pytest.raises(WrongSetting, match=words):
            sink(type="datahub", **options)


def test_proposals_stand_in_the_log_if_asked(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    world, path = SinkWorld(tmp_path / "data"), tmp_path / "proposals.json"
    world.store(*bodies([run(of_job={"sql": {"query": "SELECT 'password=hunter22'"}})]))
    world.settle(to_file(path))
    assert "urn:li:dataJob" not in caplog.text
    world.ledger.reset("out", {})
    options = {"file.filename": str(path), "log.mcps": True}
    world.settle(sink(type="datahub", emitter="file", every="10ms", **options))
    assert "urn:li:dataJob" in caplog.text
    assert "hunter22" not in caplog.text


class Registry:
    """A schema registry with Confluent's protocol.

    datahub: behave like the registry in DataHub, which only finds schemas by id.
    """

    def __init__(self, schema: dict[str, Any] | None, *, datahub: bool = False) -> None:
        self.schema = schema
        self.datahub = datahub
        self.posted: list[Any] = []

    def answer(self, asked: Asked) -> Said:
        if asked.path == f"/subjects/{SUBJECT}/versions/latest":
            if self.datahub or self.schema is None:
                return Said(501 if self.datahub else 404, b'{"error_code": 40401}')
            return self._said({"subject": SUBJECT, "version": 3, "id": 7, "schema": json.dumps(self.schema)})
        if asked.path == f"/subjects/{SUBJECT}/versions":
            self.posted += asked.events
            self.schema = self.schema or json.loads(asked.events[0]["schema"])
            return self._said({"id": 7})
        assert asked.path == "/schemas/ids/7", asked.path
        return self._said({"schema": json.dumps(self.schema), "schemaType": "AVRO"})

    def _said(self, value: Any) -> Said:
        return Said(200, json.dumps(value).encode())


@contextmanager
def registry(schema: dict[str, Any] | None, **more: bool) -> Iterator[tuple[Registry, str]]:
    made = Registry(schema, **more)
    with sink_server() as server:
        server.answer = made.answer
        yield made, server.url


def to_topic(kafka: Broker, topic: str, url: str) -> Sink:
    options = {"kafka.bootstrap": kafka.servers, "kafka.schema_registry_url": url, "kafka.mcp_topic": topic}
    return sink(type="datahub", emitter="kafka", every="10ms", **options)


@pytest.mark.parametrize("kind", ["confluent", "datahub", "empty"])
def test_datahubs_topic_gets_avro_that_its_own_schema_reads(
    tmp_path: Path, kafka: Broker, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.SUBJECT", f"mcp-{kind}-value")
    world, topic, theirs = SinkWorld(tmp_path), kafka.topic(f"mcp-{kind}", partitions=2), topic_schema()
    made = [run(outputs=[dataset("o")]), *HOSTILE]
    world.store(*bodies(made))
    told = proposals(made)
    with registry(None if kind == "empty" else theirs, datahub=kind == "datahub") as (registered, url):
        world.settle(to_topic(kafka, topic, url))
    records = read_all(kafka, topic, len(told), partitions=2)
    assert {record[:5] for _, _, record in records} == {b"\0\0\0\0\7"}
    assert (len(registered.posted), registered.schema == theirs) == (kind != "confluent", kind != "empty")
    assert registered.schema
    writer, reader = fastavro.parse_schema(registered.schema), fastavro.parse_schema(theirs)
    read: list[Any] = [fastavro.schemaless_reader(io.BytesIO(record[5:]), writer, reader) for _, _, record in records]
    found: list[dict[str, Any]] = read
    assert [each["entityUrn"].encode() for each in found] == [key for _, key, _ in records]
    for each in found:
        each["aspect"]["value"] = each["aspect"]["value"].decode()
    assert sorted(plain(found), key=str) == sorted(plain(told), key=str)  # other entities are in a different partition
    count, wrong = judged({name: each[name] for name in told[0]} for each in found)
    assert (count, wrong) == (len(told), [])


def test_a_registry_that_is_away_or_no_registry_is_waited_for(tmp_path: Path, kafka: Broker) -> None:
    world, topic = SinkWorld(tmp_path), kafka.topic("MetadataChangeProposal_v1")
    world.store(*bodies([run()]))
    with registry(None) as (made, url), sink_server() as other:
        other.answer = lambda _: Said(200, b"<html>")
        with world.running(to_topic(kafka, topic, other.url)) as runner:
            eventually(lambda: "no Avro schema" in (runner.status.trouble or ""))
            other.answer = made.answer
            eventually(lambda: world.ledger.sink_counts("out").delivered == 1)
        with closing(open_sink(to_topic(kafka, topic, url), no_token)) as target:  # type: ignore[arg-type]
            assert (
                target.check()
                == f"topic {topic} has 1 partitions; the schema registry responds with status 200 for {SUBJECT}"
            )
