"""Measure how index cost grows from 800,000 column edges to a multiple of that, each size in separate processes."""

import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.figures import Figure, percentile
from bench.parser import fill_log
from bench.wide import EDGES, IN_LAYER, JOBS, NAMESPACE, early_columns, wide_events
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.writing.follower import IndexFollower
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.parser.partition_parser import PartitionParser
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.snapshots.snapshot import without_masking_file
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.runtime.index import open_index_home
from headwater.operations.runtime.storage import OWNER, open_bronze
from headwater.operations.settings import load_settings
from headwater.questions.parameters import MAX_DEPTH
from headwater.questions.reach import reach_answer
from headwater.questions.subjects import Bounds, Subject

ASKED = 200
STEEPEST = 1.1


class Grown(Struct):
    """The costs at one size: CPU time (s), CPU time per answer (ms), peak memory, graph memory and file size (MB)."""

    build: float
    load: float
    impact: float
    writer_mb: float
    graph_mb: float
    file_mb: float


def growth(times: int) -> list[Figure]:
    """Measure 800,000 edges and `times` as many. A slope of 1 means that the cost grows linearly."""
    small, large = _grown(1), _grown(times)
    found = []
    for name, unit in (
        ("build", "s"), ("load", "s"), ("impact", "ms"), ("writer_mb", "MB"), ("graph_mb", "MB"), ("file_mb", "MB"),
    ):  # fmt: skip
        before, after = getattr(small, name), getattr(large, name)
        slope = math.log(after / before, times)
        found.append(Figure(f"{JOBS * EDGES:,} edges: {name}", before, unit))
        found.append(Figure(f"{times * JOBS * EDGES:,} edges: {name}", after, unit))
        found.append(Figure("  slope", slope, "", STEEPEST))
    return found


def _grown(times: int) -> Grown:
    """Measure in separate processes, so that no earlier measurement affects their memory."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as name:
        for step in ("parse", "build", "ask"):
            command = [sys.executable, "-m", "bench.growth", step, name, str(times)]
            output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
            if step == "build":
                built = msgspec.json.decode(output)
        return msgspec.convert({**built, **msgspec.json.decode(output)}, Grown)


def _build(folder: Path, _: int) -> dict[str, float]:
    home, rules = open_index_home(folder), default_rules()
    follower = IndexFollower(home, _bronze(folder))
    with _cpu() as spent:
        while follower.process_batches(rules):
            pass
    follower.close()
    size = home.published_file().path.stat().st_size
    return {"build": spent[0], "writer_mb": _memory_mb("VmHWM"), "file_mb": size / 2**20}


def _ask(folder: Path, times: int) -> dict[str, float]:
    before, rules = _memory_mb("VmRSS"), default_rules()
    with _cpu() as spent:
        live = LiveGraph(open_index_home(folder).published_file().path, without_masking_file)
    graph_mb, answers = _memory_mb("VmRSS") - before, []
    for table, column in early_columns(times * IN_LAYER)[:ASKED]:
        with _cpu() as one:
            asked = Subject(NAMESPACE, table, column)
            found = reach_answer(
                live, rules, asked, live.counted_edges(), forward=True, mode="value", bounds=Bounds(MAX_DEPTH, 1000)
            )
            msgspec.json.encode(found)
        if found.truncated:  # ignore the few columns that reach fewer than 1,000
            answers.append(one[0] * 1000)
    return {"load": spent[0], "impact": percentile(answers, 0.5), "graph_mb": graph_mb}


def _parse(folder: Path, times: int) -> dict[str, float]:
    prepare_folder(load_settings({"data": folder}, folder=folder, environment={})[0])
    log = fill_log(folder / "log", wide_events(times * JOBS, times * IN_LAYER))
    parser = PartitionParser(log, _bronze(folder), FolderClaims(folder / "claims"), OWNER)
    while parser.commit_next():
        pass
    log.close()
    return {}


def _bronze(folder: Path) -> Bronze:
    return open_bronze(load_settings({"data": folder})[0])


@contextmanager
def _cpu() -> Iterator[list[float]]:
    spent: list[float] = []
    began = time.process_time()
    yield spent
    spent.append(time.process_time() - began)


def _memory_mb(name: str) -> float:
    """Return a value of /proc/self/status in MB: `VmRSS` is current memory, `VmHWM` is peak memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


if __name__ == "__main__":
    _, step, path, count = sys.argv
    done = {"parse": _parse, "build": _build, "ask": _ask}[step](Path(path), int(count))
    sys.stdout.buffer.write(msgspec.json.encode(done))
