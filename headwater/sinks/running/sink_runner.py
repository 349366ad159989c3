"""One sink at work: follow, convert, deliver, and keep what became of it; for ever, whatever the target does."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from headwater.errors import HeadwaterError, LakeUnavailable
from headwater.events.position import Source
from headwater.failpoints import reach
from headwater.lake.bronze_follower import Progress, sources_ahead
from headwater.lake.bronze_tables import Bronze
from headwater.lake.lake_maintenance import compact
from headwater.lake.open_table import REOPEN_AFTER
from headwater.sinks.connecting.sink_secrets import Secrets
from headwater.sinks.contract.guarding import say_unforeseen
from headwater.sinks.contract.sink_options import Silence, Sink
from headwater.sinks.contract.sink_shape import CLOCK, WATCH, Payload, Target
from headwater.sinks.contract.target_registry import open_sink
from headwater.sinks.merging.earlier_events import payloads_of
from headwater.sinks.merging.silence import Asking, FallenSilent, fallen_silent
from headwater.sinks.running.delivery import Delivery
from headwater.sinks.running.retry_pace import Pace
from headwater.sinks.running.sink_feed import Batch, SinkFeed
from headwater.sinks.running.sink_ledger import Ledger, Orders, SinkCounts
from headwater.sinks.running.sink_watch import SinkWatch

log = logging.getLogger(__name__)


GIVEN_UP = "Sink %s: %d events given up, see `headwater sinks failures`. The first: %s"
"""An alert of infra/bicep/modules/alerts.bicep reads this line."""

_TURNS = 20
"""Silence is told at most this part of it later …"""
_LONGEST_TURN_S = 600.0
"""… and at most so much."""
_KEEP_CLOCK_US = 3600 * 1_000_000
"""Between two commits that keep nothing but up to which moment nothing was silent."""
KEEP_EVERY_S = 2.0
"""A batch that takes longer is kept piece by piece: whoever is killed often goes on all the same."""


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


class Runner:
    """The task of one sink: its own reader of bronze, its own connection. `run` until `stop` is set."""

    def __init__(
        self,
        sink: Sink,
        *,
        secrets: Secrets,
        bronze: Bronze,
        ledger: Ledger,
        stop: threading.Event,
        look_s: float,
        until: Mapping[Source, int] | None = None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        """Touch nothing yet.

        look_s: between two looks at lake and orders; until: where it is caught up for ever; clock: tells the moment up
        to which silence is told (us, UTC).
        """
        self.sink = sink
        self.status = Status(sink.options.type)
        self._secrets = secrets
        self._bronze = bronze
        self._ledger = ledger
        self._stop = stop
        self._look_s = look_s
        self._feed = SinkFeed(bronze, sink.options.only.wants, until)
        self._pace = Pace(sink.options.rate)
        self._ends = until is not None
        self._watch = SinkWatch(sink, ledger, hide=secrets.hide, clock=clock)
        self._taken: Payload | None = None
        self._width: int | None = None
        self._target: Target | None = None
        self._orders: Orders | None = None
        self.progress: Progress | None = None
        """How far the sink is, None before it has looked."""
        self._clock = clock
        self._kept_us = self._ask_at_us = 0
        self._resets: int | None = None
        self._counts = SinkCounts(0, 0, 0)
        self._not_before = self._waits_until = 0.0

    def run(self) -> None:
        """Work until stopped; faults of lake, target and our own are said and tried again, ever more slowly.

        Called again it goes on: whatever another one did meanwhile is read first, and a wait is waited to its end.
        """
        self._orders = None
        if (left := self._waits_until - time.monotonic()) > 0:
            self.status.state = "waiting"
            self._wait(left)
        while not self._stop.is_set():
            try:
                self._look()
            except Exception as error:
                is_known = isinstance(error, HeadwaterError)
                said = str(error) if is_known else say_unforeseen(error, f"Sink {self.sink.name}", self._secrets.hide)
                self._orders = None  # read anew what is kept: a commit may have arrived whose answer did not
                self._say("waiting", said)
                self._wait(self._pace.after_fault(0.0))
        self._close()

    def _look(self) -> None:
        if self._changed():
            self._begin()
        assert self._orders is not None  # noqa: S101 - just read
        if self._orders.paused:
            self._say("paused", None)
            self._stop.wait(self._look_s)
            return
        if not self._ends and (news := self._watch.news(self._opened)):
            if not news.payloads or self._deliver(news.payloads, {WATCH: news.at_us}, 0):
                self._watch.keep(news)
            return
        if self._feed.is_through(self._behind({})) and self._tells_silence():  # also while events keep coming
            return
        if time.monotonic() < self._not_before:
            state = "collecting"
        elif batch := self._feed.next(self._behind({})):
            if self._deliver_late(batch) and self._deliver(
                payloads_of(self._opened(), self._bronze, batch.events, self._secrets.hide),
                {batch.source: batch.until},
                batch.left_out,
            ):
                self._not_before = time.monotonic() + self.sink.options.every
            return
        elif self._tells_silence():
            return
        else:
            state = "caught up"
        self._say(state, None)
        self._stop.wait(self._look_s)

    def _opened(self) -> Target:
        self._target = self._target or open_sink(self.sink, self._secrets.reveal)
        return self._target

    @property
    def _told_us(self) -> int:
        return (self.progress or {}).get((CLOCK.epoch, CLOCK.partition), 0)

    def _tells_silence(self) -> bool:
        """Deliver what is due because nothing came; false where nothing is."""
        if turn := self._silent():
            self._deliver(turn.payloads, {CLOCK: turn.until_us}, 0)
        return turn is not None

    def _silent(self) -> FallenSilent | None:
        """Return what time alone made due since it was asked last, None where that is nothing, or not long ago."""
        silence, now_us = self.sink.options.silence, self._clock()
        if silence is None or now_us < self._ask_at_us:
            return None
        while self._told_us < now_us:
            turn = self._turn(self._opened(), silence, self._told_us, now_us)
            if turn.payloads or self._stop.is_set() or turn.until_us >= self._kept_us + _KEEP_CLOCK_US:
                return turn
            self.progress = self._behind({CLOCK: turn.until_us})
        self._ask_at_us = now_us + int(min(silence.after_s / _TURNS, _LONGEST_TURN_S) * 1e6)
        return None

    def _deliver_late(self, batch: Batch) -> bool:
        """Settle what a batch makes due that the lake had not yet when that time was asked about, before the batch.

        False where it was broken off, or where the batch was settled with it.
        """
        silence, told_us = self.sink.options.silence, self._told_us
        if not silence or not batch.events:
            return True
        oldest_us = min(event.head.received_us for event in batch.events)
        since_us = oldest_us - 1 + (int(silence.after_s * 1e6) if silence.by_receipt else 0)
        found: list[Payload] = []
        while 0 < since_us < told_us:
            payloads, since_us = self._turn(self._opened(), silence, since_us, told_us)
            found += payloads
        if found and not self._deliver(found, {CLOCK: told_us + 1}, 0):
            return False
        return self._behind({}).get((batch.source.epoch, batch.source.partition), 0) < batch.until

    def _turn(self, target: Target, silence: Silence, since_us: int, until_us: int) -> FallenSilent:
        """Look at a span of time; what it makes due stands behind all that was told, so that its fault is kept."""
        by = Asking(target, self._bronze, self.sink.options.only.wants, self._secrets.hide)
        turn = fallen_silent(by, silence, since_us, until_us)
        return FallenSilent([_placed(each, self._told_us + 1) for each in turn.payloads], turn.until_us)

    def _changed(self) -> bool:
        return self._orders is None or self._ledger.orders(self.sink.name) != self._orders

    def _begin(self) -> None:
        """Read orders and position anew."""
        self._ledger.create()
        name = self.sink.name
        sources = sources_ahead(self._bronze, {}) if self._bronze.exists() else {}
        if self.sink.options.silence:
            sources[CLOCK] = self._clock()
        orders = self._ledger.orders(name)
        if orders.resets == 0 and self.sink.options.begin == "now":
            heads = {f"{each.epoch}/{each.partition}": head for each, head in sources.items()}
            orders = Orders(orders.paused, 1, heads)
            self._ledger.order(name, orders)
        asked_us = self._told_us if orders.resets == self._resets else 0
        if not asked_us:
            self._ask_at_us = 0
        self._resets, self.progress = orders.resets, self._ledger.progress(name, orders, sources)
        self._kept_us = self._told_us
        if asked_us > self._kept_us:
            self.progress = self._behind({CLOCK: asked_us})
        self._count(self._ledger.counts(name))
        self._orders = orders

    def _deliver(self, payloads: Sequence[Payload], reached: Mapping[Source, int], left_out: int) -> bool:
        """Settle a batch and keep what became of it; False where it was broken off, to be read again."""
        target, hide = self._opened(), self._secrets.hide
        delivery = Delivery(target, self._pace, self._width, hide)
        delivery.add(payloads)
        keep_at = time.monotonic() + KEEP_EVERY_S
        while not delivery.is_done:
            wait_s = delivery.attempt()
            self._taken = delivery.taken or self._taken
            if delivery.needs_another and (more := self._feed.next(self._behind(reached))):
                delivery.add(payloads_of(target, self._bronze, more.events, hide))
                reached, left_out = {**reached, more.source: more.until}, left_out + more.left_out
            elif delivery.needs_another and self._ends and self._taken:
                wait_s = delivery.ask_with(self._taken)
            self._tell(delivery.trouble)
            goes_on = not self._stop.is_set() and (not wait_s or self._wait(wait_s))
            if not goes_on or time.monotonic() >= keep_at:
                self._keep(delivery.settled(reached), 0, delivery)
                keep_at = time.monotonic() + KEEP_EVERY_S
                goes_on = goes_on and not self._changed()
            if not goes_on and not delivery.is_done:
                return False
        self._width = delivery.width
        reach("sinks.delivered")
        self._keep(reached, left_out, delivery)
        return True

    def _keep(self, reached: Mapping[Source, int], left_out: int, delivery: Delivery) -> None:
        """Commit what became of a batch so far, for each partition by itself where it has events of several."""
        assert self._orders is not None  # noqa: S101 - read before the batch
        for source, until in reached.items():
            letters = delivery.take_refused(source, until)
            letters = [each._replace(reason=self._secrets.hide(each.reason)) for each in letters]
            was = self._counts
            counts = SinkCounts(
                was.delivered + delivery.take_delivered(), was.failed + len(letters), was.left_out + left_out
            )
            self._ledger.commit(self.sink.name, self._orders, source, until, refused=letters, counts=counts)
            self._count(counts)
            if letters:
                log.warning(GIVEN_UP, self.sink.name, len(letters), letters[0].reason)
            left_out = 0
        self._kept_us = reached.get(CLOCK, self._kept_us)
        reach("sinks.committed")
        self.progress = self._behind(reached)
        if self._ledger.commits >= REOPEN_AFTER:
            compact(self._ledger)

    def _behind(self, reached: Mapping[Source, int]) -> Progress:
        """Return how far the sink is once all up to there is settled."""
        return {**(self.progress or {}), **{(each.epoch, each.partition): until for each, until in reached.items()}}

    def _count(self, counts: SinkCounts) -> None:
        self._counts = counts
        self.status.delivered, self.status.failed, self.status.left_out = counts

    def _wait(self, seconds: float) -> bool:
        """Wait, unless stopped or ordered something else meanwhile; tells whether it waited to the end."""
        ends = self._waits_until = time.monotonic() + seconds
        self.status.next_try_us = (time.time_ns() // 1000) + int(seconds * 1e6)
        while (left := ends - time.monotonic()) > 0:
            if self._stop.wait(min(left, self._look_s)):
                return False
            try:
                if self._orders is not None and self._changed():
                    self._waits_until = 0.0
                    return False
            except LakeUnavailable:
                continue
        self.status.next_try_us = None
        return True

    def _tell(self, trouble: str | None) -> None:
        self._say(("open" if self._pace.is_open else "waiting") if trouble else "delivering", trouble)

    def _say(self, state: str, trouble: str | None) -> None:
        """Keep what is going on; a new trouble, and its end, are a line in the log. One with looking stops nothing."""
        trouble = trouble or self._watch.trouble
        trouble = self._secrets.hide(trouble) if trouble else None
        if trouble and trouble != self.status.trouble:
            log.warning("Sink %s: %s", self.sink.name, trouble)
        elif self.status.trouble and not trouble:
            log.info("Sink %s goes on.", self.sink.name)
        self.status.trouble, self.status.state = trouble, state

    def _close(self) -> None:
        if self._target:
            self._target.close()
            self._target = None


def _placed(payload: Payload, least: int) -> Payload:
    """Return what time made due, at its moment or behind all moments that are kept: there its fault is, too."""
    head = payload.event.head
    head = head._replace(sequence=max(head.sequence, least))
    return payload._replace(event=payload.event._replace(head=head))
