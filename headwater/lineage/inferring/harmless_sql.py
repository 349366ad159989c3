"""Statements that write no column from another: a script may have them beside those that are read."""

import re

from sqlglot import exp

_QUERY = re.compile(r"\bselect\b", re.IGNORECASE)
_KINDS = (
    exp.Use, exp.Set, exp.Drop, exp.Delete, exp.TruncateTable, exp.Alter, exp.Comment, exp.Transaction, exp.Commit,
    exp.Rollback, exp.Pragma, exp.Analyze, exp.Describe, exp.Cache, exp.Uncache, exp.Refresh, exp.Grant, exp.Semicolon,
    exp.Declare, exp.Show, exp.Query,
)  # fmt: skip

_READING = (
    exp.Query, exp.Insert, exp.MultitableInserts, exp.Merge, exp.Update, exp.Delete, exp.Cache, exp.Set, exp.Declare,
)  # fmt: skip

_COMMANDS = frozenset({
    "VACUUM", "OPTIMIZE", "ANALYZE", "SET", "RESET", "SHOW", "EXPLAIN", "LOCK", "MSCK", "REFRESH", "INVALIDATE",
    "COMPUTE", "GRANT", "REVOKE", "USE", "ALTER", "ADD JAR", "ADD FILE", "ADD ARCHIVE",
})  # fmt: skip
"""Of what the parser leaves as text: by its first word, or two."""


def is_harmless(statement: exp.Expr) -> bool:
    """Tell whether a statement may be passed over."""
    if isinstance(statement, exp.Command):
        kind = str(statement.this).upper()
        return kind in _COMMANDS and (kind == "EXPLAIN" or not _QUERY.search(str(statement.expression or "")))
    return isinstance(statement, _KINDS)


def reads_columns(statement: exp.Expr) -> bool:
    """Tell whether the columns that a statement names are read: an ALTER names them, and an index of the output."""
    if isinstance(statement, exp.Create):
        return statement.kind in ("TABLE", "VIEW")
    return isinstance(statement, _READING)


def kind_of(statement: exp.Expr) -> str:
    """Return what a reason calls a statement."""
    return str(statement.this).upper() if isinstance(statement, exp.Command) else statement.key.upper()
