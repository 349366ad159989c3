"""Fit tables into a terminal: abbreviate the common prefix of names, and wrap long names. Names keep their ends."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, takewhile
from typing import NamedTuple

from rich.cells import cell_len

_MIN_WIDTH = 18
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


class FoldedTable(NamedTuple):
    """The rows that fit, the widths of the columns, and the notes below the table."""

    rows: list[list[str]]
    widths: list[int]
    notes: list[str]


def fold(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> FoldedTable:
    """Fit rows into `width` characters: abbreviate common prefixes of names, and wrap long names."""
    cells = [list(row) for row in rows]
    columns = list(zip(*cells, strict=True)) or [() for _ in heads]
    room, notes = width - _COLUMN_GAP * len(heads) - 1, list[str]()
    widths = [_widest(head, column) for head, column in zip(heads, columns, strict=True)]
    if sum(widths) <= room:
        return FoldedTable(cells, widths, notes)
    named = [not any(map(_SENTENCE.search, column)) for column in columns]
    for number, column in enumerate(columns):
        prefix = _common(column) if named[number] else ""
        if prefix:
            notes.append(f"{heads[number]}: … stands for {prefix}")
            columns[number] = tuple(f"…{cell[len(prefix) :]}" if cell else cell for cell in column)
            widths[number] = _widest(heads[number], columns[number])
    for least in (_MIN_WIDTH, _MIN_WIDTH // 3):
        widths = _shrunk(widths, [min(full, least) for full in widths], room)
    for number, column in enumerate(columns):
        columns[number] = _cut(column, widths[number]) if named[number] else column
    is_cut = any("…" in cell for column in columns for cell in column)
    notes += ["Use --wide to show full names."] if is_cut else []
    return FoldedTable([list(row) for row in zip(*columns, strict=True)], widths, notes)


def _widest(head: str, column: Sequence[str]) -> int:
    lines = [line for cell in (head, *column) for line in cell.split("\n")]
    return max(map(cell_len, lines))


def _common(column: Sequence[str]) -> str:
    """Return the common prefix of the names in a column, up to a separator. Empty if it saves little."""
    names = {cell for cell in column if cell}
    if len(names) < 2 or any(map(_TIME_OR_ID.match, names)):
        return ""
    pairs = zip(min(names), max(names), strict=False)
    shared = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    ends = [found.end() for found in _SEPARATOR.finditer(shared)]
    return shared[: ends[-1]] if ends and ends[-1] > 3 else ""


def _shrunk(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Shrink the widest columns first until the sum of the widths fits."""
    found = list(widths)
    while sum(found) > room:
        most = max(range(len(found)), key=lambda each: found[each] if found[each] > least[each] else -1)
        if found[most] <= least[most]:
            break
        found[most] -= 1
    return found


def _cut(column: Sequence[str], width: int) -> tuple[str, ...]:
    """Wrap the names of a column. Names that would look alike after cutting are not cut."""
    cut = {cell: _lines(cell, width) for cell in column}
    times = Counter(cut.values())
    return tuple(_lines(cell, width, most=None) if times[cut[cell]] > 1 else cut[cell] for cell in column)


def _lines(cell: str, width: int, most: int | None = _MAX_LINES) -> str:
    """Wrap a name at its separators, and keep the last lines of a long one. most: number of lines, None for all."""
    if "\n" in cell or cell_len(cell) <= width:
        return cell
    lines = [""]
    for part in _PART.findall(cell):
        for piece in _pieces(part, width):
            if cell_len(lines[-1] + piece) > width:
                lines.append("")
            lines[-1] += piece
    if most is None:
        return "\n".join(lines)
    shown = lines[-most:]
    return "\n".join(shown if len(lines) <= most else [f"…{shown[0][1:]}", *shown[1:]])


def _pieces(part: str, width: int) -> Iterator[str]:
    """Split a part without separators into pieces that fit."""
    while cell_len(part) > width:
        fits = max(1, sum(size <= width for size in accumulate(map(cell_len, part))))
        yield part[:fits]
        part = part[fits:]
    yield part
