"""Time, followed by a sink as a partition is: what is due because nothing came, a span at a time."""

import threading
from collections.abc import Callable

from headwater.lake.bronze_tables import Bronze
from headwater.sinks.contract.guarding import Hide
from headwater.sinks.contract.sink_options import Silence, Sink
from headwater.sinks.contract.sink_shape import CLOCK, Payload, Target
from headwater.sinks.merging.silence import Asking, FallenSilent, fallen_silent
from headwater.sinks.running.sink_feed import Batch
from headwater.sinks.running.sink_position import SinkPosition

_TURNS = 20
"""Silence is told at most this part of it later …"""
_LONGEST_TURN_S = 600.0
"""… and at most so much."""
_KEEP_CLOCK_US = 3600 * 1_000_000
"""Between two commits that keep nothing but up to which moment nothing was silent."""


class SilenceTurns:
    """What time alone makes due of one sink; nothing where its options name no silence."""

    def __init__(
        self, sink: Sink, bronze: Bronze, position: SinkPosition, *, hide: Hide, clock: Callable[[], int],
        stop: threading.Event,
    ) -> None:  # fmt: skip
        """Look at nothing yet. clock: tells the moment up to which silence is told (us, UTC)."""
        self._sink = sink
        self._bronze = bronze
        self._position = position
        self._hide = hide
        self._clock = clock
        self._stop = stop

    def due(self, opened: Callable[[], Target]) -> FallenSilent | None:
        """Return what time made due since it was asked last, None where that is nothing, or not long ago."""
        silence, now_us, position = self._sink.options.silence, self._clock(), self._position
        if silence is None or now_us < position.ask_at_us:
            return None
        while position.told_us < now_us:
            turn = self._turn(opened(), silence, position.told_us, now_us)
            if turn.payloads or self._stop.is_set() or turn.until_us >= position.kept_us + _KEEP_CLOCK_US:
                return turn
            position.progress = position.behind({CLOCK: turn.until_us})
        position.ask_at_us = now_us + int(min(silence.after_s / _TURNS, _LONGEST_TURN_S) * 1e6)
        return None

    def late(self, batch: Batch, opened: Callable[[], Target]) -> list[Payload]:
        """Return what a batch makes due that the lake had not yet when that time was asked about."""
        silence, told_us = self._sink.options.silence, self._position.told_us
        if not silence or not batch.events:
            return []
        oldest_us = min(event.head.received_us for event in batch.events)
        since_us = oldest_us - 1 + (int(silence.after_s * 1e6) if silence.by_receipt else 0)
        found: list[Payload] = []
        while 0 < since_us < told_us:
            payloads, since_us = self._turn(opened(), silence, since_us, told_us)
            found += payloads
        return found

    def _turn(self, target: Target, silence: Silence, since_us: int, until_us: int) -> FallenSilent:
        """Look at a span of time; what it makes due stands behind all that was told, so that its fault is kept."""
        by = Asking(target, self._bronze, self._sink.options.only.wants, self._hide)
        turn = fallen_silent(by, silence, since_us, until_us)
        return FallenSilent([_placed(each, self._position.told_us + 1) for each in turn.payloads], turn.until_us)


def _placed(payload: Payload, least: int) -> Payload:
    """Return what time made due, at its moment or behind all moments that are kept: there its fault is, too."""
    head = payload.event.head
    head = head._replace(sequence=max(head.sequence, least))
    return payload._replace(event=payload.event._replace(head=head))
