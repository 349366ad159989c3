"""How long after its acknowledgement an event can be read, and whether questions see all when freshness says so."""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from bench.figures import QUICK_ROUNDS, ROUNDS, Figure, middle, percentile, show
from bench.generate import generate
from bench.running import Server, headwater, write_events

BACKGROUND = 100
PROBES = 12
BATCH = 10_000
LOOKS = 50
POLL_S = 0.02


def run(rounds: int = ROUNDS) -> list[Figure]:
    """Measure at both ticks, each in rounds of 12 probes at moments that do not follow the tick."""
    figures = []
    for tick, goal_ms in (("1s", 1500.0), ("250ms", 1000.0)):
        with headwater(tick=tick) as server:
            waits = _probe(server, rounds * PROBES)
        p99 = percentile(waits, 0.99)
        figures.append(Figure(f"tick {tick}: POST to readable, p99 of {len(waits)}", p99, "ms", goal_ms))
        figures.append(Figure(f"tick {tick}: POST to readable, median", middle(waits), "ms"))
    return figures + _questions()


def _questions() -> list[Figure]:
    """Post a batch, wait until freshness says 0, then ask about the dataset of each event."""
    with headwater(tick="1s") as server, httpx.Client(base_url=server.url, timeout=120) as client:
        body = json.dumps([_event(number) for number in range(BATCH)]).encode()
        client.post("/api/v1/lineage/batch", content=body).raise_for_status()
        began = time.perf_counter()
        while _look(client):
            time.sleep(10 * POLL_S)
        took_s = time.perf_counter() - began
        answers = [
            client.get("/api/headwater/v1/upstream", params={"namespace": "s3://bench", "dataset": f"out/{number}"})
            for number in range(BATCH)
        ]
        looks_ms = [_timed_ms(client) for _ in range(LOOKS)]
    failed = sum(answer.status_code != 200 for answer in answers)
    return [
        Figure(f"{BATCH:,} events in a batch, a question about each at freshness 0: failed", failed, "", 0),
        Figure(f"{BATCH:,} events in a batch: acknowledgement to freshness 0", took_s, "s"),
        Figure(f"freshness itself, caught up, median of {LOOKS}", middle(looks_ms), "ms"),
    ]


def _look(client: httpx.Client) -> float:
    return float(client.get("/api/headwater/v1/freshness").raise_for_status().json()["seconds"])


def _timed_ms(client: httpx.Client) -> float:
    began = time.perf_counter()
    _look(client)
    return (time.perf_counter() - began) * 1000


def _event(number: int) -> dict[str, Any]:
    """Return an event of a job that makes a dataset of its own."""
    made_of = {"inputFields": [{"namespace": "s3://bench", "name": f"in/{number}", "field": "x"}]}
    facets = {"schema": {"fields": [{"name": "x"}]}, "columnLineage": {"fields": {"x": made_of}}}
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-03-01T12:00:00Z",
        "producer": "https://example.org/bench",
        "run": {"runId": f"ffffffff-0000-4000-8000-{number:012x}"},
        "job": {"namespace": "bench", "name": f"job_{number}"},
        "inputs": [{"namespace": "s3://bench", "name": f"in/{number}"}],
        "outputs": [{"namespace": "s3://bench", "name": f"out/{number}", "facets": facets}],
    }


def _probe(server: Server, probes: int) -> list[float]:
    draw = random.Random(7)
    with tempfile.TemporaryDirectory() as name, httpx.Client(base_url=server.url, timeout=30) as client:
        file = write_events(Path(name) / "8.ndjson", 1000, 8)
        arguments = ["--rate", str(BACKGROUND), "--count", "1000000", "--lazy", "--connections", "4", "--start", "1"]
        background = subprocess.Popen(
            [sys.executable, "-m", "bench.load", server.url, str(file), *arguments], stdout=subprocess.DEVNULL
        )
        try:
            _wait_until_readable(client, next(generate(1, 8)), 0)  # the tables exist from here on
            waits = []
            for number, body in enumerate(generate(probes, 8), 1):
                time.sleep(draw.uniform(0.05, 0.5))
                waits.append(_wait_until_readable(client, body, number))
            return waits
        finally:
            background.terminate()
            background.wait()


def _wait_until_readable(client: httpx.Client, body: bytes, number: int) -> float:
    """Post an event under a run id of its own; returns the time from its acknowledgement until it is listed (ms)."""
    run_id = f"ffffffff-0000-4000-8000-{number:012x}"
    at = body.index(b'"runId":"') + len(b'"runId":"')
    client.post("/api/v1/lineage", content=body[:at] + run_id.encode() + body[at + 36 :]).raise_for_status()
    began = time.perf_counter()
    while time.perf_counter() - began < 30:
        found = client.get("/api/headwater/v1/events", params={"run": run_id, "limit": "1"})
        if found.status_code == 200 and found.json()["totalCount"]:
            return (time.perf_counter() - began) * 1000
        time.sleep(POLL_S)
    raise SystemExit(f"Run {run_id} cannot be read 30 s after its acknowledgement.")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    show("Freshness", run(QUICK_ROUNDS if parser.parse_args().quick else ROUNDS))


if __name__ == "__main__":
    main()
