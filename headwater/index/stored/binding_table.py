"""Tables `bindings` and `lives`: the symlinks, drops, renames and writes that decide what a name means at a time."""

import sqlite3
from collections.abc import Iterable

from headwater.index.stored.name_numbers import NameNumbers
from headwater.lineage.names.dataset_history import Change, Span
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.moved_names import LocationAt
from headwater.lineage.names.names_in_time import Naming


class SqliteNaming(Naming):
    """The `names_in_time.Naming` of an index file: it writes each change to the file at once."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers):
        """Read all bindings and dataset changes from the index file."""
        super().__init__()
        self._sql = connection
        self._numbers = names
        self._newest_row = 0
        self._read = (0, 0)
        self.refresh()

    def refresh(self) -> bool:
        """Read the rows that another process has added. Return whether a name may mean another dataset now."""
        is_new = False
        new = "SELECT id, alias, time_us, location FROM bindings WHERE id > ? ORDER BY id"
        for row, alias, time_us, location in self._sql.execute(new, (self._newest_row,)).fetchall():
            is_new |= self._bind(self._numbers.name(alias), (time_us, self._numbers.name(location)))
            self._newest_row = row
        read = self._sql.execute("SELECT count(*), coalesce(max(id), 0) FROM lives").fetchone()
        if read == self._read:
            return is_new
        self._read = read
        changes, writes = self._happened()
        for run in {*self.generations.runs(), *changes, *writes}:
            self.generations.set_changes(run, frozenset(changes.get(run, ())))
        for run in {*self.generations.runs(), *writes}:
            self.generations.set_writes(run, frozenset(writes.get(run, ())))
        self.renamed(change for found in changes.values() for change in found)
        return True

    def _happened(self) -> tuple[dict[str, list[Change]], dict[str, list[tuple[int, Name]]]]:
        changes: dict[str, list[Change]] = {}
        writes: dict[str, list[tuple[int, Name]]] = {}
        name = self._numbers.name
        rows = self._sql.execute("SELECT run, time_us, location, renamed, written FROM lives")
        for run, time_us, location, renamed, written in rows:
            if written:
                writes.setdefault(run, []).append((time_us, name(location)))
            else:
                changes.setdefault(run, []).append(Change(time_us, name(location), name(renamed) if renamed else None))
        return changes, writes

    def bind(self, links: Iterable[tuple[Name, LocationAt]]) -> set[Name]:
        """Add bindings and write them in one statement. Return the aliases that mean another dataset now."""
        kept, number = list(links), self._numbers.number
        rows = [(number(alias), time_us, number(location)) for alias, (time_us, location) in kept]
        self._sql.executemany("INSERT OR IGNORE INTO bindings(alias, time_us, location) VALUES (?, ?, ?)", rows)
        return super().bind(kept)

    def set_changes(self, run_key: str, sent: Iterable[Change]) -> list[Span]:
        """Replace the drops and renames of a run. Return the spans of names whose meaning changed."""
        before = self.generations.changes(run_key)
        moved = super().set_changes(run_key, sent)
        after = self.generations.changes(run_key)
        if after != before:
            self._write(run_key, [(each.time_us, each.location, each.to) for each in after], written=False)
        return moved

    def set_writes(self, run_key: str, sent: Iterable[tuple[int, Name]]) -> list[Span]:
        """Replace the names that a run writes. Return the spans of names whose meaning changed."""
        before = self.generations.writes(run_key)
        moved = super().set_writes(run_key, sent)
        after = self.generations.writes(run_key)
        if after != before:
            self._write(run_key, [(*each, None) for each in after], written=True)
        return moved

    def _write(self, run_key: str, happened: Iterable[tuple[int, Name, Name | None]], *, written: bool) -> None:
        number = self._numbers.number
        rows = [(run_key, at, number(name), number(to) if to else None, written) for at, name, to in happened]
        self._sql.execute("DELETE FROM lives WHERE run = ? AND written = ?", (run_key, written))
        insert = "INSERT INTO lives(run, time_us, location, renamed, written) VALUES (?, ?, ?, ?, ?)"
        self._sql.executemany(insert, rows)
