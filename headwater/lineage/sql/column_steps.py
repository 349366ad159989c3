"""Data types for the origins of columns: source columns, and the transformations on the way from them."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

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

    def after(self, inner: "ColumnStep") -> "ColumnStep":
        """Return an earlier step `inner`, followed by this step, as one step.

        The result is INDIRECT if either step is. A DIRECT result masks if either step masks, and has the subtype with
        the higher rank.
        """
        if not self.direct:
            return self
        if not inner.direct:
            return inner
        subtype = max(self.subtype, inner.subtype, key=_RANKS.index)
        return ColumnStep(True, subtype, self.masked or inner.masked)


COPIED = ColumnStep(True, IDENTITY)
CHANGED = ColumnStep(True, TRANSFORMATION)
FILTER, JOIN = ColumnStep(False, "FILTER"), ColumnStep(False, "JOIN")
GROUP, SORT = ColumnStep(False, "GROUP_BY"), ColumnStep(False, "SORT")
CONDITIONAL, WINDOW = ColumnStep(False, "CONDITIONAL"), ColumnStep(False, "WINDOW")

Origin = tuple[int, str]
"""(index of a dataset among those of the run, name of one of its columns)"""

Made = dict[Origin, set[ColumnStep]]
"""The source columns of a value, each with the steps that lead from it to the value."""


def add(made: Made, other: Made, step: ColumnStep) -> None:
    """Add all origins of `other` to `made`, each followed by one more step."""
    for origin, steps in other.items():
        made.setdefault(origin, set()).update(step.after(each) for each in steps)


class Relation:
    """A table, a view or a query within a statement: its columns in order, with their origins.

    whole: origins that concern all rows, because they filter, join, group or sort them.
    otherwise: returns the origins of a column that `columns` does not contain; None if there is no other column.
    place: index of the dataset, None for a relation that the statement makes.
    hides_names: the relation may have columns whose names are not known.
    more_of: indexes of datasets that may have more columns than events list.
    is_joined: the columns are joined from several lists, so their order is not known.
    """

    def __init__(
        self,
        columns: Iterable[tuple[str, Made]] = (),
        *,
        fields: Iterable[tuple[str, Made]] = (),
        otherwise: Callable[[str], Made] | None = None,
        place: int | None = None,
    ):
        """fields: columns nested in others. They are found by name, but `*` does not contain them."""
        self.columns = list(columns)
        self.whole: Made = {}
        self.otherwise = otherwise
        self.place = place
        self.hides_names = False
        self.more_of: frozenset[int] = frozenset()
        self.is_joined = False
        self._by_key: dict[str, Made] = {}
        self._exact: dict[str, Made] = {}
        for name, made in (*self.columns, *fields):
            self._take(name, made)

    @property
    def is_open(self) -> bool:
        """Whether the relation may have columns that no event lists."""
        return self.otherwise is not None and (not self.columns or bool(self.more_of))

    def has(self, name: str) -> bool:
        """Return whether the relation has a known column of this name, ignoring case."""
        return self.has_key(name.casefold())

    def has_key(self, key: str) -> bool:
        """Return whether the relation has a known column with this casefolded name."""
        return key in self._by_key

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of the columns, in order."""
        return [name for name, _ in self.columns]

    def add_column(self, name: str, made: Made) -> None:
        """Append a column."""
        self.columns.append((name, made))
        self._take(name, made)
        self.__dict__.pop("names", None)

    def _take(self, name: str, made: Made) -> None:
        if name in self._exact:
            return
        self._exact[name] = made
        key = name.casefold()
        same = self._by_key.get(key)
        self._by_key[key] = made if same is None else _united(same, made)

    def column(self, name: str) -> Made | None:
        """Return the origins of a column, None if the relation has no such column.

        If columns differ only in case, the one with the exact spelling counts. If none has it, all of them count.
        """
        found = self._exact.get(name)
        if found is None:
            found = self._by_key.get(name.casefold())
        if found is None and self.otherwise is not None:
            return self.otherwise(name)
        return found

    def renamed(self, names: Iterable[str]) -> "Relation":
        """Return a copy whose first columns have these names, for an alias with a column list."""
        given = list(names)
        rest = self.columns[len(given) :]
        found = Relation([*zip(given, (made for _, made in self.columns), strict=False), *rest], place=self.place)
        found.otherwise, found.whole = (None if self.columns else self.otherwise), self.whole
        found.hides_names = self.hides_names
        return found


def table_relation(place: int, columns: Iterable[str], *, is_part: bool = False, is_joined: bool = False) -> Relation:
    """Return the relation of a dataset with the columns of its schema, whose origins are the columns themselves.

    Nested columns are found by name, but `*` does not contain them. is_part: the dataset may have more columns;
    is_joined: the order of the columns is unknown.
    """
    every = list(columns)
    known = {name.casefold() for name in every}
    top = [name for name in every if not _is_nested(name, known)]

    def copied(name: str) -> Made:
        return {(place, name): {COPIED}}

    nested = [(name, copied(name)) for name in every if _is_nested(name, known)]
    found = Relation([(name, copied(name)) for name in top], fields=nested, otherwise=copied, place=place)
    found.more_of = frozenset({place}) if is_part else frozenset()
    found.is_joined = is_joined
    return found


def _united(one: Made, other: Made) -> Made:
    return {origin: one.get(origin, set()) | other.get(origin, set()) for origin in (*one, *other)}


def _is_nested(name: str, known: set[str]) -> bool:
    return name.rpartition(".")[0].casefold() in known
