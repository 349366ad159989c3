"""Print answers as tables, CSV or JSON.

If a table is wider than the terminal, the common prefix of names is abbreviated. Long names are wrapped, and their ends
stay visible.
"""

import csv
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from io import StringIO
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.cells import cell_len

from headwater.cli.text_format import as_text, escape_unprintable, is_single_text, names_dataset, namespaces

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table


Arguments = Mapping[str, Any]
"""The arguments of a command by Python parameter name."""

AnswerPrinter = Callable[[Any, bool, Arguments], None]
"""Prints an answer (answer, whether to print JSON, arguments), and exits if the exit status is not 0."""

WIDE: ContextVar[bool] = ContextVar("wide", default=False)
"""Whether to show full names regardless of the width of the terminal."""

CSV: ContextVar[bool] = ContextVar("csv", default=False)
"""Whether to print tables as CSV with full names."""

ITSELF = "."
"""The path of an item that is itself a dataset or column."""

_NO_HEADERS: Mapping[str, str] = {}
_FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r")
_UNLIMITED_WIDTH = 1_000_000
_MIN_WIDTH = 20
_NAMES = ("name", "namespace", "dataset", "column")
"""Last parts of the paths whose values are printed on one line, with escaped line breaks."""

_LIST_MEMBERS = ("totalCount", "truncated", "next", "choices")
"""Members of a list answer that `any_answer_printer` does not print."""

_MIN_COLUMN_WIDTH = 18
"""Columns shrink to this width before any column becomes narrower."""

_MAX_LINES = 3
"""Maximum number of lines of a name."""

_COLUMN_GAP = 3
"""Characters between two columns."""

_TIME_OR_ID = re.compile(r"\d{4}-\d\d-\d\dT|[0-9a-f]{8}-[0-9a-f]{4}-")
"""Timestamps and run ids. They are never abbreviated, because a part of one has no meaning."""

_SENTENCE = re.compile(r"\w \w")
_SEPARATOR = re.compile(r"[/.:#]")
_PART = re.compile(r"[^/.:#_-]*[/.:#_-]*(?<=.)")


def print_value(value: Any, as_json: bool, make_renderable: Callable[[], Any]) -> None:
    """Print a value as JSON, or else the result of `make_renderable`, a rich renderable or text."""
    if as_json:
        sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
        return
    shown, width = make_renderable(), _table_width()
    if isinstance(shown, str):
        sys.stdout.write(shown)
        return
    from rich.console import Console

    console = Console(width=width or _UNLIMITED_WIDTH, highlight=False, markup=False, emoji=False)
    console.width = width or console.measure(shown).maximum
    console.print(shown)


def _table_width() -> int | None:
    """Return the maximum width of a table in characters, None for no limit.

    There is no limit with --wide, and for a file or pipe if the variable COLUMNS is not set.
    """
    if WIDE.get():
        return None
    from rich.console import Console

    columns = os.environ.get("COLUMNS", "")
    asked = int(columns) if columns.isascii() and columns.isdigit() and len(columns) < 6 else 0
    return Console().width if sys.stdout.isatty() else max(asked, _MIN_WIDTH) if asked else None


def pairs_table(title: str, values: Mapping[str, Any]) -> "Group | str":
    """Return a table with a row for each name and value."""
    if CSV.get():
        return _csv_text(
            [("name", "value"), *((name, _escape_lines(as_text(value))) for name, value in values.items())]
        )
    from rich.table import Column, Table

    rows = Table(Column(), Column(overflow="fold"), show_header=False)
    for name, value in values.items():
        rows.add_row(escape_unprintable(name.replace("_", " ")), _escape_lines(as_text(value)))
    return _with_title(title, rows)


def _with_title(title: str, rows: "Table", notes: Sequence[str] = ()) -> "Group":
    from rich.console import Group
    from rich.text import Text

    return Group(
        Text(escape_unprintable(title), "bold"),
        *([rows] if rows.rows else []),
        *(Text(escape_unprintable(note), "italic") for note in notes),
    )


def list_table(
    title: str, found: Mapping[str, Any], columns: Sequence[str], headers: Mapping[str, str] = _NO_HEADERS
) -> "Group | str":
    """Return a table of the items of a list answer.

    If all datasets have the same namespace, it is in the title; otherwise each name includes its namespace.

    columns: dotted paths of the values in an item, or ITSELF. Columns without any value are omitted.
    headers: header by path, for headers that differ from the path.
    """
    from rich.table import Column, Table

    items, total = found["items"], found.get("totalCount", len(found["items"]))
    title = f"{title}: {len(items)} of {total}"
    spaces = {*namespaces(items)}
    if len(spaces) == 1 and not CSV.get():
        title += f", all in {spaces.pop()}"
    whole = bool(spaces)
    columns = tuple(name for name in columns if any(_cell_text(item, name, whole=whole) for item in items)) or columns
    heads = [headers.get(name) or _column_header(name) for name in columns]
    cells = [[_escape_lines(_cell_text(item, name, whole=whole)) for name in columns] for item in items]
    if CSV.get():
        return _csv_text([heads, *cells])
    width = _table_width()
    made = fold_table(heads, cells, width) if width else FoldedTable(cells, [], [])
    wide = made.widths or [_UNLIMITED_WIDTH for _ in heads]
    rows = Table(*(Column(head, overflow="fold", max_width=most) for head, most in zip(heads, wide, strict=True)))
    for row in made.rows:
        rows.add_row(*row)
    further = (
        ["There are more rows. Use a larger --limit, or pass `next` of --json as --cursor."]
        if found.get("next")
        else []
    )
    return _with_title(title, rows, [*made.notes, *further])


def _csv_text(rows: Iterable[Sequence[str]]) -> str:
    """Format rows by RFC 4180. A leading apostrophe stops spreadsheets from evaluating a value as a formula."""
    text = StringIO()
    csv.writer(text).writerows(
        [f"'{cell}" if cell.startswith(_FORMULA_PREFIXES) else cell for cell in row] for row in rows
    )
    return text.getvalue()


def pairs_printer(title: str) -> AnswerPrinter:
    """Return a printer for answers without lists: a table with a row for each member."""
    return lambda found, as_json, _: print_value(found, as_json, lambda: pairs_table(title, found))


def list_printer(title: str, columns: tuple[str, ...]) -> AnswerPrinter:
    """Return a printer for list answers that shows these columns."""
    return lambda found, as_json, _: print_value(found, as_json, lambda: list_table(title, found, columns))


def any_answer_printer(title: str) -> AnswerPrinter:
    """Return a printer for answers of any shape: the single values first, then a table for each list."""

    def shown(found: Any, as_json: bool, _: Arguments) -> None:
        lists = {
            name: value
            for name, value in found.items()
            if isinstance(value, list) and all(isinstance(each, dict) for each in value)
        }
        aside = {*_LIST_MEMBERS, *lists}
        single = {
            path: _value_at(found, path) for path in _single_cell_paths(found) if path.partition(".")[0] not in aside
        }
        if CSV.get() and any(lists.values()):
            single = {}
        if single or as_json:
            print_value(found, as_json, lambda: pairs_table(title, single))
        for name, things in lists.items() if not as_json else ():
            part = {**found, "items": things} if name == "items" else {"items": things}
            columns = tuple(dict.fromkeys(path for thing in things for path in _single_cell_paths(thing)))
            called = title if name == "items" else _column_header(name).capitalize()
            if things or name == "items":
                print_value(part, False, partial(list_table, called, part, columns))

    return shown


def _single_cell_paths(thing: Mapping[str, Any], of: str = "") -> Iterator[str]:
    """Yield the paths of an object whose values fit in one cell."""
    known: tuple[str, ...] = ()
    if names_dataset(thing):
        known = ("namespace", "dataset", "column", "display_name")
        yield of.removesuffix(".") or ITSELF
    for name, value in thing.items():
        if name in known:
            continue
        if isinstance(value, Mapping) and not (is_single_text(value) and not any(map(is_single_text, value.values()))):
            yield from _single_cell_paths(value, f"{of}{name}.")
        else:
            yield of + name


def _column_header(path: str) -> str:
    """Return the header of a column: `via job` for the path `via.job`."""
    return "dataset" if path == ITSELF else path.replace(".", " ").replace("_", " ")


def _value_at(item: Any, path: str) -> Any:
    for name in path.split(".") if path != ITSELF else ():
        item = item.get(name) if isinstance(item, Mapping) else None
    if names_dataset(item):
        return {name: value for name, value in item.items() if name != "via"}
    return None if path == ITSELF else item


def _cell_text(item: Any, path: str, *, whole: bool) -> str:
    text = as_text(_value_at(item, path), with_namespaces=whole)
    return escape_unprintable(text) if path.endswith(_NAMES) else text


def _escape_lines(text: str) -> str:
    """Escape control characters except line breaks."""
    return "\n".join(map(escape_unprintable, text.split("\n")))


class FoldedTable(NamedTuple):
    """The rows that fit, the widths of the columns, and the notes below the table."""

    rows: list[list[str]]
    widths: list[int]
    notes: list[str]


def fold_table(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> FoldedTable:
    """Fit rows into `width` characters: abbreviate common prefixes of names, and wrap long names."""
    cells = [list(row) for row in rows]
    columns = list(zip(*cells, strict=True)) or [() for _ in heads]
    room, notes = width - _COLUMN_GAP * len(heads) - 1, list[str]()
    widths = [_widest_line(head, column) for head, column in zip(heads, columns, strict=True)]
    if sum(widths) <= room:
        return FoldedTable(cells, widths, notes)
    named = [not any(map(_SENTENCE.search, column)) for column in columns]
    for number, column in enumerate(columns):
        prefix = _common_prefix(column) if named[number] else ""
        if prefix:
            notes.append(f"{heads[number]}: … stands for {prefix}")
            columns[number] = tuple(f"…{cell[len(prefix) :]}" if cell else cell for cell in column)
            widths[number] = _widest_line(heads[number], columns[number])
    for least in (_MIN_COLUMN_WIDTH, _MIN_COLUMN_WIDTH // 3):
        widths = _shrink_widths(widths, [min(full, least) for full in widths], room)
    for number, column in enumerate(columns):
        wrap = _wrap_names if named[number] else _wrap_long_words
        columns[number] = wrap(column, widths[number])
    is_cut = any("…" in cell for column in columns for cell in column)
    notes += ["Use --wide to show full names."] if is_cut else []
    return FoldedTable([list(row) for row in zip(*columns, strict=True)], widths, notes)


def _widest_line(head: str, column: Sequence[str]) -> int:
    lines = [line for cell in (head, *column) for line in cell.split("\n")]
    return max(map(cell_len, lines))


def _common_prefix(column: Sequence[str]) -> str:
    """Return the common prefix of the names in a column, up to a separator. Empty if abbreviating it saves little."""
    names = {cell for cell in column if cell}
    if len(names) < 2 or any(map(_TIME_OR_ID.match, names)):
        return ""
    pairs = zip(min(names), max(names), strict=False)
    shared = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    ends = [found.end() for found in _SEPARATOR.finditer(shared)]
    return shared[: ends[-1]] if ends and ends[-1] > 3 else ""


def _shrink_widths(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Return smaller widths with a sum of at most `room`. The widest columns shrink first. least: minimum widths."""
    found = list(widths)
    while sum(found) > room:
        most = max(range(len(found)), key=lambda each: found[each] if found[each] > least[each] else -1)
        if found[most] <= least[most]:
            break
        found[most] -= 1
    return found


def _wrap_names(column: Sequence[str], width: int) -> tuple[str, ...]:
    """Wrap the names of a column. Names that would look alike after cutting are not cut."""
    cut = {cell: _wrap_name(cell, width) for cell in column}
    times = Counter(cut.values())
    return tuple(_wrap_name(cell, width, most=None) if times[cut[cell]] > 1 else cut[cell] for cell in column)


def _wrap_long_words(column: Sequence[str], width: int) -> tuple[str, ...]:
    """Wrap the words of a column that are longer than a line, at their separators."""
    return tuple(re.sub(r"\S+", lambda word: _wrap_name(word[0], width, most=None), cell) for cell in column)


def _wrap_name(cell: str, width: int, most: int | None = _MAX_LINES) -> str:
    """Wrap a name at its separators. If it has more than `most` lines, keep the last ones. most: None for all lines.

    Several names, one a line, are all kept.
    """
    if "\n" in cell:
        return "\n".join(_wrap_name(each, width, most=None) for each in cell.split("\n"))
    if cell_len(cell) <= width:
        return cell
    lines = [""]
    for part in _PART.findall(cell):
        for piece in _split_word(part, width):
            if cell_len(lines[-1] + piece) > width:
                lines.append("")
            lines[-1] += piece
    if most is None:
        return "\n".join(lines)
    if len(lines) <= most:
        return "\n".join(lines)
    first, *others = lines[-most:]
    return "\n".join([f"…{first if cell_len(first) < width else first[1:]}", *others])


def _split_word(part: str, width: int) -> Iterator[str]:
    """Split a part of a name that has no separators into pieces of at most `width` characters."""
    while cell_len(part) > width:
        fits = max(1, sum(size <= width for size in accumulate(map(cell_len, part))))
        yield part[:fits]
        part = part[fits:]
    yield part
