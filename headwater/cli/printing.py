"""Answers for people, as tables, or for programs, as JSON."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

Given = Mapping[str, Any]
"""What a command was given, by the names of its parameters in Python."""

Shown = Callable[[Any, bool, Given], None]
"""Prints an answer, or JSON, and ends with a status that is not 0."""

_WIDE = 160
"""Characters of a line that goes into a file or a pipe."""

_AS_NAMED: Mapping[str, str] = {}


def show(value: Any, as_json: bool, table: Callable[[], Any]) -> None:
    """Print a value as JSON, or the table that stands for it."""
    if as_json:
        sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
        return
    from rich.console import Console

    is_measured = sys.stdout.isatty() or "COLUMNS" in os.environ
    Console(width=None if is_measured else _WIDE).print(table())


def pairs(title: str, values: dict[str, Any]) -> Any:
    """Return a table of names and values."""
    from rich.table import Table

    rows = Table("", "", title=_safe(title), show_header=False, title_justify="left")
    for name, value in values.items():
        rows.add_row(_safe(name), _lines(str(value)))
    return rows


def table(title: str, found: dict[str, Any], columns: tuple[str, ...], headers: Mapping[str, str] = _AS_NAMED) -> Any:
    """Return a table of items; a column may be a dotted path into an item, and is left out where no item has it.

    A namespace of all goes into the title.

    headers: what columns are called that do not go by their paths.
    """
    from rich.table import Column, Table

    items, total = found["items"], found.get("totalCount", len(found["items"]))
    title = f"{title}: {len(items)} of {total}"
    namespaces = {_cell(item, "namespace") for item in items}
    if "namespace" in columns and len(namespaces) == 1:
        columns = tuple(name for name in columns if name != "namespace")
        title += f", all in {namespaces.pop()}"
    columns = tuple(name for name in columns if any(_cell(item, name) for item in items)) or columns
    heads = (Column(headers.get(name) or _header(name), overflow="fold") for name in columns)
    rows = Table(*heads, title=_safe(title), title_justify="left")
    for item in items:
        rows.add_row(*(_lines(_cell(item, name)) for name in columns))
    return rows


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
        single = {path: _cell(found, path) for path in _paths(found) if path not in ("totalCount", "truncated")}
        if single or as_json:
            show(found, as_json, lambda: pairs(title, single))
        for name, things in lists.items() if not as_json else ():
            part = {**found, "items": things} if name == "items" else {"items": things}
            columns = tuple(dict.fromkeys(path for thing in things for path in _paths(thing)))
            show(part, False, partial(table, title if name == "items" else name.capitalize(), part, columns))

    return shown


def _paths(thing: Mapping[str, Any], of: str = "") -> Iterator[str]:
    """Yield where a thing has single values; of a thing in it not the namespace."""
    for name, value in thing.items():
        if isinstance(value, dict):
            yield from _paths(value, f"{of}{name}.")
        elif not isinstance(value, list) and not (of and name == "namespace"):
            yield of + name


def _header(path: str) -> str:
    """Return what a column is called: `via.job.name` is the `via job`."""
    return path.removesuffix(".name").replace(".", " ")


def _cell(item: dict[str, Any], path: str) -> str:
    value: Any = item
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return "" if value is None else str(value)


def _lines(text: str) -> str:
    return "\n".join(map(_safe, text.split("\n")))


def _safe(text: str) -> str:
    """Show what would move the cursor, turn the direction of writing or style the text as it is written in Python."""
    from rich.markup import escape

    return escape("".join(each if each.isprintable() else ascii(each)[1:-1] for each in text))
