"""Measure `headwater ingest`: rate, memory, the cost of a pass without new files, and the delay of a followed file.

With `--one-each N`, measure N files with one small event each in one folder instead.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from uuid import UUID

import httpx
import psutil

from bench.figures import Figure, middle, percentile, show
from bench.generate import generate
from bench.running import headwater
from headwater.common.http_connection import HttpAnswer
from headwater.intake.files.batch_sending import BatchSender
from headwater.intake.files.file_taking import FileIngester
from headwater.intake.files.sources.local_files import LocalFiles
from headwater.intake.files.taken_ledger import IngestLedger

EVENTS, FILES = 100_000, 2_000
QUICK_EVENTS, QUICK_FILES = 10_000, 200
LATE = 30
_ACKNOWLEDGED = "headwater_events_acknowledged_total"


class Run(NamedTuple):
    """The costs of one run of the command; cpu_s includes its start."""

    wall_s: float
    cpu_s: float
    memory_mb: float


def run(events: int = EVENTS, files: int = FILES, kilobytes: int = 2) -> list[Figure]:
    """Measure runs with a tenth of the events, with all events and with nothing new, then follow a growing file."""
    with TemporaryDirectory(prefix="headwater-bench-") as name, headwater() as server:
        folder, state = Path(name) / "in", Path(name) / "state"
        _write(folder, events, files, kilobytes)
        less = Path(name) / "less"
        _write(less, events // 10, files // 10, kilobytes)
        (empty := Path(name) / "empty").mkdir()
        idle = _ingest(empty, server.url, state)
        small, large = _ingest(less, server.url, state), _ingest(folder, server.url, Path(name) / "other")
        again = [_ingest(folder, server.url, Path(name) / "other") for _ in range(3)]
        poll_s = middle([each.cpu_s for each in again]) - idle.cpu_s
        late = _late_s(Path(name) / "log.ndjson", server.url, state)
    rate = events / (large.wall_s - idle.wall_s)
    cpu_us = (large.cpu_s - idle.cpu_s) / events * 1e6
    return [
        Figure(f"{events:,} events of {kilobytes} KB in {files:,} files", rate, "events/s", 5_000, ">=", cpu_us=cpu_us),
        Figure(f"memory, {events // 10:,} events", small.memory_mb, "MB"),
        Figure(f"memory, {events:,} events", large.memory_mb, "MB", small.memory_mb * 1.1),
        Figure(f"a pass over {files:,} files, nothing new", poll_s * 1000, "ms CPU"),
        Figure("a followed file: appended to acknowledged, p50", middle(late), "s"),
        Figure("a followed file: appended to acknowledged, max", percentile(late, 1.0), "s", 2.0),
    ]


def run_one_each(files: int) -> list[Figure]:
    """Measure folders with `files` files of one event each and with a tenth of that, then passes without new files."""
    with TemporaryDirectory(prefix="headwater-bench-") as name, headwater() as server:
        runs = {}
        for count in (0, files // 10, files):
            folder, state = Path(name) / f"in{count}", Path(name) / f"state{count}"
            _write_one_each(folder, count)
            runs[count] = _ingest(folder, server.url, state)
        again = _ingest(folder, server.url, state)
        looks_s, listing_s = _looks_s(folder, next(state.glob("*.sqlite"))), _listing_s(folder)
        with _following(folder, server.url, state) as process:
            cores = _cores(process.pid)
    idle, few, all_ = runs.values()
    return [
        Figure(
            f"{count:,} files of one event",
            count / (run.wall_s - idle.wall_s),
            "files/s",
            cpu_us=(run.cpu_s - idle.cpu_s) / count * 1e6,
        )
        for count, run in ((files // 10, few), (files, all_))
    ] + [
        Figure("memory", all_.memory_mb, "MB", few.memory_mb * 1.1, floor=idle.memory_mb),
        Figure("a second run", again.cpu_s - idle.cpu_s, "CPU-s"),
        Figure("a pass of --follow, nothing new", middle(looks_s), "CPU-s", 0.5, floor=listing_s),
        Figure("--follow, nothing new", cores, "cores", 0.2),
    ]


def _write_one_each(folder: Path, files: int) -> None:
    folder.mkdir()
    for number in range(files):
        name = {"job": {"namespace": "bench", "name": f"job{number % 300}"}, "run": {"runId": str(UUID(int=number))}}
        event = {"eventType": "START", "eventTime": "2026-03-01T00:00:00Z", "producer": "urn:bench", **name}
        (folder / f"{number:06}-1events.ndjson").write_bytes(json.dumps(event).encode() + b"\n")


def _looks_s(folder: Path, taken: Path) -> list[float]:
    """Return the CPU seconds of each pass in this process, except for the first."""
    ledger = IngestLedger(taken)
    sender = BatchSender(lambda *_: HttpAnswer(500, {}, b""), patience_s=0)  # nothing is sent
    taker, found = FileIngester(ledger, sender, bytes, lambda _: None), []
    for _ in range(6):
        began = time.process_time()
        taker.ingest([LocalFiles(folder)])
        found.append(time.process_time() - began)
    ledger.close()
    return found[1:]


def _listing_s(folder: Path) -> float:
    """Return the CPU seconds of a plain directory listing with sizes and times."""
    began = time.process_time()
    with os.scandir(folder) as entries:
        for entry in entries:
            entry.stat()
    return time.process_time() - began


def _cores(pid: int) -> float:
    """Return the share of a core that a process uses for 30 s, starting 15 s from now."""
    process = psutil.Process(pid)
    time.sleep(15)
    before, began = process.cpu_times(), time.perf_counter()
    time.sleep(30)
    after = process.cpu_times()
    return (after.user + after.system - before.user - before.system) / (time.perf_counter() - began)


def _write(folder: Path, events: int, files: int, kilobytes: int) -> None:
    """Write files like those of the OneLake transport, for several days."""
    made = generate(events, kilobytes, seed=files)
    for number in range(files):
        bodies = list(islice(made, events // files))
        path = folder / f"dt=2026-03-{1 + number % 28:02}" / f"{number}-{len(bodies)}events.ndjson"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(body + b"\n" for body in bodies))


def _ingest(folder: Path, url: str, state: Path) -> Run:
    began = time.perf_counter()
    process = _started(folder, url, state)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("`headwater ingest` failed. Its output above contains the reason.")
    return Run(time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def _started(path: Path, url: str, state: Path, *more: str) -> "subprocess.Popen[bytes]":
    command = ["ingest", str(path), "--server", url, "--state", str(state), "--json", *more]
    return subprocess.Popen(
        [sys.executable, "-c", "from headwater.cli import main; main()", *command], stdout=subprocess.DEVNULL
    )


def _late_s(path: Path, url: str, state: Path) -> list[float]:
    """Append one event at a time, at irregular intervals, and wait until the receiver acknowledges it."""
    path.touch()
    found = []
    with httpx.Client(base_url=url) as client, _following(path, url, state):
        for number, body in enumerate(generate(LATE + 1, 2, seed=1)):
            before = _acknowledged(client)
            with path.open("ab") as file:
                file.write(body + b"\n")
            began = time.perf_counter()
            while _acknowledged(client) == before:
                time.sleep(0.005)
            found.append(time.perf_counter() - began)
            time.sleep(0.137 * (number % 7))
    return found[1:]  # the first wait includes the start of the command


@contextmanager
def _following(path: Path, url: str, state: Path) -> Iterator["subprocess.Popen[bytes]"]:
    process = _started(path, url, state, "--follow")
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def _acknowledged(client: httpx.Client) -> float:
    lines = client.get("/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(_ACKNOWLEDGED))


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--quick", action="store_true", help="a tenth of the events")
    arguments.add_argument("--one-each", type=int, metavar="N")
    given = arguments.parse_args()
    if given.one_each:
        show("Ingest, one event a file", run_one_each(given.one_each))
    else:
        show("Ingest", run(*((QUICK_EVENTS, QUICK_FILES) if given.quick else (EVENTS, FILES))))
