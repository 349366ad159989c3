"""Measure Spark passes over lakes of several sizes: what each pass costs and writes, and how both grow with the graph.

`python -m bench.spark_scale --edges 65000 650000` prints a table for each size and the ratios between the last and the
first one; `--steps` adds the Spark jobs of each pass. A lake of N edges has N/25 jobs with 20 columns. All events are
generated from fixed seeds.
"""

import argparse
import json
import re
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
from deltalake import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from rich import box
from rich.console import Console
from rich.table import Table

from bench.figures import Figure, show
from bench.generate import generate
from bench.parser import BATCH, fill_log
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.parser.partition_parser import PartitionParser
from headwater.lake.bronze_tables import Bronze
from headwater.lake.gold_pass import is_refreshed
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.rules.user_rules_text import read_tags
from headwater.spark.refresh import refresh
from headwater.spark.session import LASTING, local_session

EDGES = (65_000, 650_000)
QUICK_EDGES = (6_500, 26_000)
QUICK_MANY = 1_000
CORES = 2
KILOBYTES = 12
EDGES_OF_A_JOB = 25
RECURRING = 200
MANY = 20_000
SETTLING = 2
"""Passes before the measured ones, so that Java compiles its code and the table files are compacted."""

LOOK_EVERY_S = 0.2
STORE = "abfss://lake@account"
RULES = UserRules(
    tags=read_tags(
        "version: 1\ntags:\n"
        f"  - namespace: {STORE}\n"
        "    dataset: warehouse/raw/domain00/table_00000\n"
        "    column: col_00_id\n"
        "    tag: pii\n",
        "tags.yaml",
    )
)
_RUN_ID = re.compile(rb"00000000-0000-4000-8000-([0-9a-f]{12})")
_FIRST_MS = 1_767_225_600_000


@dataclass
class Cost:
    """The cost of a pass: CPU time in seconds, peak resident memory in MB.

    written: rows and bytes that commits added to each table, without compactions; steps: a line for each Spark job.
    """

    name: str
    wall_s: float = 0.0
    java_s: float = 0.0
    python_s: float = 0.0
    jobs: int = 0
    tasks: int = 0
    bytes_read: int = 0
    java_mb: float = 0.0
    worker_mb: float = 0.0
    written: dict[str, tuple[int, int]] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)

    @property
    def cpu_s(self) -> float:
        """The CPU time of Java and Python together."""
        return self.java_s + self.python_s

    @property
    def rows(self) -> int:
        """The number of rows written to all tables."""
        return sum(rows for rows, _ in self.written.values())


class World:
    """A lake of about `edges` column edges: `jobs` jobs that have run once. Later events belong to the same jobs."""

    def __init__(self, folder: Path, edges: int) -> None:
        self.lake = folder / "lake"
        self.jobs = max(RECURRING, edges // EDGES_OF_A_JOB)
        self._folder = folder
        self._run = 0

    def begin(self) -> None:
        """Store one COMPLETE event of each job."""
        self._store(self._runs(self.jobs))

    def recur(self, events: int) -> None:
        """Store events of jobs that repeat their earlier lineage."""
        self._store(self._runs(events))

    def change_two(self) -> None:
        """Store one run whose lineage has a new source for two columns."""
        (body,) = self._runs(1)
        event = json.loads(body)
        fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
        for column in islice(fields.values(), 2):
            column["inputFields"][0]["field"] = "col_19_changed"
        self._store(iter([json.dumps(event, separators=(",", ":")).encode()]))

    def renew(self, events: int) -> None:
        """Store events with column lineage that no earlier event contains."""
        self._store(self._runs(events, new_lineage=True))

    def _runs(self, count: int, *, new_lineage: bool = False) -> Iterator[bytes]:
        first, self._run = self._run, self._run + count
        made = generate(2 * count, KILOBYTES, jobs=self.jobs, new_lineage=new_lineage, first=2 * first)
        for body in islice(made, 1, None, 2):
            yield _RUN_ID.sub(_timed, body)

    def _store(self, bodies: Iterator[bytes]) -> None:
        log = fill_log(self._folder / "log", bodies)
        parser = PartitionParser(log, Bronze(str(self.lake / "bronze")), FolderClaims(self._folder / "claims"), "bench")
        while parser.commit_next(BATCH):
            pass
        log.close()


def _timed(found: re.Match[bytes]) -> bytes:
    """Return a time-based run ID, as listeners create them."""
    number = int(found[1], 16)
    at = _FIRST_MS + 6_000 * (number % 2**40)
    return f"{at >> 16:08x}-{at & 0xFFFF:04x}-7000-8000-{number:012x}".encode()


def measure(edges: int, many: int = MANY) -> list[Cost]:
    """Build a lake in a new session and measure the passes in it; the first figure is the build."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder, local_session(CORES, LASTING) as spark:
        world = World(Path(folder), edges)
        world.begin()
        costs = [_pass(spark, world, f"build, {world.jobs:,} events")]
        for _ in range(SETTLING):
            world.recur(RECURRING)
            _pass(spark, world, "settling")
        costs.append(_nothing_new(world))
        costs.append(_pass(spark, world, "no new data, warm session"))
        world.recur(RECURRING)
        costs.append(_pass(spark, world, f"{RECURRING} recurring events"))
        world.change_two()
        costs.append(_pass(spark, world, "two changed edges"))
        world.renew(many)
        costs.append(_pass(spark, world, f"{many:,} events, new lineage"))
        return costs


def _nothing_new(world: World) -> Cost:
    """Measure the check for new data that the command makes before it starts Spark."""
    cost, began, cpu_s = Cost("no new data, before Spark"), time.monotonic(), time.process_time()
    assert is_refreshed(str(world.lake), RULES.rules_hash)
    cost.wall_s, cost.python_s = time.monotonic() - began, time.process_time() - cpu_s
    return cost


def _pass(spark: SparkSession, world: World, name: str) -> Cost:
    cost, executor = Cost(name), _executor(spark)
    before, jobs = _versions(world.lake), _newest_job(spark)
    began = time.monotonic()
    with _watched(cost):
        refresh(spark, str(world.lake), RULES)
    cost.wall_s = time.monotonic() - began
    cost.tasks, cost.bytes_read = (now - then for now, then in zip(_executor(spark), executor, strict=True))
    cost.steps = list(_steps(spark, after=jobs))
    cost.jobs = len(cost.steps)
    for table, version in _versions(world.lake).items():
        written = _written(world.lake / table, before.get(table, -1), version)
        if written[1]:
            name_of_table = "/".join(part for part in Path(table).parts if not part.startswith("g1"))
            cost.written[name_of_table] = written
    return cost


@contextmanager
def _watched(cost: Cost) -> Iterator[None]:
    """Sample the memory and CPU time of Java and of the Python workers, and add them to the cost at the end.

    Workers exit during a pass, and their CPU time then disappears. Therefore, the newest sample of each process counts.
    """
    ended, first = threading.Event(), _cpu_by_process()
    newest = dict(first)

    def look() -> None:
        while not ended.wait(LOOK_EVERY_S):
            newest.update(_cpu_by_process())
            for process in psutil.Process().children(recursive=True):
                try:
                    used_mb, name = process.memory_info().rss / 1e6, process.name()
                except psutil.NoSuchProcess:
                    continue
                if name == "java":
                    cost.java_mb = max(cost.java_mb, used_mb)
                elif name.startswith("python"):
                    cost.worker_mb = max(cost.worker_mb, used_mb)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        newest.update(_cpu_by_process())
        for process, cpu_s in newest.items():
            used_s = cpu_s - first.get(process, 0.0)
            if process[2] == "java":
                cost.java_s += used_s
            else:
                cost.python_s += used_s


def _cpu_by_process() -> dict[tuple[int, float, str], float]:
    """Return the CPU time of this process and its descendants, by (ID, start time, name)."""
    found = {}
    own = psutil.Process()
    for each in (own, *own.children(recursive=True)):
        try:
            found[each.pid, each.create_time(), each.name()] = sum(each.cpu_times()[:2])
        except psutil.NoSuchProcess:
            continue
    return found


def _executor(spark: SparkSession) -> tuple[int, int]:
    """Return the numbers of completed tasks and of bytes read, from Spark's metrics."""
    executors = _status_store(spark).executorList(True)
    every = [executors.apply(place) for place in range(executors.size())]
    return sum(each.completedTasks() for each in every), sum(each.totalInputBytes() for each in every)


def _steps(spark: SparkSession, after: int) -> Iterator[str]:
    """Yield a line for each Spark job after job `after`: task seconds, tasks, rows in and out, description.

    Spark drops the stages of older jobs from its store, so only new jobs can be described.
    """
    store = _status_store(spark)
    jobs = store.jobsList(None)
    for job in (jobs.apply(place) for place in range(jobs.size())):
        if job.jobId() <= after:
            continue
        ids = job.stageIds()
        stages = [stage for place in range(ids.size()) if (stage := _stage(store, ids.apply(place))) is not None]
        run_s = sum(stage.executorRunTime() for stage in stages) / 1e3
        text = job.description()
        yield (
            f"{run_s:7.2f} s {job.numCompletedTasks():4d} tasks"
            f" {sum(stage.inputRecords() for stage in stages):9,d} rows in"
            f" {sum(stage.outputRecords() for stage in stages):9,d} out"
            f"  {text.get() if text.isDefined() else ''} [{job.name()}]"
        )


def _stage(store: Any, number: int) -> Any:
    """Return the last attempt of a stage, or None if Spark has dropped it; Spark drops skipped stages first."""
    try:
        return store.lastStageAttempt(number)
    except Py4JJavaError:
        return None


def _newest_job(spark: SparkSession) -> int:
    jobs = _status_store(spark).jobsList(None)
    return max((jobs.apply(place).jobId() for place in range(jobs.size())), default=-1)


def _status_store(spark: SparkSession) -> Any:
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    return context.statusStore()


def _versions(lake: Path) -> dict[str, int]:
    """Return the newest version of each silver and gold table."""
    logs = (log for layer in ("silver", "gold") for log in (lake / layer).rglob("_delta_log"))
    return {
        str(log.parent.relative_to(lake)): max(int(commit.stem) for commit in log.glob("*.json"))
        for log in logs
        if not log.parent.name.startswith("_")
    }


def _written(table: Path, beyond: int, version: int) -> tuple[int, int]:
    """Return how many rows and bytes the commits after version `beyond` added."""
    rows = added = 0
    for number in range(beyond + 1, version + 1):
        for line in (table / "_delta_log" / f"{number:020d}.json").read_text("utf-8").splitlines():
            add = json.loads(line).get("add")
            if add and add["dataChange"]:
                rows += json.loads(add["stats"])["numRecords"]
                added += add["size"]
    return rows, added


def edges_of(lake: Path) -> int:
    """Return the number of rows in `column_edges`."""
    (table,) = (lake / "gold").glob("g1*/column_edges")
    return int(DeltaTable(table).to_pyarrow_dataset().count_rows())


def show_costs(title: str, costs: Sequence[Cost], *, steps: bool = False) -> None:
    """Print a row for each pass, then the rows that it wrote to each table."""
    console = Console(width=150)
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for name in (
        "pass", "wall s", "CPU s", "Java", "Python", "jobs", "tasks", "MB read", "rows written", "MB", "Java MB",
        "worker MB",
    ):  # fmt: skip
        table.add_column(name, justify="left" if name == "pass" else "right", no_wrap=True)
    for each in costs:
        size = sum(added for _, added in each.written.values())
        figures: list[Any] = [
            f"{each.wall_s:.1f}", f"{each.cpu_s:.1f}", f"{each.java_s:.1f}", f"{each.python_s:.1f}", each.jobs,
            each.tasks, f"{each.bytes_read / 1e6:.1f}", f"{each.rows:,}",
            f"{size / 1e6:.1f}", f"{each.java_mb:.0f}", f"{each.worker_mb:.0f}",
        ]  # fmt: skip
        table.add_row(each.name, *map(str, figures))
    console.print(table)
    for each in costs:
        written = ", ".join(f"{name} {rows:,}" for name, (rows, _) in sorted(each.written.items()))
        console.print(f"{each.name}: {written or 'nothing written'}")
        if steps:
            console.print(*each.steps, sep="\n", highlight=False, markup=False)


def ratios(small: Sequence[Cost], large: Sequence[Cost]) -> list[Figure]:
    """Compare the passes over a large lake with those over a small one."""
    goals = {f"{RECURRING} recurring events": 1.3, "two changed edges": 1.5}
    found = []
    for one, other in zip(small, large, strict=True):
        if one.name in goals:
            name = f"{one.name}: CPU ratio, largest to smallest lake"
            found.append(Figure(name, other.cpu_s / one.cpu_s, "x", goals[one.name]))
            found.append(Figure("  rows written", other.rows / max(1, one.rows), "x"))
    return found


def run(edges: Sequence[int] = EDGES, many: int = MANY, *, steps: bool = False) -> list[Figure]:
    """Measure each size and print its table; returns the ratios between the last and the first size."""
    found = []
    for each in edges:
        found.append(measure(each, many))
        show_costs(f"Spark passes over {each:,} edges", found[-1], steps=steps)
    return ratios(found[0], found[-1])


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, nargs="+", default=EDGES, help="numbers of edges, smallest first")
    parser.add_argument("--many", type=int, default=MANY, help="events with new lineage in the last pass")
    parser.add_argument("--steps", action="store_true", help="print the Spark jobs of each pass")
    given = parser.parse_args()
    show("Spark passes by the size of the graph", run(given.edges, given.many, steps=given.steps))


if __name__ == "__main__":
    main()
