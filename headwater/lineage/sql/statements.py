"""Recognise kinds of statements, and extract the target table, columns and source query of statements that write."""

import re
from collections.abc import Iterator

from sqlglot import exp

from headwater.lineage.sql.errors import UnsupportedSql
from headwater.lineage.sql.limits import Budget

_QUERY = re.compile(r"\bselect\b", re.IGNORECASE)
_SKIPPABLE_STATEMENTS = (
    exp.Use, exp.Set, exp.Drop, exp.Delete, exp.TruncateTable, exp.Alter, exp.Comment, exp.Transaction, exp.Commit,
    exp.Rollback, exp.Pragma, exp.Analyze, exp.Describe, exp.Cache, exp.Uncache, exp.Refresh, exp.Grant, exp.Semicolon,
    exp.Declare, exp.Show, exp.Query,
)  # fmt: skip

_READING_STATEMENTS = (
    exp.Query, exp.Insert, exp.MultitableInserts, exp.Merge, exp.Update, exp.Delete, exp.Cache, exp.Set, exp.Declare,
)  # fmt: skip

_SKIPPABLE_COMMANDS = frozenset({
    "VACUUM", "OPTIMIZE", "ANALYZE", "SET", "RESET", "SHOW", "EXPLAIN", "LOCK", "MSCK", "REFRESH", "INVALIDATE",
    "COMPUTE", "GRANT", "REVOKE", "USE", "ALTER", "ADD JAR", "ADD FILE", "ADD ARCHIVE",
})  # fmt: skip
"""The first one or two words of statements that can be skipped and that the parser does not parse."""


def is_skippable(statement: exp.Expr) -> bool:
    """Return whether a statement can be skipped, because it writes no values from one column into another column."""
    if isinstance(statement, exp.Command):
        kind = str(statement.this).upper()
        return kind in _SKIPPABLE_COMMANDS and (kind == "EXPLAIN" or not _QUERY.search(str(statement.expression or "")))
    return isinstance(statement, _SKIPPABLE_STATEMENTS)


def reads_columns(statement: exp.Expr) -> bool:
    """Return whether a statement reads values from columns. For example, ALTER and CREATE INDEX only name columns."""
    if isinstance(statement, exp.Create):
        return statement.kind not in ("INDEX", "TRIGGER")
    return isinstance(statement, _READING_STATEMENTS)


def has_query_as_text(statement: exp.Expr) -> bool:
    """Return whether a statement creates a function or procedure with a query inside a string."""
    if not isinstance(statement, exp.Create) or statement.kind in ("TABLE", "VIEW"):
        return False
    texts = statement.find_all(exp.Literal, exp.Heredoc, exp.RawString, exp.Command)
    return any(_QUERY.search(str(each.args.get("expression") or each.this)) for each in texts)


def statement_kind(statement: exp.Expr) -> str:
    """Return the kind of a statement, for example `COPY`, for messages."""
    return str(statement.this).upper() if isinstance(statement, exp.Command) else statement.key.upper()


def table_name(table: exp.Table) -> str:
    """Return the name of a table as the statement writes it, with dots between parts and without quotes."""
    return ".".join(part.name for part in table.parts)


def target_table(target: exp.Expr) -> exp.Expr:
    """Return the target of a statement without its list of columns."""
    found: exp.Expr = target.this if isinstance(target, exp.Schema) else target
    return found


def source_query(node: exp.Expr | None) -> exp.Query | None:
    """Return the query that fills a table, None if the node is not a query.

    For a table, as in `TABLE t` or a CLONE, this is a query that selects all its columns.
    """
    if isinstance(node, exp.Table):
        return exp.Select(expressions=[exp.Star()]).from_(node, copy=False)
    return node if isinstance(node, exp.Query) else None


def listed_columns(target: exp.Expr) -> Iterator[str]:
    """Yield the names in the column list after the target table of a statement."""
    for each in target.expressions if isinstance(target, exp.Schema) else ():
        yield each.name


def partition_columns(node: exp.Insert) -> Iterator[str]:
    """Yield the casefolded names of the columns to which a PARTITION clause assigns a value."""
    partition = node.args.get("partition") or target_table(node.this).args.get("partition")
    for each in partition.expressions if partition else ():
        if isinstance(each, exp.EQ):
            yield each.this.name.casefold()


_SOURCE_ALIAS = "the rows"
"""The alias of the source query in the parts of an INSERT ALL. Because of the space, it does not clash with names."""


def split_inserts(node: exp.MultitableInserts, budget: Budget) -> Iterator[exp.Insert]:
    """Yield each INSERT of an INSERT into several tables as a complete statement with the source query and the CTEs.

    The statements share the trees of the source query and the CTEs, because hundreds of copies of a long query would
    take minutes. Raises UnsupportedSql if the form of the statement is not supported.
    """
    for each in node.expressions:
        insert = each.this if isinstance(each, exp.ConditionalInsert) else each
        if not isinstance(insert, exp.Insert):
            raise UnsupportedSql(
                "the SQL contains an INSERT into several tables in a form that Headwater does not support"
            )
        if isinstance(insert.expression, exp.Select):
            insert.expression.set("from_", exp.From(this=node.args["source"]))
        else:
            insert.set(
                "expression",
                _source_select(insert.expression, node.args["source"], _insert_conditions(node, each, budget)),
            )
        if node.args.get("with_"):
            insert.set("with_", node.args["with_"])
        yield insert


def _source_select(values: exp.Expr | None, source: exp.Expr, conditions: list[exp.Expr]) -> exp.Select:
    """Return the query that fills one table of an INSERT ALL.

    values: the VALUES of the INSERT, which name columns of the source; None to insert all columns.
    """
    rows = values.expressions if isinstance(values, exp.Values) else []
    found = exp.Select(expressions=rows[0].expressions if rows else [exp.Star()])
    alias = exp.TableAlias(this=exp.to_identifier(_SOURCE_ALIAS))
    found.set("from_", exp.From(this=exp.Subquery(this=source, alias=alias)))
    if conditions:
        found.set("where", exp.Where(this=exp.Tuple(expressions=conditions)))
    return found


def _insert_conditions(node: exp.MultitableInserts, insert: exp.Expr, budget: Budget) -> list[exp.Expr]:
    """Return the conditions that determine the rows of one INSERT in an INSERT into several tables.

    This is the WHEN condition of the INSERT. For ELSE and FIRST, the conditions of all INSERTs matter.
    """
    shared = bool(insert.args.get("else_")) or str(node.args.get("kind")).upper() == "FIRST"
    if shared:
        budget.spend_copies(len(node.expressions))
    every = [each.args.get("expression") for each in (node.expressions if shared else [insert])]
    return [each for each in every if isinstance(each, exp.Expr)]
