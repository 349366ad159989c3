"""SQL for upserts that store the newest value, or the first and the last event time (us, UTC) of a thing."""

from collections.abc import Mapping
from typing import TypeVar

Span = tuple[int, int]

K = TypeVar("K", bound=tuple[object, ...])

WIDEN = "first_us = min(first_us, excluded.first_us), last_us = max(last_us, excluded.last_us)"
"""The assignments of an upsert that widens the span (first_us, last_us) of an existing row."""

NEWER = "WHERE excluded.event_order > event_order"
"""The end of an upsert that replaces a row only if the row is older."""

ENTITY = (
    f"INSERT INTO entities VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET {WIDEN}, generation = excluded.generation"
)
"""SQL that stores the span and the generation of an entity; see `entity_rows`."""


def widen_span(spans: dict[K, Span], key: K, span: Span) -> None:
    """Widen the span of a key to include another span."""
    known = spans.get(key)
    if known is None:
        spans[key] = span
    elif not known[0] <= span[0] <= span[1] <= known[1]:
        spans[key] = (min(known[0], span[0]), max(known[1], span[1]))


def entity_rows(spans: Mapping[tuple[int, int], Span], generation: int) -> list[tuple[int, ...]]:
    """Return rows of table `entities`. spans: spans by (kind, name number). generation: the generation of the rows."""
    return [(*key, *span, generation) for key, span in spans.items()]


def span_rows(spans: Mapping[K, Span]) -> list[tuple[object, ...]]:
    """Return a row (*key, first, last) for each span."""
    return [(*key, *span) for key, span in spans.items()]
