"""Which column a name in a query means: of the tables beside it, of its own list, of the queries around it."""

from sqlglot import exp

from headwater.lineage.inferring.column_steps import CHANGED, COPIED, Made, Relation, add
from headwater.lineage.inferring.unread_sql import HIDDEN_NAMES, UnreadSql, shown


class Scope:
    """The sources of one SELECT, the names it gives itself, and the query that it stands in."""

    def __init__(self, outer: "Scope | None" = None):
        """Have no source yet.

        merged: columns that USING or NATURAL makes one of several; met: what decides which rows of two sources meet.
        """
        self.sources: dict[str, Relation] = {}
        self.aliases: dict[str, Made] = {}
        self.merged: set[str] = set()
        self.met: list[Made] = []
        self._outer = outer
        self._guesses = True

    def add(self, alias: str, relation: Relation) -> None:
        """Take a source."""
        key = alias.casefold() or f" {len(self.sources)}"
        self.sources[key if key not in self.sources else f"{key} {len(self.sources)}"] = relation

    def around(self, *, known: bool) -> "Scope | None":
        """Return the scope around a query in FROM: its columns that are known if they can be seen there, and no guess.

        known: the query sees the tables before it.
        """
        if not known:
            return self._outer
        found = Scope(self._outer)
        found.sources, found.merged, found._guesses = self.sources, self.merged, False
        return found

    def of(self, column: exp.Column, *, own_names_first: bool = False) -> Made:
        """Return what a column is made of; raises UnreadSql where that cannot be told."""
        parts = [part.name for part in column.parts]
        if own_names_first and len(parts) == 1 and parts[0].casefold() in self.aliases:
            return self.aliases[parts[0].casefold()]
        found = self._found(parts)
        if found is None:
            raise UnreadSql(f"it is not known of which table {shown('.'.join(parts))} is")
        return found

    def lookups(self) -> int:
        """Return how many columns looking up one name may cost: its source is searched for in all queries around."""
        found = 0
        scope: Scope | None = self
        while scope is not None:
            found += 1 + (len(scope.sources) if scope.merged else len(scope.sources) // _SOURCES_PER_COPY)
            scope = scope._outer
        return found

    def path(self, parts: list[str]) -> Made | None:
        """Return what a column, or a field within one, is made of; None where that cannot be told."""
        return self._found(parts)

    def row(self, alias: str) -> Made:
        """Return what all columns of a source are made of, of all sources where no alias is given."""
        relations = [self.sources[alias.casefold()]] if alias.casefold() in self.sources else self.sources.values()
        if alias and alias.casefold() not in self.sources:
            found = self._row_of(alias.casefold())
            if found is None:
                raise UnreadSql(f"{shown(alias)}.* is of no table that it names")
            return found
        made: Made = {}
        for relation in relations:
            add(made, whole_row(relation), CHANGED)
        return made

    def _row_of(self, key: str) -> Made | None:
        """Return what a whole row is made of that is named by the alias of its table; None where none has it."""
        scope: Scope | None = self
        while scope is not None:
            if key in scope.sources:
                made: Made = {}
                add(made, whole_row(scope.sources[key]), CHANGED)
                return made
            scope = scope._outer
        return None

    def _found(self, parts: list[str]) -> Made | None:
        """Return what a name means; where that is not certain, all that it may mean.

        A query around may have a column of a name that a table here, whose columns are not known, may have as well.
        """
        may_be: Made = {}
        found: Made | None = None
        can_guess = True
        scope: Scope | None = self
        while scope is not None and found is None:
            found = scope._qualified(parts)
            if found is None and (found := scope._known(parts[0], parts[1:])) is not None and len(parts) > 1:
                may_be.update(scope._qualified_around(parts))  # a column of this name, or a table around
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
        """Return the whole row of a table here; raises UnreadSql if its name may also be that of a column."""
        if any(relation.is_open for relation in self.sources.values()):
            raise UnreadSql(f"{_NO_ROW}, or a column called {shown(alias)}")
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
        """Return the fields that a name means if less of it is a table: `t.s.x`, where `s` is another table, too."""
        made: Made = {}
        for fewer in range(at - 1, 0, -1):
            relation = self.sources.get(parts[fewer - 1].casefold())
            if relation is not None and relation.has(parts[fewer]):
                made.update(_within(relation, parts[fewer:]) or {})
        return made

    def _qualified_around(self, parts: list[str]) -> Made:
        """Return the column of a table around that has the same alias: the table here may lack the column."""
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
            raise UnreadSql(f"{shown(name)} may be of several tables")
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
        """Return what a name means if it is a column of the one table here whose columns are not all known."""
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
            raise UnreadSql(f"{shown(name)} may be of several tables whose columns are not known")
        return None

    def _is_alias(self, key: str) -> bool:
        """Tell whether a name is the alias of a table, here or around: then it qualifies, or means the whole row."""
        scope: Scope | None = self
        while scope is not None:
            if key in scope.sources:
                return True
            scope = scope._outer
        return False


def _is_open(relation: Relation) -> bool:
    return relation.is_open


def whole_row(relation: Relation) -> Made:
    """Return what all columns of a source are made of; raises UnreadSql where nobody says which these are."""
    if relation.is_open:
        raise UnreadSql(_NO_ROW)
    made: Made = {}
    for _, each in relation.columns:
        add(made, each, COPIED)
    return made


def _within(relation: Relation, parts: list[str]) -> Made | None:
    """Return a column of a relation, or a field in one: its own where the schema has it, else what the column is."""
    if len(parts) > 1:
        whole = ".".join(parts)
        if relation.has(whole):
            return relation.column(whole)
        column = relation.column(parts[0])
        made: Made = {}
        add(made, column or {}, CHANGED)
        return made if column is not None else None
    return relation.column(parts[0])


_NO_ROW = "it uses a whole row of a table whose columns no event of the run lists"

_SOURCES_PER_COPY = 4
"""How many sources one name can be searched for in the time that copying a column takes."""
