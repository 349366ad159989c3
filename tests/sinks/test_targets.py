"""Targets without HTTP: a folder and a real Kafka broker. Also authentication at HTTP targets."""

import json
import re
import textwrap
import threading
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from headwater.common.errors import Retry, WrongSetting
from headwater.operations.runtime.storage import open_bronze
from headwater.sinks.connecting.secrets import Secrets
from headwater.sinks.control.service import sink_states
from headwater.sinks.interface.options import SecretLocation
from headwater.sinks.interface.target_registry import TARGETS, open_sink
from tests.support.data.made_events import job_event, run_event
from tests.support.data.sink_world import SinkWorld, bodies, events, no_token, payloads, runs, sink
from tests.support.paths import ROOT
from tests.support.servers.azurite import ACCOUNT, KEY, Storage
from tests.support.servers.kafka_broker import PASSWORD, USER, Broker
from tests.support.servers.sink_target import Asked, Said, eventually, sink_server

PATIENCE_S = 20.0


def lines(folder: Path) -> list[object]:
    """Return the lines of a folder's files, in the order of the file names."""
    return [json.loads(line) for path in sorted(folder.rglob("*.ndjson")) for line in path.read_text().splitlines()]


@pytest.mark.slow
def test_a_folder_holds_every_event_on_one_line_in_files_that_are_whole(tmp_path: Path) -> None:
    world, out = SinkWorld(tmp_path / "data"), sink(type="file", folder=str(tmp_path / "out"), every="10ms")
    made = events(7)
    world.store(json.dumps(made[0], indent=2).encode(), *bodies(made[1:4]))
    world.settle(out)
    world.store(*bodies(made[4:]))
    world.settle(out)
    assert lines(tmp_path / "out") == made
    assert len([*(tmp_path / "out").rglob("*.ndjson")]) == 2
    assert {path.parent.name.count("-") for path in (tmp_path / "out").rglob("*.ndjson")} == {2}
    assert [*(tmp_path / "out").rglob("*.part")] == []


def test_a_file_that_was_written_before_a_kill_is_written_again_not_beside(tmp_path: Path) -> None:
    with closing(open_sink(sink(type="file", folder=str(tmp_path)), no_token)) as target:  # type: ignore[arg-type]
        first = payloads(["a", "b"])
        target.deliver(first)
        (before,) = tmp_path.rglob("*.ndjson")
        target.deliver([*first, *payloads(["a", "b", "c"])[2:]])
        assert [*tmp_path.rglob("*.ndjson")] == [before]
        assert len(before.read_text().splitlines()) == 3


def test_a_folder_that_cannot_be_written_is_waited_for(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path / "data")
    made = events(2)
    world.store(*bodies(made))
    (tmp_path / "out").write_text("a file is in the way")
    out = sink(type="file", folder=str(tmp_path / "out"))
    with world.running(out) as runner:
        eventually(lambda: "Cannot write" in (runner.status.trouble or ""))
        (tmp_path / "out").unlink()
        eventually(lambda: lines(tmp_path / "out") == made)


@pytest.mark.slow
def test_a_folder_in_azures_storage_holds_the_same_files_and_is_waited_for(tmp_path: Path, storage: Storage) -> None:
    world, container = SinkWorld(tmp_path / "data"), storage.container()
    folder = f"{storage.url}/{container.container_name}/lineage/events"
    options = {"account_name": ACCOUNT, "account_key": {"env": "KEY"}}
    out, known = sink(type="file", folder=folder, options=options, every="10ms"), {"KEY": KEY}
    made = events(5)
    made[0]["job"]["name"] = "a name with ü"
    world.store(json.dumps(made[0], indent=2).encode(), *bodies(made[1:3]))
    world.settle(out, known)
    world.store(*bodies(made[3:]))
    with world.running(out, known) as runner, storage.failing("busy") as fault:
        fault.wait_met()
        eventually(lambda: "throttles" in (runner.status.trouble or ""))
        assert KEY not in str(runner.status)
    world.ledger.reset("out", {})
    world.settle(out, known)
    names = sorted(blob.name for blob in container.list_blobs())
    assert all(re.fullmatch(r"lineage/events/\d{4}-\d\d-\d\d/[^/]+\.ndjson", name) for name in names)
    texts = [container.download_blob(name).readall() for name in names]
    assert [json.loads(line) for text in texts[:1] for line in text.splitlines()] == made
    with closing(open_sink(out, Secrets(no_token, known).reveal)) as target:
        assert target.check() == f"{folder} can be written"
        with storage.failing("wrong role"), pytest.raises(Retry, match="Storage Blob Data Contributor"):
            target.check()
    assert sorted(blob.name for blob in container.list_blobs()) == names


def test_marquez_gets_a_runs_start_first_and_everything_else_where_it_was(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    end = run_event(eventType="COMPLETE")
    other = run_event(eventType="COMPLETE")
    start = run_event(eventType="START", run=end["run"])
    job = job_event()
    world.store(*bodies([end, other, job, start]))
    with sink_server() as server:
        server.answer = lambda _: Said(201, b"")
        world.settle(sink(type="marquez", url=server.url))
        assert server.taken == [start, end, other, job]
        assert {asked.path for asked in server.asked} == {"/api/v1/lineage"}


def marquez_states(taken: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return each run's state in Marquez, which is that of the last arriving event (OpenLineageDao, RunDao.upsert)."""
    states = {"COMPLETE": "COMPLETED", "FAIL": "FAILED", "ABORT": "ABORTED"}
    return {event["run"]["runId"]: states.get(event["eventType"], "RUNNING") for event in taken if "run" in event}


@pytest.mark.parametrize("late", ["START", "RUNNING", "OTHER"])
def test_marquez_gets_a_runs_end_again_behind_an_event_that_reopens_it(tmp_path: Path, late: str) -> None:
    """An earlier runner sent the end in an earlier batch. Events that the sink's filter excludes are not sent."""
    world = SinkWorld(tmp_path)
    end = run_event(eventType="FAIL")
    reopening = run_event(eventType=late, run=end["run"])
    going_on = run_event(eventType="START")
    to_marquez = {"type": "marquez"}
    with sink_server() as server, sink_server() as filtered:
        out, some = sink(**to_marquez, url=server.url), sink(**to_marquez, url=filtered.url, only={"states": [late]})
        world.store(*bodies([end]))
        world.settle(out)
        world.store(*bodies([reopening, going_on]))
        world.settle(out)
        assert server.taken == [end, reopening, end, going_on]
        assert marquez_states(server.taken) == {end["run"]["runId"]: "FAILED", going_on["run"]["runId"]: "RUNNING"}
        world.store(*bodies([reopening]))  # a retry of the producer, which the lake recognizes as a duplicate
        world.settle(out)
        assert server.taken == [end, reopening, end, going_on]
        world.ledger.reset("out", {})
        world.settle(out)
        assert marquez_states(server.taken) == {end["run"]["runId"]: "FAILED", going_on["run"]["runId"]: "RUNNING"}
        world.ledger.reset("out", {})
        world.settle(some)
        assert end not in filtered.taken
    assert world.ledger.failure_count("out") == 0


def test_a_target_that_takes_a_request_and_never_answers_is_not_caught_up(tmp_path: Path) -> None:
    """Neither the runner's status nor the list, which a process reported before the events came, may show
    "caught up".
    """
    world, answer = SinkWorld(tmp_path), threading.Event()
    world.store(*bodies(events(3)))
    with sink_server() as server:
        asked = threading.Event()

        def hold(_: Asked) -> Said:
            asked.set()
            answer.wait(60)
            return Said()

        server.answer = hold
        with world.running(sink(type="openlineage", url=server.url)) as runner:
            assert asked.wait(60)
            assert runner.status.state == "delivering"
            told = {"out": {"state": "caught up", "trouble": None, "next_try_us": None}}
            (row,) = sink_states({"out": "openlineage"}, open_bronze(world.settings), world.ledger, told, 1)
            assert (row["state"], row["behind"]["events"]) == ("delivering", 3)
            answer.set()
            eventually(lambda: runner.status.state == "caught up")


def test_a_check_says_what_answers_and_what_is_missing() -> None:
    cases: list[tuple[str, Said, str]] = [
        ("openlineage", Said(400), "rejects an invalid event"), ("openlineage", Said(401), "Correct `key`"),
        ("openlineage", Said(404), "Correct `url` and `path`"), ("openlineage", Said(200), "may not validate"),
        ("marquez", Said(200, b'{"namespaces": []}'), "like Marquez"),
        ("marquez", Said(200, b"<p>"), "not a Marquez"),
        ("marquez", Said(hang_up=True), "No response"),
    ]  # fmt: skip
    with sink_server() as server:
        for kind, said, words in cases:
            server.answer = lambda _, said=said: said  # type: ignore[misc]
            with closing(open_sink(sink(type=kind, url=server.url), Secrets(no_token, {}).reveal)) as target:
                try:
                    found = target.check()
                except (WrongSetting, Retry) as error:
                    found = str(error)
            assert words in found, (kind, said)
        assert not any(server.taken)


def test_client_credentials_are_changed_for_a_token_which_is_kept_while_it_holds(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    world.store(*bodies(events(3)))
    with sink_server() as server, sink_server() as tokens:
        tokens.answer = lambda _: Said(200, b'{"access_token": "tok-1", "expires_in": 3600}')
        oauth = {"token_url": tokens.url, "client_id": "me", "client_secret": {"env": "S"}, "scope": "write"}
        world.settle(sink(type="openlineage", url=server.url, oauth=oauth), {"S": "very-secret"})
        assert [asked.headers["authorization"] for asked in server.asked] == ["Bearer tok-1"] * 3
        assert [asked.events for asked in tokens.asked] == [
            ["grant_type=client_credentials&client_id=me&client_secret=very-secret&scope=write"]
        ]


def test_a_vault_is_asked_with_a_token_for_its_secret() -> None:
    with sink_server() as vault:
        vault.answer = lambda _: Said(200, b'{"value": "from-the-vault"}')
        reference = SecretLocation.model_construct(env=None, vault=f"{vault.url}/secrets/key")
        secrets = Secrets(lambda scope: f"token-for-{scope}", {})
        assert secrets.reveal(reference) == "from-the-vault"
        assert vault.asked[0].path == "/secrets/key?api-version=7.4"
        assert vault.asked[0].headers["authorization"] == "Bearer token-for-https://vault.azure.net/.default"
        assert secrets.mask("it was from-the-vault") == "it was ***"
        vault.answer = lambda _: Said(403, b'{"error": {}}')
        with pytest.raises(WrongSetting, match=r"403.*Key Vault Secrets User"):
            secrets.reveal(reference)


def read_all(broker: Broker, topic: str, count: int, partitions: int = 1) -> list[tuple[Any, Any, Any]]:
    """Return partition, key and body of `count` records, in order within each partition."""
    consumer = Consumer({"bootstrap.servers": broker.servers, "group.id": "test", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    found: list[tuple[Any, Any, Any]] = []
    while len(found) < count:
        record = consumer.poll(PATIENCE_S)
        assert record is not None, found
        assert not record.error(), record.error()
        found.append((record.partition(), record.key(), record.value()))
    assert consumer.poll(0.5) is None
    consumer.close()
    return found


@pytest.mark.slow
def test_a_topic_gets_events_by_run_in_order_and_what_is_too_large_is_kept(tmp_path: Path, kafka: Broker) -> None:
    world = SinkWorld(tmp_path)
    topic = kafka.topic("sink-order", partitions=3)
    starts = events(10, eventType="START")
    ends = [run_event(eventType="COMPLETE", run=event["run"]) for event in starts]
    large = run_event(job={"namespace": "n", "name": "large", "facets": {"x": {"y": "z" * 5000}}})
    world.store(*bodies([*starts, large, *ends]))
    world.settle(sink(type="kafka", servers=kafka.servers, topic=topic, largest_bytes=4000))
    found = read_all(kafka, topic, 20, partitions=3)
    assert len({partition for partition, _, _ in found}) > 1
    for run in runs(starts):
        of_run = [(partition, json.loads(text)["eventType"]) for partition, key, text in found if key == run.encode()]
        assert [state for _, state in of_run] == ["START", "COMPLETE"]
        assert len({partition for partition, _ in of_run}) == 1
    assert [*world.dead()] == [large["run"]["runId"]]
    assert world.ledger.sink_counts("out") == (20, 1, 0)


@pytest.mark.slow
def test_a_broker_that_is_killed_gets_what_is_left_when_it_comes_back(tmp_path: Path, kafka: Broker) -> None:
    world = SinkWorld(tmp_path)
    topic = kafka.topic("sink-killed")
    made = events(6)
    out = sink(type="kafka", servers=kafka.servers, topic=topic)
    with world.running(out) as runner:
        world.store(*bodies(made[:3]))
        eventually(lambda: world.ledger.sink_counts("out").delivered == 3)
        kafka.kill()
        world.store(*bodies(made[3:]))
        eventually(lambda: "Kafka at" in (runner.status.trouble or ""))
        kafka.start()
        eventually(lambda: world.ledger.sink_counts("out").delivered == 6)
    assert [text for _, _, text in read_all(kafka, topic, 6)] == bodies(made)


@pytest.mark.slow
def test_a_check_of_a_topic_says_that_it_is_not_there_or_that_we_are_not_known(kafka: Broker) -> None:
    options = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "PLAIN", "sasl.username": USER}
    topic = kafka.topic("sink-check", partitions=2)

    def check(password: str, topic: str) -> str:
        out = sink(
            type="kafka", servers=kafka.secured, topic=topic, options={**options, "sasl.password": {"env": "PASSWORD"}}
        )
        with closing(open_sink(out, Secrets(no_token, {"PASSWORD": password}).reveal)) as target:
            return target.check()

    assert check(PASSWORD, topic) == f"topic {topic} has 2 partitions"
    with pytest.raises(WrongSetting, match="Create the topic"):
        check(PASSWORD, "not-there")
    with pytest.raises(Retry) as caught:
        check("wrong-password-9", topic)
    assert "wrong-password-9" not in str(caught.value)


def test_the_catalog_that_contributing_md_adds_is_one_module_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.split("### A sink for a new catalog")[1]
    (tmp_path / "mycatalog.py").write_text(textwrap.dedent(section.split("```python\n")[1].split("```")[0]))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(TARGETS.built_in, "mycatalog", "mycatalog")
    world = SinkWorld(tmp_path / "data")
    made, job = events(3), job_event()
    world.store(*bodies([*made, job]))
    with sink_server() as server:
        out = sink(type="mycatalog", url=server.url, workspace="one")
        world.settle(out)
        assert server.taken == made
        assert server.asked[0].path == "/workspaces/one"
        with closing(open_sink(out, Secrets(no_token, {}).reveal)) as target:
            assert target.check() == "the workspace is there"
    (letter,) = world.ledger.failures("out", 10)
    assert letter["reason"] == "it takes runs only"
