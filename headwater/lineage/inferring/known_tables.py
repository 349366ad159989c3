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

    def __init__(self, tables: Sequence[KnownTable]):
        """Know these."""
        self.tables = tables
        self._parts = [[parts_of(name) for name in table.names] for table in tables]

    def written(self, name: str) -> int | None:
        """Return the place of the output that a statement writes, None where it is none."""
        return self._find(name, [place for place, table in enumerate(self.tables) if table.is_output])

    def read(self, name: str) -> int | None:
        """Return the place of the dataset that a statement reads: an input, else an output of before."""
        inputs = [place for place, table in enumerate(self.tables) if table.is_input]
        found = self._find(name, inputs)
        return found if found is not None else self._find(name, range(len(self.tables)))

    def _find(self, name: str, places: Iterable[int]) -> int | None:
        """Return the one whose name ends as this one does, or the other way round: the longest common end wins."""
        asked = parts_of(name)
        rated = [
            (rate, place) for place in places if (rate := max(common_end(asked, own) for own in self._parts[place]))
        ]
        best = max(rated, default=(0, 0))[0]
        found = [place for rate, place in rated if rate == best]
        if len(found) > 1:
            raise UnreadSql(f"{shown(name)} may be several datasets of the run")
        return found[0] if found else None


def parts_of(name: str) -> Parts:
    """Take a name apart at dots and slashes; `.db` of a warehouse's folder is no part."""
    whole = re.sub(r"\.db(?=/|$)", "", name.casefold().removeprefix("dbfs:"))
    path = whole.rpartition("://")[2]
    return tuple(part.strip('`"[]') for part in re.split(r"[./]", path) if part.strip('`"[]'))


def common_end(one: Parts, other: Parts) -> int:
    """Return how many parts two names share, if one of them ends with all of the other; else 0."""
    length = min(len(one), len(other))
    return length if length and one[-length:] == other[-length:] else 0
