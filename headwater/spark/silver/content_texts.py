"""What schema and lineage facets say, from bronze's tables by the hash of their content; as text until it is asked."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.facet_contents import (
    Canonical,
    ContentsInMemory,
    SentEdge,
    SentSql,
    schema_columns,
    sent_edges,
    sent_sql,
)
from headwater.lineage.edges.joined_lists import is_joined
from headwater.lineage.edges.schema_columns import Path, told_apart
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.runs.run_facts import DELETED, RunFacts
from headwater.spark.delta.arrow_rows import Row, map_groups
from headwater.spark.delta.spark_delta import TableFolder
from headwater.spark.silver.texts import Reading, text_of
from headwater.tables import COLUMN_LINEAGE, SCHEMAS, VALUES, Table

SCHEMA, LINEAGE, SQL = "s", "l", "q"
"""What a reference begins with, before the hash: what says nothing may be a schema here and a lineage facet there."""

CONTENT = Table("content", {"ref": "string", "value": "string", "twins": "boolean"})
"""value: null of what says nothing; case_conflicts: a schema that tells columns apart by case."""

read_columns = Reading(tuple[Path, ...])
_read_lines = msgspec.json.Decoder(tuple[SentEdge, ...])
_read_sql = msgspec.json.Decoder(SentSql)
_NOTHING = "[]"


def refs_of(fact: RunFacts) -> str:
    """Return what a part refers to, in a fixed order, as one text."""
    schemas = {one.schema for one in (*fact.inputs, *fact.outputs) if one.schema}
    sql = {fact.content.sql} - {None, DELETED}
    lineage = [LINEAGE + each for each in lineage_of(fact)]
    return joined([*(SCHEMA + each for each in schemas - {DELETED}), *lineage, *(f"{SQL}{each}" for each in sql)])


def lineage_of(fact: RunFacts) -> set[str]:
    """Return the hashes of the lineage facets that a part refers to."""
    lineage = {found for _, found in fact.content.declared}
    lineage.update(found for one in (*fact.inputs, *fact.outputs) for found in (one.lineage, one.declared) if found)
    return lineage - {DELETED}


def joined(refs: Iterable[str]) -> str:
    """Return references as one text."""
    return " ".join(sorted(refs))


def refs_in(rows: DataFrame, *more: str) -> DataFrame:
    """Return what rows refer to in column `contents`, each reference (and `more` columns) once."""
    found = rows.select(*more, F.explode(F.split("contents", " ")).alias("ref"))
    return found.where("ref <> ''").distinct()


def stored(bronze: TableFolder, table: Table) -> DataFrame:
    """Return a table of bronze; nothing where a version before did not have it."""
    return (bronze.read(table) if bronze.exists(table) else bronze.rows(table, [])).select(*table.columns)


def contents_of(bronze: TableFolder, refs: DataFrame, names: NameRules) -> DataFrame:
    """Return rows of `CONTENT` for references (`ref`), each of which comes once."""
    read: Mapping[str, tuple[Table, Callable[[Sequence[Row]], tuple[str, bool]]]] = {
        SCHEMA: (SCHEMAS, _schema),
        LINEAGE: (COLUMN_LINEAGE, partial(_lineage, names.canonical)),
        SQL: (VALUES, _sql),
    }
    found = refs.withColumns({"value": F.lit(None).cast("string"), "twins": F.lit(False)}).limit(0)
    for kind, (table, step) in read.items():
        key = next(iter(table.columns))
        wanted = refs.where(F.col("ref").startswith(kind)).select(F.substring("ref", 2, 99).alias(key))
        rows = stored(bronze, table).join(wanted, key, "left_semi")
        texts = map_groups(rows, key, partial(_content, kind, step), CONTENT, small=bronze.small)
        found = found.unionByName(texts)
    return refs.join(bronze.few(found), "ref", "left")


class TextContents(ContentsInMemory):
    """Contents of one task, held as text until they are asked for."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        super().__init__()
        self._texts: dict[str, str] = {}

    def hold(self, ref: str, value: str | None) -> None:
        """Take a row of `CONTENT`."""
        self._texts[ref] = value or _NOTHING

    def forget(self) -> None:
        """Let go of everything."""
        for held in (self._texts, self._lineage, self._schemas, self._sql):
            held.clear()

    def lineage(self, content_hash: str) -> Sequence[SentEdge]:
        """Return the lines of a lineage facet."""
        if content_hash not in self._lineage:
            self.add_lineage(content_hash, _read_lines.decode(self._texts[LINEAGE + content_hash]))
        return super().lineage(content_hash)

    def schema(self, content_hash: str) -> Sequence[Path]:
        """Return the columns of a schema."""
        if content_hash not in self._schemas and not is_joined(content_hash):
            self.add_schema(content_hash, read_columns(self._texts[SCHEMA + content_hash]))
        return super().schema(content_hash)

    def sql(self, content_hash: str) -> SentSql:
        """Return an `sql` facet."""
        if content_hash not in self._sql:
            text = self._texts[SQL + content_hash]
            self.add_sql(content_hash, SentSql("") if text == _NOTHING else _read_sql.decode(text))
        return super().sql(content_hash)


def exact_keys(columns: str) -> frozenset[str]:
    """Return the keys that the columns of a schema would share."""
    return told_apart(read_columns(columns))


def _content(kind: str, step: Callable[[Sequence[Row]], tuple[str, bool]], rows: Sequence[Row]) -> Iterator[Row]:
    """Take the rows of one hash; bronze may have one of them twice."""
    once = {row[1]: row for row in rows}
    yield kind + rows[0][0], *step([once[ordinal] for ordinal in sorted(once)])


def _schema(rows: Sequence[Row]) -> tuple[str, bool]:
    text = text_of(schema_columns(rows))
    return text, bool(exact_keys(text))


def _sql(rows: Sequence[Row]) -> tuple[str, bool]:
    return text_of(sent_sql(rows[0][1].encode())), False


def _lineage(canonical: Canonical, rows: Sequence[Row]) -> tuple[str, bool]:
    return text_of(sent_edges(rows, canonical)), False
