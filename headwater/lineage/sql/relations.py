"""The columns of a table, a query or an output with their origins, and the transformations from one to the other."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from headwater.lineage.sql.errors import HIDDEN_NAMES, UnsupportedSql

IDENTITY, TRANSFORMATION, AGGREGATION = "IDENTITY", "TRANSFORMATION", "AGGREGATION"
_RANKS = (IDENTITY, TRANSFORMATION, AGGREGATION)


class ColumnStep(NamedTuple):
    """A transformation of a value, with the terms of OpenLineage's `columnLineage`.

    direct: the value goes into the result; otherwise it only decides about rows or values (INDIRECT).
    subtype: for example IDENTITY or FILTER; masked: the original value cannot be recovered.
    """

    direct: bool
    subtype: str
    masked: bool = False

    def combine_with_earlier(self, earlier: "ColumnStep") -> "ColumnStep":
        """Return an earlier step `earlier`, followed by this step, as one step.

        The result is INDIRECT if either step is. A DIRECT result masks if either step masks, and has the subtype with
        the higher rank.
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
"""(index of a dataset among those of the run, name of one of its columns)"""

Origins = dict[Origin, set[ColumnStep]]
"""The source columns of a value, each with the steps that lead from it to the value."""


def add_origins(origins: Origins, other: Origins, step: ColumnStep) -> None:
    """Add all origins of `other` to `origins`, each followed by one more step."""
    for origin, steps in other.items():
        origins.setdefault(origin, set()).update(step.combine_with_earlier(each) for each in steps)


class Relation:
    """A table, a view or a query within a statement: its columns in order, with their origins.

    row_origins: origins that concern all rows, because they filter, join, group or sort them.
    resolve_unlisted: returns the origins of a column that `columns` does not contain; None if there is no other column.
    dataset_index: index of the dataset, None for a relation that the statement makes.
    has_hidden_names: the relation may have columns whose names are not known.
    incomplete_datasets: indexes of datasets that may have more columns than events list.
    is_joined: the columns are joined from several lists, so their order is not known.
    """

    def __init__(
        self,
        columns: Iterable[tuple[str, Origins]] = (),
        *,
        fields: Iterable[tuple[str, Origins]] = (),
        resolve_unlisted: Callable[[str], Origins] | None = None,
        dataset_index: int | None = None,
    ):
        """fields: columns nested in others. They are found by name, but `*` does not contain them."""
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
        """Return the origins of a column, None if the relation has no such column.

        If columns differ only in case, the one with the exact spelling counts. If none has it, all of them count.
        """
        found = self._origins_by_name.get(name)
        if found is None:
            found = self._origins_by_key.get(name.casefold())
        if found is None and self.resolve_unlisted is not None:
            return self.resolve_unlisted(name)
        return found

    def with_column_names(self, names: Iterable[str]) -> "Relation":
        """Return a copy whose first columns have these names, for an alias with a column list."""
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
    """Return the relation of a dataset with the columns of its schema, whose origins are the columns themselves.

    Nested columns are found by name, but `*` does not contain them. is_incomplete: the dataset may have more columns;
    is_joined: the order of the columns is unknown.
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

    columns: origins by column name; row_origins: origins that concern all rows.
    possible_sources: indexes of datasets that may be read although no origin shows it, for example through a view.
    is_incomplete: the output has more columns, whose names the script does not contain.
    reason: the reason for `possible_sources`.
    """

    columns: dict[str, Origins]
    row_origins: Origins
    possible_sources: frozenset[int] = frozenset()
    is_incomplete: bool = False
    reason: str | None = None

    @property
    def copy_cost(self) -> int:
        """The cost of copying this object, in column copies."""
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
        """Add origins to a column."""
        add_origins(self.columns.setdefault(name, {}), value, IDENTITY_STEP)


_STAR_OF_PART = "the SQL uses `*` for a table, but no event of the run reports all columns of this table"


def copy_cost(columns: Iterable[Origins]) -> int:
    """Return the cost of copying these columns: one for each column and for each of its origins."""
    return sum(1 + len(origins) for origins in columns)


def columns_by_position(relation: Relation, columns: Sequence[str]) -> dict[str, Origins]:
    """Return the columns of a query under the names at their positions in `columns`; raises UnsupportedSql.

    If `columns` is empty, the columns keep the names that the query gives them.
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
    """Return columns by name, and add up the origins of columns with the same name."""
    found: dict[str, Origins] = {}
    for name, origins in columns:
        add_origins(found.setdefault(name, {}), origins, IDENTITY_STEP)
    return found


def output_columns(relation: Relation, target: Relation | None) -> OutputColumns:
    """Return the columns of a query under the names that the query gives them.

    If the query leaves a column without a name, all columns take the names at their positions in the output. If the
    output has another number of columns, or its columns are not all known, only the named columns count, as a part.
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
