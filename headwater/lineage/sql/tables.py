"""Find the datasets of a run for the table names in its SQL, or a view over its inputs (rules 13.3 and 13.4)."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from headwater.lineage.sql.errors import UnsupportedSql, shorten_name
from headwater.lineage.sql.relations import TRANSFORMATION_STEP, Origin, Origins, Relation

Parts = tuple[str, ...]
"""The parts of a name, casefolded: `Lake.gold.db/Revenue` is (lake, gold, revenue)."""


class RunTable(Struct, frozen=True):
    """A dataset that a run reads or writes.

    names: all names that events of the run use for it, symlinks included.
    columns: the columns of its schema, nested ones with dots; empty if no event reports them.
    is_incomplete: the dataset may have more columns.
    is_joined: the columns are joined from several lists, so their order is unknown.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    is_input: bool
    is_output: bool
    is_incomplete: bool = False
    is_joined: bool = False


class TableResolver:
    """Finds the dataset that a name in SQL refers to."""

    def __init__(self, tables: Sequence[RunTable], table_names: Iterable[str] = ()):
        """table_names: every name of a table in the script."""
        self.tables = tables
        self._table_names = table_names
        self._parts = [[name_parts(name) for name in table.names] for table in tables]
        self._inputs, self._outputs = NameSuffixes(), NameSuffixes()
        for dataset_index, (table, names) in enumerate(zip(tables, self._parts, strict=True)):
            for parts in names:
                if table.is_input:
                    self._inputs.add(parts, dataset_index)
                if table.is_output:
                    self._outputs.add(parts, dataset_index)
        self._added_names: dict[Parts, int] = {}

    def add_name(self, name: str, dataset_index: int) -> None:
        """Register another name for the dataset at an index."""
        self._added_names[name_parts(name)] = dataset_index

    def unnamed_inputs(self) -> list[int]:
        """Return the indexes of the inputs that no name in the script refers to. Only a view can read them."""
        named_suffixes = NameSuffixes()
        for name in self._table_names:
            named_suffixes.add(name_parts(name), 0)
        named = {
            dataset_index
            for dataset_index, names in enumerate(self._parts)
            if any(named_suffixes.find(parts) for parts in names)
        }
        named.update(self._added_names.values())
        return [
            dataset_index
            for dataset_index, table in enumerate(self.tables)
            if table.is_input and dataset_index not in named
        ]

    def find_output(self, name: str) -> int | None:
        """Return the index of the output that a statement writes, None if the name is not an output of the run."""
        return _single_match(name, self._outputs.find(name_parts(name)))

    def find_dataset(self, name: str) -> int | None:
        """Return the index of the dataset that a statement reads, inputs before outputs; None if there is none."""
        parts = name_parts(name)
        if (added_index := self._added_names.get(parts)) is not None:
            return added_index
        return _single_match(name, self._inputs.find(parts) or self._outputs.find(parts))


def name_parts(name: str) -> Parts:
    """Split a name at dots and slashes, casefolded. The suffix `.db` of a warehouse folder is removed."""
    path_text = re.sub(r"\.db(?=/|$)", "", name.casefold().removeprefix("dbfs:"))
    path = path_text.rpartition("://")[2]
    return tuple(part.strip('`"[]') for part in re.split(r"[./]", path) if part.strip('`"[]'))


def _single_match(name: str, indexes: tuple[int, ...]) -> int | None:
    if len(indexes) > 1:
        raise UnsupportedSql(f"the table name {shorten_name(name)} matches several datasets of the run")
    return indexes[0] if indexes else None


class NameSuffixes:
    """A trie of names, which starts at their last part.

    Two names match if one of them ends with all parts of the other. Each node stores at most two indexes, because two
    matches are enough to recognise an ambiguous name.
    """

    def __init__(self) -> None:
        self._root = _Node({}, [], [])

    def add(self, parts: Parts, dataset_index: int) -> None:
        """Add a name of the dataset at an index. A name without parts matches no other name."""
        if not parts:
            return
        node = self._root
        for part in reversed(parts):
            node = node.children.setdefault(part, _Node({}, [], []))
            _add_index(node.suffix_matches, dataset_index)
        _add_index(node.exact_matches, dataset_index)

    def find(self, parts: Parts) -> tuple[int, ...]:
        """Return the indexes of the datasets with the longest common end: none, one, or two if it is ambiguous."""
        node, found = self._root, list[int]()
        for part in reversed(parts):
            longer = node.children.get(part)
            if longer is None:
                return tuple(found)
            node = longer
            found = node.exact_matches or found
        return tuple(node.suffix_matches)


class _Node(NamedTuple):
    """A common end of names.

    children: nodes of longer ends; exact_matches: datasets with exactly this name.
    suffix_matches: all datasets whose names have this end.
    """

    children: "dict[str, _Node]"
    exact_matches: list[int]
    suffix_matches: list[int]


def _add_index(indexes: list[int], dataset_index: int) -> None:
    if len(indexes) < 2 and dataset_index not in indexes:
        indexes.append(dataset_index)


def hidden_view(tables: TableResolver) -> tuple[Relation, set[int]]:
    """Return one view over all inputs that the script does not name, and the indexes of those inputs that have columns.

    Listeners report the datasets behind a view, but not its definition. So a column of the view is the column of that
    name if exactly one of these inputs has it. Otherwise reading it raises UnsupportedSql. All unknown names of a
    script share this view.
    """
    owners: dict[str, list[Origin]] = {}
    for dataset_index in tables.unnamed_inputs():
        for column in tables.tables[dataset_index].columns:
            owners.setdefault(column.casefold(), []).append((dataset_index, column))

    def raise_unknown_column(column: str) -> Origins:
        raise UnsupportedSql(
            f"the SQL reads column {shorten_name(column)} of a view whose definition is unknown, and none or several "
            "of the inputs that the SQL does not name have a column of this name"
        )

    unambiguous = [(of[0][1], {of[0]: {TRANSFORMATION_STEP}}) for of in owners.values() if len(of) == 1]
    return Relation(fields=unambiguous, resolve_unlisted=raise_unknown_column), {
        dataset_index for of in owners.values() for dataset_index, _ in of
    }
