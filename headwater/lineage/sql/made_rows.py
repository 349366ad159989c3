"""Read rows that a query creates itself: UNNEST and similar functions, and VALUES."""

from collections.abc import Callable

from sqlglot import exp

from headwater.lineage.sql.column_steps import CHANGED, COPIED, ColumnStep, Made, Relation, add
from headwater.lineage.sql.sql_bounds import Budget
from headwater.lineage.sql.unread_sql import UnreadSql

_READERS = (exp.ReadCSV, exp.ReadParquet)
_GENERATORS = frozenset({
    "explode", "explode_outer", "flatten", "generate_series", "generate_subscripts", "inline", "inline_outer",
    "json_array_elements", "json_array_elements_text", "json_each", "json_each_text", "json_object_keys", "json_table",
    "json_to_recordset", "json_tuple", "jsonb_array_elements", "jsonb_array_elements_text", "jsonb_each",
    "jsonb_each_text", "jsonb_object_keys", "jsonb_to_recordset", "openjson", "posexplode", "posexplode_outer", "range",
    "regexp_matches", "regexp_split_to_table", "sequence", "split_to_table", "stack", "string_split", "string_to_table",
    "unnest", "variant_explode", "variant_explode_outer",
})  # fmt: skip
"""Functions whose rows contain only values from their arguments."""

Steps = Callable[[exp.Expr, ColumnStep], Made]
"""Returns the origins of an expression, followed by a step."""


def rows_of(node: exp.Expr, steps: Steps) -> Relation:
    """Return the rows of UNNEST, EXPLODE or FLATTEN: each column comes from all arguments.

    Raises UnreadSql for a table function that may read other data.
    """
    inside = node.expressions if isinstance(node, exp.Unnest) else [node.this]
    if isinstance(node, exp.Func) and not isinstance(node, (exp.Unnest, exp.Lateral)):
        inside = [node]
    for each in inside:
        if isinstance(each, _READERS) or (isinstance(each, exp.Anonymous) and each.name.casefold() not in _GENERATORS):
            raise UnreadSql("the SQL reads a table function, and the source of its columns is unknown")
    made: Made = {}
    for each in inside:
        if isinstance(each, exp.Expr):
            add(made, steps(each, CHANGED), COPIED)
    return Relation([(name, made) for name in _names(node)], otherwise=lambda _: made)


def _names(node: exp.Expr) -> list[str]:
    alias, offset = node.args.get("alias"), node.args.get("offset")
    names = [column.name for column in (alias.args.get("columns") or ())] if alias else []
    names += [alias.name] if alias and alias.this is not None and not names else []
    return [*names, offset.name] if isinstance(offset, exp.Identifier) else names


def written_rows(node: exp.Values, steps: Steps, budget: Budget) -> Relation:
    """Return the rows of VALUES. Only references to columns of the surrounding query have origins."""
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
    columns: list[tuple[str, Made]] = []
    for at in range(max(map(len, rows), default=0)):
        made: Made = {}
        budget.copy(1 + len(rows) // _ROWS_PER_COPY)
        for row in rows:
            if at < len(row):
                add(made, steps(row[at], COPIED), COPIED)
        columns.append(("", made))
    return Relation(columns)


_ROWS_PER_COPY = 8
"""The number of rows that can be searched for a column in the time of one column copy."""
