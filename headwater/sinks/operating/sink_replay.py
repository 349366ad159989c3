"""Send what the lake has of a span of time once more, to a target: a sink that follows a list of events.

Its events are converted and delivered as a sink's are, and its position is kept as a sink's, under a name of its own:
the same replay that was cut off goes on where it stood. One that ended begins anew.
"""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from headwater.events.position import Source
from headwater.events.times import iso
from headwater.lake.bronze_follower import Progress, sources_ahead
from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_order import EventList, Selection
from headwater.sinks.connecting.sink_secrets import Secrets
from headwater.sinks.contract.sink_options import Sink
from headwater.sinks.contract.sink_shape import CLOCK, REPLAYED
from headwater.sinks.contract.target_registry import open_sink
from headwater.sinks.operating.replay_feed import ReplayFeed
from headwater.sinks.operating.replay_span import ReplaySpan
from headwater.sinks.operating.sink_operations import paused, reset
from headwater.sinks.running.sink_feed import Batch
from headwater.sinks.running.sink_ledger import Ledger, Orders, SinkCounts
from headwater.sinks.running.sink_runner import Runner
from headwater.sinks.running.sink_status import Status

LOOK_S = 0.1
_SHOWN = 20
_LENGTH = Source("replay", "replay", "length")
"""Under this name the length of the list is kept beside the heads of partitions, up to which it goes."""

Seen = Callable[[int, int, Status], None]
"""Is told how many events are settled, of how many, and what the runner does."""


class Replay:
    """One replay, to be looked at or run."""

    def __init__(self, sink: Sink, span: ReplaySpan, *, bronze: Bronze, ledger: Ledger, secrets: Secrets) -> None:
        """Count the events; what comes into the lake after the replay began is not part of it."""
        self._sink = sink
        self._span = span
        self._ends_us = time.time_ns() // 1000 if span.until_us is None else span.until_us
        self._bronze = bronze
        self._ledger = ledger
        self._secrets = secrets
        self._heads: Mapping[Source, int] = sources_ahead(bronze, {}) if bronze.exists() else {}
        orders = ledger.orders(sink.name)
        begun = self._begun(orders) if self._heads and orders.resets > 0 and not orders.paused else None
        self.goes_on = begun is not None
        self._events = begun or EventList(bronze, self._selection(self._heads))
        self._progress: Progress = ledger.progress(sink.name, orders, [REPLAYED]) if begun else {}
        self.total = self._events.total - sum(self._progress.values())

    def _begun(self, orders: Orders) -> EventList | None:
        """Return the list of the replay that was cut off, None where it is another one now: rows were removed."""
        heads = {each: orders.start.get(f"{each.epoch}/{each.partition}", 0) for each in self._heads}
        events = EventList(self._bronze, self._selection(heads))
        return events if events.total == orders.start.get(f"{_LENGTH.epoch}/{_LENGTH.partition}") else None

    def _selection(self, heads: Mapping[Source, int]) -> Selection:
        return Selection(heads, self._span.by == "receipt", self._span.since_us, self._span.until_us)

    def _feed(self) -> ReplayFeed:
        return ReplayFeed(self._bronze, self._events, self._sink.options.only.wants)

    def look(self) -> dict[str, Any]:
        """Return what would be sent; nothing is."""
        feed = self._feed()
        progress = dict(self._progress)
        found: dict[str, Any] = {"would_send": 0, "bytes": 0, "unfit": 0, "left_out": 0}
        times: list[int] = []
        with closing(open_sink(self._sink, self._secrets.reveal)) as target:
            while batch := feed.next(progress):
                progress[batch.source.epoch, batch.source.partition] = batch.until
                payloads = batch.payloads(target, self._bronze, self._secrets.hide)
                sent = [payload for payload in payloads if payload.unfit is None]
                found["would_send"] += len(sent)
                found["bytes"] += sum(len(payload.body) for payload in sent)
                found["unfit"] += len(payloads) - len(sent)
                found["left_out"] += batch.left_out
                times += self._times(batch)
                times = [min(times), max(times)] if times else []
        first, last = times or (None, None)
        return {
            **self._said(),
            **found,
            "first": iso(first),
            "last": iso(last),
            "goes_on": self.goes_on,
        }

    def run(self, seen: Seen) -> dict[str, Any]:
        """Send it; waits for the target as long as it takes. Returns what became of it.

        KeyboardInterrupt ends it between two events; the same replay then goes on from there.
        """
        name = self._sink.name
        if not self.goes_on:
            start = {**self._heads, _LENGTH: self._events.total, CLOCK: self._span.since_us or 0}
            reset(self._ledger, name, start)
            paused(self._ledger, name, is_paused=False)
        was = self._ledger.counts(name)
        stop = threading.Event()
        runner = Runner(
            self._sink, secrets=self._secrets, bronze=self._bronze, ledger=self._ledger, stop=stop, look_s=LOOK_S,
            feed=self._feed(), clock=lambda: self._ends_us,
        )  # fmt: skip
        worker = threading.Thread(target=runner.run, name=name, daemon=True)
        worker.start()
        try:
            while runner.status.state != "caught up":
                worker.join(LOOK_S)
                seen(max(0, sum(_counts(runner.status)) - sum(was)), self.total, runner.status)
        finally:
            stop.set()
            worker.join()
        return self._ended(
            SinkCounts(*(now - before for now, before in zip(self._ledger.counts(name), was, strict=True)))
        )

    def _said(self) -> dict[str, Any]:
        return {"target": self._sink.options.type, "selected_by": self._span.by, "order": "event time"}

    def _times(self, batch: Batch) -> list[int]:
        """Return the times by which events were selected (us, UTC)."""
        if self._span.by == "receipt":
            return [each.head.received_us for each in batch.events]
        return list(batch.listed.times_us) if batch.listed else []

    def _ended(self, counts: SinkCounts) -> dict[str, Any]:
        """Say what became of it, and keep no more of it than that it ended."""
        name = self._sink.name
        reasons = [f"{row['event_id']}: {row['reason']}" for row in self._ledger.failures(name, _SHOWN)]
        while letters := self._ledger.failures(name, 1000):
            self._ledger.forget(name, [row["event_id"] for row in letters])
        paused(self._ledger, name, is_paused=True)
        return {
            **self._said(),
            "delivered": counts.delivered, "refused": counts.failed, "left_out": counts.left_out, "reasons": reasons,
            "went_on": self.goes_on,
        }  # fmt: skip


def _counts(status: Status) -> SinkCounts:
    return SinkCounts(status.delivered, status.failed, status.left_out)
