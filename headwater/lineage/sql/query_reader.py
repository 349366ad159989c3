"""Find the origins of the columns of a query."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from sqlglot import exp

from headwater.lineage.sql.errors import UnsupportedSql, shorten_name
from headwater.lineage.sql.expressions import FollowedReferences, expression_origins
from headwater.lineage.sql.limits import Budget
from headwater.lineage.sql.relations import (
    AGGREGATION,
    FILTER,
    GROUP,
    IDENTITY_STEP,
    JOIN,
    SORT,
    ColumnStep,
    Origins,
    Relation,
    add_origins,
    table_relation,
)
from headwater.lineage.sql.row_sources import (
    combine_queries,
    copy_origins,
    copy_relation,
    table_function_rows,
    values_rows,
)
from headwater.lineage.sql.scope import Scope, expand_star
from headwater.lineage.sql.tables import TableResolver, hidden_view

NamedRelations = Mapping[str, Relation]
"""Maps casefolded names to relations that a script defines itself: CTEs and tables that the script creates."""

_LATERAL_EVERYWHERE = ("duckdb",)
"""Dialects in which a query in FROM can use the preceding tables without LATERAL."""

_SOURCES_PER_COPY = 4
"""The number of sources that can be searched for a column in the time that copying one column takes."""

_PIVOT = "the SQL contains PIVOT or UNPIVOT, which Headwater does not support"

_FILTER_CLAUSES = ("where", "having", "qualify", "connect", "limit", "offset")
_SORT_CLAUSES = ("order", "sort", "cluster", "distribute")


class QueryReader:
    """Reads queries over the datasets of one run.

    references: the references that the reader followed.
    view_name: the first name that the reader treated as a hidden view (rule 13.4); empty without one.
    view_sources: the indexes of the datasets behind the hidden view.
    possible_row_filters: the indexes of datasets with unreported columns that may filter rows.
    """

    def __init__(self, tables: TableResolver, budget: Budget, dialect: str = ""):
        self.tables = tables
        self.budget = budget
        self._is_lateral = dialect in _LATERAL_EVERYWHERE
        self._relations: dict[int, Relation] = {}
        self._hidden_view: Relation | None = None
        self.references = FollowedReferences(dialect)
        self.view_sources: set[int] = set()
        self.possible_row_filters: set[int] = set()
        self.view_name = ""

    def read_query(self, node: exp.Expr, named_relations: NamedRelations, outer: Scope | None = None) -> Relation:
        """Return the result of a query as a relation; raises UnsupportedSql if the query is not supported.

        named_relations: the relations that the script defines and the query can use.
        outer: the scope of the surrounding query, None for the outermost query.
        """
        self.budget.spend()
        named_relations = self.with_ctes(node, named_relations, outer)
        if isinstance(node, exp.Select):
            return self._read_select(node, named_relations, outer)
        if isinstance(node, exp.SetOperation):
            return self._read_set_operation(node, named_relations, outer)
        if isinstance(node, exp.Subquery):
            inner = self.read_query(node.this, named_relations, outer)
            if node.args.get("pivots"):
                raise UnsupportedSql(_PIVOT)
            return self._with_order_by(node, inner, named_relations)
        if isinstance(node, exp.Values):
            return values_rows(
                node,
                lambda each, step: self.expression_origins(each, named_relations, outer or Scope(), step),
                self.budget,
            )
        if isinstance(node, (exp.Table, exp.Paren)):
            return self.read_source(
                node.this if isinstance(node, exp.Paren) else node, named_relations, outer or Scope()
            )
        raise UnsupportedSql(f"the SQL contains a kind of query that Headwater does not support: {node.key.upper()}")

    def with_ctes(self, node: exp.Expr, named_relations: NamedRelations, outer: Scope | None = None) -> NamedRelations:
        """Return the relations that a query or statement can use by name, including its own CTEs."""
        with_ = node.args.get("with_")
        if with_ is None:
            return named_relations
        found = dict(named_relations)
        for cte in with_.expressions:
            key = cte.alias.casefold()
            if with_.args.get("recursive") and isinstance(cte.this, exp.SetOperation):
                self._read_recursive_cte(cte, key, found, outer)
            else:
                found[key] = self._with_alias_columns(self.read_query(cte.this, found, outer), cte)
        return found

    def _read_recursive_cte(self, cte: exp.CTE, key: str, found: dict[str, Relation], outer: Scope | None) -> None:
        """Add a recursive CTE to `found` under `key`.

        The first query of the CTE is read first, then the whole CTE until another round adds no origin.
        """
        found[key] = relation = self._with_alias_columns(self.read_query(cte.this.this, found, outer), cte)
        for _ in range(len(relation.columns) + 2):
            before = relation
            found[key] = relation = self._with_alias_columns(self.read_query(cte.this, found, outer), cte)
            if before.columns == relation.columns and before.row_origins == relation.row_origins:
                return

    def read_source(self, node: exp.Expr, named_relations: NamedRelations, scope: Scope) -> Relation:
        """Return the relation to which a source in a FROM clause refers, without the column names of its alias.

        Raises UnsupportedSql for a table that is neither a dataset of the run nor a view over its inputs.
        """
        if isinstance(node, exp.Table):
            return self._read_table(node, named_relations, scope)
        if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Query):
            return self.read_query(node.this, named_relations, scope)
        if isinstance(node, (exp.Unnest, exp.Lateral, exp.Func, exp.TableFromRows)):
            return table_function_rows(
                node, lambda each, step: self.expression_origins(each, named_relations, scope, step)
            )
        return self.read_query(
            node,
            named_relations,
            scope if isinstance(node, exp.Values) else scope.outer_scope_of_subquery(sees_sources=self._is_lateral),
        )

    def add_source(self, node: exp.Expr, named_relations: NamedRelations, scope: Scope) -> None:
        """Add the source of a FROM or JOIN clause to a scope."""
        if node.args.get("pivots"):
            raise UnsupportedSql(_PIVOT)
        relation = self._with_alias_columns(self.read_source(node, named_relations, scope), node)
        scope.add(node.alias_or_name, relation)
        for join in node.args.get("joins") or ():
            self.read_join(join, named_relations, scope)
        for lateral in node.args.get("laterals") or ():
            self.add_source(lateral, named_relations, scope)

    def expression_origins(
        self,
        node: exp.Expr,
        named_relations: NamedRelations,
        scope: Scope,
        step: ColumnStep,
        *,
        prefer_aliases: bool = False,
    ) -> Origins:
        """Return the origins of an expression; raises UnsupportedSql if they cannot be determined.

        step: the transformation that applies to the value of the expression.
        prefer_aliases: whether names that the query gives to its columns take precedence over columns of tables.
        """

        def read_subquery(inner: exp.Expr, inner_scope: Scope) -> Relation:
            return self.read_query(inner, named_relations, inner_scope)

        return expression_origins(
            node, scope, step, read_subquery, self.budget, references=self.references, prefer_aliases=prefer_aliases
        )

    def _add_origins(self, origins: Origins, other: Origins, step: ColumnStep) -> None:
        self.budget.spend_copies(len(other))
        add_origins(origins, other, step)

    def _add_all_origins(self, row_origins: Origins, columns: Iterable[tuple[str, Origins]], step: ColumnStep) -> None:
        for _, origins in columns:
            self._add_origins(row_origins, origins, step)

    # One SELECT

    def _read_select(self, node: exp.Select, named_relations: NamedRelations, outer: Scope | None) -> Relation:
        scope, row_origins = Scope(outer), dict[tuple[int, str], set[ColumnStep]]()
        if node.args.get("match") or node.args.get("pivots"):
            raise UnsupportedSql("the SQL contains MATCH_RECOGNIZE or PIVOT, which Headwater does not support")
        if node.args.get("from_"):
            self.add_source(node.args["from_"].this, named_relations, scope)
        for join in node.args.get("joins") or ():
            self.read_join(join, named_relations, scope)
        for lateral in node.args.get("laterals") or ():
            self.add_source(lateral, named_relations, scope)
        columns: list[tuple[str, Origins]] = []
        patterns = self.references.pattern_count
        for each in node.expressions:
            for name, origins in self._read_projection(each, named_relations, scope):
                columns.append((name, origins))
                scope.aliases.setdefault(name.casefold(), origins)
        for relation in scope.sources.values():
            self._add_origins(row_origins, relation.row_origins, IDENTITY_STEP)
        for condition in scope.join_conditions:
            self._add_origins(row_origins, condition, JOIN)
        self._add_filters(node, named_relations, scope, row_origins)
        self._add_sorts_and_groups(node, columns, named_relations, scope, row_origins)
        found = Relation(columns)
        found.row_origins = row_origins
        found.has_hidden_names = self.references.pattern_count > patterns
        self._pass_unlisted_columns(node, found, scope)
        return found

    def _pass_unlisted_columns(self, node: exp.Select, found: Relation, scope: Scope) -> None:
        """If a query has a star, let its result contain the columns of its tables that no event reports.

        The result looks up unknown names in these tables. If DISTINCT, GROUP BY or ORDER BY ALL may use unreported
        columns, `possible_row_filters` records the tables.
        found: the result of the query, which this method changes.
        """
        stars = [each for each in node.expressions if each.is_star]
        if not stars or not any(relation.incomplete_datasets for relation in scope.sources.values()):
            return
        table_aliases = {each.table.casefold() for each in stars if isinstance(each, exp.Column)}
        is_all = any(isinstance(each, exp.Star) for each in stars)
        more = [
            each for key, each in scope.sources.items() if each.incomplete_datasets and (is_all or key in table_aliases)
        ]
        found.incomplete_datasets = frozenset().union(*(each.incomplete_datasets for each in more))

        def resolve_unlisted(name: str) -> Origins:
            if len(more) > 1:
                raise UnsupportedSql(
                    f"column {shorten_name(name)} may belong to several tables, because no event of the run "
                    "reports all of their columns"
                )
            return more[0].column_origins(name) or {}

        if more:
            found.resolve_unlisted = resolve_unlisted
        order = node.args.get("order")
        sorts = order is not None and any(_is_all_keyword(each.this) for each in order.expressions)
        if sorts or node.args.get("distinct") or node.args.get("group"):
            self.possible_row_filters |= found.incomplete_datasets

    def _add_filters(
        self, node: exp.Select, named_relations: NamedRelations, scope: Scope, row_origins: Origins
    ) -> None:
        for name in _FILTER_CLAUSES:
            if (condition := node.args.get(name)) is not None:
                self._add_origins(
                    row_origins, self.expression_origins(condition, named_relations, scope, FILTER), IDENTITY_STEP
                )

    def _add_sorts_and_groups(
        self,
        node: exp.Select,
        columns: Sequence[tuple[str, Origins]],
        named_relations: NamedRelations,
        scope: Scope,
        row_origins: Origins,
    ) -> None:
        """Add the origins of GROUP BY, ORDER BY and DISTINCT to `row_origins`.

        These clauses contain expressions, names of columns, or positions of columns.
        """
        clauses = [(clause, SORT, True) for name in _SORT_CLAUSES if (clause := node.args.get(name))]
        group, distinct = node.args.get("group"), node.args.get("distinct")
        clauses += [(group, GROUP, False)] if group else []
        clauses += [(distinct, GROUP, True)] if distinct and distinct.args.get("on") else []
        if distinct and not distinct.args.get("on"):
            self._add_all_origins(row_origins, columns, GROUP)
        if group and group.args.get("all"):
            self._add_all_origins(row_origins, (each for each in columns if not _is_aggregate(each[1])), GROUP)
        for clause, step, prefer_aliases in clauses:
            for each in clause.iter_expressions():
                sort_key = each.this if isinstance(each, exp.Ordered) else each
                if _is_all_keyword(sort_key):
                    self._add_all_origins(row_origins, columns, step)
                elif isinstance(sort_key, exp.Literal) and sort_key.is_int and 0 < int(sort_key.name) <= len(columns):
                    self._record_positions(columns[: int(sort_key.name)])
                    self._add_origins(row_origins, columns[int(sort_key.name) - 1][1], step)
                else:
                    self._add_origins(
                        row_origins,
                        self.expression_origins(each, named_relations, scope, step, prefer_aliases=prefer_aliases),
                        IDENTITY_STEP,
                    )
                    if prefer_aliases and not isinstance(
                        sort_key, exp.Column
                    ):  # dialects differ about names in expressions
                        with suppress(UnsupportedSql):
                            self._add_origins(
                                row_origins, self.expression_origins(each, named_relations, scope, step), IDENTITY_STEP
                            )

    def _read_projection(
        self, each: exp.Expr, named_relations: NamedRelations, scope: Scope
    ) -> Iterator[tuple[str, Origins]]:
        star = each.this if isinstance(each, exp.Column) and isinstance(each.this, exp.Star) else each
        if isinstance(star, exp.Star):
            table_alias = each.table if isinstance(each, exp.Column) else ""
            self.references.record(each)
            self.references.record(star)
            changed = [*(star.args.get("except_") or ()), *(star.args.get("rename") or ())]
            self.references.record_all(changed)
            for named_by_star in (*changed, *(star.args.get("replace") or ())):
                self._record_star_change(named_by_star, table_alias, scope)
            yield from expand_star(
                star,
                table_alias,
                scope,
                lambda one: self.expression_origins(one, named_relations, scope, IDENTITY_STEP),
                self.budget,
            )
        elif isinstance(each, exp.Aliases):
            origins = self.expression_origins(each.this, named_relations, scope, IDENTITY_STEP)
            yield from ((name.name, origins) for name in each.args["expressions"])
        else:
            yield each.alias_or_name, self.expression_origins(each, named_relations, scope, IDENTITY_STEP)

    def _record_positions(self, columns: Sequence[tuple[str, Origins]]) -> None:
        """Record columns as named if a statement uses their positions.

        If one of these columns did not exist, the others would have different positions.
        """
        for _, origins in columns:
            self.budget.spend_copies(1 + len(origins))
            self.references.named_origins.update(origins)

    def _record_star_change(self, change: exp.Expr, table_alias: str, scope: Scope) -> None:
        """Record the column that a star omits, replaces or renames; without this column, the statement would fail."""
        if isinstance(change, exp.Alias):  # REPLACE names the column after AS, RENAME before it
            name = change.alias if change.arg_key == "replace" else change.this.name
        else:
            name = change.name
        self.budget.spend_copies(1 + len(scope.sources) // _SOURCES_PER_COPY)
        for relation in scope.sources.values() if not table_alias else [scope.sources.get(table_alias.casefold())]:
            if relation is not None and (relation.has_unlisted_columns or relation.has_column(name)):
                self.references.named_origins.update(relation.column_origins(name) or {})

    # Sources

    def read_join(self, join: exp.Join, named_relations: NamedRelations, scope: Scope) -> None:
        """Add a joined table and the condition of the join to a scope."""
        self.budget.spend_copies(1 + len(scope.sources) // 8)
        known, before = dict(scope.sources), list(scope.sources.values())
        self.add_source(join.this, named_relations, scope)
        if join.args.get("on") is not None:
            scope.join_conditions.append(self.expression_origins(join.args["on"], named_relations, scope, JOIN))
        using = [each.name for each in join.args.get("using") or ()]
        self.references.record_all(join.args.get("using"))
        if join.method == "NATURAL":
            using += self._natural_join_columns(before, list(scope.sources.values())[len(before) :])
        scope.merged_names.update(name.casefold() for name in using)
        for name in using:
            self.budget.spend_copies(len(scope.sources))
            scope.join_conditions.append(_using_columns(scope.sources.values(), name))
            self.references.named_origins.update(scope.join_conditions[-1])
        if join.kind in ("SEMI", "ANTI"):  # the join only filters rows, so its columns are not visible
            scope.join_conditions += [relation.row_origins for relation in list(scope.sources.values())[len(before) :]]
            scope.sources = known

    def _natural_join_columns(self, before: Sequence[Relation], new: Sequence[Relation]) -> list[str]:
        """Return the names of the columns that a NATURAL JOIN compares.

        Raises UnsupportedSql if a table has unknown columns.
        before: the tables before the join. new: the joined tables.
        """
        if any(relation.has_unlisted_columns for relation in (*before, *new)):
            raise UnsupportedSql(
                "the SQL contains a NATURAL JOIN, but no event of the run reports all columns of the joined tables"
            )
        self.budget.spend(len(before) * sum(len(relation.columns) for relation in new))
        return [
            name for relation in new for name, _ in relation.columns if any(other.has_column(name) for other in before)
        ]

    def _read_table(self, node: exp.Table, named_relations: NamedRelations, scope: Scope) -> Relation:
        if isinstance(node.this, exp.DynamicIdentifier):
            raise UnsupportedSql("the SQL names a table by a value, which Headwater does not support")
        if not isinstance(node.this, (exp.Identifier, exp.Dot, exp.Var)):
            return self.read_source(node.this, named_relations, scope) if node.this else Relation()
        name = ".".join(part.name for part in node.parts)
        if (found := named_relations.get(name.casefold())) is not None:
            return found
        index = self.tables.find_dataset(name)
        if index is None:
            path = [part.name for part in node.parts]
            fields = scope.field_origins(path) if len(path) > 1 and path[0].casefold() in scope.sources else None
            if fields is not None:  # BigQuery: FROM t, t.items
                return Relation(resolve_unlisted=lambda _: fields)
            return self._read_hidden_view(name)
        return self.dataset_relation(index)

    def dataset_relation(self, index: int) -> Relation:
        """Return the dataset at an index as a relation with the columns of its schema.

        Callers must not change the relation, because it is cached.
        """
        if index not in self._relations:
            table = self.tables.tables[index]
            self._relations[index] = table_relation(
                index, table.columns, is_incomplete=table.is_incomplete, is_joined=table.is_joined
            )
        return self._relations[index]

    def _read_hidden_view(self, name: str) -> Relation:
        """Return the hidden view for a name that is not a dataset of the run (rule 13.4).

        Raises UnsupportedSql if the script names all inputs, so that no input can be behind the view.
        """
        if self._hidden_view is None:
            self._hidden_view, self.view_sources = hidden_view(self.tables)
        self.view_name = self.view_name or name
        if not self.view_sources:
            raise UnsupportedSql(f"the SQL reads {shorten_name(name)}, which is not a dataset of the run")
        return self._hidden_view

    def _with_alias_columns(self, relation: Relation, node: exp.Expr) -> Relation:
        alias = node.args.get("alias")
        names = [column.name for column in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []
        if not names:
            return relation
        if relation.has_unlisted_columns:
            raise UnsupportedSql(
                "an alias renames the columns of a table, but no event of the run reports all columns of this table"
            )
        self.budget.spend_copies(len(relation.columns))
        self._record_positions(relation.columns[: len(names)])
        return relation.with_column_names(names)

    # Several queries

    def _read_set_operation(
        self, node: exp.SetOperation, named_relations: NamedRelations, outer: Scope | None
    ) -> Relation:
        """Read a chain of UNION, EXCEPT and INTERSECT from left to right.

        The method is iterative, because a script may chain 2,000 queries.
        """
        operations: list[exp.SetOperation] = []
        first_query: exp.Expr = node
        while isinstance(first_query, exp.SetOperation):
            operations.append(first_query)
            named_relations = (
                self.with_ctes(first_query, named_relations, outer) if first_query is not node else named_relations
            )
            first_query = first_query.this
        first = self.read_query(first_query, named_relations, outer)
        found, is_named = copy_relation(first, self.budget), False
        for each in reversed(operations):
            other = self.read_query(each.expression, named_relations, outer)
            if found.incomplete_datasets or other.incomplete_datasets:
                raise UnsupportedSql(
                    "a query of a UNION uses `*` for a table, but no event of the run reports all columns of this table"
                )
            if not each.args.get("by_name"):  # the position of each column depends on all columns before it
                self._record_positions(other.columns if is_named else (*found.columns, *other.columns))
                is_named = True
            elif not isinstance(each, exp.Union) or each.args.get("distinct"):  # the operation compares all columns
                self._record_positions((*found.columns, *other.columns))
            combine_queries(found, other, each, self.budget)
        return self._with_order_by(node, found, named_relations)

    def _with_order_by(self, node: exp.Expr, relation: Relation, named_relations: NamedRelations) -> Relation:
        """Return the relation with the ORDER BY of a set operation or of a query in brackets.

        Names in this ORDER BY refer to the columns of the result.
        """
        order = node.args.get("order")
        if order is None:
            return relation
        scope = Scope()
        scope.add("", relation)
        self.budget.spend_copies(len(relation.row_origins))
        row_origins = copy_origins(relation.row_origins)
        for each in order.expressions:
            sort_key = each.this if isinstance(each, exp.Ordered) else each
            if _is_all_keyword(sort_key):
                self._add_all_origins(row_origins, relation.columns, SORT)
            elif (
                isinstance(sort_key, exp.Literal)
                and sort_key.is_int
                and 0 < int(sort_key.name) <= len(relation.columns)
            ):
                self._record_positions(relation.columns[: int(sort_key.name)])
                self._add_origins(row_origins, relation.columns[int(sort_key.name) - 1][1], SORT)
            else:
                self._add_origins(
                    row_origins, self.expression_origins(each, named_relations, scope, SORT), IDENTITY_STEP
                )
        self.budget.spend_copies(len(relation.columns))
        found = Relation(
            relation.columns, resolve_unlisted=relation.resolve_unlisted, dataset_index=relation.dataset_index
        )
        found.has_hidden_names, found.incomplete_datasets = relation.has_hidden_names, relation.incomplete_datasets
        found.row_origins = row_origins
        return found


def _is_all_keyword(each: exp.Expr) -> bool:
    """Return whether an expression is the ALL in `ORDER BY ALL`."""
    return isinstance(each, exp.Var) and each.name.upper() == "ALL"


def _is_aggregate(origins: Origins) -> bool:
    return any(step.direct and step.subtype == AGGREGATION for steps in origins.values() for step in steps)


def _using_columns(sources: Iterable[Relation], name: str) -> Origins:
    """Return the origins of the columns that USING compares.

    These are the columns with the given name in all sources that have or may have such a column.
    """
    origins: Origins = {}
    for relation in sources:
        if relation.has_column(name) or relation.has_unlisted_columns:
            add_origins(origins, relation.column_origins(name) or {}, JOIN)
    return origins
