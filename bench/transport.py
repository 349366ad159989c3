"""What a slow store costs Spark's jobs: the same jobs, their lineage into a disk and into a store that takes seconds.

`python -m bench.transport [--rounds N]`. Applications alternate in one Java, so that both are as warm; a round is one
of each, and counts by its own difference. What waits at the end is given up after a second: only jobs are measured.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from pyspark.sql import SparkSession

from bench.figures import QUICK_ROUNDS, ROUNDS, Figure, middle, show
from tools.jars import TRANSPORT, built, class_path, compile_java

LISTENER = "1.53.0"
MILLIS = 2_000
JOBS = 30
WARMING = 2
GOAL = 1.0
SOURCE = Path(__file__).with_name("SlowStore.java")


def run(rounds: int = ROUNDS) -> list[Figure]:
    """Measure in a process of its own, whose Java has the store from its start."""
    command = [sys.executable, "-m", "bench.transport", "--measure", "--rounds", str(2 * rounds)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    said = f"jobs beside a store that takes {MILLIS / 1000:.0f} s a call, more than beside a disk"
    return [
        Figure(f"{JOBS} {said}: wall", _more(found, "wall"), "%", GOAL),
        Figure(f"{JOBS} {said}: CPU", _more(found, "cpu"), "%", GOAL),
        Figure("the same beside a disk: wall", middle([each["disk"]["wall"] for each in found]), "s"),
        Figure("between rounds beside a disk: wall, largest from median", _spread(found), "%"),
    ]


def measure(rounds: int, folder: Path) -> list[dict[str, dict[str, float]]]:
    """Return seconds of wall and CPU of the jobs beside each store, a round each."""
    compile_java(SOURCE, folder / "classes")
    found = []
    for number in range(rounds + WARMING):
        order = ("disk", "far") if number % 2 else ("far", "disk")
        found.append({store: _application(folder, store) for store in order})
    return found[WARMING:]


def _application(folder: Path, store: str) -> dict[str, float]:
    settings = {
        "spark.driver.extraClassPath": os.pathsep.join(
            [class_path(LISTENER), str(built(TRANSPORT)), str(folder / "classes")]
        ),
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.hadoop.fs.slow.impl": "headwater.bench.SlowStore",
        "spark.hadoop.headwater.bench.far.millis": str(MILLIS),
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.transport.type": "onelake",
        "spark.openlineage.transport.location": f"slow://{store}{folder / store}",
        "spark.openlineage.transport.batchSize": "10",
        "spark.openlineage.transport.flushIntervalSeconds": "1",
        "spark.openlineage.transport.closeTimeoutSeconds": "1",
    }
    builder = SparkSession.builder.master("local[1]").appName("bench")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.range(1).write.mode("overwrite").parquet(str(folder / "warm"))
    java = spark.sparkContext._jvm
    assert java
    process = psutil.Process(java.java.lang.ProcessHandle.current().pid())
    before, began = process.cpu_times(), time.monotonic()
    for number in range(JOBS):
        rows = spark.range(20_000).selectExpr("id", "id % 7 AS seven").groupBy("seven").count()
        rows.write.mode("overwrite").parquet(str(folder / "tables" / str(number % 5)))
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60_000)  # a listener that is held up holds this up
    wall, after = time.monotonic() - began, process.cpu_times()
    spark.stop()
    return {"wall": wall, "cpu": after.user + after.system - before.user - before.system}


def _more(found: list[dict[str, dict[str, float]]], what: str) -> float:
    return middle([100 * (each["far"][what] / each["disk"][what] - 1) for each in found])


def _spread(found: list[dict[str, dict[str, float]]]) -> float:
    walls = [each["disk"]["wall"] for each in found]
    return 100 * max(abs(wall / middle(walls) - 1) for wall in walls)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=ROUNDS)
    arguments.add_argument("--quick", action="store_const", const=QUICK_ROUNDS, dest="rounds")
    arguments.add_argument("--measure", action="store_true", help="print what each round took, as JSON")
    options = arguments.parse_args()
    if options.measure:
        with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
            print(json.dumps(measure(options.rounds, Path(folder))))
    else:
        show("Transport", run(options.rounds))


if __name__ == "__main__":
    main()
