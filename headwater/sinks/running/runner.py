"""Run one sink: follow the lake, convert, deliver, commit; runs until stopped and survives every fault of a target."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from headwater.common.errors import HeadwaterError, LakeUnavailable
from headwater.common.failpoints import reach_failpoint
from headwater.events.position import Source
from headwater.lake.bronze_follower import Progress
from headwater.lake.bronze_tables import Bronze
from headwater.sinks.connecting.secrets import Secrets
from headwater.sinks.interface.error_isolation import escape_control_characters, log_unexpected_error
from headwater.sinks.interface.options import Sink
from headwater.sinks.interface.shape import CLOCK, WATCH, Payload, StoringTarget, Target
from headwater.sinks.interface.target_registry import open_sink
from headwater.sinks.running.delivery import Delivery, DeliveryPace
from headwater.sinks.running.feed import Batch, Feed, SinkFeed
from headwater.sinks.running.ledger import DesiredState, SinkCounts, SinkLedger, SinkPosition
from headwater.sinks.running.polling import SinkPolling
from headwater.sinks.running.silence import SilenceClock

COMMIT_INTERVAL_S = 2.0
"""Seconds after which an unfinished batch is committed in part, so that repeated kills do not prevent progress."""
log = logging.getLogger(__name__)


class SinkRunner:
    """The loop of one sink, with its own reader of bronze and its own connection; `run` returns when `stop` is set."""

    def __init__(
        self,
        sink: Sink,
        *,
        secrets: Secrets,
        bronze: Bronze,
        ledger: SinkLedger,
        stop: threading.Event,
        poll_s: float,
        feed: Feed | None = None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        """Set up without connecting.

        poll_s: seconds between two checks of the lake and the desired state.

        feed: a finite feed of events, such as the list of a replay; None to follow the lake.
        clock: returns the moment up to which silence is reported (us, UTC).
        """
        self.sink = sink
        self.status = Status(sink.options.type)
        self._secrets = secrets
        self._bronze = bronze
        self._stop = stop
        self._poll_s = poll_s
        self._is_finite = feed is not None
        self._pace = DeliveryPace(sink.options.rate)
        self._feed = feed or SinkFeed(bronze, sink.options.only.matches)
        self._position = SinkPosition(sink, self._feed.sources, ledger, mask_secrets=secrets.mask, clock=clock)
        self._silence = SilenceClock(sink, bronze, self._position, mask_secrets=secrets.mask, clock=clock, stop=stop)
        self._polling = SinkPolling(sink, ledger, mask_secrets=secrets.mask, clock=clock)
        self._store = ledger.target_store(sink.name)
        self._last_accepted: Payload | None = None
        self._attempt_size: int | None = None
        self._target: Target | None = None
        self._not_before = self._waits_until = 0.0

    @property
    def progress(self) -> Progress | None:
        """Return the position in each partition, or None before it was loaded for the first time."""
        return self._position.progress

    def run(self) -> None:
        """Deliver events until stopped; log faults of the lake, the target or our code, and retry with growing waits.

        A second call finishes a wait that was interrupted, loads the committed position and continues from there.
        """
        self._position.desired = None
        if (left := self._waits_until - time.monotonic()) > 0:
            self.status.state = "waiting"
            self._wait(left)
        while not self._stop.is_set():
            try:
                self._deliver_next()
            except Exception as error:
                reason = str(error)
                if not isinstance(error, HeadwaterError):
                    reason = log_unexpected_error(error, f"Sink {self.sink.name}", self._secrets.mask)
                self._position.desired = None  # load it again: a commit may have succeeded although its answer was lost
                self._report_status("waiting", reason)
                self._wait(self._pace.wait_after_fault_s(0.0))
        self._close_target()

    def _deliver_next(self) -> None:
        desired = self._load_desired()
        if desired.paused:
            self._wait_idle("paused")
            return
        if not self._is_finite and (notices := self._polling.new_notices(self._open_target)):
            if not notices.payloads or self._deliver(desired, notices.payloads, {WATCH: notices.at_us}, 0):
                self._polling.commit(notices)
            return
        is_exhausted = self._feed.is_exhausted(self._position.progress_with({}))
        if is_exhausted and self._deliver_silence(desired):  # also under constant load
            return
        if time.monotonic() < self._not_before:
            self._wait_idle("collecting")
        elif batch := self._feed.next_batch(self._position.progress_with({})):
            if self._deliver_batch(desired, batch):
                self._not_before = time.monotonic() + self.sink.options.every
        elif not self._deliver_silence(desired):
            self._wait_idle("caught up")

    def _load_desired(self) -> DesiredState:
        """Return the desired state; loads it and the position again if either may have changed."""
        position = self._position
        if position.desired is not None and not position.desired_state_changed():
            return position.desired
        desired = position.load_state()
        self.status.set_counts(position.counts)
        return desired

    def _wait_idle(self, state: str) -> None:
        self._report_status(state, None)
        self._stop.wait(self._poll_s)

    def _open_target(self) -> Target:
        if self._target is None:
            self._target = open_sink(self.sink, self._secrets.reveal)
            if isinstance(self._target, StoringTarget):
                self._target.use_store(self._store)
        return self._target

    def _deliver_silence(self, desired: DesiredState) -> bool:
        """Deliver payloads about silent runs and applications that are due; returns false if none are due."""
        if found := self._silence.due_payloads(self._open_target):
            self._deliver(desired, found.payloads, {CLOCK: found.until_us}, 0)
        return found is not None

    def _deliver_batch(self, desired: DesiredState, batch: Batch) -> bool:
        """Deliver late payloads about silent runs, then the batch; returns false if interrupted or already done."""
        reported_until_us, late = (
            self._position.reported_until_us,
            self._silence.payloads_due_to_late_events(batch, self._open_target),
        )
        if late and not self._deliver(desired, late, {CLOCK: reported_until_us + 1}, 0):
            return False
        if self._position.progress_with({}).get((batch.source.epoch, batch.source.partition), 0) >= batch.until:
            return False
        payloads = batch.payloads(self._open_target(), self._bronze, self._secrets.mask)
        return self._deliver(desired, payloads, {batch.source: batch.until}, batch.left_out)

    def _deliver(
        self, desired: DesiredState, payloads: Sequence[Payload], reached: Mapping[Source, int], left_out: int
    ) -> bool:
        """Deliver a batch and commit the result; returns false if it was interrupted and must be read again.

        reached: the position in each partition after the batch. left_out: number of events that the sink's filter
        excluded.
        """
        target, mask_secrets, position = self._open_target(), self._secrets.mask, self._position
        delivery = Delivery(target, self._pace, self._attempt_size, mask_secrets)
        delivery.add(payloads)
        keep_at = time.monotonic() + COMMIT_INTERVAL_S
        while not delivery.is_done:
            if self.status.state not in ("open", "waiting"):
                self.status.state = "delivering"  # set it before the attempt, which may take long
            wait_s = delivery.attempt_delivery()
            self._last_accepted = delivery.last_accepted or self._last_accepted
            if delivery.needs_probe and (more := self._feed.next_batch(position.progress_with(reached))):
                delivery.add(more.payloads(target, self._bronze, mask_secrets))
                reached, left_out = {**reached, more.source: more.until}, left_out + more.left_out
            elif delivery.needs_probe and self._is_finite and self._last_accepted:
                wait_s = delivery.probe_with(self._last_accepted)
            state = "open" if self._pace.is_open else "waiting"
            self._report_status(state if delivery.trouble else "delivering", delivery.trouble)
            goes_on = not self._stop.is_set() and (not wait_s or self._wait(wait_s))
            if not goes_on or time.monotonic() >= keep_at:
                self._commit(desired, delivery.settled_positions(reached), 0, delivery)
                keep_at = time.monotonic() + COMMIT_INTERVAL_S
                goes_on = goes_on and not position.desired_state_changed()
            if not goes_on and not delivery.is_done:
                return False
        self._attempt_size = delivery.attempt_size
        reach_failpoint("sinks.delivered")
        self._commit(desired, reached, left_out, delivery)
        return True

    def _commit(self, desired: DesiredState, reached: Mapping[Source, int], left_out: int, delivery: Delivery) -> None:
        self._position.commit(desired, reached, left_out, delivery)
        self.status.set_counts(self._position.counts)

    def _wait(self, seconds: float) -> bool:
        """Wait for some seconds; returns false at once if the sink is stopped or gets a new desired state."""
        ends = self._waits_until = time.monotonic() + seconds
        self.status.next_try_us = (time.time_ns() // 1000) + int(seconds * 1e6)
        while (left := ends - time.monotonic()) > 0:
            if self._stop.wait(min(left, self._poll_s)):
                return False
            try:
                if self._position.desired_state_changed():
                    self._waits_until = 0.0
                    return False
            except LakeUnavailable:
                continue
        self.status.next_try_us = None
        return True

    def _report_status(self, state: str, problem: str | None) -> None:
        """Update the status; without another problem, the status shows the reason of a failed poll."""
        problem = problem or self._polling.trouble
        self.status.update(self.sink.name, state, self._secrets.mask(problem) if problem else None)

    def _close_target(self) -> None:
        if self._target:
            self._target.close()
            self._target = None


class Status(msgspec.Struct):
    """The status of a sink.

    type: type of the sink's target. trouble: message of the current fault, or None.
    next_try_us: time of the next attempt (us, UTC), or None if the sink is not waiting for one.
    behind: number of events in the lake that the sink has not sent. behind_us: receipt time of the oldest of these
    events (us, UTC), or None if there are none.
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
        """Set the state and the fault, or None; log when a new fault begins or the last one ends."""
        trouble = escape_control_characters(trouble) if trouble else None
        if trouble and trouble != self.trouble:
            log.warning("Sink %s: %s", sink, trouble)
        elif self.trouble and not trouble:
            log.info("Sink %s goes on.", sink)
        self.trouble, self.state = trouble, state

    def set_counts(self, counts: SinkCounts) -> None:
        """Set the totals of the sink."""
        self.delivered, self.failed, self.left_out = counts
