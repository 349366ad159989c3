"""Entries of job history, in a form that all systems share."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

State = Literal["RUNNING", "SUCCEEDED", "FAILED", "ENDED"]
"""The state of an execution; ENDED means that it ended, but the system does not record the result."""


class HistorySpan(NamedTuple):
    """A period from `since_us` to `until_us` (exclusive); us, UTC."""

    since_us: int
    until_us: int


class HistoryEntry(NamedTuple):
    """An execution in a job history. Times are us, UTC.

    ids: ids of the execution that its events may contain. seen_us: last known activity, or None.
    who: the user that ran it. where: address or file with its details. is_spark: whether it is one Spark application.
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
    """The location of a history. place: the part of `KIND:PLACE` after the kind.

    token: returns the token for the API, or None.
    """

    place: str
    token: Callable[[], str | None]


ReadHistory = Callable[[HistoryPlace, HistorySpan], Iterator[HistoryEntry]]
"""Yields the executions of a period in any order, and possibly executions outside the period."""


def deduplicate(entries: Iterable[HistoryEntry]) -> list[HistoryEntry]:
    """Return one entry per execution, because several histories may contain it; prefer entries with an end."""
    found: dict[tuple[str, str, int], HistoryEntry] = {}
    for entry in entries:
        key = entry.system, entry.id, entry.started_us
        found[key] = max(found.get(key, entry), entry, key=_known_details)
    return [*found.values()]


def _known_details(entry: HistoryEntry) -> tuple[bool, int]:
    return entry.ended_us is not None, entry.ended_us or entry.seen_us or 0
