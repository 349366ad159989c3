"""Measure half an hour at 70 % of the maximum rate with all components, then an overload, then the recovery.

`python -m bench.sustained [--minutes 30]` exits with status 1 if an acknowledged event is missing or duplicated. The
load mixes events of 300 recurring jobs, of 100,000 jobs, of one endless run, and of jobs that write the same dataset. A
sink that accepts everything and a client that asks questions run at the same time. The overload is three times the
rate that the receiver can acknowledge. Growth is the slope of a regression line through the second half of the samples.
"""

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import linear_regression
from typing import Any

import httpx
import psutil

from bench.figures import Figure, percentile, show
from bench.generate import generate
from bench.load import JOB, NUMBER
from bench.running import Server, answers, headwater

SHARE = 0.7
TIMES = 3
KILOBYTES = 8
LINES = 2001  # coprime to the number of jobs, so that every job occurs
CONNECTIONS = 64
CROWD, BATCH = 512, 50  # 200 MB in flight, which is more than the log's queue accepts
ROLES = ("serve", "parser", "index", "sinks")
MEASURED = 6000
MB = 1 << 20
CAUGHT_UP_S = 1.0


@dataclass
class Samples:
    """Samples taken during a run: values by name, and their times (s)."""

    at: list[float] = field(default_factory=list)
    seen: dict[str, list[float]] = field(default_factory=dict)

    def add(self, values: dict[str, float]) -> None:
        """Add one set of values."""
        self.at.append(time.monotonic())
        for name, value in values.items():
            self.seen.setdefault(name, []).append(value)

    def growth(self, name: str) -> float:
        """Return the growth per hour over the second half of the samples."""
        values = self.seen[name]
        half = len(values) // 2
        if len(values) - half < 2:
            return 0.0
        return linear_regression(self.at[half:], values[half:]).slope * 3600


def main() -> int:
    """Measure the maximum rate, sustain a share of it, overload, then check the stored events."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--overload-s", type=float, default=60)
    parser.add_argument("--measured", type=int, default=MEASURED, help="events for measuring the maximum rate")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headwater-sustained-") as name:
        folder = Path(name, "data")
        folder.mkdir(mode=0o700)
        sink = {"type": "file", "folder": str(Path(name, "archive")), "every": "10s"}
        (folder / "sinks.yml").write_text(json.dumps({"version": 1, "sinks": {"archive": sink}}))
        events = Path(name, "events.ndjson")
        events.write_text("\n".join(mixed()))
        with headwater(folder=folder) as server:
            return Hold(server, events).run(given.minutes * 60, given.overload_s, given.measured)


def mixed() -> Iterator[str]:
    """Yield lines for `bench.load`: of ten events, 1 is of the endless run, 1 of the hot dataset, 3 of many jobs."""
    for number, body in enumerate(generate(LINES, KILOBYTES)):
        event = json.loads(body)
        if number % 10 == 0:
            event["run"] = {"runId": "0195c0de-0000-7000-8000-000000000001", "facets": {"n": {"_producer": NUMBER}}}
            event["eventType"], event["job"]["name"] = "RUNNING", "endless"
        elif number % 10 == 1:
            event["outputs"] = [{**each, "name": "hot"} for each in event["outputs"]]
        elif number % 10 < 5:
            event["run"]["runId"] = f"{NUMBER}-0000-7000-8000-{number:012d}"
            event["job"]["name"] = f"one_of_many_{JOB}"
        yield json.dumps(event, separators=(",", ":"))


class Hold:
    """A running Headwater and the counts of the events sent to it."""

    def __init__(self, server: Server, events: Path) -> None:
        self._server, self._events = server, events
        self._client = httpx.Client(base_url=server.url, timeout=60)
        self._start = 0
        self._acknowledged = 0
        self._unsure = 0

    def run(self, seconds: float, overload_s: float, measured: int) -> int:
        """Run all phases and return the exit status."""
        most, intake = self._most(measured)
        rate = most * SHARE
        samples = Samples()
        with self._looking(samples, max(1.0, seconds / 300)):
            held = self._send(max(1, int(rate * seconds)), connections=CONNECTIONS, rate=rate)
        behind_s = self._until_caught_up()
        figures = [Figure("maximum rate, from POST to answer, all components", most, "1/s")]
        figures += [Figure("maximum acknowledged rate, in batches", intake, "1/s"), Figure("sustained", rate, "1/s")]
        figures += [*self._held(held, samples), Figure("caught up after the end", behind_s, "s")]
        show(f"{seconds / 60:.0f} minutes at {SHARE:.0%}", figures)
        show("Growth", list(grown(samples)))
        show(f"Overload: {TIMES} times the maximum acknowledged rate", self._overload(intake * TIMES, overload_s))
        return self._reckon()

    def _most(self, count: int) -> tuple[float, float]:
        """Return the maximum rates (events/s): from POST to answer with single events, and acknowledged in batches."""
        began = time.monotonic()
        self._send(count, connections=CONNECTIONS)
        self._until_caught_up()
        most = count / (time.monotonic() - began)
        found = self._send(count // BATCH * BATCH, connections=CONNECTIONS, batch=BATCH)
        self._until_caught_up()
        return most, count / found["seconds"]

    def _send(self, count: int, **options: float) -> dict[str, Any]:
        found = answers(self._server.url, self._events, count=count, start=self._start, lazy=True, **options)
        self._start += count // LINES + 1
        acknowledged = taken(found) * int(options.get("batch", 1))
        self._acknowledged += acknowledged
        self._unsure += count - acknowledged
        return found

    def _held(self, held: dict[str, Any], samples: Samples) -> list[Figure]:
        waits, fresh = held["waits_ms"], samples.seen["freshness"]
        return [
            Figure("responses other than 2xx", sum(held["statuses"].values()) - taken(held), "", 0),
            Figure("POST p50", percentile(waits, 0.5), "ms"),
            Figure("POST p99", percentile(waits, 0.99), "ms"),
            Figure("freshness p50", percentile(fresh, 0.5), "s"),
            Figure("freshness p99", percentile(fresh, 0.99), "s"),
            Figure("freshness, max", max(fresh), "s"),
            Figure("question p99", percentile(samples.seen["question ms"], 0.99), "ms"),
        ]

    def _overload(self, rate: float, seconds: float) -> list[Figure]:
        samples = Samples()
        requests = max(1, int(rate * seconds) // BATCH)
        with self._looking(samples, 1.0):
            found = self._send(requests * BATCH, connections=CROWD, rate=rate / BATCH, batch=BATCH)
        after_s = self._until_caught_up()
        statuses = found["statuses"]
        rejected = statuses.get("503", 0)
        others = sum(statuses.values()) - taken(found) - rejected
        return [
            Figure("offered", rate, "1/s"),
            Figure("accepted", taken(found) * BATCH / found["seconds"], "1/s"),
            Figure(f"requests of {BATCH} events rejected with 503", rejected, ""),
            Figure("other responses", others, "", 0),
            Figure("POST p99", percentile(found["waits_ms"], 0.99), "ms"),
            Figure("serve: peak memory", max(samples.seen["serve MB"]), "MB"),
            Figure("freshness, max", max(samples.seen["freshness"]), "s"),
            Figure("recovered: all events visible to questions after", after_s, "s"),
        ]

    @contextmanager
    def _looking(self, samples: Samples, every_s: float) -> Iterator[None]:
        stop = threading.Event()

        def look() -> None:
            with httpx.Client(base_url=self._server.url, timeout=60) as client:
                while not stop.wait(every_s):
                    samples.add({**costs(self._server.folder), **asked(client)})

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _until_caught_up(self) -> float:
        began = time.monotonic()
        while self._ask("freshness")["seconds"] > CAUGHT_UP_S or self._ask("audit")["pending"]:
            time.sleep(0.2)
        return time.monotonic() - began

    def _ask(self, question: str) -> dict[str, Any]:
        found: dict[str, Any] = self._client.get(f"/api/headwater/v1/{question}").json()
        return found

    def _reckon(self) -> int:
        audit = self._ask("audit")
        is_complete = audit["balanced"] and audit["duplicates"] == audit["rejected"] == 0
        is_complete = is_complete and self._acknowledged <= audit["stored"] <= self._acknowledged + self._unsure
        print(f"acknowledged {self._acknowledged:,}, other responses than 2xx {self._unsure:,}")
        print(f"audit {audit}: {'no event lost or duplicated' if is_complete else 'NOT COMPLETE'}")
        return 0 if is_complete else 1


def taken(found: dict[str, Any]) -> int:
    """Count the responses with a 2xx status."""
    return sum(number for status, number in found["statuses"].items() if status.startswith("2"))


def costs(folder: Path) -> dict[str, float]:
    """Return memory and descriptors of each process, and files and bytes of each part of the data folder."""
    found: dict[str, float] = {}
    for role in ROLES:
        process = psutil.Process(int((folder / "run" / f"{role}.pid").read_text()))
        found |= {f"{role} MB": process.memory_info().rss / MB, f"{role} descriptors": process.num_fds()}
    for part in ("log", "lake", "index"):
        sizes = [size(path) for path in paths(folder / part)]
        found |= {f"{part} on disk, files": len(sizes), f"{part} on disk, MB": sum(sizes) / MB}
    return found


def paths(folder: Path) -> Iterator[str]:
    """Yield every file below a folder."""
    for place, _, names in os.walk(folder):
        yield from (f"{place}/{name}" for name in names)


def size(path: str) -> int:
    """Return the size of a file, or 0 if the file no longer exists."""
    try:
        return Path(path).stat().st_size
    except FileNotFoundError:
        return 0


def asked(client: httpx.Client) -> dict[str, float]:
    """Return the freshness (s) and the latency (ms) of a question that reads the graph."""
    fresh = client.get("/api/headwater/v1/freshness").json()["seconds"]
    began = time.perf_counter()
    client.get("/api/headwater/v1/overview")
    return {"freshness": fresh, "question ms": (time.perf_counter() - began) * 1000}


def grown(samples: Samples) -> Sequence[Figure]:
    """Return each cost at the end, and its growth per hour in the second half."""
    named: Callable[[str], bool] = lambda name: name not in ("freshness", "question ms")  # noqa: E731
    shown = []
    for name in filter(named, samples.seen):
        shown.append(Figure(f"{name}: at the end", samples.seen[name][-1], name.rpartition(" ")[2]))
        shown.append(Figure(f"{name}: growth per hour", samples.growth(name), f"{name.rpartition(' ')[2]}/h"))
    return shown


if __name__ == "__main__":
    sys.exit(main())
