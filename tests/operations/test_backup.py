"""Backups of a log and a lake in use contain every earlier acknowledged event once.

Partial or damaged ones are refused.
"""

import json
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from deltalake import DeltaTable

from headwater.common.errors import WrongSetting
from headwater.common.failpoints import VARIABLE
from headwater.lake.delta_table import LakeTable
from headwater.lake.maintenance import compact_tables
from headwater.lineage.names.dataset_name import Name
from headwater.operations.backup import MANIFEST, UNFINISHED, back_up
from headwater.operations.restore import restore_backup
from headwater.operations.settings import Settings, load_settings
from headwater.tables import RUNS, STATE, Table
from tests.support.commands import commanded
from tests.support.data.made_events import run_event
from tests.support.data.parsing import World, event
from tests.support.lake_check import rows
from tests.support.running import Running, headwater
from tests.support.servers.sink_target import eventually
from tests.support.waiting import rest

LARGE = "x" * 6000
ENVIRONMENT = {"HEADWATER_CLAIM_BYTES": "4096", "HEADWATER_SEGMENT_BYTES": str(64 << 10), "HEADWATER_RETAIN_BYTES": "0"}


@dataclass
class Load:
    """Posts events until it is stopped. acknowledged: their run ids, in order."""

    url: str
    acknowledged: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        with httpx.Client(base_url=self.url, timeout=30) as client:
            while not self.stop.is_set():
                made = [run_event(producer=f"https://example.org/{LARGE if n == 0 else n}") for n in range(10)]
                if client.post("/api/v1/lineage/batch", json=made).status_code == 204:
                    self.acknowledged += [each["run"]["runId"] for each in made]
                rest()

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self.run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.stop.set()
            thread.join(60)


def settings_of(folder: Path) -> Settings:
    return load_settings({"data": folder}, folder=folder.parent, environment={})[0]


def audited(url: str) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{url}/api/headwater/v1/audit", timeout=60).json()
    return found


def delivered(archive: Path) -> Counter[str]:
    lines = (line for path in archive.rglob("*.ndjson") for line in path.read_text().splitlines())
    return Counter(json.loads(line)["run"]["runId"] for line in lines)


@pytest.mark.slow
def test_all_that_was_acknowledged_before_a_backup_began_comes_back_once_and_sinks_do_not_begin_anew(
    tmp_path: Path,
) -> None:
    data, copy, again, archive = (tmp_path / name for name in ("data", "copy", "again", "archive"))
    data.mkdir(mode=0o700)
    sink = {"type": "file", "folder": str(archive), "every": "1s"}
    (data / "sinks.yml").write_text(json.dumps({"version": 1, "sinks": {"out": sink}}))
    with Running(data, options=["--tick", "50ms"], environment=ENVIRONMENT) as running:
        load = Load(running.url)
        with load.running():
            eventually(lambda: len(load.acknowledged) > 300)
            first = set(load.acknowledged)
            eventually(lambda: first <= delivered(archive).keys())
            before = list(load.acknowledged)
            done = headwater("backup", copy, "--data", data, "--json", environment=ENVIRONMENT)
        assert done.returncode == 0, done.stderr
        assert "index" in json.loads(done.stdout)["not in it"]
    brought = headwater("restore", copy, "--data", again)
    assert brought.returncode == 0, brought.stderr
    with Running(again, options=["--tick", "50ms"], environment=ENVIRONMENT) as running:
        eventually(lambda: audited(running.url)["pending"] == 0)
        assert audited(running.url)["balanced"]
        eventually(lambda: set(before) <= delivered(archive).keys())
    stored = Counter(row["run_id"] for row in rows(again, "events", ["run_id"]))
    assert stored.keys() >= set(before)
    assert set(stored.values()) == {1}
    assert not list(rows(again, "rejected", ["reason"]))
    assert {delivered(archive)[run] for run in first} == {1}


def filled(folder: Path) -> World:
    world = World(folder)
    world.append(event(1), event(1), b"{}")
    world.parser().commit_next()
    world.append(event(2))
    return world


@pytest.mark.slow
def test_a_backup_that_was_killed_is_refused_and_can_be_made_again(tmp_path: Path) -> None:
    world, copy = filled(tmp_path / "data"), tmp_path / "copy"
    killed = headwater("backup", copy, "--data", world.folder, environment={VARIABLE: "backup.after_lake"})
    assert killed.returncode < 0
    with pytest.raises(WrongSetting, match="interrupted backup"):
        restore_backup(settings_of(tmp_path / "again"), copy)
    assert not (tmp_path / "again").exists()
    back_up(world.settings, copy)
    assert not (copy / UNFINISHED).exists()
    restore_backup(settings_of(tmp_path / "again"), copy)
    brought = World(tmp_path / "again")
    brought.parser().commit_next()
    assert (brought.placed(), brought.audit()["balanced"]) == ([1, 2, 3, 4], True)


@pytest.mark.slow
def test_a_restore_that_was_killed_keeps_headwater_from_starting_and_can_be_done_again(tmp_path: Path) -> None:
    world, copy, again = filled(tmp_path / "data"), tmp_path / "copy", tmp_path / "again"
    back_up(world.settings, copy)
    killed = headwater("restore", copy, "--data", again, environment={VARIABLE: "restore.after_file:5"})
    assert killed.returncode < 0
    for command in ("up", "audit"):
        refused = headwater(command, "--data", again)
        assert (refused.returncode, "headwater restore" in refused.stderr) == (3, True)
    restore_backup(settings_of(again), copy)
    assert World(again).audit()["balanced"]


def test_a_folder_that_was_just_restored_answers_every_kind_of_command(tmp_path: Path) -> None:
    copy, again = tmp_path / "copy", tmp_path / "again"
    back_up(filled(tmp_path / "data").settings, copy)
    restore_backup(settings_of(again), copy)
    for command in (["datasets"], ["audit"], ["freshness"], ["events"], ["log", "show"]):
        for folder in (again / "run", again / "index"):
            shutil.rmtree(folder, ignore_errors=True)
        found = commanded(*command, "--json", "--data", again)
        assert (found.returncode, found.stderr) == (0, ""), command
        assert json.loads(found.stdout), command


def test_a_backup_that_is_not_whole_is_refused_by_name_and_nothing_is_changed(tmp_path: Path) -> None:
    world, copy, again = filled(tmp_path / "data"), tmp_path / "copy", tmp_path / "again"
    back_up(world.settings, copy)
    gone, changed = sorted((copy / "data").rglob("*.parquet"))[:2]
    gone.unlink()
    changed.write_bytes(changed.read_bytes()[:-1])
    with pytest.raises(WrongSetting) as refused:
        restore_backup(settings_of(again), copy)
    assert f"{gone.relative_to(copy)} is missing" in str(refused.value)
    assert f"{changed.relative_to(copy)} was changed" in str(refused.value)
    assert not again.exists()
    (copy / MANIFEST).unlink()
    with pytest.raises(WrongSetting, match="does not contain a backup"):
        restore_backup(settings_of(again), copy)


@pytest.mark.parametrize(
    ("manifest", "word"),
    [
        ([], "not a JSON object"),
        ("text", "not a JSON object"),
        ({"files": {}}, "`format`"),
        ({"format": "1", "files": {}}, "`format`"),
        ({"format": None, "files": {}}, "`format`"),
        ({"format": True, "files": {}}, "`format`"),
        ({"format": 1}, "`files`"),
        ({"format": 1, "files": ["data/a"]}, "`files`"),
        ({"format": 1, "files": {"data/a": "x"}}, "'data/a'"),
        ({"format": 1, "files": {}}, "`began`"),
    ],
)
def test_a_manifest_of_another_form_is_refused_and_nothing_is_restored(
    tmp_path: Path, manifest: object, word: str
) -> None:
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(WrongSetting) as refused:
        restore_backup(settings_of(tmp_path / "again"), tmp_path / "copy")
    assert word in str(refused.value)
    assert "Nothing was restored" in str(refused.value)
    assert not (tmp_path / "again").exists()


def test_neither_goes_where_something_is(tmp_path: Path) -> None:
    world, copy = filled(tmp_path / "data"), tmp_path / "copy"
    back_up(world.settings, copy)
    with pytest.raises(WrongSetting, match="not empty"):
        back_up(world.settings, copy)
    with pytest.raises(WrongSetting, match="not empty"):
        restore_backup(world.settings, copy)
    with pytest.raises(WrongSetting, match="is inside"):
        back_up(world.settings, world.folder / "copy")
    (tmp_path / "file").touch()
    with pytest.raises(WrongSetting, match="Cannot use"):
        back_up(world.settings, tmp_path / "file")
    with pytest.raises(WrongSetting, match="Cannot use"):
        restore_backup(settings_of(tmp_path / "file"), copy)
    settings = settings_of(tmp_path / "again").model_copy(update={"lake": str(tmp_path / "data" / "lake")})
    with pytest.raises(WrongSetting, match="not empty"):
        restore_backup(settings, copy)


def test_a_pair_that_does_not_belong_together_is_not_backed_up(tmp_path: Path) -> None:
    world = filled(tmp_path / "data")
    shutil.rmtree(world.log)
    world.log.mkdir()
    with pytest.raises(WrongSetting, match="do not belong together"):
        back_up(world.settings, tmp_path / "copy")
    world.uncount()
    world.append(event(3))
    with pytest.raises(WrongSetting, match="do not belong together"):
        back_up(world.settings, tmp_path / "copy")


def lake_table(folder: Path, table: Table, *rows: dict[str, Any]) -> LakeTable:
    """Append rows with one commit each. Missing values are null."""
    made = LakeTable(str(folder / table.name), table)
    made.create({})
    for number, row in enumerate(rows, 1):
        made.append_once("pass", made.prepare([(number, tuple(row.get(name) for name in table.columns))]), number)
    return made


@pytest.mark.slow
def test_silver_is_copied_as_the_last_whole_pass_left_it(tmp_path: Path) -> None:
    """The next pass reverts the work of an unfinished pass, and would need files that the backup does not contain."""
    from headwater.spark.layer_positions import LayerPosition, position_rows

    world, copy = filled(tmp_path / "data"), tmp_path / "copy"
    generation = world.folder / "lake" / "silver" / "g1"
    runs = lake_table(generation, RUNS, {"run_key": "whole"}, {"run_key": "under way"})
    done = LayerPosition(
        3, {("local", "life", "0"): 9}, {Name("n", "d"): frozenset({"A"})}, versions={"silver/runs": 1}
    )
    ((*_, state, _, _),) = position_rows(done, "hash")
    lake_table(generation, STATE, {"part": "position", "state": state})
    runs.delete("run_key = 'whole'")
    compact_tables(world.bronze)
    back_up(world.settings, copy)
    copied = DeltaTable(str(copy / "data" / "lake" / "silver" / "g1" / "runs"))
    assert copied.version() == 1
    assert copied.to_pyarrow_table().column("run_key").to_pylist() == ["whole"]
