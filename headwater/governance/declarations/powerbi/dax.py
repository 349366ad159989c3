"""Find the references in DAX expressions: columns and measures in brackets, and whole tables by name. No I/O."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from headwater.governance.declarations.powerbi.model import ModelTable


class DaxReference(NamedTuple):
    """A reference to a column or measure, or to a whole table if `name` is None.

    table: None if the expression does not name a table. is_counted: whether the expression only uses the number of the
    column's values or distinct values.
    """

    table: str | None
    name: str | None
    is_counted: bool = False


class UsedColumn(NamedTuple):
    """A column of a table of the model, or all its columns if `name` is None."""

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
_COUNTS = {"count", "counta", "countblank", "distinctcount", "distinctcountnoblank", "approximatedistinctcount"}
"""Functions that count the values of a column."""

_LISTS_VALUES = {"values", "distinct"}
"""Functions that return the distinct values of a column as rows."""

_COUNTS_ROWS = {"countrows", "isempty"}
"""Functions that take a table and do not use any of its columns."""


def dax_references(expression: str) -> Iterator[DaxReference]:
    """Yield the references of an expression in linear time; invalid DAX yields all that looks like a reference."""
    before: list[tuple[str, str]] = []
    tokens = [*_tokens(expression)]
    for (kind, text), (_, behind) in zip(tokens, [*tokens[1:], ("", "")], strict=True):
        if kind == "bracket":
            table = _table_name(*before[-1]) if before else None
            if table is not None:
                before.pop()
            is_counted = behind == ")" and _is_only_counted(before)
            yield from _pop_whole_tables(before)
            yield DaxReference(table, text[1:].removesuffix("]").replace("]]", "]"), is_counted)
        elif kind in ("quoted", "word") or text == "(":
            if text == "(" and before and before[-1][0] == "word":
                before[-1] = ("call", before[-1][1])
            elif text != "(":
                before.append((kind, text))
        elif kind == "other":
            yield from _pop_whole_tables(before)
    yield from _pop_whole_tables(before)


def _tokens(expression: str) -> Iterator[tuple[str, str]]:
    for found in _TOKEN.finditer(expression):
        if found.lastgroup not in ("gap", "text"):
            yield found.lastgroup or "other", found[0]


def _is_only_counted(before: Sequence[tuple[str, str]]) -> bool:
    """Return whether the function calls before a column only count values, such as `COUNT(` or `COUNTROWS(VALUES(`."""
    calls = [text.casefold() if kind == "call" else "" for kind, text in before[-2:]]
    is_listed = len(calls) == 2 and calls[0] == "countrows" and calls[1] in _LISTS_VALUES
    return is_listed or (bool(calls) and calls[-1] in _COUNTS)


def _table_name(kind: str, text: str) -> str | None:
    if kind == "quoted":
        return text[1:].removesuffix("'").replace("''", "'")
    return text if kind == "word" else None


def _pop_whole_tables(before: list[tuple[str, str]]) -> Iterator[DaxReference]:
    """Clear `before` and yield each name in it as a whole table, although a name may also be a variable."""
    for at, (kind, text) in enumerate(before):
        table = _table_name(kind, text)
        counted = at > 0 and before[at - 1][0] == "call" and before[at - 1][1].casefold() in _COUNTS_ROWS
        if table is not None and not counted:
            yield DaxReference(table, None)
    before.clear()


class ModelNames:
    """Finds the tables, columns and measures of one model by name; ignores case."""

    def __init__(self, tables: Mapping[str, ModelTable]):
        self._tables = {name.casefold(): table for name, table in tables.items()}
        self._columns = {
            (name.casefold(), column.name.casefold()): UsedColumn(name, column.name)
            for name, table in tables.items()
            for column in table.columns
        }
        self._measures = {each.name.casefold(): each.name for table in tables.values() for each in table.measures}

    def used_columns_and_measures(self, expression: str, home: str) -> tuple[list[UsedColumn], list[str]]:
        """Return the columns and the measures that an expression uses, without repeats.

        home: the table that contains the expression.
        """
        columns: dict[UsedColumn, None] = {}
        measures: dict[str, None] = {}
        for table, name, _ in dax_references(expression):
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


def only_counted_columns(expression: str, columns: Iterable[UsedColumn]) -> set[UsedColumn]:
    """Return the columns among `columns` that an expression only counts.

    A column does not count as one of these if the expression also has its name without a table, or its whole table.
    """
    counted: set[tuple[str, str]] = set()
    open_names: set[tuple[str | None, str | None]] = set()
    for table, name, is_counted in dax_references(expression):
        place = table and table.casefold(), name and name.casefold()
        if is_counted and place[0] and place[1]:
            counted.add((place[0], place[1]))
        else:
            open_names.add(place)
    found = set()
    for each in columns:
        table, name = each.table.casefold(), (each.name or "").casefold()
        if (table, name) in counted and open_names.isdisjoint({(table, name), (None, name), (table, None)}):
            found.add(each)
    return found
