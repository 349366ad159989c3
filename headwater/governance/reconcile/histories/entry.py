"""Entries of job history, in a form that all systems share."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

State = Literal["RUNNING", "SUCCEEDED", "FAILED", "ENDED"]
"""ENDED: the execution ended, but the system does not record the result."""


class HistorySpan(NamedTuple):
    """A period from `since_us` to `until_us` (exclusive); us, UTC."""

    since_us: int
    until_us: int


class HistoryEntry(NamedTuple):
    """An execution in a job history. Times are us, UTC.

    ids: ids that events may contain. seen_us: last activity of an execution without an end. who: its user. where: where
    to look it up. is_spark: it is one Spark application.
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

    def overlaps(self, span: HistorySpan) -> bool:
        """Return whether the execution overlaps a period."""
        return self.started_us < span.until_us and (self.ended_us is None or self.ended_us >= span.since_us)


class HistoryPlace(NamedTuple):
    """The location of a history. place: the text after the kind. token: returns the token of its API, or None."""

    place: str
    token: Callable[[], str | None]


ReadHistory = Callable[[HistoryPlace, HistorySpan], Iterator[HistoryEntry]]
"""Yields the executions of a period in any order, possibly with others outside of it."""


def deduplicate(entries: Iterable[HistoryEntry]) -> list[HistoryEntry]:
    """Return each execution once, although several histories may contain it, with the entry that has an end."""
    found: dict[tuple[str, str, int], HistoryEntry] = {}
    for entry in entries:
        key = entry.system, entry.id, entry.started_us
        found[key] = max(found.get(key, entry), entry, key=_known_details)
    return [*found.values()]


def _known_details(entry: HistoryEntry) -> tuple[bool, int]:
    return entry.ended_us is not None, entry.ended_us or entry.seen_us or 0
