"""If files of bronze change unexpectedly, every reader reports the file and stops until it is restored."""

import os
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from headwater.common.errors import LakeUnavailable
from headwater.lake.bronze_retention import delete_old_events
from headwater.lake.maintenance import check_files, check_reported_damage, compact_tables, vacuum_tables
from tests.support.data.parsing import World, event

pytestmark = pytest.mark.slow

MOST = 1 << 30


def _lake(folder: Path, batches: int = 2) -> World:
    world = World(folder)
    for number in range(batches):
        world.append(event(number))
        world.parser().commit_next()
    return world


def _flip(file: Path, at_byte: int) -> bytes:
    """Flip a byte without changing the file's times, as a disk fault does. Returns the original content."""
    whole, status = file.read_bytes(), file.stat()
    file.write_bytes(whole[:at_byte] + bytes([whole[at_byte] ^ 1]) + whole[at_byte + 1 :])
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    return whole


def _events(world: World) -> Path:
    return Path(world.bronze.events.uri)


def _newest(world: World, pattern: str) -> Path:
    return max(_events(world).rglob(pattern), key=lambda each: each.stat().st_mtime_ns)


def _damaged(file: Path) -> str:
    return re.escape(f"{file} is damaged")


def _ask(world: World) -> list[str]:
    return [str(row["body"]) for row in world.bronze.events.run_query("SELECT body FROM t").to_pylist()]


@pytest.mark.parametrize("pattern", ["part-*.parquet", "*.json", "*.checkpoint.parquet"])
def test_a_flipped_byte_of_each_kind_of_file_is_named_until_the_file_is_whole(tmp_path: Path, pattern: str) -> None:
    world = _lake(tmp_path)
    compact_tables(world.bronze)
    bodies = sorted(_ask(world))
    file = _newest(world, pattern)
    whole = _flip(file, 60)
    with pytest.raises(LakeUnavailable, match=_damaged(file)):
        _ask(World(tmp_path))
    with pytest.raises(LakeUnavailable, match=_damaged(file)):
        check_reported_damage(world.bronze)  # reports the damage to a process that read the file earlier
    file.write_bytes(whole)
    check_reported_damage(world.bronze)
    assert sorted(_ask(world)) == sorted(_ask(World(tmp_path))) == bodies


def test_the_hourly_look_finds_damage_of_a_file_that_was_whole_and_tells_other_processes(tmp_path: Path) -> None:
    parser = _lake(tmp_path)
    reader = World(tmp_path)
    _ask(reader)
    check_files(parser.bronze, MOST)
    file = _newest(parser, "part-*.parquet")
    _flip(file, 60)
    _ask(reader)  # the reader has cached the file
    with pytest.raises(LakeUnavailable, match=_damaged(file)):
        check_files(parser.bronze, MOST)
    with pytest.raises(LakeUnavailable, match=_damaged(file)):
        _ask(reader)


def test_a_look_that_is_bounded_comes_to_every_file_in_turn(tmp_path: Path) -> None:
    world = _lake(tmp_path)
    _flip(min(_events(world).rglob("*.parquet")), 60)
    table = world.bronze.events
    checksums, names = table.checksums, table.data_files(table.handle())
    assert checksums

    def look_one_by_one() -> None:
        for _ in range(len([*_events(world).rglob("*.*")])):
            checksums.check_in_turn(names, 1)

    with pytest.raises(LakeUnavailable, match="is damaged"):
        look_one_by_one()


def test_damaged_files_are_not_compacted_into_whole_ones(tmp_path: Path) -> None:
    world = _lake(tmp_path)
    file = _newest(world, "part-*.parquet")
    _flip(file, 60)
    compact_tables(world.bronze)
    assert file.as_posix() in {each.removeprefix("file://") for each in DeltaTable(world.bronze.events.uri).file_uris()}
    with pytest.raises(LakeUnavailable, match=_damaged(file)):
        check_reported_damage(world.bronze)


def test_a_lake_without_notes_is_taken_as_it_is_and_watched_from_then_on(tmp_path: Path) -> None:
    world = _lake(tmp_path)
    for table in world.bronze.tables.values():
        (Path(table.uri) / "_headwater" / "checksums").unlink(missing_ok=True)
    upgraded = World(tmp_path)
    assert len(_ask(upgraded)) == 2
    check_files(upgraded.bronze, MOST)
    file = _newest(world, "part-*.parquet")
    _flip(file, 60)
    with pytest.raises(LakeUnavailable, match=_damaged(file)):
        _ask(World(tmp_path))


@pytest.mark.parametrize("harm", [b"", b"torn 12", b"00000000 1 00000000 _delta_log/00000000000000000000.json\n"])
def test_a_damaged_note_counts_as_none(tmp_path: Path, harm: bytes) -> None:
    world = _lake(tmp_path)
    notes = _events(world) / "_headwater" / "checksums"
    notes.write_bytes(harm + notes.read_bytes()[3:])
    again = World(tmp_path)
    check_files(again.bronze, MOST)
    assert len(_ask(again)) == 2


def test_a_change_on_purpose_is_accepted_once_the_notes_are_deleted(tmp_path: Path) -> None:
    world = _lake(tmp_path)
    entry = _newest(world, "*.json")
    entry.write_bytes(entry.read_bytes() + b"\n")
    with pytest.raises(LakeUnavailable, match=r"delete .*_headwater/checksums"):
        _ask(World(tmp_path))
    (_events(world) / "_headwater" / "checksums").unlink()
    assert len(_ask(World(tmp_path))) == 2


def test_maintenance_forgetting_and_other_writers_are_no_damage(tmp_path: Path) -> None:
    world = _lake(tmp_path, 3)
    compact_tables(world.bronze)
    elsewhere = DeltaTable(world.bronze.events.uri)  # this writer records no checksums
    elsewhere.optimize.z_order(["sequence"])
    checkpoint = _newest(world, "*.checkpoint.parquet")
    pq.write_table(pq.read_table(checkpoint), checkpoint)  # as a different writer does at the same version
    world.bronze.events.delete(f"sequence = {world.sequences('events')[0]}")
    world.bronze.events.set_to_null(["body"], f"sequence = {world.sequences('events')[0]}")
    delete_old_events(world.bronze, 1)
    world.append(event(9))
    world.parser().commit_next()
    for file in _events(world).rglob("*.*"):
        os.utime(file, (0, 0))
    handle = world.bronze.events.reopen()
    handle.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False, full=True)
    vacuum_tables(world.bronze, 24)
    check_files(world.bronze, MOST)
    again = World(tmp_path)
    check_files(again.bronze, MOST)
    assert len(_ask(again)) == 3
    noted = (_events(world) / "_headwater" / "checksums").read_text().splitlines()
    assert all((_events(world) / line.split(" ", 3)[3]).exists() for line in noted)
