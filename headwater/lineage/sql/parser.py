"""Parse the text of a script into statements, after removing clauses that the parser does not support."""

import logging
from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp
from sqlglot.dialects import DuckDB, Postgres
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from headwater.lineage.sql.errors import UnsupportedSql
from headwater.lineage.sql.limits import MAX_PARSER_STEPS, Budget, limit_parser, tokenize
from headwater.lineage.sql.possible_columns import PossibleColumn, find_possible_columns

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # warnings of sqlglot quote SQL; use `unread` instead

PARSER_VERSION = "sqlglot 30.30.0"
"""The version that pyproject.toml pins. An update changes this file and therefore the version of the rules."""


_PARSER_ERRORS = (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, LookupError)
"""Exceptions that the parser raises for invalid SQL. For example, `CREATE DEFAULT TABLE …` raises TypeError."""


def parse_statements(sql: str, dialect: str) -> list[exp.Expr]:
    """Return the statements of a script; raises UnsupportedSql if a statement cannot be parsed or exceeds a bound."""
    return parse_script(sql, dialect)[0]


def parse_script(sql: str, dialect: str) -> tuple[list[exp.Expr], list[PossibleColumn]]:
    """Return the statements of a script, and the words that may name a column but are not a column in any tree.

    Raises UnsupportedSql if a statement cannot be parsed or exceeds a bound.
    """
    words: list[PossibleColumn] = []
    try:
        return list(
            _parse(sql, Dialect.get_or_raise(dialect), Budget(MAX_PARSER_STEPS, "parsing the SQL"), words)
        ), words
    except ParseError as error:
        at = error.errors[0] if error.errors else {}
        where = f" at line {at['line']}" if at.get("line") else ""
        raise UnsupportedSql(f"{PARSER_VERSION} cannot parse the SQL as {dialect or 'standard SQL'}{where}") from error
    except _PARSER_ERRORS as error:
        raise UnsupportedSql(f"{PARSER_VERSION} cannot parse the SQL as {dialect or 'standard SQL'}") from error


def _parse(sql: str, dialect: Dialect, budget: Budget, words: list[PossibleColumn]) -> Iterator[exp.Expr]:
    tokens = remove_storage_clauses(tokenize(sql, dialect))
    budget.spend(_STEPS_PER_TEXT + len(tokens))
    statements = limit_parser(dialect.parser(), budget).parse(tokens, sql)
    if not any(map(_replace_as_insert, statements)):
        has_variables = not isinstance(dialect, (Postgres, DuckDB))  # in both, `@note` is the absolute value
        words += find_possible_columns(tokens, statements, budget, has_variables=has_variables)
    for statement in statements:
        replaced = _replace_as_insert(statement)
        if replaced:
            yield from _parse(replaced, dialect, budget, words)
        elif statement is not None:
            yield statement


def _replace_as_insert(statement: exp.Expr | None) -> str | None:
    """Return the text of MySQL's `REPLACE INTO …` as an INSERT, because the parser does not parse it.

    Returns None for other statements.
    """
    if not isinstance(statement, exp.Command) or str(statement.this).upper() != "REPLACE":
        return None
    text = statement.expression.name if isinstance(statement.expression, exp.Expr) else str(statement.expression)
    return f"INSERT {text}" if text[:5].upper().strip() == "INTO" else None


_STEPS_PER_TEXT = 500
"""The steps for each text to parse. A script may contain thousands of REPLACEs, and each REPLACE creates a parser."""


_STORAGE = ("DISTRIBUTION", "CLUSTERED", "HEAP", "PARTITION")
_TABLE_KINDS = ("TRANSACTIONAL", "MANAGED")


def remove_storage_clauses(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens of a script without clauses of Synapse and Hive that describe the storage of rows.

    These are `WITH (DISTRIBUTION = …)` after `CREATE TABLE t`, TRANSACTIONAL and MANAGED in `CREATE TRANSACTIONAL
    TABLE`, `IF NOT EXISTS` after `PARTITION (…)`, and `DISABLE REWRITE` and `PARTITIONED ON (…)` in `CREATE VIEW`.
    """
    found: list[Token] = []
    closings = _closing_brackets(tokens)
    at = 0
    while at < len(tokens):
        end = _clause_end(tokens, at, found, closings)
        if end is None:
            found.append(tokens[at])
            at += 1
        else:
            at = end
    return found


def _clause_end(tokens: Sequence[Token], at: int, before: Sequence[Token], closings: Mapping[int, int]) -> int | None:
    """Return the index after the clause that begins at `at`, None if no clause to remove begins there.

    before: the tokens before the clause. closings: the result of `_closing_brackets`.
    """
    words = [token.text.upper() for token in tokens[at : at + 3]]
    if words[0] == "WITH" and words[2:] and words[2] in _STORAGE and _ends_with_new_table(before):
        return closings.get(at + 1)
    if words[0] in _TABLE_KINDS and words[1:2] == ["TABLE"] and _ends_with(before, "CREATE"):
        return at + 1
    if words == ["IF", "NOT", "EXISTS"] and before and before[-1].token_type == TokenType.R_PAREN:
        return at + 3
    if words[0] in ("DISABLE", "ENABLE") and words[1:2] == ["REWRITE"] and _is_in_view_header(before):
        return at + 2
    if words[:2] == ["PARTITIONED", "ON"] and _is_in_view_header(before):
        return closings.get(at + 2)
    return None


def _ends_with_new_table(before: Sequence[Token]) -> bool:
    """Return whether the tokens end with `CREATE TABLE a.b.c`. A WITH after these tokens belongs to the table."""
    at = len(before) - 1
    while at > 0 and before[at - 1].token_type == TokenType.DOT:
        at -= 2
    return at > 1 and (before[at - 2].token_type, before[at - 1].token_type) == (TokenType.CREATE, TokenType.TABLE)


def _is_in_view_header(before: Sequence[Token]) -> bool:
    return any(token.token_type == TokenType.VIEW for token in before[-_MAX_VIEW_HEADER_TOKENS:])


def _ends_with(before: Sequence[Token], word: str) -> bool:
    return bool(before) and before[-1].text.upper() == word


def _closing_brackets(tokens: Sequence[Token]) -> dict[int, int]:
    """Map the index of each opening bracket to the index after its closing bracket, if there is a closing bracket."""
    found: dict[int, int] = {}
    open_: list[int] = []
    for place, token in enumerate(tokens):
        if token.token_type == TokenType.L_PAREN:
            open_.append(place)
        elif token.token_type == TokenType.R_PAREN and open_:
            found[open_.pop()] = place + 1
    return found


_MAX_VIEW_HEADER_TOKENS = 50
"""The maximum number of tokens in a view's name, its list of columns and its comment."""
