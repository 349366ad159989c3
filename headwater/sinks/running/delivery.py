"""One batch on its way: attempts that grow smaller with faults and larger with success, until all is settled.

A fault of the target itself (it cannot be reached, refuses our credentials, is overloaded) is waited for, however long.
An event is given up only if the target refuses it by name, or fails at it again and again while it takes another one.
"""

import sys
from collections import deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headwater.events.position import Source
from headwater.sinks.contract.guarding import Hide, deliver_guarded
from headwater.sinks.contract.sink_shape import Outcome, Payload, Target
from headwater.sinks.running.retry_pace import Pace

AT_ONCE = 2_000
"""Events of a batch, which a kill may repeat."""
BATCH_BYTES = 16 << 20
"""Of a batch, unless a single body is larger: a sink keeps no more of it in memory."""
TRIES = 3
"""Attempts with one payload alone that the target fails at, before another one shows whether the target works."""
LARGEST_BYTES = 4 << 20
"""Of one attempt, unless a single payload is larger."""


class DeadLetter(NamedTuple):
    """A payload that was given up, why, and after how many attempts with it."""

    payload: Payload
    reason: str
    attempts: int


class Delivery:
    """What is left of a batch."""

    def __init__(self, target: Target, pace: Pace, width: int | None = None, hide: Hide = str) -> None:
        """Begin empty. width: payloads of the first attempt; hide: takes secrets out of what goes wrong."""
        self.delivered = 0
        self.taken: Payload | None = None
        """What the target took last."""
        self.refused: list[DeadLetter] = []
        self.width = width or target.largest
        self._target = target
        self._pace = pace
        self._hide = hide
        self._left: deque[Payload] = deque()
        self._begin()

    def _begin(self) -> None:
        """Know nothing yet of what is first now."""
        self.trouble: str | None = None
        self.tries = 0
        """Attempts with the first payload alone that the target failed at."""
        self._works = False
        """Whether the target took another payload since it failed at the first."""
        self._mute = 0
        """Other payloads that it failed at, too."""

    def ask_with(self, taken: Payload) -> float:
        """Show by one that the target took before whether it works; returns how long to wait before the next (s)."""
        outcome = deliver_guarded(self._target, [taken], self._hide)
        self._works = not outcome.again
        return self._pace.after_fault(outcome.after_s) if outcome.again else self._pace.after_success(1)

    def add(self, payloads: Iterable[Payload]) -> None:
        """Put payloads behind what is left; the unfit ones are refused at once."""
        for payload in payloads:
            if payload.unfit is None:
                self._left.append(payload)
            else:
                self.refused.append(DeadLetter(payload, payload.unfit, 0))

    @property
    def is_done(self) -> bool:
        """Tell whether nothing is left."""
        return not self._left

    @property
    def needs_another(self) -> bool:
        """Tell whether the target fails at all that is left, so that only another one could show that it works."""
        return self.tries >= TRIES - 1 and self._mute >= len(self._left) - 1

    def settled(self, reached: Mapping[Source, int]) -> dict[Source, int]:
        """Return how far each partition is settled whose events reach so far."""
        found = dict(reached)
        for source, sequence in (payload.place for payload in self._left):
            found[source] = min(found[source], sequence - 1)
        return found

    def take_delivered(self) -> int:
        """Hand over how many were delivered since the last time."""
        taken, self.delivered = self.delivered, 0
        return taken

    def take_refused(self, source: Source, until: int) -> list[DeadLetter]:
        """Hand over what was given up of a partition up to there."""
        taken = [each for each in self.refused if _is_within(each.payload, source, until)]
        self.refused = [each for each in self.refused if not _is_within(each.payload, source, until)]
        return taken

    def attempt(self) -> float:
        """Make one attempt; returns how long to wait before the next (s)."""
        as_witness = self.tries >= TRIES and not self._works and len(self._left) > 1
        passed = self._take(1 + self._mute % (len(self._left) - 1) if as_witness else 0, sys.maxsize)
        some = self._take(1 if as_witness else self.width, LARGEST_BYTES)
        outcome = deliver_guarded(self._target, some, self._hide)
        self.refused += [DeadLetter(some[place], why, self.tries + 1) for place, why in outcome.refused.items()]
        taken = [each for place, each in enumerate(some) if place not in outcome.refused and place not in outcome.again]
        self.delivered += len(taken)
        self.taken = taken[-1] if taken else self.taken
        self._left.extendleft(reversed([*passed, *(some[place] for place in sorted(outcome.again))]))
        return (
            self._after_fault(len(some), outcome, as_witness) if outcome.again else self._after(len(some), as_witness)
        )

    def _take(self, most: int, most_bytes: int) -> list[Payload]:
        """Take so many payloads from the front; more than one only as long as they are no larger together."""
        some: list[Payload] = []
        while self._left and len(some) < most:
            most_bytes -= len(self._left[0].body)
            if some and most_bytes < 0:
                break
            some.append(self._left.popleft())
        return some

    def _after(self, count: int, as_witness: bool) -> float:
        if as_witness:
            self._works = True  # the next attempt is the first payload's last one
        else:
            self._begin()
            self.width = min(self._target.largest, self.width * 2)
        return self._pace.after_success(count)

    def _after_fault(self, count: int, outcome: Outcome, as_witness: bool) -> float:
        self.trouble = outcome.trouble
        if outcome.blames_event and count > 1:
            self.width = count // 2
            return 0.0  # it answers: the smaller attempt finds what it fails at
        if as_witness:
            self.tries = TRIES - 1  # it may fail at everything: ask with the first payload again, then with another
            self._mute += 1
        elif outcome.blames_event:
            self.tries += 1
            if self._works:
                self._give_up()
                return 0.0
        wait_s = self._pace.after_fault(outcome.after_s)
        self.width = 1 if self._pace.is_open else max(1, count // 2)
        return wait_s

    def _give_up(self) -> None:
        reason = f"The target fails at this event while it takes another one: {self.trouble}"
        self.refused.append(DeadLetter(self._left.popleft(), reason, self.tries))
        self._begin()


def _is_within(payload: Payload, source: Source, until: int) -> bool:
    of, sequence = payload.place
    return of == source and sequence <= until
