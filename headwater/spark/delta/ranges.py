"""Express sets of keys as SQL ranges with literals, so that Delta skips files by their statistics.

Run ids of current listeners begin with a timestamp (UUIDv7), so the keys of the runs of a batch are close together.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

PREFIX = 8
MAX_SPANS = 16


def key_prefix(column: str | Column) -> Column:
    """Return the first `PREFIX` characters of the key in a column."""
    return F.substring(column, 1, PREFIX)


def prefix_condition(column: str, prefixes: Iterable[str]) -> str:
    """Return an SQL condition that holds for all keys in `column` with these prefixes, and for few other keys."""
    terms = [
        f"({column} >= {_text(low)} AND {column} < {_text(_prefix_end(high))})"
        for low, high in prefix_spans(sorted(prefixes))
    ]
    return f"({' OR '.join(terms)})" if terms else "false"


def prefix_spans(prefixes: Sequence[str]) -> list[tuple[str, str]]:
    """Join sorted prefixes into at most `MAX_SPANS` spans, and return the first and last prefix of each span.

    The widest gaps between prefixes separate the spans.
    """
    if not prefixes:
        return []
    gaps = [(_number(after) - _number(before), place) for place, (before, after) in enumerate(pairwise(prefixes), 1)]
    cuts = sorted(place for width, place in sorted(gaps, reverse=True)[: MAX_SPANS - 1] if width > 1)
    starts, ends = [0, *cuts], [*cuts, len(prefixes)]
    return [(prefixes[first], prefixes[last - 1]) for first, last in zip(starts, ends, strict=True)]


def _number(prefix: str) -> int:
    """Return a number that orders prefixes in the same way as their UTF-8 text."""
    return int.from_bytes(prefix.encode()[:PREFIX].ljust(PREFIX, b"\0"), "big")


def _prefix_end(prefix: str) -> str:
    """Return a text that sorts after all texts with a prefix."""
    return prefix + "\U0010ffff"


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
