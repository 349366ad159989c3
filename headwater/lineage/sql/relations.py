"""The columns of tables, queries and outputs, with their origins and the transformations on the way."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from headwater.lineage.sql.errors import HIDDEN_NAMES, UnsupportedSql

IDENTITY, TRANSFORMATION, AGGREGATION = "IDENTITY", "TRANSFORMATION", "AGGREGATION"
_RANKS = (IDENTITY, TRANSFORMATION, AGGREGATION)


class ColumnStep(NamedTuple):
    """A transformation of a value, in the terms of OpenLineage's `columnLineage` facet.

    direct: True if the result contains the value (DIRECT); False if the value only influences rows or other values
    (INDIRECT).
    subtype: the subtype of the transformation, for example IDENTITY or FILTER.
    masked: whether the original value cannot be recovered.
    """

    direct: bool
    subtype: str
    masked: bool = False

    def combine_with_earlier(self, earlier: "ColumnStep") -> "ColumnStep":
        """Return one step that stands for the step `earlier` followed by this step.

        The result is INDIRECT if either step is INDIRECT. A DIRECT result masks if either step masks, and has the
        subtype with the higher rank. The ranks increase from IDENTITY over TRANSFORMATION to AGGREGATION.
        """
        if not self.direct:
            return self
        if not earlier.direct:
            return earlier
        subtype = max(self.subtype, earlier.subtype, key=_RANKS.index)
        return ColumnStep(True, subtype, self.masked or earlier.masked)


IDENTITY_STEP = ColumnStep(True, IDENTITY)
TRANSFORMATION_STEP = ColumnStep(True, TRANSFORMATION)
FILTER, JOIN = ColumnStep(False, "FILTER"), ColumnStep(False, "JOIN")
GROUP, SORT = ColumnStep(False, "GROUP_BY"), ColumnStep(False, "SORT")
CONDITIONAL, WINDOW = ColumnStep(False, "CONDITIONAL"), ColumnStep(False, "WINDOW")

Origin = tuple[int, str]
"""(index of a dataset among the datasets of the run, name of a column of the dataset)."""

Origins = dict[Origin, set[ColumnStep]]
"""The source columns of a value, each with the steps that lead from it to the value."""


def add_origins(origins: Origins, other: Origins, step: ColumnStep) -> None:
    """Add all origins of `other` to `origins`; step: a step to append to the steps of each origin."""
    for origin, steps in other.items():
        origins.setdefault(origin, set()).update(step.combine_with_earlier(each) for each in steps)


class Relation:
    """A table, a view or a query within a statement: its columns in order, with their origins.

    columns: (name, origins) of each column, in order.
    row_origins: the origins that concern all rows, because they filter, join, group or sort the rows.
    resolve_unlisted: a function that returns the origins of a column that is not in `columns`, by name; None if the
    relation has no other columns.
    dataset_index: the index of the dataset, None for a relation that is not a dataset.
    has_hidden_names: whether the relation may have columns with unknown names.
    incomplete_datasets: the indexes of the relation's datasets that may have more columns than events list.
    is_joined: whether the columns are combined from several lists, so that their order is unknown.
    """

    def __init__(
        self,
        columns: Iterable[tuple[str, Origins]] = (),
        *,
        fields: Iterable[tuple[str, Origins]] = (),
        resolve_unlisted: Callable[[str], Origins] | None = None,
        dataset_index: int | None = None,
    ):
        """fields: (name, origins) of nested columns. They are found by name, but `*` does not contain them."""
        self.columns = list(columns)
        self.row_origins: Origins = {}
        self.resolve_unlisted = resolve_unlisted
        self.dataset_index = dataset_index
        self.has_hidden_names = False
        self.incomplete_datasets: frozenset[int] = frozenset()
        self.is_joined = False
        self._origins_by_key: dict[str, Origins] = {}
        self._origins_by_name: dict[str, Origins] = {}
        for name, origins in (*self.columns, *fields):
            self._index_column(name, origins)

    @property
    def has_unlisted_columns(self) -> bool:
        """Whether the relation may have columns that no event lists."""
        return self.resolve_unlisted is not None and (not self.columns or bool(self.incomplete_datasets))

    def has_column(self, name: str) -> bool:
        """Return whether the relation has a known column of this name, ignoring case."""
        return self.has_column_key(name.casefold())

    def has_column_key(self, key: str) -> bool:
        """Return whether the relation has a known column with this casefolded name."""
        return key in self._origins_by_key

    @cached_property
    def column_names(self) -> Sequence[str]:
        """The names of the columns, in order."""
        return [name for name, _ in self.columns]

    def add_column(self, name: str, origins: Origins) -> None:
        """Append a column."""
        self.columns.append((name, origins))
        self._index_column(name, origins)
        self.__dict__.pop("column_names", None)

    def _index_column(self, name: str, origins: Origins) -> None:
        if name in self._origins_by_name:
            return
        self._origins_by_name[name] = origins
        key = name.casefold()
        same = self._origins_by_key.get(key)
        self._origins_by_key[key] = origins if same is None else _merge_origins(same, origins)

    def column_origins(self, name: str) -> Origins | None:
        """Return the origins of a column by its name, None if the relation has no such column.

        If several columns differ only in case, the column with exactly this spelling is used. Without such a column,
        the origins of all of them are returned.
        """
        found = self._origins_by_name.get(name)
        if found is None:
            found = self._origins_by_key.get(name.casefold())
        if found is None and self.resolve_unlisted is not None:
            return self.resolve_unlisted(name)
        return found

    def with_column_names(self, names: Iterable[str]) -> "Relation":
        """Return a copy of the relation with new names for the first columns, as in an alias with a column list."""
        given = list(names)
        rest = self.columns[len(given) :]
        found = Relation(
            [*zip(given, (origins for _, origins in self.columns), strict=False), *rest],
            dataset_index=self.dataset_index,
        )
        found.resolve_unlisted, found.row_origins = (None if self.columns else self.resolve_unlisted), self.row_origins
        found.has_hidden_names = self.has_hidden_names
        return found


def table_relation(
    dataset_index: int, column_names_in: Iterable[str], *, is_incomplete: bool = False, is_joined: bool = False
) -> Relation:
    """Return a dataset as a relation. The origin of each column is the column itself.

    Nested columns are found by name, but `*` does not contain them.
    column_names_in: the names of the columns in the schema, in order; empty if they are unknown.
    is_incomplete: whether the dataset may have more columns.
    is_joined: whether the order of the columns is unknown.
    """
    column_names = list(column_names_in)
    known = {name.casefold() for name in column_names}
    top = [name for name in column_names if not _is_nested_column(name, known)]

    def own_origins(name: str) -> Origins:
        return {(dataset_index, name): {IDENTITY_STEP}}

    nested = [(name, own_origins(name)) for name in column_names if _is_nested_column(name, known)]
    found = Relation(
        [(name, own_origins(name)) for name in top],
        fields=nested,
        resolve_unlisted=own_origins,
        dataset_index=dataset_index,
    )
    found.incomplete_datasets = frozenset({dataset_index}) if is_incomplete else frozenset()
    found.is_joined = is_joined
    return found


def _merge_origins(one: Origins, other: Origins) -> Origins:
    return {origin: one.get(origin, set()) | other.get(origin, set()) for origin in (*one, *other)}


def _is_nested_column(name: str, known: set[str]) -> bool:
    return name.rpartition(".")[0].casefold() in known


class OutputColumns(NamedTuple):
    """The columns that a script writes into one dataset, with their origins.

    columns: maps column names to origins.
    row_origins: the origins that concern all rows.
    possible_sources: the indexes of datasets that the script may read although no origin shows this, for example
    through a view.
    is_incomplete: whether the output has more columns, with names that the script does not contain.
    reason: the reason why `possible_sources` may be read, None without a reason.
    is_insert: whether only INSERTs write the dataset. The dataset then fills the columns that they do not name itself.
    """

    columns: dict[str, Origins]
    row_origins: Origins
    possible_sources: frozenset[int] = frozenset()
    is_incomplete: bool = False
    reason: str | None = None
    is_insert: bool = False

    @property
    def copy_cost(self) -> int:
        """The cost of copying this object, as a number of column copies."""
        return copy_cost(self.columns.values()) + len(self.row_origins)

    @property
    def source_indexes(self) -> set[int]:
        """The indexes of all source datasets."""
        return {dataset_index for origins in (*self.columns.values(), self.row_origins) for dataset_index, _ in origins}

    def merge(self, other: "OutputColumns") -> None:
        """Add the columns that another statement writes into the same dataset."""
        for name, value in other.columns.items():
            self.add_column_origins(name, value)
        add_origins(self.row_origins, other.row_origins, IDENTITY_STEP)

    def add_column_origins(self, name: str, value: Origins) -> None:
        """Add origins to a column, and add the column if it is missing."""
        add_origins(self.columns.setdefault(name, {}), value, IDENTITY_STEP)


_STAR_OF_PART = "the SQL uses `*` for a table, but no event of the run reports all columns of this table"


def copy_cost(columns: Iterable[Origins]) -> int:
    """Return the cost of copying columns, as the number of columns plus the number of their origins.

    columns: the origins of each column.
    """
    return sum(1 + len(origins) for origins in columns)


def columns_by_position(relation: Relation, columns: Sequence[str]) -> dict[str, Origins]:
    """Map the names in `columns` to the origins of the query's columns at the same positions.

    If `columns` is empty, the columns keep the names that the query gives them. Raises UnsupportedSql if the query has
    unknown columns, or more columns than `columns`.
    """
    if relation.has_hidden_names and len(relation.columns) > 1:
        raise UnsupportedSql(HIDDEN_NAMES)
    if relation.incomplete_datasets:
        raise UnsupportedSql(_STAR_OF_PART)
    if not columns:
        return merge_columns_by_name(relation.columns)
    if len(relation.columns) > len(columns):
        raise UnsupportedSql("the query returns more columns than the column list or the schema of the output contains")
    return merge_columns_by_name(
        [(name, origins) for name, (_, origins) in zip(columns, relation.columns, strict=False)]
    )


def merge_columns_by_name(columns: Sequence[tuple[str, Origins]]) -> dict[str, Origins]:
    """Map column names to origins; columns with the same name are merged."""
    found: dict[str, Origins] = {}
    for name, origins in columns:
        add_origins(found.setdefault(name, {}), origins, IDENTITY_STEP)
    return found


def output_columns(relation: Relation, target: Relation | None) -> OutputColumns:
    """Return the columns that a statement without a column list writes into an output.

    The columns have the names that the query gives them. If a column of the query has no name, all columns get the
    names at their positions in the output. This is impossible if the output has unknown columns or a different number
    of columns. Then the result contains only the named columns, and is marked as incomplete.
    relation: the result of the query. target: the output before the statement, None if it is not a dataset of the run.
    """
    if relation.has_hidden_names:
        raise UnsupportedSql(HIDDEN_NAMES)
    if relation.incomplete_datasets:
        known = merge_columns_by_name([each for each in relation.columns if each[0]])
        return OutputColumns(
            known, relation.row_origins, relation.incomplete_datasets, is_incomplete=True, reason=_STAR_OF_PART
        )
    if all(name for name, _ in relation.columns):
        return OutputColumns(merge_columns_by_name(relation.columns), relation.row_origins)
    columns = target.column_names if target is not None and not target.incomplete_datasets else ()
    if len(columns) != len(relation.columns):
        return OutputColumns(
            merge_columns_by_name([each for each in relation.columns if each[0]]),
            relation.row_origins,
            is_incomplete=True,
        )
    return OutputColumns(columns_by_position(relation, columns), relation.row_origins)
