"""Keys as literal ranges, so that Delta's file statistics leave out what cannot match.

Run ids of today's listeners begin with their time (UUIDv7): the runs of a batch lie close together.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

PREFIX = 8
MOST = 16
_MANY = 20_000


def ranges(keys: DataFrame, column: str) -> str:
    """Return a condition on `column` that holds for each of the keys; `true` if they are scattered too widely."""
    prefixes = keys.select(F.substring(column, 1, PREFIX).alias("prefix")).where("prefix IS NOT NULL").distinct()
    found = sorted(row.prefix for row in prefixes.limit(_MANY + 1).collect())
    if len(found) > _MANY:
        return "true"
    terms = [f"({column} >= {_text(low)} AND {column} < {_text(_after(high))})" for low, high in spans(found)]
    return " OR ".join(terms) or "false"


def spans(prefixes: Sequence[str]) -> list[tuple[str, str]]:
    """Join sorted prefixes to at most `MOST` (first, last), apart at their widest gaps."""
    if not prefixes:
        return []
    gaps = [(_number(after) - _number(before), place) for place, (before, after) in enumerate(_pairs(prefixes), 1)]
    cuts = sorted(place for width, place in sorted(gaps, reverse=True)[: MOST - 1] if width > 1)
    starts, ends = [0, *cuts], [*cuts, len(prefixes)]
    return [(prefixes[first], prefixes[last - 1]) for first, last in zip(starts, ends, strict=True)]


def _pairs(prefixes: Sequence[str]) -> list[tuple[str, str]]:
    return list(zip(prefixes, prefixes[1:], strict=False))


def _number(prefix: str) -> int:
    """Return how far along a prefix is among all texts."""
    return int.from_bytes(prefix.encode()[:PREFIX].ljust(PREFIX, b"\0"), "big")


def _after(prefix: str) -> str:
    """Return a text behind all that begin with a prefix."""
    return prefix + "\U0010ffff"


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
