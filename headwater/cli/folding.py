"""Tables that fit a terminal: what names have in common is said once, and what is cut of a name is never its end."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, takewhile
from typing import NamedTuple

from rich.cells import cell_len

_LEAST = 18
"""As long as others are wider, no column has fewer characters."""

_LINES = 3
"""Most lines of a name."""

_EDGES = 3
"""Characters between two columns."""

_NO_NAME = re.compile(r"\d{4}-\d\d-\d\dT|[0-9a-f]{8}-[0-9a-f]{4}-")
"""Times and ids of runs begin so: they say something as a whole alone."""

_SENTENCE = re.compile(r"\w \w")
_SEPARATOR = re.compile(r"[/.:#]")
_PART = re.compile(r"[^/.:#_-]*[/.:#_-]*(?<=.)")


class Folded(NamedTuple):
    """Rows as they fit, the widths of their columns, and what to say below the table."""

    rows: list[list[str]]
    widths: list[int]
    notes: list[str]


def fold(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Folded:
    """Return rows that fit so many characters: what names begin with alike is left out, long ones are in lines."""
    cells = [list(row) for row in rows]
    columns = list(zip(*cells, strict=True)) or [() for _ in heads]
    room, notes = width - _EDGES * len(heads) - 1, list[str]()
    widths = [_widest(head, column) for head, column in zip(heads, columns, strict=True)]
    if sum(widths) <= room:
        return Folded(cells, widths, notes)
    named = [not any(map(_SENTENCE.search, column)) for column in columns]
    for number, column in enumerate(columns):
        prefix = _common(column) if named[number] else ""
        if prefix:
            notes.append(f"{heads[number]}: … stands for {prefix}")
            columns[number] = tuple(f"…{cell[len(prefix) :]}" if cell else cell for cell in column)
            widths[number] = _widest(heads[number], columns[number])
    for least in (_LEAST, _LEAST // 3):
        widths = _shrunk(widths, [min(full, least) for full in widths], room)
    for number, column in enumerate(columns):
        columns[number] = _cut(column, widths[number]) if named[number] else column
    is_cut = any("…" in cell for column in columns for cell in column)
    notes += ["--wide shows names whole."] if is_cut else []
    return Folded([list(row) for row in zip(*columns, strict=True)], widths, notes)


def _widest(head: str, column: Sequence[str]) -> int:
    lines = [line for cell in (head, *column) for line in cell.split("\n")]
    return max(map(cell_len, lines))


def _common(column: Sequence[str]) -> str:
    """Return what all names of a column begin with, up to a separator; nothing where that saves little."""
    names = {cell for cell in column if cell}
    if len(names) < 2 or any(map(_NO_NAME.match, names)):
        return ""
    pairs = zip(min(names), max(names), strict=False)
    shared = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    ends = [found.end() for found in _SEPARATOR.finditer(shared)]
    return shared[: ends[-1]] if ends and ends[-1] > 3 else ""


def _shrunk(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Return widths of which the widest gave way first."""
    found = list(widths)
    while sum(found) > room:
        most = max(range(len(found)), key=lambda each: found[each] if found[each] > least[each] else -1)
        if found[most] <= least[most]:
            break
        found[most] -= 1
    return found


def _cut(column: Sequence[str], width: int) -> tuple[str, ...]:
    """Return names in lines; one that would read like another once it is cut is shown whole."""
    cut = {cell: _lines(cell, width) for cell in column}
    times = Counter(cut.values())
    return tuple(_lines(cell, width, most=None) if times[cut[cell]] > 1 else cut[cell] for cell in column)


def _lines(cell: str, width: int, most: int | None = _LINES) -> str:
    """Return a name in lines that end at its separators, of a long one the last lines alone; most: None for all."""
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
    """Yield a part of a name that has no separator, in pieces that fit."""
    while cell_len(part) > width:
        fits = max(1, sum(size <= width for size in accumulate(map(cell_len, part))))
        yield part[:fits]
        part = part[fits:]
    yield part
