"""A query to what its columns are made of."""

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from headwater.lineage.inferring.column_steps import CHANGED, COPIED, ColumnStep, Made, Relation, add, table_relation
from headwater.lineage.inferring.expression_steps import made_of
from headwater.lineage.inferring.known_tables import KnownTables
from headwater.lineage.inferring.query_scope import Scope
from headwater.lineage.inferring.sql_bounds import Budget
from headwater.lineage.inferring.unread_sql import UnreadSql, shown

Named = Mapping[str, Relation]
"""What a statement calls by a name of its own: CTEs, tables that a script makes for itself."""

FILTER, JOIN = ColumnStep(False, "FILTER"), ColumnStep(False, "JOIN")
_GROUP, _SORT = ColumnStep(False, "GROUP_BY"), ColumnStep(False, "SORT")
_FILTERS = ("where", "having", "qualify", "connect")
_SORTS = ("order", "sort", "cluster")


class QueryReader:
    """Reads queries over the datasets of one run."""

    def __init__(self, tables: KnownTables, budget: Budget):
        """Know these datasets."""
        self.tables = tables
        self.budget = budget
        self._relations: dict[int, Relation] = {}

    def query(self, node: exp.Expr, named: Named, outer: Scope | None = None) -> Relation:
        """Return the relation that a query makes; raises UnreadSql."""
        self.budget.spend()
        named = self.with_ctes(node, named, outer)
        if isinstance(node, exp.Select):
            return self._select(node, named, outer)
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, named, outer)
        if isinstance(node, exp.Subquery):
            inner = self.query(node.this, named, outer)
            if node.args.get("pivots"):
                raise UnreadSql("it has a PIVOT, which is not read")
            return self._sorted(node, inner)
        if isinstance(node, exp.Values):
            return self._values(node, outer or Scope())
        if isinstance(node, (exp.Table, exp.Paren)):
            return self.source(node.this if isinstance(node, exp.Paren) else node, named, outer or Scope())
        raise UnreadSql(f"it has a query of a kind that is not read: {node.key.upper()}")

    def with_ctes(self, node: exp.Expr, named: Named, outer: Scope | None = None) -> Named:
        """Return the names that hold in a query or a statement."""
        with_ = node.args.get("with_")
        if with_ is None:
            return named
        found = dict(named)
        for cte in with_.expressions:
            key = cte.alias.casefold()
            if with_.args.get("recursive") and isinstance(cte.this, exp.SetOperation):
                for part in (cte.this.this, cte.this):  # what a recursion begins with, then all of it
                    found[key] = self._renamed(self.query(part, found, outer), cte)
            else:
                found[key] = self._renamed(self.query(cte.this, found, outer), cte)
        return found

    def source(self, node: exp.Expr, named: Named, scope: Scope) -> Relation:
        """Return what a FROM names, without its alias; raises UnreadSql for a table that is no dataset of the run."""
        if isinstance(node, exp.Table):
            return self._table(node, named, scope)
        if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Query):
            return self.query(node.this, named, scope)
        if isinstance(node, (exp.Unnest, exp.Lateral, exp.Func, exp.TableFromRows)):
            return self._rows_of(node, named, scope)
        return self.query(node, named, scope)

    def add_source(self, node: exp.Expr, named: Named, scope: Scope) -> None:
        """Take what a FROM or a JOIN names into a scope."""
        if node.args.get("pivots"):
            raise UnreadSql("it has a PIVOT, which is not read")
        relation = self._renamed(self.source(node, named, scope), node)
        scope.add(node.alias_or_name, relation)
        for join in node.args.get("joins") or ():
            self.join(join, named, scope)
        for lateral in node.args.get("laterals") or ():
            self.add_source(lateral, named, scope)

    def steps(self, node: exp.Expr, named: Named, scope: Scope, step: ColumnStep, *, own_names: bool = False) -> Made:
        """Return what an expression is made of."""

        def query(inner: exp.Expr, around: Scope) -> Relation:
            return self.query(inner, named, around)

        return made_of(node, scope, step, query, self.budget, own_names=own_names)

    # One SELECT

    def _select(self, node: exp.Select, named: Named, outer: Scope | None) -> Relation:
        scope, whole = Scope(outer), dict[tuple[int, str], set[ColumnStep]]()
        if node.args.get("match") or node.args.get("pivots"):
            raise UnreadSql("it has a MATCH_RECOGNIZE or PIVOT, which is not read")
        if node.args.get("from_"):
            self.add_source(node.args["from_"].this, named, scope)
        for join in node.args.get("joins") or ():
            self.join(join, named, scope)
        for lateral in node.args.get("laterals") or ():
            self.add_source(lateral, named, scope)
        columns: list[tuple[str, Made]] = []
        for each in node.expressions:
            for name, made in self._projected(each, named, scope):
                columns.append((name, made))
                scope.aliases.setdefault(name.casefold(), made)
        for relation in scope.sources.values():
            add(whole, relation.whole, COPIED)
        for condition in scope.met:
            add(whole, condition, JOIN)
        self._conditions(node, named, scope, whole)
        self._orders(node, columns, named, scope, whole)
        found = Relation(columns)
        found.whole = whole
        return found

    def _conditions(self, node: exp.Select, named: Named, scope: Scope, whole: Made) -> None:
        for name in _FILTERS:
            if (condition := node.args.get(name)) is not None:
                add(whole, self.steps(condition, named, scope, FILTER), COPIED)

    def _orders(
        self, node: exp.Select, columns: Sequence[tuple[str, Made]], named: Named, scope: Scope, whole: Made
    ) -> None:
        """Take what groups and sorts: expressions, names of columns of this query, or their places."""
        clauses = [(clause, _SORT, True) for name in _SORTS if (clause := node.args.get(name))]
        group, distinct = node.args.get("group"), node.args.get("distinct")
        clauses += [(group, _GROUP, False)] if group else []
        clauses += [(distinct, _GROUP, True)] if distinct and distinct.args.get("on") else []
        for clause, step, own_names in clauses:
            for each in clause.iter_expressions():
                plain = each.this if isinstance(each, exp.Ordered) else each
                if isinstance(plain, exp.Literal) and plain.is_int and 0 < int(plain.name) <= len(columns):
                    add(whole, columns[int(plain.name) - 1][1], step)
                else:
                    add(whole, self.steps(each, named, scope, step, own_names=own_names), COPIED)

    def _projected(self, each: exp.Expr, named: Named, scope: Scope) -> Iterator[tuple[str, Made]]:
        star = each.this if isinstance(each, exp.Column) and isinstance(each.this, exp.Star) else each
        if isinstance(star, exp.Star):
            yield from self._star(star, each.table if isinstance(each, exp.Column) else "", named, scope)
        elif isinstance(each, exp.Aliases):
            made = self.steps(each.this, named, scope, COPIED)
            yield from ((name.name, made) for name in each.args["expressions"])
        else:
            yield each.alias_or_name, self.steps(each, named, scope, COPIED)

    def _star(self, star: exp.Star, of: str, named: Named, scope: Scope) -> Iterator[tuple[str, Made]]:
        """Yield all columns of a table, or of all; raises UnreadSql where nobody says which these are."""
        left_out = {each.name.casefold() for each in star.args.get("except_") or ()}
        replaced = {each.alias.casefold(): each for each in star.args.get("replace") or ()}
        renamed = {each.this.name.casefold(): each.alias for each in star.args.get("rename") or ()}
        if of and of.casefold() not in scope.sources:
            raise UnreadSql(f"{shown(of)}.* is of no table that it names")
        sources = [scope.sources[of.casefold()]] if of else list(scope.sources.values())
        seen: set[str] = set()
        for relation in sources:
            if not relation.columns and relation.otherwise:
                raise UnreadSql("no event of the run says which columns a table has of which it takes `*`")
            for name, made in relation.columns:
                key = name.casefold()
                if key in left_out or (key in scope.merged and key in seen):
                    continue
                seen.add(key)
                self.budget.spend()
                own = self.steps(replaced[key], named, scope, COPIED) if key in replaced else made
                merged = self.steps(exp.column(name), named, scope, COPIED) if key in scope.merged and not of else own
                yield renamed.get(key, name), merged

    # Sources

    def join(self, join: exp.Join, named: Named, scope: Scope) -> None:
        """Take a joined table, and what decides which rows meet."""
        before = list(scope.sources.values())
        self.add_source(join.this, named, scope)
        if join.args.get("on") is not None:
            scope.met.append(self.steps(join.args["on"], named, scope, JOIN))
        using = [each.name for each in join.args.get("using") or ()]
        if join.method == "NATURAL":
            using += _common(before, list(scope.sources.values())[len(before) :])
        scope.merged.update(name.casefold() for name in using)
        scope.met += [self.steps(exp.column(name), named, scope, JOIN) for name in using]

    def _table(self, node: exp.Table, named: Named, scope: Scope) -> Relation:
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
            raise UnreadSql(f"it reads {shown(name)}, which is no dataset of the run")
        if place not in self._relations:
            self._relations[place] = table_relation(place, self.tables.tables[place].columns)
        return self._relations[place]

    def _rows_of(self, node: exp.Expr, named: Named, scope: Scope) -> Relation:
        """Return what UNNEST, EXPLODE or FLATTEN makes: any of its columns is made of all that it is given."""
        inside = node.expressions if isinstance(node, exp.Unnest) else [node.this]
        if isinstance(node, exp.Func) and not isinstance(node, (exp.Unnest, exp.Lateral)):
            inside = [node]
        made: Made = {}
        for each in inside:
            if isinstance(each, exp.Expr):
                add(made, self.steps(each, named, scope, CHANGED), COPIED)
        alias = node.args.get("alias")
        names = [column.name for column in (alias.args.get("columns") or ())] if alias else []
        names += [alias.name] if alias and alias.this is not None and not names else []
        return Relation([(name, made) for name in names], otherwise=lambda _: made)

    def _values(self, node: exp.Values, scope: Scope) -> Relation:
        """Return rows that are written down: only what they name of the query around has an origin."""
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
        columns: list[tuple[str, Made]] = []
        for at in range(max(map(len, rows), default=0)):
            made: Made = {}
            for row in rows:
                if at < len(row):
                    add(made, self.steps(row[at], {}, scope, COPIED), COPIED)
            columns.append(("", made))
        return Relation(columns)

    def _renamed(self, relation: Relation, node: exp.Expr) -> Relation:
        alias = node.args.get("alias")
        names = [column.name for column in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []
        return relation.renamed(names) if names else relation

    # Several queries

    def _set_operation(self, node: exp.SetOperation, named: Named, outer: Scope | None) -> Relation:
        """Read UNION, EXCEPT and INTERSECT from the first on; 2,000 of them are a chain, not a depth."""
        later: list[exp.SetOperation] = []
        at: exp.Expr = node
        while isinstance(at, exp.SetOperation):
            later.append(at)
            named = self.with_ctes(at, named, outer) if at is not node else named
            at = at.this
        first = self.query(at, named, outer)
        found = Relation([(name, _copy(made)) for name, made in first.columns])
        found.whole = _copy(first.whole)
        for each in reversed(later):
            other = self.query(each.expression, named, outer)
            self._unite(found, other, each)
        return self._sorted(node, found)

    def _unite(self, found: Relation, other: Relation, how: exp.SetOperation) -> None:
        if len(found.columns) != len(other.columns) and not how.args.get("by_name"):
            raise UnreadSql("the queries of a UNION have different numbers of columns")
        add(found.whole, other.whole, COPIED)
        for place, (name, made) in enumerate(found.columns):
            theirs = other.column(name) if how.args.get("by_name") else other.columns[place][1]
            self.budget.spend(1 + len(theirs or ()))
            if isinstance(how, exp.Union):
                add(made, theirs or {}, COPIED)
            else:
                add(found.whole, theirs or {}, FILTER)

    def _sorted(self, node: exp.Expr, relation: Relation) -> Relation:
        """Take the ORDER BY behind several queries, or behind one in brackets; it names what these are called."""
        order = node.args.get("order")
        if order is None:
            return relation
        scope = Scope()
        scope.add("", relation)
        whole = _copy(relation.whole)
        for each in order.expressions:
            plain = each.this if isinstance(each, exp.Ordered) else each
            if isinstance(plain, exp.Literal) and plain.is_int and 0 < int(plain.name) <= len(relation.columns):
                add(whole, relation.columns[int(plain.name) - 1][1], _SORT)
            else:
                add(whole, self.steps(each, {}, scope, _SORT), COPIED)
        found = Relation(relation.columns, otherwise=relation.otherwise, place=relation.place)
        found.whole = whole
        return found


def _common(before: Sequence[Relation], new: Sequence[Relation]) -> list[str]:
    """Return the columns that a NATURAL JOIN compares; raises UnreadSql where a table's columns are not known."""
    if any(not relation.columns and relation.otherwise for relation in (*before, *new)):
        raise UnreadSql("it has a NATURAL JOIN of a table whose columns no event of the run says")
    return [name for relation in new for name, _ in relation.columns if any(other.has(name) for other in before)]


def _copy(made: Made) -> Made:
    return {origin: set(steps) for origin, steps in made.items()}
