"""Instances of the pipeline app on one hub and one lake. They start, share the partitions, are killed and are replaced.

Producers post through the receiver app and record what they post. `Fleet.reckon` compares the lake with this record and
with every sequence number of the hub.
"""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from deltalake import DeltaTable

from headwater.events.position import Source
from tests.functions.host import App, running
from tests.support.data.made_events import body, run_event
from tests.support.lake_check import rows_at
from tests.support.servers.azurite import ACCOUNT_KEY, KEY, PATIENT, Storage
from tests.support.servers.event_hub import HubServer
from tests.support.waiting import rest

ROOT = Path(__file__).parents[2]
KEYS = [{"name": "spark", "key": "spark-key", "roles": ["write", "read"]}]
BEARER = "Bearer spark-key"
GROUP = "headwater"
_PATIENCE_S = 600.0
"""A busy machine needs minutes to start a worker."""
_RUN_ID = b'"runId":"'
_PLACES = ("events", "duplicates", "refused", "rejected")


@dataclass(slots=True)
class Posted:
    """The producers' record: when each run's event was first posted, and whether it was acknowledged."""

    begun: dict[str, float] = field(default_factory=dict)
    acknowledged: set[str] = field(default_factory=set)


class Member:
    """One instance. `said` contains what it has reported so far."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.said: list[dict[str, Any]] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.functions.hub_instance", json.dumps(asked)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._listening.start()

    def delivered(self, since: int = 0) -> Counter[str]:
        """Count the delivered events of each partition. since: skip this many reports."""
        counted: Counter[str] = Counter()
        for one in self.said[since:]:
            counted[one.get("partition", "")] += one.get("delivered", 0)
        return +counted

    def wait_delivered(self, count: int = 1) -> None:
        """Wait until the instance has received events of at least this many partitions."""
        self._wait(lambda: len(self.delivered()) >= count)

    def wait_delivers(self, partitions: list[str]) -> None:
        """Wait for a new delivery of each of these partitions, which proves that the instance still owns them."""
        since = len(self.said)
        self._wait(lambda: set(partitions) <= self.delivered(since).keys())

    def _wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not condition():
            assert self.runs(), f"The instance has exited: {self.said[-3:]}"
            assert time.monotonic() < deadline, self.said[-3:]
            rest()

    def runs(self) -> bool:
        return self._process.poll() is None

    def wait_dead(self) -> None:
        """Wait until an instance whose worker kills itself has exited."""
        self._process.wait(_PATIENCE_S)
        self._listening.join()
        self.begin_draining()  # closes our end of the pipe

    def kill(self) -> None:
        """Kill host and worker at once, as when a machine fails."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self.wait_dead()

    def drain(self) -> None:
        """Let the instance finish its work and release its partitions, as before a new version replaces it."""
        self.begin_draining()
        self.wait_dead()
        assert self.said[-1] == {"drained": True}

    def begin_draining(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            found = json.loads(line)
            self.said.append(found)
        self._process.stdout.close()


class Fleet:
    """A hub with partitions, a lake on Azurite, and a receiver that also answers questions.

    It starts without instances.

    renew_s: how often an instance renews its leases. expire_s: when an instance that does not renew loses them.
    """

    def __init__(
        self, package: Path, folder: Path, storage: Storage, *, partitions: int, renew_s: float, expire_s: float
    ) -> None:
        self.posted = Posted()
        self.members: list[Member] = []
        self._stack = ExitStack()
        self._package, self._folder = package, folder
        self.hub = self._stack.enter_context(HubServer(partitions))
        self.partitions = [str(number) for number in range(partitions)]
        self.lake = storage.lake(account_key=KEY, **PATIENT)
        claims = {"claims_url": f"{storage.url}/{storage.container().container_name}", "claims_options": ACCOUNT_KEY}
        self._settings: dict[str, Any] = {
            "log": "event_hub",
            "hub_connection": self.hub.connection_string,
            "keys": KEYS,
            **claims,
        }
        self._settings |= {**self.lake, "hub_consumer_group": GROUP}
        self._asked = {
            "package": str(package), "hub": self.hub.connection_string, "hub_name": self.hub.name, "group": GROUP,
            "leases_url": storage.url, "leases_container": storage.container().container_name,
            "renew_s": renew_s, "expire_s": expire_s,
        }  # fmt: skip
        triggers, data = ["receiver", "api"], folder / "receiver"
        data.mkdir()
        self.receiver: App = self._stack.enter_context(
            running(package, folder / "receiver.log", triggers=triggers, data=data, **self._settings)
        )

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for member in self.members:
            if member.runs():
                member.kill()
        self._stack.close()

    def start(self, **more: Any) -> Member:
        """Start an instance with its own disk. more: further settings of its app."""
        disk = self._folder / f"instance-{len(self.members)}"
        disk.mkdir()
        settings = {**self._settings, "triggers": ["parser"], "data": str(disk), **more}
        self.members.append(Member({**self._asked, "log": str(disk / "worker.log"), "settings": settings}))
        return self.members[-1]

    def post(self, events: list[bytes]) -> None:
        """Post as producers do: repeat unacknowledged events."""
        keys = [_run_of(event) for event in events]
        began = time.time()
        for key in keys:
            self.posted.begun.setdefault(key, began)
        while not self._acknowledged(b"[" + b",".join(events) + b"]"):
            rest()
        self.posted.acknowledged.update(keys)

    def begun(self, event: bytes) -> float:
        """Return when an event was first posted, in seconds since 1970."""
        return self.posted.begun[_run_of(event)]

    @contextmanager
    def load(self, events: Iterator[list[bytes]], every_s: float) -> Iterator[None]:
        """Post one list of events after the other from a thread while the block runs."""
        over = threading.Event()

        def post_on() -> None:
            due = time.monotonic()
            for some in events:
                self.post(some)
                due += every_s
                if over.wait(max(0.0, due - time.monotonic())):
                    return

        with ThreadPoolExecutor(1) as thread:
            posting = thread.submit(post_on)
            try:
                yield
            finally:
                over.set()
            posting.result()

    def watermarks(self, events: DeltaTable | None = None) -> dict[str, int]:
        """Return the last sequence number of each partition in the lake. A hub counts from 0, the lake from 1."""
        events = events or self.table("events")
        life = events.metadata().configuration["headwater.incarnation"]
        return {
            name: events.transaction_version(Source(self.hub.name, life, name).app_id) or 0 for name in self.partitions
        }

    def table(self, name: str) -> DeltaTable:
        return DeltaTable(f"{self.lake['lake']}/bronze/{name}", storage_options=self.lake["lake_options"])

    def wait_stored(self) -> None:
        """Wait until the lake contains all events that the hub has now."""
        tails = {name: len(self.hub.stored(int(name))) for name in self.partitions}
        deadline = time.monotonic() + _PATIENCE_S
        while any((found := self.watermarks())[name] < tail for name, tail in tails.items()):
            assert time.monotonic() < deadline, (found, tails)
            time.sleep(0.2)

    def reckon(self) -> Counter[str]:
        """Compare the lake with the producers' record and the hub, then check the audit.

        Returns the row count by table.
        """
        self.wait_stored()
        positions: Counter[tuple[str, int]] = Counter()
        found: Counter[str] = Counter()
        for table in _PLACES:
            columns = ["partition", "sequence", *(["to_sequence"] if table == "rejected" else [])]
            for row in rows_at(self.lake["lake"], table, columns, self.lake["lake_options"]):
                found[table] += 1
                for sequence in range(row["sequence"], row.get("to_sequence", row["sequence"]) + 1):
                    positions[row["partition"], sequence] += 1
        on_hub = {(name, one.sequence + 1) for name in self.partitions for one in self.hub.stored(int(name))}
        assert positions.keys() == on_hub, "a sequence number is missing in the lake or unknown to the hub"
        assert set(positions.values()) == {1}, "a sequence number is stored twice"
        runs = Counter(
            row["run_id"] for row in rows_at(self.lake["lake"], "events", ["run_id"], self.lake["lake_options"])
        )
        assert set(runs.values()) == {1}, "an event is stored twice"
        assert self.posted.acknowledged <= runs.keys() <= self.posted.begun.keys()
        self._check_audit(len(on_hub), found)
        return found

    def _check_audit(self, received: int, found: Counter[str]) -> None:
        answer = self.receiver.request("api", method="GET", target="/api/headwater/v1/audit", authorization=BEARER)
        audit = answer.json()
        assert (audit["received"], audit["pending"], audit["lost"], audit["balanced"]) == (received, 0, 0, True), audit
        assert (audit["stored"], audit["duplicates"]) == (found["events"], found["duplicates"])

    def _acknowledged(self, body: bytes) -> bool:
        answer = self.receiver.request("lineage_batch", body, authorization=BEARER)
        assert answer.status in (204, 503), answer  # either all events are stored, or none yet
        return answer.status == 204


def _run_of(event: bytes) -> str:
    at = event.index(_RUN_ID) + len(_RUN_ID)
    return event[at : at + 36].decode()


def new_contents() -> Iterator[list[bytes]]:
    """Yield lists of five events, each with new columns and lineage, so that each commit writes all content tables."""
    for first in itertools.count(0, 5):
        yield [body(run_event(outputs=[_written(f"c{first + one}")])) for one in range(5)]


def _written(column: str) -> dict[str, Any]:
    source = {"namespace": "tests", "name": "source", "field": column}
    facets = {
        "schema": {"fields": [{"name": column}]},
        "columnLineage": {"fields": {column: {"inputFields": [source]}}},
    }
    return {"namespace": "tests", "name": "table", "facets": facets}
