"""What every system remembers of something that ran."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

State = Literal["RUNNING", "SUCCEEDED", "FAILED", "ENDED"]
"""ENDED: it is over, and the system does not say how."""


class HistorySpan(NamedTuple):
    """From one moment up to another, not included; us, UTC."""

    since_us: int
    until_us: int


class HistoryEntry(NamedTuple):
    """An execution that a system remembers; times in us, UTC.

    ids: by which events may name it; seen_us: the last sign of life of what has no end;
    who: its user; where: where a person looks at it; is_spark: it is one Spark application.
    """

    system: str
    id: str
    name: str
    state: State
    started_us: int
    ended_us: int | None
    ids: tuple[str, ...]
    seen_us: int | None = None
    who: str = ""
    where: str = ""
    is_spark: bool = False

    def within(self, span: HistorySpan) -> bool:
        """Tell whether it was there in a span."""
        return self.started_us < span.until_us and (self.ended_us is None or self.ended_us >= span.since_us)


class HistoryPlace(NamedTuple):
    """Where history is: `place` as it was written behind the kind; token: of its API, None without one."""

    place: str
    token: Callable[[], str | None]


ReadHistory = Callable[[HistoryPlace, HistorySpan], Iterator[HistoryEntry]]
"""Yields what ran within a span, in any order; what ran outside of it may be among it."""


def once(entries: Iterable[HistoryEntry]) -> list[HistoryEntry]:
    """Return each execution once, which several histories may remember, or one twice: as who knows its end has it."""
    found: dict[tuple[str, str, int], HistoryEntry] = {}
    for entry in entries:
        key = entry.system, entry.id, entry.started_us
        found[key] = max(found.get(key, entry), entry, key=_knows)
    return [*found.values()]


def _knows(entry: HistoryEntry) -> tuple[bool, int]:
    return entry.ended_us is not None, entry.ended_us or entry.seen_us or 0
