"""Read the contents of schema, lineage and SQL facets from bronze. A task decodes a content when it is first used.

A reference to a content is a prefix for the kind of the facet, followed by the content's hash.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.facet_contents import (
    CanonicalizeName,
    FacetContentsInMemory,
    SentEdge,
    SentSql,
    parse_sql_facet,
    read_sent_edges,
    schema_paths,
)
from headwater.lineage.edges.schema_columns import Path, find_exact_names, is_joined_hash
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.runs.run_facts import DELETED, RunFacts
from headwater.spark.delta.arrow_rows import Row, map_groups
from headwater.spark.delta.spark_delta import TableFolder, scanned_bytes
from headwater.spark.silver.texts import CachedDecoder, json_text
from headwater.tables import COLUMN_LINEAGE, SCHEMAS, VALUES, Table

SCHEMA, LINEAGE, SQL = "s", "l", "q"
"""Prefixes of references, one for each kind of facet. Empty facets of different kinds may have the same hash."""

CONTENT = Table("content", {"ref": "string", "value": "string", "twins": "boolean"})
"""One row for each content. `ref`: the reference to the content. `value`: the content as JSON, null if it is empty.

`twins`: the content is a schema with columns that differ only in case.
"""

read_columns = CachedDecoder(tuple[Path, ...])
_read_lines = msgspec.json.Decoder(tuple[SentEdge, ...])
_read_sql = msgspec.json.Decoder(SentSql)
_EMPTY = "[]"


def references_of_facts(fact: RunFacts) -> str:
    """Return the references to the contents of an event's facets, sorted and separated by spaces."""
    schemas = {one.schema for one in (*fact.inputs, *fact.outputs) if one.schema}
    sql = {fact.content.sql} - {None, DELETED}
    lineage = [LINEAGE + each for each in lineage_hashes(fact)]
    return join_references(
        [*(SCHEMA + each for each in schemas - {DELETED}), *lineage, *(f"{SQL}{each}" for each in sql)]
    )


def lineage_hashes(fact: RunFacts) -> set[str]:
    """Return the hashes of the lineage facets in an event."""
    lineage = {found for _, found in fact.content.declared_facets}
    lineage.update(
        found for one in (*fact.inputs, *fact.outputs) for found in (one.lineage, one.declared_facet) if found
    )
    return lineage - {DELETED}


def join_references(refs: Iterable[str]) -> str:
    """Join references to one text, sorted and separated by spaces."""
    return " ".join(sorted(refs))


def distinct_references(rows: DataFrame, *more: str) -> DataFrame:
    """Return the distinct references (`ref`) in the column `contents`, with the columns in `more`."""
    found = rows.select(*more, F.explode(F.split("contents", " ")).alias("ref"))
    return found.where("ref <> ''").distinct()


def rows_by_key(bronze: TableFolder, table: Table, wanted: DataFrame, key: str) -> DataFrame:
    """Return the rows of a bronze table with keys that occur in `wanted`.

    key: name of the column with the key, in the table and in `wanted`. The result is empty if the table does not exist,
    because an older release wrote bronze.
    """
    if not bronze.exists(table):
        return bronze.frame_of_rows(table, [])
    rows = bronze.scan(table).select(*table.columns)
    return bronze.rows_with_keys(rows, wanted, [key], size=scanned_bytes(rows))


def contents_of(bronze: TableFolder, refs: DataFrame, names: NameRules) -> DataFrame:
    """Return a row of `CONTENT` for each reference. refs: rows with the column `ref`, each reference once.

    names: the rules for names in lineage facets.
    """
    read: Mapping[str, tuple[Table, Callable[[Sequence[Row]], tuple[str, bool]]]] = {
        SCHEMA: (SCHEMAS, _schema_text),
        LINEAGE: (COLUMN_LINEAGE, partial(_lineage_text, names.canonical)),
        SQL: (VALUES, _sql_text),
    }
    found = refs.withColumns({"value": F.lit(None).cast("string"), "twins": F.lit(False)}).limit(0)
    for kind, (table, step) in read.items():
        key = next(iter(table.columns))
        wanted = refs.where(F.col("ref").startswith(kind)).select(F.substring("ref", 2, 99).alias(key))
        rows = rows_by_key(bronze, table, wanted, key)
        texts = map_groups(rows, key, partial(_content_row, kind, step), CONTENT, small=bronze.small)
        found = found.unionByName(texts)
    return refs.join(bronze.coalesce_if_small(found), "ref", "left")


class TextContents(FacetContentsInMemory):
    """The contents that one task needs. A content stays JSON until the rules first read it."""

    def __init__(self) -> None:
        super().__init__()
        self._texts: dict[str, str] = {}

    def add(self, ref: str, value: str | None) -> None:
        """Add a row of `CONTENT`."""
        self._texts[ref] = value or _EMPTY

    def clear(self) -> None:
        """Remove all contents."""
        for cache in (self._texts, self._lineage, self._schemas, self._sql):
            cache.clear()

    def lineage(self, content_hash: str) -> Sequence[SentEdge]:
        """Return the edges in a lineage facet, as sent."""
        if content_hash not in self._lineage:
            self.add_lineage(content_hash, _read_lines.decode(self._texts[LINEAGE + content_hash]))
        return super().lineage(content_hash)

    def schema(self, content_hash: str) -> Sequence[Path]:
        """Return the columns of a schema, as paths."""
        if content_hash not in self._schemas and not is_joined_hash(content_hash):
            self.add_schema(content_hash, read_columns(self._texts[SCHEMA + content_hash]))
        return super().schema(content_hash)

    def sql(self, content_hash: str) -> SentSql:
        """Return the content of an `sql` facet. Its query is empty if bronze does not contain the facet."""
        if content_hash not in self._sql:
            text = self._texts[SQL + content_hash]
            self.add_sql(content_hash, SentSql("") if text == _EMPTY else _read_sql.decode(text))
        return super().sql(content_hash)


def ambiguous_keys(columns: str) -> frozenset[str]:
    """Return the casefolded names that several columns of a schema share (`find_exact_names`).

    columns: the columns of the schema as JSON.
    """
    return find_exact_names(read_columns(columns))


def _content_row(kind: str, step: Callable[[Sequence[Row]], tuple[str, bool]], rows: Sequence[Row]) -> Iterator[Row]:
    """Convert the rows with one hash to a row of `CONTENT`. Bronze may contain each of these rows several times.

    kind: prefix of the reference. step: converts the rows to the values of `value` and `twins`.
    """
    once = {row[1]: row for row in rows}
    yield kind + rows[0][0], *step([once[ordinal] for ordinal in sorted(once)])


def _schema_text(rows: Sequence[Row]) -> tuple[str, bool]:
    text = json_text(schema_paths(rows))
    return text, bool(ambiguous_keys(text))


def _sql_text(rows: Sequence[Row]) -> tuple[str, bool]:
    return json_text(parse_sql_facet(rows[0][1].encode())), False


def _lineage_text(canonical: CanonicalizeName, rows: Sequence[Row]) -> tuple[str, bool]:
    return json_text(read_sent_edges(rows, canonical)), False
