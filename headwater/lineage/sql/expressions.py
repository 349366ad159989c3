"""Find the columns that an SQL expression uses and how it transforms them.

`FollowedReferences` records which references of a script were followed (rule 13.8).
"""

from collections.abc import Callable, Iterator

from sqlglot import exp

from headwater.lineage.sql.errors import UnsupportedSql
from headwater.lineage.sql.limits import Budget
from headwater.lineage.sql.relations import (
    AGGREGATION,
    CONDITIONAL,
    SORT,
    TRANSFORMATION_STEP,
    WINDOW,
    ColumnStep,
    Origin,
    Origins,
    Relation,
    add_origins,
)
from headwater.lineage.sql.scope import Scope


class FollowedReferences:
    """Collects the references that were followed to a source column, or that name a column of the output.

    named_origins: the columns of datasets that the script names. Columns that only a star selects are not included.
    pattern_count: the number of expressions that select columns by a pattern of their names.
    has_positional_columns: whether `$2` is the second column of a table, as in Snowflake. In other dialects, `$2` is a
    parameter.
    """

    def __init__(self, dialect: str = "") -> None:
        self._followed: dict[int, exp.Expr] = {}
        self.named_origins: set[Origin] = set()
        self.pattern_count = 0
        self.has_positional_columns = dialect == "snowflake"

    def record_column(self, reference: exp.Expr, origins: Origins) -> None:
        """Record a reference to a column as followed; origins: the dataset columns from which the column comes."""
        self.record(reference)
        self.named_origins.update(origins)

    def record(self, reference: exp.Expr) -> None:
        """Record a reference as followed."""
        self._followed[id(reference)] = reference  # stored, so that no other object gets the same id

    def record_all(self, node: object) -> None:
        """Record all references in a part of a statement, or in a list of parts, as followed."""
        for each in node if isinstance(node, list) else [node]:
            if isinstance(each, exp.Expr):
                self._followed.update((id(reference), reference) for reference in each.find_all(exp.Column, exp.Star))

    def has_unfollowed(self, statement: exp.Expr) -> bool:
        """Return whether a statement has a reference that was not followed."""
        every = statement.find_all(exp.Column, exp.Star)
        return any(id(each) not in self._followed and not _is_star_of_column(each) for each in every)


def _is_star_of_column(reference: exp.Expr) -> bool:
    """Return whether a star belongs to `t.*`. The parser represents `t.*` as a column that contains the star."""
    return isinstance(reference, exp.Star) and isinstance(reference.parent, exp.Column)


_MASKING_FUNCTIONS = frozenset({
    "md5", "md5_digest", "sha", "sha1", "s_h_a1_digest", "sha2", "s_h_a2_digest", "sha256", "sha512", "sha224",
    "sha384", "hash", "xxhash64", "murmur3", "crc32", "hashbytes", "standard_hash", "farm_fingerprint", "mask", "hmac",
    "hmac_md5", "hmac_sha1", "hmac_sha256", "hmac_sha512", "digest", "hashtext", "count", "count_if", "approx_distinct",
})  # fmt: skip
"""Functions that mask: the argument cannot be recovered from the result. As in Spark's listener, counts mask, too."""

_NON_VALUE_NODES = (exp.Identifier, exp.DataType, exp.Table)

_WINDOWS_PER_STEP = 8
"""The number of window names that can be compared in one step of the budget."""

ReadQuery = Callable[[exp.Expr, Scope], Relation]
_PendingExpression = tuple[exp.Expr, ColumnStep, frozenset[str]]
"""An expression, the step that applies to its value, and the names of lambda parameters that are in scope."""


def expression_origins(
    expression: exp.Expr,
    scope: Scope,
    step: ColumnStep,
    read_query: ReadQuery,
    budget: Budget,
    *,
    references: FollowedReferences,
    prefer_aliases: bool = False,
) -> Origins:
    """Return the origins of an expression; raises UnsupportedSql if they cannot be determined.

    The function is iterative, because a sum of 4,000 terms is a tree with 4,000 levels.
    step: the transformation that applies to the value of the expression.
    read_query: returns the relation of a subquery.
    references: collects the references in the expression.
    prefer_aliases: whether names that the query gives to its columns take precedence over columns of tables.
    """
    origins: Origins = {}
    pending: list[_PendingExpression] = [(expression, step, frozenset())]
    while pending:
        node, node_step, lambda_parameters = pending.pop()
        budget.spend()
        if isinstance(node, (exp.Star, exp.Columns)) or (
            isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
        ):
            references.record_all(node)
            references.pattern_count += isinstance(node, exp.Columns)
            if not (isinstance(node, exp.Star) and isinstance(node.parent, exp.Count)):  # `count(*)` counts rows
                found = scope.all_columns(node.table if isinstance(node, exp.Column) else "")
                budget.spend_copies(len(found))
                add_origins(origins, found, node_step)
        elif _names_column_by_value(node) or (references.has_positional_columns and _is_column_position(node)):
            raise UnsupportedSql(
                "the SQL names a column by a value or by its position, which Headwater does not support"
            )
        elif isinstance(node, exp.Column):
            if node.parts[0].name.casefold() not in lambda_parameters:
                budget.spend_copies(scope.lookup_cost())
                found = scope.column_origins(node, prefer_aliases=prefer_aliases)
                budget.spend(len(found))
                references.record_column(node, found)
                add_origins(origins, found, node_step)
        elif (
            isinstance(node, exp.Dot) and (field := _field_origins(node, scope, budget, lambda_parameters)) is not None
        ):
            references.record_all(node)
            references.named_origins.update(field)
            add_origins(origins, field, node_step)
        elif isinstance(node, exp.Exists) and isinstance(node.this, exp.Query):
            # EXISTS tests whether there is a row; its columns do not matter
            row_origins = read_query(node.this, scope).row_origins
            budget.spend_copies(len(row_origins))
            add_origins(origins, row_origins, node_step)
        elif isinstance(node, exp.Query):
            _add_subquery(origins, read_query(node, scope), node_step, budget)
        elif not isinstance(node, _NON_VALUE_NODES):
            pending.extend(_operands(node, node_step, lambda_parameters, budget))
    return origins


def _add_subquery(origins: Origins, relation: Relation, node_step: ColumnStep, budget: Budget) -> None:
    """Add the origins of a subquery in an expression: the origins of its columns and of its rows."""
    if relation.has_unlisted_columns:
        raise UnsupportedSql(
            "a subquery in an expression uses `*` for a table, but no event of the run reports all columns of the table"
        )
    for _, each in relation.columns:
        budget.spend(len(each))
        add_origins(origins, each, node_step)
    budget.spend_copies(len(relation.row_origins))
    add_origins(origins, relation.row_origins, node_step)


def _names_column_by_value(node: exp.Expr) -> bool:
    """Return whether an expression is `IDENTIFIER('name')`, Snowflake's `t.$2` or DuckDB's `#2`."""
    if isinstance(node, exp.Column):
        return isinstance(node.this, exp.Parameter)
    return isinstance(node, (exp.DynamicIdentifier, exp.PositionalColumn))


def _is_column_position(node: exp.Expr) -> bool:
    return isinstance(node, exp.Parameter) and isinstance(node.this, exp.Literal) and node.this.is_int


def _field_origins(node: exp.Dot, scope: Scope, budget: Budget, lambda_parameters: frozenset[str]) -> Origins | None:
    """Return the origins of a field of a column, None if the expression is not such a field."""
    path = _field_path(node, budget)
    if not path or path[0].casefold() in lambda_parameters:
        return None
    budget.spend_copies(len(path) + scope.lookup_cost())
    found = scope.field_origins(path)
    budget.spend_copies(len(found or ()))
    return found


def _field_path(node: exp.Dot, budget: Budget) -> list[str]:
    """Return the parts of the name of a field of a column; empty if the expression is not such a field."""
    names: list[str] = []
    current: exp.Expr = node
    while isinstance(current, exp.Dot):
        budget.spend_copies(1)
        if not isinstance(current.expression, exp.Identifier):
            return []
        names.append(current.expression.name)
        current = current.this
    return [*(part.name for part in current.parts), *reversed(names)] if isinstance(current, exp.Column) else []


def _operands(
    node: exp.Expr, node_step: ColumnStep, lambda_parameters: frozenset[str], budget: Budget
) -> Iterator[_PendingExpression]:
    condition = CONDITIONAL if node_step.direct else node_step
    if isinstance(node, (exp.Alias, exp.Paren, exp.Ordered, exp.Aliases)):
        yield node.this, node_step, lambda_parameters
    elif isinstance(node, (exp.Case, exp.If)):
        yield from _case_branches(node, node_step, condition, lambda_parameters)
    elif isinstance(node, exp.Window):
        yield node.this, node_step, lambda_parameters
        yield from (
            (each, WINDOW if node_step.direct else node_step, lambda_parameters)
            for each in _window_clauses(node, budget)
        )
    elif isinstance(node, exp.Order) and node.this is not None:  # ORDER BY within an aggregate function
        yield node.this, node_step, lambda_parameters
        yield from ((each, SORT if node_step.direct else node_step, lambda_parameters) for each in node.expressions)
    elif isinstance(node, exp.Filter):
        yield node.this, node_step, lambda_parameters
        yield node.expression, condition, lambda_parameters
    elif isinstance(node, exp.Lambda) and _is_field_access(node):
        yield (
            exp.column(node.expressions[0].name),
            node_step.combine_with_earlier(TRANSFORMATION_STEP),
            lambda_parameters,
        )
    elif isinstance(node, exp.Lambda):
        names = lambda_parameters.union(each.name.casefold() for each in node.expressions)
        yield node.this, node_step.combine_with_earlier(TRANSFORMATION_STEP), names
    elif isinstance(node, (exp.Kwarg, exp.PropertyEQ)):
        yield node.expression, node_step, lambda_parameters
    else:
        function_step = _function_step(node)
        yield from (
            (each, node_step.combine_with_earlier(function_step), lambda_parameters) for each in node.iter_expressions()
        )


def _is_field_access(node: exp.Lambda) -> bool:
    """Return whether a lambda is an access to a field such as `doc -> 'a'`, which the parser reads as a lambda."""
    return len(node.expressions) == 1 and isinstance(node.this, (exp.Literal, exp.Neg))


def _case_branches(
    node: exp.Expr, node_step: ColumnStep, condition: ColumnStep, lambda_parameters: frozenset[str]
) -> Iterator[_PendingExpression]:
    """Yield the results of a CASE or IF with `node_step`, and its conditions with `condition`."""
    for name, value in node.args.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, exp.If) and name == "ifs":
                yield each.this, condition, lambda_parameters
                yield each.args["true"], node_step, lambda_parameters
            elif isinstance(each, exp.Expr):
                yield each, condition if name == "this" else node_step, lambda_parameters


def _window_clauses(node: exp.Window, budget: Budget) -> Iterator[exp.Expr]:
    yield from node.args.get("partition_by") or ()
    if node.args.get("order"):
        yield from node.args["order"].expressions
    if node.args.get("alias"):
        select = node.find_ancestor(exp.Select)
        windows, alias = (select.args.get("windows") or ()) if select else (), node.alias.casefold()
        budget.spend(1 + len(windows) // _WINDOWS_PER_STEP)
        for named in windows:
            if named.name.casefold() == alias:
                yield from _window_clauses(named, budget)


def _function_step(node: exp.Expr) -> ColumnStep:
    if not isinstance(node, exp.Func):
        return TRANSFORMATION_STEP
    name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
    masked = name.casefold() in _MASKING_FUNCTIONS
    return ColumnStep(True, AGGREGATION if isinstance(node, exp.AggFunc) else TRANSFORMATION_STEP.subtype, masked)
