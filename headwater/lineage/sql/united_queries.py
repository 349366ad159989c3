"""Combine the columns of queries with UNION, EXCEPT and INTERSECT."""

from sqlglot import exp

from headwater.lineage.sql.column_steps import COPIED, FILTER, Made, Relation, add
from headwater.lineage.sql.made_output import size_of
from headwater.lineage.sql.sql_bounds import Budget
from headwater.lineage.sql.unread_sql import UnreadSql


def copied(relation: Relation, budget: Budget) -> Relation:
    """Return a copy of a relation that can be changed."""
    budget.copy(size_of(made for _, made in relation.columns) + len(relation.whole))
    found = Relation([(name, copy_of(made)) for name, made in relation.columns])
    found.whole = copy_of(relation.whole)
    found.hides_names, found.more_of = relation.hides_names, relation.more_of
    return found


def unite(found: Relation, other: Relation, how: exp.SetOperation, budget: Budget) -> None:
    """Add a query to the queries before it. The columns that EXCEPT and INTERSECT compare only filter rows."""
    found.hides_names |= other.hides_names
    if len(found.columns) != len(other.columns) and not how.args.get("by_name"):
        raise UnreadSql("the queries of a UNION have different numbers of columns")
    budget.copy(len(other.whole))
    add(found.whole, other.whole, COPIED)
    if how.args.get("by_name"):
        for name, made in other.columns:
            if not found.has(name):
                budget.copy(1 + len(made))
                found.add_column(name, copy_of(made))
    for place, (name, made) in enumerate(found.columns):
        theirs = other.column(name) if how.args.get("by_name") else other.columns[place][1]
        budget.spend(1 + len(theirs or ()))
        if isinstance(how, exp.Union):
            add(made, theirs or {}, COPIED)
        else:
            add(found.whole, theirs or {}, FILTER)


def copy_of(made: Made) -> Made:
    """Return a copy of origins that can be changed."""
    return {origin: set(steps) for origin, steps in made.items()}
