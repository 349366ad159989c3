"""Measure the Marquez API over HTTP, sequentially over one connection: median and p99.

The first part uses 20,000 events of 500 jobs and 1,000 datasets with 20 columns, at rest and under 500 events/s. The
second part uses 800,000 column edges, and the third builds the index of 200,000 events from scratch. `--quick` runs
only the first part. `python -m bench.reading FILE` runs it with the events of a file, one JSON event per line.
"""

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import msgspec

from bench.answers import Client
from bench.figures import Figure, percentile, show
from bench.lineage import parse
from bench.load import bodies
from bench.running import Server, headwater, incoming, memory_mb, write_events
from bench.wide import wide_events
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.settings import load_settings

EVENTS = 20_000
JOBS = 500
KILOBYTES = 12
"""The event size that corresponds to 20 columns per dataset."""

MANY_EVENTS = 200_000
BATCH = 200
RATE = 500

API = "/api/v1"
Ask = Callable[[Client, str], tuple[float, int, bytes]]


def _lineage(path: str, **query: str) -> Ask:
    return lambda client, dataset: client.get(f"{API}/{path}", nodeId=dataset, **query)


def _plain(path: str, **query: str) -> Ask:
    return lambda client, _: client.get(f"{API}/{path}", **query)


CALLS: dict[str, tuple[Ask, int, float | None]] = {
    "lineage depth 2": (_lineage("lineage", depth="2"), 300, 10),
    "lineage depth 20": (_lineage("lineage", depth="20"), 20, None),
    "column-lineage depth 5": (_lineage("column-lineage", depth="5"), 300, 20),
    "column-lineage depth 20": (_lineage("column-lineage", depth="20"), 100, 100),
    "column-lineage depth 20, both ways": (_lineage("column-lineage", depth="20", withDownstream="true"), 50, None),
    "jobs?limit=10": (_plain("jobs", limit="10"), 300, 5),
    "search": (lambda client, dataset: client.get(f"{API}/search", q=dataset[-11:], limit="100"), 300, 5),
    "namespaces": (_plain("namespaces"), 300, 3),
    "datasets?limit=20": (lambda client, dataset: _of_namespace(client, dataset, "datasets?limit=20"), 100, None),
    "events/lineage?limit=50": (_plain("events/lineage", limit="50"), 50, None),
    "stats/lineage-events": (_plain("stats/lineage-events", period="DAY"), 100, None),
}
"""Name -> the request, the number of repetitions, and the goal for the median (ms) with 20,000 events at rest."""

BUSY, WIDE = 2, 5
"""Factors of the goal with incoming events, and with 800,000 column edges."""


def run() -> list[Figure]:
    """Run all parts, which takes about a quarter of an hour."""
    return [*run_quick(), *_wide(), *_many()]


def run_quick(file: Path | None = None) -> list[Figure]:
    """Send the events, wait for the index, and measure at rest and with 500 incoming events per second."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-", dir="/dev/shm") as name:
        events = file or write_events(Path(name) / "events.ndjson", EVENTS, KILOBYTES, jobs=JOBS)
        with headwater(tick="1s", folder=Path(name) / "data") as server:
            client = Client(server.url)
            began = time.perf_counter()
            _send(server.url, events)
            _wait(client, sum(1 for _ in events.open("rb")))
            built = time.perf_counter() - began
            figures = [*_ask_all(server, client, "")]
            index = sum(each.stat().st_size for each in (server.folder / "index").glob("*.sqlite"))
            with incoming(server.url, events, RATE, start=1):
                time.sleep(3)
                figures += _ask_all(server, client, f", {RATE} incoming events/s", BUSY)
            return [
                *figures,
                Figure("events sent and in the index", built, "s"),
                Figure("  size of the index", index / 1e6, "MB"),
                *_memory(server),
            ]


def _wide() -> list[Figure]:
    """Measure the requests on 800,000 column edges."""
    with _folder() as folder:
        parse(folder, wide_events())
        with headwater(tick="1s", folder=folder) as server:
            client = Client(server.url)
            client.wait_for_index()
            return [*_ask_all(server, client, ", 800,000 column edges", WIDE, 0.1), *_memory(server)]


def _many() -> list[Figure]:
    """Start with 200,000 events and no index, then start again with the existing index."""
    with _folder() as folder:
        events = write_events(folder / "events.ndjson", EVENTS, KILOBYTES, jobs=JOBS)
        parse(folder, bodies(events, MANY_EVENTS, 0))
        found = [Figure("machine load, index from scratch", os.getloadavg()[0], "")]
        for what, goal in (("from scratch", 60), ("that exists", 5)):
            began = time.perf_counter()
            with headwater(tick="1s", folder=folder) as server:
                client = Client(server.url)
                _wait(client, MANY_EVENTS)
                name = f"index {what}, {MANY_EVENTS:,} events: process start to answer"
                found += [Figure(name, time.perf_counter() - began, "s", goal), _index_cpu(server), *_memory(server)]
        return found


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as name:
        yield prepare_folder(load_settings({"data": Path(name)}, folder=Path(name), environment={})[0])


def _index_cpu(server: Server) -> Figure:
    assert server.index
    times = server.index.cpu_times()
    return Figure("  process index: CPU", times.user + times.system, "s")


def _memory(server: Server) -> list[Figure]:
    assert server.index
    return [
        Figure(f"  process {name}: peak memory", memory_mb(process, "VmHWM"), "MB", 1024)
        for name, process in (("serve", server.process), ("index", server.index))
    ]


def _ask_all(server: Server, client: Client, when: str, factor: float = 1, share: float = 1) -> Iterator[Figure]:
    """Measure every request. `factor` scales the goals, `share` the repetitions; CPU is that of `serve` per request."""
    datasets, chance = _datasets(client), random.Random(3)
    yield Figure(f"machine load{when}", os.getloadavg()[0], "")
    for name, (ask, times, goal) in CALLS.items():
        before = server.process.cpu_times()
        answers = [_answer(name, ask(client, chance.choice(datasets))) for _ in range(max(5, int(share * times)))]
        after = server.process.cpu_times()
        waits = [wait for wait, _ in answers]
        cpu_us = (after.user + after.system - before.user - before.system) * 1e6 / len(waits)
        kilobytes = sum(len(body) for _, body in answers) / len(answers) / 1024
        yield Figure(f"{name}{when}: median", percentile(waits, 0.5), "ms", goal and goal * factor, cpu_us=cpu_us)
        yield Figure(f"  p99, {kilobytes:,.1f} KB per response", percentile(waits, 0.99), "ms")


def _answer(name: str, answered: tuple[float, int, bytes]) -> tuple[float, bytes]:
    wait, status, body = answered
    if status != 200:
        raise SystemExit(f"{name} failed with status {status}: {body[:300]!r}.")
    return wait, body


def _of_namespace(client: Client, dataset: str, rest: str) -> tuple[float, int, bytes]:
    namespace = dataset.removeprefix("dataset:").rpartition(":")[0]
    return client.get(f"{API}/namespaces/{quote(namespace, safe='')}/{rest}")


def _send(url: str, events: Path) -> None:
    lines = events.read_bytes().splitlines()
    with httpx.Client(base_url=url, timeout=120) as http:
        for at in range(0, len(lines), BATCH):
            body = b"[" + b",".join(lines[at : at + BATCH]) + b"]"
            while http.post(f"{API}/lineage/batch", content=body).status_code != 204:
                time.sleep(0.2)  # the receiver is overloaded and rejected the batch


def _wait(client: Client, count: int) -> None:
    while True:
        _, status, body = client.get(f"{API}/events/lineage", limit="0")
        if status == 200 and msgspec.json.decode(body)["totalCount"] >= count:
            return
        time.sleep(0.5)


def _datasets(client: Client) -> list[str]:
    """Return the node IDs of all datasets."""
    _, _, body = client.get(f"{API}/namespaces")
    found: list[str] = []
    for namespace in msgspec.json.decode(body)["namespaces"]:
        path = f"{API}/namespaces/{quote(namespace['name'], safe='')}/datasets"
        listed: dict[str, Any] = msgspec.json.decode(client.get(path, limit="1000")[2])
        found += [f"dataset:{each['namespace']}:{each['name']}" for each in listed["datasets"]]
    return found


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    show("Reading", run_quick(arguments.file) if arguments.quick or arguments.file else run())


if __name__ == "__main__":
    main()
