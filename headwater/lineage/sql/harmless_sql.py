"""Recognise statements that can be skipped because they write no column from another one (rule 13)."""

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
"""The first word, or the first two words, of skippable statements that the parser leaves unparsed."""


def is_harmless(statement: exp.Expr) -> bool:
    """Return whether a statement can be skipped because it writes no column from another one."""
    if isinstance(statement, exp.Command):
        kind = str(statement.this).upper()
        return kind in _COMMANDS and (kind == "EXPLAIN" or not _QUERY.search(str(statement.expression or "")))
    return isinstance(statement, _KINDS)


def reads_columns(statement: exp.Expr) -> bool:
    """Return whether a statement uses the values of the columns that it names, unlike ALTER and CREATE INDEX."""
    if isinstance(statement, exp.Create):
        return statement.kind not in ("INDEX", "TRIGGER")
    return isinstance(statement, _READING)


def has_query_as_text(statement: exp.Expr) -> bool:
    """Recognise a function or a procedure whose body is a string with a query in it."""
    if not isinstance(statement, exp.Create) or statement.kind in ("TABLE", "VIEW"):
        return False
    texts = statement.find_all(exp.Literal, exp.Heredoc, exp.RawString, exp.Command)
    return any(_QUERY.search(str(each.args.get("expression") or each.this)) for each in texts)


def kind_of(statement: exp.Expr) -> str:
    """Return the kind of a statement for the reason in `unread`, for example `COPY`."""
    return str(statement.this).upper() if isinstance(statement, exp.Command) else statement.key.upper()
