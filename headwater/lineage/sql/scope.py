"""Resolve names and stars in a query to columns of its tables, to its own aliases, or to surrounding queries."""

from collections.abc import Callable, Iterator

from sqlglot import exp

from headwater.lineage.sql.errors import HIDDEN_NAMES, STAR_OF_UNKNOWN_TABLE, UnsupportedSql, shorten_name
from headwater.lineage.sql.limits import COPIES_PER_STEP, Budget
from headwater.lineage.sql.relations import IDENTITY_STEP, TRANSFORMATION_STEP, Origins, Relation, add_origins


class Scope:
    """The sources of one SELECT, the column aliases that it defines, and the scope of the surrounding query.

    sources: maps casefolded aliases to relations.
    aliases: maps the casefolded names of the query's own columns to their origins.
    merged_names: the casefolded names of columns that USING or NATURAL merges from several sources.
    join_conditions: the origins of each join condition.
    """

    def __init__(self, outer: "Scope | None" = None):
        self.sources: dict[str, Relation] = {}
        self.aliases: dict[str, Origins] = {}
        self.merged_names: set[str] = set()
        self.join_conditions: list[Origins] = []
        self._outer = outer
        self._may_guess = True

    def add(self, alias: str, relation: Relation) -> None:
        """Add a source under its alias. If the alias is empty or occurs twice, a number makes the key unique."""
        key = alias.casefold() or f" {len(self.sources)}"
        self.sources[key if key not in self.sources else f"{key} {len(self.sources)}"] = relation

    def outer_scope_of_subquery(self, *, sees_sources: bool) -> "Scope | None":
        """Return the surrounding scope of a query in the FROM clause of this scope's query, None without one.

        sees_sources: whether the query can use columns of the preceding tables. Only columns that an event reports are
        visible.
        """
        if not sees_sources:
            return self._outer
        found = Scope(self._outer)
        found.sources, found.merged_names, found._may_guess = self.sources, self.merged_names, False
        return found

    def column_origins(self, column: exp.Column, *, prefer_aliases: bool = False) -> Origins:
        """Return the origins of a column; raises UnsupportedSql if they are unknown.

        prefer_aliases: whether column aliases of the query take precedence over columns of tables, as in ORDER BY.
        """
        parts = [part.name for part in column.parts]
        if prefer_aliases and len(parts) == 1 and parts[0].casefold() in self.aliases:
            return self.aliases[parts[0].casefold()]
        found = self._resolve(parts)
        if found is None:
            raise UnsupportedSql(f"the table of column {shorten_name('.'.join(parts))} is unknown")
        return found

    def lookup_cost(self) -> int:
        """Return the cost of looking up one name in this and all surrounding queries, as a number of column copies."""
        found = 0
        scope: Scope | None = self
        while scope is not None:
            found += 1 + (len(scope.sources) if scope.merged_names else len(scope.sources) // _SOURCES_PER_COPY)
            scope = scope._outer
        return found

    def field_origins(self, parts: list[str]) -> Origins | None:
        """Return the origins of a column or a field of a column, None if the name is not found.

        parts: the parts of the name between dots.
        """
        return self._resolve(parts)

    def all_columns(self, alias: str) -> Origins:
        """Return the origins of all columns of a source, or of all sources if the alias is empty.

        Raises UnsupportedSql if the alias or some of the columns are unknown.
        """
        relations = [self.sources[alias.casefold()]] if alias.casefold() in self.sources else self.sources.values()
        if alias and alias.casefold() not in self.sources:
            found = self._find_table_row(alias.casefold())
            if found is None:
                raise UnsupportedSql(f"{shorten_name(alias)}.* does not match any table of the query")
            return found
        origins: Origins = {}
        for relation in relations:
            add_origins(origins, table_row_origins(relation), TRANSFORMATION_STEP)
        return origins

    def _find_table_row(self, key: str) -> Origins | None:
        """Return the origins of a whole row of the table with an alias in this or a surrounding query, else None.

        key: the casefolded alias.
        """
        scope: Scope | None = self
        while scope is not None:
            if key in scope.sources:
                origins: Origins = {}
                add_origins(origins, table_row_origins(scope.sources[key]), TRANSFORMATION_STEP)
                return origins
            scope = scope._outer
        return None

    def _resolve(self, parts: list[str]) -> Origins | None:
        """Return the origins of a name, None if it is not found. If the name is ambiguous, return all possible origins.

        For example, a surrounding query may have a column with this name. If no event reports all columns of a table in
        this query, the table may have a column with this name, too.
        """
        possible: Origins = {}
        found: Origins | None = None
        can_guess = True
        scope: Scope | None = self
        while scope is not None and found is None:
            found = scope._resolve_qualified(parts)
            if found is None and (found := scope._resolve_listed(parts[0], parts[1:])) is not None and len(parts) > 1:
                possible.update(
                    scope._resolve_in_outer_queries(parts)
                )  # the name may also refer to a table of an outer query
            if found is None:
                if any(relation.has_hidden_names for relation in scope.sources.values()):
                    raise UnsupportedSql(HIDDEN_NAMES)
                is_alias = parts[0].casefold() in scope.sources
                if is_alias and len(parts) == 1:
                    possible.update(scope._unambiguous_table_row(parts[0]))
                can_guess = can_guess and not is_alias
                if can_guess:
                    possible.update(scope._resolve_unlisted(parts, is_outermost=scope._outer is None) or {})
            scope = scope._outer
        if possible:
            return {**(found or {}), **possible}
        return found

    def _unambiguous_table_row(self, alias: str) -> Origins:
        """Return the origins of a whole row of a table; raises UnsupportedSql if a column may have the same name."""
        if any(relation.has_unlisted_columns for relation in self.sources.values()):
            raise UnsupportedSql(
                f"{shorten_name(alias)} may be a column or a whole row of a table, because no event of the run "
                "reports all columns of the tables in the query"
            )
        origins: Origins = {}
        add_origins(origins, table_row_origins(self.sources[alias.casefold()]), TRANSFORMATION_STEP)
        return origins

    def _resolve_qualified(self, parts: list[str]) -> Origins | None:
        for index in range(len(parts) - 1, 0, -1):  # catalog.schema.table.column, then table.column.field
            relation = self.sources.get(parts[index - 1].casefold())
            if relation is not None:
                found = _origins_within(relation, parts[index:])
                if found is not None and not relation.has_column(parts[index]):  # the relation may lack the column
                    return {**found, **self._resolve_in_outer_queries(parts)}
                return {**found, **self._field_candidates(parts, index)} if found is not None and index > 1 else found
        return None

    def _field_candidates(self, parts: list[str], index: int) -> Origins:
        """Return the origins of the fields to which an ambiguous name may refer.

        For example, if both `t` and `s` are tables, `t.s.x` may be the field `x` of the column `t.s`.
        index: the index of the part after the name of the table.
        """
        origins: Origins = {}
        for shorter in range(index - 1, 0, -1):
            relation = self.sources.get(parts[shorter - 1].casefold())
            if relation is not None and relation.has_column(parts[shorter]):
                origins.update(_origins_within(relation, parts[shorter:]) or {})
        return origins

    def _resolve_in_outer_queries(self, parts: list[str]) -> Origins:
        """Return the origins of a column of a table with the same alias in a surrounding query, or empty origins."""
        scope = self._outer
        while scope is not None:
            if (found := scope._resolve_qualified(parts)) is not None:
                return found
            scope = scope._outer
        return {}

    def _resolve_listed(self, name: str, fields: list[str]) -> Origins | None:
        key = name.casefold()
        is_merged = key in self.merged_names
        relations_with_column = [
            each
            for each in self.sources.values()
            if each.has_column_key(key) or (is_merged and each.has_unlisted_columns)
        ]
        if len(relations_with_column) > 1 and not is_merged:
            raise UnsupportedSql(f"several tables of the query have a column {shorten_name(name)}")
        if relations_with_column:
            origins: Origins = {}
            for relation in relations_with_column:
                add_origins(origins, _origins_within(relation, [name, *fields]) or {}, IDENTITY_STEP)
            return origins
        if key in self.aliases and not fields:
            guess = (
                self._resolve_unlisted([name], is_outermost=False)
                if any(map(_has_unlisted_columns, self.sources.values()))
                else None
            )
            return {**self.aliases[key], **(guess or {})}
        return None

    def _resolve_unlisted(self, parts: list[str], *, is_outermost: bool) -> Origins | None:
        """Return the origins of a name that can only be an unreported column of one table in the query, else None.

        Raises UnsupportedSql if several tables may have the column.
        is_outermost: whether there is no surrounding query, so that the only table of the query must have the column.
        """
        name = parts[0]
        if not self._may_guess:
            return None
        if len(parts) > 1 and self._is_alias(name.casefold()):
            return None
        unknown = [relation for relation in self.sources.values() if relation.has_unlisted_columns]
        candidates = unknown or [relation for relation in self.sources.values() if relation.resolve_unlisted]
        if len(candidates) == 1 and (unknown or (len(self.sources) == 1 and is_outermost)):
            return _origins_within(candidates[0], parts)
        if len(unknown) > 1:
            raise UnsupportedSql(
                f"column {shorten_name(name)} may belong to several tables, because no event of the run "
                "reports all of their columns"
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


def _has_unlisted_columns(relation: Relation) -> bool:
    return relation.has_unlisted_columns


def table_row_origins(relation: Relation) -> Origins:
    """Return the origins of all columns of a source; raises UnsupportedSql if some columns are unknown."""
    if relation.has_unlisted_columns:
        raise UnsupportedSql(_UNKNOWN_ROW)
    origins: Origins = {}
    for _, each in relation.columns:
        add_origins(origins, each, IDENTITY_STEP)
    return origins


def _origins_within(relation: Relation, parts: list[str]) -> Origins | None:
    """Return the origins of a column, or of a field of a column; None if the relation has no such column.

    If the schema does not contain the field, the origins of the column are returned.
    parts: the name of the column, followed by the names of fields.
    """
    if len(parts) > 1:
        path = ".".join(parts)
        if relation.has_column(path):
            return relation.column_origins(path)
        column = relation.column_origins(parts[0])
        origins: Origins = {}
        add_origins(origins, column or {}, TRANSFORMATION_STEP)
        return origins if column is not None else None
    return relation.column_origins(parts[0])


_UNKNOWN_ROW = "the SQL uses a whole row of a table, but no event of the run reports all columns of this table"

_SOURCES_PER_COPY = 4
"""The number of sources that can be searched for a name in the time that copying one column takes."""


def expand_star(
    star: exp.Star, table_alias: str, scope: Scope, read_expression: Callable[[exp.Expr], Origins], budget: Budget
) -> Iterator[tuple[str, Origins]]:
    """Yield (name, origins) of the columns that a star selects; raises UnsupportedSql if the columns are unknown.

    table_alias: the alias of the table, empty for all tables.
    read_expression: returns the origins of an expression.
    """
    excluded = {each.name.casefold() for each in star.args.get("except_") or ()}
    replaced = {each.alias.casefold(): each for each in star.args.get("replace") or ()}
    aliases = [each for each in star.args.get("rename") or () if isinstance(each, exp.Alias)]
    new_names = {each.this.name.casefold(): each.alias for each in aliases}
    if table_alias and table_alias.casefold() not in scope.sources:
        raise UnsupportedSql(f"{shorten_name(table_alias)}.* does not match any table of the query")
    seen: set[str] = set()
    for relation in [scope.sources[table_alias.casefold()]] if table_alias else list(scope.sources.values()):
        if relation.has_hidden_names:
            raise UnsupportedSql(HIDDEN_NAMES)
        if not relation.columns and relation.has_unlisted_columns:
            raise UnsupportedSql(STAR_OF_UNKNOWN_TABLE)
        budget.spend_copies(1)
        for name, origins in relation.columns:
            key = name.casefold()
            if key in excluded or (key in scope.merged_names and key in seen):
                continue
            seen.add(key)
            budget.spend_copies(COPIES_PER_STEP - 1 + len(origins))
            column_origins = read_expression(replaced[key]) if key in replaced else origins
            yield (
                new_names.get(key, name),
                read_expression(exp.column(name)) if key in scope.merged_names and not table_alias else column_origins,
            )
        if relation.incomplete_datasets:  # columns that no event reports
            yield from (
                (new_names[key], relation.column_origins(key) or {})
                for key in new_names
                if not relation.has_column(key)
            )
            yield from (
                (each.alias, read_expression(each)) for key, each in replaced.items() if not relation.has_column(key)
            )
