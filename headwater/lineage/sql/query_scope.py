"""Resolve names in a query to columns of its tables, to its own aliases, or to columns of surrounding queries."""

from sqlglot import exp

from headwater.lineage.sql.column_steps import CHANGED, COPIED, Made, Relation, add
from headwater.lineage.sql.unread_sql import HIDDEN_NAMES, UnreadSql, shown


class Scope:
    """The sources of one SELECT, the aliases that it defines, and the scope of the surrounding query.

    sources: relations by casefolded alias; aliases: origins of the query's own columns by casefolded name.
    merged: names of columns that USING or NATURAL merges from several sources.
    met: origins of the join conditions.
    """

    def __init__(self, outer: "Scope | None" = None):
        self.sources: dict[str, Relation] = {}
        self.aliases: dict[str, Made] = {}
        self.merged: set[str] = set()
        self.met: list[Made] = []
        self._outer = outer
        self._guesses = True

    def add(self, alias: str, relation: Relation) -> None:
        """Add a source under its alias. A number makes the key unique if the alias is empty or repeated."""
        key = alias.casefold() or f" {len(self.sources)}"
        self.sources[key if key not in self.sources else f"{key} {len(self.sources)}"] = relation

    def around(self, *, known: bool) -> "Scope | None":
        """Return the surrounding scope of a query in FROM.

        known: the query can use columns of the preceding tables, but only those that an event reports.
        """
        if not known:
            return self._outer
        found = Scope(self._outer)
        found.sources, found.merged, found._guesses = self.sources, self.merged, False
        return found

    def of(self, column: exp.Column, *, own_names_first: bool = False) -> Made:
        """Return the origins of a column; raises UnreadSql if they are unknown.

        own_names_first: an alias of the query itself takes precedence, as in ORDER BY.
        """
        parts = [part.name for part in column.parts]
        if own_names_first and len(parts) == 1 and parts[0].casefold() in self.aliases:
            return self.aliases[parts[0].casefold()]
        found = self._found(parts)
        if found is None:
            raise UnreadSql(f"the table of column {shown('.'.join(parts))} is unknown")
        return found

    def lookups(self) -> int:
        """Return the cost of looking up one name in all surrounding queries, in column copies."""
        found = 0
        scope: Scope | None = self
        while scope is not None:
            found += 1 + (len(scope.sources) if scope.merged else len(scope.sources) // _SOURCES_PER_COPY)
            scope = scope._outer
        return found

    def path(self, parts: list[str]) -> Made | None:
        """Return the origins of a column, or of a field within one; None if the name is not found."""
        return self._found(parts)

    def row(self, alias: str) -> Made:
        """Return the origins of all columns of a source, or of all sources if the alias is empty; raises UnreadSql."""
        relations = [self.sources[alias.casefold()]] if alias.casefold() in self.sources else self.sources.values()
        if alias and alias.casefold() not in self.sources:
            found = self._row_of(alias.casefold())
            if found is None:
                raise UnreadSql(f"{shown(alias)}.* does not match any table of the query")
            return found
        made: Made = {}
        for relation in relations:
            add(made, whole_row(relation), CHANGED)
        return made

    def _row_of(self, key: str) -> Made | None:
        """Return the origins of a whole row of the table with this alias, in this or a surrounding query, else None."""
        scope: Scope | None = self
        while scope is not None:
            if key in scope.sources:
                made: Made = {}
                add(made, whole_row(scope.sources[key]), CHANGED)
                return made
            scope = scope._outer
        return None

    def _found(self, parts: list[str]) -> Made | None:
        """Return the origins of a name, None if it is not found. If the name is ambiguous, return all possible origins.

        For example, a surrounding query may have a column of this name, and a table of this query may have it as well
        if no event reports all columns of the table.
        """
        may_be: Made = {}
        found: Made | None = None
        can_guess = True
        scope: Scope | None = self
        while scope is not None and found is None:
            found = scope._qualified(parts)
            if found is None and (found := scope._known(parts[0], parts[1:])) is not None and len(parts) > 1:
                may_be.update(scope._qualified_around(parts))  # a column of this name, or a table of an outer query
            if found is None:
                if any(relation.hides_names for relation in scope.sources.values()):
                    raise UnreadSql(HIDDEN_NAMES)
                is_alias = parts[0].casefold() in scope.sources
                if is_alias and len(parts) == 1:
                    may_be.update(scope._row_named(parts[0]))
                can_guess = can_guess and not is_alias
                if can_guess:
                    may_be.update(scope._guessed(parts, is_outermost=scope._outer is None) or {})
            scope = scope._outer
        if may_be:
            return {**(found or {}), **may_be}
        return found

    def _row_named(self, alias: str) -> Made:
        """Return the origins of a whole row of a table; raises UnreadSql if a column may have the table's name."""
        if any(relation.is_open for relation in self.sources.values()):
            raise UnreadSql(
                f"{shown(alias)} may be a column or a whole row of a table, because no event of the run reports all "
                "columns of the tables in the query"
            )
        made: Made = {}
        add(made, whole_row(self.sources[alias.casefold()]), CHANGED)
        return made

    def _qualified(self, parts: list[str]) -> Made | None:
        for at in range(len(parts) - 1, 0, -1):  # catalog.schema.table.column, then table.column.field
            relation = self.sources.get(parts[at - 1].casefold())
            if relation is not None:
                found = _within(relation, parts[at:])
                if found is not None and not relation.has(parts[at]):  # it may lack the column
                    return {**found, **self._qualified_around(parts)}
                return {**found, **self._fields(parts, at)} if found is not None and at > 1 else found
        return None

    def _fields(self, parts: list[str], at: int) -> Made:
        """Return the fields that a name may mean if both `t` and `s` are tables: `t.s.x` may be a field of `t.s`."""
        made: Made = {}
        for fewer in range(at - 1, 0, -1):
            relation = self.sources.get(parts[fewer - 1].casefold())
            if relation is not None and relation.has(parts[fewer]):
                made.update(_within(relation, parts[fewer:]) or {})
        return made

    def _qualified_around(self, parts: list[str]) -> Made:
        """Return the column of the table with the same alias in a surrounding query, or nothing."""
        scope = self._outer
        while scope is not None:
            if (found := scope._qualified(parts)) is not None:
                return found
            scope = scope._outer
        return {}

    def _known(self, name: str, fields: list[str]) -> Made | None:
        key = name.casefold()
        is_merged = key in self.merged
        having = [each for each in self.sources.values() if each.has_key(key) or (is_merged and each.is_open)]
        if len(having) > 1 and not is_merged:
            raise UnreadSql(f"several tables of the query have a column {shown(name)}")
        if having:
            made: Made = {}
            for relation in having:
                add(made, _within(relation, [name, *fields]) or {}, COPIED)
            return made
        if key in self.aliases and not fields:
            guess = self._guessed([name], is_outermost=False) if any(map(_is_open, self.sources.values())) else None
            return {**self.aliases[key], **(guess or {})}
        return None

    def _guessed(self, parts: list[str], *, is_outermost: bool) -> Made | None:
        """Return the origins of a name that can only be an unreported column of one table in the query, else None.

        Raises UnreadSql if several tables may have the column.
        """
        name = parts[0]
        if not self._guesses:
            return None
        if len(parts) > 1 and self._is_alias(name.casefold()):
            return None
        unknown = [relation for relation in self.sources.values() if relation.is_open]
        open_ = unknown or [relation for relation in self.sources.values() if relation.otherwise]
        if len(open_) == 1 and (unknown or (len(self.sources) == 1 and is_outermost)):
            return _within(open_[0], parts)
        if len(unknown) > 1:
            raise UnreadSql(
                f"column {shown(name)} may belong to several tables, because no event of the run reports all of their "
                "columns"
            )
        return None

    def _is_alias(self, key: str) -> bool:
        """Return whether a name is the alias of a table in this or a surrounding query."""
        scope: Scope | None = self
        while scope is not None:
            if key in scope.sources:
                return True
            scope = scope._outer
        return False


def _is_open(relation: Relation) -> bool:
    return relation.is_open


def whole_row(relation: Relation) -> Made:
    """Return the origins of all columns of a source; raises UnreadSql if some columns are unknown."""
    if relation.is_open:
        raise UnreadSql(_NO_ROW)
    made: Made = {}
    for _, each in relation.columns:
        add(made, each, COPIED)
    return made


def _within(relation: Relation, parts: list[str]) -> Made | None:
    """Return the origins of a column or of a field in it. A field that the schema lacks has the column's origins."""
    if len(parts) > 1:
        whole = ".".join(parts)
        if relation.has(whole):
            return relation.column(whole)
        column = relation.column(parts[0])
        made: Made = {}
        add(made, column or {}, CHANGED)
        return made if column is not None else None
    return relation.column(parts[0])


_NO_ROW = "the SQL uses a whole row of a table, but no event of the run reports all columns of this table"

_SOURCES_PER_COPY = 4
"""The number of sources that can be searched for a name in the time of one column copy."""
