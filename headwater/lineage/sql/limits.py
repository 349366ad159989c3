"""Bounds for the length, the nesting and the cost of SQL, checked before and during reading (rule 13.7).

The bounds are counts, so every engine refuses the same statements. A timeout would depend on the machine, and neither a
thread nor a Spark worker can be stopped from outside. The bounds are far above the SQL that people and generators
write.
"""

from collections.abc import Sequence

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from headwater.lineage.edges.facet_contents import MAX_SQL_CHARACTERS
from headwater.lineage.sql.errors import UnsupportedSql

MAX_TOKENS = 8_000
MAX_DEPTH = 24
"""The maximum depth of nested brackets, CASEs and types. Each level costs up to 22 of Python's 1,000 stack frames."""

TOO_DEEP = f"the SQL is nested more than {MAX_DEPTH} levels deep"

MAX_STEPS = 100_000
"""The maximum number of expressions that are read in one script."""

BASE_STEPS, STEPS_PER_CHARACTER, STEPS_PER_COLUMN = 5_000, 2, 20
"""The number of steps that each script may take, and the additional steps for each character and dataset column.

The 121 queries of the TPC benchmarks take at most 1,846 steps, or 0.6 steps for each character.
"""

COPIES_PER_STEP = 4
"""The number of columns that can be copied or looked up in the time that reading one expression takes."""

MAX_PARSER_STEPS = 200_000
"""The maximum number of tokens that the parser may read. It usually reads each token about 3 times."""

MAX_COLUMNS = 5_000
"""The maximum number of columns of all datasets of one run."""

_OPENING_TOKENS = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSING_TOKENS = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_PREFIX_TOKENS = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE, TokenType.ARROW}
_NESTING_TYPES = {"ARRAY", "STRUCT", "MAP", "NESTED", "NULLABLE", "ROW"}


def max_steps(sql: str, columns: int) -> int:
    """Return the maximum number of steps for a script; columns: the number of columns of all its datasets."""
    return min(MAX_STEPS, BASE_STEPS + STEPS_PER_CHARACTER * len(sql) + STEPS_PER_COLUMN * columns)


class Budget:
    """Counts the steps of reading a script, and raises UnsupportedSql if they exceed a bound."""

    def __init__(self, max_steps: int = MAX_STEPS, task: str = "resolving the columns of the SQL"):
        """max_steps: the maximum number of steps; task: the task to name in the error message."""
        self._remaining = max_steps * COPIES_PER_STEP
        self._message = f"{task} takes more than {max_steps:,} steps"

    def spend(self, steps: int = 1) -> None:
        """Subtract steps; raises UnsupportedSql if more steps are spent than the maximum."""
        self.spend_copies(steps * COPIES_PER_STEP)

    def spend_copies(self, columns: int) -> None:
        """Subtract the cost of copying columns; raises UnsupportedSql like `spend`.

        Copying `COPIES_PER_STEP` columns costs one step.
        """
        self._remaining -= columns
        if self._remaining < 0:
            raise UnsupportedSql(self._message)


def tokenize(sql: str, dialect: Dialect) -> Sequence[Token]:
    """Return the tokens of a script.

    Raises UnsupportedSql if the script is too long, too deeply nested, a template, or incomplete.
    """
    if len(sql) > MAX_SQL_CHARACTERS:
        raise UnsupportedSql(f"the SQL is longer than {MAX_SQL_CHARACTERS:,} characters")
    if "{{" in sql or "{%" in sql:
        raise UnsupportedSql("the SQL is a template that was not rendered")
    try:
        found = dialect.tokenize(sql)
    except SqlglotError as error:
        raise UnsupportedSql("a string, a quoted name or a comment in the SQL is not closed") from error
    if len(found) > MAX_TOKENS:
        raise UnsupportedSql(f"the SQL has more than {MAX_TOKENS:,} tokens")
    if _max_depth(found) > MAX_DEPTH:
        raise UnsupportedSql(TOO_DEEP)
    return found


def limit_parser(parser: Parser, budget: Budget) -> Parser:
    """Let a parser subtract one step from a budget for each token that it reads.

    Some repeated words make the parser backtrack very often. This function replaces a private method of the parser. The
    version of the parser is pinned, and a test checks that the parser reads all tokens with this method.
    """
    advance = parser._advance

    def advance_within_budget(times: int = 1) -> None:
        budget.spend()
        advance(times)

    parser._advance = advance_within_budget  # type: ignore[method-assign]
    return parser


def _max_depth(found: Sequence[Token]) -> int:
    deepest = depth = prefixes = 0
    before = ""
    for token in found:
        kind = token.token_type
        prefixes = prefixes + 1 if kind in _PREFIX_TOKENS else 0
        if kind in _OPENING_TOKENS or (kind == TokenType.LT and before in _NESTING_TYPES):
            depth += 1
        elif kind in _CLOSING_TOKENS:
            depth = max(0, depth - 1)
        deepest = max(deepest, depth + prefixes)
        before = token.text.upper()
    return deepest
