"""Replay events from the lake to a target: a sink that reads a list of events instead of following the lake.

A replay converts and delivers events like any sink and stores its position under its own name. An interrupted replay
continues where it stopped; a finished one starts from the beginning.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any

from headwater.events.position import Source
from headwater.events.stored_cells import StoredHead
from headwater.events.times import iso_time
from headwater.lake.bronze_follower import Progress, heads_at_sequences, sources_ahead
from headwater.lake.bronze_tables import Bronze
from headwater.lake.events_by_time import EventList, OrderedPlace, Selection
from headwater.sinks.connecting.secrets import Secrets
from headwater.sinks.control.replay_span import ReplaySpan
from headwater.sinks.interface.error_isolation import event_position
from headwater.sinks.interface.options import Sink
from headwater.sinks.interface.shape import CLOCK, REPLAYED
from headwater.sinks.interface.target_registry import open_sink
from headwater.sinks.merging.payloads import events_at
from headwater.sinks.running.delivery import MAX_BATCH_EVENTS
from headwater.sinks.running.feed import Batch, ReplayRows, select_batch
from headwater.sinks.running.ledger import DesiredState, SinkCounts, SinkLedger
from headwater.sinks.running.runner import SinkRunner, Status

POLL_S = 0.1


_SHOWN = 20


_LENGTH = Source("replay", "replay", "length")
"""Partition under which the length of the list is stored with the replay's start positions."""


OnProgress = Callable[[int, int, Status], None]
"""Called with the number of events that were delivered, failed or left out, the total, and the runner's status."""


class Replay:
    """One replay, which you can preview or run."""

    def __init__(self, sink: Sink, span: ReplaySpan, *, bronze: Bronze, ledger: SinkLedger, secrets: Secrets) -> None:
        """Count the events of the replay, without events that arrived after the replay was first started."""
        self._sink = sink
        self._span = span
        self._ends_us = time.time_ns() // 1000 if span.until_us is None else span.until_us
        self._bronze = bronze
        self._ledger = ledger
        self._secrets = secrets
        self._heads: Mapping[Source, int] = sources_ahead(bronze, {}) if bronze.exists() else {}
        desired = ledger.desired_state(sink.name)
        interrupted = (
            self._events_of_interrupted_replay(desired)
            if self._heads and desired.resets > 0 and not desired.paused
            else None
        )
        self.goes_on = interrupted is not None
        self._events = interrupted or EventList(bronze, self._selection(self._heads))
        self._progress: Progress = ledger.sink_progress(sink.name, desired, [REPLAYED]) if interrupted else {}
        self.total = self._events.total - sum(self._progress.values())

    def _events_of_interrupted_replay(self, desired: DesiredState) -> EventList | None:
        """Return the event list of an interrupted replay, or None if some of its rows were removed from the lake."""
        heads = {each: desired.start.get(f"{each.epoch}/{each.partition}", 0) for each in self._heads}
        events = EventList(self._bronze, self._selection(heads))
        return events if events.total == desired.start.get(f"{_LENGTH.epoch}/{_LENGTH.partition}") else None

    def _selection(self, heads: Mapping[Source, int]) -> Selection:
        return Selection(heads, self._span.by == "receipt", self._span.since_us, self._span.until_us)

    def _open_feed(self) -> "ReplayFeed":
        return ReplayFeed(self._bronze, self._events, self._sink.options.only.matches)

    def preview(self) -> dict[str, Any]:
        """Convert all events without sending them; return counts, the payloads' total size and the time range."""
        feed = self._open_feed()
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
                times += self._selection_times_us(batch)
                times = [min(times), max(times)] if times else []
        first, last = times or (None, None)
        return {
            **self._description(),
            **found,
            "first": iso_time(first),
            "last": iso_time(last),
            "goes_on": self.goes_on,
        }

    def run(self, on_progress: OnProgress) -> dict[str, Any]:
        """Run the replay and return the counts; waits without limit while the target is unavailable.

        KeyboardInterrupt stops the replay between two events; starting the same replay again continues from there.
        """
        name = self._sink.name
        if not self.goes_on:
            start = {**self._heads, _LENGTH: self._events.total, CLOCK: self._span.since_us or 0}
            self._ledger.reset(name, start)
            self._ledger.set_paused(name, is_paused=False)
        was = self._ledger.sink_counts(name)
        stop = threading.Event()
        runner = SinkRunner(
            self._sink, secrets=self._secrets, bronze=self._bronze, ledger=self._ledger, stop=stop, poll_s=POLL_S,
            feed=self._open_feed(), clock=lambda: self._ends_us,
        )  # fmt: skip
        worker = threading.Thread(target=runner.run, name=name, daemon=True)
        worker.start()
        try:
            while runner.status.state != "caught up":
                worker.join(POLL_S)
                status = runner.status
                settled = status.delivered + status.failed + status.left_out - sum(was)
                on_progress(max(0, settled), self.total, status)
        finally:
            stop.set()
            worker.join()
        return self._finish_replay(
            SinkCounts(*(now - before for now, before in zip(self._ledger.sink_counts(name), was, strict=True)))
        )

    def _description(self) -> dict[str, Any]:
        return {"target": self._sink.options.type, "selected_by": self._span.by, "order": "event time"}

    def _selection_times_us(self, batch: Batch) -> list[int]:
        """Return the receipt or event time of each event of a batch, whichever the span uses (us, UTC)."""
        if self._span.by == "receipt":
            return [each.head.received_us for each in batch.events]
        return list(batch.replay_rows.times_us) if batch.replay_rows else []

    def _finish_replay(self, counts: SinkCounts) -> dict[str, Any]:
        """Return the result and mark the replay as finished."""
        name = self._sink.name
        reasons = [f"{row['event_id']}: {row['reason']}" for row in self._ledger.failures(name, _SHOWN)]
        while letters := self._ledger.failures(name, 1000):
            self._ledger.remove_failures(name, [row["event_id"] for row in letters])
        self._ledger.set_paused(name, is_paused=True)
        return {
            **self._description(),
            "delivered": counts.delivered, "refused": counts.failed, "left_out": counts.left_out, "reasons": reasons,
            "went_on": self.goes_on,
        }  # fmt: skip


class ReplayFeed:
    """Reads a list of events in batches; the position is a row number of the list, starting at 1."""

    def __init__(self, bronze: Bronze, events: EventList, matches: Callable[[StoredHead], bool]) -> None:
        self._bronze = bronze
        self._events = events
        self._wants = matches
        self._ends_behind = events.total

    def sources(self) -> Mapping[Source, int]:
        """Return one entry: the partition of the list, with the number of rows."""
        return {REPLAYED: self._events.total}

    def next_batch(self, progress: Progress) -> Batch | None:
        """Return the next batch after `progress`, None if there is none."""
        first, places = self._events.places_after(_row_number(progress), MAX_BATCH_EVENTS)
        if not places:
            self._ends_behind = min(self._ends_behind, first)
            return None
        rows = {(each.source, each.sequence): row for row, each in enumerate(places, first + 1)}
        times_us = {(each.source, each.sequence): each.event_us for each in places}
        found = self._heads_at(places)
        wanted, passed = select_batch([head for _, head in found], self._wants)
        until = rows[found[passed][0], found[passed][1].sequence] - 1 if passed < len(found) else first + len(places)
        events = events_at(self._bronze, _keep_selected(found, wanted))
        at = [event_position(event) for event in events]
        listed = ReplayRows({each: rows[each] for each in at}, [times_us[each] for each in at])
        return Batch(REPLAYED, until, events, passed - len(wanted), listed)

    def is_exhausted(self, progress: Progress) -> bool:
        """Return whether `progress` covers the whole list."""
        return _row_number(progress) >= self._ends_behind

    def _heads_at(self, places: Sequence[OrderedPlace]) -> list[tuple[Source, StoredHead]]:
        """Return the source and head of the event at each place, in order, without events that were removed since."""
        sequences: dict[Source, list[int]] = defaultdict(list)
        for each in places:
            sequences[each.source].append(each.sequence)
        heads = {source: heads_at_sequences(self._bronze, source, of) for source, of in sequences.items()}
        return [(each.source, head) for each in places if (head := heads[each.source].get(each.sequence))]


def _keep_selected(
    stored: Sequence[tuple[Source, StoredHead]], wanted: Sequence[StoredHead]
) -> list[tuple[Source, StoredHead]]:
    chosen = {*wanted}
    return [(source, head) for source, head in stored if head in chosen]


def _row_number(progress: Progress) -> int:
    return progress.get((REPLAYED.epoch, REPLAYED.partition), 0)
