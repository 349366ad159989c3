"""Replay events from the lake to a target: a sink that reads a list of events instead of following the lake.

It converts and delivers events like any sink and stores its position under its own name. An interrupted replay
continues where it stopped; a finished one starts from the beginning.
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
from headwater.sinks.operating.sink_operations import reset, set_paused
from headwater.sinks.running.sink_feed import Batch
from headwater.sinks.running.sink_ledger import DesiredState, SinkCounts, SinkLedger
from headwater.sinks.running.sink_runner import SinkRunner
from headwater.sinks.running.sink_status import Status

POLL_S = 0.1
_SHOWN = 20
_LENGTH = Source("replay", "replay", "length")
"""Partition under which the length of the list is stored with the replay's start positions."""

OnProgress = Callable[[int, int, Status], None]
"""Called with the number of settled events, the total and the runner's status."""


class Replay:
    """One replay, to preview or run."""

    def __init__(self, sink: Sink, span: ReplaySpan, *, bronze: Bronze, ledger: SinkLedger, secrets: Secrets) -> None:
        """Count the events; events that arrive after the first start are not part of the replay."""
        self._sink = sink
        self._span = span
        self._ends_us = time.time_ns() // 1000 if span.until_us is None else span.until_us
        self._bronze = bronze
        self._ledger = ledger
        self._secrets = secrets
        self._heads: Mapping[Source, int] = sources_ahead(bronze, {}) if bronze.exists() else {}
        desired = ledger.desired_state(sink.name)
        interrupted = (
            self._interrupted_events(desired) if self._heads and desired.resets > 0 and not desired.paused else None
        )
        self.goes_on = interrupted is not None
        self._events = interrupted or EventList(bronze, self._selection(self._heads))
        self._progress: Progress = ledger.progress(sink.name, desired, [REPLAYED]) if interrupted else {}
        self.total = self._events.total - sum(self._progress.values())

    def _interrupted_events(self, desired: DesiredState) -> EventList | None:
        """Return the list of an interrupted replay, None if rows were removed from the lake since then."""
        heads = {each: desired.start.get(f"{each.epoch}/{each.partition}", 0) for each in self._heads}
        events = EventList(self._bronze, self._selection(heads))
        return events if events.total == desired.start.get(f"{_LENGTH.epoch}/{_LENGTH.partition}") else None

    def _selection(self, heads: Mapping[Source, int]) -> Selection:
        return Selection(heads, self._span.by == "receipt", self._span.since_us, self._span.until_us)

    def _feed(self) -> ReplayFeed:
        return ReplayFeed(self._bronze, self._events, self._sink.options.only.matches)

    def preview(self) -> dict[str, Any]:
        """Return what would be sent, without sending it."""
        feed = self._feed()
        progress = dict(self._progress)
        found: dict[str, Any] = {"would_send": 0, "bytes": 0, "unfit": 0, "left_out": 0}
        times: list[int] = []
        with closing(open_sink(self._sink, self._secrets.reveal)) as target:
            while batch := feed.next_batch(progress):
                progress[batch.source.epoch, batch.source.partition] = batch.until
                payloads = batch.payloads(target, self._bronze, self._secrets.mask)
                sent = [payload for payload in payloads if payload.unfit is None]
                found["would_send"] += len(sent)
                found["bytes"] += sum(len(payload.body) for payload in sent)
                found["unfit"] += len(payloads) - len(sent)
                found["left_out"] += batch.left_out
                times += self._times(batch)
                times = [min(times), max(times)] if times else []
        first, last = times or (None, None)
        return {
            **self._description(),
            **found,
            "first": iso(first),
            "last": iso(last),
            "goes_on": self.goes_on,
        }

    def run(self, on_progress: OnProgress) -> dict[str, Any]:
        """Run the replay; waits for the target without limit, and returns the counts.

        KeyboardInterrupt stops it between two events; the same replay then continues from there.
        """
        name = self._sink.name
        if not self.goes_on:
            start = {**self._heads, _LENGTH: self._events.total, CLOCK: self._span.since_us or 0}
            reset(self._ledger, name, start)
            set_paused(self._ledger, name, is_paused=False)
        was = self._ledger.counts(name)
        stop = threading.Event()
        runner = SinkRunner(
            self._sink, secrets=self._secrets, bronze=self._bronze, ledger=self._ledger, stop=stop, poll_s=POLL_S,
            feed=self._feed(), clock=lambda: self._ends_us,
        )  # fmt: skip
        worker = threading.Thread(target=runner.run, name=name, daemon=True)
        worker.start()
        try:
            while runner.status.state != "caught up":
                worker.join(POLL_S)
                on_progress(max(0, sum(_counts(runner.status)) - sum(was)), self.total, runner.status)
        finally:
            stop.set()
            worker.join()
        return self._finish(
            SinkCounts(*(now - before for now, before in zip(self._ledger.counts(name), was, strict=True)))
        )

    def _description(self) -> dict[str, Any]:
        return {"target": self._sink.options.type, "selected_by": self._span.by, "order": "event time"}

    def _times(self, batch: Batch) -> list[int]:
        """Return the times by which events were selected (us, UTC)."""
        if self._span.by == "receipt":
            return [each.head.received_us for each in batch.events]
        return list(batch.listed.times_us) if batch.listed else []

    def _finish(self, counts: SinkCounts) -> dict[str, Any]:
        """Return the result and mark the replay as finished."""
        name = self._sink.name
        reasons = [f"{row['event_id']}: {row['reason']}" for row in self._ledger.failures(name, _SHOWN)]
        while letters := self._ledger.failures(name, 1000):
            self._ledger.remove_failures(name, [row["event_id"] for row in letters])
        set_paused(self._ledger, name, is_paused=True)
        return {
            **self._description(),
            "delivered": counts.delivered, "refused": counts.failed, "left_out": counts.left_out, "reasons": reasons,
            "went_on": self.goes_on,
        }  # fmt: skip


def _counts(status: Status) -> SinkCounts:
    return SinkCounts(status.delivered, status.failed, status.left_out)
