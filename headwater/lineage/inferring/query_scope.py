"""Which column a name in a query means: of the tables beside it, of its own list, of the queries around it."""

from sqlglot import exp

from headwater.lineage.inferring.column_steps import CHANGED, COPIED, Made, Relation, add
from headwater.lineage.inferring.unread_sql import UnreadSql, shown


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

    def add(self, alias: str, relation: Relation) -> None:
        """Take a source."""
        key = alias.casefold() or f" {len(self.sources)}"
        self.sources[key if key not in self.sources else f"{key} {len(self.sources)}"] = relation

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

    def _found(self, parts: list[str]) -> Made | None:
        scope: Scope | None = self
        while scope is not None:
            found = scope._own(parts)
            if found is not None:
                return found
            scope = scope._outer
        return None

    def _own(self, parts: list[str]) -> Made | None:
        for at in range(len(parts) - 1, 0, -1):  # catalog.schema.table.column, then table.column.field
            relation = self.sources.get(parts[at - 1].casefold())
            if relation is not None:
                return _within(relation, parts[at:])
        return self._unqualified(parts[0], parts[1:])

    def _unqualified(self, name: str, fields: list[str]) -> Made | None:
        key = name.casefold()
        having = [relation for relation in self.sources.values() if relation.has_key(key)]
        if len(having) > 1 and key not in self.merged:
            raise UnreadSql(f"{shown(name)} may be of several tables")
        if having:
            made: Made = {}
            for relation in having:
                add(made, _within(relation, [name, *fields]) or {}, COPIED)
            return made
        if key in self.aliases and not fields:
            return self.aliases[key]
        unknown = [relation for relation in self.sources.values() if relation.otherwise and not relation.columns]
        open_ = unknown or [relation for relation in self.sources.values() if relation.otherwise]
        if len(open_) == 1 and (unknown or len(self.sources) == 1) and self._may_have():
            return _within(open_[0], [name, *fields])
        if len(unknown) > 1:
            raise UnreadSql(f"{shown(name)} may be of several tables whose columns are not known")
        return None

    def _may_have(self) -> bool:
        """Tell whether an unknown name may be a column here, rather than one of the query around."""
        return self._outer is None or any(
            relation.otherwise and not relation.columns for relation in self.sources.values()
        )


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


_SOURCES_PER_COPY = 4
"""How many sources one name can be searched for in the time that copying a column takes."""
