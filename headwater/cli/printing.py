"""Answers for people, as tables, or for programs, as JSON."""

import json
import sys
from collections.abc import Callable
from typing import Any


def show(value: Any, as_json: bool, table: Callable[[], Any]) -> None:
    """Print a value as JSON, or the table that stands for it."""
    if as_json:
        sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
        return
    from rich.console import Console

    Console().print(table())


def pairs(title: str, values: dict[str, Any]) -> Any:
    """Return a table of names and values."""
    from rich.markup import escape
    from rich.table import Table

    rows = Table("", "", title=title, show_header=False, title_justify="left")
    for name, value in values.items():
        rows.add_row(name, escape(str(value)))
    return rows


def table(title: str, found: dict[str, Any], columns: tuple[str, ...]) -> Any:
    """Return a table of items; a column may be a dotted path into an item."""
    from rich.markup import escape
    from rich.table import Column, Table

    shown, total = len(found["items"]), found.get("totalCount", len(found["items"]))
    headers = (Column(name, overflow="fold") for name in columns)
    rows = Table(*headers, title=f"{title}: {shown} of {total}", title_justify="left")
    for item in found["items"]:
        rows.add_row(*(escape(_cell(item, name)) for name in columns))
    return rows


def _cell(item: dict[str, Any], path: str) -> str:
    value: Any = item
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return "" if value is None else str(value)
