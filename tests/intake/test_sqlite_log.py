"""The SQLite log: durable groups, segments, retention, a full disk, and reading while the writer runs."""

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from headwater.common.errors import GiveUp, LogUnavailable, WrongSetting
from headwater.intake.event_log import Record, RecordKind
from headwater.intake.event_log.acknowledged import count_file_path
from headwater.intake.event_log.folder_claims import ClaimCheck, FolderClaims, OrphanedClaims
from headwater.intake.event_log.segments import SegmentHeader, create_segment, open_writable
from headwater.intake.event_log.sqlite_kind import SqliteKind
from headwater.intake.event_log.sqlite_log import LogLimits, SqliteLog
from headwater.intake.event_log.sqlite_reader import KEPT_OPEN, SqliteLogReader
from tests.support.cleanup import until_end

FAR_FUTURE_US = 4e15


@contextmanager
def opened(folder: Path, limits: LogLimits = LogLimits(min_free_bytes=0)) -> Iterator[SqliteLog]:  # noqa: B008 - frozen
    log = SqliteLog(folder, limits)
    try:
        yield log
    finally:
        log.close()


def append(log: SqliteLog | ClaimCheck, *bodies: bytes, kind: RecordKind = RecordKind.EVENT) -> None:
    asyncio.run(log.append([Record(kind, body) for body in bodies], timeout_s=10))


def bodies(reader: SqliteLogReader, after: int = 0) -> list[bytes]:
    return [record.body for record in reader.read(after, limit=1000, max_bytes=1 << 30)]


def test_what_was_appended_is_read_in_order_by_another_connection(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        append(log, b"one", b"two")
        append(log, b"three")
        reader = until_end(SqliteLogReader(tmp_path))
        assert bodies(reader) == [b"one", b"two", b"three"]
        assert bodies(reader, after=2) == [b"three"]
        assert [record.sequence for record in reader.read(0, limit=2, max_bytes=1 << 20)] == [1, 2]


def test_requests_that_wait_together_share_a_commit_and_all_get_their_answer(tmp_path: Path) -> None:
    async def many(log: SqliteLog) -> None:
        await asyncio.gather(*(log.append([Record(RecordKind.EVENT, b"%d" % n)], timeout_s=10) for n in range(500)))

    with opened(tmp_path) as log:
        asyncio.run(many(log))
        assert sorted(map(int, bodies(until_end(SqliteLogReader(tmp_path))))) == list(range(500))


def test_sequence_numbers_and_incarnation_survive_a_restart(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        append(log, b"one")
        life = log.epoch
    with opened(tmp_path) as log:
        append(log, b"two")
        assert log.epoch == life
        assert until_end(SqliteLogReader(tmp_path)).tail() == 2


def test_a_segment_whose_creation_was_cut_off_is_made_anew(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        append(log, b"one")
    open_writable(tmp_path / f"{2:020d}.sqlite").close()
    with opened(tmp_path) as log:
        append(log, b"two")
        assert bodies(until_end(SqliteLogReader(tmp_path))) == [b"one", b"two"]


def test_a_log_is_made_once_its_first_segment_is_whole(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    assert not SqliteKind().log_exists(tmp_path)
    open_writable(tmp_path / "log" / f"{1:020d}.sqlite").close()
    assert not SqliteKind().log_exists(tmp_path)  # `serve` is creating the log, so the parser waits without an error
    with opened(tmp_path / "log"):
        assert SqliteKind().log_exists(tmp_path)


def test_a_log_that_cannot_be_read_is_made(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / f"{1:020d}.sqlite").write_bytes(b"no database, and longer than a header of one" * 100)
    assert SqliteKind().log_exists(tmp_path)


def test_segments_follow_each_other_and_the_counts_go_on(tmp_path: Path) -> None:
    with opened(tmp_path, LogLimits(segment_bytes=1000, min_free_bytes=0)) as log:
        for number in range(20):
            append(log, b"%03d" % number * 100)
            append(log, b"{}", kind=RecordKind.REFUSAL)
        reader = until_end(SqliteLogReader(tmp_path))
        assert len(list(tmp_path.glob("*.sqlite"))) > 3
        assert reader.pending(0) == 20
        assert reader.pending(reader.tail() - 4) == 2
        assert len(bodies(reader)) == 40


def test_retention_never_takes_what_the_parser_has_not_passed(tmp_path: Path) -> None:
    with opened(tmp_path, LogLimits(segment_bytes=1000, min_free_bytes=0)) as log:
        for number in range(20):
            append(log, b"%03d" % number * 100)
        reader = until_end(SqliteLogReader(tmp_path))
        log.request_retention(passed=9, older_than_us=FAR_FUTURE_US, keep_bytes=0)
        append(log, b"after")  # the writer applies retention between two groups
        append(log, b"and again")
        assert 1 < reader.head() <= 10
        assert reader.read(9, limit=1, max_bytes=1)[0].sequence == 10
        assert (reader.tail(), reader.pending(9)) == (22, 13)


def test_retention_by_size_keeps_the_newest_and_by_age_what_is_young(tmp_path: Path) -> None:
    with opened(tmp_path, LogLimits(segment_bytes=1000, min_free_bytes=0)) as log:
        for number in range(20):
            append(log, b"%03d" % number * 100)
        reader = until_end(SqliteLogReader(tmp_path))
        log.request_retention(passed=20, older_than_us=0, keep_bytes=1 << 40)
        append(log, b"after")
        append(log, b"and again")
        assert reader.head() == 1
        oldest = min(tmp_path.glob("*.sqlite"))
        os.utime(oldest, (0, 0))
        log.request_retention(passed=20, older_than_us=1e12, keep_bytes=1 << 40)
        append(log, b"after")
        append(log, b"and again")
        assert not oldest.exists()
        assert reader.head() > 1


def test_a_nearly_full_disk_refuses_before_anything_is_written(tmp_path: Path) -> None:
    with opened(tmp_path, LogLimits(min_free_bytes=1 << 60)) as log:
        with pytest.raises(LogUnavailable, match="MiB are free"):
            append(log, b"one")
        assert "Free some space" in (log.unavailability_reason() or "")
        assert until_end(SqliteLogReader(tmp_path)).tail() == 0


def test_more_bodies_than_may_wait_are_refused_at_once(tmp_path: Path) -> None:
    async def flood(log: SqliteLog) -> list[BaseException | None]:
        waiting = [log.append([Record(RecordKind.EVENT, b"x" * 1000)], timeout_s=10) for _ in range(200)]
        return await asyncio.gather(*waiting, return_exceptions=True)

    with opened(tmp_path, LogLimits(queued_bytes=5000, min_free_bytes=0)) as log:
        outcomes = asyncio.run(flood(log))
        taken = sum(outcome is None for outcome in outcomes)
        assert all(isinstance(outcome, LogUnavailable) for outcome in outcomes if outcome is not None)
        assert 0 < taken < 200
        assert until_end(SqliteLogReader(tmp_path)).tail() == taken


def test_a_log_that_stands_still_answers_within_the_timeout_and_takes_the_rest_later(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        append(log, b"one")
        blocker = open_writable(min(tmp_path.glob("*.sqlite")))
        blocker.execute("BEGIN IMMEDIATE")
        with pytest.raises(LogUnavailable, match="The log did not answer within"):
            asyncio.run(log.append([Record(RecordKind.EVENT, b"two")], timeout_s=0.2))
        blocker.execute("ROLLBACK")
        blocker.close()
        append(log, b"three")
        assert bodies(until_end(SqliteLogReader(tmp_path)))[-1] == b"three"


def test_a_log_of_a_newer_format_is_left_alone(tmp_path: Path) -> None:
    create_segment(tmp_path, SegmentHeader("life", 1)).close()
    connection = open_writable(min(tmp_path.glob("*.sqlite")))
    connection.execute("UPDATE header SET format = 99")
    connection.close()
    with pytest.raises(WrongSetting, match="format 99"):
        SqliteLog(tmp_path)


def test_received_times_never_go_back(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        append(log, b"one")
    ahead = int(time.time() * 1e6) + 3_600_000_000
    connection = open_writable(min(tmp_path.glob("*.sqlite")))
    connection.execute("UPDATE records SET received_us = ?", (ahead,))
    connection.close()
    count_file_path(tmp_path).unlink()
    with opened(tmp_path) as log:
        append(log, b"two")
        times = [record.received_us for record in until_end(SqliteLogReader(tmp_path)).read(0, limit=9, max_bytes=99)]
        assert times == [ahead, ahead]


def test_a_large_body_waits_beside_the_log_until_retention_takes_its_record(tmp_path: Path) -> None:
    claims = FolderClaims(tmp_path / "claims")
    log = SqliteLog(tmp_path / "log", LogLimits(segment_bytes=1000, min_free_bytes=0), on_remove=claims.remove)
    checked = ClaimCheck(log, claims, limit_bytes=100)
    append(checked, b"L" * 5000, b"small")
    reader = until_end(SqliteLogReader(tmp_path / "log"))
    [claim, small] = reader.read(0, limit=9, max_bytes=1 << 20)
    assert (claim.kind, small.kind) == (RecordKind.CLAIM, RecordKind.EVENT)
    assert claims.get(claim.body) == b"L" * 5000
    append(log, b"x" * 2000)
    append(log, b"x" * 2000)
    log.request_retention(passed=4, older_than_us=FAR_FUTURE_US, keep_bytes=0)
    append(log, b"after")
    append(log, b"and again")
    log.close()
    with pytest.raises(GiveUp, match="is missing in"):
        claims.get(claim.body)


def test_bodies_that_no_record_names_are_swept_away(tmp_path: Path) -> None:
    claims = FolderClaims(tmp_path)
    kept, lost = claims.put(b"kept"), claims.put(b"lost")
    OrphanedClaims(claims, lambda: [kept]).delete_unreferenced()
    assert claims.get(kept) == b"kept"
    with pytest.raises(GiveUp):
        claims.get(lost)


def test_a_reader_keeps_few_of_many_segments_open(tmp_path: Path) -> None:
    for number in range(6):
        with opened(tmp_path, LogLimits(segment_bytes=1, min_free_bytes=0)) as log:
            append(log, b"%d" % number)
    reader = until_end(SqliteLogReader(tmp_path))
    assert len(bodies(reader)) == reader.pending(0) == 6
    assert reader.received_us(3)
    assert reader.referenced_claim_keys() == []
    segments = [each.path for each in psutil.Process().open_files() if each.path.startswith(f"{tmp_path}/")]
    assert len({path for path in segments if path.endswith(".sqlite")}) == KEPT_OPEN


def test_a_segment_without_a_record_is_not_followed_by_another(tmp_path: Path) -> None:
    with opened(tmp_path, LogLimits(segment_bytes=1, min_free_bytes=0)) as log:
        for number in range(3):
            append(log, b"%d" % number)
            # runs retention without a record to write
            log.request_retention(passed=0, older_than_us=0, keep_bytes=1 << 30)
        append(log, b"3")
        assert log.unavailability_reason() is None
        assert len(bodies(until_end(SqliteLogReader(tmp_path)))) == 4


def test_another_file_in_the_place_of_a_segment_is_read_anew(tmp_path: Path) -> None:
    for name in ("one", "other"):
        with opened(tmp_path / name) as log:
            append(log, name.encode())
    reader = until_end(SqliteLogReader(tmp_path / "one"))
    assert bodies(reader) == [b"one"]
    before = reader.source
    for path in (tmp_path / "other").iterdir():
        path.replace(tmp_path / "one" / path.name)
    assert bodies(reader) == [b"other"]
    assert reader.source != before
