"""The process `sinks`: one thread for each sink in `sinks.yml`; exits when there are none."""

import logging
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from headwater.operations.local.child_process import call_when_parent_ends, child_process, write_run_file
from headwater.operations.runtime.sink_supervisor import POLL_S, SinkSupervisor
from headwater.operations.runtime.sinks import STATUS_FILE, sinks_path
from headwater.operations.settings import Settings

log = logging.getLogger(__name__)

MEASURE_EVERY_S = 5.0
REQUEST_EVERY_S = 10.0
STOP_S = 5.0


class StatusReporter:
    """Writes the problems of the sinks to the log, and their status to a file for commands and metrics."""

    def __init__(self, supervisor: SinkSupervisor, folder: Path) -> None:
        self._supervisor = supervisor
        self._folder = folder
        self._measured = 0.0
        self._reported_problem: str | None = None
        self._written = b""

    def report_changes(self) -> None:
        """Log new problems, and write the status file if the status has changed."""
        problem = self._supervisor.problem
        if problem and problem != self._reported_problem:
            log.warning("%s", problem)
        self._reported_problem = problem
        if time.monotonic() >= self._measured + MEASURE_EVERY_S:
            self._measured = time.monotonic()
            self._supervisor.set_lag_metrics()
        found: dict[str, Any] = {"problem": problem, "sinks": self._supervisor.statuses()}
        text = msgspec.json.encode(found)
        if text != self._written:
            with suppress(OSError):  # if the disk is full, the next call writes it
                write_run_file(self._folder, STATUS_FILE, text)
                self._written = text


def run_sinks(settings: Settings, folder: Path, stop: threading.Event) -> None:
    """Run the sinks until stopped. With a local sinks file, also return when the file has no sinks left."""
    supervisor, is_elsewhere = SinkSupervisor(settings, REQUEST_EVERY_S), sinks_path(settings) is None
    reporter = StatusReporter(supervisor, folder)
    while supervisor.apply_file() or is_elsewhere:
        reporter.report_changes()
        if stop.wait(POLL_S):
            break
        supervisor.maintain_ledger()
    supervisor.stop_sinks(STOP_S)
    (folder / "run" / STATUS_FILE).unlink(missing_ok=True)


def main() -> None:
    """Run as a child of `headwater up`."""
    stop = threading.Event()
    with child_process("sinks", required=False) as (settings, folder):
        call_when_parent_ends(stop.set)
        run_sinks(settings, folder, stop)


if __name__ == "__main__":
    main()
