"""One run of the timer: the sinks work side by side, by a laptop's runner, until none has more to do or time is up.

The host's lease on the timer keeps a second instance from running beside this one. Should one do so all the same, both
deliver; each commit of a position is conditional on the one before, so nothing is passed over.
"""

import logging
import time
from collections.abc import Mapping

from headwater.runtime.sink_crew import Crew
from headwater.settings import Settings
from headwater.sinks.running.sink_status import Status

log = logging.getLogger(__name__)

BUDGET_S = 420.0
STOP_S = 90.0
"""For attempts that are on their way when the budget is spent. Together well within `functionTimeout` (host.json)."""
SOON_S = 5.0
"""A sink that waits longer for its target waits until a later run: waiting here is billed."""
LOOK_S = 0.1

REPORT = "Sink %s (%s): %d events of the lake wait for it, the oldest for %d s"
BROKEN = "The file of sinks is not taken up. %s"
"""Alerts of infra/bicep/modules/alerts.bicep read these lines."""


class Shift:
    """The sinks of an app; between two runs of the timer they stand still, and know how long their targets wait."""

    def __init__(self, settings: Settings, budget_s: float = BUDGET_S, stop_s: float = STOP_S) -> None:
        """Open nothing that answers over the network yet. budget_s: longest work; stop_s: for what it is amid then."""
        self._crew = Crew(settings)
        self._budget_s = budget_s
        self._stop_s = stop_s

    def run(self) -> None:
        """Let each sink deliver what waits for it; returns within budget and stop time, whatever the targets do."""
        until = time.monotonic() + self._budget_s
        self._crew.look()
        if problem := self._crew.problem:
            log.error(BROKEN, problem)
        while time.monotonic() < until and any(map(_goes_on, self._crew.at_work())):
            time.sleep(LOOK_S)
        self._crew.end(self._stop_s)
        self._crew.measure()
        _report(self._crew.statuses())
        self._crew.tend()


def _goes_on(status: Status) -> bool:
    """Tell whether a sink has something to do, or will have soon."""
    if status.state in ("waiting", "open"):
        return status.next_try_us is None or status.next_try_us / 1e6 < time.time() + SOON_S
    return status.state in ("starting", "delivering")


def _report(statuses: Mapping[str, Status]) -> None:
    for name, status in statuses.items():
        waited_s = max(0.0, time.time() - status.behind_us / 1e6) if status.behind_us else 0.0
        log.info(REPORT, name, status.state, status.behind, waited_s)
