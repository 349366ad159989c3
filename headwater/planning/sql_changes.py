"""What SQL would change: ALTER, DROP, CREATE and SELECT INTO of five dialects, statement by statement (pure)."""

import logging
import re
from collections.abc import Iterator

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from headwater.errors import WrongSetting
from headwater.planning.planned_schema import PlannedColumn, PlannedSchema
from headwater.planning.selected_columns import selected_columns
from headwater.planning.sql_names import name_of

DIALECTS = ("spark", "databricks", "tsql", "postgres", "snowflake", "bigquery", "duckdb")
MAX_CHARACTERS = 1 << 20

_BARE_RENAME = re.compile(
    r"(\bRENAME\s+)(?!(?:TO|COLUMN|CONSTRAINT|PARTITION|AS)\b)((?:\"[^\"]*\"|`[^`]*`|\[[^\]]*\]|\w+)\s+TO\b)",
    re.IGNORECASE,
)
_LISTED_DROP = re.compile(r"(\bDROP\s+)COLUMN(\s+)((?:`[^`]*`|\w+)(?:\s*,\s*(?:`[^`]*`|\w+))+)\s*$", re.IGNORECASE)
_CHANGES = {"ALTER", "CREATE", "DROP", "RENAME", "EXEC", "EXECUTE"}


def take_sql(text: str, dialect: str, schema: PlannedSchema, file: str) -> None:
    """Let statements change a schema; raises WrongSetting for text that is no SQL of the dialect."""
    if len(text) > MAX_CHARACTERS:
        raise WrongSetting(f"{file} has {len(text):,} characters. Split it: {MAX_CHARACTERS:,} are taken at most.")
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # what it cannot read is said in the answer
    try:
        statements = sqlglot.parse(_BARE_RENAME.sub(r"\1COLUMN \2", text), read=dialect)
    except (SqlglotError, RecursionError) as error:
        said = str(error).splitlines()[0] if str(error) else "it is nested too deeply"
        raise WrongSetting(
            f"{file} is no SQL of {dialect}: {said} Correct it, or name its dialect with --dialect: "
            f"{', '.join(DIALECTS)}."
        ) from error
    for statement in statements:
        if statement is not None:
            _take(statement, dialect, schema)


def _take(statement: exp.Expr, dialect: str, schema: PlannedSchema) -> None:
    if isinstance(statement, exp.Alter):
        _alter(statement, dialect, schema)
    elif isinstance(statement, exp.Drop) and _is_table(statement):
        for table in [*([statement.this] if statement.this else []), *(statement.args.get("tables") or [])]:
            schema.drop(name_of(table))
    elif isinstance(statement, exp.Create) and _is_table(statement):
        _create(statement, dialect, schema)
    elif isinstance(statement, exp.Select) and statement.args.get("into"):
        into = statement.args["into"].this
        if not _is_temporary(into):
            schema.make(name_of(into), *selected_columns(statement, dialect, schema))
    elif isinstance(statement, exp.Execute):
        _execute(statement, schema)
    elif isinstance(statement, exp.Command) and _begins(statement) in _CHANGES:
        _command(statement, dialect, schema)


def _command(statement: exp.Command, dialect: str, schema: PlannedSchema) -> None:
    """Read what the parser passes over: a list of columns to drop, without brackets."""
    text = f"{statement.this} {statement.expression or ''}"
    listed = _LISTED_DROP.sub(r"\1COLUMNS\2(\3)", text)
    again = sqlglot.parse_one(listed, read=dialect) if listed != text else statement
    if isinstance(again, exp.Alter):
        _alter(again, dialect, schema)
        return
    found = re.search(r"\b(?:TABLE|VIEW)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?([\w.`\"\[\]]+)", text, re.IGNORECASE)
    called = re.sub(r"[`\"\[\]]", "", found[1]) if found else ""
    if called or _begins(statement) == "RENAME":
        schema.not_understood(called, f"This statement is not understood: {' '.join(text.split())[:200]}")


def _begins(statement: exp.Command) -> str:
    return str(statement.this).split(maxsplit=1)[0].upper() if statement.this else ""


def _is_table(statement: exp.Expr) -> bool:
    return (statement.args.get("kind") or "").upper() in ("TABLE", "VIEW", "MATERIALIZED VIEW")


def _is_temporary(table: exp.Expr) -> bool:
    return table.name.startswith("#") or bool(table.this and table.this.args.get("temporary"))


def _alter(statement: exp.Alter, dialect: str, schema: PlannedSchema) -> None:
    called = name_of(statement.this)
    for action in statement.args.get("actions") or []:
        _act(called, action, dialect, schema)


def _act(called: str, action: exp.Expr, dialect: str, schema: PlannedSchema) -> None:
    if isinstance(action, exp.AlterRename):
        schema.rename_known(called, name_of(action.this))
    elif isinstance(action, exp.SwapTable):
        schema.not_understood(called, f"It is swapped with {name_of(action.this)}: compare their columns.")
    elif isinstance(action, exp.Drop):
        if (action.args.get("kind") or "").upper().startswith("COLUMN"):
            for column in _dropped(action):
                schema.drop_column(called, column)
    elif isinstance(action, exp.RenameColumn):
        schema.change_column(called, action.this.name, rename=action.args["to"].name)
    elif isinstance(action, exp.AlterColumn):
        kind, new = action.args.get("dtype"), action.args.get("rename_to")
        if kind is not None or new is not None:
            told = kind.sql(dialect=dialect) if kind is not None else None
            schema.change_column(called, action.this.name, rename=new.name if new else None, kind=told)
    elif isinstance(action, exp.ReplaceColumns):
        table = schema.table(called)
        if table is not None:
            known = {each.name.casefold(): each for each in table.columns or ()}
            table.columns = [
                PlannedColumn(
                    each.name, each.type, known[each.name.casefold()].was if each.name.casefold() in known else None
                )
                for each in _defined(action.expressions, dialect)
            ]
    elif isinstance(action, exp.ColumnDef):
        table = schema.table(called)
        if table is not None and table.columns is not None and table.find(action.name) is None:
            table.columns.append(PlannedColumn(action.name, _type(action, dialect), None))


def _dropped(action: exp.Drop) -> Iterator[str]:
    for each in action.args.get("tables") or [action.this]:
        listed = each.expressions if isinstance(each, exp.Schema) else [each]
        yield from (column.name for column in listed if column is not None)


def _create(statement: exp.Create, dialect: str, schema: PlannedSchema) -> None:
    called = name_of(statement.this)
    if _is_temporary(statement.this) or any(
        isinstance(each, exp.TemporaryProperty) for each in statement.find_all(exp.TemporaryProperty)
    ):
        return
    if statement.args.get("exists") and schema.is_there(called):
        return  # IF NOT EXISTS leaves what is there
    listed = statement.this.expressions if isinstance(statement.this, exp.Schema) else []
    query = statement.expression
    if isinstance(query, exp.Query):
        columns, why = selected_columns(query, dialect, schema)
        if listed and columns is not None and len(listed) == len(columns):
            columns = [each._replace(name=given.name) for each, given in zip(columns, listed, strict=True)]
        schema.make(called, columns, why)
    elif listed:
        schema.make(called, [*_defined(listed, dialect)])
    elif (like := statement.find(exp.LikeProperty)) is not None or (like := statement.args.get("clone")) is not None:
        table = schema.table(name_of(like.this))
        schema.make(
            called, table.columns if table else None, None if table else "The columns of its model are not known."
        )
    else:
        schema.make(called, None, "This statement does not say which columns it makes.")


def _defined(listed: list[exp.Expr], dialect: str) -> Iterator[PlannedColumn]:
    for each in listed:
        if isinstance(each, exp.ColumnDef):
            yield PlannedColumn(each.name, _type(each, dialect), None)


def _type(column: exp.ColumnDef, dialect: str) -> str | None:
    kind = column.args.get("kind")
    return kind.sql(dialect=dialect) if kind is not None else None


def _execute(statement: exp.Execute, schema: PlannedSchema) -> None:
    """Read T-SQL's sp_rename: of a table, or with the third argument COLUMN of a column."""
    if statement.this.name.casefold() != "sp_rename":
        return
    given = [re.sub(r"[\[\]]", "", each.name or each.sql()) for each in statement.expressions]
    if len(given) == 3 and given[2].upper() == "COLUMN":
        table, _, column = given[0].rpartition(".")
        schema.change_column(table, column, rename=given[1])
    elif len(given) == 2:
        schema.rename_known(given[0], given[1])
