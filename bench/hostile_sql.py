"""Expensive SQL statements: the dialect, the text, and a word of the reason why the parser rejects it."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from headwater.lineage.sql.tables import RunTable

WIDE = RunTable(("wide",), tuple(f"c{n}" for n in range(4000)), is_input=True, is_output=False)

HOSTILE: dict[str, tuple[str, str, str]] = {
    "brackets": ("", "INSERT INTO out (a) SELECT " + "(" * 3000 + "1" + ")" * 3000, "nested"),
    "1 MB": ("", "INSERT INTO out (a) SELECT '" + "x" * 1_000_000 + "'", "longer"),
    "10,000 UNIONs": ("", " UNION ALL ".join(["SELECT name FROM customers"] * 10_000), "longer"),
    "40,000 columns": ("", "SELECT " + ",".join(["a"] * 40_000), "tokens"),
    "NOTs": ("", "SELECT " + "NOT " * 5000 + "1", "nested"),
    "types": ("", "SELECT CAST(name AS " + "ARRAY<" * 500 + "INT" + ">" * 500 + ") FROM customers", "nested"),
    "words": ("", "SELECT " + "interval " * 3000 + "1", "cannot parse the SQL"),
    "casts": ("", "INSERT INTO out (a) SELECT name" + "::int" * 2500 + " FROM customers", "nested"),
    "stars": (
        "",
        "INSERT INTO out SELECT count(*) FROM " + ", ".join(f"(SELECT * FROM wide) x{n}" for n in range(600)),
        "steps",
    ),
    "DISTINCT stars": (
        "",
        "INSERT INTO out SELECT count(*) FROM " + ", ".join(f"(SELECT DISTINCT * FROM wide) x{n}" for n in range(500)),
        "steps",
    ),
    "stars with a name of each column of many tables": (
        "",
        "INSERT INTO out SELECT * EXCEPT ("
        + ", ".join(f"c{n}" for n in range(1200))
        + ") FROM "
        + ", ".join(f"wide x{n}" for n in range(1000)),
        "steps",
    ),
    "natural joins": (
        "",
        "INSERT INTO out (a) SELECT x0.c1 FROM wide x0 " + " ".join(f"NATURAL JOIN wide x{n}" for n in range(1, 600)),
        "steps",
    ),
    "REPLACEs": ("mysql", "REPLACE INTO out (a) SELECT c1 FROM wide; " * 2300, "steps"),
    "INSERT ALL": (
        "snowflake",
        "INSERT ALL "
        + "INTO out (a) VALUES (c1) " * 700
        + "SELECT c1 FROM wide WHERE "
        + " AND ".join(["c2 = 1"] * 400),
        "steps",
    ),
}


class Script(NamedTuple):
    """A script, its dialect and the datasets of its run."""

    dialect: str
    sql: str
    tables: Sequence[RunTable]


def _input(names: Iterable[str], columns: int = 1) -> RunTable:
    return RunTable(tuple(names), tuple(f"c{n}" for n in range(columns)), is_input=True, is_output=False)


def _output(name: str, columns: int = 1) -> RunTable:
    return RunTable((name,), tuple(f"c{n}" for n in range(columns)), is_input=True, is_output=True)


def _linked(size: int) -> Script:
    tables = [_input([f"lake/x{n}", *(f"db{link}.l{n}x{link}" for link in range(20))]) for n in range(size)]
    return Script("", f"INSERT INTO out SELECT 1 FROM {_each('s.t{0}', ', ', size)}", [*tables, _output("out")])


def _same_last(size: int) -> Script:
    tables = [_input([f"lake/s{n}/t"]) for n in range(size)]
    return Script("", f"INSERT INTO out SELECT 1 FROM {_each('s{0}.t', ', ', size)}", [*tables, _output("out")])


def _views(size: int) -> Script:
    tables = [_input([f"t{n}"]) for n in range(size)]
    return Script("", f"INSERT INTO out SELECT 1 FROM {_each('v{0}', ', ', size)}", [*tables, _output("out")])


def _outputs(size: int) -> Script:
    tables = [_output(f"lake.o{n}") for n in range(size)]
    return Script("", _each("INSERT INTO o{0} SELECT 1;", "", size), tables)


def _on_wide(dialect: str, statement: str) -> Callable[[int], Script]:
    """Repeat a statement on an output that has three columns per repetition."""
    return lambda size: Script(
        dialect, _each(statement, "", size), [_output("out", size * 3), _input(["source"], size * 3)]
    )


def _on_source(dialect: str, begin: str, each: str, joined: str, end: str) -> Callable[[int], Script]:
    """Repeat a part of one statement that reads a source with one column per repetition."""
    return lambda size: Script(
        dialect,
        begin.format(size) + _each(each, joined, size) + end.format(size),
        [_input(["source"], size + 1), RunTable(("out",), (), is_input=False, is_output=True)],
    )


def _each(text: str, joined: str, size: int) -> str:
    return joined.join(text.format(n, n + 1) for n in range(size))


CROWDED: dict[str, tuple[Callable[[int], Script], int, bool]] = {
    "names x datasets x symlinks": (_linked, 1900, False),
    "names with one last part": (_same_last, 1900, False),
    "views x inputs": (_views, 1900, False),
    "outputs x statements": (_outputs, 1300, False),
    "UPDATEs of a wide table": (_on_wide("", "UPDATE out SET c1 = 1;"), 800, True),
    "MERGEs into a wide table": (
        _on_wide("", "MERGE INTO out USING source s ON 1 = 1 WHEN MATCHED THEN UPDATE SET c1 = 1;"),
        420,
        True,
    ),
    "branches of a MERGE": (
        lambda size: Script(
            "spark",
            "MERGE INTO out USING source s ON 1 = 1 " + "WHEN MATCHED THEN UPDATE SET * " * size,
            [_output("out", size * 2), _input(["source"], size * 2)],
        ),
        1000,
        True,
    ),
    "CREATEs of a wide table": (_on_wide("", "CREATE TABLE out AS SELECT 1;"), 800, False),
    "INSERTs into a partition": (_on_wide("hive", "INSERT INTO out PARTITION (c1 = 1) SELECT 1;"), 600, True),
    "ON CONFLICT": (
        _on_wide("postgres", "INSERT INTO out (c1) SELECT 1 ON CONFLICT (c1) DO UPDATE SET c1 = 2;"),
        350,
        False,
    ),
    "a temporary table that statements fill": (
        _on_source("tsql", "", "SELECT c{0} INTO #t FROM source;", "", ""),
        1000,
        True,
    ),
    "chain of CTEs with conditions": (
        _on_source(
            "",
            "INSERT INTO out WITH x0 AS (SELECT c0 AS k FROM source), ",
            "x{1} AS (SELECT k FROM x{0} JOIN source s ON s.c{1} = k)",
            ", ",
            " SELECT k FROM x{0}",
        ),
        320,
        False,
    ),
    "aliases of one filtered CTE": (
        lambda size: Script(
            "",
            "INSERT INTO out WITH x AS (SELECT c0 FROM source WHERE "
            + _each("c{0} = 1", " AND ", size)
            + ") SELECT 1 FROM "
            + _each("x x{0}", ", ", size),
            [_input(["source"], size), _output("out")],
        ),
        900,
        True,
    ),
    "names without a table x aliases": (
        lambda size: Script(
            "",
            f"INSERT INTO out SELECT {_each('c1', ' || ', size)} FROM wide, {_each('one o{0}', ', ', size)}",
            [_input(["wide"], 3), _input(["one"]), _output("out")],
        ),
        1300,
        True,
    ),
    "JOINs with USING": (
        _on_source("", "INSERT INTO out SELECT 1 FROM source ", "JOIN source s{0} USING (c0)", " ", ""),
        1100,
        True,
    ),
    "renamed aliases": (_on_source("", "INSERT INTO out SELECT 1 FROM ", "source s{0}(a)", ", ", ""), 900, True),
    "windows by windows": (
        lambda size: Script(
            "",
            f"INSERT INTO out SELECT {_each(f'sum(c0) OVER w{size}', ', ', size)} FROM source "
            + "WINDOW w0 AS (ORDER BY c0), "
            + _each("w{1} AS (w{0})", ", ", size),
            [_input(["source"]), _output("out")],
        ),
        350,
        True,
    ),
    "fields of a function": (
        lambda size: Script(
            "bigquery", f"INSERT INTO out SELECT f(1){'.x' * size} FROM source", [_input(["source"]), _output("out")]
        ),
        3900,
        True,
    ),
    "brackets of storage that stay open": (
        lambda size: Script("tsql", "CREATE TABLE a WITH (DISTRIBUTION END " * size, [_output("out")]),
        1100,
        False,
    ),
}
"""Scripts in which two counts grow together: a function of the size, the largest size below the parser's length limit,
and whether the script exceeds the step limit."""
