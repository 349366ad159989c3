"""Measure the index and questions on 800,000 column edges: HTTP latency, builds, new events, memory, past states."""

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec

from bench.answers import answers
from bench.figures import QUICK_ROUNDS, ROUNDS, Figure, middle, show
from bench.generate import generate
from bench.growth import growth
from bench.parser import fill_log
from bench.shapes import shapes
from bench.wide import JOBS, wide_events
from headwater.events.position import Source
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.writing.follower import AT_ONCE, IndexFollower
from headwater.index.writing.indexer import Indexer
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.parser.partition_parser import PartitionParser
from headwater.lake.bronze_follower import sources_ahead, stored_bodies, stored_events
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.names.canonical_names import NameRules, default_rules
from headwater.lineage.snapshots.snapshot import without_masking_file
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.runtime.index import open_index_home
from headwater.operations.runtime.storage import OWNER, open_bronze
from headwater.operations.settings import load_settings

NEW_EVENTS = 10_000
RECURRING = 500
KNOWN_EVENTS = 2 * RECURRING
"""The first run of each recurring job, which is not measured."""


def run(rounds: int = ROUNDS, jobs: int = JOBS) -> list[Figure]:
    """Measure on a folder that the parser has filled; each of `rounds` builds starts from scratch."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as name:
        folder = prepare_folder(load_settings({"data": Path(name)}, folder=Path(name), environment={})[0])
        parse(folder, wide_events(jobs))
        figures = _building(folder, rounds)
        figures += answers(folder)
        figures += _new_events(folder, rounds)
    return figures + shapes(rounds)


def _bronze(folder: Path) -> Bronze:
    return open_bronze(load_settings({"data": folder})[0])


def parse(folder: Path, bodies: Iterator[bytes]) -> None:
    """Write events to bronze through a log and a parser."""
    log = fill_log(folder / "log", bodies)
    parser = PartitionParser(log, _bronze(folder), FolderClaims(folder / "claims"), OWNER)
    while parser.commit_next():
        pass
    log.close()


def _building(folder: Path, rounds: int) -> list[Figure]:
    """Build the index from scratch and load it; the floor only decodes the same events."""
    rules = default_rules()
    spent = [_build(folder, rules) for _ in range(rounds)]
    floor = middle([_decode(folder) for _ in range(rounds)])
    build, load = middle([each[0] for each in spent]), middle([each[1] for each in spent])
    return [
        Figure(
            "index from scratch and graph in memory", build + load, "s", 12, floor=floor, ratio=(build + load) / floor
        ),
        Figure("  index from scratch, CPU", middle([each[2] for each in spent]), "s"),
        Figure("  graph from an existing index", load, "s"),
    ]


def _build(folder: Path, rules: NameRules) -> tuple[float, float, float]:
    """Return the time to build, the time to load, and the CPU time to build (s)."""
    shutil.rmtree(folder / "index", ignore_errors=True)
    home = open_index_home(folder)
    follower = IndexFollower(home, _bronze(folder))
    began, cpu = time.perf_counter(), time.process_time()
    while follower.process_batches(rules):
        pass
    built, cpu = time.perf_counter(), time.process_time() - cpu
    follower.close()
    LiveGraph(home.published_file().path, without_masking_file).close()
    return built - began, time.perf_counter() - built, cpu


def _decode(folder: Path) -> float:
    bronze = _bronze(folder)
    began = time.perf_counter()
    for source, head in sources_ahead(bronze, {}).items():
        for after in range(0, head, AT_ONCE):
            for body in stored_bodies(bronze, source, range(after + 1, after + AT_ONCE + 1)).values():
                msgspec.json.decode(body)
    return time.perf_counter() - began


def _new_events(folder: Path, rounds: int) -> list[Figure]:
    """Measure 10,000 new events of recurring jobs, half of 2 KB and half of 15 KB, on the existing index."""
    parse(folder, recurring_events(KNOWN_EVENTS + rounds * NEW_EVENTS))
    rules = default_rules()
    indexer = Indexer(open_index_home(folder).index_path(rules), rules)
    source, last = next(iter(sources_ahead(_bronze(folder), indexer.progress()).items()))
    first = last - rounds * NEW_EVENTS
    _apply(folder, indexer, source, first - KNOWN_EVENTS, first)
    spent = [_apply(folder, indexer, source, at, at + NEW_EVENTS) for at in range(first, last, NEW_EVENTS)]
    indexer.close()
    whole, reading, adding = (middle([each[fact] for each in spent]) for fact in range(3))
    name = f"{NEW_EVENTS:,} new events of recurring jobs"
    return [
        Figure(f"{name}, applied", whole, "s", 1.5, cpu_us=(reading + adding) * 1e6 / NEW_EVENTS),
        Figure("  reading bronze, CPU", reading, "s", cpu_us=reading * 1e6 / NEW_EVENTS),
        Figure("  Indexer.add, CPU", adding, "s", cpu_us=adding * 1e6 / NEW_EVENTS),
    ]


def recurring_events(count: int) -> Iterator[bytes]:
    """Yield START events of 2 KB and COMPLETE events of 15 KB, alternating."""
    pairs = zip(generate(count, 2, jobs=RECURRING), generate(count, 15, jobs=RECURRING), strict=True)
    return (pair[number % 2] for number, pair in enumerate(pairs))


def _apply(folder: Path, indexer: Indexer, source: Source, after: int, last: int) -> tuple[float, float, float]:
    """Index events like `IndexFollower`; returns wall time, CPU time for reading, and CPU time for indexing (s)."""
    bronze = _bronze(folder)
    began, reading, adding = time.perf_counter(), 0.0, 0.0
    for at in range(after, last, AT_ONCE):
        until = min(at + AT_ONCE, last)
        start = time.process_time()
        events = stored_events(bronze, source, at, until)
        read = time.process_time()
        indexer.process_events(source, until, events, partial(stored_bodies, bronze, source))
        reading += read - start
        adding += time.process_time() - read
    return time.perf_counter() - began, reading, adding


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument(
        "--long", type=int, default=0, metavar="N", help="measure only the growth to N times the lineage"
    )
    arguments = parser.parse_args()
    if arguments.long:
        show("Growth", growth(arguments.long))
    else:
        show("Lineage", run(QUICK_ROUNDS if arguments.quick else ROUNDS))


if __name__ == "__main__":
    main()
