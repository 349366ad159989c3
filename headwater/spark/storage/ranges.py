"""Keys as literal ranges, so that Delta's file statistics leave out what cannot match.

Run ids of today's listeners begin with their time (UUIDv7): the runs of a batch lie close together.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

PREFIX = 8
MOST = 16


def begin(column: str | Column) -> Column:
    """Return what a key begins with."""
    return F.substring(column, 1, PREFIX)


def ranges(column: str, begins: Iterable[str]) -> str:
    """Return a condition that holds for every key that begins like one of these, and for few others."""
    terms = [f"({column} >= {_text(low)} AND {column} < {_text(_after(high))})" for low, high in spans(sorted(begins))]
    return f"({' OR '.join(terms)})" if terms else "false"


def spans(begins: Sequence[str]) -> list[tuple[str, str]]:
    """Join sorted prefixes to at most `MOST` (first, last), apart at their widest gaps."""
    if not begins:
        return []
    gaps = [(_number(after) - _number(before), place) for place, (before, after) in enumerate(pairwise(begins), 1)]
    cuts = sorted(place for width, place in sorted(gaps, reverse=True)[: MOST - 1] if width > 1)
    starts, ends = [0, *cuts], [*cuts, len(begins)]
    return [(begins[first], begins[last - 1]) for first, last in zip(starts, ends, strict=True)]


def _number(prefix: str) -> int:
    """Return how far along a prefix is among all texts."""
    return int.from_bytes(prefix.encode()[:PREFIX].ljust(PREFIX, b"\0"), "big")


def _after(prefix: str) -> str:
    """Return a text behind all that begin with a prefix."""
    return prefix + "\U0010ffff"


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
