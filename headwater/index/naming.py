"""Names in time that outlive the process: what `lineage.naming` learns is written as it is learnt."""

import sqlite3

from headwater.index.names import NameNumbers
from headwater.lineage.name import Name
from headwater.lineage.naming import Moment, Naming, Rename


class SqliteNaming(Naming):
    """See `lineage.naming.Naming`."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers):
        """Learn again what the index's file holds."""
        super().__init__()
        self._sql = connection
        self._numbers = names
        self._read = (0, 0)
        self.refresh()

    def refresh(self) -> None:
        """Read what another process has written since."""
        counts = "SELECT (SELECT count(*) FROM bindings), (SELECT coalesce(sum(rowid), 0) FROM renames)"
        read = self._sql.execute(counts).fetchone()
        if read == self._read:
            return
        self._read = read
        rows = self._sql.execute("SELECT alias, time_us, location FROM bindings ORDER BY time_us").fetchall()
        for alias, time_us, location in rows:
            super().bind(self._numbers.name(alias), (time_us, self._numbers.name(location)))
        for run, found in self._written_renames().items():
            super().set_renames(run, found)

    def _written_renames(self) -> dict[str, list[Rename]]:
        found: dict[str, list[Rename]] = {run: [] for run in self._renamed_by}
        for run, time_us, old, new in self._sql.execute("SELECT run, time_us, old, new FROM renames ORDER BY rowid"):
            found.setdefault(run, []).append((time_us, self._numbers.name(old), self._numbers.name(new)))
        return found

    def bind(self, alias: Name, moment: Moment) -> bool:
        """Take one binding."""
        row = (self._numbers.number(alias), moment[0], self._numbers.number(moment[1]))
        self._sql.execute("INSERT OR IGNORE INTO bindings VALUES (?, ?, ?)", row)
        return super().bind(alias, moment)

    def set_renames(self, run_key: str, found: list[Rename]) -> set[Name]:
        """Take what a run renames now."""
        changed = super().set_renames(run_key, found)
        if changed:
            self._sql.execute("DELETE FROM renames WHERE run = ?", (run_key,))
            rows = [(run_key, at, self._numbers.number(old), self._numbers.number(new)) for at, old, new in found]
            self._sql.executemany("INSERT INTO renames VALUES (?, ?, ?, ?)", rows)
        return changed
