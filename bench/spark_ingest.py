"""Files to bronze by Spark: events per second on two cores, many small files; the memory that it took."""

import argparse
import gc
import tempfile
import threading
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
from pyspark.sql import SparkSession

from bench.figures import Figure, show
from bench.generate import generate
from bench.stream import CORES, timed
from headwater.lake.bronze_tables import Bronze
from headwater.spark.file_ingest.source_kinds import StorageSource, ingest_source
from headwater.spark.session import local_session

EVENTS = 100_000
QUICK_EVENTS = 20_000
FILE_EVENTS = 50
KILOBYTES = 2
GOAL = 5_000


def run(events: int = EVENTS) -> list[Figure]:
    """Measure the first ingest of a folder, which smaller ones warm Spark up for; then one that finds nothing."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as name, local_session(CORES, streams=True) as spark:
        folder = Path(name)
        for place, count, seed in (("warm", 40 * FILE_EVENTS, 1), ("less", events // 10, 3), ("measured", events, 7)):
            _write(folder / place, count, seed)
            Bronze(f"{name}/{place}-lake/bronze").create("parser/local", "bench")

        def ingest(place: str) -> None:
            ingest_source(spark, f"{name}/{place}-lake", StorageSource(str(folder / place), "bench"), print)

        ingest("warm")
        less_mb = _python_mb(lambda: ingest("less")), _heap_mb(spark)
        found: list[tuple[float, float]] = []
        python_mb = _python_mb(lambda: found.append(timed(events, lambda: ingest("measured"))))
        (taken_s, taken_us), heap_mb = found[0], _heap_mb(spark)
        again_s, _ = timed(events, lambda: ingest("measured"))
    what = f"{events:,} events of {KILOBYTES} KB in {events // FILE_EVENTS:,} files"
    return [
        Figure(f"{what}: Spark, {CORES} cores: events/s", events / taken_s, "1/s", GOAL, ">=", cpu_us=taken_us),
        Figure(f"{what}: nothing new", again_s, "s"),
        Figure("memory of Python at its highest, a tenth of them", less_mb[0], "MB"),
        Figure("memory of Python at its highest, all", python_mb, "MB", less_mb[0] * 1.1),
        Figure("what Java's heap holds on to, after a tenth of them", less_mb[1], "MB"),
        Figure("what Java's heap holds on to, after all", heap_mb, "MB", less_mb[1] * 1.1),
    ]


def _python_mb(work: Callable[[], None]) -> float:
    """Do some work; return what this process and Spark's workers took together at their highest, looked at often."""
    highest, is_done = 0.0, threading.Event()

    def look() -> None:
        nonlocal highest
        while not is_done.wait(0.1):
            highest = max(highest, sum(map(_own_mb, (psutil.Process(), *psutil.Process().children(recursive=True)))))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        work()
    finally:
        is_done.set()
        thread.join()
    return highest


def _own_mb(process: psutil.Process) -> float:
    try:
        return 0.0 if process.name() == "java" else process.memory_full_info().pss / 2**20
    except psutil.Error:  # a worker of Spark that has just ended
        return 0.0


def _heap_mb(spark: SparkSession) -> float:
    """Return what is left of the heap once all has been collected that can be."""
    gc.collect()  # what Python has let go of, Java may let go of
    java: Any = spark.sparkContext._jvm
    java.java.lang.System.gc()
    return float(java.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()) / 2**20


def _write(folder: Path, events: int, seed: int) -> None:
    bodies = generate(events, KILOBYTES, jobs=300, seed=seed)
    number = 0
    while lines := list(islice(bodies, FILE_EVENTS)):
        day = folder / f"dt=2026-03-{number % 28 + 1:02d}"
        day.mkdir(parents=True, exist_ok=True)
        (day / f"{number}-{len(lines)}events.ndjson").write_bytes(b"\n".join(lines) + b"\n")
        number += 1


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20,000 events instead of 100,000")
    show("Ingest by Spark", run(QUICK_EVENTS if parser.parse_args().quick else EVENTS))


if __name__ == "__main__":
    main()
