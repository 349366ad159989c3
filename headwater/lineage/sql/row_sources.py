"""Read sources of rows that are not tables: VALUES, UNNEST and similar functions, and UNION, EXCEPT and INTERSECT."""

from collections.abc import Callable

from sqlglot import exp

from headwater.lineage.sql.errors import UnsupportedSql
from headwater.lineage.sql.limits import Budget
from headwater.lineage.sql.relations import (
    FILTER,
    IDENTITY_STEP,
    TRANSFORMATION_STEP,
    ColumnStep,
    Origins,
    Relation,
    add_origins,
    copy_cost,
)

_FILE_READERS = (exp.ReadCSV, exp.ReadParquet)
_GENERATORS = frozenset({
    "explode", "explode_outer", "flatten", "generate_series", "generate_subscripts", "inline", "inline_outer",
    "json_array_elements", "json_array_elements_text", "json_each", "json_each_text", "json_object_keys", "json_table",
    "json_to_recordset", "json_tuple", "jsonb_array_elements", "jsonb_array_elements_text", "jsonb_each",
    "jsonb_each_text", "jsonb_object_keys", "jsonb_to_recordset", "openjson", "posexplode", "posexplode_outer", "range",
    "regexp_matches", "regexp_split_to_table", "sequence", "split_to_table", "stack", "string_split", "string_to_table",
    "unnest", "variant_explode", "variant_explode_outer",
})  # fmt: skip
"""Table functions that return only values from their arguments."""

ReadExpression = Callable[[exp.Expr, ColumnStep], Origins]
"""A function that returns the origins of an expression, with a step appended to each origin."""


def table_function_rows(node: exp.Expr, read_expression: ReadExpression) -> Relation:
    """Return the relation of a table function such as UNNEST, EXPLODE or FLATTEN. Each column comes from all arguments.

    Raises UnsupportedSql for a table function that may read other data.
    """
    arguments = node.expressions if isinstance(node, exp.Unnest) else [node.this]
    if isinstance(node, exp.Func) and not isinstance(node, (exp.Unnest, exp.Lateral)):
        arguments = [node]
    for each in arguments:
        if isinstance(each, _FILE_READERS) or (
            isinstance(each, exp.Anonymous) and each.name.casefold() not in _GENERATORS
        ):
            raise UnsupportedSql("the SQL reads a table function, and the source of its columns is unknown")
    origins: Origins = {}
    for each in arguments:
        if isinstance(each, exp.Expr):
            add_origins(origins, read_expression(each, TRANSFORMATION_STEP), IDENTITY_STEP)
    return Relation([(name, origins) for name in _row_column_names(node)], resolve_unlisted=lambda _: origins)


def _row_column_names(node: exp.Expr) -> list[str]:
    alias, offset = node.args.get("alias"), node.args.get("offset")
    names = [column.name for column in (alias.args.get("columns") or ())] if alias else []
    names += [alias.name] if alias and alias.this is not None and not names else []
    return [*names, offset.name] if isinstance(offset, exp.Identifier) else names


def values_rows(node: exp.Values, read_expression: ReadExpression, budget: Budget) -> Relation:
    """Return the relation of VALUES, with columns without names.

    A column has origins only if its values refer to columns of the surrounding query.
    """
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
    columns: list[tuple[str, Origins]] = []
    for at in range(max(map(len, rows), default=0)):
        origins: Origins = {}
        budget.spend_copies(1 + len(rows) // _ROWS_PER_COPY)
        for row in rows:
            if at < len(row):
                add_origins(origins, read_expression(row[at], IDENTITY_STEP), IDENTITY_STEP)
        columns.append(("", origins))
    return Relation(columns)


_ROWS_PER_COPY = 8
"""The number of rows that can be searched for a column in the time that copying one column takes."""


def copy_relation(relation: Relation, budget: Budget) -> Relation:
    """Return a copy of a relation. Changes to the copy do not affect the relation."""
    budget.spend_copies(copy_cost(origins for _, origins in relation.columns) + len(relation.row_origins))
    found = Relation([(name, copy_origins(origins)) for name, origins in relation.columns])
    found.row_origins = copy_origins(relation.row_origins)
    found.has_hidden_names, found.incomplete_datasets = relation.has_hidden_names, relation.incomplete_datasets
    return found


def combine_queries(relation: Relation, other: Relation, operation: exp.SetOperation, budget: Budget) -> None:
    """Add the second query of a UNION, EXCEPT or INTERSECT to `relation`, the result of the queries before it.

    For EXCEPT and INTERSECT, the columns of the second query only filter rows. Raises UnsupportedSql if the numbers of
    columns differ.
    """
    relation.has_hidden_names |= other.has_hidden_names
    if len(relation.columns) != len(other.columns) and not operation.args.get("by_name"):
        raise UnsupportedSql("the queries of a UNION have different numbers of columns")
    budget.spend_copies(len(other.row_origins))
    add_origins(relation.row_origins, other.row_origins, IDENTITY_STEP)
    if operation.args.get("by_name"):
        for name, origins in other.columns:
            if not relation.has_column(name):
                budget.spend_copies(1 + len(origins))
                relation.add_column(name, copy_origins(origins))
    for position, (name, origins) in enumerate(relation.columns):
        other_origins = other.column_origins(name) if operation.args.get("by_name") else other.columns[position][1]
        budget.spend(1 + len(other_origins or ()))
        if isinstance(operation, exp.Union):
            add_origins(origins, other_origins or {}, IDENTITY_STEP)
        else:
            add_origins(relation.row_origins, other_origins or {}, FILTER)


def copy_origins(origins: Origins) -> Origins:
    """Return a copy of origins. Changes to the copy do not affect the original."""
    return {origin: set(steps) for origin, steps in origins.items()}
