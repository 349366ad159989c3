"""Follow time like a partition of the lake: find runs that fell silent, one time range per call."""

import threading
from collections.abc import Callable

from headwater.lake.bronze_tables import Bronze
from headwater.sinks.contract.error_isolation import MaskSecrets
from headwater.sinks.contract.sink_options import Silence, Sink
from headwater.sinks.contract.sink_shape import CLOCK, Payload, Target
from headwater.sinks.merging.silence import SilencePayloads, SilenceQuery, find_silent
from headwater.sinks.running.sink_feed import Batch
from headwater.sinks.running.sink_position import SinkPosition

_CHECKS_PER_SILENCE = 20
"""A run's silence is reported late by at most this fraction of the silence (1/20) ..."""
_MAX_CHECK_INTERVAL_S = 600.0
"""... and by at most this time."""
_COMMIT_CLOCK_US = 3600 * 1_000_000
"""Between two commits of the clock's position if no run fell silent."""


class SilenceClock:
    """The payloads that become due through silence; none if the sink's options define no silence."""

    def __init__(
        self,
        sink: Sink,
        bronze: Bronze,
        position: SinkPosition,
        *,
        mask_secrets: MaskSecrets,
        clock: Callable[[], int],
        stop: threading.Event,
    ) -> None:
        """clock: returns the moment up to which silence is reported (us, UTC)."""
        self._sink = sink
        self._bronze = bronze
        self._position = position
        self._mask_secrets = mask_secrets
        self._clock = clock
        self._stop = stop

    def due(self, open_target: Callable[[], Target]) -> SilencePayloads | None:
        """Return what has become due since the last check; None if there is nothing, or the last check was recent."""
        silence, now_us, position = self._sink.options.silence, self._clock(), self._position
        if silence is None or now_us < position.next_check_us:
            return None
        while position.reported_until_us < now_us:
            turn = self._check_range(open_target(), silence, position.reported_until_us, now_us)
            if turn.payloads or self._stop.is_set() or turn.until_us >= position.committed_until_us + _COMMIT_CLOCK_US:
                return turn
            position.progress = position.progress_with({CLOCK: turn.until_us})
        position.next_check_us = now_us + int(min(silence.after_s / _CHECKS_PER_SILENCE, _MAX_CHECK_INTERVAL_S) * 1e6)
        return None

    def late(self, batch: Batch, open_target: Callable[[], Target]) -> list[Payload]:
        """Return what a batch makes due for a time that was already checked, because its events arrived late."""
        silence, reported_until_us = self._sink.options.silence, self._position.reported_until_us
        if not silence or not batch.events:
            return []
        oldest_us = min(event.head.received_us for event in batch.events)
        since_us = oldest_us - 1 + (int(silence.after_s * 1e6) if silence.by_receipt else 0)
        found: list[Payload] = []
        while 0 < since_us < reported_until_us:
            payloads, since_us = self._check_range(open_target(), silence, since_us, reported_until_us)
            found += payloads
        return found

    def _check_range(self, target: Target, silence: Silence, since_us: int, until_us: int) -> SilencePayloads:
        """Check a time range; its payloads get positions after everything committed, so that a failure is recorded."""
        by = SilenceQuery(target, self._bronze, self._sink.options.only.matches, self._mask_secrets)
        turn = find_silent(by, silence, since_us, until_us)
        return SilencePayloads(
            [_placed(each, self._position.reported_until_us + 1) for each in turn.payloads], turn.until_us
        )


def _placed(payload: Payload, least: int) -> Payload:
    """Move a payload to its own moment or after the last committed one, so that its dead letter can be committed."""
    head = payload.event.head
    head = head._replace(sequence=max(head.sequence, least))
    return payload._replace(event=payload.event._replace(head=head))
