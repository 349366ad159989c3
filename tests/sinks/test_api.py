"""Sinks over HTTP: list them, control them with the role `admin`, and check the answers against the document."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from tests.support.data.shop import API, Asker
from tests.support.data.sink_world import events, runs
from tests.support.running import Running
from tests.support.servers.sink_target import Said, SinkServer, eventually, sink_server

pytestmark = pytest.mark.slow  # starts Headwater

SECRET = "a-very-secret-key"
KEYS = [
    {"name": "viewer", "key": "viewer-key", "roles": ["read"]},
    {"name": "boss", "key": "boss-key-1", "roles": ["admin"]},
]
BOSS, VIEWER = ({"authorization": f"Bearer {key['key']}"} for key in reversed(KEYS))


@pytest.fixture(scope="module")
def server() -> Iterator[SinkServer]:
    with sink_server() as server:
        yield server


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory, server: SinkServer) -> Iterator[Asker]:
    data = tmp_path_factory.mktemp("sinks") / "data"
    data.mkdir(mode=0o700)
    out = {"type": "openlineage", "url": server.url, "key": {"env": "OUT_KEY"}}
    (data / "sinks.yml").write_text(json.dumps({"version": 1, "sinks": {"out": out}}))
    environment = {"HEADWATER_KEYS": json.dumps(KEYS), "OUT_KEY": SECRET}
    with (
        Running(data, options=["--tick", "50ms"], environment=environment, cwd=data.parent) as running,
        Asker(running.url) as asker,
    ):
        asker.client.headers.update(BOSS)
        yield asker


def ask(asker: Asker, method: str, path: str, status: int = 200, **asked: Any) -> Any:
    """Send a request, and check the answer against the route's schema in the OpenAPI document."""
    answer = asker.client.request(method, f"{API}/{path}", params=asked)
    assert answer.status_code == status, answer.text
    assert SECRET not in answer.text
    document = asker.client.get("/openapi.json").json()
    route = document["paths"][f"{API}/{path.replace('/out', '/{sink}')}"][method.lower()]
    schema = route["responses"][str(status)]["content"]["application/json"]["schema"]
    jsonschema_rs.validate({**schema, "components": document["components"]}, answer.json())
    return answer.json()


def only(asker: Asker) -> Any:
    (found,) = ask(asker, "GET", "sinks")["items"]
    return found


def test_a_sink_is_listed_paused_resumed_reset_and_redriven_over_http(asker: Asker, server: SinkServer) -> None:
    made = events(3)
    bad = runs(made)[1]
    server.answer = lambda asked: Said(400, f"not with {SECRET}".encode()) if bad in str(asked.events) else Said()
    assert asker.client.post("/api/v1/lineage/batch", json=made).status_code == 204
    eventually(lambda: only(asker)["delivered"] == 2)
    assert (only(asker)["failed"], only(asker)["behind"]["events"]) == (1, 0)
    (dead,) = ask(asker, "GET", "sinks/out/failures")["items"]
    assert (dead["run_id"], dead["reason"]) == (bad, "status 400: not with ***")

    assert ask(asker, "POST", "sinks/out/redrive") == {"delivered": 0, "refused": 1, "gone": 0}
    server.answer = lambda _: Said(503, f"who is {SECRET}?".encode())
    assert "who is ***?" in ask(asker, "POST", "sinks/out/redrive", 503)["error"]
    server.answer = lambda _: Said()
    assert ask(asker, "POST", "sinks/out/redrive", limit=1) == {"delivered": 1, "refused": 0, "gone": 0}
    assert only(asker)["failed"] == 0

    assert ask(asker, "POST", "sinks/out/pause")["state"] == "paused"
    more = events(1)
    assert asker.client.post("/api/v1/lineage/batch", json=more).status_code == 204
    eventually(lambda: only(asker)["behind"]["events"] == 1)
    assert ask(asker, "POST", "sinks/out/reset", to="start")["begins_behind"] == {}
    assert len(server.taken) == 3
    assert ask(asker, "POST", "sinks/out/resume")["state"] != "paused"
    server.wait(lambda: runs(server.taken)[3:] == runs([*made, *more]))


def test_a_preview_and_a_check_over_http(asker: Asker, server: SinkServer) -> None:
    (made,) = events(1)
    server.answer = lambda asked: Said(422) if asked.events == [{}] else Said()
    assert asker.client.post("/api/v1/lineage", json=made).status_code == 200
    eventually(lambda: runs([made])[0] in str(server.taken))
    (item,) = ask(asker, "GET", "sinks/out/preview", of=runs([made])[0])["items"]
    assert json.loads(item["payload"]) == made
    assert "accepts the credentials" in ask(asker, "POST", "sinks/out/check")["found"]
    ask(asker, "GET", "sinks/out/preview", 404, of="nothing")
    lost = ask(asker, "GET", "sinks/out/losses", run=runs([made])[0])
    assert (lost["events"], lost["items"]) == (1, [])
    ask(asker, "GET", "sinks/out/losses", 404, run="nothing")


def test_what_is_not_named_or_out_of_form_is_refused(asker: Asker) -> None:
    answer = asker.client.post(f"{API}/sinks/outt/pause")
    assert (answer.status_code, answer.json()["nearest"]) == (404, ["out"])
    assert "is not `start`" in ask(asker, "POST", "sinks/out/reset", 400, to="0:x")["error"]
    assert "to= is missing" in ask(asker, "POST", "sinks/out/reset", 400)["error"]
    assert asker.client.get(f"{API}/sinks/out/pause").status_code == 405


def test_orders_need_the_role_admin(asker: Asker) -> None:
    for order in ("check", "pause", "resume", "reset", "redrive"):
        assert asker.client.post(f"{API}/sinks/out/{order}", headers=VIEWER).status_code == 403
    assert asker.client.get(f"{API}/sinks", headers=VIEWER).status_code == 200
    assert asker.client.get(f"{API}/sinks", headers={"authorization": ""}).status_code == 401
