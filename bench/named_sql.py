"""Check that inference reports a column as used wherever a statement names it.

`python -m bench.named_sql` inserts each expression of `named_expressions.txt` at positions of `named_positions.txt`, in
five dialects. The column `mk` belongs to one table only, and each statement fails without it. Inference must therefore
report `mk` as used, report the table as opaque, or reject the statement. A statement is *missed* if inference does
none of these; the goal is zero. Many forms are invalid in some dialects, and inference rejects those. The output lists
the missed statements and counts each outcome.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from headwater.lineage.sql.errors import UnsupportedSql
from headwater.lineage.sql.script_reader import read_script
from headwater.lineage.sql.tables import RunTable

DIALECTS = ("duckdb", "spark", "postgres", "bigquery", "snowflake")
EXPRESSIONS = Path(__file__).with_name("named_expressions.txt").read_text().splitlines()
POSITIONS = Path(__file__).with_name("named_positions.txt").read_text().splitlines()

_FREQUENT = 15
"""The number of leading positions that every expression is combined with."""

_T = ("a", "b", "c", "mk", "s", "s.x", "s.y", "xs", "j", "ts")
_OUT = RunTable(("db.out",), ("o1", "o2"), is_input=False, is_output=True)


class NamedStatement(NamedTuple):
    """A statement that names the column `mk`, and its dialect."""

    dialect: str
    text: str


def some_statements() -> Iterator[NamedStatement]:
    """Yield each expression once and each position once, in one dialect each."""
    for at, expression in enumerate(EXPRESSIONS):
        yield _statement(expression, POSITIONS[at % _FREQUENT], at)
    for at, position in enumerate(POSITIONS):
        yield _statement("abs({c}) + 1", position, at)


def all_statements() -> Iterator[NamedStatement]:
    """Yield each expression at all frequent positions, and three expressions at all others, in all dialects."""
    pairs = [(expression, position) for expression in EXPRESSIONS for position in POSITIONS[:_FREQUENT]]
    three = ("{c}", "abs({c}) + 1", "(SELECT max(k) FROM u WHERE k = {c})")
    pairs += [(expression, position) for expression in three for position in POSITIONS[_FREQUENT:]]
    for expression, position in pairs:
        for at, _ in enumerate(DIALECTS):
            yield _statement(expression, position, at)


def _statement(expression: str, position: str, at: int) -> NamedStatement:
    column = "t.mk" if at % 3 == 2 else "mk"
    return NamedStatement(DIALECTS[at % len(DIALECTS)], position.format(e=expression.format(c=column)))


def outcome(statement: NamedStatement, *, is_listed: bool = True) -> str:
    """Return `used`, `opaque`, `unread` or `missed`; is_listed: the events contain the columns of the table."""
    tables = (
        RunTable(("db.t",), _T if is_listed else (), is_input=True, is_output=False),
        RunTable(("db.u",), ("k", "b", "d"), is_input=True, is_output=False),
        _OUT,
    )
    try:
        lineage = read_script(statement.text, statement.dialect, tables).get(2)
    except UnsupportedSql:
        return "unread"
    if lineage is None or isinstance(lineage, str):
        return "unread"
    if 0 in lineage.possible_sources:
        return "opaque"
    every = (*lineage.columns.values(), lineage.row_origins)
    return (
        "used"
        if any((place, name.partition(".")[0]) == (0, "mk") for origins in every for place, name in origins)
        else "missed"
    )


def main() -> int:
    """Check all statements; returns 1 if a column is missed."""
    outcomes: Counter[str] = Counter()
    for statement in all_statements():
        for is_listed in (True, False):
            found = outcome(statement, is_listed=is_listed)
            outcomes[found] += 1
            if found == "missed":
                print(
                    f"missed ({statement.dialect}{'' if is_listed else ', not listed'}): {statement.text}", flush=True
                )
    print(dict(outcomes), "goal: none missed")
    return 1 if outcomes["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
