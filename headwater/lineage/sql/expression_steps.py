"""Find the columns that an SQL expression uses, and how it transforms them."""

from collections.abc import Callable, Iterator

from sqlglot import exp

from headwater.lineage.sql.column_steps import (
    AGGREGATION,
    CHANGED,
    CONDITIONAL,
    SORT,
    WINDOW,
    ColumnStep,
    Made,
    Relation,
    add,
)
from headwater.lineage.sql.query_scope import Scope
from headwater.lineage.sql.references import References
from headwater.lineage.sql.sql_bounds import Budget
from headwater.lineage.sql.unread_sql import UnreadSql

_MASKS = frozenset({
    "md5", "md5_digest", "sha", "sha1", "s_h_a1_digest", "sha2", "s_h_a2_digest", "sha256", "sha512", "sha224",
    "sha384", "hash", "xxhash64", "murmur3", "crc32", "hashbytes", "standard_hash", "farm_fingerprint", "mask", "hmac",
    "hmac_md5", "hmac_sha1", "hmac_sha256", "hmac_sha512", "digest", "hashtext", "count", "count_if", "approx_distinct",
})  # fmt: skip
"""Functions whose argument cannot be recovered from the result. Counts are included, as in Spark's listener."""

_NOT_VALUES = (exp.Identifier, exp.DataType, exp.Table)

_WINDOWS_PER_STEP = 8
"""The number of window names that can be compared in one step of the budget."""

ReadQuery = Callable[[exp.Expr, Scope], Relation]
_Todo = tuple[exp.Expr, ColumnStep, frozenset[str]]
"""An expression, the step that applies to its value, and the names of lambda parameters that are in scope."""


def made_of(
    expression: exp.Expr,
    scope: Scope,
    step: ColumnStep,
    query: ReadQuery,
    budget: Budget,
    *,
    references: References,
    own_names: bool = False,
) -> Made:
    """Return the origins of an expression; raises UnreadSql.

    step: the transformation that applies to the value of the expression. own_names: the names that the query gives to
    its columns take precedence over columns of tables. The function is iterative, because a sum of 4,000 terms is a
    tree of that depth.
    """
    made: Made = {}
    todo: list[_Todo] = [(expression, step, frozenset())]
    while todo:
        one, how, bound = todo.pop()
        budget.spend()
        if isinstance(one, (exp.Star, exp.Columns)) or (isinstance(one, exp.Column) and isinstance(one.this, exp.Star)):
            references.read_all(one)
            references.patterns += isinstance(one, exp.Columns)
            if not (isinstance(one, exp.Star) and isinstance(one.parent, exp.Count)):  # `count(*)` counts rows
                found = scope.row(one.table if isinstance(one, exp.Column) else "")
                budget.copy(len(found))
                add(made, found, how)
        elif _names_column_by_value(one) or (references.has_places and _is_place(one)):
            raise UnreadSql("the SQL names a column by a value or by its position, which Headwater does not support")
        elif isinstance(one, exp.Column):
            if one.parts[0].name.casefold() not in bound:
                budget.copy(scope.lookups())
                found = scope.of(one, own_names_first=own_names)
                budget.spend(len(found))
                references.follow(one, found)
                add(made, found, how)
        elif isinstance(one, exp.Dot) and (field := _field(one, scope, budget, bound)) is not None:
            references.read_all(one)
            references.origins.update(field)
            add(made, field, how)
        elif isinstance(one, exp.Exists) and isinstance(one.this, exp.Query):
            # EXISTS tests whether there is a row; its columns do not matter
            whole = query(one.this, scope).whole
            budget.copy(len(whole))
            add(made, whole, how)
        elif isinstance(one, exp.Query):
            _add_query(made, query(one, scope), how, budget)
        elif not isinstance(one, _NOT_VALUES):
            todo.extend(_parts(one, how, bound, budget))
    return made


def _add_query(made: Made, relation: Relation, how: ColumnStep, budget: Budget) -> None:
    """Add the origins of a subquery in an expression: those of its columns, and those that decide about its rows."""
    if relation.is_open:
        raise UnreadSql(
            "a subquery in an expression uses `*` for a table, but no event of the run reports all columns of the table"
        )
    for _, each in relation.columns:
        budget.spend(len(each))
        add(made, each, how)
    budget.copy(len(relation.whole))
    add(made, relation.whole, how)


def _names_column_by_value(one: exp.Expr) -> bool:
    """Recognise `IDENTIFIER('name')`, Snowflake's `t.$2` and DuckDB's `#2`."""
    if isinstance(one, exp.Column):
        return isinstance(one.this, exp.Parameter)
    return isinstance(one, (exp.DynamicIdentifier, exp.PositionalColumn))


def _is_place(one: exp.Expr) -> bool:
    return isinstance(one, exp.Parameter) and isinstance(one.this, exp.Literal) and one.this.is_int


def _field(one: exp.Dot, scope: Scope, budget: Budget, bound: frozenset[str]) -> Made | None:
    """Return the origins of a field within a column, None if the expression is not a field of a column."""
    path = _path(one, budget)
    if not path or path[0].casefold() in bound:
        return None
    budget.copy(len(path) + scope.lookups())
    found = scope.path(path)
    budget.copy(len(found or ()))
    return found


def _path(one: exp.Dot, budget: Budget) -> list[str]:
    """Return the parts of the name of a field within a column; empty if the expression is not such a field."""
    names: list[str] = []
    at: exp.Expr = one
    while isinstance(at, exp.Dot):
        budget.copy(1)
        if not isinstance(at.expression, exp.Identifier):
            return []
        names.append(at.expression.name)
        at = at.this
    return [*(part.name for part in at.parts), *reversed(names)] if isinstance(at, exp.Column) else []


def _parts(one: exp.Expr, how: ColumnStep, bound: frozenset[str], budget: Budget) -> Iterator[_Todo]:
    condition = CONDITIONAL if how.direct else how
    if isinstance(one, (exp.Alias, exp.Paren, exp.Ordered, exp.Aliases)):
        yield one.this, how, bound
    elif isinstance(one, (exp.Case, exp.If)):
        yield from _branches(one, how, condition, bound)
    elif isinstance(one, exp.Window):
        yield one.this, how, bound
        yield from ((each, WINDOW if how.direct else how, bound) for each in _window(one, budget))
    elif isinstance(one, exp.Order) and one.this is not None:  # ORDER BY within an aggregate function
        yield one.this, how, bound
        yield from ((each, SORT if how.direct else how, bound) for each in one.expressions)
    elif isinstance(one, exp.Filter):
        yield one.this, how, bound
        yield one.expression, condition, bound
    elif isinstance(one, exp.Lambda) and _is_path(one):
        yield exp.column(one.expressions[0].name), how.after(CHANGED), bound
    elif isinstance(one, exp.Lambda):
        names = bound.union(each.name.casefold() for each in one.expressions)
        yield one.this, how.after(CHANGED), names
    elif isinstance(one, (exp.Kwarg, exp.PropertyEQ)):
        yield one.expression, how, bound
    else:
        done = _does(one)
        yield from ((each, how.after(done), bound) for each in one.iter_expressions())


def _is_path(one: exp.Lambda) -> bool:
    """Recognise `doc -> 'a'`, which the parser reads as a lambda, as access to a field."""
    return len(one.expressions) == 1 and isinstance(one.this, (exp.Literal, exp.Neg))


def _branches(one: exp.Expr, how: ColumnStep, condition: ColumnStep, bound: frozenset[str]) -> Iterator[_Todo]:
    """Yield the results of a CASE or IF, and its conditions."""
    for name, value in one.args.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, exp.If) and name == "ifs":
                yield each.this, condition, bound
                yield each.args["true"], how, bound
            elif isinstance(each, exp.Expr):
                yield each, condition if name == "this" else how, bound


def _window(one: exp.Window, budget: Budget) -> Iterator[exp.Expr]:
    yield from one.args.get("partition_by") or ()
    if one.args.get("order"):
        yield from one.args["order"].expressions
    if one.args.get("alias"):
        select = one.find_ancestor(exp.Select)
        windows, alias = (select.args.get("windows") or ()) if select else (), one.alias.casefold()
        budget.spend(1 + len(windows) // _WINDOWS_PER_STEP)
        for named in windows:
            if named.name.casefold() == alias:
                yield from _window(named, budget)


def _does(one: exp.Expr) -> ColumnStep:
    if not isinstance(one, exp.Func):
        return CHANGED
    name = one.name if isinstance(one, exp.Anonymous) else one.sql_name()
    masked = name.casefold() in _MASKS
    return ColumnStep(True, AGGREGATION if isinstance(one, exp.AggFunc) else CHANGED.subtype, masked)
