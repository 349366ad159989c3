"""Answers for people, as tables, or for programs, as JSON."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

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
        rows.add_row(name, _safe(str(value)))
    return rows


def table(title: str, found: dict[str, Any], columns: tuple[str, ...], headers: Mapping[str, str] = _AS_NAMED) -> Any:
    """Return a table of items; a column may be a dotted path into an item. A namespace of all goes into the title.

    headers: what columns are called that do not go by their paths.
    """
    from rich.table import Column, Table

    items, total = found["items"], found.get("totalCount", len(found["items"]))
    title = f"{title}: {len(items)} of {total}"
    namespaces = {_cell(item, "namespace") for item in items}
    if "namespace" in columns and len(namespaces) == 1:
        columns = tuple(name for name in columns if name != "namespace")
        title += f", all in {namespaces.pop()}"
    heads = (Column(headers.get(name) or _header(name), overflow="fold") for name in columns)
    rows = Table(*heads, title=_safe(title), title_justify="left")
    for item in items:
        rows.add_row(*("\n".join(map(_safe, _cell(item, name).split("\n"))) for name in columns))
    return rows


def _header(path: str) -> str:
    """Return what a column is called: `via.job.name` is the `via job`."""
    return path.removesuffix(".name").replace(".", " ")


def _cell(item: dict[str, Any], path: str) -> str:
    value: Any = item
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return "" if value is None else str(value)


def _safe(text: str) -> str:
    """Show what would move the cursor, turn the direction of writing or style the text as it is written in Python."""
    from rich.markup import escape

    return escape("".join(each if each.isprintable() else ascii(each)[1:-1] for each in text))
