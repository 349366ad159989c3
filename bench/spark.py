"""Measure silver and gold in Spark on two cores: a backlog, and the cost of a batch before and after more history."""

import argparse
import re
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import psutil
from pyspark.sql import SparkSession

from bench.figures import Figure, show
from bench.generate import generate
from bench.parser import BATCH, KILOBYTES, fill_log
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.event_log.sqlite_reader import SqliteLogReader
from headwater.intake.parser.partition_parser import PartitionParser
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.rules.user_rules import UserRules
from headwater.spark.refresh import refresh
from headwater.spark.session import local_session

EVENTS = 200_000
QUICK_EVENTS = 20_000
CORES = 2
_FIRST_MS = 1_767_225_600_000
_STEP_MS = 6_000
_RUN_ID = re.compile(rb"00000000-0000-4000-8000-([0-9a-f]{12})")


def run(events: int = EVENTS) -> list[Figure]:
    """Measure a backlog of `events`, then a batch of a twentieth before and after the history has doubled."""
    batch = max(1000, events // 20)
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder, local_session(CORES) as spark:
        lake = _Lake(spark, Path(folder), 2 * (events + batch))
        wall_s, cpu_s, _ = lake.grow(events)
        before = lake.grow(batch)
        lake.grow(events)
        after = lake.grow(batch)
    small = f"one more batch of {batch:,}"
    return [
        Figure(f"{events:,} events: events/s on {CORES} cores, silver and gold", events / wall_s, "1/s", 3000, ">="),
        Figure("  CPU per event", cpu_s * 1e6 / events, "us"),
        Figure(f"{small}: wall time", before[0], "s"),
        Figure(f"{small} after twice the history: wall time ratio", after[0] / before[0], "x", 1.15),
        Figure(f"{small} after twice the history: CPU ratio", after[1] / before[1], "x", 1.15),
        Figure(f"{small} after twice the history: bytes read ratio", after[2] / before[2], "x", 1.15),
    ]


class _Lake:
    """A lake whose bronze tables the parser fills, with silver and gold."""

    def __init__(self, spark: SparkSession, folder: Path, events: int):
        self._spark = spark
        self._folder = folder
        self._bodies = timed_bodies(events)
        self._log: SqliteLogReader | None = None

    def grow(self, events: int) -> tuple[float, float, int]:
        """Store more events and refresh silver and gold; returns wall time (s), CPU time (s) and bytes read."""
        log = fill_log(self._folder / "log", islice(self._bodies, events))
        parser = PartitionParser(
            log, Bronze(f"{self._folder}/lake/bronze"), FolderClaims(self._folder / "claims"), "bench"
        )
        while parser.commit_next(BATCH):
            pass
        log.close()
        began, cpu_s, read = time.monotonic(), _cpu_s(), bytes_read(self._spark)
        refresh(self._spark, f"{self._folder}/lake", UserRules())
        return time.monotonic() - began, _cpu_s() - cpu_s, bytes_read(self._spark) - read


def timed_bodies(count: int) -> Iterator[bytes]:
    """Yield the generator's events with time-based run IDs, as listeners create them."""
    for body in generate(count, KILOBYTES):
        yield _RUN_ID.sub(_timed, body)


def _timed(found: re.Match[bytes]) -> bytes:
    number = int(found[1], 16)
    at = _FIRST_MS + _STEP_MS * (number % 2**40)
    return f"{at >> 16:08x}-{at & 0xFFFF:04x}-7000-8000-{number:012x}".encode()


def bytes_read(spark: SparkSession) -> int:
    """Return the number of bytes that Spark's tasks have read from files so far, from Spark's metrics."""
    store = spark.sparkContext._jsc.sc().statusStore()
    executors = store.executorList(True)
    return sum(executors.apply(number).totalInputBytes() for number in range(executors.size()))


def _cpu_s() -> float:
    """Return the CPU time of Spark and its Python workers."""
    children = psutil.Process().children(recursive=True)
    return sum(sum(child.cpu_times()[:2]) for child in children)


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    show("Spark", run(parser.parse_args().events))


if __name__ == "__main__":
    main()
