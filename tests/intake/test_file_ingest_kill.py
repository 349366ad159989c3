"""Kill `headwater ingest` repeatedly while writers append: bronze contains every event exactly once."""

import json
import random
import signal
import threading
from collections import Counter
from pathlib import Path

import httpx
import pytest
from deltalake import DeltaTable

from headwater.common.failpoints import VARIABLE
from tests.support.data.made_events import body, run_event
from tests.support.running import TIMEOUT_S, Running, headwater, started
from tests.support.waiting import rest

POINTS = ("ingest.read", "ingest.answered", "ingest.kept")


class Writers:
    """Threads that append events to many files, some lines in two parts, and record what they write."""

    def __init__(self, folder: Path, files: int, events: int, threads: int = 4) -> None:
        self.runs: set[str] = set()
        self._paths = [folder / f"dt=2026-03-{1 + number % 28:02}" / f"{number}.ndjson" for number in range(files)]
        for path in self._paths:
            path.parent.mkdir(parents=True, exist_ok=True)
        made = [run_event() for _ in range(events)]
        self.runs = {event["run"]["runId"] for event in made}
        parts = [[body(event) for event in made[number::threads]] for number in range(threads)]
        self._threads = [
            threading.Thread(target=self._write, args=(number, threads, part)) for number, part in enumerate(parts)
        ]

    def __enter__(self) -> "Writers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for thread in self._threads:
            thread.join()

    def _write(self, first: int, step: int, bodies: list[bytes]) -> None:
        paths = self._paths[first::step]
        for number, text in enumerate(bodies):
            with paths[number % len(paths)].open("ab", buffering=0) as file:
                cut = number % 7 * 20
                file.write(text[:cut])
                file.write(text[cut:] + b"\n")


def besieged(tmp_path: Path, *, kills: int, files: int, events: int) -> None:
    rng = random.Random(20260301)
    folder, state = tmp_path / "in", tmp_path / "state"
    with Running(tmp_path / "data") as running, httpx.Client(base_url=running.url) as client:
        command = ("ingest", folder, "--server", running.url, "--state", state, "--json")
        with Writers(folder, files, events) as writers:
            for kill in range(kills):
                if kill % 2:
                    before = received(client)
                    process = started(*command, "--follow")
                    while received(client) == before and process.poll() is None:
                        rest()
                    process.kill()
                else:
                    point = f"{POINTS[kill // 2 % 3]}:{rng.randint(1, 3)}"
                    process = started(*command, "--follow", environment={VARIABLE: point})
                _, errors = process.communicate(timeout=TIMEOUT_S)
                assert process.returncode == -signal.SIGKILL, errors
        last = headwater(*command, timeout_s=600)
        assert last.returncode == 0, last.stderr
        assert json.loads(last.stdout)["waiting"] == 0
        assert json.loads(headwater(*command).stdout)["events"] == 0
        while client.get("/api/headwater/v1/freshness").json()["log"]:
            rest()
        audit = client.get("/api/headwater/v1/audit").json()
    found = Counter(
        DeltaTable(tmp_path / "data" / "lake" / "bronze" / "events").to_pyarrow_table().column("run_id").to_pylist()
    )
    assert found == Counter(writers.runs)
    assert (audit["rejected"], audit["balanced"]) == (0, True)
    assert audit["refused"] <= kills  # a kill during a request leaves an incomplete body
    assert 0 < audit["duplicates"] <= kills * 500  # each kill repeats at most one batch that was not answered


def received(client: httpx.Client) -> int:
    return int(client.get("/api/headwater/v1/audit").json()["received"])


@pytest.mark.slow
def test_none_is_missing_and_none_twice_by_5_kills(tmp_path: Path) -> None:
    besieged(tmp_path, kills=5, files=200, events=10_000)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(1800)
def test_none_is_missing_and_none_twice_by_20_kills(tmp_path: Path) -> None:
    besieged(tmp_path, kills=20, files=2_000, events=100_000)
