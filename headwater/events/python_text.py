"""Reads Python literals that producers send as text. Airflow sends lists in this form, for example `"['a', 'b']"`."""

import ast
import re
from collections.abc import Iterator
from typing import Any

MAX_TEXT = 100_000
"""The maximum number of characters of a text that is parsed. A longer text counts as not readable."""

_MAX_DEPTH = 20
_MAX_LISTED = 2_000
_BRACKETS = re.compile(r"[\[\](){}]")
_STRING = re.compile(r"'(?:[^'\\]|\\.?)*+(?:'|\Z)|\"(?:[^\"\\]|\\.?)*+(?:\"|\Z)", re.DOTALL)
"""A string. One without an end matches too, because a search for its end at each quote takes quadratic time."""

_LITERALS = re.compile(r"(?:''|(?:True|False|None)(?!\w)|(?:(?<=[\[({,:])-)?\d[\w.]*+|[\[\](){},:])*+")
"""Literals and brackets without white space, in which each string is empty. It matches no operator between values."""


def read_list(value: Any) -> list[Any] | None:
    """Return the members of a list, or of the text of a Python list, tuple or set.

    Nothing is evaluated: the text may contain only literals. Returns None for every other value, for text that is
    longer than `MAX_TEXT` or nests deeper than 20, and at most the first 2,000 members.
    """
    if isinstance(value, str):
        value = _read_literal(value)
    if isinstance(value, set | frozenset):
        value = sorted(value, key=repr)
    return list(value[:_MAX_LISTED]) if isinstance(value, list | tuple) else None


def read_texts(value: Any) -> list[str] | None:
    """Return the texts in a list that `read_list` reads, without members of other types; None if it reads no list."""
    found = read_list(value)
    return None if found is None else [each for each in found if isinstance(each, str) and each]


def _read_literal(text: str) -> Any:
    if len(text) > MAX_TEXT or not _is_simple(text):
        return None
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _is_simple(text: str) -> bool:
    """Tell whether a text has only literals, so few levels deep that Python's parser needs little memory and stack."""
    code = "".join(_STRING.sub("''", text).split())
    return _LITERALS.fullmatch(code) is not None and max(_depths(code), default=0) <= _MAX_DEPTH


def _depths(code: str) -> Iterator[int]:
    depth = 0
    for bracket in _BRACKETS.findall(code):
        depth += 1 if bracket in "[({" else -1
        yield depth
