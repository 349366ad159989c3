"""Both apps of a deployment, from a request to a row: real SDKs, an event hub on loopback, and Azurite."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from tests.functions.host import App, Reply, running, unpacked
from tests.functions.test_package import pinned
from tests.support.data.made_events import body, run_event
from tests.support.servers.azurite import ACCOUNT_KEY, KEY, Storage
from tests.support.servers.event_hub import SECRET, Fault, HubServer, Stored
from tests.support.waiting import rest
from tools.function_zip import ROOT, write_receiver

pytestmark = pytest.mark.slow

KEYS = [{"name": "spark", "key": "spark-key", "roles": ["write", "read"]}]
BEARER = "Bearer spark-key"


@pytest.fixture(scope="module")
def hub() -> Iterator[HubServer]:
    with HubServer(partitions=2) as server:
        yield server


@pytest.fixture(scope="module")
def lake(storage: Storage) -> dict[str, Any]:
    return storage.lake(account_key=KEY, timeout="20s", connect_timeout="20s", retry_timeout="20s")


@pytest.fixture(scope="module")
def settings(hub: HubServer, storage: Storage, lake: dict[str, Any]) -> dict[str, Any]:
    claims = {"claims_url": f"{storage.url}/{storage.container().container_name}", "claims_options": ACCOUNT_KEY}
    return {"log": "event_hub", "hub_connection": hub.connection_string, "keys": KEYS, "flush_s": 0, **claims, **lake}


@pytest.fixture(scope="module")
def receiver(settings: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Run the receiver from its own small package, without packages that its requirements do not contain."""
    folder = tmp_path_factory.mktemp("receiver")
    package = unpacked(folder, write_receiver)
    own, others = ((path / "requirements.txt").read_text() for path in (package, ROOT))
    hidden = pinned(others).keys() - pinned(own).keys()
    with running(
        package, folder / "worker.log", hidden=hidden, triggers=["receiver"], data=folder, **settings
    ) as app:  # fmt: skip
        yield app


@pytest.fixture(scope="module")
def pipeline(package: Path, settings: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("pipeline")
    triggers = ["parser", "maintenance", "api"]
    with running(package, folder / "worker.log", triggers=triggers, data=folder, **settings) as app:
        yield app


def post_until_kept(receiver: App, event: bytes) -> None:
    """Post as a producer does: repeat the request while a busy machine answers 503."""
    while (status := receiver.request("lineage", event, authorization=BEARER).status) != 200:
        assert status == 503
        rest()


def rows(lake: dict[str, Any], table: str, *columns: str) -> list[dict[str, Any]]:
    """Read a table of bronze without Headwater's code."""
    found = DeltaTable(f"{lake['lake']}/bronze/{table}", storage_options=lake["lake_options"])
    read: list[dict[str, Any]] = found.to_pyarrow_table(columns=list(columns)).to_pylist()
    return read


def in_lake(lake: dict[str, Any], partition: str) -> list[int]:
    """List every sequence number of a partition in all tables, with gaps expanded."""
    found: list[int] = []
    for table in ("events", "duplicates", "refused", "rejected"):
        for row in rows(lake, table, "partition", "sequence", *(["to_sequence"] if table == "rejected" else [])):
            if row["partition"] == partition:
                found += range(row["sequence"], row.get("to_sequence", row["sequence"]) + 1)
    return sorted(found)


def test_what_the_receiver_app_acknowledged_the_pipeline_app_stores(
    hub: HubServer, receiver: App, pipeline: App, lake: dict[str, Any]
) -> None:
    sent = [body(run_event()) for _ in range(20)]
    assert [receiver.request("lineage", event, authorization=BEARER).status for event in sent] == [200] * 20
    stored = {partition: hub.stored(partition) for partition in (0, 1)}
    assert all(len(events) > 4 for events in stored.values())
    assert sorted(event.body for events in stored.values() for event in events) == sorted(sent)
    # deliver the first and the last two events of each partition, so the rest is read from the hub
    for partition, events in stored.items():
        delivered = [events[0], *events[-2:]]
        assert pipeline.deliver(delivered, partition=str(partition), offset="1:{}:12") is None
        assert in_lake(lake, str(partition)) == list(range(1, events[-1].sequence + 2))
    assert "gap" not in {row["reason"] for row in rows(lake, "rejected", "reason")}


def newest(hub: HubServer) -> tuple[str, Stored]:
    """Return the newest event with its partition."""
    found = [(str(partition), events[-1]) for partition in (0, 1) if (events := hub.stored(partition))]
    return max(found, key=lambda one: one[1].enqueued_ms)


def test_the_pipeline_app_counts_what_waits_on_the_hub_and_an_unknown_name_is_behind_until_its_index_has_all(
    hub: HubServer, receiver: App, pipeline: App
) -> None:
    def ask(question: str) -> Reply:
        return pipeline.request("api", method="GET", target=f"/api/headwater/v1/{question}", authorization=BEARER)

    schema = {"schema": {"fields": [{"name": "x"}]}}
    made = run_event(outputs=[{"namespace": "tests", "name": "kept", "facets": schema}])
    post_until_kept(receiver, body(made))
    waiting = ask("freshness").json()
    assert waiting["seconds"] >= waiting["log"] > 0
    for partition in (0, 1):
        assert pipeline.deliver(hub.stored(partition)[-1:], partition=str(partition)) is None
    deadline = time.monotonic() + 60
    while ask("freshness").json()["seconds"]:
        assert time.monotonic() < deadline
        rest()
    assert ask("upstream?dataset=kept").status == 200
    assert ask("upstream?dataset=none").status == 404
    post_until_kept(receiver, body(run_event()))
    behind = ask("upstream?dataset=none")
    assert (behind.status, behind.json()["behind"] > 0) == (503, True)


def test_a_large_event_goes_by_a_claim_and_waits_while_the_storage_is_down(
    hub: HubServer, receiver: App, pipeline: App, storage: Storage, lake: dict[str, Any]
) -> None:
    job = {"namespace": "tests", "name": "large", "facets": {"sql": {"query": "x" * 300_000}}}
    post_until_kept(receiver, body(run_event(job=job)))
    partition, claim = newest(hub)
    assert len(claim.body) < 100
    with storage.failing("busy"):
        failure = pipeline.deliver([claim], partition=partition)
    assert failure
    assert failure.startswith("LakeUnavailable: ")
    assert pipeline.deliver([claim], partition=partition) is None
    assert [row["job_name"] for row in rows(lake, "events", "job_name")].count("large") == 1


def test_events_that_the_hub_no_longer_has_become_a_gap_and_nothing_waits_for_them(
    hub: HubServer, receiver: App, pipeline: App, lake: dict[str, Any]
) -> None:
    # events that were stored too late to be acknowledged are in the lake, too
    assert pipeline.deliver(hub.stored(0)[-1:]) is None
    begin = len(hub.stored(0))
    while len(hub.stored(0)) < begin + 4:
        assert receiver.request("lineage", body(run_event()), authorization=BEARER).status == 200
    last = hub.stored(0)[begin + 3]
    hub.expire(0, begin + 2)
    assert pipeline.deliver([last]) is None
    (gap,) = rows(lake, "rejected", "reason", "sequence", "to_sequence")
    assert gap == {"reason": "gap", "sequence": begin + 1, "to_sequence": begin + 2}
    assert in_lake(lake, "0") == list(range(1, last.sequence + 2))


@pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.SILENT, Fault.DROPS_BEFORE])
def test_a_hub_that_does_not_acknowledge_is_503_and_200_once_it_does_again(
    hub: HubServer, receiver: App, fault: Fault
) -> None:
    event = body(run_event())
    hub.switch(fault)
    answer = receiver.request("lineage", event, authorization=BEARER)
    hub.switch(None)
    assert answer.status == 503
    assert set(answer.json()) == {"error", "field", "fix"}
    post_until_kept(receiver, event)
    assert SECRET not in receiver.logged()


def test_with_the_hub_down_the_apps_say_so_and_go_on_when_it_is_back(
    hub: HubServer, receiver: App, pipeline: App, lake: dict[str, Any]
) -> None:
    hub.down()
    assert receiver.request("lineage", body(run_event()), authorization=BEARER).status == 503
    assert receiver.request("ready", method="GET").status == 503
    hub.up()
    while receiver.request("lineage", body(run_event()), authorization=BEARER).status != 200:
        rest()
    for partition in (0, 1):
        if events := hub.stored(partition):
            assert pipeline.deliver(events[-1:], partition=str(partition)) is None
            assert in_lake(lake, str(partition)) == list(range(1, events[-1].sequence + 2))


def test_a_partition_that_the_hub_does_not_have_names_the_two_settings(hub: HubServer, pipeline: App) -> None:
    failure = pipeline.deliver(hub.stored(1)[-1:], partition="7")
    assert failure
    assert "HEADWATER_HUB__fullyQualifiedNamespace and HEADWATER_HUB_NAMESPACE" in failure
