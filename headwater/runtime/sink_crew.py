"""The sinks of a file at work: a thread for each, started, stopped and replaced as the file says.

`headwater up` keeps them at work (`local/sinks_process.py`); in the Function App a timer does for a while.
"""

import threading
import time
from collections.abc import Mapping
from contextlib import suppress

from headwater.errors import LakeUnavailable
from headwater.lake.bronze_follower import ahead
from headwater.lake.lake_maintenance import compact, vacuum
from headwater.runtime.sink_opening import open_ledger, open_secrets, open_sinks_text
from headwater.runtime.storage import is_lake_remote, open_bronze
from headwater.settings import Settings
from headwater.sinks.contract.sink_options import Sink
from headwater.sinks.contract.sinks_file import SinksFile
from headwater.sinks.running.sink_runner import Runner
from headwater.sinks.running.sink_status import Status

LOOK_S = 0.5
TEND_EVERY_S = 3600.0


class _SinkTask:
    """A sink at work in its own thread, with all that is its own; stopped, it can go on."""

    def __init__(self, settings: Settings, sink: Sink) -> None:
        remote_s = max(settings.tick_s, settings.flush_s) if is_lake_remote(settings) else 0.0
        self.stop = threading.Event()
        self.runner = Runner(
            sink, secrets=open_secrets(settings), bronze=open_bronze(settings), ledger=open_ledger(settings),
            stop=self.stop, look_s=max(LOOK_S, remote_s),
        )  # fmt: skip
        self.go()

    def go(self) -> None:
        self.stop.clear()
        self.runner.status.state = "starting"
        self.thread = threading.Thread(target=self.runner.run, name=f"sink-{self.runner.sink.name}", daemon=True)
        self.thread.start()


class Crew:
    """The tasks of the sinks in force. Not for several threads at once."""

    def __init__(self, settings: Settings, look_every_s: float = 0.0) -> None:
        """Start nothing yet. look_every_s: least time between two requests for a file at an address."""
        self._settings = settings
        self._file = SinksFile(open_sinks_text(settings, look_every_s))
        self._bronze = open_bronze(settings)
        self._ledger = open_ledger(settings)
        self._tasks: dict[str, _SinkTask] = {}
        self._tended: float | None = None

    @property
    def problem(self) -> str | None:
        """Return what is wrong with the file, None where nothing is."""
        return self._file.problem

    def look(self) -> bool:
        """Start, stop and replace tasks as the file says now; false where it names none and none is left."""
        wanted = self._file.current()
        for name, task in [*self._tasks.items()]:
            ended = not task.thread.is_alive()  # never two at once: events of a run would overtake each other
            if wanted.get(name) != task.runner.sink:
                task.stop.set()
                if ended:
                    del self._tasks[name]
            elif ended:
                task.go()
        for name, sink in wanted.items():
            if name not in self._tasks:
                self._tasks[name] = _SinkTask(self._settings, sink)
        return bool(self._tasks or self.problem)

    def statuses(self) -> Mapping[str, Status]:
        """Return what each sink does."""
        return {name: task.runner.status for name, task in self._tasks.items()}

    def at_work(self) -> list[Status]:
        """Return what those do that were not stopped; one that hangs in its target was, and works on by itself."""
        return [task.runner.status for task in self._tasks.values() if not task.stop.is_set()]

    def measure(self) -> None:
        """Find out how far behind the lake each sink is: it reads what lies ahead of the sink."""
        for task in self._tasks.values():
            if (progress := task.runner.progress) is not None:
                status = task.runner.status
                with suppress(LakeUnavailable):  # the sink itself says so
                    status.behind, status.behind_us = ahead(self._bronze, progress)

    def tend(self) -> None:
        """Keep small what sinks keep in the lake, once an hour: no runner of short turns comes to that."""
        if self._tended is not None and time.monotonic() < self._tended + TEND_EVERY_S:
            return
        self._tended = time.monotonic()
        if self._ledger.exists():
            compact(self._ledger)
            vacuum(self._ledger, self._settings.vacuum_hours)

    def end(self, within_s: float) -> None:
        """Stop all; one that waits for its target is left: what it does not keep is delivered again."""
        for task in self._tasks.values():
            task.stop.set()
        until = time.monotonic() + within_s
        for task in self._tasks.values():
            task.thread.join(max(0.0, until - time.monotonic()))
