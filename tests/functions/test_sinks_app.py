"""Azure's worker library runs the sinks' timer from the deployment package: delivered events and reports."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from functions.sinks import REPORT
from tests.functions.host import App, running
from tests.support.data.sink_world import SinkWorld, bodies, events, runs
from tests.support.servers.azurite import KEY, PATIENT, Storage
from tests.support.servers.sink_target import Said, SinkServer, sink_server

pytestmark = pytest.mark.slow

_LINE = re.compile(re.escape(REPORT).replace("%s", "(.*)").replace("%d", "([0-9]+)"))


def file_of(**sinks: Any) -> str:
    return json.dumps({"version": 1, "sinks": sinks})


def reports(app: App) -> list[tuple[str, ...]]:
    """List the reported sinks: name, state, number of waiting events, age of the oldest event in seconds."""
    return [found.groups() for found in map(_LINE.search, app.logged().splitlines()) if found]


@contextmanager
def sinks_app(package: Path, folder: Path, **settings: Any) -> Iterator[App]:
    with running(package, folder / "worker.log", triggers=["sinks"], data=folder, **settings) as app:
        yield app


def test_a_timer_lets_each_sink_deliver_what_waits_and_reports_what_is_left(
    package: Path, tmp_path: Path, server: SinkServer
) -> None:
    world, made = SinkWorld(tmp_path), events(3)
    world.store(*bodies(made))
    with sinks_app(package, tmp_path) as app, sink_server() as down:
        (timer,) = app.functions["sinks"]["bindings"]
        assert [*app.functions] == ["sinks"]
        assert (timer["type"], timer["schedule"]) == ("timerTrigger", "0 * * * * *")
        assert app.tick("sinks") is None
        assert (reports(app), world.ledger.exists()) == ([], False), "without a file, the timer must not do anything"

        down.answer = lambda _: Said(429, headers={"retry-after": "3000"})
        one, two = ({"type": "openlineage", "url": each.url} for each in (server, down))
        (tmp_path / "sinks.yml").write_text(file_of(one=one, two=two))
        assert app.tick("sinks") is None
        assert server.taken == made
        assert [line[:3] for line in reports(app)] == [("one", "caught up", "0"), ("two", "waiting", "3")]

        world.store(*bodies(more := events(2)))
        (tmp_path / "sinks.yml").write_text("version: 1\nsinks: {one: {type: openlinage}}")
        assert app.tick("sinks") is None
        assert server.taken == made + more, "a broken file must leave the last valid sinks in force"
        assert "sinks.yml, line 2" in app.logged()
        assert len(down.asked) == 1, "Retry-After must apply across runs"


def test_beside_the_lake_the_file_is_read_as_the_lake_is_and_changes_are_taken_up(
    package: Path, tmp_path: Path, server: SinkServer, storage: Storage
) -> None:
    container = storage.container()
    lake = storage.lake(container.container_name, account_key=KEY, **PATIENT)
    address = f"{lake['lake']}/sinks.yml"
    world, made = SinkWorld(tmp_path / "world", **lake), events(3)
    world.store(*bodies(made))
    (tmp_path / "app").mkdir()
    with sinks_app(package, tmp_path / "app", sinks=address, **lake) as app, sink_server() as other:
        assert app.tick("sinks") is None
        assert reports(app) == []
        blob = container.get_blob_client("a/lake/sinks.yml")
        blob.upload_blob(file_of(one={"type": "openlineage", "url": server.url}))
        assert app.tick("sinks") is None
        assert server.taken == made
        blob.upload_blob(file_of(two={"type": "openlineage", "url": other.url}), overwrite=True)
        with storage.failing("broken", "sinks.yml"):
            assert app.tick("sinks") is None
        assert (other.taken, "the store has an internal error (5xx)" in app.logged()) == ([], True), (
            "the last valid sinks must stay in force"
        )
        assert app.tick("sinks") is None
        assert runs(other.taken) == runs(made)
    assert world.ledger.sink_counts("two") == (3, 0, 0)
