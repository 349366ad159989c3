"""Azure's worker library runs the receiver from the deployment package. The log contains what it acknowledged."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.intake.event_log import RecordKind
from tests.functions.host import App, Reply, running
from tests.support.data.made_events import body, run_event
from tests.support.data.parsing import World
from tests.support.waiting import rest

pytestmark = pytest.mark.slow

KEYS = [{"name": "spark", "key": "spark-key"}, {"name": "viewer", "key": "viewer-key", "roles": ["read"]}]
BEARER = "Bearer spark-key"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("receiver"))


@pytest.fixture(scope="module")
def app(world: World, package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    log = tmp_path_factory.mktemp("log") / "worker.log"
    with running(package, log, triggers=["receiver"], keys=KEYS, data=world.folder, max_body_bytes=1 << 20) as started:
        yield started


def refused(answer: Reply, status: int) -> dict[str, Any]:
    assert answer.status == status
    assert answer.headers["content-type"] == "application/json"
    assert "retry-after" not in answer.headers
    found: dict[str, Any] = answer.json()
    assert set(found) == {"error", "field", "fix"}
    return found


def metric(app: App, sample: str) -> float:
    lines = app.request("metrics", method="GET").body.decode().splitlines()
    return sum(float(line.removeprefix(sample)) for line in lines if line.startswith(f"{sample} "))


def test_a_receiver_app_has_the_routes_of_the_protocol_and_loads_no_delta(app: App) -> None:
    routes = {name: found["bindings"][0]["route"] for name, found in app.functions.items()}
    assert routes == {
        "lineage": "api/v1/lineage", "lineage_batch": "api/v1/lineage/batch",
        "live": "health/live", "ready": "health/ready", "other_paths": "{*path}", "metrics": "metrics",
    }  # fmt: skip
    assert app.functions["other_paths"]["bindings"][0]["methods"] == ["POST"]
    assert {found["bindings"][0]["authLevel"] for found in app.functions.values()} == {"ANONYMOUS"}
    assert app.index["loaded"] == []


@pytest.mark.parametrize(
    ("credentials", "target"),
    [({"authorization": BEARER}, ""), ({"x_functions_key": "spark-key"}, ""), ({}, "?code=spark-key")],
)
def test_an_event_with_a_key_is_200_and_in_the_log(
    app: App, world: World, credentials: dict[str, str], target: str
) -> None:
    event = body(run_event())
    answer = app.request("lineage", event, target=target, **credentials)
    assert (answer.status, answer.body) == (200, b"{}")
    (stored,) = world.records(world.reader().tail(), 1 << 30)
    assert (stored.kind, stored.body) == (RecordKind.EVENT, event)
    assert json.loads(stored.http)["key"] == "spark"


def test_a_compressed_body_with_its_length_is_taken(app: App, world: World) -> None:
    event = body(run_event())
    answer = app.request("lineage", gzip.compress(event), content_encoding="gzip", authorization=BEARER)
    assert answer.status == 200
    assert world.records(world.reader().tail(), 1 << 30)[0].body == event


def test_a_batch_is_204_and_a_bad_item_is_named(app: App, world: World) -> None:
    good = [run_event(), run_event()]
    assert app.request("lineage_batch", body(good), authorization=BEARER).status == 204
    answer = app.request("lineage_batch", body([*good, {}]), authorization=BEARER)
    assert answer.status == 200
    assert [failed["index"] for failed in answer.json()["failed_events"]] == [2]


def test_every_refusal_has_its_status(app: App) -> None:
    event = body(run_event())
    assert refused(app.request("lineage", event), 401)["error"] == "The key is missing or wrong."
    refused(app.request("lineage", event, authorization="Bearer viewer-key"), 403)
    refused(app.request("lineage", b"{", authorization=BEARER), 400)
    refused(app.request("lineage", b" " * ((1 << 20) + 1), authorization=BEARER), 413)
    refused(app.request("lineage", event, content_type="text/plain", authorization=BEARER), 415)
    wrong = app.request("lineage", method="GET", authorization=BEARER)
    refused(wrong, 405)
    assert wrong.headers["allow"] == "POST"


def test_a_body_that_the_host_drops_is_refused_with_the_way_out(app: App) -> None:
    chunked = {"transfer_encoding": "chunked", "content_length": "", "content_encoding": "gzip"}
    answer = app.request("lineage", gzip.compress(body(run_event())), **chunked, authorization=BEARER)
    assert "Turn compression off" in refused(answer, 411)["fix"]
    refused(app.request("lineage", gzip.compress(body(run_event())), **chunked), 401)


def test_notes_of_refusals_reach_the_log(app: App, world: World) -> None:
    before = world.reader().tail()
    refused(app.request("lineage", body(run_event()), authorization="Bearer nobody"), 401)
    while world.reader().tail() == before:
        assert app.request("live", method="GET").status == 200
        rest()
    assert world.records(before + 1, before + 1)[0].kind is RecordKind.REFUSAL


@pytest.mark.parametrize(
    "path", ["/", "/api/v1/lineage/", "//api/v1/lineage", "/api/v1/api/v1/lineage", "/api/v1//line%61ge"]
)
def test_a_path_that_can_mean_only_one_address_takes_the_event(app: App, world: World, path: str) -> None:
    corrected = metric(app, "headwater_corrected_paths_total")
    event = body(run_event())
    answer = app.request("other_paths", event, target=path, authorization=BEARER)
    assert (answer.status, answer.body) == (200, b"{}")
    assert world.records(world.reader().tail(), 1 << 30)[0].body == event
    assert refused(app.request("other_paths", event, target=path), 401)
    assert (
        app.request("other_paths", body([run_event()]), target="/api/v1/lineage/batch/", authorization=BEARER).status
        == 204
    )
    assert metric(app, "headwater_corrected_paths_total") == corrected + 3


def test_a_wrong_path_is_404_with_the_right_one_and_fills_neither_log_nor_lake(package: Path, tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    with running(package, tmp_path / "worker.log", triggers=["receiver"], keys=KEYS, data=world.folder) as app:
        for _ in range(2):
            for path in ["/lineage", "/api/v1/lineage/x", "/api/headwater/v1/runs"]:
                answer = app.request("other_paths", body(run_event()), target=path)
                assert "Post one event to /api/v1/lineage" in refused(answer, 404)["fix"]
        while world.reader().tail() < 3:
            assert app.request("live", method="GET").status == 200
            rest()
        for _ in range(5):
            refused(app.request("other_paths", b"text", target="/lineage", content_type="text/plain"), 404)
        assert metric(app, 'headwater_refused_total{reason="wrong_path"}') == 11
        written = world.reader().tail()
        assert written == 3
        app.stop()
    notes = [json.loads(record.body) for record in world.records(1, world.reader().tail())]
    assert [(note["route"], note["count"]) for note in notes] == [
        ("/lineage", 2), ("/api/v1/lineage/x", 2), ("/api/headwater/v1/runs", 2), ("/lineage", 5),
    ]  # fmt: skip
    assert {(note["reason"], note["key"]) for note in notes} == {("wrong_path", None)}


def test_health_needs_no_key(app: App) -> None:
    assert app.request("live", method="GET").json() == {"live": True}
    assert app.request("ready", method="GET").json() == {"ready": True, "components": {"log": "ok"}}


def test_a_log_that_takes_nothing_is_503_and_nothing_is_acknowledged(package: Path, tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    settings: dict[str, Any] = {"data": world.folder, "keys": KEYS, "min_free_bytes": 1 << 60}
    with running(package, tmp_path / "worker.log", triggers=["receiver"], **settings) as app:
        what = refused(app.request("lineage", body(run_event()), authorization=BEARER), 503)["error"]
        refused(app.request("lineage_batch", body([run_event()]), authorization=BEARER), 503)
        assert app.request("ready", method="GET").status == 503
    assert "free" in what
    assert world.reader().tail() == 0


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"triggers": ["receiver"]}, "there are no keys"),
        ({"triggers": ["api"]}, "there are no keys"),
        ({"triggers": ["reciever"]}, "'triggers.0' from HEADWATER_TRIGGERS"),
        ({"trigger": ["receiver"]}, "HEADWATER_TRIGGER; the nearest known one is HEADWATER_TRIGGERS"),
        ({"triggers": "receiver"}, "HEADWATER_TRIGGERS is not a JSON list"),
    ],
)
def test_an_app_with_a_wrong_setting_does_not_start_and_says_which(
    package: Path, tmp_path: Path, settings: dict[str, Any], words: str
) -> None:
    with running(package, tmp_path / "worker.log", **settings) as app:
        assert words in app.index["error"]
