"""The metadata table, and the names that depend on this table: OneLake ids, SQL endpoints, shortcuts and mounts.

`docs/reference/names.md` describes the columns of the table.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO

from headwater.common.errors import WrongSetting
from headwater.lineage.names.dataset_name import Name, split_location

COLUMNS = ("kind", "id", "name", "parent", "target")
REQUIRED_COLUMNS: Mapping[str, tuple[str, ...]] = {
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
    """One row of the metadata table. where: the file, line and row number for error messages."""

    kind: str
    id: str = ""
    name: str = ""
    parent: str = ""
    target: str = ""
    where: str = ""

    def contents(self) -> tuple[str, ...]:
        """Return the columns of the row as a tuple, without `where`."""
        return (self.kind, self.id, self.name, self.parent, self.target)

    def error(self, what: str, correction: str) -> WrongSetting:
        """Return an error that names file, line and row.

        what: the problem. correction: how to correct the row.
        """
        return WrongSetting(f"{self.where or 'metadata'}: {what}; {correction}.")


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
                header = _parse_header([cell.strip() for cell in cells], file, reader.line_num)
                continue
            rows.append(_parse_row(header, cells, f"{file}, line {reader.line_num}, row {len(rows) + 1}"))
    except csv.Error as error:
        raise WrongSetting(f"{file}, line {reader.line_num}: not valid CSV: {error}; correct this line.") from error
    return tuple(rows)


def metadata_rows(found: Iterable[Mapping[str, object]], table: str) -> tuple[MetadataRow, ...]:
    """Read the rows of a table with the columns of `metadata.csv`; null means empty, and other columns are ignored.

    The rows are sorted by these columns. Raises WrongSetting, which names the table, the number of the row in this
    order, and how to correct the row.
    """
    cells = sorted([str(row.get(column) or "").strip() for column in COLUMNS] for row in found)
    rows = [MetadataRow(*[*row, f"{table}, row {number} as sorted"]) for number, row in enumerate(cells, 1)]
    for row in rows:
        check_row(row)
    return tuple(rows)


def _parse_header(cells: list[str], file: str, line: int) -> list[str]:
    if "kind" not in cells or set(cells) - set(COLUMNS) or len(set(cells)) < len(cells):
        raise WrongSetting(
            f"{file}, line {line}: invalid columns {cells}; the first line must contain `kind` and can contain the "
            f"other columns of `{','.join(COLUMNS)}`, each once."
        )
    return cells


def _parse_row(header: list[str], cells: list[str], where: str) -> MetadataRow:
    row = MetadataRow(**dict(zip(header, map(str.strip, cells), strict=False)), where=where)
    if len(cells) > len(header):
        raise row.error(f"{len(cells)} cells for {len(header)} columns", "quote cells that contain a comma")
    check_row(row)
    return row


def check_row(row: MetadataRow) -> None:
    """Raise WrongSetting if a row has an unknown kind or layout, or lacks a column that its kind needs."""
    if row.kind not in REQUIRED_COLUMNS:
        raise row.error(f"unknown kind {row.kind!r}", f"kinds: {', '.join(REQUIRED_COLUMNS)}")
    missing = [column for column in REQUIRED_COLUMNS[row.kind] if not getattr(row, column)]
    if missing:
        needed = ", ".join(REQUIRED_COLUMNS[row.kind])
        raise row.error(f"{row.kind} without {' and '.join(missing)}", f"a row of this kind needs {needed}")
    if row.kind == "item" and row.target not in ("", *LAYOUTS):
        raise row.error(f"unknown layout {row.target!r}", f"use {' or '.join(LAYOUTS)}, or leave `target` empty")


def rows_of_kind(rows: Iterable[MetadataRow], kind: str) -> list[MetadataRow]:
    """Return the rows of one kind."""
    return [row for row in rows if row.kind == kind]


def check_unique(rows: Iterable[MetadataRow], key: Callable[[MetadataRow], object]) -> None:
    """Raise WrongSetting at the first row that has the same key as an earlier row, but a different content."""
    seen: dict[object, MetadataRow] = {}
    for row in rows:
        first = seen.setdefault(key(row), row)
        if first.contents() != row.contents():
            raise row.error(f"the row contradicts {first.where or 'an earlier row'}", "keep one of them")


ONELAKE = "onelake.dfs.fabric.microsoft.com"

_WORKSPACE = re.compile(r"abfss://([^/@]++)@onelake\.dfs\.fabric\.microsoft\.com(?:/([^/]++)(.*))?", re.DOTALL)
_GUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TYPES = (".warehouse", ".lakehouse")


class OneLake:
    """Workspaces and items of OneLake. Canonical names use their ids, because names may later be reused."""

    def __init__(self, rows: Sequence[MetadataRow]) -> None:
        """rows: the metadata table; only rows of kind workspace, item and warehouse are used.

        Raises WrongSetting if two rows contradict each other.
        """
        check_unique(rows_of_kind(rows, "workspace"), lambda row: row.name.casefold())
        check_unique(rows_of_kind(rows, "warehouse"), lambda row: row.id.lower())
        self._workspaces = {row.name.casefold(): row.id.lower() for row in rows_of_kind(rows, "workspace")}
        check_unique(rows_of_kind(rows, "item"), lambda row: (self._workspace_id(row.parent), row.name.casefold()))
        items = [(self._workspace_id(row.parent), row) for row in rows_of_kind(rows, "item")]
        self._items = {(workspace, row.name.casefold()): row.id.lower() for workspace, row in items}
        self._layouts = {row.id.lower(): row.target or LAYOUTS[0] for _, row in items}
        self._display_names = {
            row.id.lower(): row.name for kind in ("workspace", "item") for row in rows_of_kind(rows, kind)
        }
        self._endpoints = {row.id.lower(): self._workspace_id(row.parent) for row in rows_of_kind(rows, "warehouse")}

    @property
    def display_names(self) -> dict[str, str]:
        """Maps the ids of workspaces and items, in lower case, to their names."""
        return self._display_names

    def with_ids(self, name: Name) -> Name:
        """Replace the names of the workspace and the item in a OneLake name with their ids, if the ids are known."""
        found = _WORKSPACE.fullmatch(name.namespace)
        if found is None:
            return name
        workspace = self._workspace_id(found[1])
        namespace = f"abfss://{workspace}@{ONELAKE}"
        if found[2] is not None:  # the namespace is the folder of a catalog, whose names are not paths
            return Name(f"{namespace}/{self._item_id(workspace, found[2])}{found[3]}", name.name)
        item, slash, path = name.name.partition("/")
        return Name(namespace, f"{self._item_id(workspace, item)}{slash}{path}")

    def table_folder(self, name: Name) -> Name:
        """Convert `database.schema.table` of a SQL endpoint to the OneLake folder of the table.

        The name stays the same if the metadata table does not contain the endpoint or the database.
        """
        workspace = self._endpoints.get(name.namespace.removeprefix("fabric-warehouse://"))
        parts = name.name.split(".", 2)
        if workspace is None or len(parts) < 3:
            return name
        database, schema, table = parts
        known = (self._items.get((workspace, f"{database.casefold()}{kind}")) for kind in _TYPES)
        item = next((one for one in known if one), None)
        if item is None or (self._layouts[item] == LAYOUTS[1] and schema != "dbo"):
            return name
        path = self._layouts[item].replace("{schema}", schema).replace("{table}", table)
        return Name(f"abfss://{workspace}@{ONELAKE}", f"{item}/{path}")

    def _workspace_id(self, name_or_id: str) -> str:
        return name_or_id.lower() if _GUID.fullmatch(name_or_id) else self._by_name(name_or_id)

    def _by_name(self, name: str) -> str:
        return self._workspaces.get(name.casefold(), name)

    def _item_id(self, workspace: str, name_or_id: str) -> str:
        if _GUID.fullmatch(name_or_id):
            return name_or_id.lower()
        return self._items.get((workspace, name_or_id.casefold()), name_or_id)


class Links:
    """Shortcuts and mounts. A path at or below the source of a link refers to the same path at or below its target.

    If a path is below several sources, the link with the longest source is used.
    """

    def __init__(self, rows: Sequence[MetadataRow], canonical: Callable[[str, str], Name]) -> None:
        """Read the links; raises WrongSetting if a location is invalid or two links contradict each other.

        rows: the metadata table; only rows of kind shortcut and mount are used.
        canonical: a function that maps (namespace, name) to the canonical name without following links.
        """
        links = [row for row in rows if row.kind in ("shortcut", "mount")]
        check_unique(links, lambda row: canonical(*link_source(row).parts))
        self._targets = {
            canonical(*link_source(row).parts): canonical(*_parse_location(row, row.target).parts) for row in links
        }
        lengths: defaultdict[str, set[int]] = defaultdict(set)
        for source in self._targets:
            lengths[source.namespace].add(len(source.name))
        self._lengths = {namespace: sorted(found, reverse=True) for namespace, found in lengths.items()}

    def __bool__(self) -> bool:
        """Return whether there are any links."""
        return bool(self._targets)

    def resolve(self, name: Name) -> Name:
        """Replace the source of a shortcut or mount at the start of a name with the target."""
        path = name.name
        for length in self._lengths.get(name.namespace, ()):
            if len(path) == length or path[length : length + 1] == "/":
                target = self._targets.get(Name(name.namespace, path[:length]))
                if target is not None:
                    return Name(target.namespace, (target.name.rstrip("/") + path[length:]) or "/")
        return name


def link_source(row: MetadataRow) -> Name:
    """Return the source of a shortcut or mount as a name. The source of a mount may be a DBFS path such as `/mnt/a`."""
    is_path = row.kind == "mount" and row.id.startswith("/")
    return Name(row.parent or "dbfs", row.id) if is_path else _parse_location(row, row.id)


def _parse_location(row: MetadataRow, location: str) -> Name:
    found = split_location(location)
    if found is None:
        raise row.error(f"{location[:100]!r} is not a location", "write it like abfss://container@account…/folder")
    return found
