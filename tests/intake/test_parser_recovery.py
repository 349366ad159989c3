"""The parser with repeated deliveries, gaps, rivals, crashes and bad records: each record is in exactly one table."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from headwater.common.errors import InvalidEvent, LakeUnavailable
from headwater.intake.event_log import RecordKind
from headwater.intake.event_log.segments import open_writable
from tests.support.data.parsing import World, crash, event, note

pytestmark = pytest.mark.slow

COMMITS = ("column_lineage", "schemas", "rejected", "duplicates", "refused", "events")


def test_redelivered_and_overlapping_batches_are_stored_once(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(*map(event, range(10)))
    parser = world.parser()
    for first, last in ((1, 4), (1, 4), (3, 6), (2, 5), (5, 10), (1, 10)):
        parser.commit_delivery(world.records(first, last))
    world.parser().commit_delivery(world.records(1, 10))
    assert world.sequences("events") == list(range(1, 11))
    assert world.audit()["balanced"]


def test_a_gap_in_delivery_is_filled_from_the_log(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(*map(event, range(10)))
    world.parser().commit_delivery(world.records(8, 9))
    assert world.sequences("events") == list(range(1, 10))
    assert world.audit()["pending"] == 1


@pytest.mark.parametrize("cut", [(1, 9), (8, 9)], ids=["whole", "behind the gap"])
def test_what_the_log_no_longer_has_is_rejected_as_a_gap(tmp_path: Path, cut: tuple[int, int]) -> None:
    world = World(tmp_path)
    world.append_to_end_of_segment(*map(event, range(3)))
    lost = world.append_to_end_of_segment(*map(event, range(3, 6)))
    world.append(*map(event, range(6, 9)))
    lost.unlink()
    world.parser().commit_delivery(world.records(*cut))
    assert world.sequences("events") == [1, 2, 3, 7, 8, 9]
    assert world.placed() == list(range(1, 10))
    assert world.reasons() == {4: "gap"}
    audit = world.audit()
    assert audit | {"received": 9, "stored": 6, "rejected": 0, "lost": 3, "balanced": False} == audit
    assert [(each["from_sequence"], each["to_sequence"]) for each in audit["lost_ranges"]] == [(4, 6)]


def test_notes_of_refusals_lost_in_a_gap_count_as_lost_and_the_books_hold(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(event(1))
    world.append(note(), kind=RecordKind.REFUSAL)
    world.append_to_end_of_segment(event(2))
    world.append(note(), kind=RecordKind.REFUSAL)
    lost = world.append_to_end_of_segment(event(3))
    world.append(event(4))
    world.append(note(), kind=RecordKind.REFUSAL)
    lost.unlink()
    world.parser().commit_next()
    assert world.placed() == list(range(1, 8))
    assert world.audit() | {"received": 5, "stored": 3, "rejected": 0, "lost": 2, "refused": 2} == world.audit()
    world.append(note(), event(5))
    world.append(note(), kind=RecordKind.REFUSAL)
    assert world.audit() | {"received": 7, "pending": 2, "lost": 2} == world.audit()


def test_two_parsers_racing_on_one_partition_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    world = World(tmp_path)
    for burst in range(2):
        bodies = [event(f"{burst}-{number % 80}", (f"c{number % 80}",)) for number in range(100)]
        world.append(*bodies, b"{}", note(), kind=RecordKind.EVENT)
        world.append(note(), kind=RecordKind.REFUSAL)
        start = time.time() + 1.0
        rivals = [world.step_elsewhere(dict(os.environ), start_at=start) for _ in range(2)]
        assert [rival.wait(60) for rival in rivals] == [0, 0]
        assert world.placed() == list(range(1, 103 * (burst + 1) + 1))
    assert world.audit() | {"duplicates": 40, "rejected": 4, "pending": 0, "balanced": True} == world.audit()


@pytest.mark.parametrize("commit", [*COMMITS, "shapes"])
def test_a_crash_between_two_commits_leaves_each_record_in_one_table_however_the_next_batch_is_cut(
    tmp_path: Path, commit: str
) -> None:
    world = World(tmp_path)
    world.append(event(1), event(2, ("x",)), event(1), b"{}", event(3), event(2, ("x",)), b"[]", event(4), event(3))
    world.append(note(), kind=RecordKind.REFUSAL)
    crash(world, f"parser.after_{commit}")
    world.append(event(4), event(5), event(1))
    parser = world.parser()
    for last in (2, 5, 6, 9, 13):
        parser.commit_delivery(world.records(1, last))
        assert [sequence for sequence in world.placed() if sequence <= last] == list(range(1, last + 1))
    assert world.placed() == list(range(1, 14))
    assert world.sequences("events") == [1, 2, 5, 8, 12]
    assert world.sequences("duplicates") == [3, 6, 9, 11, 13]
    assert world.audit()["balanced"]


@pytest.mark.parametrize("table", COMMITS[:-1])
def test_where_one_table_fails_those_beside_it_keep_their_rows_and_the_next_try_adds_what_lacks(
    tmp_path: Path, table: str
) -> None:
    world = World(tmp_path)
    world.append(event(0, ("z",)))
    parser = world.parser()
    parser.commit_next()
    world.append(event(1), event(2, ("x",)), event(1), b"{}", event(2, ("x",)))
    world.append(note(), kind=RecordKind.REFUSAL)
    place = tmp_path / "lake" / "bronze" / table
    away = place.rename(tmp_path / "away")
    place.write_bytes(b"in the way")
    with pytest.raises(LakeUnavailable):
        parser.commit_next()
    place.unlink()
    away.rename(place)
    whole = {"column_lineage": 3, "schemas": 3, "rejected": 1, "duplicates": 2, "refused": 1, "events": 1}
    there = [name for name in COMMITS if world.count(name) == whole[name]]
    assert there == [name for name in COMMITS if name != table]
    world.append(event(3), event(1))
    for last in (4, 6, 9):  # regardless of the boundaries of the next batches
        world.parser().commit_delivery(world.records(1, last))
    assert world.placed() == list(range(1, 10))
    whole |= {"events": 4, "duplicates": 3, "shapes": 3}
    assert {name: world.count(name) for name in whole} == whole
    assert world.audit()["balanced"]


def test_a_facet_that_says_what_a_schema_says_keeps_none_of_its_rows_away(tmp_path: Path) -> None:
    world, same = World(tmp_path), {"fields": [{"name": "a"}]}
    told = json.loads(event(1))
    told["outputs"][0]["facets"]["copy"] = same
    told["outputs"][0]["facets"]["schema"] = same
    world.append(json.dumps(told).encode())
    world.parser().commit_next()
    assert {name: world.count(name) for name in ("schemas", "facets", "column_lineage")} == {
        "schemas": 1, "facets": 1, "column_lineage": 1,
    }  # fmt: skip


def test_a_claim_that_vanishes_between_two_attempts_costs_only_its_own_event(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(b"{}", event(1))
    original = world.claim(event(2))
    repeat = world.claim(event(2))
    world.append(event(3))
    crash(world, "parser.after_duplicates")
    for path in (original, repeat):
        path.unlink()
    world.parser().commit_next()
    assert world.placed() == [1, 2, 3, 4, 5]
    assert world.sequences("duplicates") == [4]
    assert world.reasons() == {1: "shape", 3: "claim_missing"}
    audit = world.audit()
    assert audit | {"received": 5, "rejected": 1, "lost": 1, "balanced": False} == audit
    assert [(each["from_sequence"], each["to_sequence"]) for each in audit["lost_ranges"]] == [(3, 3)]


def test_what_another_parser_stored_meanwhile_is_no_repeat_of_itself(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(*map(event, range(5)), event(0))
    reader = world.overtaken()
    parser = world.parser(reader)
    reader.rival = world.parser().commit_next
    parser.commit_next()
    assert world.sequences("duplicates") == [6]
    assert world.placed() == [1, 2, 3, 4, 5, 6]
    assert world.audit()["balanced"]


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_claim_that_vanishes_for_one_of_two_parsers_leaves_its_event_in_one_table(
    tmp_path: Path, is_killed: bool
) -> None:
    world = World(tmp_path)
    second = judged_twice(world)
    second.send_signal(signal.SIGKILL if is_killed else signal.SIGCONT)
    second.wait(60)
    if is_killed:
        world.parser().commit_next()
    assert world.placed() == [1, 2, 3, 4]
    assert world.reasons() == {3: "shape"}
    assert world.audit()["balanced"]


def test_what_a_killed_parser_left_is_found_however_many_records_came_since(tmp_path: Path) -> None:
    world = World(tmp_path)
    second = judged_twice(world)
    second.kill()
    second.wait(60)
    world.append(event(5))
    newest = open_writable(max(world.log.glob("*.sqlite")))
    newest.execute("UPDATE records SET sequence = sequence + 150000 WHERE sequence = 5")
    newest.close()
    world.uncount()
    world.bronze.commit(world.reader().source, {}, 150_004)  # as a parser that was already running
    world.parser().commit_next()
    assert world.sequences("events") == [1, 2, 4, 150_005]
    assert world.reasons() == {3: "shape"}


def judged_twice(world: World) -> subprocess.Popen[bytes]:
    """Let two parsers process record 2: the first has stored it, the second has rejected it and is halted."""
    world.append(event(1))
    claim = world.claim(event(2))
    world.append(b"{}", event(3))
    halt = {**os.environ, "HEADWATER_FAILPOINT": "parser.after_rejected:halt"}
    first = world.step_elsewhere(halt)
    await_halt(first)
    claim.unlink()
    second = world.step_elsewhere(halt)
    await_halt(second)
    first.send_signal(signal.SIGCONT)
    assert first.wait(60) == 0
    assert world.placed() == [1, 2, 2, 3, 4]
    return second


@pytest.mark.parametrize("commit", ["rejected", "duplicates"])
def test_a_record_that_kills_the_parser_between_two_commits_is_rejected_once(tmp_path: Path, commit: str) -> None:
    world = World(tmp_path)
    world.append(event(1), event(2), event(1), b"{}")
    crash(world, f"parser.after_{commit}")
    for _ in range(4):
        assert world.parser().reject_next(InvalidEvent("kills_parser", "It dies.", "Send it smaller.")) == 1
    assert world.placed() == [1, 2, 3, 4]
    # written together with `rejected`, so a crash afterwards may come before or after this commit
    found = world.sequences("duplicates")
    assert found == [3] or (commit == "rejected" and not found)
    assert world.audit()["balanced"]


def test_a_claim_that_cannot_be_read_right_now_is_tried_again_not_rejected(tmp_path: Path) -> None:
    world = World(tmp_path)
    claim = world.claim(event(1))
    hidden = claim.rename(tmp_path / "hidden")
    claim.mkdir()  # reading a folder fails like a failing disk
    parser = world.parser()
    with pytest.raises(Exception, match="retries automatically"):
        parser.commit_next()
    claim.rmdir()
    hidden.rename(claim)
    assert parser.commit_next() == 1
    assert world.sequences("events") == [1]


def test_a_record_that_fits_no_row_is_rejected_alone(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(event(1), b"{}", event(2), event(1))
    world.append(note("many"), kind=RecordKind.REFUSAL)
    world.append(event(3), event(2))
    world.append(note(1 << 70), kind=RecordKind.REFUSAL)
    world.append(event(4), event(1))
    assert world.parser().commit_next() == 10
    assert world.placed() == list(range(1, 11))
    assert world.sequences("events") == [1, 3, 6, 9]
    assert world.sequences("duplicates") == [4, 7, 10]
    assert world.reasons() == {2: "shape", 5: "unstorable", 8: "unstorable"}


def test_a_repeat_is_recognised_by_a_parser_that_began_later(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(event(1), event(2))
    world.parser().commit_next()
    world.append(event(2), event(3))
    world.parser().commit_next()
    assert world.sequences("duplicates") == [3]


def test_a_parser_that_fell_behind_another_learns_what_that_one_stored(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(event(1))
    behind, ahead = world.parser(), world.parser()
    behind.commit_next()
    world.append(event(2))
    ahead.commit_next()
    world.append(event(2), event(1))
    behind.commit_next()
    assert world.sequences("duplicates") == [3, 4]


def test_a_repeat_beyond_the_window_stays_the_duplicate_that_a_crashed_attempt_made_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(event(1))
    world.age(days=3)
    world.append(event(1), event(2))
    crash(world, "parser.after_duplicates", 1)  # this process still remembers the event from three days ago
    world.parser().commit_next()  # this process does not
    assert world.placed() == [1, 2, 3]
    assert world.sequences("duplicates") == [2]
    assert world.audit()["balanced"]


def test_a_repeat_after_the_window_is_stored_again_by_a_parser_that_began_since(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(event(1))
    world.age(days=3)
    world.parser().commit_next()
    world.append(event(1))
    world.parser().commit_next()
    assert world.sequences("events") == [1, 2]


def test_a_lake_that_fails_for_a_while_is_tried_again_and_nothing_is_lost(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(event(1), event(1), b"{}")
    parser = world.parser()
    parser.commit_next()
    world.append(event(2), event(1), b"[]")
    lake = tmp_path / "lake" / "bronze" / "events"
    away = lake.rename(tmp_path / "away")
    lake.write_bytes(b"in the way")
    with pytest.raises(LakeUnavailable, match="retries automatically"):
        parser.commit_next()
    lake.unlink()
    away.rename(lake)
    world.append(event(3))
    assert parser.commit_next() == 4
    assert world.placed() == list(range(1, 8))
    assert world.sequences("events") == [1, 4, 7]
    assert world.audit()["balanced"]


def await_halt(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process halts at its fail point."""
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), status
