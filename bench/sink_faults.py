"""Measure how far a healthy `file` sink lags behind the lake, with and without a faulty sink in the same process.

Run `python -m bench.sink_faults`. Each commit contains one event. The lag is the time between the commit file in
Delta's log and the file that the sink writes; it includes the sink's polling interval of 50 ms.
"""

import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

from bench.figures import percentile
from headwater.sinks.running.runner import SinkRunner
from tests.support.data.sink_world import SinkWorld, bodies, events, sink
from tests.support.faults.sink_faults import FAULTS, faulty_server

EVENTS = 20


def main() -> None:
    for name in ("none", *FAULTS, "none"):
        lags, commits = _lags(name)
        middle, worst = (percentile(lags, share) * 1000 for share in (0.5, 0.99))
        lake = percentile(commits, 0.5) * 1000
        print(f"{name:28} lag p50 {middle:5.0f} ms, p99 {worst:6.0f} ms; commit to the lake p50 {lake:6.0f} ms")


def _lags(name: str) -> tuple[list[float], list[float]]:
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
        world = SinkWorld(Path(folder, "data"))
        healthy = sink(type="file", folder=f"{folder}/out", every="1ms")._replace(name="healthy")
        with nullcontext() if name == "none" else faulty_server(name) as served:
            faulty = sink(type="openlineage", url=served[1]) if served else None
            with world.running(faulty) if faulty else nullcontext(), world.running(healthy) as runner:
                return _measured(world, runner, Path(folder, "out"))


def _measured(world: SinkWorld, runner: SinkRunner, out: Path) -> tuple[list[float], list[float]]:
    took = []
    for body in bodies(events(EVENTS)):
        before = time.perf_counter()
        world.store(body)
        took.append(time.perf_counter() - before)
    while runner.status.delivered < EVENTS:
        time.sleep(0.01)
    commits = sorted((world.folder / "lake/bronze/events/_delta_log").glob("*.json"))[-EVENTS:]
    files = sorted(out.rglob("*.ndjson"))
    arrived = [each.stat().st_mtime for each in files for _ in each.read_text().splitlines()]
    return [at - each.stat().st_mtime for at, each in zip(arrived, commits, strict=True)], took


if __name__ == "__main__":
    main()
