"""Find the datasets of a run for the table names in its SQL script (rule 13.3)."""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from headwater.lineage.sql.name_ends import NameEnds, Parts
from headwater.lineage.sql.unread_sql import UnreadSql, shown


class KnownTable(Struct, frozen=True):
    """A dataset that a run reads or writes.

    names: all names that events of the run use for it, symlinks included.
    columns: the columns of its schema, nested ones with dots; empty if no event reports them.
    is_part: the dataset may have more columns.
    is_joined: the columns are joined from several lists, so their order is unknown.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    is_input: bool
    is_output: bool
    is_part: bool = False
    is_joined: bool = False


class KnownTables:
    """Finds the dataset that a name in SQL refers to."""

    def __init__(self, tables: Sequence[KnownTable], mentioned: Iterable[str] = ()):
        """mentioned: every name of a table in the script."""
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
        """Register another name for the dataset at an index."""
        self._learnt[parts_of(name)] = place

    def hidden(self) -> list[int]:
        """Return the indexes of the inputs that no name in the script refers to. Only a view can read them."""
        mentioned = NameEnds()
        for name in self._mentioned:
            mentioned.add(parts_of(name), 0)
        named = {place for place, names in enumerate(self._parts) if any(mentioned.find(parts) for parts in names)}
        named.update(self._learnt.values())
        return [place for place, table in enumerate(self.tables) if table.is_input and place not in named]

    def written(self, name: str) -> int | None:
        """Return the index of the output that a statement writes, None if the name is not an output of the run."""
        return _only(name, self._outputs.find(parts_of(name)))

    def read(self, name: str) -> int | None:
        """Return the index of the dataset that a statement reads, inputs before outputs; None if there is none."""
        parts = parts_of(name)
        if (learnt := self._learnt.get(parts)) is not None:
            return learnt
        return _only(name, self._inputs.find(parts) or self._outputs.find(parts))


def parts_of(name: str) -> Parts:
    """Split a name at dots and slashes, casefolded. The suffix `.db` of a warehouse folder is removed."""
    whole = re.sub(r"\.db(?=/|$)", "", name.casefold().removeprefix("dbfs:"))
    path = whole.rpartition("://")[2]
    return tuple(part.strip('`"[]') for part in re.split(r"[./]", path) if part.strip('`"[]'))


def _only(name: str, places: tuple[int, ...]) -> int | None:
    if len(places) > 1:
        raise UnreadSql(f"the table name {shown(name)} matches several datasets of the run")
    return places[0] if places else None
