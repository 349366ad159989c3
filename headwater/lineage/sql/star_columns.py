"""Expand `*` to columns, with the EXCEPT, REPLACE and RENAME clauses of some dialects."""

from collections.abc import Callable, Iterator

from sqlglot import exp

from headwater.lineage.sql.column_steps import Made
from headwater.lineage.sql.query_scope import Scope
from headwater.lineage.sql.sql_bounds import COPIES_PER_STEP, Budget
from headwater.lineage.sql.unread_sql import HIDDEN_NAMES, STAR_OF_UNKNOWN, UnreadSql, shown


def star_columns(
    star: exp.Star, of: str, scope: Scope, made_of: Callable[[exp.Expr], Made], budget: Budget
) -> Iterator[tuple[str, Made]]:
    """Yield all columns of one table or of all tables; raises UnreadSql if they are unknown.

    of: the alias of the table, empty for all tables; made_of: returns the origins of an expression.
    """
    left_out = {each.name.casefold() for each in star.args.get("except_") or ()}
    replaced = {each.alias.casefold(): each for each in star.args.get("replace") or ()}
    aliases = [each for each in star.args.get("rename") or () if isinstance(each, exp.Alias)]
    renamed = {each.this.name.casefold(): each.alias for each in aliases}
    if of and of.casefold() not in scope.sources:
        raise UnreadSql(f"{shown(of)}.* does not match any table of the query")
    seen: set[str] = set()
    for relation in [scope.sources[of.casefold()]] if of else list(scope.sources.values()):
        if relation.hides_names:
            raise UnreadSql(HIDDEN_NAMES)
        if not relation.columns and relation.is_open:
            raise UnreadSql(STAR_OF_UNKNOWN)
        budget.copy(1)
        for name, made in relation.columns:
            key = name.casefold()
            if key in left_out or (key in scope.merged and key in seen):
                continue
            seen.add(key)
            budget.copy(COPIES_PER_STEP - 1 + len(made))
            own = made_of(replaced[key]) if key in replaced else made
            yield renamed.get(key, name), made_of(exp.column(name)) if key in scope.merged and not of else own
        if relation.more_of:  # columns that no event reports
            yield from ((renamed[key], relation.column(key) or {}) for key in renamed if not relation.has(key))
            yield from ((each.alias, made_of(each)) for key, each in replaced.items() if not relation.has(key))
