"""The parts of a statement that writes: which table, which of its columns, from which rows."""

from collections.abc import Iterator

from sqlglot import exp


def name_of(table: exp.Table) -> str:
    """Return the name of a table as it is written, without quotes."""
    return ".".join(part.name for part in table.parts)


def table_of(target: exp.Expr) -> exp.Expr:
    """Return the table that a statement writes, without the columns that it lists."""
    found: exp.Expr = target.this if isinstance(target, exp.Schema) else target
    return found


def rows(node: exp.Expr | None) -> exp.Query | None:
    """Return the query that fills a table; of a table's name, as `TABLE t` or a CLONE has it, all its columns."""
    if isinstance(node, exp.Table):
        return exp.Select(expressions=[exp.Star()]).from_(node, copy=False)
    return node if isinstance(node, exp.Query) else None


def listed(target: exp.Expr) -> Iterator[str]:
    """Yield the columns that a statement lists behind what it writes."""
    for each in target.expressions if isinstance(target, exp.Schema) else ():
        yield each.name


def fixed(node: exp.Insert) -> Iterator[str]:
    """Yield the columns to which a PARTITION gives a value."""
    partition = node.args.get("partition") or table_of(node.this).args.get("partition")
    for each in partition.expressions if partition else ():
        if isinstance(each, exp.EQ):
            yield each.this.name.casefold()
