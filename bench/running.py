"""Run the processes under measurement: Headwater, the floor receiver, and the load on them."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from bench.figures import percentile
from bench.generate import generate


@dataclass(frozen=True, slots=True)
class Server:
    """A running receiver: its URL, the process that is measured, and the other processes of `headwater up`."""

    url: str
    process: psutil.Process
    parser: psutil.Process | None = None
    folder: Path = Path()
    index: psutil.Process | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """The results of a load: the server's CPU per event (us), latencies (ms) and throughput."""

    cpu_us: float
    p50_ms: float
    p99_ms: float
    events_per_s: float


@contextmanager
def headwater(*, tick: str | None = None, folder: Path | None = None) -> Iterator[Server]:
    """Run `headwater up` on a free port; `folder` defaults to a temporary folder, `tick` to the default setting."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as name:
        folder = folder or Path(name)
        up = ["up", "--data", str(folder), "--port", "0", *(["--tick", tick] if tick else [])]
        with _started(["-c", "from headwater.cli import main; main()", *up], " listens on ") as (_, line):
            url = line.split(" listens on ")[1].split()[0]
            serve, parser, index = (
                psutil.Process(int((folder / "run" / f"{role}.pid").read_text()))
                for role in ("serve", "parser", "index")
            )
            yield Server(url, serve, parser, folder, index)


def memory_mb(process: psutil.Process, name: str) -> float:
    """Return the memory of a process in MB: `VmRSS` is current memory, `VmHWM` is peak memory."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"/proc/{process.pid}/status does not contain {name}.")


@contextmanager
def floor_receiver() -> Iterator[Server]:
    """Run the floor receiver (`bench.floor_receiver`)."""
    with (
        tempfile.TemporaryDirectory(prefix="headwater-bench-") as name,
        _started(["-m", "bench.floor_receiver", name], "http://") as (process, line),
    ):
        yield Server(line.strip(), psutil.Process(process.pid))


@contextmanager
def _started(arguments: list[str], wanted: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        line = next((line for line in process.stdout if wanted in line), None)
        if line is None:
            raise SystemExit(f"{arguments} exited before it listened. Its output above contains the reason.")
        yield process, line
    finally:
        process.terminate()
        process.wait(30)


def write_events(file: Path, count: int, kilobytes: int, *, jobs: int = 300, new_lineage: bool = False) -> Path:
    """Write generated events to an NDJSON file."""
    file.write_bytes(b"\n".join(generate(count, kilobytes, jobs=jobs, new_lineage=new_lineage)))
    return file


@contextmanager
def incoming(url: str, file: Path, rate: int, *, start: int) -> Iterator[None]:
    """Send the events of a file at `rate` per second from a separate process; start: see `bench.load.bodies`."""
    flags = [f"--rate={rate}", "--count=1000000", f"--start={start}", "--lazy"]
    process = subprocess.Popen([sys.executable, "-m", "bench.load", url, str(file), *flags], stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


def answers(url: str, file: Path, **options: float) -> dict[str, Any]:
    """Send events from a separate process, and return the statuses, latencies and duration."""
    flags = [f"--{name}={value}" for name, value in options.items() if value is not True]
    flags += [f"--{name}" for name, value in options.items() if value is True]
    command = [sys.executable, "-m", "bench.load", url, str(file), *flags]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return found


def load(server: Server, file: Path, **options: float) -> Load:
    """Send events from a separate process. Raises SystemExit unless the server acknowledges all of them."""
    before = server.process.cpu_times()
    found = answers(server.url, file, **options)
    after = server.process.cpu_times()
    if not found["statuses"].keys() <= {"200", "204"}:
        raise SystemExit(f"{server.url} responded with {found['statuses']}, so there is no valid measurement.")
    cpu_s = after.user + after.system - before.user - before.system
    waits = found["waits_ms"]
    return Load(
        cpu_us=cpu_s * 1e6 / found["events"],
        p50_ms=percentile(waits, 0.5),
        p99_ms=percentile(waits, 0.99),
        events_per_s=found["events"] / found["seconds"],
    )
