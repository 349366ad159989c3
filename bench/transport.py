"""What a slow store costs Spark's jobs: the same jobs beside a store as fast as a disk, and beside a slow one.

`python -m bench.transport [--rounds N]`. In one application the store is fast and slow by turns, for a few jobs each,
so that what else the machine does spoils both alike; a pair counts by its own difference. Between two turns the store
is fast and takes what waits.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from pyspark.sql import SparkSession

from bench.figures import QUICK_ROUNDS, ROUNDS, Figure, middle, show
from tools.jars import TRANSPORT, built, class_path, compile_java

LISTENER = "1.53.0"
MILLIS = 2_000
JOBS = 5
PAIRS = 8
WARMING = 6
GOAL = 1.0
PAUSE_S = 2.0
SOURCE = Path(__file__).with_name("SlowStore.java")

Turn = dict[str, float]


def run(rounds: int = ROUNDS) -> list[Figure]:
    """Measure in a process of its own, whose Java has the store from its start."""
    command = [sys.executable, "-m", "bench.transport", "--measure", "--rounds", str(rounds)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: list[dict[str, Turn]] = json.loads(done.stdout.splitlines()[-1])
    jobs = f"{JOBS} jobs beside a store that takes {MILLIS / 1000:.0f} s a call, than beside a disk"
    return [
        Figure(f"more wall time for {jobs}", _more(found, "wall"), "%", GOAL),
        Figure(f"more CPU time for {jobs}", _more(found, "cpu"), "%", GOAL),
        Figure("the listener's thread is longer in its transport, of the jobs' wall time", _held(found), "%", GOAL),
        Figure("half of the pairs differ in CPU time by more than", _unlike(found, "cpu"), "%"),
        Figure("half of the pairs differ in wall time by more than", _unlike(found, "wall"), "%"),
        Figure(f"{JOBS} jobs beside a disk", middle([each["disk"]["wall"] for each in found]), "s"),
    ]


def measure(pairs: int, folder: Path) -> list[dict[str, Turn]]:
    """Return seconds of wall and CPU of the jobs beside each store, pair after pair."""
    compile_java(SOURCE, folder / "classes")
    spark = _session(folder)
    store: Any = spark.sparkContext._jvm
    found = []
    for number in range(pairs + WARMING):
        order = ("disk", "far") if number % 2 else ("far", "disk")
        pair = {}
        for name in order:
            store.headwater.bench.SlowStore.answerLateBy(MILLIS if name == "far" else 0)
            pair[name] = _turn(spark, folder)
            store.headwater.bench.SlowStore.answerLateBy(0)
            time.sleep(PAUSE_S + MILLIS / 1000)
        found.append(pair)
    spark.stop()
    return found[WARMING:]


def _turn(spark: SparkSession, folder: Path) -> Turn:
    context: Any = spark.sparkContext
    process = psutil.Process(context._jvm.java.lang.ProcessHandle.current().pid())
    emitting = _emit_timer(context)
    before, before_s, began = process.cpu_times(), _seconds(context, emitting), time.monotonic()
    for number in range(JOBS):
        rows = spark.range(20_000).selectExpr("id", "id % 7 AS seven").groupBy("seven").count()
        rows.write.mode("overwrite").parquet(str(folder / "tables" / str(number)))
    context._jsc.sc().listenerBus().waitUntilEmpty(60_000)  # a listener that is held up holds this up
    wall, after = time.monotonic() - began, process.cpu_times()
    cpu = after.user + after.system - before.user - before.system
    return {"wall": wall, "cpu": cpu, "held": _seconds(context, emitting) - before_s}


def _emit_timer(context: Any) -> Any:
    """Return the listener's own timer of its calls to the transport; the way to it is private to the listener."""
    listeners = context._jsc.sc().listenerBus().listeners()
    found = next(each for each in listeners if each.getClass().getSimpleName() == "OpenLineageSparkListener")
    for name in ("contextFactory", "openLineageEventEmitter", "client", "emitTime"):
        field = found.getClass().getDeclaredField(name)
        field.setAccessible(True)
        found = field.get(found)
    return found


def _seconds(context: Any, timer: Any) -> float:
    """Return how long the listener's thread has been in its transport so far."""
    return float(timer.totalTime(context._jvm.java.util.concurrent.TimeUnit.SECONDS))


def _session(folder: Path) -> SparkSession:
    jars = [class_path(LISTENER), str(built(TRANSPORT)), str(folder / "classes")]
    settings = {
        "spark.driver.extraClassPath": os.pathsep.join(jars),
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.hadoop.fs.slow.impl": "headwater.bench.SlowStore",
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.metrics.type": "simple",
        "spark.openlineage.transport.type": "onelake",
        "spark.openlineage.transport.location": f"slow://far{folder / 'store'}",
        "spark.openlineage.transport.batchSize": "5",
        "spark.openlineage.transport.flushIntervalSeconds": "1",
    }
    builder = SparkSession.builder.master("local[1]").appName("bench")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    context: Any = spark.sparkContext
    context.setLogLevel("OFF")
    context._jsc.sc().listenerBus().waitUntilEmpty(60_000)  # the listener makes its transport when it has heard of it
    return spark


def _more(found: list[dict[str, Turn]], what: str) -> float:
    return middle([100 * (each["far"][what] / each["disk"][what] - 1) for each in found])


def _held(found: list[dict[str, Turn]]) -> float:
    return middle([100 * (each["far"]["held"] - each["disk"]["held"]) / each["disk"]["wall"] for each in found])


def _unlike(found: list[dict[str, Turn]], what: str) -> float:
    """Return how far apart two turns of a pair are, whichever way: what the machine does to a pair."""
    return middle([100 * abs(each["far"][what] / each["disk"][what] - 1) for each in found])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=ROUNDS)
    arguments.add_argument("--quick", action="store_const", const=QUICK_ROUNDS, dest="rounds")
    arguments.add_argument("--measure", action="store_true", help="print what each turn took, as JSON")
    options = arguments.parse_args()
    if options.measure:
        with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
            print(json.dumps(measure(PAIRS * options.rounds, Path(folder))))
    else:
        show("Transport", run(options.rounds))


if __name__ == "__main__":
    main()
