"""Rule 4: the columns of an output that its run may have written without saying what feeds them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import takewhile
from typing import NamedTuple

from headwater.lineage.edges.facet_contents import SentEdge
from headwater.lineage.edges.schema_columns import Path, parents

ALL_COLUMNS = "*"
"""Stands for the columns of an output of which no column is known."""


class LineColumns(NamedTuple):
    """The keys of the columns that the lineage of an output names.

    accounted: it says what feeds them; of these nothing feeds the `empty` ones. unclear: it does not say what does.
    """

    accounted: Collection[str]
    empty: Set[str]
    unclear: Set[str]


class ColumnList(NamedTuple):
    """The keys of the columns that events list for a dataset, and which of them are nested in no other column."""

    keys: frozenset[str]
    top_level: frozenset[str]

    def joined(self, other: "ColumnList") -> "ColumnList":
        """Return the columns of both lists."""
        return ColumnList(self.keys | other.keys, self.top_level | other.top_level)

    def lacks(self, keys: Collection[str]) -> bool:
        """Tell whether one of these columns is not listed, nor a column around or within it."""
        return any(True for _ in self._unrelated(keys, self.keys))

    def unaccounted(self, columns: LineColumns) -> tuple[str, ...]:
        """Return the listed and the named columns that are not accounted for, sorted.

        A column is accounted for with the column that it is nested in, and with a column that is nested in it, unless
        the lineage itself names it and does not say what feeds it.
        """
        if not self.keys:
            return (ALL_COLUMNS,)
        return tuple(sorted({*self._unrelated(self.keys, frozenset(columns.accounted)), *columns.unclear}))

    def _unrelated(self, keys: Collection[str], others: Set[str]) -> Iterator[str]:
        around = self._around(others)
        within: dict[str, bool] = {}
        for key in keys:
            if key not in others and key not in around and (key in self.top_level or not _within(key, others, within)):
                yield key

    def _around(self, keys: Iterable[str]) -> set[str]:
        """Return the columns that these are nested in."""
        found: set[str] = set()
        for key in keys:
            if key not in self.top_level:
                found.update(takewhile(lambda parent: parent not in found, _parents_inwards(key)))
        return found


def _parents_inwards(key: str) -> Iterator[str]:
    """Yield the structs that a column is nested in, the innermost first; a deep schema shares them."""
    while (end := key.rfind(".")) >= 0:
        key = key[:end]
        yield key


def _within(key: str, others: Set[str], known: dict[str, bool]) -> bool:
    """Tell whether a column is nested in one of others; known: the answers for structs so far."""
    asked: list[str] = []
    answer = False
    for parent in _parents_inwards(key):
        if parent in known:
            answer = known[parent]
            break
        asked.append(parent)
        if parent in others:
            answer = True
            break
    known.update(dict.fromkeys(asked, answer))
    return answer


def columns_of_lines(
    lines: Iterable[tuple[SentEdge, int | None]],
    keys: Mapping[str, str],
    *,
    empty_counts: bool,
    proves: Callable[[SentEdge, int | None], bool],
) -> LineColumns:
    """Return the columns that lines lead to; keys: by name as sent. Lines without a time follow from SQL.

    empty_counts: a column that is named without inputs is stated to have none; SQL always states that.
    proves: tells whether a line accounts for its column; a doubtful one only names it.
    """
    fed: set[str] = set()
    empty: set[str] = set()
    unstated: set[str] = set()
    of_wholes: set[str] = set()  # of datasets without a column, and of jobs
    for line, time_us in lines:
        if line.output is not None:
            if not proves(line, time_us):
                unstated.add(keys[line.output])
            elif not line.has_source:
                (empty if empty_counts or time_us is None else unstated).add(keys[line.output])
            else:
                (of_wholes if line.column is None else fed).add(keys[line.output])
    accounted = (fed | empty) - of_wholes
    return LineColumns(accounted, accounted - fed, (unstated | of_wholes) - accounted)


def names_all(columns: Sequence[Path], fed: Iterable[str]) -> bool:
    """Tell whether lineage gives inputs for exactly the columns that a schema lists, as they are spelt there.

    Most facets do.
    """
    return bool(columns) and {path[0] for path in columns if len(path) == 1} == set(fed)


def fed_columns(lines: Iterable[SentEdge]) -> set[str]:
    """Return the columns, as spelt, for which a lineage facet gives an input column."""
    return {line.output for line in lines if line.source and line.column is not None and line.output is not None}


def lists_some_columns(producer: str) -> bool:
    """Tell whether the schemas of a producer may leave columns out: dbt lists the documented ones."""
    return "integration/dbt" in producer


def names_its_columns(producer: str) -> bool:
    """Tell whether a producer names all columns that a job writes, and means it if it gives one no input.

    That is the contract of the files of `headwater declare`.
    """
    return producer.startswith("urn:headwater:declare")


def is_related(key: str, others: Set[str]) -> bool:
    """Tell whether a column is among others, or by its dots nested in one of them or around one."""
    if key in others or not others.isdisjoint(parents(key, frozenset())):
        return True
    return any(other.startswith(key + ".") for other in others)
