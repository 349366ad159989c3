"""Deliver one batch in attempts with fewer payloads after a fault and more after a success, until all are settled.

If the target itself fails (it is unreachable, rejects our credentials, is overloaded), the sink waits without limit.
It gives up an event only if the target refuses that event, or fails at it repeatedly while it accepts another event.
"""

import random
import sys
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from headwater.events.position import Source
from headwater.sinks.interface.error_isolation import MaskSecrets, deliver_guarded
from headwater.sinks.interface.shape import Outcome, Payload, Target

FIRST_WAIT_S = 0.5
MAX_WAIT_S = 60.0
MAX_RETRY_AFTER_S = 3600.0
"""Maximum wait in seconds that a target can request with `Retry-After`."""
CIRCUIT_OPEN_AFTER = 5
"""Number of consecutive faults that open the circuit; then the sink tests the target with single payloads."""
MAX_BATCH_EVENTS = 2_000
"""Maximum number of events in a batch. If the process is killed, at most this number is sent again."""
BATCH_BYTES = 16 << 20
"""Maximum size of a batch in bytes, unless a single body is larger."""
MAX_TRIES = 3
"""Number of failed attempts with one payload alone, after which another payload shows whether the target works."""
ATTEMPT_BYTES = 4 << 20
"""Maximum size of one attempt in bytes, unless a single payload is larger."""


@dataclass(slots=True)
class DeliveryPace:
    """Computes how long one sink waits between attempts.

    rate: maximum number of payloads per second, or None for no limit. faults: number of consecutive faults.
    """

    rate: float | None = None
    faults: int = 0
    draw: random.Random = field(default_factory=random.Random)

    @property
    def is_open(self) -> bool:
        """Return whether the circuit breaker is open."""
        return self.faults >= CIRCUIT_OPEN_AFTER

    def wait_after_fault_s(self, requested_s: float) -> float:
        """Count a fault and return the wait in seconds, which is random, so that sinks do not retry at the same moment.

        requested_s: minimum wait that the target requested, in seconds; at most MAX_RETRY_AFTER_S applies.
        """
        self.faults += 1
        grown = min(MAX_WAIT_S, FIRST_WAIT_S * 2 ** min(self.faults - 1, 16))
        return max(min(requested_s, MAX_RETRY_AFTER_S), self.draw.uniform(grown / 2, grown))

    def wait_after_success_s(self, payloads: int) -> float:
        """Reset the number of faults, and return the wait in seconds that keeps the rate after `payloads` were sent."""
        self.faults = 0
        return payloads / self.rate if self.rate else 0.0


class DeadLetter(NamedTuple):
    """A payload that the sink gave up, with the reason and the number of attempts."""

    payload: Payload
    reason: str
    attempts: int


class Delivery:
    """Delivers the payloads of a batch, and holds those that are pending or that the target refused."""

    def __init__(
        self, target: Target, pace: DeliveryPace, attempt_size: int | None = None, mask_secrets: MaskSecrets = str
    ) -> None:
        """attempt_size: number of payloads in the first attempt, or None for the largest that the target allows."""
        self.delivered = 0
        self.last_accepted: Payload | None = None
        """The payload that the target accepted last."""
        self.refused: list[DeadLetter] = []
        self.attempt_size = attempt_size or target.largest
        self._target = target
        self._pace = pace
        self._mask_secrets = mask_secrets
        self._pending: deque[Payload] = deque()
        self._reset_first()

    def _reset_first(self) -> None:
        """Reset the state about the first pending payload."""
        self.trouble: str | None = None
        self.tries = 0
        """Failed attempts with the first payload alone."""
        self._target_works = False
        """Whether the target accepted another payload after it failed at the first."""
        self._failed_probes = 0
        """Number of failed attempts with another payload than the first one."""

    def probe_with(self, accepted: Payload) -> float:
        """Send a payload again that the target accepted before, to test the target; returns the wait in seconds."""
        outcome = deliver_guarded(self._target, [accepted], self._mask_secrets)
        self._target_works = not outcome.again
        return self._pace.wait_after_fault_s(outcome.after_s) if outcome.again else self._pace.wait_after_success_s(1)

    def add(self, payloads: Iterable[Payload]) -> None:
        """Append payloads; unfit payloads become dead letters without an attempt."""
        for payload in payloads:
            if payload.unfit is None:
                self._pending.append(payload)
            else:
                self.refused.append(DeadLetter(payload, payload.unfit, 0))

    @property
    def is_done(self) -> bool:
        """Return whether no payload is pending."""
        return not self._pending

    @property
    def needs_probe(self) -> bool:
        """Return whether the target failed at all pending payloads, so that a further payload is needed to test it."""
        return self.tries >= MAX_TRIES - 1 and self._failed_probes >= len(self._pending) - 1

    def settled_positions(self, reached: Mapping[Source, int]) -> dict[Source, int]:
        """Return the last sequence number of each partition up to which all payloads are settled.

        reached: the last sequence number of the batch in each partition.
        """
        found = dict(reached)
        for source, sequence in (payload.position for payload in self._pending):
            found[source] = min(found[source], sequence - 1)
        return found

    def pop_delivered(self) -> int:
        """Return the number of payloads delivered since the last call."""
        taken, self.delivered = self.delivered, 0
        return taken

    def pop_refused(self, source: Source, until: int) -> list[DeadLetter]:
        """Remove and return the dead letters of a partition up to a sequence number."""
        taken = [each for each in self.refused if _is_within(each.payload, source, until)]
        self.refused = [each for each in self.refused if not _is_within(each.payload, source, until)]
        return taken

    def attempt_delivery(self) -> float:
        """Make one attempt with the next payloads; returns the number of seconds to wait before the next attempt."""
        is_probe = self.tries >= MAX_TRIES and not self._target_works and len(self._pending) > 1
        passed = self._take_payloads(1 + self._failed_probes % (len(self._pending) - 1) if is_probe else 0, sys.maxsize)
        some = self._take_payloads(1 if is_probe else self.attempt_size, ATTEMPT_BYTES)
        outcome = deliver_guarded(self._target, some, self._mask_secrets)
        self.refused += [DeadLetter(some[place], why, self.tries + 1) for place, why in outcome.refused.items()]
        taken = [each for place, each in enumerate(some) if place not in outcome.refused and place not in outcome.again]
        self.delivered += len(taken)
        self.last_accepted = taken[-1] if taken else self.last_accepted
        self._pending.extendleft(reversed([*passed, *(some[place] for place in sorted(outcome.again))]))
        return (
            self._record_fault(len(some), outcome, is_probe)
            if outcome.again
            else self._record_success(len(some), is_probe)
        )

    def _take_payloads(self, max_count: int, max_bytes: int) -> list[Payload]:
        """Remove and return up to `max_count` pending payloads with at most `max_bytes` bytes in total.

        If the first payload is larger, returns only this payload.
        """
        some: list[Payload] = []
        while self._pending and len(some) < max_count:
            max_bytes -= len(self._pending[0].body)
            if some and max_bytes < 0:
                break
            some.append(self._pending.popleft())
        return some

    def _record_success(self, count: int, is_probe: bool) -> float:
        if is_probe:
            self._target_works = True  # the next attempt with the first payload is its last one
        else:
            self._reset_first()
            self.attempt_size = min(self._target.largest, self.attempt_size * 2)
        return self._pace.wait_after_success_s(count)

    def _record_fault(self, count: int, outcome: Outcome, is_probe: bool) -> float:
        self.trouble = outcome.trouble
        if outcome.blames_event and count > 1:
            self.attempt_size = count // 2
            return 0.0  # the target responds, so smaller attempts will find the payload that it fails at
        if is_probe:
            self.tries = MAX_TRIES - 1  # it may fail at everything: try the first payload again, then another one
            self._failed_probes += 1
        elif outcome.blames_event:
            self.tries += 1
            if self._target_works:
                self._refuse_first()
                return 0.0
        wait_s = self._pace.wait_after_fault_s(outcome.after_s)
        self.attempt_size = 1 if self._pace.is_open else max(1, count // 2)
        return wait_s

    def _refuse_first(self) -> None:
        reason = f"The target fails at this event although it accepts another one: {self.trouble}"
        self.refused.append(DeadLetter(self._pending.popleft(), reason, self.tries))
        self._reset_first()


def _is_within(payload: Payload, source: Source, until: int) -> bool:
    of, sequence = payload.position
    return of == source and sequence <= until
