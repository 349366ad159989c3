"""Install the wheel without extras next to the packages of Fabric and Databricks.

It must not replace any package, and a pass and an answer must work. The tests use open-source Spark and Delta of the
same versions, in a local session.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.data.parsing import World
from tests.support.data.shop import EVENTS, LANDING, bodies
from tools.locked_environment import ROOT
from tools.runtimes import DELTA, FOLDER, RUNTIMES, environment

pytestmark = pytest.mark.long  # installs pyspark three times

_PASS = """
import json, sys
import headwater.spark.notebook.plots
from pyspark.sql import SparkSession
from headwater.__main__ import spark_main
from headwater.spark.notebook.notebook_questions import Questions
from headwater.spark.session import CONF
lake, jars, dataset, answer = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.sql.shuffle.partitions", "1")
for name, value in {**CONF, "spark.driver.extraClassPath": jars}.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
sys.argv = ["headwater-spark", lake]
spark_main()
found = Questions(spark, lake).impact(dataset, "email").columns
with open(answer, "w") as file:
    json.dump(sorted(f"{row.dataset}#{row.column}" for row in found.itertuples()), file)
"""
PIN = re.compile(r"^([\w.-]+==\S+)", re.MULTILINE)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_lock_has_each_package_as_the_runtime_ships_it(runtime: str) -> None:
    shipped, locked = (set(PIN.findall((FOLDER / f"{runtime}.{kind}").read_text())) for kind in ("in", "lock"))
    assert {"pyarrow", "pandas", "pyspark"} < {pin.partition("==")[0] for pin in shipped}
    assert shipped <= locked


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_pass_and_an_answer_beside_the_runtimes_packages(runtime: str, tmp_path: Path) -> None:
    python = environment(runtime)
    world = World(tmp_path / "data")
    world.append(*bodies(EVENTS))
    parser = world.parser()
    while parser.commit_next():
        pass
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    subprocess.run([*build, str(tmp_path), str(ROOT)], check=True)
    wheel = str(next(tmp_path.glob("*.whl")))
    site = tmp_path / "site"  # installs outside the environment, which must stay as locked
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--target", site, wheel], check=True)
    answer = tmp_path / "found.json"
    command = list(map(str, (python, "-c", _PASS, world.folder / "lake", DELTA, LANDING[1], answer)))
    unset = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        command, cwd=tmp_path, env={**unset, "PYTHONPATH": str(site), "PYSPARK_PYTHON": str(python)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(answer.read_text()) == [
        "bronze/customers#email", "gold/mailing#contact", "gold/phones#key", "silver/customers#email",
        "silver/customers#email_key",
    ]  # fmt: skip
