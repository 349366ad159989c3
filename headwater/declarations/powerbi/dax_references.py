"""What a DAX expression refers to: columns and measures by their brackets, whole tables by their names (pure)."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from headwater.declarations.powerbi.semantic_model import ModelTable


class DaxReference(NamedTuple):
    """A name in brackets, of a table where one stands before it; or a whole table, where name is None."""

    table: str | None
    name: str | None


class UsedColumn(NamedTuple):
    """A column of a model's table; name None: all of them."""

    table: str
    name: str | None


_TOKEN = re.compile(
    r"""(?P<gap>\s+|//[^\n]*|--[^\n]*|/\*.*?(?:\*/|\Z))
      |(?P<text>"(?:[^"]|"")*(?:"|\Z))
      |(?P<quoted>'(?:[^']|'')*(?:'|\Z))
      |(?P<bracket>\[(?:[^\]]|\]\])*(?:\]|\Z))
      |(?P<word>[^\W\d][\w.]*)
      |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_COUNTS_ROWS = {"countrows", "isempty"}
"""Functions that take a table and look at none of its columns."""


def dax_references(expression: str) -> Iterator[DaxReference]:
    """Yield what an expression refers to; time is linear, and text that is no DAX yields what looks like references."""
    before: list[tuple[str, str]] = []
    for kind, text in _tokens(expression):
        if kind == "bracket":
            table = _table(*before[-1]) if before else None
            if table is not None:
                before.pop()
            yield from _flushed(before)
            yield DaxReference(table, text[1:].removesuffix("]").replace("]]", "]"))
        elif kind in ("quoted", "word") or text == "(":
            if text == "(" and before and before[-1][0] == "word":
                before[-1] = ("call", before[-1][1])
            elif text != "(":
                before.append((kind, text))
        elif kind == "other":
            yield from _flushed(before)
    yield from _flushed(before)


def _tokens(expression: str) -> Iterator[tuple[str, str]]:
    for found in _TOKEN.finditer(expression):
        if found.lastgroup not in ("gap", "text"):
            yield found.lastgroup or "other", found[0]


def _table(kind: str, text: str) -> str | None:
    if kind == "quoted":
        return text[1:].removesuffix("'").replace("''", "'")
    return text if kind == "word" else None


def _flushed(before: list[tuple[str, str]]) -> Iterator[DaxReference]:
    """Yield the whole tables among what stands before a reference; words may as well be variables."""
    for at, (kind, text) in enumerate(before):
        table = _table(kind, text)
        counted = at > 0 and before[at - 1][0] == "call" and before[at - 1][1].casefold() in _COUNTS_ROWS
        if table is not None and not counted:
            yield DaxReference(table, None)
    before.clear()


class ModelNames:
    """What names mean in one model, whatever their case."""

    def __init__(self, tables: Mapping[str, ModelTable]):
        """Look at each name once."""
        self._tables = {name.casefold(): table for name, table in tables.items()}
        self._columns = {
            (name.casefold(), column.name.casefold()): UsedColumn(name, column.name)
            for name, table in tables.items()
            for column in table.columns
        }
        self._measures = {each.name.casefold(): each.name for table in tables.values() for each in table.measures}

    def used(self, expression: str, home: str) -> tuple[list[UsedColumn], list[str]]:
        """Return the columns and the measures that an expression uses, each once; home: the table that it is in."""
        columns: dict[UsedColumn, None] = {}
        measures: dict[str, None] = {}
        for table, name in dax_references(expression):
            if name is None:
                if (table or "").casefold() in self._tables:
                    columns[UsedColumn(self._tables[(table or "").casefold()].name, None)] = None
            elif table is not None and (column := self._columns.get((table.casefold(), name.casefold()))):
                columns[column] = None
            elif name.casefold() in self._measures:
                measures[self._measures[name.casefold()]] = None
            elif table is None and (column := self._columns.get((home.casefold(), name.casefold()))):
                columns[column] = None
        return [*columns], [*measures]
