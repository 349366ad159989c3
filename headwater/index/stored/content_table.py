"""Table `contents`: schema, lineage and `sql` facets by content hash, with recently used ones cached in memory."""

import sqlite3
from collections.abc import Sequence

from headwater.index.stored.index_packing import encode, lines_from, paths_from, sql_from
from headwater.lineage.edges.facet_contents import SentEdge, SentSql
from headwater.lineage.edges.joined_lists import is_joined, joined_columns, lists_in
from headwater.lineage.edges.schema_columns import Path
from headwater.lineage.runs.weighed import Weighed


class SqliteContents:
    """The `facet_contents.Contents` of an index file. Reading an unknown hash raises KeyError."""

    def __init__(self, connection: sqlite3.Connection):
        """Use the index's connection. Additions belong to its current transaction."""
        self._connection = connection
        self._lineage: Weighed[str, Sequence[SentEdge]] = Weighed()
        self._schemas: Weighed[str, Sequence[Path]] = Weighed()

    def __contains__(self, content_hash: object) -> bool:
        if content_hash in self._lineage or content_hash in self._schemas:
            return True
        return bool(self._connection.execute("SELECT 1 FROM contents WHERE hash = ?", (content_hash,)).fetchone())

    def add_schema(self, content_hash: str, columns: Sequence[Path]) -> None:
        """Store the columns of a schema."""
        self._put(content_hash, "schema", encode(columns))

    def add_lineage(self, content_hash: str, edges: Sequence[SentEdge]) -> None:
        """Store the edges of a lineage facet."""
        self._put(content_hash, "lineage", encode(edges))
        self._lineage.keep(content_hash, edges, len(edges))

    def lineage(self, content_hash: str) -> Sequence[SentEdge]:
        """Return the edges of a lineage facet."""
        found = self._lineage.get(content_hash)
        if found is None:
            lines = lines_from(self._value(content_hash, "lineage"))
            found = self._lineage.keep(content_hash, lines, len(lines))
        return found

    def schema(self, content_hash: str) -> Sequence[Path]:
        """Return the columns of a schema."""
        found = self._schemas.get(content_hash)
        if found is None:
            several = [self.schema(each) for each in lists_in(content_hash)] if is_joined(content_hash) else []
            paths = joined_columns(several) if several else paths_from(self._value(content_hash, "schema"))
            found = self._schemas.keep(content_hash, paths, len(paths))
        return found

    def add_sql(self, content_hash: str, sql: SentSql) -> None:
        """Store an `sql` facet."""
        self._put(content_hash, "sql", encode(sql))

    def sql(self, content_hash: str) -> SentSql:
        """Return an `sql` facet. It is not cached, because each shape of a run needs it only once."""
        return sql_from(self._value(content_hash, "sql"))

    def _put(self, content_hash: str, kind: str, value: bytes) -> None:
        self._connection.execute("INSERT OR IGNORE INTO contents VALUES (?, ?, ?)", (content_hash, kind, value))

    def _value(self, content_hash: str, kind: str) -> bytes:
        """Read the value of a hash for one kind: an empty facet, `{}`, has the same hash as schema and as lineage."""
        query = "SELECT value FROM contents WHERE hash = ? AND kind = ?"
        row = self._connection.execute(query, (content_hash, kind)).fetchone()
        if row is None:
            raise KeyError(content_hash)
        value: bytes = row[0]
        return value
