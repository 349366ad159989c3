"""Words of a statement that say nothing of its columns, and that the parser does not know: they are left out."""

from collections.abc import Mapping, Sequence

from sqlglot.tokenizer_core import Token, TokenType

_STORAGE = ("DISTRIBUTION", "CLUSTERED", "HEAP", "PARTITION")
_KINDS_OF_TABLE = ("TRANSACTIONAL", "MANAGED")


def without_storage(tokens: Sequence[Token]) -> list[Token]:
    """Leave out what is about where and how rows are kept, once or never: of Synapse's and Hive's statements.

    `CREATE TABLE t WITH (DISTRIBUTION = …) AS`, `CREATE TRANSACTIONAL TABLE`, `PARTITION (…) IF NOT EXISTS SELECT`,
    `CREATE MATERIALIZED VIEW v DISABLE REWRITE AS`, `CREATE VIEW v PARTITIONED ON (…) AS`.
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
    """Return the place behind words that are left out, None where none begin here."""
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
    """Tell whether what stands here is `CREATE TABLE a.b.c`: a WITH after that is of the table."""
    at = len(before) - 1
    while at > 0 and before[at - 1].token_type == TokenType.DOT:
        at -= 2
    return at > 1 and (before[at - 2].token_type, before[at - 1].token_type) == (TokenType.CREATE, TokenType.TABLE)


def _is_of_view(before: Sequence[Token]) -> bool:
    return any(token.token_type == TokenType.VIEW for token in before[-_VIEW_BEGINS:])


def _ends_with(before: Sequence[Token], word: str) -> bool:
    return bool(before) and before[-1].text.upper() == word


def _closings(tokens: Sequence[Token]) -> dict[int, int]:
    """Return for the place of each bracket that opens the place behind the one that closes it, if one does."""
    found: dict[int, int] = {}
    open_: list[int] = []
    for place, token in enumerate(tokens):
        if token.token_type == TokenType.L_PAREN:
            open_.append(place)
        elif token.token_type == TokenType.R_PAREN and open_:
            found[open_.pop()] = place + 1
    return found


_VIEW_BEGINS = 50
"""How many words a view's name, its list of columns and its comment take at most."""
