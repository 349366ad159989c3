"""Measure one Spark pass over new events of recurring jobs, with a history, in a warm session and in a new one."""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from bench.figures import Figure, middle, show
from bench.parser import BATCH, fill_log
from bench.spark import timed_bodies
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.parser.partition_parser import PartitionParser
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.rules.user_rules import UserRules
from headwater.spark.refresh import refresh
from headwater.spark.session import LASTING, local_session

HISTORY = 20_000
SIZES = (200, 2_000, 10_000)
ROUNDS = 3
WARMING = 6
CORES = 2
REPORT_EVERY = 10
RETENTION = "delta.deletedFileRetentionDuration"


class Pass:
    """The cost of a pass.

    jobs: descriptions of its Spark jobs; commits: the operations in Delta's logs, by table.
    """

    def __init__(self) -> None:
        self.wall_s = self.cpu_s = 0.0
        self.jobs: list[str] = []
        self.commits: dict[str, list[str]] = {}

    @property
    def merges(self) -> int:
        """The number of commits that were a MERGE."""
        return sum(found.count("MERGE") for found in self.commits.values())


@contextmanager
def measured(spark: SparkSession, lake: Path) -> Iterator[Pass]:
    """Measure the work inside the context; CPU time is that of this process and its children."""
    found = Pass()
    before, jobs, began, cpu_s = set(_commits(lake)), _newest_job(spark), time.monotonic(), cpu_time_s()
    yield found
    found.wall_s, found.cpu_s = time.monotonic() - began, cpu_time_s() - cpu_s
    found.jobs = [text for number, text in _jobs(spark) if number > jobs]
    for commit in sorted(set(_commits(lake)) - before):
        table = str(commit.parents[1].relative_to(lake))
        found.commits.setdefault(table, []).append(_operation(commit))


def cpu_time_s() -> float:
    """Return the CPU time of this process and its children, including children that have exited."""
    own = psutil.Process()
    return sum(sum(each.cpu_times()[:4]) for each in own.children(recursive=True)) + sum(own.cpu_times()[:2])


def _jobs(spark: SparkSession) -> Iterator[tuple[int, str]]:
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    jobs = context.statusStore().jobsList(None)
    for job in (jobs.apply(place) for place in range(jobs.size())):
        text = job.description()
        yield job.jobId(), f"{text.get() if text.isDefined() else ''} [{job.name()}] {job.numTasks()} tasks"


def _newest_job(spark: SparkSession) -> int:
    return max((number for number, _ in _jobs(spark)), default=-1)


def _commits(lake: Path) -> Iterator[Path]:
    return (file for layer in ("silver", "gold") for file in (lake / layer).rglob("_delta_log/*.json"))


def _operation(commit: Path) -> str:
    lines = (json.loads(line) for line in commit.read_text("utf-8").splitlines())
    found = next(line["commitInfo"] for line in lines if "commitInfo" in line)
    return str(found["operation"])


class Lake:
    """A lake whose bronze tables the parser fills, with silver and gold."""

    def __init__(self, folder: Path, events: int):
        """`events`: the maximum number of events."""
        self.uri = folder / "lake"
        self._folder = folder
        self._bodies = timed_bodies(events)

    def store(self, events: int) -> None:
        """Store more events through the parser."""
        self._take(islice(self._bodies, events))

    def store_late(self, run: int) -> None:
        """Store one more event of an old run, after all newer events."""
        start = next(islice(timed_bodies(2 * run + 1), 2 * run, None))
        self._take(iter([start.replace(b'"eventType":"START"', b'"eventType":"OTHER"')]))

    def _take(self, bodies: Iterator[bytes]) -> None:
        log = fill_log(self._folder / "log", bodies)
        parser = PartitionParser(log, Bronze(str(self.uri / "bronze")), FolderClaims(self._folder / "claims"), "bench")
        while parser.commit_next(BATCH):
            pass
        log.close()


def run(rounds: int = ROUNDS, history: int = HISTORY, sizes: tuple[int, ...] = SIZES) -> list[Figure]:
    """Measure passes of several sizes in a warm session, then in new sessions, each `rounds` times."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
        lake = Lake(Path(folder), history + WARMING * sizes[0] + 2 * rounds * sum(sizes))
        figures: list[tuple[str, list[Pass]]] = []
        lake.store(history)
        with local_session(CORES, LASTING) as spark:
            refresh(spark, str(lake.uri), UserRules())
            for _ in range(WARMING):
                _warm(spark, lake, sizes[0])
            figures += [
                (f"{size:,} new events, warm", [_warm(spark, lake, size) for _ in range(rounds)]) for size in sizes
            ]
            figures.append(("one event of an old run, warm", [_late(spark, lake, each) for each in range(rounds)]))
        figures += [
            (f"{size:,} new events, new session", [_fresh(lake, size) for _ in range(rounds)]) for size in sizes
        ]
        return [figure for name, passes in figures for figure in _figures(name, passes)]


def _warm(spark: SparkSession, lake: Lake, size: int) -> Pass:
    lake.store(size)
    with measured(spark, lake.uri) as found:
        refresh(spark, str(lake.uri), UserRules())
    return found


def _late(spark: SparkSession, lake: Lake, run: int) -> Pass:
    lake.store_late(run)
    with measured(spark, lake.uri) as found:
        refresh(spark, str(lake.uri), UserRules())
    return found


def _fresh(lake: Lake, size: int) -> Pass:
    lake.store(size)
    done = subprocess.run(
        [sys.executable, "-m", "bench.spark_pass", "--once", lake.uri], capture_output=True, text=True, check=True
    )
    found = Pass()
    found.__dict__.update(json.loads(done.stdout))
    return found


def _figures(name: str, passes: list[Pass]) -> Iterator[Figure]:
    warm = name.endswith("warm")
    yield Figure(f"{name}: wall time", middle([each.wall_s for each in passes]), "s", 10 if warm else 40)
    yield Figure("  CPU", middle([each.cpu_s for each in passes]), "s", 25 if warm else None)
    yield Figure("  Spark jobs", middle([len(each.jobs) for each in passes]), "", 35)
    yield Figure("  MERGE", middle([each.merges for each in passes]), "", 0)
    yield Figure("  commits", middle([sum(map(len, each.commits.values())) for each in passes]), "")


def once(lake: Path) -> dict[str, Any]:
    """Run a pass in a new session; the times are those of the whole process."""
    began = psutil.Process().create_time()
    with local_session(CORES) as spark:
        with measured(spark, lake) as found:
            refresh(spark, str(lake), UserRules())
        return {**found.__dict__, "wall_s": time.time() - began, "cpu_s": cpu_time_s()}


class Held(NamedTuple):
    """Storage of silver and gold after a pass: the largest number of files of a table, and bytes of all tables."""

    files: int
    used: int
    unused: int
    logs: int


def many(passes: int, size: int = SIZES[0]) -> list[Figure]:
    """Run passes in one session with the file retention disabled, and print the progress."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
        lake = Lake(Path(folder), (passes + 1) * size)
        lake.store(size)
        with local_session(CORES, LASTING) as spark:
            refresh(spark, str(lake.uri), UserRules())
            for uri in _tables(lake.uri):
                spark.sql(f"ALTER TABLE delta.`{uri}` SET TBLPROPERTIES ('{RETENTION}' = 'interval 0 hours')")
            made = list(_in_a_row(spark, lake, passes, size))
    costs, held = zip(*made, strict=True)
    half = len(held) // 2
    before, after = (max((each.unused for each in part), default=0) / 1e6 for part in (held[:half], held[half:]))
    return [
        Figure(f"{passes} passes of {size} events: most files of a table", max(each.files for each in held), "", 20),
        Figure("  bytes in use at the end", held[-1].used / 1e6, "MB"),
        Figure("  bytes of Delta's logs at the end", held[-1].logs / 1e6, "MB"),
        Figure("  most unused bytes, first half", before, "MB"),
        Figure("  most unused bytes, second half", after, "MB"),
        Figure("  CPU of the first ten passes, median", middle(costs[:10]), "s"),
        Figure("  CPU of the last ten passes, median", middle(costs[-10:]), "s", 25),
    ]


def _in_a_row(spark: SparkSession, lake: Lake, passes: int, size: int) -> Iterator[tuple[float, Held]]:
    """Yield the CPU time (s) and the resulting storage of each pass; prints a line for every tenth pass."""
    began, most = time.monotonic(), 0
    for number in range(1, passes + 1):
        lake.store(size)
        cpu_s = cpu_time_s()
        refresh(spark, str(lake.uri), UserRules())
        cpu_s = cpu_time_s() - cpu_s
        held = _held(lake.uri)
        most = max(most, held.files)
        if number % REPORT_EVERY == 0:
            used, unused, logs = (f"{size_bytes / 1e6:.1f} MB" for size_bytes in held[1:])
            progress = f"at most {most} files per table, {used} in use, {unused} unused, logs {logs}"
            print(f"{number} passes, {time.monotonic() - began:.0f} s: {progress}, CPU {cpu_s:.1f} s", flush=True)
        yield cpu_s, held


def _tables(lake: Path) -> list[Path]:
    logs = (log.parent for layer in ("silver", "gold") for log in (lake / layer).rglob("_delta_log"))
    return sorted(table for table in logs if table.parent.name.startswith("g1"))


def _held(lake: Path) -> Held:
    most = used_bytes = unused_bytes = log_bytes = 0
    for table in _tables(lake):
        used = {Path(uri.removeprefix("file://")) for uri in DeltaTable(table).file_uris()}
        there = {file: file.stat().st_size for file in table.rglob("*") if file.is_file()}
        logs = {file for file in there if "_delta_log" in file.parts}
        unused = {file for file in there.keys() - used - logs if file.suffix == ".parquet"}
        most = max(most, len(used))
        used_bytes += sum(there[file] for file in used)
        unused_bytes += sum(there[file] for file in unused)
        log_bytes += sum(there[file] for file in logs)
    return Held(most, used_bytes, unused_bytes, log_bytes)


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--once", type=Path, metavar="LAKE", help="run one pass, print its jobs and commits")
    parser.add_argument("--passes", type=int, help="run this many passes, measure the storage")
    given = parser.parse_args()
    if given.once:
        print(json.dumps(once(given.once), indent=1))
    elif given.passes:
        show("Spark passes in a row", many(given.passes))
    else:
        show("Spark passes", run(given.rounds))


if __name__ == "__main__":
    main()
