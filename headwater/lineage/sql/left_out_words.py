"""Remove clauses that the parser does not support and that do not affect columns."""

from collections.abc import Mapping, Sequence

from sqlglot.tokenizer_core import Token, TokenType

_STORAGE = ("DISTRIBUTION", "CLUSTERED", "HEAP", "PARTITION")
_KINDS_OF_TABLE = ("TRANSACTIONAL", "MANAGED")


def without_storage(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens of a script without clauses of Synapse and Hive that describe the storage of rows.

    These are `WITH (DISTRIBUTION = …)` after `CREATE TABLE t`, TRANSACTIONAL and MANAGED in `CREATE TRANSACTIONAL
    TABLE`, `IF NOT EXISTS` after `PARTITION (…)`, and `DISABLE REWRITE` and `PARTITIONED ON (…)` in `CREATE VIEW`.
    """
    found: list[Token] = []
    closings = _closings(tokens)
    at = 0
    while at < len(tokens):
        end = _ends(tokens, at, found, closings)
        if end is None:
            found.append(tokens[at])
            at += 1
        else:
            at = end
    return found


def _ends(tokens: Sequence[Token], at: int, before: Sequence[Token], closings: Mapping[int, int]) -> int | None:
    """Return the index after the clause that begins at `at`, None if no clause to remove begins there."""
    words = [token.text.upper() for token in tokens[at : at + 3]]
    if words[0] == "WITH" and words[2:] and words[2] in _STORAGE and _names_new_table(before):
        return closings.get(at + 1)
    if words[0] in _KINDS_OF_TABLE and words[1:2] == ["TABLE"] and _ends_with(before, "CREATE"):
        return at + 1
    if words == ["IF", "NOT", "EXISTS"] and before and before[-1].token_type == TokenType.R_PAREN:
        return at + 3
    if words[0] in ("DISABLE", "ENABLE") and words[1:2] == ["REWRITE"] and _is_of_view(before):
        return at + 2
    if words[:2] == ["PARTITIONED", "ON"] and _is_of_view(before):
        return closings.get(at + 2)
    return None


def _names_new_table(before: Sequence[Token]) -> bool:
    """Return whether the tokens end with `CREATE TABLE a.b.c`, so that a WITH that follows belongs to the table."""
    at = len(before) - 1
    while at > 0 and before[at - 1].token_type == TokenType.DOT:
        at -= 2
    return at > 1 and (before[at - 2].token_type, before[at - 1].token_type) == (TokenType.CREATE, TokenType.TABLE)


def _is_of_view(before: Sequence[Token]) -> bool:
    return any(token.token_type == TokenType.VIEW for token in before[-_VIEW_BEGINS:])


def _ends_with(before: Sequence[Token], word: str) -> bool:
    return bool(before) and before[-1].text.upper() == word


def _closings(tokens: Sequence[Token]) -> dict[int, int]:
    """Map the index of each opening bracket to the index after its closing bracket, if it has one."""
    found: dict[int, int] = {}
    open_: list[int] = []
    for place, token in enumerate(tokens):
        if token.token_type == TokenType.L_PAREN:
            open_.append(place)
        elif token.token_type == TokenType.R_PAREN and open_:
            found[open_.pop()] = place + 1
    return found


_VIEW_BEGINS = 50
"""The maximum number of tokens in a view's name, its list of columns and its comment."""
