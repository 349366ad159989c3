"""Measure how soon after its POST a question sees an event, with default settings, and count the commits."""

import argparse
import asyncio
import json
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import httpx
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from bench.figures import QUICK_ROUNDS, ROUNDS, Figure, middle, percentile, show
from bench.generate import generate
from bench.running import Server, headwater, incoming, write_events
from headwater.intake.event_log import Record, RecordKind
from headwater.intake.event_log.sqlite_log import SqliteLog
from headwater.operations.settings import load_settings
from headwater.tables import EVENTS

BACKGROUND = 100
PROBES = 20
BATCH = 10_000
LOOKS = 50
POLL_S = 0.005
QUIET_S = 1.2
KILOBYTES = 8
JOBS = 300
COMMITS_BEFORE = 3_634
"""Commits of `events` an hour under the same load when the parser committed at fixed intervals."""

_RUN_ID = b'"runId":"'


def run(rounds: int = ROUNDS) -> list[Figure]:
    """Measure with default settings, in rounds of 20 probes."""
    with headwater() as server, httpx.Client(base_url=server.url, timeout=30) as client:
        _begin(client)
        known, probes, floor_ms = known_events(), rounds * PROBES, _floor_ms(client)
        goals = Goals(100.0, 400.0), Goals(200.0, 400.0)
        floors = Goals(floor_ms, floor_ms)
        quiet = _figures("quiet second, known contents", _probe(client, probes, known, QUIET_S), goals[0], floors)
        quiet += _figures(
            "quiet second, new contents", _probe(client, probes, _new_events(), QUIET_S), goals[1], floors
        )
        return quiet + _under_load(server, client, probes, known, floor_ms) + _questions(client)


class Goals(NamedTuple):
    """Limits for the time from POST to the answer, in milliseconds."""

    p50_ms: float
    p99_ms: float


def _floor_ms(client: httpx.Client) -> float:
    """Return the time (ms) of one commit of each kind, one read of bronze and one response, without other work."""
    with TemporaryDirectory() as name, closing(SqliteLog(Path(name) / "log")) as log:
        rows = pa.table({"body": ["x" * 1024 * KILOBYTES]})
        index = sqlite3.connect(Path(name) / "index", isolation_level=None)
        index.execute("PRAGMA journal_mode = WAL")
        index.execute("CREATE TABLE t(body)")
        waits = []
        for _ in range(PROBES):
            began = time.perf_counter()
            asyncio.run(log.append([Record(RecordKind.EVENT, b"x" * 1024 * KILOBYTES)], timeout_s=30))
            write_deltalake(f"{name}/lake", rows, mode="append")
            DeltaTable(f"{name}/lake")
            index.execute("INSERT INTO t VALUES (?)", ("x" * 1024,))
            client.get("/health/live").raise_for_status()
            waits.append((time.perf_counter() - began) * 1000)
        index.close()
    return middle(waits)


def _begin(client: httpx.Client) -> None:
    """Send two runs of every job, so that the parser already knows the contents of their facets."""
    client.post("/api/v1/lineage/batch", content=b"[" + b",".join(generate(2 * JOBS, KILOBYTES)) + b"]")
    while _behind_s(client):
        time.sleep(10 * POLL_S)


def known_events() -> Iterator[bytes]:
    """Yield events of recurring jobs, each with a new run ID."""
    for number, body in enumerate(generate(1 << 40, KILOBYTES, jobs=JOBS), 1):
        at = body.index(_RUN_ID) + len(_RUN_ID)
        yield b"%b%08x%b" % (body[:at], 0xF0000000 + number, body[at + 8 :])


def _new_events() -> Iterator[bytes]:
    for number in range(BATCH, 1 << 40):
        yield json.dumps(_event(number)).encode()


def _under_load(
    server: Server, client: httpx.Client, probes: int, known: Iterator[bytes], floor_ms: float
) -> list[Figure]:
    """Measure questions under load. The wait floors assume commits that are one tick apart."""
    with TemporaryDirectory() as name:
        file = write_events(Path(name) / "events.ndjson", 1000, KILOBYTES, jobs=JOBS)
        with incoming(server.url, file, BACKGROUND, start=1):
            time.sleep(2)
            before = _events(server).version()
            waits = _probe(client, probes, known, 0.0)
    tick_s = load_settings({}, environment={})[0].tick_s
    floors = Goals(500 * tick_s + floor_ms, 990 * tick_s + floor_ms)
    found = _figures(f"{BACKGROUND} events/s", waits, Goals(400.0, 1000.0), floors)
    rate = _commits_an_hour(_events(server), before)
    return [*found, Figure(f"{BACKGROUND} events/s: commits of events per hour", rate, "1/h", COMMITS_BEFORE)]


def _events(server: Server) -> DeltaTable:
    return DeltaTable(server.folder / "lake" / "bronze" / EVENTS.name)


def _commits_an_hour(events: DeltaTable, after: int) -> float:
    """Return the number of appends per hour after a table version."""
    times = [
        entry["timestamp"] for entry in events.history() if entry["version"] > after and entry["operation"] == "WRITE"
    ]
    return float((len(times) - 1) * 3_600_000 / (max(times) - min(times)))


def _figures(name: str, waits: list[float], goals: Goals, floors: Goals) -> list[Figure]:
    found = Goals(middle(waits), percentile(waits, 0.99))
    return [
        Figure(f"{name}: {what} of {len(waits)}", value, "ms", goal, "<=", floor, value / floor)
        for what, value, goal, floor in zip(("p50", "p99"), found, goals, floors, strict=True)
    ]


def _probe(client: httpx.Client, probes: int, bodies: Iterator[bytes], apart_s: float) -> list[float]:
    draw = random.Random(7)
    waits = []
    for body in (next(bodies) for _ in range(probes)):
        time.sleep(apart_s + draw.uniform(0, 1))
        waits.append(_answered_ms(client, body))
    return waits


def _answered_ms(client: httpx.Client, body: bytes) -> float:
    """Post an event and return the time (ms) until a question about its run succeeds."""
    at = body.index(b'runId": "' if b'runId": "' in body else _RUN_ID)
    run_id = body[body.index(b"-", at) - 8 :][:36].decode()
    began = time.perf_counter()
    client.post("/api/v1/lineage", content=body).raise_for_status()
    while time.perf_counter() - began < 30:
        if client.get(f"/api/headwater/v1/runs/{run_id}/lineage").status_code == 200:
            return (time.perf_counter() - began) * 1000
        time.sleep(POLL_S)
    raise SystemExit(f"Run {run_id} is still unknown 30 s after its event was posted.")


def _questions(client: httpx.Client) -> list[Figure]:
    """Post a batch, wait until freshness is 0, then ask for the lineage of each event's output."""
    body = json.dumps([_event(number) for number in range(BATCH)]).encode()
    client.post("/api/v1/lineage/batch", content=body, timeout=120).raise_for_status()
    began = time.perf_counter()
    while _behind_s(client):
        time.sleep(10 * POLL_S)
    took_s = time.perf_counter() - began
    answers = [
        client.get("/api/headwater/v1/upstream", params={"namespace": "s3://bench", "dataset": f"out/{number}"})
        for number in range(BATCH)
    ]
    looks_ms = [_timed_ms(client) for _ in range(LOOKS)]
    failed = sum(answer.status_code != 200 for answer in answers)
    return [
        Figure(f"{BATCH:,} events in a batch: failed questions at freshness 0", failed, "", 0),
        Figure(f"{BATCH:,} events in a batch: acknowledgement to freshness 0", took_s, "s"),
        Figure(f"freshness request without pending events, median of {LOOKS}", middle(looks_ms), "ms"),
    ]


def _behind_s(client: httpx.Client) -> float:
    return float(client.get("/api/headwater/v1/freshness").raise_for_status().json()["seconds"])


def _timed_ms(client: httpx.Client) -> float:
    began = time.perf_counter()
    _behind_s(client)
    return (time.perf_counter() - began) * 1000


def _event(number: int) -> dict[str, Any]:
    """Return an event of a new job that writes a new dataset."""
    sources = {"inputFields": [{"namespace": "s3://bench", "name": f"in/{number}", "field": "x"}]}
    facets = {"schema": {"fields": [{"name": f"y{number}"}]}, "columnLineage": {"fields": {f"y{number}": sources}}}
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-03-01T12:00:00Z",
        "producer": "https://example.org/bench",
        "run": {"runId": f"ffffffff-0000-4000-8000-{number:012x}"},
        "job": {"namespace": "bench", "name": f"job_{number}"},
        "inputs": [{"namespace": "s3://bench", "name": f"in/{number}"}],
        "outputs": [{"namespace": "s3://bench", "name": f"out/{number}", "facets": facets}],
    }


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    show("Freshness: POST to answer", run(QUICK_ROUNDS if parser.parse_args().quick else ROUNDS))


if __name__ == "__main__":
    main()
