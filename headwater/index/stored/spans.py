"""The first and last time that something is told of, gathered over a batch; times are those of events (us, UTC)."""

from collections.abc import Mapping
from typing import TypeVar

Span = tuple[int, int]

K = TypeVar("K", bound=tuple[object, ...])

WIDEN = "first_us = min(first_us, excluded.first_us), last_us = max(last_us, excluded.last_us)"
"""What an insert does where the row is there."""

ENTITY = (
    f"INSERT INTO entities VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET {WIDEN}, generation = excluded.generation"
)
"""Puts a span of an entity, which was heard of in a generation; see `entity_rows`."""


def widen(spans: dict[K, Span], key: K, span: Span) -> None:
    """Let the span of a key reach over another."""
    known = spans.get(key)
    if known is None:
        spans[key] = span
    elif not known[0] <= span[0] <= span[1] <= known[1]:
        spans[key] = (min(known[0], span[0]), max(known[1], span[1]))


def entity_rows(spans: Mapping[tuple[int, int], Span], generation: int) -> list[tuple[int, ...]]:
    """Return the rows of entities, by kind and name, that one generation of the index has heard of."""
    return [(*key, *span, generation) for key, span in spans.items()]


def rows(spans: Mapping[K, Span]) -> list[tuple[object, ...]]:
    """Return keys and spans as rows."""
    return [(*key, *span) for key, span in spans.items()]
