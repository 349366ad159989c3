"""The process `sinks`: a thread for each sink that `sinks.yml` names; it ends by itself when none is named."""

import logging
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from headwater.errors import HeadwaterError, LakeUnavailable
from headwater.lake.bronze_follower import ahead
from headwater.lake.lake_maintenance import vacuum
from headwater.local.lifeline import read_settings, when_parent_ends, write_role
from headwater.local.sink_metrics import STATUS
from headwater.runtime.folders import folder_lock, prepare_folder
from headwater.runtime.sink_opening import open_ledger, open_secrets, sinks_path
from headwater.runtime.storage import is_lake_remote, open_bronze
from headwater.settings import Settings
from headwater.sinks.sink_options import Sink
from headwater.sinks.sink_runner import Runner
from headwater.sinks.sinks_file import SinksFile

log = logging.getLogger(__name__)

LOOK_S = 0.5
MEASURE_EVERY_S = 5.0
VACUUM_EVERY_S = 3600.0
STOP_S = 5.0


class _SinkTask:
    """A sink at work in its own thread, with all that is its own."""

    def __init__(self, settings: Settings, sink: Sink) -> None:
        remote_s = max(settings.tick_s, settings.flush_s) if is_lake_remote(settings) else 0.0
        self.stop = threading.Event()
        self.runner = Runner(
            sink, secrets=open_secrets(settings), bronze=open_bronze(settings), ledger=open_ledger(settings),
            stop=self.stop, look_s=max(LOOK_S, remote_s),
        )  # fmt: skip
        self.thread = threading.Thread(target=self.runner.run, name=f"sink-{sink.name}", daemon=True)
        self.thread.start()


class Crew:
    """The tasks of the sinks in force."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        """Start nothing yet."""
        self._settings = settings
        self._folder = folder
        self._file = SinksFile(sinks_path(settings))
        self._bronze = open_bronze(settings)
        self._tasks: dict[str, _SinkTask] = {}
        self._measured = 0.0
        self._said: str | None = None
        self._shown = b""

    def look(self) -> bool:
        """Start, stop and replace tasks as the file says now; false where it names none and none is left."""
        wanted = self._file.current()
        if self._file.problem and self._file.problem != self._said:
            log.warning("%s", self._file.problem)
        self._said = self._file.problem
        for name, task in [*self._tasks.items()]:
            if wanted.get(name) != task.runner.sink:
                task.stop.set()
                if not task.thread.is_alive():  # never two at once: events of a run would overtake each other
                    del self._tasks[name]
        for name, sink in wanted.items():
            if name not in self._tasks:
                self._tasks[name] = _SinkTask(self._settings, sink)
        self._show()
        return bool(self._tasks or self._said)

    def end(self) -> None:
        """Stop all; one that waits for its target is left: what it does not keep is delivered again."""
        for task in self._tasks.values():
            task.stop.set()
        until = time.monotonic() + STOP_S
        for task in self._tasks.values():
            task.thread.join(max(0.0, until - time.monotonic()))
        (self._folder / "run" / STATUS).unlink(missing_ok=True)

    def _measure(self) -> None:
        """Find out how far behind the lake each sink is, now and then: it reads what lies ahead of the sink."""
        if time.monotonic() < self._measured + MEASURE_EVERY_S:
            return
        self._measured = time.monotonic()
        for task in self._tasks.values():
            if (progress := task.runner.progress) is not None:
                status = task.runner.status
                with suppress(LakeUnavailable):  # the sink itself says so
                    status.behind, status.behind_us = ahead(self._bronze, progress)

    def _show(self) -> None:
        """Write down what each sink does, for commands and metrics."""
        self._measure()
        found: dict[str, Any] = {
            "problem": self._said,
            "sinks": {name: task.runner.status for name, task in self._tasks.items()},
        }
        text = msgspec.json.encode(found)
        if text != self._shown:
            write_role(self._folder, STATUS, text)
            self._shown = text


def run(settings: Settings, folder: Path, stop: threading.Event) -> None:
    """Keep the sinks running until stopped, or until none is named."""
    crew = Crew(settings, folder)
    vacuumed = time.monotonic()
    while crew.look() and not stop.wait(LOOK_S):
        if time.monotonic() - vacuumed > VACUUM_EVERY_S:
            vacuumed = time.monotonic()
            vacuum(open_ledger(settings), settings.vacuum_hours)
    crew.end()


def main() -> None:
    """Run as a child of `headwater up`."""
    logging.basicConfig(level=logging.INFO, format="sinks: %(message)s", stream=sys.stderr)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it would write a line a request
    settings = read_settings()
    stop = threading.Event()
    when_parent_ends(stop.set)
    try:
        folder = prepare_folder(settings)
        with folder_lock(folder, "sinks", wait_s=15):
            run(settings, folder, stop)
    except HeadwaterError as error:
        log.error("%s", error)
        sys.exit(1)  # whatever ails the sinks, the rest of Headwater goes on


if __name__ == "__main__":
    main()
