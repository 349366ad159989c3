"""Passes that meet: of two at once one is done, whichever was where; the other says so, and nothing of it stays."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

from headwater import failpoints
from headwater.errors import LakeUnavailable
from headwater.spark.delta.storage_place import StoragePlace
from headwater.spark.one_pass import LEASE_S, leased, leases
from headwater.tables import EDGE_RUNS, GOLD, SILVER
from tests import hostile_names, spark_driver
from tests.running import started
from tests.spark_lake import SparkLake, bodies
from tests.spark_noise import SPARK_NOISE
from tests.test_freshness import Place, gold_lacks_s

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    *SPARK_NOISE,
]

WORLDS = range(3)
TABLES = [("silver", table) for table in SILVER]
TABLES += [("gold", table) for table in GOLD if table is not EDGE_RUNS]


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkLake:
    """Give a lake in which half of each world is in silver and gold."""
    lake = SparkLake(spark, tmp_path_factory.mktemp("passes"))
    worlds = list(bodies(WORLDS))
    lake.store([body for world in worlds for body in world[: len(world) // 2]])
    lake.build()
    lake.store([body for world in worlds for body in world[len(world) // 2 :]])
    return lake


@contextmanager
def halted_with_its_jvm(lake: SparkLake, where: str) -> Iterator[subprocess.Popen[str]]:
    """Give the command's pass that stands still at a fail point, with the JVM in which others of its writes go on."""
    process = started(
        "spark", "refresh", "--data", lake.world.folder, environment={failpoints.VARIABLE: f"{where}:halt"}
    )
    with spark_driver.standing(process):
        to_all(process, signal.SIGSTOP)
        try:
            yield process
        finally:
            if process.poll() is None:
                to_all(process, signal.SIGKILL)


def to_all(process: subprocess.Popen[str], sent: signal.Signals) -> None:
    """Send a signal to a process and those that it started; a worker of Spark's may end meanwhile."""
    own = psutil.Process(process.pid)
    for each in [own, *own.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            each.send_signal(sent)


def let_go_on(process: subprocess.Popen[str]) -> str:
    """Wake a pass that stands still, with its own JVM; return what it says on standard error until it ends."""
    to_all(process, signal.SIGCONT)
    return process.communicate(timeout=900)[1]


def operations(lake: SparkLake) -> list[str]:
    """Return what all commits to silver and gold were."""
    logs = (file for layer in ("silver", "gold") for file in (Path(lake.uri) / layer).rglob("_delta_log/*.json"))
    lines = (json.loads(line) for file in logs for line in file.read_text("utf-8").splitlines())
    return [line["commitInfo"]["operation"] for line in lines if "commitInfo" in line]


def more(number: int) -> list[bytes]:
    """Return events that no pass has taken."""
    return [hostile_names.one_more(f"ffffffff-ffff-7fff-bfff-{number:012d}", 40_000 + number)]


def test_who_comes_while_a_pass_is_at_work_is_refused_and_changes_nothing(lake: SparkLake) -> None:
    lake.store(more(1))
    with spark_driver.halted(lake.spark, lake.uri, "spark.after_runs") as first:
        for _ in range(3):
            with pytest.raises(LakeUnavailable, match="Another pass works in"):
                lake.build()
        errors = let_go_on(first)
        assert first.returncode == 0, errors
    assert "RESTORE" not in operations(lake)
    assert lake.build() == 0


def test_a_pass_that_was_given_up_too_early_does_no_harm(lake: SparkLake) -> None:
    lake.store(more(2))
    is_taken_back(lake, spark_driver.halted(lake.spark, lake.uri, "spark.before_state"))


@pytest.mark.long
def test_neither_does_one_whose_jvm_goes_on_with_what_it_was_writing(lake: SparkLake) -> None:
    lake.store(more(3))
    is_taken_back(lake, halted_with_its_jvm(lake, "spark.after_runs"))


def is_taken_back(lake: SparkLake, halted: AbstractContextManager[subprocess.Popen[str]]) -> None:
    """Make a pass while another one stands still and its lock is gone, as where a lease ends; let that go on."""
    with halted as first:
        (Path(lake.uri) / "silver" / "_refresh" / "lock").unlink()
        assert lake.build() == 1, "what the first one has written is taken back"
        errors = let_go_on(first)
        assert (first.returncode, "at the same time" in errors) == (spark_driver.REFUSED, True), errors
    assert lake.build() == 0


def test_after_all_that_the_tables_are_those_of_a_build_at_once_and_gold_says_how_far_it_is(lake: SparkLake) -> None:
    freshness = Place(lake.world.folder)
    assert gold_lacks_s(freshness) == 0
    lake.store(more(4))
    assert gold_lacks_s(freshness) > 0
    lake.build()
    assert gold_lacks_s(freshness) == 0
    before = {(layer, table.name): lake.plain(layer, table) for layer, table in TABLES}
    lake.build(rebuild=True)
    for layer, table in TABLES:
        assert lake.plain(layer, table) == before[layer, table.name], f"{layer}.{table.name}"


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path) -> StoragePlace:
    return StoragePlace(spark, str(tmp_path / "lease"))


def test_a_lease_refuses_others_for_as_long_as_it_is_prolonged(place: StoragePlace) -> None:
    with leased(place, "lake", lease_s=0.4):
        (held,) = leases(place)
        began = place.changed_s(held)
        while place.changed_s(held) < began + 1:
            with pytest.raises(LakeUnavailable, match="Another pass works in lake"), leased(place, "lake", lease_s=0.4):
                pass
    assert leases(place) == []
    with leased(place, "lake"):
        assert leases(place) == [held]


def test_a_lease_that_nobody_prolongs_is_taken_over_by_one(place: StoragePlace) -> None:
    place.write("0000000007", "a pass that was killed")
    file = Path(place.local) / "0000000007"
    with pytest.raises(LakeUnavailable), leased(place, "lake"):
        pass
    os.utime(file, (file.stat().st_atime, file.stat().st_mtime - LEASE_S - 1))
    with leased(place, "lake"):
        assert leases(place) == ["0000000008"]
        assert not place.create("0000000008", "a second one that saw it end"), "it comes too late"
        with pytest.raises(LakeUnavailable), leased(place, "lake"):
            pass
    assert leases(place) == []
