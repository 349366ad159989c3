"""A lake with an index, the server that answers what its incidents are, and an alert sink."""

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from headwater.events.times import iso_time
from headwater.operations.runtime.index import open_view_opener
from headwater.sinks.interface.options import Sink
from tests.support.data.made_events import body, run_event
from tests.support.data.sink_world import SinkWorld, sink
from tests.support.questions import ask
from tests.support.servers.sink_target import Asked, Said, SinkServer, sink_server

PAGE = "https://headwater.example.org"


class AlertWorld(SinkWorld):
    """A lake; `queried` answers its incidents over HTTP, by the product's own question."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._lock = Lock()

    def fail(self, job: str, *, ago_s: float = 1, kind: str = "FAIL", **more: Any) -> None:
        """Bring a run that ended so many seconds ago."""
        event = run_event(eventTime=ended(ago_s), eventType=kind, job={"namespace": "etl", "name": job}, **more)
        if kind == "FAIL":
            error = {"message": f"{job} is <broken> & <!channel>", "programmingLanguage": "PYTHON"}
            event["run"]["facets"] = {"errorMessage": error | {"_producer": "p", "_schemaURL": "s"}}
        self.store(body(event))

    def rebuild(self) -> None:
        """Delete the index, so that the next answer builds it from the lake."""
        shutil.rmtree(self.folder / "index")

    @contextmanager
    def queried(self) -> Iterator[SinkServer]:
        with sink_server() as server:
            server.answer = self._answer
            yield server

    def _answer(self, asked: Asked) -> Said:
        url = urlsplit(asked.path)
        if url.path.endswith("/contracts"):
            return Said(200, b'{"items": [], "truncated": false}')
        with self._lock:  # a second process would answer from an index that the first one updates
            views = open_view_opener(self.settings, self.folder)
            found = ask(views, "incidents", dict(parse_qsl(url.query)), bronze=self.bronze)
        return Said(200, json.dumps(found).encode())


def ended(ago_s: float) -> str:
    return str(iso_time(time.time_ns() // 1000 - int(ago_s * 1e6)))


def alert_sink(kind: str, queried: str, **options: Any) -> Sink:
    """Return an alert sink that queries once an hour: tests let the clock of the sink run ahead."""
    server = {"url": queried, "every": "1h"}
    paces: Mapping[str, Any] = {"every": "1ms", "rate": 1000} if kind != "incident-webhook" else {"every": "1ms"}
    return sink(type=kind, headwater=server, page=PAGE, **{**paces, **options})
