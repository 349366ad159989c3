"""Rule 6.7: find out from the SQL of a run whether it replaces all rows, a part of them, or partitions."""

import re
from collections.abc import Iterator, Sequence

from sqlglot import exp

from headwater.lineage.edges.write_kinds import NOT_IF_EXISTS, PART, PARTITIONS, SQL_WHOLE
from headwater.lineage.sql.sql_text import statements_of
from headwater.lineage.sql.unread_sql import UnreadSql
from headwater.lineage.sql.written_parts import name_of, rows, table_of

_WORTH_READING = re.compile(r"\b(?:TRUNCATE|DELETE|UPDATE|MERGE|PARTITION|PARTITIONED|REPLACE|EXISTS)\b", re.I)
"""SQL without these words has none of the signs, so most INSERTs and SELECTs are not parsed here."""

_PART = re.compile(r"\b(?:DELETE|UPDATE|MERGE|REPLACE\s+WHERE)\b", re.I)
_PARTITION = re.compile(r"\b(?:PARTITION|PARTITIONED\s+BY)\s*\(", re.I)


def sql_signs(sql: str, dialect: str) -> frozenset[str]:
    """Return the signs of how SQL writes (`write_kinds`). SQL that cannot be parsed yields only PART and PARTITIONS."""
    if not _WORTH_READING.search(sql):
        return frozenset()
    try:
        return _signs(statements_of(sql, dialect))
    except (UnreadSql, RecursionError):
        return frozenset(_in_text(sql))


def _in_text(sql: str) -> Iterator[str]:
    if _PART.search(sql):
        yield PART
    if _PARTITION.search(sql):
        yield PARTITIONS


def _signs(statements: Sequence[exp.Expr]) -> frozenset[str]:
    found = {sign for statement in statements for sign in _of(statement)}
    targets = {target for statement in statements if (target := _target(statement)) is not None}
    if SQL_WHOLE in found and len(targets) > 1:
        found.discard(SQL_WHOLE)
    return frozenset(found)


def _of(statement: exp.Expr) -> Iterator[str]:
    if isinstance(statement, exp.Command):
        yield from _in_text(statement.sql())
    elif isinstance(statement, exp.TruncateTable):
        yield PARTITIONS if statement.args.get("partition") else SQL_WHOLE
    elif isinstance(statement, exp.Delete):
        bounded = any(statement.args.get(key) for key in ("where", "using", "limit", "tables"))
        yield PART if bounded else SQL_WHOLE
    elif isinstance(statement, exp.Update | exp.Merge):
        yield PART
    elif isinstance(statement, exp.Insert):
        if statement.args.get("where"):
            yield PART
        if statement.args.get("partition") or statement.this.find(exp.Partition):
            yield PARTITIONS
    elif isinstance(statement, exp.Alter):
        if statement.find(exp.Partition):
            yield PARTITIONS
    elif isinstance(statement, exp.Create):
        yield from _of_create(statement)


def _of_create(statement: exp.Create) -> Iterator[str]:
    if statement.kind != "TABLE":
        return
    if statement.args.get("exists"):
        yield NOT_IF_EXISTS
    elif statement.args.get("replace") and rows(statement.expression) is not None:
        yield SQL_WHOLE
    properties = statement.args.get("properties")
    if properties and properties.find(exp.PartitionedByProperty):
        yield PARTITIONS


def _target(statement: exp.Expr) -> str | None:
    """Return the name of the table that a statement writes, else its text; None if it writes no table."""
    if isinstance(statement, exp.TruncateTable):
        tables = statement.expressions
        return tables[0].sql().casefold() if len(tables) == 1 else statement.sql()
    if isinstance(statement, exp.Insert | exp.Delete | exp.Update | exp.Merge | exp.Create):
        if isinstance(statement, exp.Create) and statement.kind != "TABLE":
            return None
        table = table_of(statement.this)
        return name_of(table).casefold() if isinstance(table, exp.Table) else statement.sql()
    return None
