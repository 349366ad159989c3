"""What the lake has of a span of time once more, to a target: a sink that begins and ends at a place.

It is followed, converted and delivered as a sink is, and its position is kept as a sink's, under a name of its own: the
same replay that was cut off goes on where it stood. One that ended begins anew.
"""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from headwater.events.position import Source
from headwater.events.times import iso
from headwater.lake.bronze_follower import Progress, ahead, sources_ahead, sources_before
from headwater.lake.bronze_tables import Bronze
from headwater.sinks.connecting.sink_secrets import Secrets
from headwater.sinks.contract.sink_options import Sink
from headwater.sinks.contract.sink_shape import CLOCK
from headwater.sinks.contract.target_registry import open_sink
from headwater.sinks.merging.earlier_events import payloads_of
from headwater.sinks.operating.replay_span import ReplaySpan
from headwater.sinks.operating.sink_operations import paused, reset
from headwater.sinks.running.sink_feed import SinkFeed
from headwater.sinks.running.sink_ledger import Ledger, SinkCounts
from headwater.sinks.running.sink_runner import Runner
from headwater.sinks.running.sink_status import Status

LOOK_S = 0.1
_SHOWN = 20

Seen = Callable[[int, int, Status], None]
"""Is told how many events are settled, of how many, and what the runner does."""


class Replay:
    """One replay, to be looked at or run."""

    def __init__(self, sink: Sink, span: ReplaySpan, *, bronze: Bronze, ledger: Ledger, secrets: Secrets) -> None:
        """Look where it begins and ends; what comes into the lake from now on is not of it."""
        self._sink = sink
        self._span = span
        self._ends_us = time.time_ns() // 1000 if span.until_us is None else span.until_us
        self._bronze = bronze
        self._ledger = ledger
        self._secrets = secrets
        sources = sources_ahead(bronze, {}) if bronze.exists() else {}
        orders = ledger.orders(sink.name)
        self.goes_on = orders.resets > 0 and not orders.paused
        self._start = sources_before(bronze, span.since_us) if sources and span.since_us is not None else {}
        self._until = sources_before(bronze, span.until_us) if sources and span.until_us is not None else sources
        begun = ledger.progress(sink.name, orders, sources) if self.goes_on else _places(self._start)
        self._progress: Progress = {**_places(dict.fromkeys(sources, 0)), **begun}
        self.total = max(0, ahead(bronze, self._progress)[0] - ahead(bronze, _places(self._until))[0])

    def look(self) -> dict[str, Any]:
        """Return what would be sent; nothing is."""
        feed = SinkFeed(self._bronze, self._sink.options.only.wants, self._until)
        progress = dict(self._progress)
        found: dict[str, Any] = {"would_send": 0, "bytes": 0, "unfit": 0, "left_out": 0}
        received: list[int] = []
        with closing(open_sink(self._sink, self._secrets.reveal)) as target:
            while batch := feed.next(progress):
                progress[batch.source.epoch, batch.source.partition] = batch.until
                payloads = payloads_of(target, self._bronze, batch.events, self._secrets.hide)
                sent = [payload for payload in payloads if payload.unfit is None]
                found["would_send"] += len(sent)
                found["bytes"] += sum(len(payload.body) for payload in sent)
                found["unfit"] += len(payloads) - len(sent)
                found["left_out"] += batch.left_out
                times = [each.head.received_us for each in batch.events]
                received = [min(received + times), max(received + times)] if received + times else []
        first, last = received or (None, None)
        return {
            "target": self._sink.options.type,
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
            reset(self._ledger, name, {**self._start, CLOCK: self._span.since_us or 0})
            paused(self._ledger, name, is_paused=False)
        was = self._ledger.counts(name)
        stop = threading.Event()
        runner = Runner(
            self._sink, secrets=self._secrets, bronze=self._bronze, ledger=self._ledger, stop=stop, look_s=LOOK_S,
            until=self._until, clock=lambda: self._ends_us,
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

    def _ended(self, counts: SinkCounts) -> dict[str, Any]:
        """Say what became of it, and keep no more of it than that it ended."""
        name = self._sink.name
        reasons = [f"{row['event_id']}: {row['reason']}" for row in self._ledger.failures(name, _SHOWN)]
        while letters := self._ledger.failures(name, 1000):
            self._ledger.forget(name, [row["event_id"] for row in letters])
        paused(self._ledger, name, is_paused=True)
        return {
            "target": self._sink.options.type,
            "delivered": counts.delivered, "refused": counts.failed, "left_out": counts.left_out, "reasons": reasons,
            "went_on": self.goes_on,
        }  # fmt: skip


def _counts(status: Status) -> SinkCounts:
    return SinkCounts(status.delivered, status.failed, status.left_out)


def _places(sources: Mapping[Source, int]) -> dict[tuple[str, str], int]:
    return {(each.epoch, each.partition): sequence for each, sequence in sources.items()}
