"""Pass after pass in one session, and how silver and gold stay small meanwhile."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from headwater.common import failpoints
from headwater.lake.gold_pass import is_refreshed
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.spark.delta.layer_maintenance import COMPACT_EVERY, compact, vacuum
from headwater.spark.layer_generations import KEEP_S, LAYERS, Folders, current_generation, remove_old_generations
from headwater.spark.one_pass import hold_lake_lock
from headwater.tables import EDGE_RUNS, RUN_HEALTH
from headwater.tables.last_pass import IDLE_S, NOTE_NAME, REFRESH_FOLDER
from tests.auth.test_private_files import open_to_others
from tests.support.data import hostile_names
from tests.support.data.parsing import World
from tests.support.running import headwater, started
from tests.support.spark import spark_driver
from tests.support.spark.passed_lake import PassedLake
from tests.support.spark.spark_lake import RULES, SparkLake
from tests.support.spark.spark_noise import SPARK_NOISE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    *SPARK_NOISE,
]

TABLES = [(layer, table) for layer, tables in LAYERS.items() for table in tables]
MOST_FILES = 20
ONE_COMPILER = "-XX:TieredStopAtLevel=1"
"""For a session that is to last but ends after a pass: what Java's second compiler learns in it costs as much again."""


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkLake:
    return lake_of_copies(spark, tmp_path_factory.mktemp("every"))


def lake_of_copies(spark: SparkSession, folder: Path) -> SparkLake:
    lake = SparkLake(spark, folder)
    lake.store(hostile_names.copies())
    return lake


def more(number: int) -> list[bytes]:
    """Return an event that no pass has taken."""
    return [hostile_names.one_more(f"ffffffff-ffff-7fff-bfff-{number:012d}", 40_000 + number)]


def folders(lake: SparkLake) -> Folders:
    found = current_generation(lake.spark, lake.uri, RULES.rules_hash)
    assert found
    return found


def files(lake: SparkLake) -> dict[str, tuple[set[str], set[str]]]:
    """Return by table the files that are there, and those that its newest version is made of."""
    found = {}
    for layer, table in TABLES:
        folder = lake.folder(layer, table)
        there = {str(file) for file in folder.rglob("*.parquet") if "_delta_log" not in file.parts}
        found[f"{layer}/{table.name}"] = there, {uri.removeprefix("file://") for uri in DeltaTable(folder).file_uris()}
    return found


def rows(lake: SparkLake) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of all tables that do not tell how many passes there were."""
    wanted = [(layer, table) for layer, table in TABLES if table is not EDGE_RUNS]
    return {f"{layer}/{table.name}": lake.plain(layer, table) for layer, table in wanted}


def test_it_takes_what_is_new_until_it_is_interrupted(passed_lake: PassedLake) -> None:
    assert passed_lake.taken == passed_lake.sent


def refreshed(folder: Path) -> tuple[subprocess.CompletedProcess[str], bool]:
    """Run the command with a Java that only notes that it was started; tells whether it was."""
    java, note = folder / "java" / "bin" / "java", folder / "java" / "started"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n: > '{note}'\nexit 1\n")
    java.chmod(0o755)
    environment = {"JAVA_HOME": str(java.parents[1])}
    done = headwater("spark", "refresh", "--data", folder, "--json", environment=environment)
    return done, note.exists()


@pytest.fixture
def taken_lake(passed_lake: PassedLake, tmp_path: Path) -> World:
    """A copy of a lake of which the last pass took everything."""
    shutil.copytree(passed_lake.world.folder, tmp_path / "copy")
    return World(tmp_path / "copy")


def test_a_refresh_with_nothing_new_starts_no_spark(taken_lake: World) -> None:
    done, has_java_started = refreshed(taken_lake.folder)
    assert (done.returncode, json.loads(done.stdout)["events"]) == (0, 0), done.stderr
    assert not has_java_started


@pytest.mark.parametrize("change", ["new bronze", "an hour", "a clock set back", "gold by others", "damaged note"])
def test_a_refresh_starts_spark_if_there_may_be_something_to_do(taken_lake: World, change: str) -> None:
    lake = taken_lake.folder / "lake"
    note = lake / REFRESH_FOLDER / NOTE_NAME
    found = json.loads(note.read_text("utf-8"))
    if change == "new bronze":
        taken_lake.append(*more(700))
        taken_lake.parser().commit_next()
    elif change == "gold by others":
        gold = next(path for path in found["versions"] if path.endswith(RUN_HEALTH.name))  # of the one in force
        DeltaTable(lake / gold).alter.set_table_properties({"delta.logRetentionDuration": "interval 30 days"})
    elif change == "damaged note":
        note.write_text(note.read_text("utf-8")[:20])
    else:
        note.write_text(
            json.dumps({**found, "began_s": time.time() + (60 if change == "a clock set back" else -IDLE_S)})
        )
    assert refreshed(taken_lake.folder)[1]


def test_other_rules_find_something_to_do_though_nothing_is_new(taken_lake: World) -> None:
    lake = str(taken_lake.folder / "lake")
    assert is_refreshed(lake, RULES.rules_hash)
    assert not is_refreshed(lake, "other rules")


@pytest.mark.long
@pytest.mark.usefixtures("usual_umask")
def test_it_goes_on_after_a_pass_that_failed_and_ends_within_the_batch_that_is_under_way(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = lake_of_copies(spark, tmp_path)
    halt = {failpoints.VARIABLE: "spark.after_runs:halt", "SPARK_SUBMIT_OPTS": ONE_COMPILER}
    with hold_lake_lock(lake.spark, lake.uri):
        prepare_folder(lake.world.settings)  # closes what this process made
        process = started("spark", "refresh", "--data", lake.world.folder, "--every", "1s", "--json", environment=halt)
        assert process.stderr
        while "A pass failed" not in (line := process.stderr.readline()):
            assert line
    with spark_driver.standing(process):
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        said, errors = process.communicate(timeout=900)
    assert process.returncode == 0, errors
    (only,) = map(json.loads, said.splitlines())
    assert (only["events"], only["lake"]) == (len(hostile_names.copies()), lake.uri)
    assert list(lake.world.folder.glob("lake/silver/*"))
    assert open_to_others(lake.world.folder / "lake") == {}, "the umask alone would leave it open"


@pytest.mark.long
def test_passes_leave_few_files_and_what_they_joined_is_not_taken_back(lake: SparkLake) -> None:
    lake.build()
    for number in range(COMPACT_EVERY + 1):
        lake.store(more(2 + number))
        assert lake.build() == 1
    assert {name: len(used) for name, (_, used) in files(lake).items() if len(used) > MOST_FILES} == {}
    found = [
        json.loads(line)["commitInfo"]["operation"]
        for layer, table in TABLES
        for file in lake.folder(layer, table).glob("_delta_log/*.json")
        for line in file.read_text("utf-8").splitlines()
        if "commitInfo" in line
    ]
    assert ("OPTIMIZE" in found, "RESTORE" in found) == (True, False)


@pytest.mark.long
def test_what_nobody_reads_goes_and_a_pass_that_is_killed_then_is_taken_back(lake: SparkLake) -> None:
    before = rows(lake)
    for layer, table in TABLES:  # in place of a day's wait
        uri, none = lake.folder(layer, table), "'delta.deletedFileRetentionDuration' = 'interval 0 hours'"
        lake.spark.sql(f"ALTER TABLE delta.`{uri}` SET TBLPROPERTIES ({none})")
    compact(folders(lake))
    vacuum(folders(lake))
    assert {name: there - used for name, (there, used) in files(lake).items() if there - used} == {}
    assert rows(lake) == before
    lake.store(more(100))
    assert lake.command(killed_at="spark.before_state").returncode == -signal.SIGKILL
    assert lake.build() == 1
    found = rows(lake)
    lake.build(rebuild=True)
    assert rows(lake) == found


@pytest.mark.long
def test_an_old_generation_goes_when_another_one_has_long_been_in_force(lake: SparkLake) -> None:
    lake.build(rebuild=True)
    here = folders(lake)
    own = {layer: Path(folder.root).name for layer, folder in here.items()}
    remove_old_generations(here)
    assert all(len(list((Path(lake.uri) / layer).glob("g*[0-9]"))) > 1 for layer in LAYERS), "shortcuts may stand on it"
    long_ago = time.time() - KEEP_S - 60
    for layer in LAYERS:
        for file in (Path(lake.uri) / layer / "generations" / "_delta_log").iterdir():
            os.utime(file, (long_ago, long_ago))
        for folder in (Path(lake.uri) / layer).glob("g*[0-9]"):
            if folder.name != own[layer]:
                folder.rename(folder.with_name(f"g{int(long_ago * 1e6)}"))
                break
    remove_old_generations(here)
    for layer in LAYERS:
        left = {folder.name for folder in (Path(lake.uri) / layer).glob("g*[0-9]")}
        assert own[layer] in left
        assert f"g{int(long_ago * 1e6)}" not in left
    assert lake.build() == 0
