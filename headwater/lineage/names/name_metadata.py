"""The metadata table with facts that names do not contain, such as ids of OneLake, shortcuts and mounts.

`docs/reference/names.md` describes its columns.
"""

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from io import StringIO

from headwater.common.errors import WrongSetting

COLUMNS = ("kind", "id", "name", "parent", "target")
NEEDED: Mapping[str, tuple[str, ...]] = {
    "workspace": ("id", "name"),
    "item": ("id", "name", "parent"),
    "warehouse": ("id", "parent"),
    "shortcut": ("id", "target"),
    "mount": ("id", "target"),
    "alias": ("name", "parent", "target"),
}
LAYOUTS = ("Tables/{schema}/{table}", "Tables/{table}")


@dataclass(frozen=True)
class MetadataRow:
    """One row of the metadata table. where: file, line and row, for errors."""

    kind: str
    id: str = ""
    name: str = ""
    parent: str = ""
    target: str = ""
    where: str = ""

    def key(self) -> tuple[str, ...]:
        """Return the content of the row, without its position."""
        return (self.kind, self.id, self.name, self.parent, self.target)

    def wrong(self, what: str, fits: str) -> WrongSetting:
        """Return an error that names file, line and row, what is wrong, and how to correct it."""
        return WrongSetting(f"{self.where or 'metadata'}: {what}; {fits}.")


def read_metadata(text: str, file: str) -> tuple[MetadataRow, ...]:
    """Read `metadata.csv`, whose first line contains the names of the columns.

    Raises WrongSetting, which names file, line and row, and how to correct the error.
    """
    reader = csv.reader(StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    rows: list[MetadataRow] = []
    header: list[str] | None = None
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = _header([cell.strip() for cell in cells], file, reader.line_num)
                continue
            rows.append(_row(header, cells, f"{file}, line {reader.line_num}, row {len(rows) + 1}"))
    except csv.Error as error:
        raise WrongSetting(f"{file}, line {reader.line_num}: not valid CSV: {error}; correct this line.") from error
    return tuple(rows)


def metadata_rows(found: Iterable[Mapping[str, object]], table: str) -> tuple[MetadataRow, ...]:
    """Read rows of a table with the columns of `metadata.csv`; null means empty, and other columns are ignored.

    Raises WrongSetting, which names the table, the number of the row after sorting by these columns, and the
    correction.
    """
    cells = sorted([str(row.get(column) or "").strip() for column in COLUMNS] for row in found)
    rows = [MetadataRow(*[*row, f"{table}, row {number} as sorted"]) for number, row in enumerate(cells, 1)]
    for row in rows:
        check_row(row)
    return tuple(rows)


def _header(cells: list[str], file: str, line: int) -> list[str]:
    if "kind" not in cells or set(cells) - set(COLUMNS) or len(set(cells)) < len(cells):
        raise WrongSetting(
            f"{file}, line {line}: invalid columns {cells}; the first line must contain `kind` and can contain the "
            f"other columns of `{','.join(COLUMNS)}`, each once."
        )
    return cells


def _row(header: list[str], cells: list[str], where: str) -> MetadataRow:
    row = MetadataRow(**dict(zip(header, map(str.strip, cells), strict=False)), where=where)
    if len(cells) > len(header):
        raise row.wrong(f"{len(cells)} cells for {len(header)} columns", "quote cells that contain a comma")
    check_row(row)
    return row


def check_row(row: MetadataRow) -> None:
    """Raise WrongSetting if a row has an unknown kind or layout, or lacks a column that its kind needs."""
    if row.kind not in NEEDED:
        raise row.wrong(f"unknown kind {row.kind!r}", f"kinds: {', '.join(NEEDED)}")
    missing = [column for column in NEEDED[row.kind] if not getattr(row, column)]
    if missing:
        needed = ", ".join(NEEDED[row.kind])
        raise row.wrong(f"{row.kind} without {' and '.join(missing)}", f"a row of this kind needs {needed}")
    if row.kind == "item" and row.target not in ("", *LAYOUTS):
        raise row.wrong(f"unknown layout {row.target!r}", f"use {' or '.join(LAYOUTS)}, or leave `target` empty")


def of_kind(rows: Iterable[MetadataRow], kind: str) -> list[MetadataRow]:
    """Return the rows of one kind."""
    return [row for row in rows if row.kind == kind]


def unique(rows: Iterable[MetadataRow], key: Callable[[MetadataRow], object]) -> None:
    """Raise WrongSetting at the first row that contradicts an earlier row with the same key."""
    seen: dict[object, MetadataRow] = {}
    for row in rows:
        first = seen.setdefault(key(row), row)
        if first.key() != row.key():
            raise row.wrong(f"the row contradicts {first.where or 'an earlier row'}", "keep one of them")
