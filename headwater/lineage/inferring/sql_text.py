"""The text of a script to its statements, as trees."""

import logging
from collections.abc import Iterator

from sqlglot import exp
from sqlglot.dialects import DuckDB, Postgres
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError

from headwater.lineage.inferring.left_out_words import without_storage
from headwater.lineage.inferring.sql_bounds import MOST_TRIED, Budget, bounded_tokens, count_steps
from headwater.lineage.inferring.stray_words import StrayWord, stray_words
from headwater.lineage.inferring.unread_sql import UnreadSql

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it quotes what it does not know: reasons say that here

PARSER = "sqlglot 30.30.0"
"""What is pinned in pyproject.toml: as text here, so that another version changes the version of the rules."""


_FALLS_OVER = (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, LookupError)
"""What the parser raises of texts that are no SQL, beside its own errors: `CREATE DEFAULT TABLE …` is a TypeError."""


def statements_of(sql: str, dialect: str) -> list[exp.Expr]:
    """Return the statements of a script; raises UnreadSql where the parser or its bounds refuse one."""
    return parsed_script(sql, dialect)[0]


def parsed_script(sql: str, dialect: str) -> tuple[list[exp.Expr], list[StrayWord]]:
    """Return the statements of a script, and its words that may name columns but that no statement shows as names."""
    words: list[StrayWord] = []
    try:
        return list(_parsed(sql, Dialect.get_or_raise(dialect), Budget(MOST_TRIED, "parsing it"), words)), words
    except ParseError as error:
        at = error.errors[0] if error.errors else {}
        where = f" at line {at['line']}" if at.get("line") else ""
        raise UnreadSql(f"its SQL is none that {PARSER} reads as {dialect or 'standard SQL'}{where}") from error
    except _FALLS_OVER as error:
        raise UnreadSql(f"its SQL is none that {PARSER} reads as {dialect or 'standard SQL'}") from error


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
    """Return MySQL's `REPLACE INTO …`, which the parser leaves as text, as the INSERT that it is."""
    if not isinstance(statement, exp.Command) or str(statement.this).upper() != "REPLACE":
        return None
    text = statement.expression.name if isinstance(statement.expression, exp.Expr) else str(statement.expression)
    return f"INSERT {text}" if text[:5].upper().strip() == "INTO" else None


_PER_TEXT = 500
"""Steps for a text of its own: a script may have thousands of REPLACEs, each of which makes a parser."""
