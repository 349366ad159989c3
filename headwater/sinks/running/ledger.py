"""Store each sink's position, dead letters and desired state in one Delta table next to bronze.

A commit of `sink_failures` contains a batch's dead letters and, as Delta transactions, the new position and the counts,
so they change together even if the process is killed. Table properties store the desired state (paused, reset), what a
polling target found last, and what a target stores itself.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from headwater.common.errors import LakeUnavailable
from headwater.common.failpoints import reach_failpoint
from headwater.common.paging import ListPage, ResultPage
from headwater.events.position import Source
from headwater.lake.bronze_follower import Progress
from headwater.lake.delta_table import LakeTable
from headwater.lake.maintenance import compact_tables
from headwater.lake.open_table import REOPEN_AFTER
from headwater.lake.queries import quote_sql
from headwater.lake.row_pages import by_number, by_text, by_time, define_row_list, rows_page
from headwater.sinks.interface.error_isolation import MaskSecrets, escape_control_characters
from headwater.sinks.interface.options import Sink
from headwater.sinks.interface.shape import CLOCK
from headwater.sinks.running.delivery import DeadLetter, Delivery
from headwater.tables import SINK_FAILURES

_CREATED = {"delta.logRetentionDuration": "interval 6 hours"}
_TRIES = 20
_RESTORED, _STORED = "headwater.restored", ".sent"
log = logging.getLogger(__name__)
GIVEN_UP = "Sink %s: %d events given up, see `headwater sinks failures`. The first: %s"
"""The alert in infra/bicep/modules/alerts.bicep matches this line."""


class DesiredState(msgspec.Struct, frozen=True):
    """The desired state of a sink.

    resets: number of resets so far. start: maps `EPOCH/PARTITION` to the sequence number after which the sink continues
    since its last reset.
    """

    paused: bool = False
    resets: int = 0
    start: Mapping[str, int] = {}


class PollState(msgspec.Struct, frozen=True):
    """What a target found in its last poll.

    turn: number of polls so far with another result than the one before. seen: maps each query to the ids of its items.
    """

    turn: int = 0
    seen: Mapping[str, Sequence[str]] = {}


class SinkCounts(NamedTuple):
    """Total numbers of events that a sink has delivered, given up and left out; a reset does not change them."""

    delivered: int
    failed: int
    left_out: int


class SinkLedger:
    """The table of all sinks. Not thread-safe."""

    def __init__(self, root: str, options: Mapping[str, str] | None = None) -> None:
        """root: the folder or address of the sinks' tables in the lake."""
        self._table = LakeTable(f"{root}/{SINK_FAILURES.name}", SINK_FAILURES, options)
        self.tables = {SINK_FAILURES.name: self._table}
        self._exists = False

    @property
    def commit_count(self) -> int:
        """Number of commits of this process since it last read the table's log from storage."""
        return self._table.commits

    def exists(self) -> bool:
        """Return whether any sink has ever run."""
        self._exists = self._exists or self._table.exists()
        return self._exists

    def create(self) -> None:
        """Create the table if it does not exist."""
        if not self.exists():
            self._table.create(_CREATED)

    def desired_state(self, sink: str) -> DesiredState:
        """Return the desired state of a sink."""
        found = self._read_property(_desired_state_property(sink))
        return msgspec.json.decode(found, type=DesiredState) if found else DesiredState()

    def set_desired_state(self, sink: str, desired: DesiredState) -> None:
        """Store the desired state of a sink; its runner, in any process, applies it at its next check."""
        self._write_property(_desired_state_property(sink), desired)

    def set_paused(self, sink: str, *, is_paused: bool) -> None:
        """Pause or resume a sink."""
        was = self.desired_state(sink)
        self.set_desired_state(sink, DesiredState(is_paused, was.resets, was.start))

    def reset(self, sink: str, start: Mapping[Source, int]) -> None:
        """Move a sink to the position `start`; the sink then delivers all events after it, even if it did before.

        start: the last sequence number of each partition that is not delivered again; a missing partition starts at 0.
        """
        was = self.desired_state(sink)
        named = {f"{each.epoch}/{each.partition}": sequence for each, sequence in start.items() if sequence}
        self.set_desired_state(sink, DesiredState(was.paused, was.resets + 1, named))

    def poll_state(self, sink: str) -> PollState:
        """Return what a sink's target found in its last poll; a reset does not change it."""
        found = self._read_property(_poll_property(sink))
        return msgspec.json.decode(found, type=PollState) if found else PollState()

    def set_poll_state(self, sink: str, poll_state: PollState) -> None:
        """Store what a sink's target found in a poll; call this after the notices of the poll are delivered."""
        self._write_property(_poll_property(sink), poll_state)

    def target_store(self, sink: str) -> "SinkStore":
        """Return the store of a sink's target."""
        return SinkStore(self, sink)

    def set_restored(self, at_us: int) -> None:
        """Store when the lake was restored from a backup (us, UTC), if a target stored what it sent."""
        if self.exists() and any(name.endswith(_STORED) for name in self._table.properties()):
            self._write_property(_RESTORED, at_us)

    def restored_us(self) -> int:
        """Return when the lake was restored from a backup (us, UTC), 0 if never."""
        return int(self._read_property(_RESTORED) or 0)

    def sinks_with_text(self) -> list[str]:
        """Return the names of the sinks whose target stored a text."""
        begin = _desired_state_property("")
        found = self._table.properties() if self.exists() else {}
        return [each.removeprefix(begin).removesuffix(_STORED) for each in found if each.endswith(_STORED)]

    def stored_text(self, sink: str) -> str | None:
        """Return the text that a sink's target stored."""
        return self._read_property(_store_property(sink))

    def replace_stored_text(self, sink: str, expected: str | None, text: str) -> bool:
        """Store a text of a sink's target if `expected` is the stored one; returns whether it was."""
        self.create()
        for _ in range(_TRIES):
            try:
                return self._table.replace_property(_store_property(sink), expected, text)
            except LakeUnavailable:  # another commit came first, or only the answer to ours was lost
                self._table.reopen()
                if self.stored_text(sink) == text:
                    return True
        raise LakeUnavailable(f"Could not store what {sink} sent: {_TRIES} other commits came first. Try again.")

    def _read_property(self, name: str) -> str | None:
        return self._table.properties().get(name) if self.exists() else None

    def _write_property(self, name: str, value: DesiredState | PollState | int) -> None:
        self.create()
        for _ in range(_TRIES):
            try:
                self._table.set_properties({name: msgspec.json.encode(value).decode()})
            except LakeUnavailable:  # another commit came first, so read its change before trying again
                self._table.reopen()
                continue
            return
        raise LakeUnavailable(f"Could not store the property {name}: {_TRIES} other commits came first. Try again.")

    def sink_progress(self, sink: str, desired: DesiredState, sources: Iterable[Source]) -> dict[tuple[str, str], int]:
        """Return the sink's position by (epoch, partition): the last sequence number that the sink has settled."""
        names = {(each.epoch, each.partition): _transaction_app_id(sink, desired.resets, each) for each in sources}
        found = self._table.watermarks([*names.values()]) if self.exists() else [0] * len(names)
        started = {key: desired.start.get("/".join(key), 0) for key in names}
        return {key: max(done, started[key]) for key, done in zip(names, found, strict=True)}

    def sink_counts(self, sink: str) -> SinkCounts:
        """Return the totals of a sink."""
        if not self.exists():
            return SinkCounts(0, 0, 0)
        return SinkCounts(*self._table.watermarks([f"sink/{sink}/{name}" for name in SinkCounts._fields]))

    def commit(
        self,
        sink: str,
        desired: DesiredState,
        source: Source,
        until: int,
        *,
        refused: Sequence[DeadLetter],
        counts: SinkCounts,
    ) -> None:
        """Commit a sink's new position `until`, its dead letters and its counts; repeating the call has no effect."""
        now_us = time.time_ns() // 1000
        rows = sorted((each.payload.position[1], _dead_letter_row(sink, each, now_us)) for each in refused)
        beside = [(f"sink/{sink}/{name}", number) for name, number in counts._asdict().items()]
        self._table.append_once(
            _transaction_app_id(sink, desired.resets, source), self._table.prepare(rows), until, lambda _: beside
        )

    def failures(self, sink: str, limit: int) -> list[dict[str, Any]]:
        """Return at most `limit` dead letters of a sink, oldest first, without repeated rows."""
        if not self.exists():
            return []
        columns = ", ".join(name for name in SINK_FAILURES.columns if name not in ("received_at", "failed_at"))
        times = ", ".join(f"max(cast({name} AS bigint)) AS {name}" for name in ("received_at", "failed_at"))
        return self._table.run_query(
            f"SELECT {columns}, {times} FROM t WHERE sink = '{sink}' GROUP BY {columns} "
            f"ORDER BY received_at, sequence LIMIT {limit}"
        ).to_pylist()

    def failures_page(self, sink: str, page: ListPage) -> ResultPage[dict[str, Any]]:
        """List a page of the dead letters of a sink; the default order is that of `failures`."""
        return rows_page(self._table, _FAILURES, page, [f"sink = {quote_sql(sink)}"])

    def failure_count(self, sink: str) -> int:
        """Return the number of events of a sink that have dead letters."""
        if not self.exists():
            return 0
        found = self._table.run_query(f"SELECT count(DISTINCT event_id) AS n FROM t WHERE sink = '{sink}'")
        return int(found.column("n")[0].as_py())

    def remove_failures(self, sink: str, event_ids: Sequence[str]) -> None:
        """Remove dead letters that were delivered by a redrive."""
        named = ", ".join(f"'{each}'" for each in event_ids)
        self._table.delete(f"sink = '{sink}' AND event_id IN ({named})")


_TIMES = ("received_at", "failed_at")
_GROUPED = ", ".join(name for name in SINK_FAILURES.columns if name not in _TIMES)
_FAILURES = define_row_list(
    "failures", ", ".join([_GROUPED, *(f"cast({name} AS bigint) AS {name}" for name in _TIMES)]),
    {**{name: by_time(name) for name in _TIMES}, "attempts": by_number("attempts"),
     **{name: by_text(name) for name in ("event_id", "run_id", "reason")}},
    "received_at",
    tie_breakers=(by_text("incarnation"), by_text("partition"), by_number("sequence"), by_number("attempts"),
          by_text("reason")),
    texts="event_id run_id reason",
    origin=f"(SELECT {_GROUPED}, {', '.join(f'max({name}) AS {name}' for name in _TIMES)} FROM t GROUP BY {_GROUPED})",
)  # fmt: skip
"""Groups repeated rows, because a sink that crashes after it wrote a dead letter may write it again."""


def _desired_state_property(sink: str) -> str:
    return f"headwater.sink.{sink}"


def _poll_property(sink: str) -> str:
    return f"{_desired_state_property(sink)}.watched"


def _store_property(sink: str) -> str:
    return f"{_desired_state_property(sink)}{_STORED}"


def _transaction_app_id(sink: str, resets: int, source: Source) -> str:
    return f"sink/{sink}/{resets}/{source.log}/{source.epoch}/{source.partition}"


def _dead_letter_row(sink: str, refused: DeadLetter, now_us: int) -> tuple[Any, ...]:
    source, head, _ = refused.payload.event
    place = (source.log, source.epoch, source.partition, head.sequence, head.received_us)
    return sink, *place, head.event_id, head.run_id, refused.reason, refused.attempts, now_us


class SinkStore:
    """The text that a sink's target stores: a property of the table. A replaced property fails older writers."""

    def __init__(self, ledger: SinkLedger, sink: str) -> None:
        self._ledger, self._sink = ledger, sink

    def read(self) -> str | None:
        """Return the stored text, None if there is none; raises LakeUnavailable."""
        return self._ledger.stored_text(self._sink)

    def replace(self, expected: str | None, text: str) -> bool:
        """Store a text if `expected` is the stored one; returns false if another process stored something else."""
        return self._ledger.replace_stored_text(self._sink, expected, text)

    def not_before_us(self) -> int:
        """Return the moment (us, UTC) of the newest restore or `reset --to now`, 0 if there was none."""
        started_us = self._ledger.desired_state(self._sink).start.get(f"{CLOCK.epoch}/{CLOCK.partition}", 0)
        return max(self._ledger.restored_us(), started_us)


class SinkPosition:
    """The position of one sink.

    `desired` is None before `load_state`, and after a fault that leaves unknown whether a commit succeeded.
    """

    def __init__(
        self,
        sink: Sink,
        sources: Callable[[], Mapping[Source, int]],
        ledger: SinkLedger,
        *,
        mask_secrets: MaskSecrets,
        clock: Callable[[], int],
    ) -> None:
        """Set up without reading the ledger.

        sources: returns the newest sequence number of each partition. clock: returns the current time (us, UTC).
        """
        self.desired: DesiredState | None = None
        self.progress: Progress | None = None
        """Position in each partition, or None before the first `load_state`."""
        self.counts = SinkCounts(0, 0, 0)
        self.committed_until_us = 0
        """The committed position of the partition CLOCK: silence is reported up to this moment (us, UTC)."""
        self.next_check_us = 0
        """Moment of the next check for silent runs (us, UTC)."""
        self._sink = sink
        self._sources = sources
        self._ledger = ledger
        self._mask_secrets = mask_secrets
        self._clock = clock
        self._resets: int | None = None

    @property
    def reported_until_us(self) -> int:
        """Return the moment up to which silence is reported (us, UTC), 0 if never."""
        return (self.progress or {}).get((CLOCK.epoch, CLOCK.partition), 0)

    def desired_state_changed(self) -> bool:
        """Return whether the desired state has changed since it was last read."""
        return self.desired is not None and self._ledger.desired_state(self._sink.name) != self.desired

    def load_state(self) -> DesiredState:
        """Load the desired state and the position; a new sink with `begin: now` first stores its start position."""
        self._ledger.create()
        name = self._sink.name
        sources = dict(self._sources())
        if self._sink.options.silence:
            sources[CLOCK] = self._clock()
        desired = self._ledger.desired_state(name)
        if desired.resets == 0 and self._sink.options.begin == "now":
            heads = {f"{each.epoch}/{each.partition}": head for each, head in sources.items()}
            desired = DesiredState(desired.paused, 1, heads)
            self._ledger.set_desired_state(name, desired)
        asked_us = self.reported_until_us if desired.resets == self._resets else 0
        if not asked_us:
            self.next_check_us = 0
        self._resets, self.progress = desired.resets, self._ledger.sink_progress(name, desired, sources)
        self.committed_until_us = self.reported_until_us
        if asked_us > self.committed_until_us:
            self.progress = self.progress_with({CLOCK: asked_us})
        self.counts = self._ledger.sink_counts(name)
        self.desired = desired
        return desired

    def progress_with(self, reached: Mapping[Source, int]) -> Progress:
        """Return a copy of `progress` in which the partitions in `reached` have these sequence numbers."""
        return {**(self.progress or {}), **{(each.epoch, each.partition): until for each, until in reached.items()}}

    def commit(self, desired: DesiredState, reached: Mapping[Source, int], left_out: int, delivery: Delivery) -> None:
        """Commit the position, dead letters and counts of a batch so far, with one commit for each partition.

        reached: the new position in each partition. left_out: number of events that the sink's filter excluded.
        """
        for source, until in reached.items():
            letters = delivery.pop_refused(source, until)
            letters = [
                each._replace(reason=escape_control_characters(self._mask_secrets(each.reason))) for each in letters
            ]
            was = self.counts
            counts = SinkCounts(
                was.delivered + delivery.pop_delivered(), was.failed + len(letters), was.left_out + left_out
            )
            self._ledger.commit(self._sink.name, desired, source, until, refused=letters, counts=counts)
            self.counts, left_out = counts, 0
            if letters:
                log.warning(GIVEN_UP, self._sink.name, len(letters), letters[0].reason)
        self.committed_until_us = reached.get(CLOCK, self.committed_until_us)
        reach_failpoint("sinks.committed")
        self.progress = self.progress_with(reached)
        if self._ledger.commit_count >= REOPEN_AFTER:
            compact_tables(self._ledger)
