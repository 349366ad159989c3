"""`headwater up` with an event hub as the log: faults, a killed parser, and then a check of the lake."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.data.made_events import body, run_event, with_raw
from tests.support.http_client import Gateway, running
from tests.support.lake_check import bronze_of
from tests.support.servers.event_hub import SECRET, Fault, HubServer
from tests.support.waiting import rest

pytestmark = pytest.mark.slow

ONE, BATCH = "/api/v1/lineage", "/api/v1/lineage/batch"
HANGS_S = 10.0
CLIENTS = 4


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer() as started:
        yield started


class Clients:
    """Producers that post steps of runs in order until they are stopped, and the names of acknowledged events."""

    def __init__(self, gateway: Gateway) -> None:
        self.acknowledged: list[str] = []
        self.statuses: set[int] = set()
        self._gateway = gateway
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._post) for _ in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(HANGS_S * 2)

    def await_more(self, count: int) -> None:
        """Wait until `count` more events are acknowledged."""
        enough, deadline = len(self.acknowledged) + count, time.monotonic() + 60
        while len(self.acknowledged) < enough:
            assert time.monotonic() < deadline, f"No more events are acknowledged: {self._gateway.said()}"
            time.sleep(0.01)  # the list sends no notification, so poll

    def _post(self) -> None:
        with httpx.Client(base_url=self._gateway.url, timeout=HANGS_S) as client:
            while not self._stop.is_set():
                run = run_event()
                for second in range(5):
                    time_ = f"2026-03-01T12:00:{second:02d}.000Z"
                    name = f"{run['run']['runId']} {second}"
                    job = {"namespace": "tests", "name": name}
                    status = client.post(ONE, content=body({**run, "eventTime": time_, "job": job})).status_code
                    self.statuses.add(status)
                    if status == 200:
                        self.acknowledged.append(name)


def test_all_that_was_acknowledged_under_faults_and_kills_ends_in_the_lake_once(hub: HubServer, tmp_path: Path) -> None:
    hub.down()
    with running(tmp_path / "data", log="event_hub", hub_connection=hub.connection_string) as gateway:
        with gateway.client() as client:
            assert client.post(ONE, content=body(run_event())).status_code == 503
            ready = client.get("/health/ready")
            assert (ready.status_code, "event hub" in ready.json()["components"]["log"]) == (503, True)
            assert client.get("/api/headwater/v1/audit").status_code == 503
            hub.up()
            while client.get("/health/ready").status_code != 200:
                rest()
            large = with_raw(run_event(), b'"%b"' % (b"x" * (300 << 10)))
            assert client.post(ONE, content=large).status_code == 200
            assert client.post(BATCH, content=body([run_event() for _ in range(100)])).status_code == 204
            assert client.post(ONE, content=b"{").status_code == 400
        clients = Clients(gateway)
        for fault in (Fault.THROTTLED, Fault.DROPS_AFTER, Fault.DETACHES):
            clients.await_more(30)
            clients.statuses.clear()
            hub.switch(fault)
            while 503 not in clients.statuses:
                time.sleep(0.01)  # the set sends no notification either
            os.kill(gateway.running.wait_pid("parser"), signal.SIGKILL)
            hub.switch(None)
        clients.await_more(30)
        clients.stop()
        audit = await_parsed(gateway)
        assert audit["balanced"]
        assert audit["refused"] >= 5, "a refusal that was stored but not acknowledged is counted twice"
        check(gateway, hub, clients)
    assert SECRET not in gateway.said()
    assert "Traceback" not in gateway.said()
    assert gateway.said().count("is throttled") <= 1


def await_parsed(gateway: Gateway) -> dict[str, Any]:
    """Return the audit after all events of the hub are in the lake."""
    deadline = time.monotonic() + 60
    with gateway.client() as client:
        while True:
            answer = client.get("/api/headwater/v1/audit")
            audit: dict[str, Any] = answer.json()
            if answer.status_code == 200 and not audit["pending"]:
                return audit
            assert time.monotonic() < deadline, audit
            rest()


def check(gateway: Gateway, hub: HubServer, clients: Clients) -> None:
    """Compare the lake with the acknowledged events: each is stored once, and each run in order in one partition."""
    found = bronze_of(gateway.folder).events.run_query(
        "SELECT event_id, job_name, run_id, partition, sequence, length(body) AS size FROM t ORDER BY sequence"
    )
    rows = found.to_pylist()
    names = [row["job_name"] for row in rows if " " in row["job_name"]]
    assert set(clients.acknowledged) <= set(names)
    assert len(names) == len(set(names)), "an event is stored twice"
    assert len(rows) - len(names) == 101
    assert max(row["size"] for row in rows) > 300 << 10
    assert max(len(event.body) for event in hub.stored()) < 200 << 10, "large bodies must be stored outside the hub"
    steps: dict[str, list[Any]] = {}
    for row in rows:
        steps.setdefault(row["run_id"], []).append((row["partition"], row["job_name"]))
    for run in steps.values():
        assert run == sorted(run)
        assert len({partition for partition, _ in run}) == 1
    assert len({row["partition"] for row in rows}) == 2
