"""Extract the parts of a statement that writes: its table, its list of columns and its query."""

from collections.abc import Iterator

from sqlglot import exp


def name_of(table: exp.Table) -> str:
    """Return the name of a table as in the statement, without quotes."""
    return ".".join(part.name for part in table.parts)


def table_of(target: exp.Expr) -> exp.Expr:
    """Return the table that a statement writes, without its list of columns."""
    found: exp.Expr = target.this if isinstance(target, exp.Schema) else target
    return found


def rows(node: exp.Expr | None) -> exp.Query | None:
    """Return the query that fills a table. A table name, as in `TABLE t` or a CLONE, selects all columns of it."""
    if isinstance(node, exp.Table):
        return exp.Select(expressions=[exp.Star()]).from_(node, copy=False)
    return node if isinstance(node, exp.Query) else None


def listed(target: exp.Expr) -> Iterator[str]:
    """Yield the columns that a statement lists after the table that it writes."""
    for each in target.expressions if isinstance(target, exp.Schema) else ():
        yield each.name


def fixed(node: exp.Insert) -> Iterator[str]:
    """Yield the columns to which a PARTITION clause assigns a value."""
    partition = node.args.get("partition") or table_of(node.this).args.get("partition")
    for each in partition.expressions if partition else ():
        if isinstance(each, exp.EQ):
            yield each.this.name.casefold()
