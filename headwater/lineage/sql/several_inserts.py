"""Read statements that write several tables: Hive's `FROM s INSERT …`, and INSERT ALL of Snowflake and Oracle."""

from collections.abc import Iterator

from sqlglot import exp

from headwater.lineage.sql.sql_bounds import Budget
from headwater.lineage.sql.unread_sql import UnreadSql

_ROWS = "the rows"
"""The alias of the source query in each INSERT of an INSERT ALL. SQL cannot contain this name without quotes."""


def inserts_of(node: exp.MultitableInserts, budget: Budget) -> Iterator[exp.Insert]:
    """Yield each INSERT as a complete statement with the source and the CTEs; raises UnreadSql.

    The statements share these parts of the tree, because hundreds of copies of a long query would cost minutes.
    """
    for each in node.expressions:
        insert = each.this if isinstance(each, exp.ConditionalInsert) else each
        if not isinstance(insert, exp.Insert):
            raise UnreadSql("the SQL contains an INSERT into several tables in a form that Headwater does not support")
        if isinstance(insert.expression, exp.Select):
            insert.expression.set("from_", exp.From(this=node.args["source"]))
        else:
            insert.set(
                "expression", _from_rows(insert.expression, node.args["source"], _conditions(node, each, budget))
            )
        if node.args.get("with_"):
            insert.set("with_", node.args["with_"])
        yield insert


def _from_rows(values: exp.Expr | None, source: exp.Expr, conditions: list[exp.Expr]) -> exp.Select:
    """Return the query for one table of an INSERT ALL: its VALUES name columns of the source."""
    rows = values.expressions if isinstance(values, exp.Values) else []
    found = exp.Select(expressions=rows[0].expressions if rows else [exp.Star()])
    alias = exp.TableAlias(this=exp.to_identifier(_ROWS))
    found.set("from_", exp.From(this=exp.Subquery(this=source, alias=alias)))
    if conditions:
        found.set("where", exp.Where(this=exp.Tuple(expressions=conditions)))
    return found


def _conditions(node: exp.MultitableInserts, insert: exp.Expr, budget: Budget) -> list[exp.Expr]:
    """Return the conditions for the rows of one INSERT: its own WHEN, or those of all INSERTs for ELSE and FIRST."""
    shared = bool(insert.args.get("else_")) or str(node.args.get("kind")).upper() == "FIRST"
    if shared:
        budget.copy(len(node.expressions))
    every = [each.args.get("expression") for each in (node.expressions if shared else [insert])]
    return [each for each in every if isinstance(each, exp.Expr)]
