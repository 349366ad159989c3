"""Tables of descriptive facets: the facet sets that jobs and datasets sent, and the newest value of each facet."""

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from headwater.index.stored.spans import WIDEN, Span, rows, widen
from headwater.lineage.runs.newest_first import placed

NEWER = "WHERE excluded.event_order > event_order"
"""The end of an upsert that replaces only an older row."""

Newness = tuple[str, int]
"""The sortable text of an event's order, and a dataset's position in the event."""


class NumberedFacets(NamedTuple):
    """A set of facets as numbers: of the set and of each facet's text. source: its data source as (name, URI)."""

    number: int
    source: tuple[str, str] | None
    facets: tuple[tuple[str, int], ...]


class DescribedTable:
    """Collects the descriptive facets of a batch and writes them in `flush`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection
        self._tags: set[str] = set()
        self._described: dict[tuple[int, int, int], Span] = {}
        self._last: dict[tuple[int, int, int], str] = {}
        self._sources: dict[tuple[str, str], Span] = {}
        self._newest: dict[tuple[int, int, str], tuple[Newness, int | str]] = {}

    def describe(self, kind: int, name: int, told: NumberedFacets, span: Span, newest: Newness) -> None:
        """Add a set of facets of a job or dataset, the span in which it was sent, and the order of its newest event."""
        key = (kind, name, told.number)
        widen(self._described, key, span)
        self._last[key] = max(self._last.get(key, ""), placed(*newest))
        self.renew(kind, name, newest, told.facets)

    def renew(self, kind: int, name: int, newness: Newness, facets: Iterable[tuple[str, int | str]]) -> None:
        """Add facets as (name, text or text number). Only the newest value of each facet is stored."""
        for facet, value in facets:
            known = self._newest.get((kind, name, facet))
            if known is None or known[0] < newness:
                self._newest[kind, name, facet] = newness, value

    def name_source(self, source: tuple[str, str], span: Span) -> None:
        """Add a data source as (name, URI) with the span in which it was sent."""
        widen(self._sources, source, span)

    def name_tags(self, keys: Iterable[str]) -> None:
        """Add the keys of tags that are in use."""
        self._tags.update(keys)

    def flush(self) -> None:
        """Write everything that was added since the last call."""
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
