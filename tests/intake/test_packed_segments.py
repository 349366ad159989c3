"""Compressed bodies in the SQLite log: they are restored exactly, older segments are readable, and damage
is reported.
"""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headwater.common.errors import LogUnavailable
from headwater.intake.event_log import Record, RecordKind
from headwater.intake.event_log.segment_writer import CHECKPOINT_BYTES
from headwater.intake.event_log.segments import segment_files
from headwater.intake.event_log.sqlite_log import LogLimits, SqliteLog
from headwater.intake.event_log.sqlite_reader import SqliteLogReader
from tests.support.cleanup import until_end
from tests.support.data.parsing import World, event

CLAIM = b"0" * 32
BEFORE_PACKING = """
PRAGMA page_size=16384;
PRAGMA journal_mode=WAL;
CREATE TABLE header(format INTEGER, incarnation TEXT, first_sequence INTEGER) STRICT;
CREATE TABLE records(
  sequence INTEGER PRIMARY KEY, received_us INTEGER NOT NULL, kind INTEGER NOT NULL,
  http TEXT NOT NULL, body BLOB NOT NULL) STRICT;
CREATE INDEX not_plain ON records(kind, sequence) WHERE kind > 0;
INSERT INTO header VALUES (1, 'life', 5);
"""


def segment_of_before(folder: Path, *rows: tuple[int, RecordKind, bytes]) -> Path:
    """Create a segment in the format from before compression, starting with sequence number 5."""
    path = folder / f"{5:020d}.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(BEFORE_PACKING)
        connection.executemany("INSERT INTO records VALUES (?, 7, ?, '{}', ?)", rows)
        connection.commit()
    return path


def append(folder: Path, *groups: list[bytes]) -> int:
    """Append groups one after the other. Returns the size on disk before the log is closed."""

    async def all_groups() -> None:
        for bodies in groups:
            await log.append([Record(RecordKind.EVENT, body) for body in bodies], timeout_s=10)

    log = SqliteLog(folder, LogLimits(min_free_bytes=0))
    asyncio.run(all_groups())
    size = until_end(SqliteLogReader(folder)).size_bytes()
    log.close()
    return size


def bodies(reader: SqliteLogReader) -> list[bytes]:
    return [record.body for record in reader.read(0, limit=1000, max_bytes=1 << 30)]


@pytest.mark.parametrize("body", [b"", b"{", event(1), bytes(range(256)) * 9, b"[" * 5_000_000], ids=len)
def test_whatever_was_appended_comes_back_byte_by_byte(tmp_path: Path, body: bytes) -> None:
    append(tmp_path, [body, body])
    assert bodies(until_end(SqliteLogReader(tmp_path))) == [body, body]


def test_a_read_ends_at_its_bytes_as_the_bodies_have_them_not_as_the_disk_has(tmp_path: Path) -> None:
    append(tmp_path, [b"x" * 1000] * 10)
    assert len(until_end(SqliteLogReader(tmp_path)).read(0, limit=10, max_bytes=2500)) == 3


def test_events_of_two_kilobytes_take_at_most_six_tenths_of_their_bytes(tmp_path: Path) -> None:
    sent = [event(run, schema=[f"column_{run % 7}_{number}" for number in range(12)]) for run in range(4000)]
    append(tmp_path, sent)
    assert 1500 < len(sent[0]) < 2500
    assert until_end(SqliteLogReader(tmp_path)).size_bytes() < 0.6 * sum(map(len, sent))


@pytest.mark.slow
def test_commits_of_one_record_leave_a_side_file_no_longer_than_large_commits_do(tmp_path: Path) -> None:
    append(tmp_path, *([b"%d" % number] for number in range(600)))
    size = append(tmp_path, *([b"%d" % number] for number in range(600)))
    assert size < 1.5 * CHECKPOINT_BYTES


def test_a_segment_of_before_packing_is_read_and_left_as_it_is_and_the_next_records_begin_another(
    tmp_path: Path,
) -> None:
    old = segment_of_before(
        tmp_path, (5, RecordKind.EVENT, b"five"), (6, RecordKind.CLAIM, CLAIM), (7, RecordKind.REFUSAL, b"{}")
    )
    reader = until_end(SqliteLogReader(tmp_path))
    assert bodies(reader) == [b"five", CLAIM, b"{}"]
    append(tmp_path, [b"eight"])
    append(tmp_path, [b"nine"])
    assert bodies(reader) == [b"five", CLAIM, b"{}", b"eight", b"nine"]
    assert [path.name for path in segment_files(tmp_path)] == [old.name, f"{8:020d}.sqlite"]
    with closing(sqlite3.connect(old)) as connection:
        assert connection.execute("SELECT format, count(*) FROM header, records").fetchone() == (1, 3)
    assert (reader.source.epoch, reader.head(), reader.tail(), reader.pending(0)) == ("life", 5, 9, 4)
    assert reader.referenced_claim_keys() == [CLAIM]


def test_an_empty_segment_of_before_packing_is_used_and_who_had_it_open_reads_what_came(tmp_path: Path) -> None:
    old = segment_of_before(tmp_path)
    reader = until_end(SqliteLogReader(tmp_path))
    assert reader.tail() == 4
    append(tmp_path, [b"five"])
    assert bodies(reader) == [b"five"]
    assert (segment_files(tmp_path), reader.source.epoch, reader.tail()) == ([old], "life", 5)


def change(folder: Path, sequence: int, sql: str) -> None:
    with closing(sqlite3.connect(segment_files(folder)[0], isolation_level=None)) as connection:
        connection.execute(sql, (sequence,))


@pytest.mark.parametrize(
    "damage",
    [
        "x'FF' || substr(body, 2)",  # damages the checksum
        "substr(body, 1, 4) || x'FFFFFF7F' || substr(body, 9)",  # damages the length: 2 GB
        "substr(body, 1, length(body) - 1) || x'00'",
        "substr(body, 1, 40)",
        "x''",
    ],
)
def test_a_damaged_body_is_named_and_waited_for_and_what_stands_before_it_is_parsed(
    tmp_path: Path, damage: str
) -> None:
    world = World(tmp_path)
    world.append(event(1), event(2), event(3))
    [segment] = segment_files(world.log)
    kept = segment.read_bytes()
    change(world.log, 2, f"UPDATE records SET body = CAST({damage} AS BLOB) WHERE sequence = ?")
    parser = world.parser()
    assert parser.commit_next() == 1
    for _ in range(2):
        with pytest.raises(LogUnavailable, match=rf"{segment.name} is damaged: record 2 .*[Rr]estore"):
            parser.commit_next()
    assert world.placed() == [1]
    segment.write_bytes(kept)
    assert world.parser().commit_next() == 2
    assert world.sequences("events") == [1, 2, 3]


def test_a_damaged_record_that_a_person_deletes_is_a_gap_of_its_own_and_no_other_is_lost(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(event(1), event(2), event(3))
    change(world.log, 2, "DELETE FROM records WHERE sequence = ?")
    world.parser().commit_next()
    assert (world.sequences("events"), world.reasons()) == ([1, 3], {2: "gap"})
    assert world.audit()["lost"] == 1


@pytest.mark.parametrize("harm", [b"\0", b"\xa5", b"\xff"], ids=["zeros", "a5", "ff"])
def test_wherever_a_segment_is_harmed_what_is_read_is_as_it_was_and_nothing_is_passed_over(
    tmp_path: Path, harm: bytes
) -> None:
    append(tmp_path, *([event(run, schema=[f"column_{run}_{n}" for n in range(60)])] for run in range(60)))
    (path,) = segment_files(tmp_path)
    right, whole, refused = bodies(until_end(SqliteLogReader(tmp_path))), path.read_bytes(), 0
    with closing(sqlite3.connect(path)) as connection:
        (page,) = connection.execute("PRAGMA page_size").fetchone()
    for start in range(page, len(whole), page):
        for part in (slice(0, page), slice(600, 1600), slice(page - 1000, page), slice(page - 62, page)):
            length = part.stop - part.start
            path.write_bytes(whole[: start + part.start] + harm * length + whole[start + part.stop :])
            with closing(SqliteLogReader(tmp_path)) as reader:
                found = read_until_refused(reader, path)
                refused += len(found) < len(right)
                assert found == right[: len(found)]
    assert refused


def read_until_refused(reader: SqliteLogReader, path: Path) -> list[bytes]:
    """Return the bodies up to the end, or up to where the reader reports damage."""
    found: list[bytes] = []
    try:
        while records := reader.read(len(found), limit=7, max_bytes=1 << 30):
            assert [record.sequence for record in records] == [*range(len(found) + 1, len(found) + len(records) + 1)]
            found += [record.body for record in records]
    except LogUnavailable as error:
        said = str(error)
    else:
        said = ""
    assert not said or f"{path} is damaged" in said
    return found


@pytest.mark.parametrize("row", [{"format": None}, {"received_us": b"\xff"}], ids=str)
def test_a_harmed_row_of_the_newest_segment_is_named_and_the_writer_lives(tmp_path: Path, row: dict[str, Any]) -> None:
    append(tmp_path, [event(1)])
    (path,) = segment_files(tmp_path)
    ((column, value),) = row.items()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("PRAGMA writable_schema=1; UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '')")
        connection.execute("UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '')")
        connection.commit()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE {'header' if column == 'format' else 'records'} SET {column} = ?", (value,))
        connection.commit()
    with closing(SqliteLog(tmp_path, LogLimits(min_free_bytes=0))) as log:
        with pytest.raises(LogUnavailable, match=f"{path} is damaged"):
            asyncio.run(log.append([Record(RecordKind.EVENT, event(2))], timeout_s=60))
        assert log.is_writing()


@pytest.mark.parametrize("received_us", [-(1 << 62), 1 << 62, 253_402_300_800_000_000])
def test_a_record_received_at_no_time_is_waited_for(tmp_path: Path, received_us: int) -> None:
    world = World(tmp_path)
    world.append(event(1), event(2), event(3))
    change(world.log, 2, f"UPDATE records SET received_us = {received_us} WHERE sequence = ?")
    parser = world.parser()
    parser.commit_next()
    with pytest.raises(LogUnavailable, match=f"record 2 cannot be read, its time of receipt is {received_us}"):
        parser.commit_next()
    assert world.sequences("events") == [1]
