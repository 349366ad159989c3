"""Tables of datasets: what their names mean over time, their current schema and columns, and their `tags` facets."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from headwater.index.stored.database import question_marks, split_for_parameters
from headwater.index.stored.numbers import NameNumbers
from headwater.index.stored.packing import encode, tags_from
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US, DatasetChange, NameSpan
from headwater.lineage.names.name_resolution import NameResolver, TimedLocation
from headwater.lineage.rules.tags import TagsFacet, tags_facets
from headwater.lineage.runs.event_order import ORDER_COLUMNS, Order, newest_first_sql
from headwater.lineage.runs.run_facts import RunFacts


class SqliteNaming(NameResolver):
    """The `NameResolver` of an index file: it writes each change to the file at once.

    Symlinks are in table `bindings`; drops, renames and writes are in table `dataset_changes`.
    """

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers):
        """Read all bindings and dataset changes from the index file."""
        super().__init__()
        self._sql = connection
        self._numbers = names
        self._newest_row = 0
        self._read = (0, 0)
        self.refresh()

    def refresh(self) -> bool:
        """Read the rows that another process has added. Return whether the meaning of a name may have changed."""
        is_new = False
        new = "SELECT id, alias, time_us, location FROM bindings WHERE id > ? ORDER BY id"
        for row, alias, time_us, location in self._sql.execute(new, (self._newest_row,)).fetchall():
            is_new |= self._add_binding(self._numbers.name(alias), (time_us, self._numbers.name(location)))
            self._newest_row = row
        read = self._sql.execute("SELECT count(*), coalesce(max(id), 0) FROM dataset_changes").fetchone()
        if read == self._read:
            return is_new
        self._read = read
        changes, writes = self._stored_changes()
        for run in {*self.generations.changing_runs(), *changes, *writes}:
            self.generations.set_changes(run, frozenset(changes.get(run, ())))
        for run in {*self.generations.changing_runs(), *writes}:
            self.generations.set_writes(run, frozenset(writes.get(run, ())))
        self.add_renames(change for found in changes.values() for change in found)
        return True

    def _stored_changes(self) -> tuple[dict[str, list[DatasetChange]], dict[str, list[tuple[int, Name]]]]:
        changes: dict[str, list[DatasetChange]] = {}
        writes: dict[str, list[tuple[int, Name]]] = {}
        name = self._numbers.name
        rows = self._sql.execute("SELECT run, time_us, location, renamed, written FROM dataset_changes")
        for run, time_us, location, renamed, written in rows:
            if written:
                writes.setdefault(run, []).append((time_us, name(location)))
            else:
                changes.setdefault(run, []).append(
                    DatasetChange(time_us, name(location), name(renamed) if renamed else None)
                )
        return changes, writes

    def add_bindings(self, links: Iterable[tuple[Name, TimedLocation]]) -> set[Name]:
        """Add symlinks, as (alias, (time (us), location)). Return the aliases that mean another dataset now."""
        bindings, number = list(links), self._numbers.number
        rows = [(number(alias), time_us, number(location)) for alias, (time_us, location) in bindings]
        self._sql.executemany("INSERT OR IGNORE INTO bindings(alias, time_us, location) VALUES (?, ?, ?)", rows)
        return super().add_bindings(bindings)

    def set_changes(self, run_key: str, sent: Iterable[DatasetChange]) -> list[NameSpan]:
        """Replace the drops and renames of a run. Return the spans of names that changed their meaning."""
        before = self.generations.changes_of_run(run_key)
        moved = super().set_changes(run_key, sent)
        after = self.generations.changes_of_run(run_key)
        if after != before:
            self._write_changes(
                run_key, [(each.time_us, each.location, each.new_location) for each in after], is_write=False
            )
        return moved

    def set_writes(self, run_key: str, sent: Iterable[tuple[int, Name]]) -> list[NameSpan]:
        """Replace the writes of a run, as (time (us), name). Return the spans of names that changed their meaning."""
        before = self.generations.writes_of_run(run_key)
        moved = super().set_writes(run_key, sent)
        after = self.generations.writes_of_run(run_key)
        if after != before:
            self._write_changes(run_key, [(*each, None) for each in after], is_write=True)
        return moved

    def _write_changes(self, run_key: str, changes: Iterable[tuple[int, Name, Name | None]], *, is_write: bool) -> None:
        number = self._numbers.number
        rows = [(run_key, at, number(name), number(to) if to else None, is_write) for at, name, to in changes]
        self._sql.execute("DELETE FROM dataset_changes WHERE run = ? AND written = ?", (run_key, is_write))
        insert = "INSERT INTO dataset_changes(run, time_us, location, renamed, written) VALUES (?, ?, ?, ?, ?)"
        self._sql.executemany(insert, rows)


_COLUMNS = ("schema", "nests", "shown_schema", "dropped", "spellings")

_Cell = str | int | None

_UNKNOWN: tuple[_Cell, ...] = (None, 0, None, 0, None)
"""The cells of a dataset without a row. They equal the defaults of the columns."""


class DatasetTable:
    """Collects changes of table `datasets` and writes them in `flush`.

    The table contains the current schema, columns and spellings of datasets, and whether they are dropped. An event may
    mention tens of thousands of datasets, and one SQL statement for each would be slow. The class therefore reads and
    writes all datasets of a batch at once.
    """

    def __init__(self, connection: sqlite3.Connection):
        """Use the index's connection. The caller manages its transaction."""
        self._sql = connection
        self._before: dict[int, tuple[_Cell, ...]] = {}
        self._after: dict[int, dict[str, _Cell]] = {}

    def load_rows(self, names: Iterable[int]) -> None:
        """Load the rows of some datasets, by name number. Required before `text_cell` and `set_cell`."""
        missing = [number for number in dict.fromkeys(names) if number not in self._after]
        query = f"SELECT name, {', '.join(_COLUMNS)} FROM datasets WHERE name IN ({{}})"
        for some in split_for_parameters(missing):
            rows = self._sql.execute(query.format(question_marks(some)), some)
            self._before.update((number, tuple(cells)) for number, *cells in rows)
        for number in missing:
            self._after[number] = dict(zip(_COLUMNS, self._before.get(number, _UNKNOWN), strict=True))

    def text_cell(self, name: int, column: str) -> str | None:
        """Return a cell of a loaded dataset if it contains a text, else None."""
        value = self._after[name][column]
        return value if isinstance(value, str) else None

    def set_cell(self, name: int, column: str, value: _Cell) -> bool:
        """Set a cell of a loaded dataset. Return whether its value changed."""
        cells = self._after[name]
        changed = cells[column] != value
        cells[column] = value
        return changed

    def flush(self, generation: int) -> None:
        """Write the changed rows with the number of the index's new generation."""
        after = {number: tuple(cells.values()) for number, cells in self._after.items()}
        changed_rows = [
            (number, *cells, generation if cells != self._before.get(number, _UNKNOWN) else 0)
            for number, cells in after.items()
            if cells != self._before.get(number)
        ]
        self._sql.executemany(
            f"INSERT OR REPLACE INTO datasets(name, {', '.join(_COLUMNS)}, generation) VALUES (?, ?, ?, ?, ?, ?, ?)",
            changed_rows,
        )
        self._before.clear()
        self._after.clear()


_NEWNESS = ", ".join(ORDER_COLUMNS)


class TagTable:
    """Stores every `tags` facet by the name of the dataset as sent.

    Of these facets, the newest one of each producer counts (rule 8).
    """

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers):
        self._sql = connection
        self._names = names

    def add_facets(self, facts: Sequence[RunFacts]) -> None:
        """Store the `tags` facets of events. Repeated facets change nothing."""
        for fact in facts:
            for facet in tags_facets(fact):
                number = self._names.number(facet.name)
                row = (number, facet.producer, *facet.order, facet.place, encode(facet.tags))
                self._sql.execute("INSERT OR IGNORE INTO tags VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def newest_facets(self, name: Name, until_us: int = MAX_TIME_US) -> Iterator[TagsFacet]:
        """Yield the newest `tags` facet of each producer for a name as sent, up to a time (us, UTC)."""
        number, producer = self._names.find_number(name), ""
        if number is None:
            return
        query = (
            f"SELECT producer, {_NEWNESS}, value FROM tags WHERE name = ?1 AND producer = "
            "(SELECT min(producer) FROM tags WHERE name = ?1 AND producer > ?2 AND time_us <= ?3) AND time_us <= ?3 "
            f"ORDER BY {newest_first_sql()} LIMIT 1"
        )
        while row := self._sql.execute(query, (number, producer, until_us)).fetchone():
            producer, *order, place, value = row
            yield TagsFacet(Order(*order), place, name, producer, tags_from(value))

    def all_facets(self, only_name: Name | None = None) -> Iterator[TagsFacet]:
        """Yield all `tags` facets, or only those for one name as sent."""
        query = f"SELECT name, producer, {_NEWNESS}, value FROM tags"
        where, values = (
            (" WHERE name = ?", (self._names.find_number(only_name) or 0,)) if only_name is not None else ("", ())
        )
        for name, producer, *order, place, value in self._sql.execute(query + where, values):
            yield TagsFacet(Order(*order), place, self._names.name(name), producer, tags_from(value))
