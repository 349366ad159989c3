"""Files to bronze by Spark: events per second on two cores, many small files in one folder."""

import argparse
import tempfile
from itertools import islice
from pathlib import Path

from bench.figures import Figure, show
from bench.generate import generate
from bench.stream import CORES, timed
from headwater.lake.bronze_tables import Bronze
from headwater.spark.landing.landing_kinds import Landing, take_in
from headwater.spark.session import local_session

EVENTS = 100_000
QUICK_EVENTS = 20_000
FILE_EVENTS = 50
KILOBYTES = 2
GOAL = 5_000


def run(events: int = EVENTS) -> list[Figure]:
    """Measure the first ingest of a folder, which a small one has warmed Spark up for; then one that finds nothing."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as name, local_session(CORES, streams=True) as spark:
        folder = Path(name)
        for place, count, seed in (("warm", 40 * FILE_EVENTS, 1), ("measured", events, 7)):
            _write(folder / place, count, seed)
            Bronze(f"{name}/{place}-lake/bronze").create("parser/local", "bench")

        def ingest(place: str) -> None:
            take_in(spark, f"{name}/{place}-lake", Landing(str(folder / place), "bench"), print)

        ingest("warm")
        taken_s, taken_us = timed(events, lambda: ingest("measured"))
        again_s, _ = timed(events, lambda: ingest("measured"))
    what = f"{events:,} events of {KILOBYTES} KB in {events // FILE_EVENTS:,} files"
    return [
        Figure(f"{what}: Spark, {CORES} cores: events/s", events / taken_s, "1/s", GOAL, ">=", cpu_us=taken_us),
        Figure(f"{what}: nothing new", again_s, "s"),
    ]


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
