"""Answers for people, as tables, or for programs, as JSON."""

import csv
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from io import StringIO
from typing import TYPE_CHECKING, Any

from headwater.cli.folding import Folded, fold
from headwater.cli.wording import is_one, is_place, namespaces, safe, said

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

Given = Mapping[str, Any]
"""What a command was given, by the names of its parameters in Python."""

Shown = Callable[[Any, bool, Given], None]
"""Prints an answer, or JSON, and ends with a status that is not 0."""

WIDE: ContextVar[bool] = ContextVar("wide", default=False)
"""Names are to be shown whole, however narrow the terminal is."""

CSV: ContextVar[bool] = ContextVar("csv", default=False)
"""Tables are to be printed as CSV, names whole."""

ITSELF = "."
"""The path of the dataset or column that an item is."""

_AS_NAMED: Mapping[str, str] = {}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_UNBOUND = 1_000_000
_NARROWEST = 20
_NAMES = ("name", "namespace", "dataset", "column")
"""What ends so is one line, whatever is in it."""

_BESIDE_ITEMS = ("totalCount", "truncated", "next", "choices")
"""What a list's title and the line below it say, or what a page offers to choose from."""


def show(value: Any, as_json: bool, made: Callable[[], Any]) -> None:
    """Print a value as JSON, or the table that stands for it."""
    if as_json:
        sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
        return
    shown, width = made(), _width()
    if isinstance(shown, str):
        sys.stdout.write(shown)
        return
    from rich.console import Console

    console = Console(width=width or _UNBOUND, highlight=False, markup=False, emoji=False)
    console.width = width or console.measure(shown).maximum
    console.print(shown)


def _width() -> int | None:
    """Return how wide a table may be; None where names are wanted whole, or for a file or a pipe without COLUMNS."""
    if WIDE.get():
        return None
    from rich.console import Console

    columns = os.environ.get("COLUMNS", "")
    asked = int(columns) if columns.isascii() and columns.isdigit() and len(columns) < 6 else 0
    return Console().width if sys.stdout.isatty() else max(asked, _NARROWEST) if asked else None


def pairs(title: str, values: Mapping[str, Any]) -> "Group | str":
    """Return a table of names and values."""
    if CSV.get():
        return _csv([("name", "value"), *((name, _lines(said(value))) for name, value in values.items())])
    from rich.table import Column, Table

    rows = Table(Column(), Column(overflow="fold"), show_header=False)
    for name, value in values.items():
        rows.add_row(safe(name.replace("_", " ")), _lines(said(value)))
    return _titled(title, rows)


def _titled(title: str, rows: "Table", notes: Sequence[str] = ()) -> "Group":
    from rich.console import Group
    from rich.text import Text

    return Group(
        Text(safe(title), "bold"), *([rows] if rows.rows else []), *(Text(safe(note), "italic") for note in notes)
    )


def table(
    title: str, found: Mapping[str, Any], columns: Sequence[str], headers: Mapping[str, str] = _AS_NAMED
) -> "Group | str":
    """Return a table of items; a column is a dotted path into an item, or ITSELF, left out where no item has it.

    A namespace of all datasets goes into the title; where there are several, each name has its own.

    headers: what columns are called that do not go by their paths.
    """
    from rich.table import Column, Table

    items, total = found["items"], found.get("totalCount", len(found["items"]))
    title = f"{title}: {len(items)} of {total}"
    spaces = {*namespaces(items)}
    if len(spaces) == 1 and not CSV.get():
        title += f", all in {spaces.pop()}"
    whole = bool(spaces)
    columns = tuple(name for name in columns if any(_cell(item, name, whole=whole) for item in items)) or columns
    heads = [headers.get(name) or _header(name) for name in columns]
    cells = [[_lines(_cell(item, name, whole=whole)) for name in columns] for item in items]
    if CSV.get():
        return _csv([heads, *cells])
    width = _width()
    made = fold(heads, cells, width) if width else Folded(cells, [], [])
    wide = made.widths or [_UNBOUND for _ in heads]
    rows = Table(*(Column(head, overflow="fold", max_width=most) for head, most in zip(heads, wide, strict=True)))
    for row in made.rows:
        rows.add_row(*row)
    further = ["More: a larger --limit, or `next` of --json as --cursor."] if found.get("next") else []
    return _titled(title, rows, [*made.notes, *further])


def _csv(rows: Iterable[Sequence[str]]) -> str:
    """Return rows as RFC 4180 has them; an apostrophe leads what a spreadsheet would take for a formula."""
    text = StringIO()
    csv.writer(text).writerows([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in row] for row in rows)
    return text.getvalue()


def listed(title: str, columns: tuple[str, ...]) -> Shown:
    """Return what prints the items of an answer as a table of some of their members."""
    return lambda found, as_json, _: show(found, as_json, lambda: table(title, found, columns))


def any_answer(title: str) -> Shown:
    """Return what prints an answer of any shape: what it has one of, then a table for each list of things."""

    def shown(found: Any, as_json: bool, _: Given) -> None:
        lists = {
            name: value
            for name, value in found.items()
            if isinstance(value, list) and all(isinstance(each, dict) for each in value)
        }
        aside = {*_BESIDE_ITEMS, *lists}
        single = {path: _value(found, path) for path in _paths(found) if path.partition(".")[0] not in aside}
        if CSV.get() and any(lists.values()):
            single = {}
        if single or as_json:
            show(found, as_json, lambda: pairs(title, single))
        for name, things in lists.items() if not as_json else ():
            part = {**found, "items": things} if name == "items" else {"items": things}
            columns = tuple(dict.fromkeys(path for thing in things for path in _paths(thing)))
            called = title if name == "items" else _header(name).capitalize()
            if things or name == "items":
                show(part, False, partial(table, called, part, columns))

    return shown


def _paths(thing: Mapping[str, Any], of: str = "") -> Iterator[str]:
    """Yield where a thing has what one text says: values, names of datasets, columns and jobs, steps."""
    known: tuple[str, ...] = ()
    if is_place(thing):
        known = ("namespace", "dataset", "column", "display_name")
        yield of.removesuffix(".") or ITSELF
    for name, value in thing.items():
        if name in known:
            continue
        if isinstance(value, Mapping) and not (is_one(value) and not any(map(is_one, value.values()))):
            yield from _paths(value, f"{of}{name}.")
        else:
            yield of + name


def _header(path: str) -> str:
    """Return what a column is called: `via.job` is the `via job`."""
    return "dataset" if path == ITSELF else path.replace(".", " ").replace("_", " ")


def _value(item: Any, path: str) -> Any:
    for name in path.split(".") if path != ITSELF else ():
        item = item.get(name) if isinstance(item, Mapping) else None
    if is_place(item):
        return {name: value for name, value in item.items() if name != "via"}
    return None if path == ITSELF else item


def _cell(item: Any, path: str, *, whole: bool) -> str:
    text = said(_value(item, path), whole=whole)
    return safe(text) if path.endswith(_NAMES) else text


def _lines(text: str) -> str:
    """Return text of which only ends of lines do something."""
    return "\n".join(map(safe, text.split("\n")))
