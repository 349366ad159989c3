"""Sinks of the Function App side by side, and one after the other: `python -m bench.sink_turns`.

Three sinks, of which the first one's target does not answer: when the other two had their events, and how long a run
took (s, on the clock). One after the other is a run for each sink, in the order of the file.
"""

import json
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from functions.sinks import SinkRun
from tests.support.data.sink_world import SinkWorld, bodies, events
from tests.support.servers.sink_target import Asked, Said, SinkServer, sink_server

EVENTS = 200
TIMEOUT = "5s"


def measured(is_in_turn: bool) -> tuple[float, float]:
    """Return when the sound sinks had all, and when the run ended."""
    over = threading.Event()

    def hang(_: Asked) -> Said:
        over.wait()
        return Said(hang_up=True)

    with tempfile.TemporaryDirectory() as folder, sink_server() as hung, sink_server() as one, sink_server() as two:
        hung.answer = hang
        world = SinkWorld(Path(folder))
        world.store(*bodies(events(EVENTS)))
        named = {"a": _options(hung), "b": _options(one), "c": _options(two)}
        had: list[float] = []
        begun = time.monotonic()
        watch = threading.Thread(target=lambda: had.append(_had_all(begun, one, two)))
        watch.start()
        for sinks in [{name: options} for name, options in named.items()] if is_in_turn else [named]:
            (world.folder / "sinks.yml").write_text(json.dumps({"version": 1, "sinks": sinks}))
            SinkRun(world.settings).run()
        ended = time.monotonic() - begun
        over.set()
        watch.join()
    return had[0], ended


def _options(server: SinkServer) -> dict[str, Any]:
    return {"type": "openlineage", "url": server.url, "timeout": TIMEOUT}


def _had_all(begun: float, *servers: SinkServer) -> float:
    for server in servers:
        server.wait(lambda server=server: len(server.taken) == EVENTS)  # type: ignore[misc]
    return time.monotonic() - begun


if __name__ == "__main__":
    for kind in (False, True, False, True):
        had_all, took = measured(kind)
        way = "in turn" if kind else "side by side"
        print(f"{way}: the others had all after {had_all:.1f} s, the run took {took:.1f} s", flush=True)
