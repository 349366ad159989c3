"""What a statement may be before anybody parses it: long, nested and many-worded only so far.

A signal or a clock can stop nothing in a thread or in a Spark worker, and would stop it at another place each time;
these bounds give the same answer everywhere. They are far above what people and generators write.
"""

from collections.abc import Sequence

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from headwater.lineage.edges.facet_contents import LONGEST_SQL
from headwater.lineage.inferring.unread_sql import UnreadSql

MOST_TOKENS = 8_000
DEEPEST = 24
"""Brackets, CASEs and types within each other; each costs the parser up to 22 frames of Python's 1,000."""

MOST_STEPS = 100_000
"""Expressions that are read, for all statements of a script together."""

STEPS, STEPS_PER_CHARACTER, STEPS_PER_COLUMN = 5_000, 2, 20
"""How many of these a short script may take, and how many more for each character and each column of its datasets.

Of the 121 queries of TPC, none takes more than 1,846 steps, or 0.6 for a character.
"""

COPIES_PER_STEP = 4
"""How many columns a script may copy, or look up, for the CPU time of one expression."""

MOST_TRIED = 200_000
"""Tokens that the parser goes over, back and forth; about 3 for each that there is."""

MOST_COLUMNS = 5_000
"""Columns of all datasets of one run."""

_OPENS = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSES = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_PREFIXES = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE, TokenType.ARROW}
_NESTING_TYPES = {"ARRAY", "STRUCT", "MAP", "NESTED", "NULLABLE", "ROW"}


def most_steps(sql: str, columns: int) -> int:
    """Return how many steps reading a script may take whose datasets have so many columns."""
    return min(MOST_STEPS, STEPS + STEPS_PER_CHARACTER * len(sql) + STEPS_PER_COLUMN * columns)


class Budget:
    """Counts the steps that a statement takes."""

    def __init__(self, most: int = MOST_STEPS, what: str = "following its columns"):
        """Have all left; what: is done in these steps."""
        self._left = most * COPIES_PER_STEP
        self._spent = f"{what} takes more than {most:,} steps"

    def spend(self, steps: int = 1) -> None:
        """Take steps; raises UnreadSql where there are none left."""
        self.copy(steps * COPIES_PER_STEP)

    def copy(self, columns: int) -> None:
        """Pay for columns that are copied without reading an expression; raises UnreadSql where no steps are left."""
        self._left -= columns
        if self._left < 0:
            raise UnreadSql(self._spent)


def bounded_tokens(sql: str, dialect: Dialect) -> Sequence[Token]:
    """Return the tokens of a text that is worth parsing; raises UnreadSql."""
    if len(sql) > LONGEST_SQL:
        raise UnreadSql(f"it is longer than {LONGEST_SQL:,} characters")
    if "{{" in sql or "{%" in sql:
        raise UnreadSql("it is a template that was not filled in")
    try:
        found = dialect.tokenize(sql)
    except SqlglotError as error:
        raise UnreadSql("its SQL has an end missing, of a text or a comment") from error
    if len(found) > MOST_TOKENS:
        raise UnreadSql(f"it has more than {MOST_TOKENS:,} tokens")
    if _deepest(found) > DEEPEST:
        raise UnreadSql(f"it is nested more than {DEEPEST} deep")
    return found


def count_steps(parser: Parser, budget: Budget) -> Parser:
    """Let a parser spend a budget for each token it goes over: some words, repeated, make it try every way there is.

    It rests on the one method by which this pinned version goes on and back; a test holds that it does.
    """
    advance = parser._advance

    def counted(times: int = 1) -> None:
        budget.spend()
        advance(times)

    parser._advance = counted  # type: ignore[method-assign]
    return parser


def _deepest(found: Sequence[Token]) -> int:
    deepest = depth = prefixes = 0
    before = ""
    for token in found:
        kind = token.token_type
        prefixes = prefixes + 1 if kind in _PREFIXES else 0
        if kind in _OPENS or (kind == TokenType.LT and before in _NESTING_TYPES):
            depth += 1
        elif kind in _CLOSES:
            depth = max(0, depth - 1)
        deepest = max(deepest, depth + prefixes)
        before = token.text.upper()
    return deepest
