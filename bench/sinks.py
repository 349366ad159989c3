"""Measure sinks on one core: from the lake to a folder and to a no-op HTTP server. The floor only reads the lake."""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec
import psutil

from bench.figures import QUICK_ROUNDS, ROUNDS, Figure, middle, show
from bench.generate import generate
from bench.parser import fill_log
from bench.running import memory_mb
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.parser.partition_parser import PartitionParser
from headwater.lake.bronze_tables import Bronze
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.settings import load_settings
from headwater.sinks.connecting.secrets import Secrets
from headwater.sinks.interface.shape import Target
from headwater.sinks.interface.sinks_file import parse_sinks
from headwater.sinks.interface.target_registry import open_sink
from headwater.sinks.merging.payloads import build_payloads
from headwater.sinks.running.feed import SinkFeed
from headwater.sinks.running.ledger import SinkLedger
from headwater.sinks.running.runner import SinkRunner

EVENTS = 20_000
REPLAYED = 100_000
KILOBYTES = 2


def run(rounds: int = ROUNDS) -> list[Figure]:
    """Measure 20,000 events of 2 KB for each target; the floor reads them without a target."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder, _no_op() as url:
            bronze = f"{folder}/bronze"
            _fill(Path(folder), bronze)
            floor = [_timed(lambda: _read(bronze)) for _ in range(rounds)]
            whole = [_timed(partial(_read, bronze, _catalog("datahub", url))) for _ in range(rounds)]
            built = [_timed(partial(_read, bronze, _catalog("purview", url))) for _ in range(rounds)]
            http = {"type": "openlineage", "url": url}
            return [
                Figure("read the lake", *_rate(floor), cpu_us=_cpu_us(floor)),
                Figure("read, and convert for datahub", *_rate(whole), goal=3_000, sense=">=", cpu_us=_cpu_us(whole)),
                Figure("read, and convert for purview", *_rate(built), goal=3_000, sense=">=", cpu_us=_cpu_us(built)),
                _measure("file", rounds, folder, {"type": "file", "folder": f"{folder}/out"}, 20_000),
                _measure("openlineage, 500 per request", rounds, folder, {**http, "batch": 500}, 2_000),
                _measure("openlineage, one per request", rounds, folder, http, None),
                *_replay(Path(folder) / "data", url),
            ]
    finally:
        os.sched_setaffinity(0, cores)


def _measure(name: str, rounds: int, folder: str, options: dict[str, Any], goal: float | None) -> Figure:
    text = msgspec.json.encode({"version": 1, "sinks": {"out": options | {"every": "1ms"}}}).decode()
    times = [_timed(partial(_drain, f"{folder}/{name}-{number}", folder, text)) for number in range(rounds)]
    value, unit = _rate(times)
    return Figure(name, value, unit, goal=goal, sense=">=", cpu_us=_cpu_us(times))


def _replay(data: Path, url: str) -> Iterator[Figure]:
    """Replay a lake with `headwater replay` in a separate process."""
    _fill(data, f"{data}/lake/bronze", REPLAYED)
    prepare_folder(load_settings({"data": data})[0])
    began = time.perf_counter()
    command = [sys.executable, "-m", "headwater", "replay", "--data", str(data), "--to", url, "--json"]
    process = psutil.Popen(command, stdout=subprocess.DEVNULL)
    memory = 0.0
    while process.poll() is None:
        with suppress(OSError, SystemExit):  # the process may have exited
            memory = memory_mb(process, "VmHWM")
        time.sleep(0.05)
    if process.returncode:
        raise RuntimeError(f"headwater replay exited with status {process.returncode}; its output has the reason.")
    name = f"replay of {REPLAYED:,} events"
    yield Figure(name, REPLAYED / (time.perf_counter() - began), "events/s")
    yield Figure("  peak memory", memory, "MB", goal=300)


def _catalog(kind: str, url: str) -> Target:
    options = {"type": kind, "url": url, "key": {"env": "KEY"}}
    text = msgspec.json.encode({"version": 1, "sinks": {"out": options}}).decode()
    return open_sink(parse_sinks(text, "bench").sinks["out"], Secrets(lambda _: "", {"KEY": "k"}).reveal)


def _rate(times: list[tuple[float, float]]) -> tuple[float, str]:
    return EVENTS / middle([wall for wall, _ in times]), "events/s"


def _cpu_us(times: list[tuple[float, float]]) -> float:
    return middle([cpu for _, cpu in times]) / EVENTS * 1e6


def _timed(work: Callable[[], None]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def _fill(folder: Path, bronze: str, events: int = EVENTS) -> None:
    log = fill_log(folder / "log", generate(events, KILOBYTES))
    parser = PartitionParser(log, Bronze(bronze), FolderClaims(folder / "claims"), "bench")
    while parser.commit_next():
        pass


def _read(bronze: str, target: Target | None = None) -> None:
    """Read all events and, if there is a target, convert them without sending them."""
    lake = Bronze(bronze)
    feed, progress = SinkFeed(lake, lambda _: True), dict[tuple[str, str], int]()
    while batch := feed.next_batch(progress):
        if target:
            build_payloads(target, lake, batch.events)
        progress[batch.source.epoch, batch.source.partition] = batch.until


def _drain(ledger: str, folder: str, text: str) -> None:
    """Run the sink until it has delivered all events."""
    stop = threading.Event()
    runner = SinkRunner(
        parse_sinks(text, "bench").sinks["out"], secrets=Secrets(lambda _: ""), bronze=Bronze(f"{folder}/bronze"),
        ledger=SinkLedger(ledger), stop=stop, poll_s=0.01,
    )  # fmt: skip
    thread = threading.Thread(target=runner.run)
    thread.start()
    while runner.status.delivered < EVENTS:
        time.sleep(0.005)
    stop.set()
    thread.join()


@contextmanager
def _no_op() -> Iterator[str]:
    """Run an HTTP server in another process that responds to every POST with 200."""
    context = get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    yield f"http://127.0.0.1:{mine.recv()}"
    process.kill()


def _serve(ready: Connection) -> None:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    ready.send(server.server_port)
    server.serve_forever()


if __name__ == "__main__":
    show("Sinks", run(QUICK_ROUNDS))
