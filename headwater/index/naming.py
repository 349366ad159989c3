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
        rows = connection.execute("SELECT alias, time_us, location FROM bindings ORDER BY time_us").fetchall()
        for alias, time_us, location in rows:
            super().bind(names.name(alias), (time_us, names.name(location)))
        renames: dict[str, list[Rename]] = {}
        for run, time_us, old, new in connection.execute("SELECT run, time_us, old, new FROM renames ORDER BY rowid"):
            renames.setdefault(run, []).append((time_us, names.name(old), names.name(new)))
        for run, found in renames.items():
            super().set_renames(run, found)

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
