"""Measure how much a slow store slows down Spark jobs that send events to it through the OneLake transport.

`python -m bench.transport [--rounds N]` runs the same jobs in one application, alternately with a fast and a slow
store, so that other work on the machine affects both. The figures are medians of the differences within each pair.
Between measurements the store is fast, so that the transport can write waiting events.
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
    """Measure in a separate process, because Java needs the store on its class path from the start."""
    command = [sys.executable, "-m", "bench.transport", "--measure", "--rounds", str(rounds)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: list[dict[str, Turn]] = json.loads(done.stdout.splitlines()[-1])
    jobs = f"{JOBS} jobs with a store that takes {MILLIS / 1000:.0f} s per call, compared with a disk"
    return [
        Figure(f"more wall time for {jobs}", _more(found, "wall"), "%", GOAL),
        Figure(f"more CPU time for {jobs}", _more(found, "cpu"), "%", GOAL),
        Figure("extra time of the listener's thread in its transport, of the jobs' wall time", _held(found), "%", GOAL),
        Figure("median difference of CPU time within a pair", _unlike(found, "cpu"), "%"),
        Figure("median difference of wall time within a pair", _unlike(found, "wall"), "%"),
        Figure(f"{JOBS} jobs with a disk", middle([each["disk"]["wall"] for each in found]), "s"),
    ]


def measure(pairs: int, folder: Path) -> list[dict[str, Turn]]:
    """Return the wall and CPU seconds of the jobs with each store, pair by pair."""
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
    context._jsc.sc().listenerBus().waitUntilEmpty(60_000)  # include delays of the listener in the wall time
    wall, after = time.monotonic() - began, process.cpu_times()
    cpu = after.user + after.system - before.user - before.system
    return {"wall": wall, "cpu": cpu, "held": _seconds(context, emitting) - before_s}


def _emit_timer(context: Any) -> Any:
    """Return the listener's timer of its calls to the transport; the fields that lead to it are private."""
    listeners = context._jsc.sc().listenerBus().listeners()
    found = next(each for each in listeners if each.getClass().getSimpleName() == "OpenLineageSparkListener")
    for name in ("contextFactory", "openLineageEventEmitter", "client", "emitTime"):
        field = found.getClass().getDeclaredField(name)
        field.setAccessible(True)
        found = field.get(found)
    return found


def _seconds(context: Any, timer: Any) -> float:
    """Return the seconds that the listener's thread has spent in its transport so far."""
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
    context._jsc.sc().listenerBus().waitUntilEmpty(60_000)  # the first event makes the listener create its transport
    return spark


def _more(found: list[dict[str, Turn]], what: str) -> float:
    return middle([100 * (each["far"][what] / each["disk"][what] - 1) for each in found])


def _held(found: list[dict[str, Turn]]) -> float:
    return middle([100 * (each["far"]["held"] - each["disk"]["held"]) / each["disk"]["wall"] for each in found])


def _unlike(found: list[dict[str, Turn]], what: str) -> float:
    """Return the median absolute difference (%) within a pair, which shows the noise of the machine."""
    return middle([100 * abs(each["far"][what] / each["disk"][what] - 1) for each in found])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=ROUNDS)
    arguments.add_argument("--quick", action="store_const", const=QUICK_ROUNDS, dest="rounds")
    arguments.add_argument("--measure", action="store_true", help="print the raw measurements as JSON")
    options = arguments.parse_args()
    if options.measure:
        with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
            print(json.dumps(measure(PAIRS * options.rounds, Path(folder))))
    else:
        show("Transport", run(options.rounds))


if __name__ == "__main__":
    main()
