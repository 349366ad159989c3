"""The datasets of a run as its SQL may name them."""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from headwater.lineage.inferring.unread_sql import UnreadSql, shown

Parts = tuple[str, ...]
"""A name by its parts, casefolded: `Lake.gold.db/Revenue` is (lake, gold, revenue)."""


class KnownTable(Struct, frozen=True):
    """A dataset that a run reads or writes.

    names: by which its events know it, symlinks too; columns: as its schema has them, nested ones with dots, none where
    nobody says them.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    is_input: bool
    is_output: bool


class KnownTables:
    """Finds the dataset that SQL means by a name."""

    def __init__(self, tables: Sequence[KnownTable], mentioned: Iterable[str] = ()):
        """Know these; mentioned: every name of a table in the script."""
        self.tables = tables
        self._parts = [[parts_of(name) for name in table.names] for table in tables]
        self._mentioned = mentioned
        self._learnt: dict[Parts, int] = {}

    def learn(self, name: str, place: int) -> None:
        """Take another name of a dataset."""
        self._learnt[parts_of(name)] = place

    def hidden(self) -> list[int]:
        """Return the places of the inputs that no name of the script means: it reads them by a view, if at all."""
        named = {place for name in self._mentioned for place in self._rated(parts_of(name))}
        named.update(self._learnt.values())
        return [place for place, table in enumerate(self.tables) if table.is_input and place not in named]

    def written(self, name: str) -> int | None:
        """Return the place of the output that a statement writes, None where it is none."""
        return self._find(name, [place for place, table in enumerate(self.tables) if table.is_output])

    def read(self, name: str) -> int | None:
        """Return the place of the dataset that a statement reads: an input, else an output of before."""
        if (learnt := self._learnt.get(parts_of(name))) is not None:
            return learnt
        inputs = [place for place, table in enumerate(self.tables) if table.is_input]
        found = self._find(name, inputs)
        return found if found is not None else self._find(name, range(len(self.tables)))

    def _find(self, name: str, places: Iterable[int]) -> int | None:
        """Return the one whose name ends as this one does, or the other way round: the longest common end wins."""
        rated = self._rated(parts_of(name), places)
        best = max(rated.values(), default=0)
        found = [place for place, rate in rated.items() if rate == best]
        if len(found) > 1:
            raise UnreadSql(f"{shown(name)} may be several datasets of the run")
        return found[0] if found else None

    def _rated(self, asked: Parts, places: Iterable[int] | None = None) -> dict[int, int]:
        """Return the places that a name may mean, each with the length of the common end."""
        every = range(len(self.tables)) if places is None else places
        rates = {place: max(common_end(asked, own) for own in self._parts[place]) for place in every}
        return {place: rate for place, rate in rates.items() if rate}


def parts_of(name: str) -> Parts:
    """Take a name apart at dots and slashes; `.db` of a warehouse's folder is no part."""
    whole = re.sub(r"\.db(?=/|$)", "", name.casefold().removeprefix("dbfs:"))
    path = whole.rpartition("://")[2]
    return tuple(part.strip('`"[]') for part in re.split(r"[./]", path) if part.strip('`"[]'))


def common_end(one: Parts, other: Parts) -> int:
    """Return how many parts two names share, if one of them ends with all of the other; else 0."""
    length = min(len(one), len(other))
    return length if length and one[-length:] == other[-length:] else 0
