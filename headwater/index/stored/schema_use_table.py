"""Table `seen`: all mentions of schemas, where a sequence of mentions of one schema is reduced to six at most.

These are the first and the last mention of each authority. The mentions in between are read again from the run facts
when they matter: when a mention of another schema falls between them, or when a name means several datasets. Such a
name keeps all its mentions from then on.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any

from headwater.index.stored.name_numbers import NameNumbers
from headwater.lineage.edges.schema_history import SeenSchema
from headwater.lineage.names.dataset_history import Span
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.newest_first import newest_first
from headwater.lineage.runs.weighed import Weighed

_NEWEST_FIRST = newest_first(SeenSchema._fields)
_ROWS = f"SELECT {', '.join(SeenSchema._fields)} FROM seen WHERE name = ?"
_DELETE = f"DELETE FROM seen WHERE name = ? AND {' AND '.join(f'{field} = ?' for field in SeenSchema._fields)}"
_INSERT = "INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?, ?, ?, ?, ?)"

_Row = tuple[object, ...]
"""A row of `seen`: the number of a name, then the fields of a mention."""

Mentions = Callable[[Name], Iterable[SeenSchema]]
"""A function that returns all mentions under a name by runs of earlier batches."""


class SchemaUseTable:
    """The `schema_history.SeenSchemas` of an index file. Changes are written in `flush`."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers, uses: Mentions):
        self._sql = connection
        self._names = names
        self._uses = uses
        self._whole = {row[0] for row in connection.execute("SELECT name FROM seen_whole")}
        self._kept: Weighed[Name, list[SeenSchema]] = Weighed()
        self._waiting: dict[Name, list[SeenSchema]] = {}
        self._fresh: dict[Name, list[SeenSchema]] = {}
        self._written: set[Name] = set()

    def begin(self) -> None:
        """Begin a batch. `uses` does not return its runs yet."""
        self._fresh.clear()
        self._written.clear()

    def see(self, name: Name, uses: Sequence[SeenSchema]) -> None:
        """Add mentions under a name."""
        self._waiting.setdefault(name, []).extend(uses)

    def keep_whole(self, names: Iterable[Name]) -> None:
        """Store every mention under these names from now on, and restore the earlier ones."""
        self.flush()
        for name in names:
            if self._names.number(name) not in self._whole:
                self._make_whole(name)

    def newest_first(self, span: Span) -> Iterator[SeenSchema]:
        """Return the mentions under a name in a span of time, newest first."""
        if span.name in self._waiting:  # writes all names at once
            self.flush()
        number = self._names.known(span.name)
        if number is None or not self._may_have_rows(span.name, number):
            return iter(())
        if number in self._whole:
            return self._in_time(span)
        return (seen for seen in reversed(self._rows(span.name)) if span.since_us <= seen.time_us < span.until_us)

    def _in_time(self, span: Span) -> Iterator[SeenSchema]:
        for credible in (True, False):  # two queries, so that the table's key orders each by time
            query = f"{_ROWS} AND credible = ? AND time_us >= ? AND time_us < ? ORDER BY {_NEWEST_FIRST}"
            cells = (self._names.number(span.name), credible, span.since_us, span.until_us)
            yield from map(seen_of, self._sql.execute(query, cells))

    def flush(self) -> None:
        """Write the added mentions."""
        waiting, self._waiting = self._waiting, {}
        gone: list[_Row] = []
        come: list[_Row] = []
        for name, seen in waiting.items():
            self._fresh.setdefault(name, []).extend(seen)
            if self._names.number(name) in self._whole:
                self._add(name, seen)
            else:
                self._merge(name, sorted(set(seen)), gone, come)
        self._written.update(waiting)
        self._sql.executemany(_DELETE, gone)
        self._sql.executemany(_INSERT, come)

    def _merge(self, name: Name, seen: Sequence[SeenSchema], gone: list[_Row], come: list[_Row]) -> None:
        """Reduce the mentions under a name. The rows to delete and insert are added to `gone` and `come`."""
        before = self._rows(name)
        both = sorted({*before, *seen})
        if _divides(before, both):
            self._make_whole(name)
            return
        after = [row for stretch in _stretches(both) for row in _ends(stretch)]
        number = self._names.number(name)
        gone += ((number, *row) for row in set(before).difference(after))
        come += ((number, *row) for row in set(after).difference(before))
        self._kept.keep(name, after, len(after))

    def _make_whole(self, name: Name) -> None:
        self._whole.add(self._names.number(name))
        self._sql.execute("INSERT INTO seen_whole VALUES (?)", (self._names.number(name),))
        self._add(name, [*self._fresh.get(name, ()), *self._uses(name)])

    def _add(self, name: Name, seen: Iterable[SeenSchema]) -> None:
        number = self._names.number(name)
        self._sql.executemany(_INSERT, [(number, *row) for row in seen])
        self._kept.pop(name, None)

    def _may_have_rows(self, name: Name, number: int) -> bool:
        """Return whether the table can have rows of a name. It has none for most names that are new in the batch."""
        return name in self._written or not self._names.is_new(number)

    def _rows(self, name: Name) -> list[SeenSchema]:
        """Return the stored mentions of a name with reduced mentions, oldest first."""
        found = self._kept.get(name)
        if found is None:
            number, found = self._names.number(name), []
            if self._may_have_rows(name, number):
                rows = self._sql.execute(_ROWS, (number,))
                found = sorted(map(seen_of, rows))
            self._kept.keep(name, found, len(found))
        return found


def seen_of(row: Sequence[Any]) -> SeenSchema:
    """Return the mention in a row of the table."""
    return SeenSchema(bool(row[0]), *row[1:])


def _says(seen: SeenSchema) -> tuple[bool, str]:
    return seen.credible, seen.schema


def _stretches(ordered: Iterable[SeenSchema]) -> Iterator[list[SeenSchema]]:
    return (list(stretch) for _, stretch in groupby(ordered, _says))


def _ends(stretch: Sequence[SeenSchema]) -> Iterable[SeenSchema]:
    """Return the first and the last mention of each authority."""
    first = {seen.authority: seen for seen in reversed(stretch)}
    return sorted({*first.values(), *{seen.authority: seen for seen in stretch}.values()})


def _divides(before: Sequence[SeenSchema], both: Sequence[SeenSchema]) -> bool:
    """Return whether a new mention of another schema falls between two adjacent stored mentions.

    If it does, mentions that were left out may be on both sides of it, so all mentions of the name are needed.
    """
    places = {row: at for at, row in enumerate(both)}
    return any(
        _says(first) == _says(last) and any(_says(row) != _says(first) for row in both[places[first] : places[last]])
        for first, last in pairwise(before)
    )
