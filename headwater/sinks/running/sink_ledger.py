"""How far each sink is, what it gave up, and what it was told to do: one Delta table beside bronze.

A commit of `sink_failures` holds a batch's dead letters and, as transactions, the position behind it and the counts:
they are one, whenever the process is killed. What people order (pause, reset), and what a target that watches has
found, stands in the table's properties.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from headwater.errors import LakeUnavailable
from headwater.events.position import Source
from headwater.lake.delta_table import LakeTable
from headwater.lake.row_pages import by_number, by_text, by_time, row_list, rows_page
from headwater.lake.sql_words import quoted
from headwater.paging import Cut, ListPage
from headwater.sinks.running.delivery import DeadLetter
from headwater.tables import SINK_FAILURES

_CREATED = {"delta.logRetentionDuration": "interval 6 hours"}
_TRIES = 20


class Orders(msgspec.Struct, frozen=True):
    """What was ordered of a sink. start: where it went on when reset last, by epoch and partition."""

    paused: bool = False
    resets: int = 0
    start: Mapping[str, int] = {}


class Watched(msgspec.Struct, frozen=True):
    """What a target found when it looked. turn: how often that was something else; seen: ids by what was asked."""

    turn: int = 0
    seen: Mapping[str, Sequence[str]] = {}


class SinkCounts(NamedTuple):
    """Events of a sink since it began, resets or not."""

    delivered: int
    failed: int
    left_out: int


class Ledger:
    """The table of all sinks. Not for several threads at once."""

    def __init__(self, root: str, options: Mapping[str, str] | None = None) -> None:
        """Touch nothing yet. root: the folder or address of what sinks keep in the lake."""
        self._table = LakeTable(f"{root}/{SINK_FAILURES.name}", SINK_FAILURES, options)
        self.tables = {SINK_FAILURES.name: self._table}
        self._exists = False

    @property
    def commits(self) -> int:
        """Commits of this process since it read the table's log anew."""
        return self._table.commits

    def exists(self) -> bool:
        """Tell whether a sink has ever run."""
        self._exists = self._exists or self._table.exists()
        return self._exists

    def create(self) -> None:
        """Create the table unless it is there."""
        if not self.exists():
            self._table.create(_CREATED)

    def orders(self, sink: str) -> Orders:
        """Return what was ordered of a sink."""
        found = self._kept(_property(sink))
        return msgspec.json.decode(found, type=Orders) if found else Orders()

    def order(self, sink: str, orders: Orders) -> None:
        """Order something of a sink; its runner, in whichever process, follows at its next look."""
        self._keep(_property(sink), orders)

    def watched(self, sink: str) -> Watched:
        """Return what a sink's target found when it looked last; a reset changes nothing of it."""
        found = self._kept(_watched_property(sink))
        return msgspec.json.decode(found, type=Watched) if found else Watched()

    def watch(self, sink: str, watched: Watched) -> None:
        """Keep what a sink's target found, once it is told."""
        self._keep(_watched_property(sink), watched)

    def _kept(self, name: str) -> str | None:
        return self._table.properties().get(name) if self.exists() else None

    def _keep(self, name: str, value: Orders | Watched) -> None:
        self.create()
        for _ in range(_TRIES):
            try:
                self._table.set_properties({name: msgspec.json.encode(value).decode()})
            except LakeUnavailable:  # another commit was faster: what that one changed is read first
                self._table.reopen()
                continue
            return
        raise LakeUnavailable(f"The property {name} could not be kept, {_TRIES} others were faster. Try again.")

    def progress(self, sink: str, orders: Orders, sources: Iterable[Source]) -> dict[tuple[str, str], int]:
        """Return how far a sink is in each partition, in the form in which bronze is followed."""
        names = {(each.epoch, each.partition): _app(sink, orders.resets, each) for each in sources}
        found = self._table.watermarks([*names.values()]) if self.exists() else [0] * len(names)
        started = {key: orders.start.get("/".join(key), 0) for key in names}
        return {key: max(done, started[key]) for key, done in zip(names, found, strict=True)}

    def counts(self, sink: str) -> SinkCounts:
        """Return what became of a sink's events."""
        if not self.exists():
            return SinkCounts(0, 0, 0)
        return SinkCounts(*self._table.watermarks([f"sink/{sink}/{name}" for name in SinkCounts._fields]))

    def commit(
        self,
        sink: str,
        orders: Orders,
        source: Source,
        until: int,
        *,
        refused: Sequence[DeadLetter],
        counts: SinkCounts,
    ) -> None:
        """Move a sink's position to `until` together with its dead letters and counts; a second time does no harm."""
        now_us = time.time_ns() // 1000
        rows = sorted((each.payload.place[1], _row(sink, each, now_us)) for each in refused)
        beside = [(f"sink/{sink}/{name}", number) for name, number in counts._asdict().items()]
        self._table.append_once(_app(sink, orders.resets, source), self._table.prepare(rows), until, lambda _: beside)

    def failures(self, sink: str, limit: int) -> list[dict[str, Any]]:
        """List the dead letters of a sink, oldest first, each once."""
        if not self.exists():
            return []
        columns = ", ".join(name for name in SINK_FAILURES.columns if name not in ("received_at", "failed_at"))
        times = ", ".join(f"max(cast({name} AS bigint)) AS {name}" for name in ("received_at", "failed_at"))
        return self._table.query(
            f"SELECT {columns}, {times} FROM t WHERE sink = '{sink}' GROUP BY {columns} "
            f"ORDER BY received_at, sequence LIMIT {limit}"
        ).to_pylist()

    def failures_page(self, sink: str, page: ListPage) -> Cut[dict[str, Any]]:
        """List a page of the dead letters of a sink, as `failures` does where nothing else is asked for."""
        return rows_page(self._table, _FAILURES, page, [f"sink = {quoted(sink)}"])

    def failed(self, sink: str) -> int:
        """Count the dead letters of a sink."""
        if not self.exists():
            return 0
        found = self._table.query(f"SELECT count(DISTINCT event_id) AS n FROM t WHERE sink = '{sink}'")
        return int(found.column("n")[0].as_py())

    def forget(self, sink: str, event_ids: Sequence[str]) -> None:
        """Take dead letters out that were delivered after all."""
        named = ", ".join(f"'{each}'" for each in event_ids)
        self._table.delete(f"sink = '{sink}' AND event_id IN ({named})")


_TIMES = ("received_at", "failed_at")
_SAID = ", ".join(name for name in SINK_FAILURES.columns if name not in _TIMES)
_FAILURES = row_list(
    "failures", ", ".join([_SAID, *(f"cast({name} AS bigint) AS {name}" for name in _TIMES)]),
    {**{name: by_time(name) for name in _TIMES}, "attempts": by_number("attempts"),
     **{name: by_text(name) for name in ("event_id", "run_id", "reason")}},
    "received_at",
    ties=(by_text("incarnation"), by_text("partition"), by_number("sequence"), by_number("attempts"),
          by_text("reason")),
    texts="event_id run_id reason",
    origin=f"(SELECT {_SAID}, {', '.join(f'max({name}) AS {name}' for name in _TIMES)} FROM t GROUP BY {_SAID})",
)  # fmt: skip
"""Each dead letter once: a crash between writing it and moving on writes it again."""


def _property(sink: str) -> str:
    return f"headwater.sink.{sink}"


def _watched_property(sink: str) -> str:
    return f"{_property(sink)}.watched"


def _app(sink: str, resets: int, source: Source) -> str:
    return f"sink/{sink}/{resets}/{source.log}/{source.epoch}/{source.partition}"


def _row(sink: str, refused: DeadLetter, now_us: int) -> tuple[Any, ...]:
    source, head, _ = refused.payload.event
    place = (source.log, source.epoch, source.partition, head.sequence, head.received_us)
    return sink, *place, head.event_id, head.run_id, refused.reason, refused.attempts, now_us
