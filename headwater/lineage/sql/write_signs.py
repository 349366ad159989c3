"""Rule 6.7: find out from the SQL of a run whether it replaces all rows, a part of the rows, or partitions."""

import re
from collections.abc import Iterator, Sequence

from sqlglot import exp

from headwater.lineage.edges.write_kinds import SIGN_NOT_IF_EXISTS, SIGN_PART, SIGN_PARTITIONS, SIGN_SQL_WHOLE
from headwater.lineage.sql.errors import UnsupportedSql
from headwater.lineage.sql.parser import parse_statements
from headwater.lineage.sql.statements import source_query, table_name, target_table

_SIGN_WORDS = re.compile(r"\b(?:TRUNCATE|DELETE|UPDATE|MERGE|PARTITION|PARTITIONED|REPLACE|EXISTS)\b", re.I)
"""SQL without these words has no signs. Therefore, most INSERTs and SELECTs are not parsed to find signs."""

_PART = re.compile(r"\b(?:DELETE|UPDATE|MERGE|REPLACE\s+WHERE)\b", re.I)
_PARTITION = re.compile(r"\b(?:PARTITION|PARTITIONED\s+BY)\s*\(", re.I)


def find_write_signs(sql: str, dialect: str) -> frozenset[str]:
    """Return the signs that show how SQL writes its target, as defined in `write_kinds`.

    If the SQL cannot be parsed, only SIGN_PART and SIGN_PARTITIONS are possible results.
    """
    if not _SIGN_WORDS.search(sql):
        return frozenset()
    try:
        return _signs_of_statements(parse_statements(sql, dialect))
    except (UnsupportedSql, RecursionError):
        return frozenset(_signs_in_text(sql))


def _signs_in_text(sql: str) -> Iterator[str]:
    if _PART.search(sql):
        yield SIGN_PART
    if _PARTITION.search(sql):
        yield SIGN_PARTITIONS


def _signs_of_statements(statements: Sequence[exp.Expr]) -> frozenset[str]:
    found = {sign for statement in statements for sign in _statement_signs(statement)}
    targets = {target for statement in statements if (target := _target_name(statement)) is not None}
    if SIGN_SQL_WHOLE in found and len(targets) > 1:
        found.discard(SIGN_SQL_WHOLE)
    return frozenset(found)


def _statement_signs(statement: exp.Expr) -> Iterator[str]:
    if isinstance(statement, exp.Command):
        yield from _signs_in_text(statement.sql())
    elif isinstance(statement, exp.TruncateTable):
        yield SIGN_PARTITIONS if statement.args.get("partition") else SIGN_SQL_WHOLE
    elif isinstance(statement, exp.Delete):
        bounded = any(statement.args.get(key) for key in ("where", "using", "limit", "tables"))
        yield SIGN_PART if bounded else SIGN_SQL_WHOLE
    elif isinstance(statement, exp.Update | exp.Merge):
        yield SIGN_PART
    elif isinstance(statement, exp.Insert):
        if statement.args.get("where"):
            yield SIGN_PART
        if statement.args.get("partition") or statement.this.find(exp.Partition):
            yield SIGN_PARTITIONS
    elif isinstance(statement, exp.Alter):
        if statement.find(exp.Partition):
            yield SIGN_PARTITIONS
    elif isinstance(statement, exp.Create):
        yield from _create_signs(statement)


def _create_signs(statement: exp.Create) -> Iterator[str]:
    if statement.kind != "TABLE":
        return
    if statement.args.get("exists"):
        yield SIGN_NOT_IF_EXISTS
    elif statement.args.get("replace") and source_query(statement.expression) is not None:
        yield SIGN_SQL_WHOLE
    properties = statement.args.get("properties")
    if properties and properties.find(exp.PartitionedByProperty):
        yield SIGN_PARTITIONS


def _target_name(statement: exp.Expr) -> str | None:
    """Return the casefolded name of the table that a statement writes, None if the statement writes no table.

    If the target has no single name, the result is the text of the statement.
    """
    if isinstance(statement, exp.TruncateTable):
        tables = statement.expressions
        return tables[0].sql().casefold() if len(tables) == 1 else statement.sql()
    if isinstance(statement, exp.Insert | exp.Delete | exp.Update | exp.Merge | exp.Create):
        if isinstance(statement, exp.Create) and statement.kind != "TABLE":
            return None
        table = target_table(statement.this)
        return table_name(table).casefold() if isinstance(table, exp.Table) else statement.sql()
    return None
