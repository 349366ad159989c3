"""Producers that post continuously and record which events the receiver acknowledged."""

import gzip
import hashlib
import http.client
import json
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CLAIM_BYTES = 4096
"""The value of HEADWATER_CLAIM_BYTES, chosen so that the large events below become claims."""

RATE, LOW_RATE = 300, 100
"""Events per second of all producers together. After an outage, larger batches make up for the delay.

`make test` uses the low rate: producers post until a fault is over, and that load is most of the CPU time.
"""

_EVENTS_PER_REQUEST = 1.5

_AGAIN_S = 0.05
_SABOTAGE = b'"sabotage"'


@dataclass(slots=True)
class Sent:
    """One event of a producer: how often it was posted, and how often the receiver answered with 2xx."""

    digest: bytes
    posted: int = 0
    acknowledged: int = 0


@dataclass(slots=True)
class Ledger:
    """A record of all producers' requests: events by run id, refused requests, and deleted claims by key."""

    events: dict[str, Sent] = field(default_factory=dict)
    bad_requests: int = 0
    sabotaged: dict[str, str] = field(default_factory=dict)
    unanswered: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def posting(self, bodies: Sequence[tuple[str, bytes]]) -> None:
        with self.lock:
            for key, body in bodies:
                self.events.setdefault(key, Sent(hashlib.sha256(body).digest())).posted += 1
                self.unanswered.add(key)

    def answered(self, bodies: Sequence[tuple[str, bytes]]) -> None:
        with self.lock:
            for key, _ in bodies:
                self.events[key].acknowledged += 1
                self.unanswered.discard(key)

    def acknowledged(self) -> int:
        with self.lock:
            return sum(sent.acknowledged for sent in self.events.values())


class Producers:
    """Producer threads, each with its own connection: single events, gzip, batches, repeats, bad requests, large
    events.
    """

    def __init__(self, port: int, seed: int, folder: Path, threads: int = 4, *, rate: float = RATE) -> None:
        self.ledger = Ledger()
        self._claims = folder / "claims"
        self._stop = threading.Event()
        works: list[Callable[[], None]] = [
            _Producer(self.ledger, port, seed + n, rate / threads, self._stop).run for n in range(threads)
        ]
        self._threads = [threading.Thread(target=work, daemon=True) for work in [*works, self._take_claims_away]]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, timeout_s: float = 30.0) -> None:
        """Stop posting, and wait until every open request is answered."""
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout_s)
        assert not self.ledger.unanswered, f"{len(self.ledger.unanswered)} events were never answered"

    def _take_claims_away(self) -> None:
        """Delete the stored bodies of events that request it, so that these acknowledged events end in `rejected`."""
        kept: set[str] = set()
        while not self._stop.wait(0.01):
            for path in self._claims.glob("*"):
                if path.name not in kept:
                    key = _sabotage_key(path)
                    if key is None:
                        kept.add(path.name)
                    elif key:
                        self.ledger.sabotaged[path.name] = key
                        path.unlink(missing_ok=True)


class _Producer:
    def __init__(self, ledger: Ledger, port: int, seed: int, rate: float, stop: threading.Event) -> None:
        self._ledger = ledger
        self._random = random.Random(seed)
        self._stop = stop
        self._port = port
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=15)
        self._recent: list[tuple[str, bytes]] = []
        self._rate = rate
        self._made = 0

    def run(self) -> None:
        started = time.monotonic()
        while not self._stop.wait(_EVENTS_PER_REQUEST / self._rate):
            self._step(behind=int(self._rate * (time.monotonic() - started)) - self._made)
        self._refused()  # kills may have lost all earlier records of refusals, but no kill follows this one
        self._connection.close()

    def _step(self, behind: int) -> None:
        dice = self._random.random()
        if dice < 0.06:
            self._refused()
        elif dice < 0.14 and self._recent:
            self._single(self._random.choice(self._recent))
        elif dice < 0.20:
            self._single(self._event(size=CLAIM_BYTES + 500, sabotage=dice < 0.18))
        elif dice < 0.40:
            self._batch([self._event() for _ in range(max(1, min(behind, 500)))])
        else:
            self._single(self._event())

    def _single(self, event: tuple[str, bytes]) -> None:
        self._until_answered("/api/v1/lineage", event[1], [event], packed=self._random.random() < 0.3)

    def _batch(self, events: list[tuple[str, bytes]]) -> None:
        items = [body for _, body in events]
        if self._random.random() < 0.3:
            items.insert(self._random.randrange(len(items) + 1), b'{"not": "an event"}')
            self._ledger.bad_requests += 1
        body = b"[" + b",".join(items) + b"]"
        self._until_answered("/api/v1/lineage/batch", body, events, packed=self._random.random() < 0.3)

    def _refused(self) -> None:
        self._until_answered("/api/v1/lineage", b'{"eventTime": 1}', [], packed=False)

    def _until_answered(self, path: str, body: bytes, events: list[tuple[str, bytes]], *, packed: bool) -> None:
        """Post as OpenLineage clients do: repeat the request until the answer is not 503."""
        status = 503
        while status == 503:
            self._ledger.posting(events)
            self._ledger.bad_requests += not events
            try:
                status = self._post(path, body, packed=packed)
            except (OSError, http.client.HTTPException):
                self._connection.close()
            if status == 503:
                self._ledger.bad_requests += 1  # an upper bound: the log may have been unable to store the note
                self._stop.wait(_AGAIN_S)
        assert status in (200, 204) if events else status == 400, status
        self._ledger.answered(events)
        self._recent = [*self._recent, *(event for event in events if _SABOTAGE not in event[1])][-50:]

    def _post(self, path: str, body: bytes, *, packed: bool) -> int:
        if packed:
            # chunked and without a length, as the Java client sends it
            chunks: Iterator[bytes] = iter([gzip.compress(body, 1)])
            self._connection.request("POST", path, chunks, {"Content-Encoding": "gzip"}, encode_chunked=True)
        else:
            self._connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        answer.read()
        return answer.status

    def _event(self, size: int = 0, *, sabotage: bool = False) -> tuple[str, bytes]:
        self._made += 1
        key = str(uuid.UUID(int=self._random.getrandbits(128), version=4))
        number = self._random.randrange(10) if self._random.random() < 0.7 else self._random.randrange(1 << 40)
        marker = {"padding": "x" * size, **({"sabotage": key} if sabotage else {})}
        return key, json.dumps(_event(key, number, marker)).encode()


def _event(run: str, number: int, marker: dict[str, str]) -> dict[str, object]:
    columns = [f"c{number}_{index}" for index in range(4)]
    source = {"namespace": "kill", "name": f"source_{number}"}
    fields = {
        name: {"inputFields": [{**source, "field": f"s_{name}", "transformations": [{"type": "DIRECT"}]}]}
        for name in columns
    }
    schema = {"fields": [{"name": name, "type": "string"} for name in columns]}
    output = {"namespace": "kill", "name": f"target_{number}"}
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-03-01T12:00:00.000Z",
        "producer": "https://headwater.test/kill",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run, "facets": {"marker": marker}},
        "job": {"namespace": "kill", "name": f"job_{number}"},
        "inputs": [source],
        "outputs": [{**output, "facets": {"schema": schema, "columnLineage": {"fields": fields}}}],
    }


def _sabotage_key(path: Path) -> str | None:
    """Return the run of a claim to delete, None for a claim to keep, or "" while the file is being written."""
    try:
        text = path.read_bytes()
        if _SABOTAGE not in text and text.endswith(b"}"):
            return None
        found: str = json.loads(text)["run"]["facets"]["marker"]["sabotage"]
    except (OSError, ValueError):
        return ""
    return found
