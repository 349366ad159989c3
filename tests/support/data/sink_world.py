"""A sink that delivers the events of a small lake, for tests of its target and its ledger."""

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from headwater.common.errors import InvalidEvent
from headwater.events.event_reader import EventReader
from headwater.events.position import Source
from headwater.events.stored_cells import StoredHead
from headwater.operations.runtime.sinks import open_ledger
from headwater.operations.runtime.storage import open_bronze
from headwater.sinks.connecting.secrets import Secrets
from headwater.sinks.interface.options import Sink
from headwater.sinks.interface.shape import Payload, SinkEvent, unchanged_payloads
from headwater.sinks.interface.sinks_file import parse_sinks
from headwater.sinks.running.ledger import SinkLedger
from headwater.sinks.running.runner import SinkRunner
from tests.support.data.made_events import body, run_event
from tests.support.data.parsing import World
from tests.support.paths import EVENTS
from tests.support.servers.sink_target import eventually


def no_token(scope: str) -> str:
    raise AssertionError(f"nobody asks for {scope} here")


class SinkWorld(World):
    """A log, a lake, a parser, and a sink with the name `out`."""

    def __init__(self, folder: Path, **more: Any) -> None:
        super().__init__(folder, **more)
        self.ledger: SinkLedger = open_ledger(self.settings)
        self.later_us = 0
        """How far a sink's clock is ahead of the real time."""

    def store(self, *bodies: bytes) -> None:
        """Append events and parse them into the lake."""
        self.append(*bodies)
        parser = self.parser()
        while parser.commit_next():
            pass

    def runner(self, sink: Sink, stop: threading.Event, environment: dict[str, str] | None = None) -> SinkRunner:
        return SinkRunner(
            sink, secrets=Secrets(no_token, environment or {}), bronze=open_bronze(self.settings),
            ledger=open_ledger(self.settings), stop=stop, poll_s=0.05,
            clock=lambda: time.time_ns() // 1000 + self.later_us,
        )  # fmt: skip

    @contextmanager
    def running(self, sink: Sink, environment: dict[str, str] | None = None) -> Iterator[SinkRunner]:
        """Run the sink until the block ends."""
        stop = threading.Event()
        runner = self.runner(sink, stop, environment)
        thread = threading.Thread(target=runner.run, daemon=True)
        thread.start()
        try:
            yield runner
        finally:
            stop.set()
            thread.join(60)
            assert not thread.is_alive()

    def settle(self, sink: Sink, environment: dict[str, str] | None = None) -> None:
        """Run the sink until it has caught up."""
        with self.running(sink, environment) as runner:
            eventually(lambda: runner.status.state == "caught up")

    def dead(self) -> dict[str, str]:
        """Return the reason of each dead letter by its event's run."""
        return {row["run_id"]: row["reason"] for row in self.ledger.failures("out", 1000)}


RECEIVED_US = 1_800_000_000_000_000


def stored(raw: Iterable[bytes]) -> list[SinkEvent]:
    """Return events as the lake would return them."""
    reader, source, found = EventReader(), Source("test", "life", "0"), []
    for place, event in enumerate(reader.read([*raw]), 1):
        assert not isinstance(event, InvalidEvent), event
        names = (event.kind, event.event_type, event.run_id, event.job_namespace, event.job_name)
        head = StoredHead(place, event.id.hex(), RECEIVED_US, *names, len(event.body))
        found.append(SinkEvent(source, head, event.body))
    return found


def samples() -> list[SinkEvent]:
    """Return all sample events that the parser accepts."""
    lines = [line.strip() for path in sorted(EVENTS.glob("*.ndjson")) for line in path.read_bytes().splitlines()]
    whole = [
        line for line, read in zip(lines, EventReader().read(lines), strict=True) if not isinstance(read, InvalidEvent)
    ]
    return stored(whole)


def sink(**options: Any) -> Sink:
    """Read a sink with these options as if from its file."""
    text = msgspec.json.encode({"version": 1, "sinks": {"out": options}}).decode()
    return parse_sinks(text, "sinks.yml").sinks["out"]


def events(count: int, **members: Any) -> list[dict[str, Any]]:
    return [run_event(**members) for _ in range(count)]


def bodies(made: Sequence[dict[str, Any]]) -> list[bytes]:
    return [body(event) for event in made]


def runs(taken: Sequence[dict[str, Any]]) -> list[str]:
    return [event["run"]["runId"] for event in taken]


def payloads(names: Sequence[str], size: int = 2) -> list[Payload]:
    """Return payloads of events that are not in a lake, each with a name for its run."""
    source = Source("test", "life", "0")
    heads = [StoredHead(place, name, 0, "RUN", "START", name, "n", "j", size) for place, name in enumerate(names, 1)]
    return unchanged_payloads([SinkEvent(source, head, b"x" * size) for head in heads])
