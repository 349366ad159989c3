"""The trigger of sinks: a timer that runs all sinks in parallel until all are done or the time is over.

The host's lease on the timer prevents a second instance from running at the same time. If a second instance runs
nevertheless, both deliver the same events. A commit of a position fails if the position has changed, so no event is
skipped.
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
"""Seconds for attempts in progress after BUDGET_S. The sum of both is well within `functionTimeout` (host.json)."""

SOON_S = 5.0
"""A sink that must wait more seconds than this for its target continues in a later run, because waiting is billed."""

POLL_S = 0.1
REPORT = "Sink %s (%s): %d events of the lake wait for it, the oldest for %d s"
BROKEN = "The file of sinks is not taken up. %s"
"""Log message. The alerts in infra/bicep/modules/alerts.bicep search for this text."""


def blueprint(settings: Settings) -> func.Blueprint:
    """Build the trigger. Its first run reads the sinks file."""
    bp = func.Blueprint()
    sinks = SinkRun(settings)

    @bp.function_name("sinks")
    @bp.timer_trigger(arg_name="timer", schedule="0 * * * * *")
    def run_sinks(timer: func.TimerRequest) -> None:
        sinks.run()

    return bp


class SinkRun:
    """The sinks of an app. Between two runs of the timer, they stay in memory with the times of their next attempts."""

    def __init__(self, settings: Settings, budget_s: float = BUDGET_S, stop_s: float = STOP_S) -> None:
        """Prepare without connecting. budget_s: maximum seconds of deliveries; stop_s: seconds to finish attempts."""
        self._supervisor = SinkSupervisor(settings)
        self._budget_s = budget_s
        self._stop_s = stop_s

    def run(self) -> None:
        """Let each sink deliver the waiting events. Returns within budget_s + stop_s, even if a target hangs."""
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
