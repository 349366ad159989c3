"""Measure memory and disk use after a million events, and the cost of an append after thousands of commits."""

import argparse
import tempfile
import time
from pathlib import Path

import httpx

from bench.figures import Figure, middle, show
from bench.generate import generate
from bench.parser import fill_log
from bench.running import Server, headwater, load, memory_mb, write_events
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.parser.partition_parser import PartitionParser
from headwater.lake.bronze_tables import Bronze
from headwater.lake.maintenance import compact_tables
from headwater.lake.open_table import REOPEN_AFTER

EVENTS = 1_000_000
QUICK_EVENTS = 100_000
COMMITS = 2_600
FIRST = 100
IN_BATCH = 500
MB = 1 << 20


def run(events: int = EVENTS) -> list[Figure]:
    """Measure memory and disk use with `events` events of 2 KB, then appends of 2 events."""
    return [*_memory_and_disk(events), *_appends()]


def _memory_and_disk(events: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as name, headwater(tick="1s") as server:
        file = write_events(Path(name) / "2.ndjson", 1000, 2)
        began = time.perf_counter()
        sent = load(server, file, count=events, batch=IN_BATCH, connections=4, lazy=True)
        _wait_until_stored(server, events)
        seconds = time.perf_counter() - began
        size = file.stat().st_size / 1000
        assert server.parser
        return [
            Figure(f"serve after {events:,} events: memory now", memory_mb(server.process, "VmRSS"), "MB", 150),
            Figure("serve: peak memory", memory_mb(server.process, "VmHWM"), "MB"),
            Figure("serve: CPU per event, batches of 500", sent.cpu_us, "us", cpu_us=sent.cpu_us),
            Figure(f"parser after {events:,} events: memory now", memory_mb(server.parser, "VmRSS"), "MB", 400),
            Figure("parser: peak memory", memory_mb(server.parser, "VmHWM"), "MB"),
            Figure("events/s from POST to lake", events / seconds, "1/s"),
            Figure("log on disk, per event", _bytes(server.folder / "log") / events, "bytes", floor=size),
            Figure("lake on disk, per event", _bytes(server.folder / "lake") / events, "bytes", floor=size),
        ]


def _wait_until_stored(server: Server, events: int) -> None:
    with httpx.Client(base_url=server.url, timeout=60) as client:
        while True:
            found = client.get("/api/headwater/v1/audit").json()
            if found.get("stored") == events and found["pending"] == 0:
                return
            if found.get("pending") == 0:
                raise SystemExit(f"The benchmark sent {events} events, but the audit reports {found}.")
            time.sleep(0.5)


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _appends() -> list[Figure]:
    """Commit 2,600 batches of 2 events, with the same compaction as the parser process."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as name:
        folder = Path(name)
        log = fill_log(folder / "log", generate(2 * COMMITS, 2))
        bronze = Bronze(str(folder / "bronze"))
        parser = PartitionParser(log, bronze, FolderClaims(folder / "claims"), "bench")
        spent, compacting = [], []
        for number in range(COMMITS):
            records = log.read(2 * number, limit=2, max_bytes=MB)
            began = time.process_time()
            parser.commit_delivery(records)
            spent.append((time.process_time() - began) * 1000)
            if (number + 1) % REOPEN_AFTER == 0:
                began = time.process_time()
                compact_tables(bronze)
                compacting.append((time.process_time() - began) * 1000)
        log.close()
    early, late = middle(spent[:FIRST]), middle(spent[-FIRST:])
    return [
        Figure("append after 2,500 commits / the first 100, CPU", late / early, "x", 2.0, ratio=late / early),
        Figure("append: the first 100", early, "ms"),
        Figure("append: after 2,500 commits", late, "ms"),
        Figure("compaction after 100 commits, the last five", middle(compacting[-5:]), "ms"),
    ]


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--events", type=int)
    given = parser.parse_args()
    show("Long run", run(given.events or (QUICK_EVENTS if given.quick else EVENTS)))


if __name__ == "__main__":
    main()
