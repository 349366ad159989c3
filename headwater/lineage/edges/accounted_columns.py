"""Rule 4.9: find the columns of an output that its run may have written without reporting their sources."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import takewhile
from typing import NamedTuple

from headwater.lineage.edges.facet_contents import SentEdge
from headwater.lineage.edges.schema_columns import Path, parent_keys

ALL_COLUMNS = "*"
"""Placeholder for all columns of an output if none of them is known."""


class LineColumns(NamedTuple):
    """The keys of the columns that the lineage of an output names.

    accounted_keys: columns with known sources, including those of `sourceless_keys`.
    sourceless_keys: columns that are made of no column.
    unclear_keys: columns that the lineage names without their sources.
    """

    accounted_keys: Collection[str]
    sourceless_keys: Set[str]
    unclear_keys: Set[str]


class ColumnList(NamedTuple):
    """The keys of the columns that events list for a dataset.

    top_level: those that are not nested in another column.
    """

    keys: frozenset[str]
    top_level: frozenset[str]

    def union(self, other: "ColumnList") -> "ColumnList":
        """Return the columns of both lists."""
        return ColumnList(self.keys | other.keys, self.top_level | other.top_level)

    def is_missing_any(self, keys: Collection[str]) -> bool:
        """Tell whether the list lacks one of these columns, and also every struct around it and column nested in it."""
        return any(True for _ in self._unrelated_keys(keys, self.keys))

    def unaccounted_keys(self, columns: LineColumns) -> tuple[str, ...]:
        """Return the columns of the list and of the lineage that are not accounted for, sorted.

        A struct is accounted for with a column that is nested in it, and a nested column with its struct. This does not
        apply to a column that the lineage names without its sources.
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
    """Yield the structs that a column is nested in, the innermost first."""
    while (end := key.rfind(".")) >= 0:
        key = key[:end]
        yield key


def _is_nested_in_any(key: str, others: Set[str], is_nested_by_struct: dict[str, bool]) -> bool:
    """Tell whether a column is nested in one of `others`.

    is_nested_by_struct: cache of the answers for structs; many columns of a deep schema share their structs.
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
    """Divide the columns that lines of lineage lead to into accounted, empty and unclear ones.

    lines: with the time of their event in microseconds, or None if they follow from SQL.
    keys: the key of each output column, by its name as sent.
    is_empty_sourceless: a column without inputs is made of no column. Lines from SQL always mean that.
    is_proof: returns whether a line accounts for its column. Another line from SQL only names it. The column of a line
    from a doubtful name is not accounted for by other lines either, unless it is among `explained_keys`.
    """
    fed_keys: set[str] = set()
    sourceless: set[str] = set()
    named_only: set[str] = set()
    doubted: set[str] = set()
    of_wholes: set[str] = set()  # made of a job, or of a dataset without a column
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
    """Tell whether lineage gives inputs for exactly the columns that a schema lists, in the same spelling.

    This is true for most facets, and cheaper than comparing keys.
    """
    return bool(columns) and {path[0] for path in columns if len(path) == 1} == set(fed_names)


def fed_columns(lines: Iterable[SentEdge]) -> set[str]:
    """Return the output columns, as sent, for which a lineage facet gives an input column."""
    return {
        line.output_column
        for line in lines
        if line.source and line.source_column is not None and line.output_column is not None
    }


def may_list_partial_columns(producer: str) -> bool:
    """Tell whether the schemas of a producer may lack columns: dbt lists only documented columns."""
    return "integration/dbt" in producer


def is_declaration_producer(producer: str) -> bool:
    """Tell whether a producer names all columns that a job writes, so that one without inputs is made of no column.

    Only the files of `headwater declare` guarantee this.
    """
    return producer.startswith("urn:headwater:declare")


def is_related(key: str, others: Set[str]) -> bool:
    """Tell whether a column is among others, is nested in one of them, or has one of them nested in it.

    Only the dots in the keys decide about nesting.
    """
    if key in others or not others.isdisjoint(parent_keys(key, frozenset())):
        return True
    return any(other.startswith(key + ".") for other in others)
