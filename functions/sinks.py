"""The trigger of sinks: a timer that runs all sinks in parallel until all are done or time is up.

The host's lease on the timer prevents a second instance from running at the same time. If one runs nevertheless, both
deliver; each commit of a position is conditional on the previous one, so no event is skipped.
"""

import logging
import time
from collections.abc import Mapping

import azure.functions as func

from headwater.operations.runtime.sink_supervisor import SinkSupervisor
from headwater.operations.settings import Settings
from headwater.sinks.running.runner import Status

log = logging.getLogger(__name__)
BUDGET_S = 420.0
STOP_S = 90.0
"""For attempts in progress at the end of the budget. Both together are well within `functionTimeout` (host.json)."""

SOON_S = 5.0
"""A sink that waits longer for its target continues in a later run, because waiting here is billed."""

POLL_S = 0.1
REPORT = "Sink %s (%s): %d events of the lake wait for it, the oldest for %d s"
BROKEN = "The file of sinks is not taken up. %s"
"""Alerts of infra/bicep/modules/alerts.bicep read these lines."""


def blueprint(settings: Settings) -> func.Blueprint:
    """Build the trigger. Its first run reads the file of sinks."""
    bp = func.Blueprint()
    sinks = SinkRun(settings)

    @bp.function_name("sinks")
    @bp.timer_trigger(arg_name="timer", schedule="0 * * * * *")
    def run_sinks(timer: func.TimerRequest) -> None:
        sinks.run()

    return bp


class SinkRun:
    """The sinks of an app. Idle between two runs of the timer, they remember when to try their targets again."""

    def __init__(self, settings: Settings, budget_s: float = BUDGET_S, stop_s: float = STOP_S) -> None:
        """Connect to nothing yet. budget_s: maximum time of deliveries; stop_s: time to finish attempts in progress."""
        self._supervisor = SinkSupervisor(settings)
        self._budget_s = budget_s
        self._stop_s = stop_s

    def run(self) -> None:
        """Let each sink deliver the waiting events. Returns within budget and stop time, whatever the targets do."""
        until = time.monotonic() + self._budget_s
        self._supervisor.apply_file()
        if problem := self._supervisor.problem:
            log.error(BROKEN, problem)
        while time.monotonic() < until and any(map(_is_unfinished, self._supervisor.active_statuses())):
            time.sleep(POLL_S)
        self._supervisor.stop_sinks(self._stop_s)
        self._supervisor.set_lag_metrics()
        _log_statuses(self._supervisor.statuses())
        self._supervisor.maintain_ledger()


def _is_unfinished(status: Status) -> bool:
    """Return whether a sink has events to deliver now or soon."""
    if status.state in ("waiting", "open"):
        return status.next_try_us is None or status.next_try_us / 1e6 < time.time() + SOON_S
    return status.state in ("starting", "delivering")


def _log_statuses(statuses: Mapping[str, Status]) -> None:
    for name, status in statuses.items():
        waited_s = max(0.0, time.time() - status.behind_us / 1e6) if status.behind_us else 0.0
        log.info(REPORT, name, status.state, status.behind, waited_s)
