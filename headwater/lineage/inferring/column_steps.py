"""What a column of a query is made of: columns of datasets, and what happened to each on the way."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

IDENTITY, TRANSFORMATION, AGGREGATION = "IDENTITY", "TRANSFORMATION", "AGGREGATION"
_RANKS = (IDENTITY, TRANSFORMATION, AGGREGATION)


class ColumnStep(NamedTuple):
    """A transformation, in the words of OpenLineage's `columnLineage`."""

    direct: bool
    subtype: str
    masked: bool = False

    def after(self, inner: "ColumnStep") -> "ColumnStep":
        """Return what both come to for a value that `inner` made: a condition stays one, a mask stays on."""
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
"""The place of a dataset among those of the run, and a column of it."""

Made = dict[Origin, set[ColumnStep]]
"""Of which columns something is made, and by what steps."""


def add(made: Made, other: Made, step: ColumnStep) -> None:
    """Add what another column is made of, behind one step more."""
    for origin, steps in other.items():
        made.setdefault(origin, set()).update(step.after(each) for each in steps)


class Relation:
    """A table, a view or a query within a statement: its columns in order, and what concerns all its rows.

    whole: what filters, joins, groups or sorts them; otherwise: what a column is made of that `columns` has not.
    place: of the dataset, None for what the statement makes itself. hides_names: it may have columns of other names.
    more_of: places of the datasets of which it may have more columns than are known.
    """

    def __init__(
        self,
        columns: Iterable[tuple[str, Made]] = (),
        *,
        fields: Iterable[tuple[str, Made]] = (),
        otherwise: Callable[[str], Made] | None = None,
        place: int | None = None,
    ):
        """Nothing concerns its rows yet; fields: what is nested in columns, found by name and no part of `*`."""
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
        """Whether nobody says which columns it has, or not all of them."""
        return self.otherwise is not None and (not self.columns or bool(self.more_of))

    def has(self, name: str) -> bool:
        """Tell whether a column is known by name."""
        return self.has_key(name.casefold())

    def has_key(self, key: str) -> bool:
        """Tell whether a column is known by its casefolded name."""
        return key in self._by_key

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of the columns, in order."""
        return [name for name, _ in self.columns]

    def add_column(self, name: str, made: Made) -> None:
        """Add a column behind the others."""
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
        """Return what a column is made of.

        Of columns that differ by case it is the one that is spelt so; without such a one, the name may mean any.
        """
        found = self._exact.get(name)
        if found is None:
            found = self._by_key.get(name.casefold())
        if found is None and self.otherwise is not None:
            return self.otherwise(name)
        return found

    def renamed(self, names: Iterable[str]) -> "Relation":
        """Return it with the columns that an alias lists."""
        given = list(names)
        rest = self.columns[len(given) :]
        found = Relation([*zip(given, (made for _, made in self.columns), strict=False), *rest], place=self.place)
        found.otherwise, found.whole = (None if self.columns else self.otherwise), self.whole
        found.hides_names = self.hides_names
        return found


def table_relation(place: int, columns: Iterable[str], *, is_part: bool = False, is_joined: bool = False) -> Relation:
    """Return a dataset as its schema has it; nested columns are found by name and are no part of `*`.

    is_part: it may have other columns, too; is_joined: their places are not known.
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
