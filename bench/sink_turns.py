"""Compare running the Function App's sinks concurrently and one after another: `python -m bench.sink_turns`.

The target of the first of three sinks does not respond. The figures are the time until the other two sinks have
delivered all events, and the time until the run ends. Sequentially, each sink has a separate run, in file order.
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
    """Return when the healthy sinks have delivered all events, and when the run ends (s)."""
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
        started = time.monotonic()
        watch = threading.Thread(target=lambda: had.append(_had_all(started, one, two)))
        watch.start()
        for sinks in [{name: options} for name, options in named.items()] if is_in_turn else [named]:
            (world.folder / "sinks.yml").write_text(json.dumps({"version": 1, "sinks": sinks}))
            SinkRun(world.settings).run()
        ended = time.monotonic() - started
        over.set()
        watch.join()
    return had[0], ended


def _options(server: SinkServer) -> dict[str, Any]:
    return {"type": "openlineage", "url": server.url, "timeout": TIMEOUT}


def _had_all(started: float, *servers: SinkServer) -> float:
    for server in servers:
        server.wait(lambda server=server: len(server.taken) == EVENTS)  # type: ignore[misc]
    return time.monotonic() - started


if __name__ == "__main__":
    for kind in (False, True, False, True):
        had_all, took = measured(kind)
        way = "sequential" if kind else "concurrent"
        print(f"{way}: the healthy sinks finished after {had_all:.1f} s, the run took {took:.1f} s", flush=True)
