"""Compare inferred lineage with the behavior of statements: DuckDB runs random statements on changing input columns.

`python -m bench.executed_sql --statements 20000 --seed 1` runs each statement on random rows. It then changes the
values of one input column at a time, to see whether the result changes, and drops the column, to see whether the
statement needs it. For every column that affects the result, inference must report the column as used, or report that
it could not analyze the column's table or the SQL. The goal is that no such column is reported as unused. For each SQL
form, the output shows how many statements had it, how many inference could not read, and how many edges it found in
the others.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

import duckdb
from sqlglot.errors import SqlglotError

from bench.random_scripts import as_executed, dialect_for, random_statement, written_as
from bench.random_sql import TABLES, WHOLE_ROWS, Statement
from headwater.lineage.sql.errors import UnsupportedSql
from headwater.lineage.sql.relations import OutputColumns
from headwater.lineage.sql.script_reader import read_script
from headwater.lineage.sql.tables import RunTable

ROWS = 12
CHANGES = 3
"""Number of random changes of a column, because a single change may not affect a filter."""

_TARGETS = {"out": "o1 INT, o2 INT", "keyed": "o1 INT PRIMARY KEY, o2 INT"}
"""The tables that statements write, and their columns."""

_SHOWN = 20

Row = tuple[Any, ...]


class Missed(NamedTuple):
    """A column that affects the result although inference reports it as unused; `column` is `table.column`."""

    statement: Statement
    dialect: str
    text: str
    column: str
    effect: str


class Executed:
    """A DuckDB database with the test tables as views, in one schema for each changed or dropped column."""

    def __init__(self, random: Random) -> None:
        self._sql = duckdb.connect(config={"threads": 1})
        self._sql.execute("PRAGMA disable_optimizer")  # planning costs more than 12 rows
        for table, columns in TABLES.items():
            variants = [(f"{name}{n or ''}", kind) for name, kind in columns.items() for n in range(CHANGES + 1)]
            rows = [f"({', '.join(_value(kind, random) for _, kind in variants)})" for _ in range(ROWS)]
            fields = ", ".join(f"{name} {kind}" for name, kind in variants)
            self._sql.execute(f"CREATE TABLE all_{table} ({fields})")
            self._sql.execute(f"INSERT INTO all_{table} VALUES {', '.join(rows)}")
        self._schema("plain", {})
        for table, columns in TABLES.items():
            for name in columns:
                self._schema(f"{table}_{name}_gone", {(table, name): ""})
                for number in range(1, CHANGES + 1):
                    self._schema(f"{table}_{name}_{number}", {(table, name): f"{name}{number} AS {name}"})

    def effects(self, statement: Statement) -> dict[str, str] | None:
        """Return the effect of each column that affects the result, by `table.column`; None if the statement fails."""
        before = self._result("plain", statement)
        if before is None:
            return None
        found = {
            f"{table}.{column}": self._effect(statement, f"{table}_{column}", before)
            for table, columns in TABLES.items()
            if re.search(rf"\b{table}\b", statement.text)
            for column in columns
        }
        return {column: effect for column, effect in found.items() if effect}

    def _effect(self, statement: Statement, column: str, before: Sequence[Row]) -> str:
        without = self._result(f"{column}_gone", statement)
        if without != before:
            return "the statement fails without it" if without is None else "without it, the result is different"
        if statement.forms.isdisjoint(WHOLE_ROWS):  # a statement without whole rows can only use columns that it names
            return ""
        for number in range(1, CHANGES + 1):
            if self._result(f"{column}_{number}", statement) not in (None, before):
                return "its values change the result"
        return ""

    def _schema(self, name: str, instead: dict[tuple[str, str], str]) -> None:
        self._sql.execute(f"CREATE SCHEMA {name}")
        for table, columns in TABLES.items():
            shown = filter(None, (instead.get((table, column), column) for column in columns))
            self._sql.execute(f"CREATE VIEW {name}.{table} AS SELECT {', '.join(shown)} FROM main.all_{table}")

        for target, fields in _TARGETS.items():
            self._sql.execute(f"CREATE TABLE {name}.{target} ({fields})")
            self._sql.execute(f"INSERT INTO {name}.{target} VALUES (1, 2), (2, 3), (3, 1), (4, 5), (5, 0)")

    def _result(self, schema: str, statement: Statement) -> list[Row] | None:
        """Return the sorted rows that a query returns or a script returns and writes; None if the statement fails."""
        self._sql.execute(f"SET schema = '{schema}'")
        if statement.target:
            self._sql.begin()
        try:
            rows = [row for each in statement.script for row in self._sql.execute(as_executed(each)).fetchall()]
            if statement.target:
                rows += self._sql.execute(f"SELECT * FROM {statement.target}").fetchall()
        except duckdb.Error:
            return None
        finally:
            if statement.target:
                self._sql.rollback()
        return sorted(rows, key=repr)


def _value(kind: str, random: Random) -> str:
    number, other = random.randrange(6), random.randrange(6)
    if kind.endswith("[]"):
        return str([random.randrange(6) for _ in range(number % 3)])
    return f"{{'x': {number}, 'y': {other}}}" if kind.startswith("STRUCT") else str(number)


class Judged(NamedTuple):
    """The result of inference for a statement: the number of edges, and the used columns that it missed."""

    edges: int
    missed: list[Missed]


def judged(statement: Statement, effects: dict[str, str], random: Random) -> Judged | None:
    """Compare the columns that inference reports, in a random dialect, with those that affect the result.

    Returns None if inference cannot read the statement. For some statements, an input table has no column list or an
    incomplete one, or the output has the same last name part as an input.
    """
    dialect = dialect_for(statement, random)
    try:
        text = written_as(statement, dialect, random)
    except (SqlglotError, ValueError):  # the dialect does not support the form
        return None
    target = statement.target
    output = f"db.{target}"
    if target is None:
        target = random.choice(["out", "out", "out", "stage.t"])
        output = f"db.{target}"
        text = f"CREATE TABLE {target} AS {text}"
    tables = _listed(random)
    tables.append(RunTable((output,), tuple(statement.columns), is_input=False, is_output=True))
    try:
        lineage = read_script(text, dialect, tables).get(len(tables) - 1)
    except UnsupportedSql:
        return None
    if not isinstance(lineage, OutputColumns) or (lineage.is_incomplete and not lineage.possible_sources):
        return None
    return Judged(lineage.copy_cost, list(_missed(statement, effects, dialect, text, lineage)))


def _listed(random: Random) -> list[RunTable]:
    """Return the input tables; one may have no column list, and one may have an incomplete list."""
    unlisted, part = random.choice([None, None, *TABLES]), random.choice([None, None, *TABLES])
    found = []
    for name, columns in TABLES.items():
        fields = () if name == unlisted else _fields(columns)
        if name == part:
            fields = tuple(each for each in fields if random.random() < 0.5)
        found.append(RunTable((f"db.{name}",), fields, is_input=True, is_output=False, is_incomplete=name == part))
    return found


def _missed(
    statement: Statement, effects: dict[str, str], dialect: str, text: str, lineage: OutputColumns
) -> Iterator[Missed]:
    names = list(TABLES)
    used = {
        f"{names[place]}.{column.partition('.')[0]}"
        for made in (*lineage.columns.values(), lineage.row_origins)
        for place, column in made
        if place < len(names)
    }
    opaque = {names[place] for place in lineage.possible_sources if place < len(names)}
    for column, effect in effects.items():
        if column not in used and column.partition(".")[0] not in opaque:
            yield Missed(statement, dialect, text, column, effect)


def _fields(columns: dict[str, str]) -> tuple[str, ...]:
    nested = [f"{name}.{field}" for name, kind in columns.items() if kind.startswith("STRUCT") for field in "xy"]
    return (*columns, *nested)


class Campaign:
    """A series of random statements. `ran`, `unread` and `edges` are counts of statements and edges by form."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.ran: Counter[str] = Counter()
        self.unread: Counter[str] = Counter()
        self.edges: Counter[str] = Counter()

    def run(self, statements: int) -> Iterator[Missed]:
        """Run this many statements and yield the columns that inference missed."""
        executed = Executed(self._random)
        done = 0
        while done < statements:
            statement = random_statement(self._random)
            effects = executed.effects(statement)
            if effects is None:
                continue
            done += 1
            self.ran.update(statement.forms)
            found = judged(statement, effects, self._random)
            if found is None:
                self.unread.update(statement.forms)
            else:
                self.edges.update(dict.fromkeys(statement.forms, found.edges))
                yield from found.missed


def main() -> int:
    """Run the campaign and print its results; returns 1 if inference missed a column."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--statements", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    campaign = Campaign(given.seed)
    missed = 0
    for each in campaign.run(given.statements):
        missed += 1
        if missed <= _SHOWN:
            print(f"{each.column}: {each.effect}, unused ({each.dialect}): {each.text}", flush=True)
    for form, count in campaign.ran.most_common():
        print(f"{form:40} {count:6} statements, {campaign.unread[form]:5} not read, {campaign.edges[form]:6} edges")
    print(f"{missed} columns that matter are unused; goal 0")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
