"""Names of tables in SQL. No I/O."""

from sqlglot import exp


def name_of(table: exp.Expr) -> str:
    """Return the name of a table as written, without quotes: `main.sales.orders`."""
    found = table.find(exp.Table) if not isinstance(table, exp.Table) else table
    return ".".join(part.name for part in found.parts) if found else table.name
