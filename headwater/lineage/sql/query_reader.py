"""Find the origins of the columns of a query."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from sqlglot import exp

from headwater.lineage.sql.column_steps import (
    AGGREGATION,
    COPIED,
    FILTER,
    GROUP,
    JOIN,
    SORT,
    ColumnStep,
    Made,
    Relation,
    add,
    table_relation,
)
from headwater.lineage.sql.expression_steps import made_of
from headwater.lineage.sql.hidden_views import view_of_hidden
from headwater.lineage.sql.known_tables import KnownTables
from headwater.lineage.sql.made_rows import rows_of, written_rows
from headwater.lineage.sql.query_scope import Scope
from headwater.lineage.sql.references import References
from headwater.lineage.sql.sql_bounds import Budget
from headwater.lineage.sql.star_columns import star_columns
from headwater.lineage.sql.united_queries import copied, copy_of, unite
from headwater.lineage.sql.unread_sql import UnreadSql, shown

Named = Mapping[str, Relation]
"""Relations that a statement or a script names itself, by casefolded name: CTEs and tables that the script creates."""

_LATERAL_EVERYWHERE = ("duckdb",)
"""Dialects in which a query in FROM can use the tables before it without LATERAL."""

_SOURCES_PER_COPY = 4
"""The number of sources that can be searched for a column in the time of one column copy."""

_PIVOT = "the SQL contains PIVOT or UNPIVOT, which Headwater does not support"

_FILTERS = ("where", "having", "qualify", "connect", "limit", "offset")
_SORTS = ("order", "sort", "cluster", "distribute")


class QueryReader:
    """Reads queries over the datasets of one run.

    references: the references that it followed; view: the first name that it treated as a hidden view (rule 13.4).
    behind_views: indexes of the datasets behind that view.
    left_open: indexes of datasets with a column that no event reports and that may determine which rows remain.
    """

    def __init__(self, tables: KnownTables, budget: Budget, dialect: str = ""):
        self.tables = tables
        self.budget = budget
        self._is_lateral = dialect in _LATERAL_EVERYWHERE
        self._relations: dict[int, Relation] = {}
        self._any_view: Relation | None = None
        self.references = References(dialect)
        self.behind_views: set[int] = set()
        self.left_open: set[int] = set()
        self.view = ""

    def query(self, node: exp.Expr, named: Named, outer: Scope | None = None) -> Relation:
        """Return the relation that a query returns; raises UnreadSql.

        outer: the scope of the surrounding query, None for the outermost query.
        """
        self.budget.spend()
        named = self.with_ctes(node, named, outer)
        if isinstance(node, exp.Select):
            return self._select(node, named, outer)
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, named, outer)
        if isinstance(node, exp.Subquery):
            inner = self.query(node.this, named, outer)
            if node.args.get("pivots"):
                raise UnreadSql(_PIVOT)
            return self._sorted(node, inner, named)
        if isinstance(node, exp.Values):
            return written_rows(node, lambda each, step: self.steps(each, named, outer or Scope(), step), self.budget)
        if isinstance(node, (exp.Table, exp.Paren)):
            return self.source(node.this if isinstance(node, exp.Paren) else node, named, outer or Scope())
        raise UnreadSql(f"the SQL contains a kind of query that Headwater does not support: {node.key.upper()}")

    def with_ctes(self, node: exp.Expr, named: Named, outer: Scope | None = None) -> Named:
        """Return the names that are visible in a query or a statement, including its CTEs."""
        with_ = node.args.get("with_")
        if with_ is None:
            return named
        found = dict(named)
        for cte in with_.expressions:
            key = cte.alias.casefold()
            if with_.args.get("recursive") and isinstance(cte.this, exp.SetOperation):
                self._recursive(cte, key, found, outer)
            else:
                found[key] = self._renamed(self.query(cte.this, found, outer), cte)
        return found

    def _recursive(self, cte: exp.CTE, key: str, found: dict[str, Relation], outer: Scope | None) -> None:
        """Read the first query of a recursive CTE, then the whole CTE until another round adds no origin."""
        found[key] = relation = self._renamed(self.query(cte.this.this, found, outer), cte)
        for _ in range(len(relation.columns) + 2):
            before = relation
            found[key] = relation = self._renamed(self.query(cte.this, found, outer), cte)
            if before.columns == relation.columns and before.whole == relation.whole:
                return

    def source(self, node: exp.Expr, named: Named, scope: Scope) -> Relation:
        """Return the relation that a FROM clause refers to, without its alias.

        Raises UnreadSql for a table that is neither a dataset of the run nor a view over its inputs.
        """
        if isinstance(node, exp.Table):
            return self._table(node, named, scope)
        if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Query):
            return self.query(node.this, named, scope)
        if isinstance(node, (exp.Unnest, exp.Lateral, exp.Func, exp.TableFromRows)):
            return rows_of(node, lambda each, step: self.steps(each, named, scope, step))
        return self.query(node, named, scope if isinstance(node, exp.Values) else scope.around(known=self._is_lateral))

    def add_source(self, node: exp.Expr, named: Named, scope: Scope) -> None:
        """Add the source of a FROM or JOIN clause to a scope."""
        if node.args.get("pivots"):
            raise UnreadSql(_PIVOT)
        relation = self._renamed(self.source(node, named, scope), node)
        scope.add(node.alias_or_name, relation)
        for join in node.args.get("joins") or ():
            self.join(join, named, scope)
        for lateral in node.args.get("laterals") or ():
            self.add_source(lateral, named, scope)

    def steps(self, node: exp.Expr, named: Named, scope: Scope, step: ColumnStep, *, own_names: bool = False) -> Made:
        """Return the origins of an expression, each followed by `step`; raises UnreadSql."""

        def query(inner: exp.Expr, around: Scope) -> Relation:
            return self.query(inner, named, around)

        return made_of(node, scope, step, query, self.budget, references=self.references, own_names=own_names)

    def _add(self, made: Made, other: Made, step: ColumnStep) -> None:
        self.budget.copy(len(other))
        add(made, other, step)

    def _add_each(self, whole: Made, columns: Iterable[tuple[str, Made]], step: ColumnStep) -> None:
        for _, made in columns:
            self._add(whole, made, step)

    # One SELECT

    def _select(self, node: exp.Select, named: Named, outer: Scope | None) -> Relation:
        scope, whole = Scope(outer), dict[tuple[int, str], set[ColumnStep]]()
        if node.args.get("match") or node.args.get("pivots"):
            raise UnreadSql("the SQL contains MATCH_RECOGNIZE or PIVOT, which Headwater does not support")
        if node.args.get("from_"):
            self.add_source(node.args["from_"].this, named, scope)
        for join in node.args.get("joins") or ():
            self.join(join, named, scope)
        for lateral in node.args.get("laterals") or ():
            self.add_source(lateral, named, scope)
        columns: list[tuple[str, Made]] = []
        patterns = self.references.patterns
        for each in node.expressions:
            for name, made in self._projected(each, named, scope):
                columns.append((name, made))
                scope.aliases.setdefault(name.casefold(), made)
        for relation in scope.sources.values():
            self._add(whole, relation.whole, COPIED)
        for condition in scope.met:
            self._add(whole, condition, JOIN)
        self._conditions(node, named, scope, whole)
        self._orders(node, columns, named, scope, whole)
        found = Relation(columns)
        found.whole = whole
        found.hides_names = self.references.patterns > patterns
        self._leave_open(node, found, scope)
        return found

    def _leave_open(self, node: exp.Select, found: Relation, scope: Scope) -> None:
        """Pass columns that no event reports from the tables of a query to its result, if the query has a star.

        The result then resolves unknown names in these tables. If DISTINCT, GROUP BY or ORDER BY ALL may use such
        columns, `left_open` records the tables.
        """
        stars = [each for each in node.expressions if each.is_star]
        if not stars or not any(relation.more_of for relation in scope.sources.values()):
            return
        of = {each.table.casefold() for each in stars if isinstance(each, exp.Column)}
        is_all = any(isinstance(each, exp.Star) for each in stars)
        more = [each for key, each in scope.sources.items() if each.more_of and (is_all or key in of)]
        found.more_of = frozenset().union(*(each.more_of for each in more))

        def otherwise(name: str) -> Made:
            if len(more) > 1:
                raise UnreadSql(
                    f"column {shown(name)} may belong to several tables, because no event of the run reports all of "
                    "their columns"
                )
            return more[0].column(name) or {}

        if more:
            found.otherwise = otherwise
        order = node.args.get("order")
        sorts = order is not None and any(_is_all(each.this) for each in order.expressions)
        if sorts or node.args.get("distinct") or node.args.get("group"):
            self.left_open |= found.more_of

    def _conditions(self, node: exp.Select, named: Named, scope: Scope, whole: Made) -> None:
        for name in _FILTERS:
            if (condition := node.args.get(name)) is not None:
                self._add(whole, self.steps(condition, named, scope, FILTER), COPIED)

    def _orders(
        self, node: exp.Select, columns: Sequence[tuple[str, Made]], named: Named, scope: Scope, whole: Made
    ) -> None:
        """Add the origins of GROUP BY, ORDER BY and DISTINCT: expressions, column names, or column positions."""
        clauses = [(clause, SORT, True) for name in _SORTS if (clause := node.args.get(name))]
        group, distinct = node.args.get("group"), node.args.get("distinct")
        clauses += [(group, GROUP, False)] if group else []
        clauses += [(distinct, GROUP, True)] if distinct and distinct.args.get("on") else []
        if distinct and not distinct.args.get("on"):
            self._add_each(whole, columns, GROUP)
        if group and group.args.get("all"):
            self._add_each(whole, (each for each in columns if not _is_aggregated(each[1])), GROUP)
        for clause, step, own_names in clauses:
            for each in clause.iter_expressions():
                plain = each.this if isinstance(each, exp.Ordered) else each
                if _is_all(plain):
                    self._add_each(whole, columns, step)
                elif isinstance(plain, exp.Literal) and plain.is_int and 0 < int(plain.name) <= len(columns):
                    self._name_all(columns[: int(plain.name)])
                    self._add(whole, columns[int(plain.name) - 1][1], step)
                else:
                    self._add(whole, self.steps(each, named, scope, step, own_names=own_names), COPIED)
                    if own_names and not isinstance(plain, exp.Column):  # dialects differ about names in expressions
                        with suppress(UnreadSql):
                            self._add(whole, self.steps(each, named, scope, step), COPIED)

    def _projected(self, each: exp.Expr, named: Named, scope: Scope) -> Iterator[tuple[str, Made]]:
        star = each.this if isinstance(each, exp.Column) and isinstance(each.this, exp.Star) else each
        if isinstance(star, exp.Star):
            of = each.table if isinstance(each, exp.Column) else ""
            self.references.read(each)
            self.references.read(star)
            changed = [*(star.args.get("except_") or ()), *(star.args.get("rename") or ())]
            self.references.read_all(changed)
            for named_by_star in (*changed, *(star.args.get("replace") or ())):
                self._name(named_by_star, of, scope)
            yield from star_columns(star, of, scope, lambda one: self.steps(one, named, scope, COPIED), self.budget)
        elif isinstance(each, exp.Aliases):
            made = self.steps(each.this, named, scope, COPIED)
            yield from ((name.name, made) for name in each.args["expressions"])
        else:
            yield each.alias_or_name, self.steps(each, named, scope, COPIED)

    def _name_all(self, columns: Sequence[tuple[str, Made]]) -> None:
        """Record columns whose positions a statement uses: without one of them, the others would move."""
        for _, made in columns:
            self.budget.copy(1 + len(made))
            self.references.origins.update(made)

    def _name(self, changed: exp.Expr, of: str, scope: Scope) -> None:
        """Record the column that a star omits, replaces or renames, because the statement fails without it."""
        if isinstance(changed, exp.Alias):  # REPLACE names the column after AS, RENAME before it
            name = changed.alias if changed.arg_key == "replace" else changed.this.name
        else:
            name = changed.name
        self.budget.copy(1 + len(scope.sources) // _SOURCES_PER_COPY)
        for relation in scope.sources.values() if not of else [scope.sources.get(of.casefold())]:
            if relation is not None and (relation.is_open or relation.has(name)):
                self.references.origins.update(relation.column(name) or {})

    # Sources

    def join(self, join: exp.Join, named: Named, scope: Scope) -> None:
        """Add a joined table to a scope, and the condition of the join."""
        self.budget.copy(1 + len(scope.sources) // 8)
        known, before = dict(scope.sources), list(scope.sources.values())
        self.add_source(join.this, named, scope)
        if join.args.get("on") is not None:
            scope.met.append(self.steps(join.args["on"], named, scope, JOIN))
        using = [each.name for each in join.args.get("using") or ()]
        self.references.read_all(join.args.get("using"))
        if join.method == "NATURAL":
            using += self._common(before, list(scope.sources.values())[len(before) :])
        scope.merged.update(name.casefold() for name in using)
        for name in using:
            self.budget.copy(len(scope.sources))
            scope.met.append(_compared(scope.sources.values(), name))
            self.references.origins.update(scope.met[-1])
        if join.kind in ("SEMI", "ANTI"):  # only filters rows: the columns of its table are not visible
            scope.met += [relation.whole for relation in list(scope.sources.values())[len(before) :]]
            scope.sources = known

    def _common(self, before: Sequence[Relation], new: Sequence[Relation]) -> list[str]:
        """Return the columns that a NATURAL JOIN compares; raises UnreadSql if the columns of a table are unknown."""
        if any(relation.is_open for relation in (*before, *new)):
            raise UnreadSql(
                "the SQL contains a NATURAL JOIN, but no event of the run reports all columns of the joined tables"
            )
        self.budget.spend(len(before) * sum(len(relation.columns) for relation in new))
        return [name for relation in new for name, _ in relation.columns if any(other.has(name) for other in before)]

    def _table(self, node: exp.Table, named: Named, scope: Scope) -> Relation:
        if isinstance(node.this, exp.DynamicIdentifier):
            raise UnreadSql("the SQL names a table by a value, which Headwater does not support")
        if not isinstance(node.this, (exp.Identifier, exp.Dot, exp.Var)):
            return self.source(node.this, named, scope) if node.this else Relation()
        name = ".".join(part.name for part in node.parts)
        if (found := named.get(name.casefold())) is not None:
            return found
        place = self.tables.read(name)
        if place is None:
            path = [part.name for part in node.parts]
            fields = scope.path(path) if len(path) > 1 and path[0].casefold() in scope.sources else None
            if fields is not None:  # BigQuery: FROM t, t.items
                return Relation(otherwise=lambda _: fields)
            return self._view(name)
        return self.dataset(place)

    def dataset(self, place: int) -> Relation:
        """Return a dataset of the run with the columns of its schema. Callers must not change the object."""
        if place not in self._relations:
            table = self.tables.tables[place]
            self._relations[place] = table_relation(
                place, table.columns, is_part=table.is_part, is_joined=table.is_joined
            )
        return self._relations[place]

    def _view(self, name: str) -> Relation:
        """Return the view over hidden inputs for a name that is not a dataset; raises UnreadSql without such inputs."""
        if self._any_view is None:
            self._any_view, self.behind_views = view_of_hidden(self.tables)
        self.view = self.view or name
        if not self.behind_views:
            raise UnreadSql(f"the SQL reads {shown(name)}, which is not a dataset of the run")
        return self._any_view

    def _renamed(self, relation: Relation, node: exp.Expr) -> Relation:
        alias = node.args.get("alias")
        names = [column.name for column in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []
        if not names:
            return relation
        if relation.is_open:
            raise UnreadSql(
                "an alias renames the columns of a table, but no event of the run reports all columns of this table"
            )
        self.budget.copy(len(relation.columns))
        self._name_all(relation.columns[: len(names)])
        return relation.renamed(names)

    # Several queries

    def _set_operation(self, node: exp.SetOperation, named: Named, outer: Scope | None) -> Relation:
        """Read UNION, EXCEPT and INTERSECT from left to right, without recursion: a script may chain 2,000 of them."""
        later: list[exp.SetOperation] = []
        at: exp.Expr = node
        while isinstance(at, exp.SetOperation):
            later.append(at)
            named = self.with_ctes(at, named, outer) if at is not node else named
            at = at.this
        first = self.query(at, named, outer)
        found, is_named = copied(first, self.budget), False
        for each in reversed(later):
            other = self.query(each.expression, named, outer)
            if found.more_of or other.more_of:
                raise UnreadSql(
                    "a query of a UNION uses `*` for a table, but no event of the run reports all columns of this table"
                )
            if not each.args.get("by_name"):  # the position of each column depends on all columns before it
                self._name_all(other.columns if is_named else (*found.columns, *other.columns))
                is_named = True
            elif not isinstance(each, exp.Union) or each.args.get("distinct"):  # compares all columns of the rows
                self._name_all((*found.columns, *other.columns))
            unite(found, other, each, self.budget)
        return self._sorted(node, found, named)

    def _sorted(self, node: exp.Expr, relation: Relation, named: Named) -> Relation:
        """Add the ORDER BY of a set operation or of a query in brackets. It uses the names of the result's columns."""
        order = node.args.get("order")
        if order is None:
            return relation
        scope = Scope()
        scope.add("", relation)
        self.budget.copy(len(relation.whole))
        whole = copy_of(relation.whole)
        for each in order.expressions:
            plain = each.this if isinstance(each, exp.Ordered) else each
            if _is_all(plain):
                self._add_each(whole, relation.columns, SORT)
            elif isinstance(plain, exp.Literal) and plain.is_int and 0 < int(plain.name) <= len(relation.columns):
                self._name_all(relation.columns[: int(plain.name)])
                self._add(whole, relation.columns[int(plain.name) - 1][1], SORT)
            else:
                self._add(whole, self.steps(each, named, scope, SORT), COPIED)
        self.budget.copy(len(relation.columns))
        found = Relation(relation.columns, otherwise=relation.otherwise, place=relation.place)
        found.hides_names, found.more_of = relation.hides_names, relation.more_of
        found.whole = whole
        return found


def _is_all(each: exp.Expr) -> bool:
    """Recognise ALL in `ORDER BY ALL`."""
    return isinstance(each, exp.Var) and each.name.upper() == "ALL"


def _is_aggregated(made: Made) -> bool:
    return any(step.direct and step.subtype == AGGREGATION for steps in made.values() for step in steps)


def _compared(sources: Iterable[Relation], name: str) -> Made:
    """Return the columns that USING compares: those of this name in each source that has it or may have it."""
    made: Made = {}
    for relation in sources:
        if relation.has(name) or relation.is_open:
            add(made, relation.column(name) or {}, JOIN)
    return made
