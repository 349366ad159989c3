"""The status of a sink for queries, and log lines when a fault starts and ends."""

import logging

import msgspec

from headwater.sinks.contract.error_isolation import one_line
from headwater.sinks.running.sink_ledger import SinkCounts

log = logging.getLogger(__name__)


class Status(msgspec.Struct):
    """The status of a sink. type: of its target; next_try_us: time of the next attempt (us, UTC), None if none is due.

    behind: number of events in the lake that the sink has not taken; behind_us: receipt of the oldest, None if none.
    """

    type: str
    state: str = "starting"
    trouble: str | None = None
    next_try_us: int | None = None
    delivered: int = 0
    failed: int = 0
    left_out: int = 0
    behind: int = 0
    behind_us: int | None = None

    def update(self, sink: str, state: str, trouble: str | None) -> None:
        """Set the state; a new fault, and its end, are logged."""
        trouble = one_line(trouble) if trouble else None
        if trouble and trouble != self.trouble:
            log.warning("Sink %s: %s", sink, trouble)
        elif self.trouble and not trouble:
            log.info("Sink %s goes on.", sink)
        self.trouble, self.state = trouble, state

    def set_counts(self, counts: SinkCounts) -> None:
        """Set the totals of the sink."""
        self.delivered, self.failed, self.left_out = counts
