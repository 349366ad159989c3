"""One sink at work: follow, convert, deliver, and keep what became of it; for ever, whatever the target does."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence

from headwater.errors import HeadwaterError, LakeUnavailable
from headwater.events.position import Source
from headwater.failpoints import reach
from headwater.lake.bronze_follower import Progress
from headwater.lake.bronze_tables import Bronze
from headwater.sinks.connecting.sink_secrets import Secrets
from headwater.sinks.contract.guarding import say_unforeseen
from headwater.sinks.contract.sink_options import Sink
from headwater.sinks.contract.sink_shape import CLOCK, WATCH, Payload, Target
from headwater.sinks.contract.target_registry import open_sink
from headwater.sinks.running.delivery import Delivery
from headwater.sinks.running.retry_pace import Pace
from headwater.sinks.running.silence_turns import SilenceTurns
from headwater.sinks.running.sink_feed import Batch, Feed, SinkFeed
from headwater.sinks.running.sink_ledger import Ledger, Orders
from headwater.sinks.running.sink_position import SinkPosition
from headwater.sinks.running.sink_status import Status
from headwater.sinks.running.sink_watch import SinkWatch

KEEP_EVERY_S = 2.0
"""A batch that takes longer is kept piece by piece: whoever is killed often goes on all the same."""


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
        feed: Feed | None = None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        """Touch nothing yet.

        look_s: between two looks at lake and orders; feed: events that have an end, in place of the lake as it grows;
        clock: tells the moment up to which silence is told (us, UTC).
        """
        self.sink = sink
        self.status = Status(sink.options.type)
        self._secrets = secrets
        self._bronze = bronze
        self._stop = stop
        self._look_s = look_s
        self._ends = feed is not None
        self._pace = Pace(sink.options.rate)
        self._feed = feed or SinkFeed(bronze, sink.options.only.wants)
        self._position = SinkPosition(sink, self._feed.sources, ledger, hide=secrets.hide, clock=clock)
        self._silence = SilenceTurns(sink, bronze, self._position, hide=secrets.hide, clock=clock, stop=stop)
        self._watch = SinkWatch(sink, ledger, hide=secrets.hide, clock=clock)
        self._taken: Payload | None = None
        self._width: int | None = None
        self._target: Target | None = None
        self._not_before = self._waits_until = 0.0

    @property
    def progress(self) -> Progress | None:
        """How far the sink is, None before it has looked."""
        return self._position.progress

    def run(self) -> None:
        """Work until stopped; faults of lake, target and our own are said and tried again, ever more slowly.

        Called again it goes on: whatever another one did meanwhile is read first, and a wait is waited to its end.
        """
        self._position.orders = None
        if (left := self._waits_until - time.monotonic()) > 0:
            self.status.state = "waiting"
            self._wait(left)
        while not self._stop.is_set():
            try:
                self._look()
            except Exception as error:
                is_known = isinstance(error, HeadwaterError)
                said = str(error) if is_known else say_unforeseen(error, f"Sink {self.sink.name}", self._secrets.hide)
                self._position.orders = None  # read anew what is kept: a commit may have arrived whose answer did not
                self._say("waiting", said)
                self._wait(self._pace.after_fault(0.0))
        self._close()

    def _look(self) -> None:
        orders = self._orders()
        if orders.paused:
            self._rest("paused")
            return
        if not self._ends and (news := self._watch.news(self._opened)):
            if not news.payloads or self._deliver(orders, news.payloads, {WATCH: news.at_us}, 0):
                self._watch.keep(news)
            return
        if self._feed.is_through(self._position.behind({})) and self._tells_silence(orders):  # while events keep coming
            return
        if time.monotonic() < self._not_before:
            self._rest("collecting")
        elif batch := self._feed.next(self._position.behind({})):
            if self._deliver_batch(orders, batch):
                self._not_before = time.monotonic() + self.sink.options.every
        elif not self._tells_silence(orders):
            self._rest("caught up")

    def _orders(self) -> Orders:
        """Return what is ordered; where that, or the place, is another one than before, both are read anew."""
        position = self._position
        if position.orders is not None and not position.is_ordered_anew():
            return position.orders
        orders = position.begin()
        self.status.count(position.counts)
        return orders

    def _rest(self, state: str) -> None:
        self._say(state, None)
        self._stop.wait(self._look_s)

    def _opened(self) -> Target:
        self._target = self._target or open_sink(self.sink, self._secrets.reveal)
        return self._target

    def _tells_silence(self, orders: Orders) -> bool:
        """Deliver what is due because nothing came; false where nothing is."""
        if turn := self._silence.due(self._opened):
            self._deliver(orders, turn.payloads, {CLOCK: turn.until_us}, 0)
        return turn is not None

    def _deliver_batch(self, orders: Orders, batch: Batch) -> bool:
        """Settle what a batch makes due late, then the batch, unless it was settled with that; False if broken off."""
        told_us, late = self._position.told_us, self._silence.late(batch, self._opened)
        if late and not self._deliver(orders, late, {CLOCK: told_us + 1}, 0):
            return False
        if self._position.behind({}).get((batch.source.epoch, batch.source.partition), 0) >= batch.until:
            return False
        payloads = batch.payloads(self._opened(), self._bronze, self._secrets.hide)
        return self._deliver(orders, payloads, {batch.source: batch.until}, batch.left_out)

    def _deliver(
        self, orders: Orders, payloads: Sequence[Payload], reached: Mapping[Source, int], left_out: int
    ) -> bool:
        """Settle a batch and keep what became of it; False where it was broken off, to be read again."""
        target, hide, position = self._opened(), self._secrets.hide, self._position
        delivery = Delivery(target, self._pace, self._width, hide)
        delivery.add(payloads)
        keep_at = time.monotonic() + KEEP_EVERY_S
        while not delivery.is_done:
            if self.status.state not in ("open", "waiting"):
                self.status.state = "delivering"  # before the target is asked: it may never answer
            wait_s = delivery.attempt()
            self._taken = delivery.taken or self._taken
            if delivery.needs_another and (more := self._feed.next(position.behind(reached))):
                delivery.add(more.payloads(target, self._bronze, hide))
                reached, left_out = {**reached, more.source: more.until}, left_out + more.left_out
            elif delivery.needs_another and self._ends and self._taken:
                wait_s = delivery.ask_with(self._taken)
            self._tell(delivery.trouble)
            goes_on = not self._stop.is_set() and (not wait_s or self._wait(wait_s))
            if not goes_on or time.monotonic() >= keep_at:
                self._keep(orders, delivery.settled(reached), 0, delivery)
                keep_at = time.monotonic() + KEEP_EVERY_S
                goes_on = goes_on and not position.is_ordered_anew()
            if not goes_on and not delivery.is_done:
                return False
        self._width = delivery.width
        reach("sinks.delivered")
        self._keep(orders, reached, left_out, delivery)
        return True

    def _keep(self, orders: Orders, reached: Mapping[Source, int], left_out: int, delivery: Delivery) -> None:
        self._position.keep(orders, reached, left_out, delivery)
        self.status.count(self._position.counts)

    def _wait(self, seconds: float) -> bool:
        """Wait, unless stopped or ordered something else meanwhile; tells whether it waited to the end."""
        ends = self._waits_until = time.monotonic() + seconds
        self.status.next_try_us = (time.time_ns() // 1000) + int(seconds * 1e6)
        while (left := ends - time.monotonic()) > 0:
            if self._stop.wait(min(left, self._look_s)):
                return False
            try:
                if self._position.is_ordered_anew():
                    self._waits_until = 0.0
                    return False
            except LakeUnavailable:
                continue
        self.status.next_try_us = None
        return True

    def _tell(self, trouble: str | None) -> None:
        self._say(("open" if self._pace.is_open else "waiting") if trouble else "delivering", trouble)

    def _say(self, state: str, trouble: str | None) -> None:
        """Say what is going on; a trouble with looking stops nothing."""
        trouble = trouble or self._watch.trouble
        self.status.say(self.sink.name, state, self._secrets.hide(trouble) if trouble else None)

    def _close(self) -> None:
        if self._target:
            self._target.close()
            self._target = None
