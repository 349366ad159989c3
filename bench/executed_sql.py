"""Compare inferred lineage with what statements do: DuckDB runs random statements on tables with one column changed.

`python -m bench.executed_sql --statements 20000 --seed 1`: each statement runs on random rows. Then one input column at
a time gets other values, which shows the output columns that it changes, and is dropped, which shows whether the
statement needs it. Every column that matters must be used, or unknown because its table is opaque or the SQL is not
read. Goal: no column that matters is unused. Printed: by form how many statements had it, how many were not read, and
how many edges were found in the others.
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
    """A column that matters and that inference calls unused; column: `table.column`."""

    statement: Statement
    dialect: str
    text: str
    column: str
    effect: str


class Executed:
    """A DuckDB with the tables of the statements as views, in a schema for each column that is changed or is gone."""

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
        """Return by `table.column` what it decides, for columns that matter; None if the statement does not run."""
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
            return "the statement fails without it" if without is None else "without it, the result is another"
        if statement.forms.isdisjoint(WHOLE_ROWS):  # what it does not name, it cannot use
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
        """Return the sorted rows of a query, or what a script returns and writes; None if it fails."""
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
    """The result of inference for a statement: the number of edges, and the columns that matter and are unused."""

    edges: int
    missed: list[Missed]


def judged(statement: Statement, effects: dict[str, str], random: Random) -> Judged | None:
    """Compare inference with what matters, in a random dialect; None if the statement is not read.

    Of some statements no event lists the columns of a table, or a list lacks some of them, or the names of the output
    and of an input have the same end.
    """
    dialect = dialect_for(statement, random)
    try:
        text = written_as(statement, dialect, random)
    except (SqlglotError, ValueError):  # the dialect has no such form
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
        said = read_script(text, dialect, tables).get(len(tables) - 1)
    except UnsupportedSql:
        return None
    if not isinstance(said, OutputColumns) or (said.is_incomplete and not said.possible_sources):
        return None
    return Judged(said.copy_cost, list(_missed(statement, effects, dialect, text, said)))


def _listed(random: Random) -> list[RunTable]:
    """Return the tables, some with none of their columns, or with a list that lacks some."""
    unlisted, part = random.choice([None, None, *TABLES]), random.choice([None, None, *TABLES])
    found = []
    for name, columns in TABLES.items():
        fields = () if name == unlisted else _fields(columns)
        if name == part:
            fields = tuple(each for each in fields if random.random() < 0.5)
        found.append(RunTable((f"db.{name}",), fields, is_input=True, is_output=False, is_incomplete=name == part))
    return found


def _missed(
    statement: Statement, effects: dict[str, str], dialect: str, text: str, said: OutputColumns
) -> Iterator[Missed]:
    names = list(TABLES)
    used = {
        f"{names[place]}.{column.partition('.')[0]}"
        for made in (*said.columns.values(), said.row_origins)
        for place, column in made
        if place < len(names)
    }
    opaque = {names[place] for place in said.possible_sources if place < len(names)}
    for column, effect in effects.items():
        if column not in used and column.partition(".")[0] not in opaque:
            yield Missed(statement, dialect, text, column, effect)


def _fields(columns: dict[str, str]) -> tuple[str, ...]:
    nested = [f"{name}.{field}" for name, kind in columns.items() if kind.startswith("STRUCT") for field in "xy"]
    return (*columns, *nested)


class Campaign:
    """Random statements; ran, unread, edges: by form how many statements ran, were not read, and what was found."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.ran: Counter[str] = Counter()
        self.unread: Counter[str] = Counter()
        self.edges: Counter[str] = Counter()

    def run(self, statements: int) -> Iterator[Missed]:
        """Yield what is missed in a number of statements."""
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
    """Run and print; returns 1 if a column that matters is unused."""
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
