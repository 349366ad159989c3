"""What a sink is doing: for who asks, and in the log where its trouble begins and ends."""

import logging

import msgspec

from headwater.sinks.contract.guarding import one_line
from headwater.sinks.running.sink_ledger import SinkCounts

log = logging.getLogger(__name__)


class Status(msgspec.Struct):
    """What a sink of some type is doing. next_try_us: when the next attempt is made (us, UTC), None where none waits.

    behind: events in the lake that it has not taken; behind_us: when the oldest of them was received, None if none.
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

    def say(self, sink: str, state: str, trouble: str | None) -> None:
        """Keep what a sink does; a new trouble, and its end, are a line in the log."""
        trouble = one_line(trouble) if trouble else None
        if trouble and trouble != self.trouble:
            log.warning("Sink %s: %s", sink, trouble)
        elif self.trouble and not trouble:
            log.info("Sink %s goes on.", sink)
        self.trouble, self.state = trouble, state

    def count(self, counts: SinkCounts) -> None:
        """Keep what became of its events."""
        self.delivered, self.failed, self.left_out = counts
