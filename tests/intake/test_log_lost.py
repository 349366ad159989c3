"""A log that is deleted, restored or replaced: no more events are acknowledged, and the audit reports the losses."""

import asyncio
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from headwater.common.errors import LogUnavailable, WrongSetting
from headwater.intake.event_log import Record, RecordKind
from headwater.intake.event_log.acknowledged import count_file_path, read_count_file
from headwater.operations.local.log_epochs import begin_epoch
from headwater.operations.runtime.event_log import open_log
from headwater.operations.runtime.storage import open_claims
from tests.support.commands import commanded
from tests.support.data.made_events import body, run_event
from tests.support.data.parsing import World, event
from tests.support.http_client import Gateway, running

pytestmark = pytest.mark.slow  # each test has a log, a lake and a parser

ONE = "/api/v1/lineage"


def serve(world: World, *bodies: bytes) -> None:
    """Open the log as `serve` does, without a parser, and append events."""
    log = open_log(world.settings, world.folder, open_claims(world.settings))
    try:
        asyncio.run(log.append([Record(RecordKind.EVENT, each) for each in bodies], timeout_s=10))
    finally:
        asyncio.run(log.aclose())


def fed(folder: Path) -> World:
    """Create a lake with six of eight events.

    `copy` contains the log after four events, and `lake-copy` the lake at that time.
    """
    world = World(folder / "data")
    serve(world, *map(event, range(4)))
    parse(world)
    shutil.copytree(world.log, folder / "copy")
    shutil.copytree(world.folder / "lake", folder / "lake-copy")
    serve(world, event(4), event(5))
    parse(world)
    serve(world, event(6), event(7))
    return world


def parse(world: World) -> None:
    while world.parser().commit_next():
        pass


def ranges(audit: dict[str, Any]) -> list[tuple[int, int]]:
    return [(each["from_sequence"], each["to_sequence"]) for each in audit["lost_ranges"]]


def empty(world: World) -> None:
    for path in world.log.iterdir():
        path.unlink()


def restore(world: World) -> None:
    empty(world)
    shutil.copytree(world.folder.parent / "copy", world.log, dirs_exist_ok=True)


def restore_and_write_with_a_release_that_did_not_count(world: World) -> None:
    restore(world)
    world.uncount()
    world.append(*(event(f"other {number}") for number in range(9)))
    world.uncount()


def exchange(world: World) -> None:
    other = World(world.folder.parent / "other")
    serve(other, *(event(f"other {number}") for number in range(9)))
    empty(world)
    shutil.copytree(other.log, world.log, dirs_exist_ok=True)


CHANGES = pytest.mark.parametrize(
    ("change", "said"),
    [
        (empty, "is missing"),
        (restore, "ends at sequence 4"),
        (restore_and_write_with_a_release_that_did_not_count, "record 6"),
        (exchange, "fed the lake"),
    ],
)


@CHANGES
def test_a_log_that_is_not_the_lakes_acknowledges_nothing_and_the_audit_says_what_was_lost(
    tmp_path: Path, change: Callable[[World], None], said: str
) -> None:
    world = fed(tmp_path)
    assert world.audit() | {"received": 8, "stored": 6, "pending": 2, "balanced": True} == world.audit()
    change(world)
    with pytest.raises((WrongSetting, LogUnavailable), match=said):
        serve(world, event("too late"))
    audit = world.audit()
    assert not audit["balanced"]
    assert audit["trouble"]
    # there are as many records as were acknowledged
    if change is not restore_and_write_with_a_release_that_did_not_count:
        assert audit | {"received": 8, "stored": 6, "pending": 0, "lost": 2} == audit
        assert ranges(audit) == [(7, 8)]


@pytest.mark.parametrize("change", [empty, restore, exchange])
def test_a_new_epoch_keeps_what_was_lost_in_the_books(tmp_path: Path, change: Callable[[World], None]) -> None:
    world = fed(tmp_path)
    change(world)
    for _ in range(2):
        begin_epoch(world.settings)
    serve(world, event("after"))
    parse(world)
    audit = world.audit()
    assert audit | {"lost": 2, "pending": 0, "trouble": None, "balanced": False} == audit
    assert audit["received"] == audit["stored"] + audit["duplicates"] + audit["rejected"] + audit["lost"]
    assert ranges(audit) == [(7, 8)]


def test_a_log_and_its_count_that_are_gone_are_missed_by_what_the_lake_kept_beside_its_watermark(
    tmp_path: Path,
) -> None:
    world = fed(tmp_path)
    parser = world.parser()
    parser.commit_next(1)  # the lake contains seven of the eight events
    empty(world)
    world.uncount()
    with pytest.raises(WrongSetting, match="there is no log"):
        serve(world, event("too late"))
    assert list(world.log.iterdir()) == []
    audit = world.audit()
    assert audit | {"received": 8, "stored": 7, "lost": 1, "balanced": False} == audit
    assert ranges(audit) == [(8, 8)]
    begin_epoch(world.settings)
    assert world.audit()["lost"] == 1


def test_a_log_over_an_older_lake_goes_on_and_what_it_holds_no_more_is_lost(tmp_path: Path) -> None:
    world = fed(tmp_path)
    lake = world.folder / "lake"
    shutil.rmtree(lake)
    shutil.copytree(tmp_path / "lake-copy", lake)
    serve(world, event("goes on"))
    parse(world)
    assert world.audit() | {"received": 9, "stored": 9, "lost": 0, "balanced": True} == world.audit()
    shutil.rmtree(lake)
    shutil.copytree(tmp_path / "lake-copy", lake)
    world.append_to_end_of_segment()
    world.append(event("in another segment"))
    min(world.log.glob("*.sqlite")).unlink()
    parse(world)
    assert world.audit() | {"received": 10, "stored": 5, "lost": 5, "balanced": False} == world.audit()


def test_an_older_log_that_the_lake_has_not_passed_is_told_by_what_was_counted(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    serve(world, event(1))
    shutil.copytree(world.log, tmp_path / "copy")
    serve(world, event(2))
    restore(world)
    with pytest.raises(LogUnavailable, match="ends at sequence 1, but 2 was acknowledged"):
        serve(world, event("too late"))
    assert world.audit() | {"received": 2, "pending": 1, "lost": 1, "balanced": False} == world.audit()


def test_a_lake_that_cannot_be_asked_is_done_without_only_where_log_and_lake_were_compared_before(
    tmp_path: Path,
) -> None:
    world = fed(tmp_path)
    events = world.folder / "lake" / "bronze" / "events"
    away = events.rename(tmp_path / "away")
    events.write_bytes(b"in the way")
    serve(world, event("known"))
    world.uncount()
    with pytest.raises(LogUnavailable, match="cannot check yet whether log and lake belong together"):
        serve(world, event("unknown"))
    events.unlink()
    away.rename(events)
    serve(world, event("asked"))
    parse(world)
    assert world.audit() | {"received": 10, "stored": 10, "balanced": True} == world.audit()


def _copy_while_open(world: World, to: Path) -> None:
    """Append three records, and copy the log as a kill would leave it: with the records in a `-wal` file."""
    log = open_log(world.settings, world.folder, open_claims(world.settings))
    try:
        for number in range(10, 13):
            asyncio.run(log.append([Record(RecordKind.EVENT, event(number))], timeout_s=10))
        shutil.copytree(world.log, to, ignore=shutil.ignore_patterns("*-shm"))
    finally:
        asyncio.run(log.aclose())


@pytest.mark.parametrize("at", [8, 32 + 12, 32 + 24 + 100, -100])  # file header, frame header, first page, last page
def test_a_flipped_byte_in_the_write_ahead_log_is_named_and_the_file_is_kept(tmp_path: Path, at: int) -> None:
    world = fed(tmp_path)
    parse(world)
    _copy_while_open(world, tmp_path / "killed")
    empty(world)
    shutil.copytree(tmp_path / "killed", world.log, dirs_exist_ok=True)
    wal = next(world.log.glob("*-wal"))
    whole = wal.read_bytes()
    harmed = bytearray(whole)
    harmed[at] ^= 0x55
    wal.write_bytes(harmed)
    for _ in range(2):
        with pytest.raises(LogUnavailable, match=f"{wal.name} is damaged"):
            serve(world, event("too late"))
        with pytest.raises(LogUnavailable, match=f"{wal.name} is damaged"):
            world.parser()
        audit = world.audit()
        assert f"{wal.name} is damaged" in audit["trouble"]
        assert not audit["balanced"]
        assert audit["lost"] >= 1
    assert wal.read_bytes() == bytes(harmed), "the damaged file must not be deleted, because a person may need it"
    # a different folder, because this process still has the `-shm` file of the first one open
    again = tmp_path / "again"
    shutil.copytree(world.folder, again, ignore=shutil.ignore_patterns("*-shm"))
    (again / "log" / wal.name).write_bytes(whole)
    world = World(again)
    serve(world, event("goes on"))
    parse(world)
    assert world.audit() | {"received": 12, "stored": 12, "pending": 0, "lost": 0, "balanced": True} == world.audit()


def test_a_group_of_nothing_is_no_record(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    serve(world, event(1))
    serve(world)
    serve(world, event(2))
    parse(world)
    assert world.audit() | {"received": 2, "stored": 2, "balanced": True} == world.audit()


def test_what_retention_passed_is_not_missing(tmp_path: Path) -> None:
    world = World(tmp_path)
    passed = world.append_to_end_of_segment(event(1), event(2))
    world.append(event(3))
    parse(world)
    passed.unlink()
    world.append(event(4))
    assert world.audit() | {"received": 4, "pending": 1, "lost": 0, "balanced": True} == world.audit()


def test_a_count_that_a_power_cut_tore_or_left_behind_is_made_anew_from_the_log(tmp_path: Path) -> None:
    world = fed(tmp_path)
    whole = count_file_path(world.log).read_bytes()
    for torn in (b"", b"\0" * len(whole), whole[:40], whole.replace(b" 8 ", b" 4 ", 1)):
        count_file_path(world.log).write_bytes(torn)
        serve(world, event(torn))
        made_anew = read_count_file(world.log)
        assert made_anew
        assert made_anew.sequence == world.reader().tail()
    assert world.audit()["balanced"]


def test_files_of_the_log_that_are_moved_or_deleted_while_it_runs_stop_it_until_they_are_back(tmp_path: Path) -> None:
    folder, away = tmp_path / "data", tmp_path / "away"
    with running(folder) as gateway, gateway.client() as client:
        client.post(ONE, content=body(run_event())).raise_for_status()
        (folder / "log").rename(away)
        assert is_stopped(gateway)
        away.rename(folder / "log")
        wait_acknowledged(gateway)
        assert gateway.settled()["balanced"]
        parser = psutil.Process(gateway.running.pid("parser"))
        before = gateway.settled()["stored"]
        parser.suspend()
        for _ in range(3):
            client.post(ONE, content=body(run_event())).raise_for_status()
        for path in (folder / "log").iterdir():
            path.unlink()
        assert is_stopped(gateway)
        answer = client.get("/api/headwater/v1/audit")
        assert answer.status_code == 200, answer.text
        audit = answer.json()
        assert (audit["lost"], audit["balanced"]) == (3, False)
        assert "is missing" in audit["trouble"]
        parser.resume()
        assert is_stopped(gateway)
        assert "was deleted, moved or replaced" in gateway.said()
        assert list((folder / "log").iterdir()) == [], "no new log may take its place"
    told = commanded("log", "new-epoch", "--data", folder)
    assert told.returncode == 0, told.stderr
    found = commanded("audit", "--json", "--data", folder)
    assert found.returncode == 1
    audit = json.loads(found.stdout)
    assert audit | {"stored": before, "lost": 3, "trouble": None} == audit
    with running(folder) as gateway:
        wait_acknowledged(gateway)


def is_stopped(gateway: Gateway) -> bool:
    """Return whether events are refused and health reports it."""
    with gateway.client() as client:
        refused, ready = client.post(ONE, content=body(run_event())), client.get("/health/ready")
        return (refused.status_code, ready.status_code) == (503, 503) and ready.json()["components"]["log"] != "ok"


def wait_acknowledged(gateway: Gateway) -> None:
    deadline = time.monotonic() + 60
    with gateway.client() as client:
        while client.post(ONE, content=body(run_event())).status_code != 200:
            assert time.monotonic() < deadline, gateway.said()
            time.sleep(0.05)  # the writer checks twice a second
