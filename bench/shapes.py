"""Measure the cost of indexing by how much of the events recurs: time, bytes on disk, and runs with a known shape."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench.answers import Client
from bench.figures import Figure, middle, percentile
from bench.generate import generate
from bench.parser import fill_log
from bench.running import headwater
from headwater.index.writing.follower import AT_ONCE
from headwater.index.writing.indexer import Indexer
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.parser.partition_parser import PartitionParser
from headwater.lake.bronze_follower import sources_ahead, stored_bodies, stored_events
from headwater.lineage.names.canonical_names import default_rules
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.runtime.storage import OWNER, open_bronze
from headwater.operations.settings import load_settings

EVENTS = 20_000
KILOBYTES = 12
JOBS = 300
ASKED = 100
SPARK = Path(__file__).parent.parent / "tests" / "fixtures" / "events" / "spark-3.5.7-listener-1.53.0.ndjson"

MIXES: dict[str, tuple[Iterator[bytes], float | None, float | None]] = {
    f"{JOBS} recurring jobs": (generate(EVENTS, KILOBYTES, jobs=JOBS), 8_000, 2.5),
    "a fifth of the outputs with dates": (generate(EVENTS, KILOBYTES, jobs=JOBS, dated=True), None, None),
    "column lineage always new": (generate(EVENTS // 5, KILOBYTES, jobs=JOBS, new_lineage=True), None, None),
    "recorded, Spark's listener": (iter(SPARK.read_bytes().splitlines()), None, None),
}
"""Name -> events, and the goals: events per second, KB per event."""


class Built(NamedTuple):
    """The cost of an index built from scratch: wall and CPU time (s), bytes, share of runs with a known shape."""

    wall: float
    cpu: float
    size: int
    known: float


def shapes(rounds: int) -> list[Figure]:
    """Build the index of each mix from scratch, and measure requests for the newest runs of a job."""
    found: list[Figure] = []
    for name, (events, per_second, kilobytes) in MIXES.items():
        with tempfile.TemporaryDirectory(prefix="headwater-bench-") as path:
            folder = prepare_folder(load_settings({"data": Path(path)}, folder=Path(path), environment={})[0])
            count = _parse(folder, events)
            found += _figures(name, count, [_build(folder) for _ in range(rounds)], per_second, kilobytes)
            if per_second:
                found.append(_runs(folder))
    return found


def _figures(name: str, count: int, built: list[Built], per_second: float | None, kb: float | None) -> list[Figure]:
    wall, cpu = middle([each.wall for each in built]), middle([each.cpu for each in built])
    return [
        Figure(f"index from scratch, {count:,} events, {name}", count / wall, "1/s", per_second, ">=",
               cpu_us=cpu * 1e6 / count),
        Figure("  on disk, per event", built[0].size / count / 1000, "KB", kb),
        Figure("  runs with a known shape", built[0].known * 100, "%"),
    ]  # fmt: skip


def _parse(folder: Path, events: Iterator[bytes]) -> int:
    """Write events to bronze and return their number."""
    bodies = list(events)
    log = fill_log(folder / "log", iter(bodies))
    parser = PartitionParser(
        log, open_bronze(load_settings({"data": folder})[0]), FolderClaims(folder / "claims"), OWNER
    )
    while parser.commit_next():
        pass
    log.close()
    return len(bodies)


def _build(folder: Path) -> Built:
    """Build an index from scratch like `IndexFollower`; its size includes the write-ahead log."""
    shutil.rmtree(folder / "bench", ignore_errors=True)
    bronze = open_bronze(load_settings({"data": folder})[0])
    began, cpu = time.perf_counter(), time.process_time()
    indexer = Indexer(folder / "bench" / "index.sqlite", default_rules())
    for source, head in sources_ahead(bronze, {}).items():
        for after in range(0, head, AT_ONCE):
            until = min(after + AT_ONCE, head)
            bodies = partial(stored_bodies, bronze, source)
            indexer.process_events(source, until, stored_events(bronze, source, after, until), bodies)
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    size = sum(file.stat().st_size for file in (folder / "bench").iterdir())
    lookups, hits = indexer.shape_cache_counts()
    indexer.close()
    return Built(wall, cpu, size, hits / lookups)


def _runs(folder: Path) -> Figure:
    """Request the newest runs of jobs from a running Headwater, as the job page of Marquez does."""
    with headwater(tick="1s", folder=folder) as server:
        client = Client(server.url)
        client.wait_for_index()
        names = [f"etl_{job // 20:03d}.execute_insert_into.job_{job:04d}" for job in range(ASKED)]
        paths = [f"/api/v1/namespaces/spark_prod/jobs/{name}/runs" for name in names]
        waits = [client.get(path, limit="20")[0] for path in paths]
        return Figure("a job's 20 newest runs with facets: p50", percentile(waits, 0.5), "ms", 8)
