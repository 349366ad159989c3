"""The jars' set-up: one listener on a class path, a file system that keeps Delta's commits apart, clear words."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from headwater.common.errors import WrongSetting
from headwater.spark.session import jar_names
from tests.support.paths import ROOT
from tools.jars import DEMO_FS, DEMO_FS_SOURCE, JVM, class_path, require_java
from tools.locked_environment import Missing


@pytest.mark.parametrize("listener", ["1.27.0", "1.53.0"])
def test_a_class_path_holds_exactly_one_listener(listener: str) -> None:
    names = [Path(path).name for path in class_path(listener).split(os.pathsep)]
    assert [name for name in names if name.startswith("openlineage")] == [f"openlineage-spark_2.12-{listener}.jar"]


def test_an_unknown_listener_is_answered_with_the_known_ones() -> None:
    with pytest.raises(Missing, match=r"no listener '1\.0\.0'.*Known: 1\.27\.0, 1\.53\.0"):
        class_path("1.0.0")


@pytest.mark.parametrize(("spark", "collection"), [("3.5.7", "jars"), ("4.1.3", "spark4")])
def test_what_a_session_needs_is_fetched(spark: str, collection: str) -> None:
    fetched = {Path(line.split()[1]).name for line in (JVM / f"{collection}.sha256").read_text().splitlines()}
    assert fetched >= set(jar_names(spark, streams=True)) > set(jar_names(spark))


def test_another_spark_is_answered_with_those_that_it_runs_on() -> None:
    with pytest.raises(WrongSetting, match=r"needs Spark 3\.5 or 4\.1, not pyspark 4\.0\.1"):
        jar_names("4.0.1")


def test_jars_that_are_there_are_only_checked() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.jars"], cwd=ROOT, env={"PATH": ""}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Jars checked: ")


@pytest.mark.slow
def test_without_java_the_pipeline_says_in_one_line_what_to_install(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "demo.pipeline", "--url", "http://127.0.0.1:9", "--lake", str(tmp_path)]
    environment = {"PATH": "", "HEADWATER_KEY": "no-key-needed"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr.startswith("pipeline: There is no `java` on this machine")
    assert "apt-get install openjdk-17-jdk-headless" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_of_writers_that_commit_one_version_at_once_exactly_one_wins(tmp_path: Path) -> None:
    pyspark = find_spec("pyspark")
    assert pyspark
    assert pyspark.origin
    jars = f"{DEMO_FS}{os.pathsep}{Path(pyspark.origin).parent / 'jars'}/*"
    race = DEMO_FS_SOURCE.with_name("RenameRace.java")
    done = subprocess.run(
        [require_java(), "-cp", jars, str(race), str(tmp_path)], capture_output=True, text=True, check=True
    )
    name = "abfss://Race@onelake.dfs.fabric.microsoft.com/Shop.Lakehouse/Tables/t/_delta_log"
    assert done.stdout.split() == ["200", "200", name]
