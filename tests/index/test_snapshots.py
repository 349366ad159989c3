"""Snapshots of the index in the lake: an index that starts with one answers like one built from scratch."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headwater.common.errors import Behind, LakeUnavailable, Retry
from headwater.common.failpoints import VARIABLE
from headwater.index.snapshots.manager import IndexSnapshots
from headwater.index.snapshots.packing import pack_file, unpack_file
from headwater.index.snapshots.storage import (
    MAX_SNAPSHOTS,
    PIECE_BYTES,
    Manifest,
    SnapshotStore,
    manifest_json,
    parse_manifest,
)
from headwater.index.writing.follower import IndexFollower
from headwater.lake.bronze_retention import delete_old_events
from headwater.lake.object_store import ObjectStore
from headwater.lineage.names.canonical_names import default_rules
from headwater.operations.backup import back_up
from headwater.operations.erasure.request import ForgetRequest
from headwater.operations.erasure.search import TextTarget
from headwater.operations.runtime.event_log import reader_opener
from headwater.operations.runtime.index import (
    make_snapshot_if_due,
    open_freshness,
    open_index_home,
    open_snapshots,
    open_view_opener,
)
from tests.reference.world_events import at, uuid
from tests.support.data.parsing import World, event
from tests.support.data.shop import EVENTS, bodies
from tests.support.faults.full_disk import small_disk
from tests.support.paths import ROOT
from tests.support.questions import ask

pytestmark = pytest.mark.slow  # uses real lakes

MAKE = """
import sys
from pathlib import Path
from headwater.operations.runtime.index import make_snapshot_if_due
from headwater.operations.settings import load_settings
data, lake = map(Path, sys.argv[1:])
print(make_snapshot_if_due(load_settings({"data": data, "lake": str(lake)}, folder=data, environment={})[0], data))
"""
QUESTIONS: list[tuple[str, dict[str, str]]] = [
    ("coverage", {}), ("unused", {}), ("surface", {}), ("surface", {"since": at(50)}), ("diff", {"from": at(25)}),
    ("datasets", {}), ("listed_jobs", {}), ("listed_runs", {}), ("changes", {"from": at(1)}), ("graph", {}),
    ("jobs", {}),
    ("impact", {"dataset": "landing/customers", "mode": "any", "paths": "true"}),
    ("impact", {"dataset": "landing/customers", "asOf": at(15)}), ("run", {"run": uuid(2)}),
    ("upstream", {"dataset": "gold/mailing", "view": "all"}), ("run_details", {"run": uuid(3)}),
]  # fmt: skip


class Machine:
    """A machine with its own disk and a lake that several machines share. Only one machine parses."""

    def __init__(self, folder: Path) -> None:
        self.world = World(folder / "one", lake=str(folder / "lake"))
        self.folder = folder
        self.lake = folder / "lake"
        self.path = open_index_home(self.world.folder).index_path(default_rules())

    def take(self, *events: bytes) -> None:
        self.world.append(*events)
        while self.world.parser().commit_next():
            pass

    def snapshot(self) -> bool:
        return make_snapshot_if_due(self.world.settings, self.world.folder)

    def manifests(self) -> list[Path]:
        return sorted(self.lake.glob("index/*/*.json"))

    def newest(self) -> Manifest:
        found = parse_manifest(self.manifests()[-1].read_bytes())
        assert found
        return found

    def other(self, name: str) -> World:
        return World(self.folder / name, lake=str(self.lake))

    def snapshots(self) -> IndexSnapshots:
        return beginning(self.world)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    machine = Machine(tmp_path_factory.mktemp("shop"))
    machine.take(*bodies(EVENTS))
    assert machine.snapshot()
    return machine.folder


@pytest.fixture
def shop(made: Path, tmp_path: Path) -> Machine:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return Machine(tmp_path)


def answers(world: World) -> list[Any]:
    open_views = open_view_opener(world.settings, world.folder)
    found = [ask(open_views, name, asked, bronze=world.bronze) for name, asked in QUESTIONS]
    open_views.close()
    return found


def from_nothing(machine: Machine, name: str) -> list[Any]:
    """Return the answers of an index that was built without a snapshot."""
    hidden = machine.lake / "index"
    aside = machine.folder / "aside"
    if hidden.exists():
        hidden.rename(aside)
    found = answers(machine.other(name))
    if aside.exists():
        aside.rename(hidden)
    return found


def begun_by(world: World, caplog: pytest.LogCaptureFixture) -> tuple[bool, str]:
    """Bring an index up to date. Returns whether it started with a snapshot, and the log messages."""
    caplog.clear()
    caplog.set_level("INFO")
    open_view_opener(world.settings, world.folder).close()
    return "begins with snapshot" in caplog.text, caplog.text


def test_who_begins_with_a_snapshot_answers_as_one_built_from_nothing(
    shop: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    shop.take(*(event(f"{number:032x}") for number in range(3)))
    other = shop.other("two")
    took, _ = begun_by(other, caplog)
    assert took
    assert answers(other) == from_nothing(shop, "three")
    assert shop.newest().positions[0][2] == len(EVENTS)


def test_a_lake_in_the_data_folder_has_none(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(event("1"))
    world.parser().commit_next()
    assert not make_snapshot_if_due(world.settings, world.folder)
    open_view_opener(world.settings, world.folder).close()
    assert not (tmp_path / "lake" / "index").exists()


def cut(shop: Machine) -> None:
    piece = next(shop.lake.glob("index/*/*/00000.lz4"))
    piece.write_bytes(piece.read_bytes()[:-1])


def change(shop: Machine) -> None:
    piece = next(shop.lake.glob("index/*/*/00000.lz4"))
    content = bytearray(piece.read_bytes())
    content[len(content) // 2] ^= 1
    piece.write_bytes(content)


def lose(shop: Machine) -> None:
    next(shop.lake.glob("index/*/*/00000.lz4")).unlink()


def cut_manifest(shop: Machine) -> None:
    shop.manifests()[0].write_bytes(shop.manifests()[0].read_bytes()[:-20])


def rewrite(**told: Any) -> Callable[[Machine], None]:
    def write(shop: Machine) -> None:
        changed = type(shop.newest())(
            **{name: getattr(shop.newest(), name) for name in Manifest.__struct_fields__} | told
        )
        shop.manifests()[-1].write_bytes(manifest_json(changed))

    return write


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (cut, "was changed"),
        (change, "was changed"),
        (lose, "is missing"),
        (cut_manifest, "manifest cannot be read"),
        (rewrite(format=1), "in format 1"),
        (rewrite(format=9_999), "in format 9999"),
        (rewrite(rules="0" * 32), "other rules"),
        (rewrite(lake="another"), "another lake"),
        (rewrite(forgotten="some"), "has erased data"),
        (rewrite(generation=77), "its position in bronze differs"),
        (rewrite(size=PIECE_BYTES - 1), "bytes instead of"),
    ],
)
def test_one_that_is_torn_or_does_not_fit_is_passed_over(
    shop: Machine, spoil: Callable[[Machine], None], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    expected = from_nothing(shop, "three")
    spoil(shop)
    other = shop.other("two")
    took, said = begun_by(other, caplog)
    assert not took
    assert why in said
    assert answers(other) == expected
    assert not list((other.folder / "index").glob("*.fetched"))


def test_the_next_older_is_taken_where_the_newest_is_torn(shop: Machine, caplog: pytest.LogCaptureFixture) -> None:
    shop.take(event("1"))
    assert shop.snapshots().make(shop.path, default_rules().rules_hash)
    shop.manifests()[-1].write_bytes(b"{")
    took, said = begun_by(shop.other("two"), caplog)
    assert took
    assert "snapshot 1" in said


def test_events_that_left_bronze_before_they_were_taken_make_it_unfit(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine(tmp_path)
    machine.world.append(*(event(f"{number:032x}") for number in range(5)))
    machine.world.age(40)
    machine.take()
    assert machine.snapshot()
    delete_old_events(machine.world.bronze, 30)
    assert begun_by(machine.other("two"), caplog)[0], "the snapshot already contained the deleted events"
    tail = machine.world.tail()
    machine.world.append(*(event(f"{number:032x}") for number in range(5, 9)))
    machine.world.age(35, behind=tail)
    machine.take()
    assert begun_by(machine.other("three"), caplog)[0]
    delete_old_events(machine.world.bronze, 30)
    took, said = begun_by(machine.other("four"), caplog)
    assert (took, "no longer holds" in said) == (False, True)


def test_a_bronze_that_was_set_back_is_not_followed_by_one_ahead_of_it(
    shop: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    before = shop.folder / "before"
    shutil.copytree(shop.lake / "bronze", before)
    shop.take(*(event(f"{number:032x}") for number in range(3)))
    assert shop.snapshots().make(refresh(shop), default_rules().rules_hash)
    shutil.rmtree(shop.lake / "bronze")
    before.rename(shop.lake / "bronze")
    took, said = begun_by(shop.other("two"), caplog)
    assert "ahead of bronze" in said
    assert took, "the older snapshot fits"


def refresh(shop: Machine) -> Path:
    open_view_opener(shop.world.settings, shop.world.folder).close()
    return shop.path


def test_what_is_forgotten_goes_from_snapshots_and_no_older_index_brings_it_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine(tmp_path)
    who = "anna.muster@example.org"
    machine.take(event("1", (who,)), event("2"))
    assert machine.snapshot()
    held = machine.other("two")
    begun_by(held, caplog)
    kept, path = open_snapshots(held.settings, held.folder), open_index_home(held.folder).index_path(default_rules())
    assert kept
    assert who.encode() in path.read_bytes()
    done = ForgetRequest(machine.world.settings, TextTarget("text", who)).forget()
    assert done["proof"]["found"] == 0
    assert machine.manifests() == []
    assert not kept.make(path, default_rules().rules_hash)
    assert kept.has_erased_data(path)
    assert machine.manifests() == []
    assert machine.snapshot()
    fresh = machine.other("three")
    assert begun_by(fresh, caplog)[0]
    assert who.encode() not in open_index_home(fresh.folder).index_path(default_rules()).read_bytes()


def test_a_forget_that_finds_nothing_erases_snapshots_alone(shop: Machine) -> None:
    (shop.lake / "silver").mkdir()
    (shop.lake / "silver" / "kept").touch()
    done = ForgetRequest(shop.world.settings, TextTarget("text", "nobody@example.org")).forget()
    assert (set(done["found"].values()), shop.manifests()) == ({0}, [])
    assert (shop.lake / "silver" / "kept").exists()


def test_a_backup_has_no_snapshots(shop: Machine, tmp_path: Path) -> None:
    back_up(shop.world.settings, tmp_path / "copy")
    assert (tmp_path / "copy" / "data" / "lake" / "bronze").is_dir()
    assert not (tmp_path / "copy" / "data" / "lake" / "index").exists()


@pytest.mark.parametrize("point", ["snapshot.after_piece", "snapshot.before_manifest", "snapshot.after_manifest"])
def test_one_that_is_cut_off_is_none_and_keeps_nobody_from_the_next(tmp_path: Path, point: str) -> None:
    machine = Machine(tmp_path)
    machine.take(event("1"))
    assert elsewhere(machine, {VARIABLE: point}).returncode == -signal.SIGKILL
    found = len(machine.manifests())
    assert found == (point == "snapshot.after_manifest")
    for file in machine.lake.glob("index/**/*"):
        os.utime(file, (1, 1))  # as if a quarter of an hour had passed
    machine.take(*(event(f"{number:032x}") for number in range(2, 5)))
    assert machine.snapshots().make(refresh(machine), default_rules().rules_hash)
    assert len(machine.manifests()) == found + 1
    pieces = {path.parent.name for path in machine.lake.glob("index/*/*/*.lz4")}
    manifests = [parse_manifest(path.read_bytes()) for path in machine.manifests()]
    assert pieces == {each.folder for each in manifests if each}
    assert list(machine.lake.glob("index/*/*.claim")) == []


def elsewhere(machine: Machine, environment: dict[str, str]) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-c", MAKE, str(machine.world.folder), str(machine.lake)]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, check=False, capture_output=True)


def test_two_at_once_make_one_and_do_each_other_no_harm(shop: Machine, caplog: pytest.LogCaptureFixture) -> None:
    store = ObjectStore(str(shop.lake), {})
    first, second = SnapshotStore(store, shop.path.stem), SnapshotStore(store, shop.path.stem)
    claim = first.claim_next()
    assert claim
    assert second.claim_next() is None, "another process is making the snapshot"
    for file in shop.lake.glob("index/*/*.claim"):
        os.utime(file, (1, 1))
    late = second.claim_next()
    assert late
    assert late.number == claim.number
    assert late.folder != claim.folder
    for shelf, each in ((first, claim), (second, late)):
        shelf.upload_piece(each, 0, b"x")
    told = shop.newest()
    assert second.publish_manifest(late, told)
    assert not first.publish_manifest(claim, told)
    assert [path.parent.name for path in shop.lake.glob("index/*/*/*.lz4")].count(claim.folder) == 0


def test_a_few_are_kept_and_those_of_other_rules_for_a_week(shop: Machine) -> None:
    other = shop.lake / "index" / "11-0000000000000000"
    shutil.copytree(shop.manifests()[0].parent, other)
    snapshots = shop.snapshots()
    for number in range(MAX_SNAPSHOTS + 1):
        shop.take(event(f"{number:032x}"))
        assert snapshots.make(refresh(shop), default_rules().rules_hash)
    own = [path for path in shop.manifests() if path.parent != other]
    assert [int(path.stem) for path in own] == [3, 4, 5]
    assert len(list(shop.lake.glob("index/*/*/*.lz4"))) == MAX_SNAPSHOTS + 1
    for file in other.rglob("*"):
        os.utime(file, (1, 1))
    shop.take(event("ff"))
    assert snapshots.make(refresh(shop), default_rules().rules_hash)
    assert not list(other.rglob("*.*"))


def test_another_is_made_where_enough_is_new(shop: Machine) -> None:
    assert not shop.snapshot(), "there are no new events"
    shop.take(event("1"))
    assert not shop.snapshot(), "one event does not justify a snapshot"
    day_old = shop.newest().made_us - 86_400_000_000
    rewrite(made_us=day_old)(shop)
    assert shop.snapshot()


def test_a_damaged_snapshot_is_not_taken_again_and_again(shop: Machine, caplog: pytest.LogCaptureFixture) -> None:
    """The pieces are intact, but the snapshot was made from a damaged file."""
    import sqlite3

    with sqlite3.connect(shop.path) as harmed:
        harmed.execute("DROP TABLE candidates")
    harmed.close()
    assert shop.snapshots().make(shop.path, default_rules().rules_hash)
    shop.take(event("1"))
    other = shop.other("two")
    follower = IndexFollower(
        open_index_home(other.folder), other.bronze, initial_index=open_snapshots(other.settings, other.folder)
    )
    with pytest.raises(LakeUnavailable, match="damaged"):
        follower.process_batches(default_rules())
    while follower.process_batches(default_rules()):
        pass
    follower.close()
    assert answers(other) == from_nothing(shop, "three")


def test_a_machine_whose_disk_is_full_waits_and_begins_with_it_once_there_is_room(
    shop: Machine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expected = from_nothing(shop, "three")
    with small_disk(tmp_path, mebibytes=8) as disk:
        cold = World(disk.data, lake=str(shop.lake))
        with closing(
            IndexFollower(open_index_home(cold.folder), cold.bronze, initial_index=beginning(cold))
        ) as follower:
            disk.fill()
            for _ in range(2):
                with pytest.raises(Retry, match="the disk has no free bytes"):
                    follower.process_batches(default_rules())
            disk.free()
            took, _ = begun_by(cold, caplog)
        assert took
        assert answers(cold) == expected
        assert not list((cold.folder / "index").glob("*.fetched"))


def beginning(world: World) -> IndexSnapshots:
    found = open_snapshots(world.settings, world.folder)
    assert found
    return found


def test_until_it_is_there_answers_are_behind_by_what_is_not_seen(shop: Machine) -> None:
    other = shop.other("two")
    meter = open_freshness(other.settings, other.folder, reader_opener(shop.world.settings, shop.world.folder))
    with pytest.raises(Behind, match="still being built") as found:
        meter.ask_or_report_delay(lambda: open_index_home(other.folder).published_file())
    assert found.value.seconds > 0


def test_a_file_of_several_pieces_comes_back(tmp_path: Path) -> None:
    content = os.urandom(PIECE_BYTES) + bytes(PIECE_BYTES) + b"end"
    (tmp_path / "file").write_bytes(content)
    kept: dict[int, bytes] = {}
    pieces = pack_file(tmp_path / "file", kept.__setitem__)
    manifest = Manifest(
        format=1, rules="", number=1, folder="0000000001-0000000000000000", made_us=0, generation=0, positions=[],
        lake="", events=0, forgotten="", size=len(content), pieces=pieces,
    )  # fmt: skip
    unpack_file(manifest, kept.get, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == content
    assert len(kept) == 3


def test_a_writer_goes_on_while_its_index_is_copied(shop: Machine) -> None:
    """The copy shows a single state, even if the index changes meanwhile."""
    snapshots, made = shop.snapshots(), []
    follower = IndexFollower(open_index_home(shop.world.folder), shop.world.bronze)
    shop.take(*(event(f"{number:032x}") for number in range(200)))
    making = threading.Thread(target=lambda: made.append(snapshots.make(shop.path, default_rules().rules_hash)))
    making.start()
    while follower.process_batches(default_rules()):
        pass
    making.join()
    follower.close()
    assert made == [True]
    other = shop.other("two")
    assert answers(other) == from_nothing(shop, "three")


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert [each.name for each in threading.enumerate() if each.name == "snapshot"] == []
