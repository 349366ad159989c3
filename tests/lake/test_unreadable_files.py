"""While a file cannot be read, processes wait for it, delete no files and record no gap."""

import asyncio
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from headwater.common.errors import GiveUp, LakeUnavailable, LogUnavailable
from headwater.events.position import Source
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.search_file import SearchFile
from headwater.index.stored.database import open_for_writing
from headwater.index.writing.indexer import Indexer
from headwater.intake.event_log import Log, Record, RecordKind
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.event_log.segments import PARTITION
from headwater.intake.event_log.sqlite_log import LogLimits, SqliteLog
from headwater.intake.event_log.sqlite_reader import SqliteLogReader
from headwater.intake.parser.partition_parser import PartitionParser
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.snapshots.snapshot import without_masking_file
from headwater.operations.local.log_epochs import begin_epoch
from headwater.operations.runtime.event_log import open_log
from headwater.operations.runtime.storage import OWNER, open_claims
from tests.support.cleanup import until_end
from tests.support.data.made_events import body, run_event
from tests.support.data.parsing import World, event
from tests.support.faults.unreadable_files import Spoil, damaged, displaced, emptied, locked
from tests.support.http_client import Gateway, running

LOCKED = pytest.param(locked, marks=pytest.mark.slow)  # waiting for a lock takes a second or more
WAYS = pytest.mark.parametrize("spoil", [LOCKED, damaged, displaced, emptied])


@WAYS
def test_a_parser_waits_for_a_segment_that_it_cannot_read_and_notes_no_gap(tmp_path: Path, spoil: Spoil) -> None:
    world = World(tmp_path)
    first = world.append_to_end_of_segment(event(1), event(2))
    world.append(event(3))
    with spoil(first):
        parser = world.parser()
        with pytest.raises(LogUnavailable, match=first.name):
            parser.commit_next()
        assert world.placed() == []
        with pytest.raises(LogUnavailable, match=first.name):
            world.audit()
    parser.commit_next()
    assert world.sequences("events") == [1, 2, 3]
    assert world.reasons() == {}


@WAYS
def test_an_unreadable_segment_that_the_parser_has_passed_holds_up_nothing(tmp_path: Path, spoil: Spoil) -> None:
    world = World(tmp_path)
    first = world.append_to_end_of_segment(event(1), event(2))
    world.append(event(3))
    parse(world)
    with spoil(first):
        world.append(event(4))
        parse(world)
        assert world.sequences("events") == [1, 2, 3, 4]
        assert world.audit()["balanced"]


@pytest.mark.parametrize("spoil", [LOCKED, damaged, displaced])
def test_a_newest_segment_that_cannot_be_read_does_not_make_the_log_a_shorter_one(tmp_path: Path, spoil: Spoil) -> None:
    world = World(tmp_path)
    world.append_to_end_of_segment(event(1))
    world.append(event(2))
    parse(world)
    newest = max(world.log.glob("*.sqlite"))
    with spoil(newest), pytest.raises(LogUnavailable, match=newest.name):
        world.parser()
    assert world.parser().commit_next() == 0


@WAYS
def test_large_bodies_stay_until_every_segment_was_read_and_then_only_those_of_no_record_go(
    tmp_path: Path, spoil: Spoil
) -> None:
    world = World(tmp_path)
    first = world.append_to_end_of_segment(event(1))
    named, nobodys = world.claim(event("large")), world.folder / "claims" / ("0" * 32)
    nobodys.write_bytes(b"never acknowledged")
    world.append_to_end_of_segment(event(2))
    world.append(event(3))
    second = sorted(world.log.glob("*.sqlite"))[1]
    with spoil(second), opened(world) as log:
        with pytest.raises(LogUnavailable, match=second.name):
            log.retain(lambda: {PARTITION: 2})
        asyncio.run(log.append([Record(RecordKind.EVENT, event(4))], timeout_s=10))
        assert (named.exists(), nobodys.exists(), first.exists()) == (True, True, True)
    with opened(world) as log:
        log.retain(lambda: {PARTITION: 0})
        assert (named.exists(), nobodys.exists(), first.exists()) == (True, False, True)


def test_a_body_that_came_while_a_segment_was_unreadable_is_not_swept_with_those_of_before(tmp_path: Path) -> None:
    world = World(tmp_path)
    first = world.append_to_end_of_segment(event(1))
    world.append(event(2))
    claims = FolderClaims(world.folder / "claims")
    before = claims.put(b"of no record")
    with displaced(first):
        log = open_log(world.settings, world.folder, claims)
    assert isinstance(log, SqliteLog)
    on_its_way = claims.put(b"its record comes next")
    log.retain(lambda: {PARTITION: 0})
    log.close()
    assert claims.get(on_its_way) == b"its record comes next"
    with pytest.raises(GiveUp):
        claims.get(before)


@pytest.mark.parametrize("spoil", [LOCKED, damaged, displaced])
def test_retention_leaves_a_segment_that_it_cannot_read_and_holds_up_no_append(tmp_path: Path, spoil: Spoil) -> None:
    world = World(tmp_path)
    body_file = world.claim(event(1))
    first = world.append_to_end_of_segment(event(2))
    world.append(event(3))
    log = SqliteLog(world.log, LogLimits(min_free_bytes=0), on_remove=FolderClaims(body_file.parent).remove)
    with spoil(first):
        log.request_retention(passed=2, older_than_us=4e15, keep_bytes=0)
        asyncio.run(log.append([Record(RecordKind.EVENT, event(4))], timeout_s=10))
        asyncio.run(log.append([Record(RecordKind.EVENT, event(5))], timeout_s=10))
        assert log.unavailability_reason() is None
        assert body_file.exists()
    assert first.exists()
    log.request_retention(passed=2, older_than_us=4e15, keep_bytes=0)
    asyncio.run(log.append([Record(RecordKind.EVENT, event(6))], timeout_s=10))
    log.close()
    assert not first.exists()
    assert not body_file.exists()


@pytest.mark.parametrize("spoil", [LOCKED, damaged, displaced])
def test_a_log_whose_newest_segment_cannot_be_opened_refuses_and_goes_on_by_itself(
    tmp_path: Path, spoil: Spoil
) -> None:
    world = World(tmp_path)
    world.append(event(1))
    life = life_of(world)
    newest = max(world.log.glob("*.sqlite"))
    with spoil(newest):
        log = SqliteLog(world.log, LogLimits(min_free_bytes=0))
        assert newest.name in (log.unavailability_reason() or "")
        with pytest.raises(LogUnavailable, match=newest.name):
            asyncio.run(log.append([Record(RecordKind.EVENT, event(2))], timeout_s=10))
    asyncio.run(log.append([Record(RecordKind.EVENT, event(3))], timeout_s=10))
    assert log.unavailability_reason() is None
    log.close()
    assert life_of(world) == life
    assert [record.body for record in world.records(1, 9)] == [event(1), event(3)]


def test_records_in_the_side_file_of_a_segment_that_was_cut_to_nothing_are_not_deleted(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "log", LogLimits(min_free_bytes=0))
    asyncio.run(log.append([Record(RecordKind.EVENT, b"only in the wal` file")], timeout_s=10))
    shutil.copytree(tmp_path / "log", tmp_path / "copy")
    log.close()
    (segment,) = (tmp_path / "copy").glob("*.sqlite")
    before = Path(f"{segment}-wal").read_bytes()
    with emptied(segment):
        again = SqliteLog(tmp_path / "copy", LogLimits(min_free_bytes=0))
        assert "wal` file" in (again.unavailability_reason() or "")
        again.close()
        with pytest.raises(LogUnavailable, match="wal` file"):
            until_end(SqliteLogReader(tmp_path / "copy")).tail()
        assert Path(f"{segment}-wal").read_bytes() == before
    found = until_end(SqliteLogReader(tmp_path / "copy")).read(0, limit=9, max_bytes=99)
    assert [record.body for record in found] == [b"only in the wal` file"]


def test_a_log_folder_that_cannot_be_listed_is_not_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"in its place")
    with pytest.raises(LogUnavailable, match="Cannot read the log folder"):
        until_end(SqliteLogReader(tmp_path / "log")).tail()


def test_large_bodies_whose_folder_vanished_are_waited_for(tmp_path: Path) -> None:
    claims = FolderClaims(tmp_path / "claims")
    key = claims.put(b"L")
    away = (tmp_path / "claims").rename(tmp_path / "away")
    with pytest.raises(LogUnavailable, match="retries automatically"):
        claims.get(key)
    away.rename(tmp_path / "claims")
    assert claims.get(key) == b"L"


@WAYS
def test_a_new_incarnation_is_given_to_all_segments_or_to_none(tmp_path: Path, spoil: Spoil) -> None:
    world = World(tmp_path)
    world.append_to_end_of_segment(event(1))
    world.append_to_end_of_segment(event(2))
    world.append(event(3))
    parse(world)
    life = life_of(world)
    second = sorted(world.log.glob("*.sqlite"))[1]
    with spoil(second), pytest.raises(LogUnavailable, match=second.name):
        begin_epoch(world.settings)
    assert life_of(world) == life
    begin_epoch(world.settings)
    assert life_of(world) != life


@pytest.mark.slow
def test_an_index_that_another_program_has_locked_is_not_taken_for_a_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    with closing(open_for_writing(path)) as index:
        index.execute("INSERT INTO names(namespace, name) VALUES ('space', 'kept')")
    with locked(path), pytest.raises(LakeUnavailable, match="locked"):
        open_for_writing(path)
    with closing(open_for_writing(path)) as index:
        assert index.execute("SELECT name FROM names").fetchall() == [("kept",)]


@pytest.mark.parametrize(
    "open_it", [SearchFile, partial(LiveGraph, remask=without_masking_file), partial(Indexer, rules=default_rules())],
    ids=["search", "graph", "writer"],
)  # fmt: skip
def test_an_index_whose_end_is_damaged_is_not_left_open(tmp_path: Path, open_it: Callable[[Path], object]) -> None:
    path = tmp_path / "index.sqlite"
    with closing(open_for_writing(path)) as index:
        index.executemany("INSERT INTO names(namespace, name) VALUES (?, ?)", ((str(n), "x" * 500) for n in range(999)))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2].ljust(len(whole), b"?"))
    with pytest.raises(sqlite3.DatabaseError, match="malformed") as raised:
        open_it(path)
    assert raised.traceback, "the traceback keeps references, so garbage collection cannot close the file"
    assert [each.path for each in psutil.Process().open_files() if str(path) in each.path] == []


@pytest.mark.slow
def test_headwater_started_beside_a_locked_segment_takes_events_says_what_to_do_and_loses_nothing(
    tmp_path: Path,
) -> None:
    world = World(tmp_path / "data")
    large = world.claim(body(run_event()))
    first = world.append_to_end_of_segment(body(run_event()))
    world.append(body(run_event()))
    with locked(first), running(world.folder) as gateway:
        with gateway.client() as client:
            assert client.post("/api/v1/lineage", content=body(run_event())).status_code == 200
            ready = wait_ready(gateway, first.name)
            assert ready["ready"], "arriving events can be acknowledged"
            assert "has locked the log segment" in ready["components"]["lake"]
        assert large.exists()
        assert world.placed() == []
        wait_said(gateway, first.name)
    with running(world.folder) as gateway:
        audit = gateway.settled()
    assert audit | {"stored": 4, "rejected": 0, "balanced": True} == audit
    assert large.exists()


@pytest.mark.slow
def test_headwater_started_beside_a_locked_newest_segment_answers_503_until_it_is_let_go(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    world.append(body(run_event()))
    newest = max(world.log.glob("*.sqlite"))
    with locked(newest):
        gateway = Gateway(world.folder, {})
        with gateway.client() as client:
            answer = client.post("/api/v1/lineage", content=body(run_event()))
            assert answer.status_code == 503
            assert newest.name in answer.json()["error"]
            ready = client.get("/health/ready")
            assert ready.status_code == 503
            assert newest.name in ready.json()["components"]["log"]
    with gateway.client() as client:
        assert client.post("/api/v1/lineage", content=body(run_event())).status_code == 200
    audit = gateway.settled()
    gateway.stop()
    assert audit | {"stored": 2, "rejected": 0, "refused": 1, "balanced": True} == audit


def parse(world: World) -> None:
    """Parse the log into the lake, and close the log's files."""
    with closing(world.reader()) as reader:
        PartitionParser(reader, world.bronze, open_claims(world.settings), OWNER).commit_next()


def life_of(world: World) -> Source:
    with closing(world.reader()) as reader:
        return reader.source


@contextmanager
def opened(world: World) -> Iterator[Log]:
    """Open the log as `serve` does."""
    log = open_log(world.settings, world.folder, open_claims(world.settings))
    try:
        yield log
    finally:
        asyncio.run(log.aclose())


def wait_said(gateway: Gateway, text: str) -> None:
    """Wait until a process has printed `text`."""
    deadline = time.monotonic() + 60
    while text not in gateway.said():
        assert time.monotonic() < deadline, gateway.said()
        time.sleep(0.05)  # the output of children can arrive at any time


def wait_ready(gateway: Gateway, text: str) -> dict[str, Any]:
    """Ask for health until its part about the lake contains `text`."""
    deadline = time.monotonic() + 60
    with gateway.client() as client:
        while True:
            found: dict[str, Any] = client.get("/health/ready").json()
            if text in found["components"]["lake"]:
                return found
            assert time.monotonic() < deadline, found
            time.sleep(0.05)  # health sends no notification, so poll
