"""Azure's worker library runs an app with all triggers: a change through Marquez's API is an event in its log."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.functions.host import App, Reply, running
from tests.support.data.made_events import body, run_event
from tests.support.data.parsing import World
from tests.support.waiting import rest

pytestmark = pytest.mark.slow

KEYS = [
    {"name": "boss", "key": "boss-key", "roles": ["read", "write", "admin"]},
    {"name": "etl", "key": "loader-key", "roles": ["read", "write"]},
    {"name": "viewer", "key": "viewer-key", "roles": ["read"]},
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("writes"))


@pytest.fixture(scope="module")
def app(world: World, package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    log = tmp_path_factory.mktemp("log") / "worker.log"
    triggers = ["receiver", "parser", "api"]
    with running(package, log, triggers=triggers, keys=KEYS, data=world.folder, flush_s=0) as started:
        yield started


def change(app: App, method: str, path: str, sent: bytes = b"", key: str = "boss-key") -> Reply:
    return app.request("api", sent, method=method, target=f"/api/v1/{path}", x_functions_key=key)


def seen(app: App, world: World, path: str) -> Any:
    """Fire the parser's trigger with the records of the log, and ask until the index contains the event."""
    assert app.deliver(world.records(1, world.reader().tail())) is None
    while (answer := change(app, "GET", path, key="viewer-key")).status != 200:
        assert answer.status in (404, 503), answer.body
        rest()
    return answer.json()


def test_changes_are_events_of_who_made_them_and_show_once_the_index_has_them(app: App, world: World) -> None:
    assert app.request("lineage", body(run_event()), x_functions_key="loader-key").status == 200
    seen(app, world, "namespaces")
    before = world.reader().tail()

    tagged = change(app, "PUT", "tags/gold", b'{"description": "the best"}')
    assert (tagged.status, tagged.json()) == (200, {"name": "gold", "description": "the best"})
    assert tagged.headers["headwater-index"] == "waits", (
        "the parser's trigger has not fired, so the answer comes after 2 s"
    )
    table = f"namespaces/{quote('s3://lake', safe='')}/datasets/orders"
    told = b'{"type": "DB_TABLE", "physicalName": "orders", "sourceName": "s3"}'
    made = change(app, "PUT", table, told, "loader-key")
    assert (made.status, made.json()["name"]) == (200, "orders")
    assert world.reader().tail() == before + 2, "the same log writer must serve the receiver's trigger and the API"

    assert seen(app, world, table)["name"] == "orders"
    assert {"name": "gold", "description": "the best"} in seen(app, world, "tags")["tags"]
    assert change(app, "DELETE", table).status == 200


def test_who_may_not_change_things_is_refused_and_nothing_is_appended(app: App, world: World) -> None:
    before = world.reader().tail()
    assert change(app, "PUT", "tags/silver", b"{}", "viewer-key").status == 403
    assert change(app, "PUT", "tags/silver", b"{}", "loader-key").status == 403
    assert change(app, "PUT", "tags/silver", b"{}", "nobody").status == 401
    assert change(app, "PUT", "tags/silver", b"{").status == 400
    assert world.reader().tail() == before


def test_beside_the_reading_api_inexact_paths_take_events_and_wrong_ones_are_refused(app: App, world: World) -> None:
    assert "other_paths" not in app.functions, "the route of the reading API includes these paths"
    before, event = world.reader().tail(), body(run_event())
    assert app.request("api", event, target="/", x_functions_key="loader-key").status == 200
    assert world.records(before + 1, 1 << 30)[0].body == event
    wrong = app.request("api", event, target="/lineage", x_functions_key="loader-key")
    assert (wrong.status, wrong.json()["error"]) == (404, "This path receives no events.")
    assert app.request("api", event, target="/api/headwater/v1/none", x_functions_key="loader-key").status == 404
