"""Schema, lineage and `sql` facets by content hash, and the mentions of schemas over time."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any

from headwater.index.stored.numbers import NameNumbers
from headwater.index.stored.packing import encode, lines_from, paths_from, sql_from
from headwater.lineage.edges.facet_contents import SentEdge, SentSql
from headwater.lineage.edges.schema_columns import Path, is_joined_hash, join_column_lists, split_schema_hash
from headwater.lineage.edges.schema_history import SchemaMention
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import NameSpan
from headwater.lineage.runs.bounded_cache import BoundedCache
from headwater.lineage.runs.event_order import newest_first_sql


class SqliteFacetContents:
    """The `facet_contents.FacetContents` of an index file, with recently used contents in memory.

    Methods that read a content raise KeyError if its hash is unknown.
    """

    def __init__(self, connection: sqlite3.Connection):
        """Use the index's connection. The caller manages the transaction."""
        self._connection = connection
        self._lineage: BoundedCache[str, Sequence[SentEdge]] = BoundedCache()
        self._schemas: BoundedCache[str, Sequence[Path]] = BoundedCache()

    def __contains__(self, content_hash: object) -> bool:
        if content_hash in self._lineage or content_hash in self._schemas:
            return True
        return bool(self._connection.execute("SELECT 1 FROM contents WHERE hash = ?", (content_hash,)).fetchone())

    def add_schema(self, content_hash: str, columns: Sequence[Path]) -> None:
        """Store the columns of a schema."""
        self._store_value(content_hash, "schema", encode(columns))

    def add_lineage(self, content_hash: str, edges: Sequence[SentEdge]) -> None:
        """Store the edges of a lineage facet."""
        self._store_value(content_hash, "lineage", encode(edges))
        self._lineage.put(content_hash, edges, len(edges))

    def lineage(self, content_hash: str) -> Sequence[SentEdge]:
        """Return the edges of a lineage facet."""
        found = self._lineage.get(content_hash)
        if found is None:
            lines = lines_from(self._read_value(content_hash, "lineage"))
            found = self._lineage.put(content_hash, lines, len(lines))
        return found

    def schema(self, content_hash: str) -> Sequence[Path]:
        """Return the columns of a schema. content_hash: also a joined hash of several schemas."""
        found = self._schemas.get(content_hash)
        if found is None:
            several = (
                [self.schema(each) for each in split_schema_hash(content_hash)] if is_joined_hash(content_hash) else []
            )
            paths = join_column_lists(several) if several else paths_from(self._read_value(content_hash, "schema"))
            found = self._schemas.put(content_hash, paths, len(paths))
        return found

    def add_sql(self, content_hash: str, sql: SentSql) -> None:
        """Store an `sql` facet."""
        self._store_value(content_hash, "sql", encode(sql))

    def sql(self, content_hash: str) -> SentSql:
        """Return an `sql` facet. It is not cached, because each shape of a run needs it only once."""
        return sql_from(self._read_value(content_hash, "sql"))

    def _store_value(self, content_hash: str, kind: str, value: bytes) -> None:
        self._connection.execute("INSERT OR IGNORE INTO contents VALUES (?, ?, ?)", (content_hash, kind, value))

    def _read_value(self, content_hash: str, kind: str) -> bytes:
        """Return the value of a hash and kind. An empty facet, `{}`, has the same hash as schema and as lineage."""
        query = "SELECT value FROM contents WHERE hash = ? AND kind = ?"
        row = self._connection.execute(query, (content_hash, kind)).fetchone()
        if row is None:
            raise KeyError(content_hash)
        value: bytes = row[0]
        return value


_NEWEST_FIRST = newest_first_sql(SchemaMention._fields)
_ROWS = f"SELECT {', '.join(SchemaMention._fields)} FROM schema_mentions WHERE name = ?"
_DELETE = (
    f"DELETE FROM schema_mentions WHERE name = ? AND {' AND '.join(f'{field} = ?' for field in SchemaMention._fields)}"
)
_INSERT = "INSERT OR IGNORE INTO schema_mentions VALUES (?, ?, ?, ?, ?, ?, ?, ?)"

_Row = tuple[object, ...]
"""A row of `schema_mentions`: the number of a name, then the fields of `SchemaMention`."""

Mentions = Callable[[Name], Iterable[SchemaMention]]
"""A function that returns all mentions of schemas under a name by runs of earlier batches."""


class SchemaMentionTable:
    """The `schema_history.SchemaMentionStore` of an index file. Changes are written in `flush`.

    Of consecutive mentions of one schema, the table stores only the first and the last of each authority, at most six.
    The others matter if a mention of another schema falls between them, or if a name means several datasets. Then all
    mentions of the name are read again from the run facts and are stored from then on.
    """

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers, earlier_mentions: Mentions):
        self._sql = connection
        self._names = names
        self._uses = earlier_mentions
        self._whole = {row[0] for row in connection.execute("SELECT name FROM complete_schema_mentions")}
        self._cache: BoundedCache[Name, list[SchemaMention]] = BoundedCache()
        self._pending: dict[Name, list[SchemaMention]] = {}
        self._batch: dict[Name, list[SchemaMention]] = {}
        self._written: set[Name] = set()

    def begin_batch(self) -> None:
        """Begin a batch. The function `earlier_mentions` does not return the mentions of this batch yet."""
        self._batch.clear()
        self._written.clear()

    def add_mentions(self, name: Name, uses: Sequence[SchemaMention]) -> None:
        """Add mentions of schemas under a name."""
        self._pending.setdefault(name, []).extend(uses)

    def keep_all_mentions(self, names: Iterable[Name]) -> None:
        """Store every mention under these names from now on, and restore the earlier ones."""
        self.flush()
        for name in names:
            if self._names.number(name) not in self._whole:
                self._restore_all_mentions(name)

    def mentions_newest_first(self, span: NameSpan) -> Iterator[SchemaMention]:
        """Return the mentions under the span's name within its time, newest first."""
        if span.name in self._pending:  # writes all names at once
            self.flush()
        number = self._names.find_number(span.name)
        if number is None or not self._may_have_rows(span.name, number):
            return iter(())
        if number in self._whole:
            return self._mentions_in_span(span)
        return (
            seen for seen in reversed(self._stored_mentions(span.name)) if span.since_us <= seen.time_us < span.until_us
        )

    def _mentions_in_span(self, span: NameSpan) -> Iterator[SchemaMention]:
        for credible in (True, False):  # two queries, so that the table's key orders each by time
            query = f"{_ROWS} AND credible = ? AND time_us >= ? AND time_us < ? ORDER BY {_NEWEST_FIRST}"
            cells = (self._names.number(span.name), credible, span.since_us, span.until_us)
            yield from map(mention_from_row, self._sql.execute(query, cells))

    def flush(self) -> None:
        """Write the added mentions."""
        pending, self._pending = self._pending, {}
        deleted: list[_Row] = []
        inserted: list[_Row] = []
        for name, seen in pending.items():
            self._batch.setdefault(name, []).extend(seen)
            if self._names.number(name) in self._whole:
                self._add_mentions(name, seen)
            else:
                self._reduce_mentions(name, sorted(set(seen)), deleted, inserted)
        self._written.update(pending)
        self._sql.executemany(_DELETE, deleted)
        self._sql.executemany(_INSERT, inserted)

    def _reduce_mentions(
        self, name: Name, seen: Sequence[SchemaMention], deleted: list[_Row], inserted: list[_Row]
    ) -> None:
        """Reduce the stored and the new mentions under a name to the necessary ones.

        seen: the new mentions, sorted. The rows to delete and to insert are added to `deleted` and `inserted`.
        """
        before = self._stored_mentions(name)
        both = sorted({*before, *seen})
        if _has_interruption(before, both):
            self._restore_all_mentions(name)
            return
        after = [row for sequence in _split_by_schema(both) for row in _first_and_last_by_authority(sequence)]
        number = self._names.number(name)
        deleted += ((number, *row) for row in set(before).difference(after))
        inserted += ((number, *row) for row in set(after).difference(before))
        self._cache.put(name, after, len(after))

    def _restore_all_mentions(self, name: Name) -> None:
        self._whole.add(self._names.number(name))
        self._sql.execute("INSERT INTO complete_schema_mentions VALUES (?)", (self._names.number(name),))
        self._add_mentions(name, [*self._batch.get(name, ()), *self._uses(name)])

    def _add_mentions(self, name: Name, seen: Iterable[SchemaMention]) -> None:
        number = self._names.number(name)
        self._sql.executemany(_INSERT, [(number, *row) for row in seen])
        self._cache.pop(name, None)

    def _may_have_rows(self, name: Name, number: int) -> bool:
        """Return whether the table may have rows of a name. It has no rows for most names that are new in the batch."""
        return name in self._written or not self._names.is_new_in_batch(number)

    def _stored_mentions(self, name: Name) -> list[SchemaMention]:
        """Return the stored mentions of a name, oldest first."""
        found = self._cache.get(name)
        if found is None:
            number, found = self._names.number(name), []
            if self._may_have_rows(name, number):
                rows = self._sql.execute(_ROWS, (number,))
                found = sorted(map(mention_from_row, rows))
            self._cache.put(name, found, len(found))
        return found


def mention_from_row(row: Sequence[Any]) -> SchemaMention:
    """Return the mention in a row of `schema_mentions`. row: the fields of `SchemaMention`, without the name."""
    return SchemaMention(bool(row[0]), *row[1:])


def _schema_key(seen: SchemaMention) -> tuple[bool, str]:
    return seen.credible, seen.schema


def _split_by_schema(ordered: Iterable[SchemaMention]) -> Iterator[list[SchemaMention]]:
    return (list(sequence) for _, sequence in groupby(ordered, _schema_key))


def _first_and_last_by_authority(sequence: Sequence[SchemaMention]) -> Iterable[SchemaMention]:
    """Return the first and the last mention of each authority."""
    first = {seen.authority: seen for seen in reversed(sequence)}
    return sorted({*first.values(), *{seen.authority: seen for seen in sequence}.values()})


def _has_interruption(before: Sequence[SchemaMention], both: Sequence[SchemaMention]) -> bool:
    """Return whether a new mention of another schema falls between two adjacent stored mentions.

    If it does, mentions that were left out may be on both sides of it, so all mentions of the name are needed.
    """
    places = {row: at for at, row in enumerate(both)}
    return any(
        _schema_key(first) == _schema_key(last)
        and any(_schema_key(row) != _schema_key(first) for row in both[places[first] : places[last]])
        for first, last in pairwise(before)
    )
