"""The datasets of a run as its SQL may name them."""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from headwater.lineage.inferring.name_ends import NameEnds, Parts
from headwater.lineage.inferring.unread_sql import UnreadSql, shown


class KnownTable(Struct, frozen=True):
    """A dataset that a run reads or writes.

    names: by which its events know it, symlinks too; columns: as its schema has them, nested ones with dots, none where
    nobody says them. is_part: it may have other columns, too; is_joined: no list has all of them, so that their places
    are not known.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    is_input: bool
    is_output: bool
    is_part: bool = False
    is_joined: bool = False


class KnownTables:
    """Finds the dataset that SQL means by a name."""

    def __init__(self, tables: Sequence[KnownTable], mentioned: Iterable[str] = ()):
        """Index the names of the tables; mentioned: every name of a table in the script."""
        self.tables = tables
        self._mentioned = mentioned
        self._parts = [[parts_of(name) for name in table.names] for table in tables]
        self._inputs, self._outputs = NameEnds(), NameEnds()
        for place, (table, names) in enumerate(zip(tables, self._parts, strict=True)):
            for parts in names:
                if table.is_input:
                    self._inputs.add(parts, place)
                if table.is_output:
                    self._outputs.add(parts, place)
        self._learnt: dict[Parts, int] = {}

    def learn(self, name: str, place: int) -> None:
        """Take another name of a dataset."""
        self._learnt[parts_of(name)] = place

    def hidden(self) -> list[int]:
        """Return the places of the inputs that no name of the script means: it reads them by a view, if at all."""
        mentioned = NameEnds()
        for name in self._mentioned:
            mentioned.add(parts_of(name), 0)
        named = {place for place, names in enumerate(self._parts) if any(mentioned.find(parts) for parts in names)}
        named.update(self._learnt.values())
        return [place for place, table in enumerate(self.tables) if table.is_input and place not in named]

    def written(self, name: str) -> int | None:
        """Return the place of the output that a statement writes, None where it is none."""
        return _only(name, self._outputs.find(parts_of(name)))

    def read(self, name: str) -> int | None:
        """Return the place of the dataset that a statement reads: an input, else an output of before."""
        parts = parts_of(name)
        if (learnt := self._learnt.get(parts)) is not None:
            return learnt
        return _only(name, self._inputs.find(parts) or self._outputs.find(parts))


def parts_of(name: str) -> Parts:
    """Take a name apart at dots and slashes; `.db` of a warehouse's folder is no part."""
    whole = re.sub(r"\.db(?=/|$)", "", name.casefold().removeprefix("dbfs:"))
    path = whole.rpartition("://")[2]
    return tuple(part.strip('`"[]') for part in re.split(r"[./]", path) if part.strip('`"[]'))


def _only(name: str, places: tuple[int, ...]) -> int | None:
    if len(places) > 1:
        raise UnreadSql(f"{shown(name)} may be several datasets of the run")
    return places[0] if places else None
