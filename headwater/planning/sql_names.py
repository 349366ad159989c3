"""What a statement calls a table (pure)."""

from sqlglot import exp


def name_of(table: exp.Expr) -> str:
    """Return a table's name as it is written, without quotes: `main.sales.orders`."""
    found = table.find(exp.Table) if not isinstance(table, exp.Table) else table
    return ".".join(part.name for part in found.parts) if found else table.name
