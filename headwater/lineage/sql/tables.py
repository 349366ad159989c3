"""Find the datasets to which the table names in a run's SQL refer, or a view over its inputs (rules 13.3, 13.4)."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from headwater.lineage.sql.errors import UnsupportedSql, shorten_name
from headwater.lineage.sql.relations import TRANSFORMATION_STEP, Origin, Origins, Relation

Parts = tuple[str, ...]
"""The casefolded parts of a name. For example, the parts of `Lake.gold.db/Revenue` are (lake, gold, revenue)."""


class RunTable(Struct, frozen=True):
    """A dataset that a run reads or writes.

    names: all names that events of the run use for the dataset, including symlinks.
    columns: the names of the columns in the schema; empty if no event reports them. Names of nested columns contain
    dots.
    is_incomplete: whether the dataset may have more columns.
    is_joined: whether the columns are combined from several lists, so that their order is unknown.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    is_input: bool
    is_output: bool
    is_incomplete: bool = False
    is_joined: bool = False


class TableResolver:
    """Finds the dataset to which a name in SQL refers."""

    def __init__(self, tables: Sequence[RunTable], table_names: Iterable[str] = ()):
        """tables: the datasets of the run; table_names: all table names in the script."""
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
        """Return the indexes of the inputs to which no name in the script refers. Only a view can read these inputs."""
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
        """Return the index of the output with a name, None if the name does not match an output of the run.

        Raises UnsupportedSql if the name matches several outputs.
        """
        return _single_match(name, self._outputs.find(name_parts(name)))

    def find_dataset(self, name: str) -> int | None:
        """Return the index of the dataset with a name, None if the name does not match a dataset of the run.

        Inputs take precedence over outputs. Raises UnsupportedSql if the name matches several datasets.
        """
        parts = name_parts(name)
        if (added_index := self._added_names.get(parts)) is not None:
            return added_index
        return _single_match(name, self._inputs.find(parts) or self._outputs.find(parts))


def name_parts(name: str) -> Parts:
    """Split a name at dots and slashes into casefolded parts, without the suffix `.db` of warehouse folders."""
    path_text = re.sub(r"\.db(?=/|$)", "", name.casefold().removeprefix("dbfs:"))
    path = path_text.rpartition("://")[2]
    return tuple(part.strip('`"[]') for part in re.split(r"[./]", path) if part.strip('`"[]'))


def _single_match(name: str, indexes: tuple[int, ...]) -> int | None:
    if len(indexes) > 1:
        raise UnsupportedSql(f"the table name {shorten_name(name)} matches several datasets of the run")
    return indexes[0] if indexes else None


class NameSuffixes:
    """A trie of names, with the last part of each name at the root.

    Two names match if one of them ends with all parts of the other. Each list of matches contains at most two indexes,
    because two matches are enough to recognise an ambiguous name.
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
        """Return the indexes of the datasets with a matching name; two indexes mean that the name is ambiguous.

        Longer names that end with `parts` take precedence, then the longest name that `parts` ends with.
        """
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

    children: maps the preceding part of a name to the node of the longer end.
    exact_matches: the indexes of datasets with exactly this name.
    suffix_matches: the indexes of datasets with a name that has this end.
    """

    children: "dict[str, _Node]"
    exact_matches: list[int]
    suffix_matches: list[int]


def _add_index(indexes: list[int], dataset_index: int) -> None:
    if len(indexes) < 2 and dataset_index not in indexes:
        indexes.append(dataset_index)


def hidden_view(tables: TableResolver) -> tuple[Relation, set[int]]:
    """Return a view over all inputs that the script does not name, and the indexes of the inputs with known columns.

    Listeners report the datasets behind a view, but not its definition. Therefore, a column of the view is the column
    with the same name in the only input that has such a column. If no or several inputs have such a column, reading the
    column raises UnsupportedSql. All unknown names of a script share this view.
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
