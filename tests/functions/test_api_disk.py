"""Azure's worker library runs the API on a small disk: size and limit of the index, and a full disk."""

import time
from pathlib import Path
from typing import Any

import pytest

from headwater.index.reading.status import IndexGrowth, index_growth
from headwater.operations.runtime.index import open_index_home, open_view_opener
from tests.functions.host import App, running
from tests.support.data.parsing import World, event
from tests.support.faults.full_disk import small_disk
from tests.support.waiting import rest

pytestmark = pytest.mark.slow

KEYS = [{"name": "viewer", "key": "viewer-key", "roles": ["read"]}]
LIMIT = 10_000_000
DAY_US = 86_400_000_000


def stored_world(folder: Path) -> World:
    """Return a world with 20 events, whose lake is a folder that several machines share."""
    world = World(folder / "world", lake=str(folder / "lake"))
    world.append(*(event(f"{number:032x}", ("a", "b")) for number in range(20)))
    while world.parser().commit_next():
        pass
    return world


def test_the_index_grows_by_what_an_event_takes_and_what_was_received_lately(tmp_path: Path) -> None:
    world = stored_world(tmp_path)
    home = open_index_home(world.folder)
    now_us = time.time_ns() // 1000
    assert index_growth(home, now_us) == IndexGrowth(0, None), "there is no index yet"
    open_view_opener(world.settings, world.folder)
    size = home.size_bytes()
    assert index_growth(home, now_us).bytes_per_day is None, "a few seconds are not enough to compute a rate"
    assert index_growth(home, now_us + 2 * DAY_US).bytes_per_day == pytest.approx(size / 2, rel=0.2)
    assert index_growth(home, now_us + 30 * DAY_US).bytes_per_day == 0, "no event arrived in the last seven days"
    assert IndexGrowth(100, 10.0).days_until(250) == 15
    assert IndexGrowth(300, 10.0).days_until(250) == 0
    assert IndexGrowth(100, 0.0).days_until(250) is None


def metrics(app: App) -> dict[str, float]:
    lines = app.request("api", method="GET", target="/metrics").body.decode().splitlines()
    return {name: float(value) for name, _, value in (line.partition(" ") for line in lines) if name[0] != "#"}


def test_a_full_disk_fails_the_snapshot_timer_and_is_named_until_there_is_room(package: Path, tmp_path: Path) -> None:
    stored_world(tmp_path)
    with small_disk(tmp_path, mebibytes=24) as disk:
        given: dict[str, Any] = {"keys": KEYS, "data": disk.data, "lake": tmp_path / "lake", "index_disk_bytes": LIMIT}
        with running(package, tmp_path / "worker.log", triggers=["api"], **given) as app:
            disk.fill()
            assert "the disk has no free bytes" in (app.tick("snapshot") or "")
            assert "ERROR functions.api: No snapshot of the index was made: " in app.logged()

            while (
                "the disk has no free bytes"
                not in (found := app.request("api", method="GET", target="/health/ready")).json()["components"]["index"]
            ):
                rest()
            assert (found.status, found.json()["ready"]) == (503, False)
            assert "the disk has no free bytes" in found.json()["components"]["snapshot"]
            asked = app.request(
                "api",
                method="GET",
                target="/api/headwater/v1/upstream?dataset=b",
                x_functions_key="viewer-key",
            )
            assert asked.status == 503
            assert "The index has stopped: " in asked.body.decode()
            assert "the disk has no free bytes" in asked.body.decode()
            shown = metrics(app)
            assert (shown["headwater_index_in_trouble"], shown["headwater_snapshot_in_trouble"]) == (1, 1)
            assert "the disk has no free bytes" in (app.tick("snapshot") or ""), (
                "it reports the full disk even while another thread updates the index"
            )

            disk.free()
            while (found := app.request("api", method="GET", target="/health/ready")).json()["components"] != {
                "index": "ok",
                "snapshot": "ok",
            }:
                rest()
            assert found.status == 200
            assert app.tick("snapshot") is None
            size = found.json()["index"]["bytes"]
            assert 0 < size < LIMIT
            assert found.json()["index"]["disk_bytes"] == LIMIT
            shown = metrics(app)
            assert shown["headwater_index_disk_bytes"] == LIMIT
            assert shown["headwater_index_bytes"] >= size
            assert (shown["headwater_index_in_trouble"], shown["headwater_snapshot_in_trouble"]) == (0, 0)
            assert list((tmp_path / "lake" / "index").rglob("*.json")), "there must be a snapshot"
