"""Rule 13.8: find words of a script that may name a column although the parsed tree contains no such column.

The parser misreads some columns: `grain` in `date_trunc(grain, ts)` as a unit of time, `doc` in `upper(doc -> 'a')` as
the parameter of a lambda, `note` in `note.upper()` as a schema. Every word that this module does not recognise counts
as a reference to a column, so no unexpected form of SQL hides a column.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headwater.lineage.sql.limits import Budget


class PossibleColumn(NamedTuple):
    """A word that may name a column.

    is_likely: whether the statement of the word may read columns, and the word is not a known word of SQL.
    """

    name: str
    is_likely: bool


_KNOWN_POSITIONS = frozenset({
    (exp.Column, "this"), (exp.Column, "table"), (exp.Column, "db"), (exp.Column, "catalog"),
    (exp.Table, "this"), (exp.Table, "db"), (exp.Table, "catalog"),
    (exp.TableAlias, "this"), (exp.TableAlias, "columns"), (exp.Alias, "alias"), (exp.Aliases, "expressions"),
    (exp.Join, "using"), (exp.Star, "except_"), (exp.Schema, "expressions"), (exp.ColumnDef, "this"),
    (exp.Window, "this"), (exp.Window, "alias"), (exp.Kwarg, "this"), (exp.PropertyEQ, "this"),
    (exp.Unnest, "offset"), (exp.Comprehension, "expression"), (exp.Comprehension, "position"),
    (exp.UserDefinedFunction, "expressions"), (exp.Collate, "expression"),
    (exp.Constraint, "this"), (exp.Index, "this"), (exp.Insert, "alias"), (exp.OnConflict, "constraint"),
    (exp.CTE, "alias"), (exp.Cast, "to"), (exp.Create, "this"),
})  # fmt: skip
"""Positions in the tree of names that other code resolves or that are not columns, as (type of node, argument)."""

_UNITS = frozenset({
    "MILLENNIUM", "CENTURY", "DECADE", "YEAR", "ISOYEAR", "QUARTER", "MONTH", "WEEK", "ISOWEEK", "DAY", "HOUR",
    "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND", "EPOCH", "DOW", "ISODOW", "DOY", "DAYOFWEEK",
    "DAYOFYEAR", "TIMEZONE", "JULIAN", "WEEKDAY", "DATE", "TIME",
})  # fmt: skip

_KEYWORDS = frozenset({
    "NULLS", "UNBOUNDED", "PRECEDING", "FOLLOWING", "CURRENT", "TIES", "EXCLUDE", "OTHERS", "ONLY", "OF", "BUCKET",
    "OUT", "ORDINALITY", "RECURSIVE", "MATERIALIZED", "BOTH", "LEADING", "TRAILING", "SAMPLE", "BERNOULLI", "SYSTEM",
    "OFFSET", "NEXT", "RESPECT", "PRIOR", "NOLOCK", "AUTO", "REWRITE", "BY", "NAME", "CORRESPONDING", "MATCHED",
    "LAST", "FIRST", "IF", "DO", "IGNORE", "SOURCE", "TARGET", "WITHIN", "DUPLICATE", "PATH", "NOTHING", "CONFLICT",
})  # fmt: skip
"""Words of SQL that the parser recognises by their text only."""

_READING_KEYWORDS = frozenset(
    {"INSERT", "SELECT", "WITH", "CREATE", "MERGE", "UPDATE", "DELETE", "FROM", "(", "CACHE", "REPLACE"}
)
"""The first words of statements that may read columns."""

_WORD_TOKENS = frozenset({TokenType.VAR, TokenType.IDENTIFIER})


def find_possible_columns(
    tokens: Sequence[Token], statements: Iterable[exp.Expr | None], budget: Budget, *, has_variables: bool = True
) -> list[PossibleColumn]:
    """Return the words of a script that may name a column and are not at a known position in its trees.

    has_variables: whether `@note` is a variable and not a column.
    """
    known_starts: set[int] = set()
    names_without_position: set[str] = set()
    for each in statements:
        if each is not None:
            _collect_positions(each, known_starts, names_without_position, budget)
    found: list[PossibleColumn] = []
    reads = is_first = True
    has_options = False
    for at, token in enumerate(tokens):
        if is_first:
            reads = token.text.upper() in _READING_KEYWORDS
            has_options = token.token_type == TokenType.CREATE
        has_options = has_options and token.token_type != TokenType.SELECT
        is_first = token.token_type == TokenType.SEMICOLON
        if (
            token.token_type not in _WORD_TOKENS
            or token.start in known_starts
            or _is_no_column(tokens, at, has_variables=has_variables)
        ):
            continue
        if not names_without_position.issuperset(token.text.split(".")):
            is_likely = reads and not has_options and token.text.upper() not in _KEYWORDS
            found.append(PossibleColumn(token.text, is_likely))
    return found


def _is_no_column(tokens: Sequence[Token], at: int, *, has_variables: bool) -> bool:
    """Return whether a word is part of `BY NAME`, the name of a function or parameter, or a unit of time."""
    next_type = tokens[at + 1].token_type if at + 1 < len(tokens) else None
    previous_type = tokens[at - 1].token_type if at else None
    if at and tokens[at].text.upper() == "NAME" and tokens[at - 1].text.upper() == "BY":
        return True
    if tokens[at].token_type == TokenType.VAR and tokens[at].text.upper().removesuffix("S") in _UNITS:
        return True
    is_variable = previous_type == TokenType.PARAMETER and has_variables
    return is_variable or next_type in (TokenType.L_PAREN, TokenType.FARROW) or previous_type == TokenType.COLON


def _collect_positions(
    statement: exp.Expr, known_starts: set[int], names_without_position: set[str], budget: Budget
) -> None:
    """Collect the names at known positions, which other code resolves or which are not columns.

    known_starts: receives the start positions of these names in the text.
    names_without_position: receives the names for which the parser stores no position.
    """
    for name in statement.find_all(exp.Identifier):
        budget.spend_copies(1)
        start, parent = name.meta.get("start"), name.parent
        if start is None:
            if isinstance(parent, (exp.Column, exp.Table)):  # BigQuery's `a.b.c` is one word
                names_without_position.add(name.name)
        elif parent is not None and (
            (type(parent), name.arg_key) in _KNOWN_POSITIONS
            or _is_field(name, parent)
            or _is_lambda_parameter(name, parent)
        ):
            known_starts.add(start)


def _is_field(name: exp.Identifier, parent: exp.Expr) -> bool:
    """Return whether a name is a field of a column. In `t.note.upper()`, `note` is not a field."""
    if not isinstance(parent, exp.Dot) or name.arg_key != "expression":
        return False
    base: exp.Expr = parent
    while isinstance(base, exp.Dot):
        base = base.this
    return not isinstance(base, exp.Identifier)


def _is_lambda_parameter(name: exp.Identifier, parent: exp.Expr) -> bool:
    """Return whether a name is a parameter of a lambda, either in its declaration or in the body of the lambda."""
    around: exp.Expr | None = parent
    while around is not None and not isinstance(around, exp.Query):
        if isinstance(around, exp.Lambda):
            if name.arg_key == "expressions" and parent is around:
                return len(around.expressions) > 1 or _mentions(around.this, name.name)
            if any(each.name == name.name for each in around.expressions):
                return True
        around = around.parent
    return False


def _mentions(body: exp.Expr, name: str) -> bool:
    return any(each.name == name for each in body.find_all(exp.Identifier))
