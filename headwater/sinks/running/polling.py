"""Report new items that a target finds by polling; the first poll is the baseline and reports nothing.

A target that stores what it sent (StoringTarget) decides itself what is new. For other targets, the result of a poll is
stored after its notices are delivered. If the process is killed before, the notices of this one poll are sent again,
with the same ids.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from headwater.common.errors import HeadwaterError
from headwater.common.failpoints import reach_failpoint
from headwater.sinks.interface.error_isolation import MaskSecrets, log_unexpected_error
from headwater.sinks.interface.options import Sink
from headwater.sinks.interface.shape import Payload, PollingTarget, StoringTarget, Target
from headwater.sinks.running.delivery import DeliveryPace
from headwater.sinks.running.ledger import PollState, SinkLedger

_T = TypeVar("_T")


class NewNotices(NamedTuple):
    """The notices of a poll.

    at_us: time of the poll (UTC). poll_state: the state to store when they are delivered, None if the target stores
    what it sent.
    """

    payloads: list[Payload]
    at_us: int
    poll_state: PollState | None


class SinkPolling:
    """The polls of one sink's target."""

    def __init__(self, sink: Sink, ledger: SinkLedger, *, mask_secrets: MaskSecrets, clock: Callable[[], int]) -> None:
        """clock: returns the current time (us, UTC)."""
        self.trouble: str | None = None
        """The reason why the last poll failed, or None if it succeeded. A failed poll changes nothing else."""
        self._sink = sink
        self._ledger = ledger
        self._mask_secrets = mask_secrets
        self._clock = clock
        self._pace = DeliveryPace()
        self._asked_us = self._next_us = 0
        self._storing: StoringTarget | None = None

    def new_notices(self, open_target: Callable[[], Target]) -> NewNotices | None:
        """Poll the target if a poll is due, and return the notices for new items.

        Returns None if no poll is due, the poll failed, or nothing has changed since the last `commit`. Until `commit`,
        each poll returns the notices again.
        """
        every_s, at_us = self._sink.options.poll_interval_s, self._clock()
        if every_s is None or self._asked_us <= at_us < self._next_us:  # an earlier moment: the clock was set back
            return None
        self._asked_us = at_us
        target = open_target()
        if isinstance(target, StoringTarget):
            self._storing, storing = target, target
            payloads = self._try(lambda: storing.new_payloads(at_us))
            if payloads is None:
                self._schedule_after_fault(at_us)
                return None
            self._pace.wait_after_success_s(0)
            self._schedule_next(every_s, at_us)
            return NewNotices([*payloads], at_us, None) if payloads else None
        previous = self._ledger.poll_state(self._sink.name)
        turn = previous.turn + 1
        found = self._try(lambda: target.poll(at_us, turn)) if isinstance(target, PollingTarget) else {}
        if found is None:
            self._schedule_after_fault(at_us)
            return None
        self._pace.wait_after_success_s(0)
        seen = {asked: sorted(each.event.head.event_id for each in there) for asked, there in found.items()}
        if seen != previous.seen:
            return NewNotices(_new_payloads(self._sink, found, previous), at_us, PollState(previous.turn + 1, seen))
        self._schedule_next(every_s, at_us)
        return None

    def commit(self, new_notices: NewNotices) -> None:
        """Store the result of a poll; call this when its notices are delivered or given up."""
        reach_failpoint("sinks.looked")
        if new_notices.poll_state is None:
            if self._storing:
                self._storing.settle(new_notices.payloads)
            return
        self._ledger.set_poll_state(self._sink.name, new_notices.poll_state)
        self._schedule_next(self._sink.options.poll_interval_s or 0.0, new_notices.at_us)

    def _schedule_next(self, seconds: float, since_us: int) -> None:
        self._next_us = since_us + int(1e6 * seconds)

    def _schedule_after_fault(self, at_us: int) -> None:
        now_us = self._clock()
        wait_s = self._pace.wait_after_fault_s((now_us - at_us) / 1e6)  # a hanging poll takes at most half the time
        self._schedule_next(wait_s, now_us)

    def _try(self, poll: Callable[[], _T]) -> _T | None:
        """Return the result of a poll; returns None and sets `trouble` if it fails."""
        self.trouble = None
        try:
            return poll()
        except HeadwaterError as error:
            self.trouble = str(error)
        except Exception as error:
            self.trouble = log_unexpected_error(error, "Polling", self._mask_secrets)
        return None


def notices_if_still_present(sink: Sink, target: Target, item_id: str, at_us: int) -> list[Payload]:
    """Poll the target and return the notices for one item, or an empty list if the item no longer exists.

    at_us: the moment at which the item was found (UTC); the notices get the same ids as then.
    """
    if sink.options.poll_interval_s is None or not isinstance(target, PollingTarget):
        return []
    return [
        each for there in target.poll(at_us, at_us).values() for each in there if each.event.head.event_id == item_id
    ]


def _new_payloads(sink: Sink, found: Mapping[str, Sequence[Payload]], previous: PollState) -> list[Payload]:
    """Return the notices for items that the previous poll did not find and that pass the sink's filter.

    A query that the previous poll did not make has no new items, because there is nothing to compare it with.
    """
    known = {asked: {*seen} for asked, seen in previous.seen.items()}
    return [
        each
        for asked, there in found.items()
        for each in there
        if asked in known
        and each.event.head.event_id not in known[asked]
        and sink.options.only.matches(each.event.head)
    ]
