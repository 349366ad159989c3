"""Run the sinks of a file: one thread per sink, started, stopped and replaced as the file changes.

`headwater up` runs it continuously (`local/sinks_process.py`), the Function App by a timer.
"""

import threading
import time
from collections.abc import Mapping
from contextlib import suppress

from headwater.common.errors import LakeUnavailable
from headwater.lake.bronze_follower import count_unprocessed
from headwater.lake.maintenance import compact_tables, vacuum_tables
from headwater.operations.runtime.sinks import open_ledger, open_secrets, open_sinks_text
from headwater.operations.runtime.storage import is_lake_remote, open_bronze
from headwater.operations.settings import Settings
from headwater.sinks.interface.options import Sink
from headwater.sinks.interface.sinks_file import SinksFile
from headwater.sinks.running.runner import SinkRunner, Status

POLL_S = 0.5
MAINTAIN_EVERY_S = 3600.0


class _SinkTask:
    """A sink that runs in a thread of its own. The thread can be stopped and started again."""

    def __init__(self, settings: Settings, sink: Sink) -> None:
        remote_s = max(settings.tick_s, settings.flush_s) if is_lake_remote(settings) else 0.0
        self.stop = threading.Event()
        self.runner = SinkRunner(
            sink, secrets=open_secrets(settings), bronze=open_bronze(settings), ledger=open_ledger(settings),
            stop=self.stop, poll_s=max(POLL_S, remote_s),
        )  # fmt: skip
        self.start()

    def start(self) -> None:
        self.stop.clear()
        self.runner.status.state = "starting"
        self.thread = threading.Thread(target=self.runner.run, name=f"sink-{self.runner.sink.name}", daemon=True)
        self.thread.start()


class SinkSupervisor:
    """The running sinks. Not thread-safe."""

    def __init__(self, settings: Settings, min_interval_s: float = 0.0) -> None:
        """min_interval_s: minimum time between two requests for a remote file."""
        self._settings = settings
        self._file = SinksFile(open_sinks_text(settings, min_interval_s))
        self._bronze = open_bronze(settings)
        self._ledger = open_ledger(settings)
        self._tasks: dict[str, _SinkTask] = {}
        self._maintained: float | None = None

    @property
    def problem(self) -> str | None:
        """Return the error in the sinks file, None if the file is valid."""
        return self._file.problem

    def apply_file(self) -> bool:
        """Start, stop and replace sinks to match the sinks file.

        Returns False if the file has no sinks and no sink is running any more.
        """
        wanted = self._file.current_sinks()
        for name, task in [*self._tasks.items()]:
            ended = not task.thread.is_alive()  # two threads of one sink would reorder the events of a run
            if wanted.get(name) != task.runner.sink:
                task.stop.set()
                if ended:
                    del self._tasks[name]
            elif ended:
                task.start()
        for name, sink in wanted.items():
            if name not in self._tasks:
                self._tasks[name] = _SinkTask(self._settings, sink)
        return bool(self._tasks or self.problem)

    def statuses(self) -> Mapping[str, Status]:
        """Return the status of each sink."""
        return {name: task.runner.status for name, task in self._tasks.items()}

    def active_statuses(self) -> list[Status]:
        """Return the status of the sinks that were not asked to stop. A stopped sink may still wait for its target."""
        return [task.runner.status for task in self._tasks.values() if not task.stop.is_set()]

    def set_lag_metrics(self) -> None:
        """Measure how far each sink lags behind the lake."""
        for task in self._tasks.values():
            if (progress := task.runner.progress) is not None:
                status = task.runner.status
                with suppress(LakeUnavailable):  # the sink reports that itself
                    status.behind, status.behind_us = count_unprocessed(self._bronze, progress)

    def maintain_ledger(self) -> None:
        """Compact and vacuum the tables of the sinks once an hour. Short runs of sinks may never do this themselves."""
        if self._maintained is not None and time.monotonic() < self._maintained + MAINTAIN_EVERY_S:
            return
        self._maintained = time.monotonic()
        if self._ledger.exists():
            compact_tables(self._ledger)
            vacuum_tables(self._ledger, self._settings.vacuum_hours)

    def stop_sinks(self, within_s: float) -> None:
        """Stop all sinks within `within_s` seconds.

        A sink that still waits for its target is abandoned. Its next run delivers the uncommitted events again.
        """
        for task in self._tasks.values():
            task.stop.set()
        until = time.monotonic() + within_s
        for task in self._tasks.values():
            task.thread.join(max(0.0, until - time.monotonic()))
