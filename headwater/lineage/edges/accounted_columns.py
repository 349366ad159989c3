"""Rule 4.9: find the columns of an output that its run may have written without reporting their sources."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import takewhile
from typing import NamedTuple

from headwater.lineage.edges.facet_contents import SentEdge
from headwater.lineage.edges.schema_columns import Path, parent_keys

ALL_COLUMNS = "*"
"""Placeholder for all columns of an output if no column of the output is known."""


class LineColumns(NamedTuple):
    """The keys of the output columns that the lineage of an output names.

    accounted_keys: the columns for which the lineage is complete. They include the columns in `sourceless_keys`.
    sourceless_keys: the columns that are made of no other column, for example literals.
    unclear_keys: the columns that the lineage names without accounting for them.
    """

    accounted_keys: Collection[str]
    sourceless_keys: Set[str]
    unclear_keys: Set[str]


class ColumnList(NamedTuple):
    """The keys of the columns that events list for a dataset.

    keys: all columns, including nested columns.
    top_level: the columns that are not nested in another column.
    """

    keys: frozenset[str]
    top_level: frozenset[str]

    def union(self, other: "ColumnList") -> "ColumnList":
        """Return the columns of both lists."""
        return ColumnList(self.keys | other.keys, self.top_level | other.top_level)

    def is_missing_any(self, keys: Collection[str]) -> bool:
        """Tell whether any of these columns is unrelated to the list.

        A column is unrelated if the list contains neither the column nor a struct around it nor a column nested in it.
        """
        return any(True for _ in self._unrelated_keys(keys, self.keys))

    def unaccounted_keys(self, columns: LineColumns) -> tuple[str, ...]:
        """Return the keys of the columns that the lineage does not account for, sorted.

        The result contains columns of the list and all unclear columns of the lineage. If the lineage accounts for a
        struct, it also accounts for the columns nested in the struct, and vice versa. If the list is empty, the result
        is `ALL_COLUMNS`.
        """
        if not self.keys:
            return (ALL_COLUMNS,)
        return tuple(
            sorted({*self._unrelated_keys(self.keys, frozenset(columns.accounted_keys)), *columns.unclear_keys})
        )

    def _unrelated_keys(self, keys: Collection[str], others: Set[str]) -> Iterator[str]:
        around = self._structs_around(others)
        within: dict[str, bool] = {}
        for key in keys:
            if (
                key not in others
                and key not in around
                and (key in self.top_level or not _is_nested_in_any(key, others, within))
            ):
                yield key

    def _structs_around(self, keys: Iterable[str]) -> set[str]:
        found: set[str] = set()
        for key in keys:
            if key not in self.top_level:
                found.update(takewhile(lambda parent: parent not in found, _parents_innermost_first(key)))
        return found


def _parents_innermost_first(key: str) -> Iterator[str]:
    """Yield the keys of the structs around a column, from the innermost to the outermost."""
    while (end := key.rfind(".")) >= 0:
        key = key[:end]
        yield key


def _is_nested_in_any(key: str, others: Set[str], is_nested_by_struct: dict[str, bool]) -> bool:
    """Tell whether a column is nested in one of the columns in `others`.

    is_nested_by_struct: a cache that this function fills. It stores for each struct whether columns in the struct are
    nested in one of `others`, because many columns of a deep schema share their structs.
    """
    undecided: list[str] = []
    answer = False
    for parent in _parents_innermost_first(key):
        if parent in is_nested_by_struct:
            answer = is_nested_by_struct[parent]
            break
        undecided.append(parent)
        if parent in others:
            answer = True
            break
    is_nested_by_struct.update(dict.fromkeys(undecided, answer))
    return answer


def classify_line_columns(
    lines: Iterable[tuple[SentEdge, int | None]],
    keys: Mapping[str, str],
    *,
    is_empty_sourceless: bool,
    is_proof: Callable[[SentEdge, int | None], bool],
    explained_keys: Set[str] = frozenset(),
) -> LineColumns:
    """Divide the output columns of lineage lines into accounted, sourceless and unclear columns.

    lines: (line, time of its event in us) pairs. The time is None if the line follows from the SQL of the run.
    keys: the key of each output column, by its name as sent.
    is_empty_sourceless: whether a line without inputs means that its column is made of no column. Lines from SQL
    without inputs always mean this.
    is_proof: returns whether a line may account for its column. If it returns False for a line from SQL, the line only
    names its column. If it returns False for a line from an event, the source of the line is doubtful. Then no other
    line accounts for the column either, unless the column is in `explained_keys`.
    """
    fed_keys: set[str] = set()
    sourceless: set[str] = set()
    named_only: set[str] = set()
    doubted: set[str] = set()
    of_wholes: set[str] = set()  # columns made of a job, or of a dataset without a source column
    for line, time_us in lines:
        if line.output_column is not None:
            if not is_proof(line, time_us):
                (named_only if time_us is None else doubted).add(keys[line.output_column])
            elif not line.has_source:
                (sourceless if is_empty_sourceless or time_us is None else named_only).add(keys[line.output_column])
            else:
                (of_wholes if line.source_column is None else fed_keys).add(keys[line.output_column])
    accounted = (fed_keys | sourceless) - of_wholes - (doubted - explained_keys)
    return LineColumns(accounted, accounted - fed_keys, (named_only | doubted | of_wholes) - accounted)


def is_exact_column_match(columns: Sequence[Path], fed_names: Iterable[str]) -> bool:
    """Tell whether lineage gives inputs for exactly the top-level columns of a schema, in the same spelling.

    columns: the paths of the columns in the schema. fed_names: the output columns with inputs in the lineage, as sent.
    Most facets match exactly, and this comparison is cheaper than a comparison of keys.
    """
    return bool(columns) and {path[0] for path in columns if len(path) == 1} == set(fed_names)


def fed_columns(lines: Iterable[SentEdge]) -> set[str]:
    """Return the output columns, as sent, for which the lines of a lineage facet give an input column."""
    return {
        line.output_column
        for line in lines
        if line.source and line.source_column is not None and line.output_column is not None
    }


def may_list_partial_columns(producer: str) -> bool:
    """Tell whether the schemas that a producer sends may lack columns. dbt lists only documented columns."""
    return "integration/dbt" in producer


def is_declaration_producer(producer: str) -> bool:
    """Tell whether lineage of a producer names all columns that a job writes.

    In such lineage, a column without inputs is made of no column. Only `headwater declare` guarantees this.
    """
    return producer.startswith("urn:headwater:declare")


def is_related(key: str, others: Set[str]) -> bool:
    """Tell whether `others` contains a column, a struct around the column, or a column that is nested in the column.

    The function derives nesting from the dots in the keys alone.
    """
    if key in others or not others.isdisjoint(parent_keys(key, frozenset())):
        return True
    return any(other.startswith(key + ".") for other in others)
