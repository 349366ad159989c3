"""A record that crashes the parser is parsed separately and then set aside, so that the rest continues."""

from pathlib import Path

import pytest

from headwater.common.errors import InvalidEvent
from headwater.intake.event_log import RecordKind
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.parser.partition_parser import BATCH_BYTES
from headwater.lake.attempts import BATCH_RECORDS, MAX_DEATHS, UnfinishedAttempts
from tests.support.data.parsing import World
from tests.support.data.samples import body, run_event
from tests.support.lake_check import rows


def test_each_death_at_one_watermark_makes_the_batch_smaller_until_the_record_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "attempts.json"
    limits = [UnfinishedAttempts(path).begin_batch(41) for _ in range(MAX_DEATHS + 2)]
    assert limits[0] == BATCH_RECORDS
    assert limits == sorted(limits, reverse=True)
    assert limits[5:] == [1] * (MAX_DEATHS - 4) + [0]


def test_progress_and_an_attempt_that_was_survived_start_the_count_anew(tmp_path: Path) -> None:
    path = tmp_path / "attempts.json"
    for _ in range(4):
        UnfinishedAttempts(path).begin_batch(41)
    assert UnfinishedAttempts(path).begin_batch(42) == BATCH_RECORDS
    attempts = UnfinishedAttempts(path)
    attempts.begin_batch(42)
    attempts.end_batch()
    assert UnfinishedAttempts(path).begin_batch(42) == BATCH_RECORDS


def test_a_torn_count_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "attempts.json").write_text('{"')
    assert UnfinishedAttempts(tmp_path / "attempts.json").begin_batch(1) == BATCH_RECORDS
    assert UnfinishedAttempts(tmp_path / "missing" / "attempts.json").begin_batch(1) == BATCH_RECORDS


def test_the_record_that_is_given_up_is_rejected_unread_and_the_next_is_stored(tmp_path: Path) -> None:
    World(tmp_path).append(b"never read", body(run_event()))
    found = World(tmp_path).parser()
    assert found.reject_next(InvalidEvent("kills_parser", "It died.", "Send it smaller.")) == 1
    assert found.commit_next() == 1
    [rejected] = rows(tmp_path, "rejected")
    assert (rejected["sequence"], rejected["reason"], rejected["body"]) == (1, "kills_parser", "")
    assert [row["sequence"] for row in rows(tmp_path, "events")] == [2]


@pytest.mark.slow
def test_large_bodies_beside_the_log_count_when_a_batch_is_cut(tmp_path: Path) -> None:
    claims = FolderClaims(tmp_path / "claims")
    large = body(run_event(padding="x" * (BATCH_BYTES // 2)))
    World(tmp_path).append(
        *(claims.put(large.replace(b"daily", b"dail%d" % n)) for n in range(3)), kind=RecordKind.CLAIM
    )
    found = World(tmp_path).parser()
    steps = []
    while taken := found.commit_next():
        steps.append((taken, found.filled))
    assert steps == [(1, True), (1, True), (1, False)]
    assert len(list(rows(tmp_path, "events"))) == 3
