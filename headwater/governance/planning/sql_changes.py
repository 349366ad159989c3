"""Apply SQL to a planned schema, statement by statement: ALTER, DROP, CREATE and SELECT INTO. No I/O."""

import logging
import re
from collections.abc import Iterator, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from headwater.common.errors import WrongSetting
from headwater.governance.planning.query_columns import selected_columns, table_name_of
from headwater.governance.planning.schema import PlannedColumn, PlannedSchema, sibling_path

DIALECTS = ("spark", "databricks", "tsql", "postgres", "snowflake", "bigquery", "duckdb")
MAX_CHARACTERS = 1 << 20

_BARE_RENAME = re.compile(
    r"(\bRENAME\s+)(?!(?:TO|COLUMN|CONSTRAINT|PARTITION|AS)\b)((?:\"[^\"]*\"|`[^`]*`|\[[^\]]*\]|\w+)\s+TO\b)",
    re.IGNORECASE,
)
_LISTED_DROP = re.compile(r"(\bDROP\s+)COLUMN(\s+)((?:`[^`]*`|\w+)(?:\s*,\s*(?:`[^`]*`|\w+))+)\s*$", re.IGNORECASE)
_BATCH_END = re.compile(r"^[ \t]*GO[ \t]*\d*[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_BLOCK_END = re.compile(r"\s+END\s*$", re.IGNORECASE)
_BARE_PROCEDURE = re.compile(r"^(\s*)(sp_rename\b)", re.IGNORECASE | re.MULTILINE)


def apply_sql(text: str, dialect: str, schema: PlannedSchema, file: str) -> None:
    """Apply SQL statements to a schema; raises WrongSetting if the text is too long or is not SQL of the dialect.

    file: name of the file, for error messages.
    """
    if len(text) > MAX_CHARACTERS:
        raise WrongSetting(f"{file} has {len(text):,} characters. Split it: the limit is {MAX_CHARACTERS:,}.")
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # the answer lists unsupported statements
    if dialect == "tsql":
        text = _BARE_PROCEDURE.sub(r"\1EXEC \2", _HANDLER.sub(";", _BATCH_END.sub(";", text)))
    text = _BARE_RENAME.sub(r"\1COLUMN \2", text)
    try:
        statements: Sequence[exp.Expr | None] = sqlglot.parse(text, read=dialect)
    except (SqlglotError, RecursionError):
        _apply_readable_statements(text, dialect, schema, file)
    else:
        for statement in statements:
            if statement is not None:
                _apply_statement(statement, dialect, schema)


def _apply_readable_statements(text: str, dialect: str, schema: PlannedSchema, file: str) -> None:
    """Apply the statements that can be parsed, and record all other statements as not understood."""
    try:
        tokens = sqlglot.tokenize(text, read=dialect)
    except SqlglotError as error:
        raise WrongSetting(
            f"{file} is not valid SQL in the dialect {dialect}: {str(error).splitlines()[0]} Correct it, or set its "
            f"dialect with --dialect: {', '.join(DIALECTS)}."
        ) from error
    ends = [each.start for each in tokens if each.token_type == TokenType.SEMICOLON]
    for start, end in zip([0, *(each + 1 for each in ends)], [*ends, len(text)], strict=True):
        one = text[start:end]
        try:
            statements = sqlglot.parse(one, read=dialect)
        except (SqlglotError, RecursionError):
            schema.record_unreadable(
                _table_in(one),
                f"{_NOT_UNDERSTOOD} as SQL in the dialect {dialect} (see --dialect): {_shortened_text(one)}",
            )
        else:
            for statement in statements:
                if statement is not None:
                    _apply_statement(statement, dialect, schema)


def _apply_statement(statement: exp.Expr, dialect: str, schema: PlannedSchema) -> None:
    """Apply one statement to a schema, or record it if its effect is unknown."""
    if isinstance(statement, exp.Alter):
        _apply_alter(statement, dialect, schema)
    elif isinstance(statement, exp.Drop):
        _apply_drop(statement, schema)
    elif isinstance(statement, exp.Create):
        if _is_table(statement):
            _apply_create(statement, dialect, schema)
        elif _statement_kind(statement) not in _WITHOUT_COLUMNS:
            _record_unreadable(statement, dialect, schema)
    elif isinstance(statement, exp.Select) and statement.args.get("into"):
        into = statement.args["into"].this
        if not _is_temporary(into):
            schema.create_table(table_name_of(into), *selected_columns(statement, dialect, schema))
    elif isinstance(statement, exp.Execute):
        _apply_execute(statement, dialect, schema)
    elif isinstance(statement, (exp.IfBlock, exp.Block)):
        _apply_block(statement, dialect, schema)
    elif isinstance(statement, exp.Command):
        _apply_command(statement, dialect, schema)
    elif not _changes_no_schema(statement):
        _record_unreadable(statement, dialect, schema)


_CHANGE_NO_SCHEMA = (
    exp.Query, exp.Insert, exp.MultitableInserts, exp.Update, exp.Delete, exp.Merge, exp.TruncateTable, exp.Grant,
    exp.Revoke, exp.Comment, exp.Use, exp.Set, exp.Declare, exp.Transaction, exp.Commit, exp.Rollback, exp.Analyze,
    exp.Describe, exp.Show, exp.Cache, exp.Uncache, exp.Refresh, exp.Pragma, exp.Semicolon, exp.Copy, exp.LoadData,
    exp.Kill, exp.EndStatement,
)  # fmt: skip
"""Statements that change no columns; `docs/how-to/analytics-engineer/plan.md` lists them."""

_HARMLESS_COMMANDS = frozenset({
    "OPTIMIZE", "VACUUM", "ANALYZE", "MSCK", "REFRESH", "SHOW", "EXPLAIN", "SET", "RESET", "GRANT", "REVOKE", "USE",
    "LOCK", "UNLOCK", "PRINT", "RAISERROR", "THROW", "COMPUTE", "ADD", "CHECKPOINT", "LISTEN", "NOTIFY", "REINDEX",
    "WAITFOR", "INVALIDATE",
})  # fmt: skip
_WITHOUT_COLUMNS = frozenset({
    "INDEX", "SCHEMA", "DATABASE", "FUNCTION", "MACRO", "PROCEDURE", "SEQUENCE", "ROLE", "USER", "TRIGGER",
    "STATISTICS",
})  # fmt: skip
"""Objects that CREATE and DROP statements can name without changing tables, except DROP SCHEMA and DATABASE."""

_KEEPS_SCHEMA = re.compile(
    r"""\s*(?:ICEBERG\s+)?(?:TABLE|VIEW)\s+(?:IF\s+EXISTS\s+)?(?:ONLY\s+)?\S+\s+(?:
        (?:UN)?SET\s+(?:TBLPROPERTIES|TAGS?|COMMENT)\b.*
        | RENAME\s+CONSTRAINT\s+\S+\s+TO\s+\S+
        | OWNER\s+TO\s+\S+
        | (?:ENABLE|DISABLE|FORCE|NO\s+FORCE)\s+ROW\s+LEVEL\s+SECURITY
        | (?:ENABLE|DISABLE)\s+TRIGGER\s+\S+
        | RECOVER\s+PARTITIONS
        | (?:ADD|DROP)\s+SEARCH\s+OPTIMIZATION
        | WITH\s+(?:NO)?CHECK\s+ADD\s+CONSTRAINT\s+\S+\s+(?:CHECK|FOREIGN\s+KEY|UNIQUE|PRIMARY\s+KEY)\b[^,]*
        | (?:WITH\s+(?:NO)?CHECK\s+)?(?:NO)?CHECK\s+CONSTRAINT\s+\S+
        | (?:ALTER|MODIFY)\s+(?:COLUMN\s+)?\S+\s+(?:
            (?:UN)?SET\s+(?:TAGS?|MASKING\s+POLICY|STORAGE|STATISTICS|COMPRESSION)\b[^,]*
            | ADD\s+MASKED\b.*
            | DROP\s+MASKED
        )
    )\s*""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
"""Forms of ALTER that the parser does not support and that change no columns."""

_HANDLER = re.compile(r"\b(?:BEGIN|END)\s+(?:TRY|CATCH)\b", re.IGNORECASE)
"""Error handlers of T-SQL; their statements count as if they ran."""

_BARE_DROP = re.compile(r"^\s*(?:IF\s+EXISTS\s+)?([\w.`\"\[\]]+)\s*(?:CASCADE|RESTRICT)?\s*$", re.IGNORECASE)
_NESTED_TYPE = re.compile(
    r"^\s*TABLE\s+(\S+)\s+(?:ALTER|CHANGE)\s+(?:COLUMN\s+)?([\w.`]+)\s+TYPE\s+(.+?)\s*$", re.IGNORECASE | re.DOTALL
)


def _apply_block(statement: exp.IfBlock | exp.Block, dialect: str, schema: PlannedSchema) -> None:
    if isinstance(statement.this, exp.Alias):  # the parser treats the first word after the condition as an alias
        _record_unreadable(statement, dialect, schema)
    for each in _statements_in_block(statement):
        _apply_statement(each, dialect, schema)


def _statements_in_block(block: exp.Expr) -> Iterator[exp.Expr]:
    """Yield all statements of a T-SQL block, because the result of its condition is unknown."""
    for name, value in block.args.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, exp.Expr) and not (isinstance(block, exp.IfBlock) and name == "this"):
                yield each


def _apply_drop(statement: exp.Drop, schema: PlannedSchema) -> None:
    table_name = [*([statement.this] if statement.this else []), *(statement.args.get("tables") or [])]
    if _is_table(statement):
        for table in table_name:
            schema.drop_table(table_name_of(table))
    elif _statement_kind(statement) not in _WITHOUT_COLUMNS - {"SCHEMA", "DATABASE"} or statement.args.get("cascade"):
        schema.record_unreadable("", f"This statement also drops dependent objects: {_shortened_text(statement.sql())}")


def _record_unreadable(statement: exp.Expr, dialect: str, schema: PlannedSchema) -> None:
    table = statement.find(exp.Table)
    schema.record_unreadable(
        table_name_of(table) if table else "", f"{_NOT_UNDERSTOOD}: {_shortened_text(statement.sql(dialect))}"
    )


_NOT_UNDERSTOOD = "This statement is not understood"


def _unquote(name: str) -> str:
    return re.sub(r"[`\"\[\]]", "", name)


def _shortened_text(text: str) -> str:
    return " ".join(text.split())[:200]


def _apply_command(statement: exp.Command, dialect: str, schema: PlannedSchema) -> None:
    """Apply a statement that the parser does not support, or record it as not understood.

    Two forms are applied: a list of columns to drop without parentheses, and the type of a nested column.
    """
    rest = _command_text(statement)
    text = f"{statement.this} {rest}"
    listed = _LISTED_DROP.sub(r"\1COLUMNS\2(\3)", _BLOCK_END.sub("", text) if dialect == "tsql" else text)
    again = sqlglot.parse_one(listed, read=dialect) if listed != text else statement
    nested = _NESTED_TYPE.match(rest)
    if isinstance(again, exp.Alter):
        _apply_alter(again, dialect, schema)
    elif _first_word(statement) == "ALTER" and nested:
        table, column = (_unquote(each) for each in nested.groups()[:2])
        schema.change_column(table, column, kind=nested[3])
    elif _first_word(statement) not in _HARMLESS_COMMANDS and not (
        _first_word(statement) == "ALTER" and _KEEPS_SCHEMA.fullmatch(rest)
    ):
        schema.record_unreadable(_table_in(text), f"{_NOT_UNDERSTOOD}: {_shortened_text(text)}")


def _table_in(text: str) -> str:
    """Return the table name in a statement that cannot be parsed; empty if the statement does not show the name."""
    found = re.search(r"\b(?:TABLE|VIEW|TRANSFER)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?([\w.`\"\[\]]+)", text, re.IGNORECASE)
    return _unquote(found[1]) if found else ""


def _changes_no_schema(statement: exp.Expr) -> bool:
    if isinstance(statement, exp.Column):  # a statement of one word, such as CHECKPOINT or THROW
        return statement.name.upper() in _HARMLESS_COMMANDS
    if isinstance(statement, exp.Copy) and isinstance(statement.this, exp.Select):  # COPY FROM DATABASE
        return False
    return isinstance(statement, _CHANGE_NO_SCHEMA)


def _first_word(statement: exp.Command) -> str:
    return str(statement.this).split(maxsplit=1)[0].upper() if statement.this else ""


def _statement_kind(statement: exp.Expr) -> str:
    return str(statement.args.get("kind") or "").upper()


def _is_table(statement: exp.Expr) -> bool:
    return _statement_kind(statement) in ("TABLE", "VIEW", "MATERIALIZED VIEW")


def _is_temporary(table: exp.Expr) -> bool:
    return table.name.startswith("#") or bool(table.this and table.this.args.get("temporary"))


def _apply_alter(statement: exp.Alter, dialect: str, schema: PlannedSchema) -> None:
    table_name = table_name_of(statement.this)
    for action in statement.args.get("actions") or []:
        _apply_action(table_name, action, dialect, schema)


def _apply_action(table_name: str, action: exp.Expr, dialect: str, schema: PlannedSchema) -> None:
    if isinstance(action, exp.AlterRename):
        schema.rename_in_schema(table_name, table_name_of(action.this))
    elif isinstance(action, exp.SwapTable):
        schema.record_unreadable(table_name, f"It is swapped with {table_name_of(action.this)}. Compare their columns.")
    elif isinstance(action, exp.Drop) and _statement_kind(action).startswith("COLUMN"):
        for column in _dropped_columns(action):
            schema.drop_column(table_name, column)
    elif isinstance(action, (exp.RenameColumn, exp.AlterColumn)):
        _change_column(table_name, action, dialect, schema)
    elif isinstance(action, exp.Query):  # ALTER VIEW … AS
        schema.create_table(table_name, *selected_columns(action, dialect, schema))
    elif (
        isinstance(action, exp.Command)
        and _first_word(action) == "DROP"
        and (bare := _BARE_DROP.match(_command_text(action)))
    ):
        schema.drop_column(table_name, _unquote(bare[1]))
    elif isinstance(action, exp.ReplaceColumns):
        _replace_columns(table_name, action, dialect, schema)
    elif isinstance(action, (exp.ColumnDef, exp.Schema)):
        _add_columns(table_name, action, dialect, schema)
    elif not isinstance(action, _KEEPS_COLUMNS) and _statement_kind(action) not in _CONSTRAINTS:
        schema.record_unreadable(table_name, f"{_NOT_UNDERSTOOD}: {_shortened_text(action.sql(dialect))}")


def _add_columns(table_name: str, action: exp.Expr, dialect: str, schema: PlannedSchema) -> None:
    table = schema.planned_table(table_name)
    for column in _defined_columns(action.expressions if isinstance(action, exp.Schema) else [action], dialect):
        if table is not None and table.columns is not None and table.column_position(column.name) is None:
            table.columns.append(column)


def _change_column(table_name: str, action: exp.Expr, dialect: str, schema: PlannedSchema) -> None:
    """Rename a column or change its type; ignore other changes, such as a default, which do not change the schema."""
    path, kind = column_path(action.this), action.args.get("dtype")
    new = action.args.get("to") or action.args.get("rename_to")
    if kind is not None or new is not None:
        new_type = kind.sql(dialect=dialect) if kind is not None else None
        schema.change_column(table_name, path, rename=sibling_path(path, new.name) if new else None, kind=new_type)


def _replace_columns(table_name: str, action: exp.ReplaceColumns, dialect: str, schema: PlannedSchema) -> None:
    table = schema.planned_table(table_name)
    if table is not None:
        known = {each.name.casefold(): each for each in table.columns or ()}
        table.columns = [
            PlannedColumn(
                each.name, each.type, known[each.name.casefold()].current if each.name.casefold() in known else None
            )
            for each in [
                *_defined_columns(action.expressions, dialect),
                *_nested_columns(action.expressions, "", dialect),
            ]
        ]


_CONSTRAINTS = ("CONSTRAINT", "INDEX", "PRIMARY KEY", "FOREIGN KEY")
_KEEPS_COLUMNS = (
    exp.AddConstraint, exp.AlterSet, exp.AddPartition, exp.DropPartition, exp.ClusterProperty, exp.AlterDistStyle,
    exp.AlterSortKey, exp.Cluster,
)  # fmt: skip


def column_path(column: exp.Expr) -> str:
    """Return the path of a column with its parent columns, such as `address.city`."""
    if isinstance(column, exp.Column):
        return ".".join(part.name for part in column.parts)
    if isinstance(column, exp.Dot):
        return ".".join(part.name for part in column.flatten())
    return column.name


def _command_text(command: exp.Command) -> str:
    return command.expression.name if isinstance(command.expression, exp.Expr) else str(command.expression or "")


def _dropped_columns(action: exp.Drop) -> Iterator[str]:
    for each in action.args.get("tables") or [action.this]:
        listed = each.expressions if isinstance(each, exp.Schema) else [each]
        yield from (column_path(column) for column in listed if column is not None)


def _apply_create(statement: exp.Create, dialect: str, schema: PlannedSchema) -> None:
    table_name = table_name_of(statement.this)
    if _is_temporary(statement.this) or any(
        isinstance(each, exp.TemporaryProperty) for each in statement.find_all(exp.TemporaryProperty)
    ):
        return
    if statement.args.get("exists") and schema.has_table(table_name):
        return  # IF NOT EXISTS keeps the existing table
    listed = statement.this.expressions if isinstance(statement.this, exp.Schema) else []
    query = statement.expression
    if isinstance(query, exp.Query):
        columns, why = selected_columns(query, dialect, schema)
        if listed and columns is not None and len(listed) == len(columns):
            columns = [each._replace(name=given.name) for each, given in zip(columns, listed, strict=True)]
        schema.create_table(table_name, columns, why)
    elif listed:
        schema.create_table(table_name, [*_defined_columns(listed, dialect)])
    elif (like := statement.find(exp.LikeProperty)) is not None or (like := statement.args.get("clone")) is not None:
        table = schema.planned_table(table_name_of(like.this))
        schema.create_table(
            table_name, table.columns if table else None, None if table else "The columns of its template are unknown."
        )
    else:
        schema.create_table(table_name, None, "This statement does not list the columns of the new table.")


def _defined_columns(listed: list[exp.Expr], dialect: str) -> Iterator[PlannedColumn]:
    for each in listed:
        if isinstance(each, exp.ColumnDef):
            yield PlannedColumn(each.name, _type_text(each, dialect), None)


def _nested_columns(listed: list[exp.Expr], around: str, dialect: str) -> Iterator[PlannedColumn]:
    """Yield the fields of struct columns, with paths such as `address.city` as names."""
    for each in listed:
        kind = each.args.get("kind") if isinstance(each, exp.ColumnDef) else None
        if isinstance(kind, exp.DataType) and kind.is_type(exp.DType.STRUCT):
            path = f"{around}{each.name}."
            yield from (field._replace(name=path + field.name) for field in _defined_columns(kind.expressions, dialect))
            yield from _nested_columns(kind.expressions, path, dialect)


def _type_text(column: exp.ColumnDef, dialect: str) -> str | None:
    kind = column.args.get("kind")
    return kind.sql(dialect=dialect) if kind is not None else None


def _apply_execute(statement: exp.Execute, dialect: str, schema: PlannedSchema) -> None:
    """Apply `sp_rename` of T-SQL for a table, or for a column if its third argument is COLUMN.

    Record other procedures.
    """
    given = [re.sub(r"[\[\]]", "", _argument_text(each)) for each in statement.expressions]
    is_rename = statement.this.name.casefold() == "sp_rename"
    if is_rename and len(given) == 3 and given[2].upper() == "COLUMN":
        table, _, column = given[0].rpartition(".")
        schema.change_column(table, column, rename=given[1])
    elif is_rename and len(given) == 2:
        schema.rename_in_schema(given[0], given[1])
    elif not (is_rename and given[2:] and given[2].upper() in ("INDEX", "STATISTICS")):
        schema.record_unreadable("", f"{_NOT_UNDERSTOOD}: {_shortened_text(statement.sql(dialect))}")


def _argument_text(argument: exp.Expr) -> str:
    """Return the value of an argument of a procedure; forms such as `@objname = 'a'` and `N'a'` return `a`."""
    value = argument.expression if isinstance(argument, exp.EQ) else argument
    return value.name or value.sql()
