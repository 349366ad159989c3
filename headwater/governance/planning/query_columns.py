"""Find the columns of a SQL query: their names, and their types if these are certain. No I/O."""

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from headwater.governance.planning.schema import PlannedColumn, PlannedSchema

MAX_PARTS, MAX_DEPTH = 20_000, 300
"""Largest query for name resolution: syntax nodes and levels. The cost grows with the square of the levels."""
Selected = tuple[list[PlannedColumn] | None, str | None]
"""The columns and None, or None and the reason why the columns are unknown."""


def selected_columns(query: exp.Expr, dialect: str, schema: PlannedSchema) -> Selected:
    """Return the columns of a query. `*` stands for the columns that its tables have in `schema`."""
    if _is_too_large(query):
        return (
            None,
            f"Its query is too large to resolve columns: more than {MAX_PARTS:,} parts or {MAX_DEPTH} levels.",
        )
    known, unknown = _known_tables_of(query, schema)
    try:
        query = qualify(
            _with_short_names(query.copy(), known),
            dialect=dialect,
            schema=MappingSchema(known.mapping, dialect=dialect, normalize=False),
            validate_qualify_columns=False,
            identify=False,
            quote_identifiers=False,
        )
    except (SqlglotError, RecursionError) as error:
        return None, f"The columns of its query cannot be resolved: {str(error).splitlines()[0][:200]}"
    found = query.selects if isinstance(query, exp.Query) else []
    if any(
        isinstance(each, exp.Star) or (isinstance(each, exp.Column) and isinstance(each.this, exp.Star))
        for each in found
    ):
        return None, f"Its query selects * from {', '.join(unknown) or 'a query'}, whose columns are unknown."
    names = [known.spelt.get(each.alias_or_name.casefold(), each.alias_or_name) for each in found]
    return [
        PlannedColumn(name, _type_of_selected(each, known), None) for name, each in zip(names, found, strict=True)
    ], None


def _is_too_large(query: exp.Expr) -> bool:
    depths: dict[int, int] = {}
    for node in query.walk():
        depth = depths[id(node)] = depths.get(id(node.parent), 0) + 1
        if depth > MAX_DEPTH or len(depths) > MAX_PARTS:
            return True
    return False


class _KnownTables:
    """The known tables of a query.

    short: maps table names to generated short names. mapping: maps short names to columns, for sqlglot. types: maps
    short name and column to the type. spelt: maps case-folded columns to their spelling.
    """

    def __init__(self) -> None:
        self.mapping: dict[str, object] = {}
        self.short: dict[str, str] = {}
        self.types: dict[tuple[str, str], str | None] = {}
        self.spelt: dict[str, str] = {}


def _known_tables_of(query: exp.Expr, schema: PlannedSchema) -> tuple[_KnownTables, list[str]]:
    known, unknown = _KnownTables(), []
    own = {each.alias_or_name.casefold() for each in query.find_all(exp.CTE)}
    for table in query.find_all(exp.Table):
        table_name = table_name_of(table)
        if table_name.casefold() in own or table_name.casefold() in known.short or table.find_ancestor(exp.Into):
            continue
        planned = schema.planned_table(table_name)
        if planned is None or planned.columns is None:
            unknown.append(table_name)
            continue
        short = f"t{len(known.short)}"
        known.short[table_name.casefold()] = short
        known.mapping[short] = {each.name.casefold(): "UNKNOWN" for each in planned.columns if "." not in each.name}
        for each in planned.columns:
            known.types[short, each.name.casefold()] = each.type
            known.spelt.setdefault(each.name.casefold(), each.name)
    return known, unknown


def _with_short_names(query: exp.Expr, known: _KnownTables) -> exp.Expr:
    """Replace table names with short names and fold the case of all names, so that dialects do not matter."""
    for table in [*query.find_all(exp.Table)]:
        short = known.short.get(table_name_of(table).casefold())
        if short and not table.find_ancestor(exp.Into):
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name.casefold())))
            for part in ("db", "catalog"):
                table.set(part, None)
            table.set("this", exp.to_identifier(short))
    for column in query.find_all(exp.Column):
        for part in ("db", "catalog"):
            column.set(part, None)
    for name in query.find_all(exp.Identifier):
        name.set("this", name.this.casefold())
        name.set("quoted", False)
    return query


def _type_of_selected(selected: exp.Expr, known: _KnownTables) -> str | None:
    """Return the type of a selected CAST or column; None for other expressions and unknown types."""
    inner = selected.unalias()
    if isinstance(inner, exp.Cast) and isinstance(inner.to, exp.DataType):
        return inner.to.sql()
    if not isinstance(inner, exp.Column):
        return None
    select = selected.find_ancestor(exp.Select)
    sources = {each.alias_or_name: each.name for each in select.find_all(exp.Table)} if select else {}
    return known.types.get((sources.get(inner.table, ""), inner.name))


def table_name_of(table: exp.Expr) -> str:
    """Return the name of a table as written, without quotes: `main.sales.orders`."""
    found = table.find(exp.Table) if not isinstance(table, exp.Table) else table
    return ".".join(part.name for part in found.parts) if found else table.name
