"""Parse the text of a script into statements, as trees."""

import logging
from collections.abc import Iterator

from sqlglot import exp
from sqlglot.dialects import DuckDB, Postgres
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError

from headwater.lineage.sql.left_out_words import without_storage
from headwater.lineage.sql.sql_bounds import MOST_TRIED, Budget, bounded_tokens, count_steps
from headwater.lineage.sql.stray_words import StrayWord, stray_words
from headwater.lineage.sql.unread_sql import UnreadSql

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # its warnings quote SQL; `unread` has the reason instead

PARSER = "sqlglot 30.30.0"
"""The version that pyproject.toml pins. A new version changes this file, and so the version of the rules."""


_FALLS_OVER = (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, LookupError)
"""Exceptions of the parser for text that is not SQL. For example, `CREATE DEFAULT TABLE …` raises a TypeError."""


def statements_of(sql: str, dialect: str) -> list[exp.Expr]:
    """Return the statements of a script; raises UnreadSql if the parser or its bounds refuse one."""
    return parsed_script(sql, dialect)[0]


def parsed_script(sql: str, dialect: str) -> tuple[list[exp.Expr], list[StrayWord]]:
    """Return the statements of a script, and the words that may name a column although no tree contains them."""
    words: list[StrayWord] = []
    try:
        return list(_parsed(sql, Dialect.get_or_raise(dialect), Budget(MOST_TRIED, "parsing the SQL"), words)), words
    except ParseError as error:
        at = error.errors[0] if error.errors else {}
        where = f" at line {at['line']}" if at.get("line") else ""
        raise UnreadSql(f"{PARSER} cannot parse the SQL as {dialect or 'standard SQL'}{where}") from error
    except _FALLS_OVER as error:
        raise UnreadSql(f"{PARSER} cannot parse the SQL as {dialect or 'standard SQL'}") from error


def _parsed(sql: str, dialect: Dialect, budget: Budget, words: list[StrayWord]) -> Iterator[exp.Expr]:
    tokens = without_storage(bounded_tokens(sql, dialect))
    budget.spend(_PER_TEXT + len(tokens))
    statements = count_steps(dialect.parser(), budget).parse(tokens, sql)
    if not any(map(_replaced, statements)):
        has_variables = not isinstance(dialect, (Postgres, DuckDB))  # there, `@note` is the absolute value
        words += stray_words(tokens, statements, budget, has_variables=has_variables)
    for statement in statements:
        replaced = _replaced(statement)
        if replaced:
            yield from _parsed(replaced, dialect, budget, words)
        elif statement is not None:
            yield statement


def _replaced(statement: exp.Expr | None) -> str | None:
    """Return MySQL's `REPLACE INTO …`, which the parser does not parse, as an INSERT; None for other statements."""
    if not isinstance(statement, exp.Command) or str(statement.this).upper() != "REPLACE":
        return None
    text = statement.expression.name if isinstance(statement.expression, exp.Expr) else str(statement.expression)
    return f"INSERT {text}" if text[:5].upper().strip() == "INTO" else None


_PER_TEXT = 500
"""The steps for each additional text. A script may have thousands of REPLACEs, and each creates a parser."""
