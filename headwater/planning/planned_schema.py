"""Tables as they are and as they would be after a change: what differs is what is planned (pure)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from headwater.nearest_names import nearest

ChangeKind = Literal["drop_column", "rename_column", "retype_column", "drop_table", "rename_table", "not_understood"]


class PresentTable(NamedTuple):
    """A table as it is known; columns: types by name, None where no event told one.

    display_name: None where it is the canonical name.
    """

    namespace: str
    dataset: str
    columns: dict[str, str | None]
    display_name: str | None = None


class PlannedChange(NamedTuple):
    """One change; before, after: types, or the new name. why: of what is not understood.

    table: None where nothing is known of what it is called.
    """

    kind: ChangeKind
    called: str
    table: PresentTable | None
    column: str | None = None
    before: str | None = None
    after: str | None = None
    why: str | None = None


class PlannedColumn(NamedTuple):
    """A column as it would be; was: its name now, None for a new one; type: None where the change tells none."""

    name: str
    type: str | None
    was: str | None


@dataclass
class PlannedTable:
    """A table as it would be; was: what it is called now, None for one made anew. columns: None where not told."""

    called: str
    was: PresentTable | None
    columns: list[PlannedColumn] | None
    why: str | None = None

    def find(self, name: str) -> int | None:
        """Return the place of a column, whatever its case."""
        wanted = name.casefold()
        return next((at for at, each in enumerate(self.columns or ()) if each.name.casefold() == wanted), None)


Lookup = Callable[[str], PresentTable | None]
"""A table by what a change calls it; None where nothing is known."""


@dataclass
class PlannedSchema:
    """All tables that a change speaks of, one statement after the other. Names are told apart whatever their case."""

    look: Lookup
    _tables: dict[str, PlannedTable | None] = field(default_factory=dict)
    _present: dict[str, PresentTable | None] = field(default_factory=dict)
    _called: dict[str, str] = field(default_factory=dict)
    _odd: list[PlannedChange] = field(default_factory=list)
    _made: set[str] = field(default_factory=set)

    def present(self, called: str) -> PresentTable | None:
        """Return a table as it is now."""
        key = called.casefold()
        if key not in self._present:
            self._present[key] = self.look(called)
        return self._present[key]

    def table(self, called: str) -> PlannedTable | None:
        """Return a table as it would be by now; None where it is not there, or not known."""
        key = called.casefold()
        if key not in self._tables:
            now = self.present(called)
            columns = None if now is None else [PlannedColumn(name, kind, name) for name, kind in now.columns.items()]
            planned = None if now is None else PlannedTable(called, now, columns or None)
            if planned is None:
                return None
            self._tables[key], self._called[key] = planned, called
        return self._tables[key]

    def drop(self, called: str) -> None:
        """Take a table away."""
        self._touch(called)
        self._tables[called.casefold()] = None

    def rename(self, called: str, new: str) -> None:
        """Call a table something else."""
        table = self.table(called)
        self._touch(called)
        self._tables[called.casefold()] = None
        if table is not None:
            self._touch(new)
            self._tables[new.casefold()] = table

    def rename_known(self, called: str, new: str) -> None:
        """Rename a table, which stays in its schema where the new name has none; note one that is not known."""
        before = called.rpartition(".")[0]
        if self.table(called) is None:
            self._odd.append(PlannedChange("rename_table", called, None, after=new))
        else:
            self.rename(called, new if "." in new or not before else f"{before}.{new}")

    def drop_column(self, called: str, column: str) -> None:
        """Take a column away; note one that is not known."""
        table = self.table(called)
        at = table.find(column) if table else None
        if table is None or table.columns is None or at is None:
            self._odd.append(
                PlannedChange("drop_column", called, self._there(table, column), column, why=_lacks(table, column))
            )
        else:
            del table.columns[at]

    def change_column(self, called: str, column: str, *, rename: str | None = None, kind: str | None = None) -> None:
        """Give a column another name, another type, or both; note one that is not known."""
        table = self.table(called)
        at = table.find(column) if table else None
        if table is None or table.columns is None or at is None:
            change: ChangeKind = "rename_column" if rename else "retype_column"
            why = _lacks(table, column)
            self._odd.append(
                PlannedChange(change, called, self._there(table, column), column, None, rename or kind, why)
            )
        else:
            old = table.columns[at]
            table.columns[at] = PlannedColumn(rename or old.name, kind or old.type, old.was)

    @staticmethod
    def _there(table: PlannedTable | None, column: str) -> PresentTable | None:
        """Return what stands of a table, if questions may know a column that its list does not have."""
        if table is None or table.was is None:
            return None
        is_gone = any(each.casefold() == column.casefold() for each in table.was.columns)
        return None if is_gone else table.was

    def make(self, called: str, columns: list[PlannedColumn] | None, why: str | None = None) -> None:
        """Make a table anew, in place of one of that name. why: its columns are not told."""
        self._touch(called)
        self._made.add(called.casefold())
        self._tables[called.casefold()] = PlannedTable(called, None, columns, why)

    def is_there(self, called: str) -> bool:
        """Tell whether there is a table of that name by now."""
        return self.table(called) is not None

    def not_understood(self, called: str, why: str) -> None:
        """Note what may change a table in a way that is not read."""
        self._odd.append(PlannedChange("not_understood", called, self.present(called) if called else None, why=why))

    def changes(self) -> list[PlannedChange]:
        """Return what would differ, table by table in the order in which they are first spoken of."""
        return [*(change for key in [*self._tables] for change in self._of_table(key)), *self._odd]

    def _touch(self, called: str) -> None:
        self._called.setdefault(called.casefold(), called)
        self.present(called)

    def _of_table(self, key: str) -> Iterator[PlannedChange]:
        now, then, called = self._present.get(key), self._tables[key], self._called[key]
        if now is None:
            if then is None and key not in self._made:
                yield PlannedChange("drop_table", called, None)
            return
        if then is None:
            moved = next((k for k, each in self._tables.items() if each is not None and each.was == now), None)
            if moved is None:
                yield PlannedChange("drop_table", called, now)
            else:
                yield PlannedChange("rename_table", called, now, after=self._called[moved])
        elif then.columns is None:
            if then.was is None and then.why:
                yield PlannedChange("not_understood", called, now, why=then.why)
        else:
            yield from _of_columns(called, now, then)


def beside(path: str, name: str) -> str:
    """Return a name in the struct of a column: `address.town` for `town` beside `address.city`."""
    around = path.rpartition(".")[0]
    return f"{around}.{name}" if around and "." not in name else name


def _of_columns(called: str, now: PresentTable, then: PlannedTable) -> Iterator[PlannedChange]:
    left = {each.name.casefold(): each for each in then.columns or ()}
    renamed = {each.was.casefold(): each for each in then.columns or () if each.was is not None}
    for name, kind in now.columns.items():
        around = name.rpartition(".")[0]
        if around in now.columns and (then.was != now or around.casefold() not in left):
            continue  # nested: what it is nested in speaks for it
        same = left.get(name.casefold())
        other = renamed.get(name.casefold()) if then.was == now else None
        if other is not None and (same is None or other is not same) and other.name.casefold() != name.casefold():
            yield PlannedChange("rename_column", called, now, name, kind, other.name)
            if same is None:
                same = other
            if not _is_other(kind, other.type):
                continue
        if same is None:
            yield PlannedChange("drop_column", called, now, name, kind)
        elif _is_other(kind, same.type):
            yield PlannedChange("retype_column", called, now, name, kind, same.type)


def _is_other(before: str | None, after: str | None) -> bool:
    """Tell whether a type would differ; where the present one is not known, a type that is said may."""
    return after is not None and (before is None or _plain(before) != _plain(after))


def _plain(kind: str) -> str:
    return "".join(kind.casefold().split())


def _lacks(table: PlannedTable | None, column: str) -> str | None:
    """Say that a table by then has no such column, and what is like it; None where its columns are not known."""
    if table is None or table.columns is None:
        return None
    names = [each.name for each in table.columns]
    near = nearest(column, names, 3)
    likely = f"the nearest: {', '.join(near)}" if near else f"it has {', '.join(names[:10])}"
    return f"It has no column of this name at this point; {likely}."
