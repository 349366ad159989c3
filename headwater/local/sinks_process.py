"""The process `sinks`: a thread for each sink that `sinks.yml` names; it ends by itself when none is named."""

import logging
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from headwater.local.child_process import child
from headwater.local.lifeline import when_parent_ends, write_role
from headwater.local.sink_metrics import STATUS
from headwater.runtime.sink_crew import LOOK_S, Crew
from headwater.runtime.sink_opening import sinks_path
from headwater.settings import Settings

log = logging.getLogger(__name__)

MEASURE_EVERY_S = 5.0
REQUEST_EVERY_S = 10.0
STOP_S = 5.0


class Watch:
    """What is said of a crew: for people in the log, for commands and metrics in a file."""

    def __init__(self, crew: Crew, folder: Path) -> None:
        """Say nothing yet."""
        self._crew = crew
        self._folder = folder
        self._measured = 0.0
        self._said: str | None = None
        self._shown = b""

    def look(self) -> None:
        """Say what has changed."""
        problem = self._crew.problem
        if problem and problem != self._said:
            log.warning("%s", problem)
        self._said = problem
        if time.monotonic() >= self._measured + MEASURE_EVERY_S:
            self._measured = time.monotonic()
            self._crew.measure()
        found: dict[str, Any] = {"problem": problem, "sinks": self._crew.statuses()}
        text = msgspec.json.encode(found)
        if text != self._shown:
            with suppress(OSError):  # a disk that is full gets it later
                write_role(self._folder, STATUS, text)
                self._shown = text


def run(settings: Settings, folder: Path, stop: threading.Event) -> None:
    """Keep the sinks running until stopped, or until none is named; a file at an address may name one any time."""
    crew, is_elsewhere = Crew(settings, REQUEST_EVERY_S), sinks_path(settings) is None
    watch = Watch(crew, folder)
    while crew.look() or is_elsewhere:
        watch.look()
        if stop.wait(LOOK_S):
            break
        crew.tend()
    crew.end(STOP_S)
    (folder / "run" / STATUS).unlink(missing_ok=True)


def main() -> None:
    """Run as a child of `headwater up`."""
    stop = threading.Event()
    with child("sinks", vital=False) as (settings, folder):
        when_parent_ends(stop.set)
        run(settings, folder, stop)


if __name__ == "__main__":
    main()
