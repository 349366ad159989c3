"""Measure the ingest of many small files to bronze by Spark: events per second on two cores, and memory."""

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
    """Measure the first ingest of a folder after smaller ones have warmed Spark up, then one without new files."""
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
        Figure("peak memory of Python, a tenth of the events", less_mb[0], "MB"),
        Figure("peak memory of Python, all events", python_mb, "MB", less_mb[0] * 1.1),
        Figure("Java heap in use after a tenth of the events", less_mb[1], "MB"),
        Figure("Java heap in use after all events", heap_mb, "MB", less_mb[1] * 1.1),
    ]


def _python_mb(work: Callable[[], None]) -> float:
    """Run `work` and return the peak of the sampled total memory of this process and Spark's Python workers."""
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
    except psutil.Error:  # a worker has just exited
        return 0.0


def _heap_mb(spark: SparkSession) -> float:
    """Return the heap in use after a garbage collection."""
    gc.collect()  # release Java objects that Python references
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
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20,000 events instead of 100,000")
    show("Ingest by Spark", run(QUICK_EVENTS if parser.parse_args().quick else EVENTS))


if __name__ == "__main__":
    main()
