"""Compares column types of SQL dialects: equal, or wider. No I/O."""

from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import SqlglotError

_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_FLOATS = ("FLOAT", "DOUBLE")
_TEXT = {"TEXT", "VARCHAR", "NVARCHAR", "CHAR", "NCHAR", "STRING"}
_SYNONYMS = {"INTEGER": "INT", "LONG": "BIGINT", "SHORT": "SMALLINT", "BYTE": "TINYINT", "INT64": "BIGINT"}
_DIALECTS = (None, "spark", "tsql", "postgres", "snowflake", "bigquery", "duckdb")


def is_same(before: str | None, after: str | None, dialect: str | None) -> bool:
    """Return whether two types are equal, as far as they can be parsed. dialect: of the second type."""
    one, other = _read(before, None), _read(after, dialect)
    if one is None or other is None:
        return before is not None and after is not None and _normalised(before) == _normalised(after)
    return _with_size(one) == _with_size(other) or (
        _is_text(one) and _is_text(other) and not (_size(one) or _size(other))
    )


def is_wider(before: str | None, after: str | None, dialect: str | None) -> bool:
    """Return whether the second type can store every value of the first: more digits, a longer text."""
    one, other = _read(before, None), _read(after, dialect)
    if one is None or other is None:
        return False
    for order in (_INTEGERS, _FLOATS):
        if one.this.name in order and other.this.name in order:
            return order.index(one.this.name) < order.index(other.this.name)
    if _is_text(one) and _is_text(other):
        return bool(_size(one)) and (not _size(other) or _size(other)[0] >= _size(one)[0])
    if one.this.name == other.this.name == "DECIMAL" and _size(one) and _size(other):
        (digits, scale), (more, other_scale) = _digits(one), _digits(other)
        return other_scale >= scale and more - other_scale >= digits - scale
    return False


@lru_cache(4_096)
def _read(text: str | None, dialect: str | None) -> exp.DataType | None:
    """Parse a type, in an unknown dialect by the first dialect that accepts it."""
    if text is None:
        return None
    text = _SYNONYMS.get(text.strip().upper(), text)
    for each in dict.fromkeys((dialect, *_DIALECTS)):
        try:
            found = exp.DataType.build(text, dialect=each)
        except (SqlglotError, ValueError):
            continue
        if found.this != exp.DataType.Type.USERDEFINED:
            return found
    return None


def _with_size(kind: exp.DataType) -> str:
    name = "TEXT" if _is_text(kind) else kind.this.name
    return f"{name}{_size(kind)}" if not kind.args.get("nested") else kind.sql().casefold()


def _is_text(kind: exp.DataType) -> bool:
    return kind.this.name in _TEXT


def _size(kind: exp.DataType) -> list[int]:
    return [int(each.name) for each in kind.expressions if isinstance(each, exp.DataTypeParam) and each.name.isdigit()]


def _digits(kind: exp.DataType) -> tuple[int, int]:
    size = [*_size(kind), 0]
    return size[0], size[1]


def _normalised(text: str) -> str:
    return "".join(text.casefold().split())
