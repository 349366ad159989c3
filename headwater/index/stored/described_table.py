"""What jobs and datasets say of themselves: sets of facets with the time in which each was sent, the newest of each."""

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from headwater.index.stored.spans import WIDEN, Span, rows, widen
from headwater.lineage.runs.newest_first import placed

NEWER = "WHERE excluded.event_order > event_order"
"""Ends an insert that replaces what is older."""

Newness = tuple[str, int]
"""Text of the order of an event, place in it."""


class NumberedFacets(NamedTuple):
    """What facets that recur say: the number of their set, the data source they name, the number of each text."""

    number: int
    source: tuple[str, str] | None
    facets: tuple[tuple[str, int], ...]


class DescribedTable:
    """Gathers what a batch says; `flush` writes."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Use the index's connection."""
        self._sql = connection
        self._tags: set[str] = set()
        self._described: dict[tuple[int, int, int], Span] = {}
        self._last: dict[tuple[int, int, int], str] = {}
        self._sources: dict[tuple[str, str], Span] = {}
        self._newest: dict[tuple[int, int, str], tuple[Newness, int | str]] = {}

    def describe(self, kind: int, name: int, told: NumberedFacets, span: Span, newest: Newness) -> None:
        """Take a set of facets that something had for a time, and whose newest event is `newest`."""
        key = (kind, name, told.number)
        widen(self._described, key, span)
        self._last[key] = max(self._last.get(key, ""), placed(*newest))
        self.renew(kind, name, newest, told.facets)

    def renew(self, kind: int, name: int, newness: Newness, facets: Iterable[tuple[str, int | str]]) -> None:
        """Take facets, by name, of which but the newest is kept."""
        for facet, value in facets:
            known = self._newest.get((kind, name, facet))
            if known is None or known[0] < newness:
                self._newest[kind, name, facet] = newness, value

    def name_source(self, source: tuple[str, str], span: Span) -> None:
        """Take name and URI of a data source."""
        widen(self._sources, source, span)

    def name_tags(self, keys: Iterable[str]) -> None:
        """Take keys of tags."""
        self._tags.update(keys)

    def flush(self) -> None:
        """Write what was taken."""
        write = self._sql.executemany
        write(
            f"INSERT INTO described VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET {WIDEN}, "
            "event_order = max(event_order, excluded.event_order)",
            [(*key, *span, self._last[key]) for key, span in self._described.items()],
        )
        write(
            f"INSERT INTO data_sources VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET {WIDEN}, "
            "uri = max(uri, excluded.uri)",
            rows(self._sources),
        )
        write(
            "INSERT INTO newest_facets VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            f"event_order = excluded.event_order, value = excluded.value {NEWER}",
            [(*key, placed(order, place), value) for key, ((order, place), value) in self._newest.items()],
        )
        write("INSERT OR IGNORE INTO tag_names VALUES (?)", [(tag,) for tag in self._tags])
        for each in (self._described, self._last, self._sources, self._newest, self._tags):
            each.clear()
