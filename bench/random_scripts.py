"""Generate random statements that write, and translate DuckDB's syntax into other dialects."""

import re
from random import Random

import sqlglot

from bench.random_sql import DUCKDB_ONLY, QueryWriter, Statement

DIALECTS = ("duckdb", "spark", "postgres", "bigquery", "snowflake")

_WHOLE_ROWS = {
    "duckdb": ("to_json({0})", "hash({0})::text", "to_json(struct_pack(p := {0}))"),
    "spark": ("to_json(struct({0}.*))", "string(hash({0}.*))", "md5(to_json(named_struct('r', struct({0}.*))))"),
    "postgres": ("row_to_json({0})::text", "to_jsonb({0})::text", "{0}::text", "json_build_object('r', {0})::text"),
    "bigquery": ("TO_JSON_STRING({0})", "TO_JSON_STRING(STRUCT({0}.*))", "FORMAT('%T', {0})"),
    "snowflake": ("OBJECT_CONSTRUCT({0}.*)::text", "HASH({0}.*)::text"),
}
_FIRST_WHOLE_ROWS = {
    "duckdb": ("len(to_json(first({0} ORDER BY {1})))", "len(to_json(max_by({0}, {1})))"),
    "spark": ("length(to_json(max_by(struct({0}.*), {1})))",),
    "postgres": ("length((array_agg({0} ORDER BY {1}))[1]::text)",),
    "bigquery": ("LENGTH(TO_JSON_STRING(ARRAY_AGG({0} ORDER BY {1} LIMIT 1)[OFFSET(0)]))",),
    "snowflake": ("LENGTH(ARRAY_AGG(OBJECT_CONSTRUCT({0}.*)) WITHIN GROUP (ORDER BY {1})::text)",),
}
"""By dialect: expressions for a whole row, and for the first of several whole rows."""

_WHOLE_ROW = re.compile(r"WHOLE_ROW_OF\(([^()]+)\)", re.IGNORECASE)
_FIRST_WHOLE_ROW = re.compile(r"WHOLE_FIRST_OF\(([^(),]+), ([^()]+)\)", re.IGNORECASE)


def random_statement(random: Random) -> Statement:
    """Return a random statement; some do not run."""
    writer = QueryWriter(random)
    if random.random() < 0.25:
        return _script(writer)
    query, columns = writer.query()
    return Statement((query,), columns, frozenset(writer.forms))


def written_as(statement: Statement, dialect: str, random: Random) -> str:
    """Return the text of a statement in a dialect."""
    text = statement.text
    if dialect != "duckdb":
        text = "; ".join(sqlglot.transpile(text, "duckdb", dialect))
    return _spelt(text, random.choice(_WHOLE_ROWS[dialect]), random.choice(_FIRST_WHOLE_ROWS[dialect]))


def as_executed(text: str) -> str:
    """Return the text of a statement in the syntax that DuckDB runs."""
    return _spelt(text, _WHOLE_ROWS["duckdb"][0], _FIRST_WHOLE_ROWS["duckdb"][0])


def dialect_for(statement: Statement, random: Random) -> str:
    """Return a random dialect in which the statement has the same meaning."""
    return "duckdb" if statement.forms & DUCKDB_ONLY else random.choice(DIALECTS)


def _spelt(text: str, whole_row: str, first: str) -> str:
    text = _WHOLE_ROW.sub(lambda found: whole_row.format(found[1]), text)
    return _FIRST_WHOLE_ROW.sub(lambda found: first.format(found[1], found[2]), text)


def _script(writer: QueryWriter) -> Statement:
    query, columns = writer.query(1)
    picked, other = columns[0], columns[-1]
    q = writer.alias()
    rows = f"SELECT {q}.{picked} AS o1, {q}.{other} AS o2 FROM ({query}) AS {q}"
    forms: dict[str, tuple[str, ...]] = {
        "INSERT": (f"INSERT INTO out (o2, o1) {rows}",),
        "INSERT BY NAME": (f"INSERT INTO out BY NAME SELECT o2, o1 FROM ({rows}) AS w",),
        "ON CONFLICT": (
            f"INSERT INTO keyed SELECT o1, max(o2) FROM ({rows}) AS w WHERE o1 IS NOT NULL GROUP BY o1 "
            "ON CONFLICT (o1) DO UPDATE SET o2 = excluded.o2 + keyed.o2",
        ),
        "DELETE IN": (f"DELETE FROM out WHERE o1 IN (SELECT o2 FROM ({rows}) AS w)",),
        "DELETE EXISTS": (f"DELETE FROM out WHERE EXISTS (SELECT 1 FROM ({rows}) AS w WHERE w.o1 = out.o2)",),
        "DELETE USING": (f"DELETE FROM out USING ({rows}) AS w WHERE w.o1 = out.o2 AND w.o2 > 0",),
        "DELETE RETURNING": (f"DELETE FROM out WHERE o1 IN (SELECT o2 FROM ({rows}) AS w) RETURNING o2",),
        "UPDATE": (f"UPDATE out SET o1 = (SELECT max(o2) FROM ({rows}) AS w WHERE w.o1 = out.o2)",),
        "UPDATE FROM": (f"UPDATE out SET o2 = w.m FROM (SELECT o1, max(o2) AS m FROM ({rows}) AS w1 GROUP BY o1) AS w "
                        "WHERE w.o1 = out.o1",),
        "MERGE": (f"MERGE INTO out USING (SELECT o1, max(o2) AS m FROM ({rows}) AS w1 GROUP BY o1) AS w "
                  "ON w.o1 = out.o1 WHEN MATCHED AND w.m > 2 THEN UPDATE SET o2 = w.m "
                  "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (o1, o2) VALUES (w.o1, w.m)",),
        "temporary table": (f"CREATE TEMP TABLE w AS {rows}", "INSERT INTO out SELECT o2, o1 FROM w WHERE o1 > 0"),
        "temporary view": (f"CREATE TEMP VIEW w AS {rows}", "INSERT INTO out SELECT o1, count(*) FROM w GROUP BY o1"),
        "temporary table of a star": ("CREATE TEMP TABLE w AS SELECT * FROM t",
                                      f"INSERT INTO out SELECT {writer.random.choice('abc')}, 1 FROM w"),
        "temporary table that hides one": (f"CREATE TEMP TABLE w AS {rows}",
                                           "INSERT INTO out WITH u AS (SELECT o1 AS d FROM w) SELECT d, 1 FROM u"),
        "macro": ("CREATE TEMP MACRO largest(p) AS (SELECT max(d) FROM u WHERE k > p)",
                  f"INSERT INTO out SELECT largest(o1), o2 FROM ({rows}) AS w"),
        "dropped temporary table": ("CREATE TEMP TABLE u AS SELECT a AS k, b AS d FROM t",
                                    f"INSERT INTO out {rows}", "DROP TABLE u", "INSERT INTO out SELECT k, d FROM u"),
        "SET VARIABLE": (f"SET VARIABLE v = (SELECT max(o1) FROM ({rows}) AS w)",
                         "INSERT INTO out SELECT getvariable('v'), 1"),
        "query before an INSERT": (rows, "INSERT INTO out SELECT k, d FROM u"),
        "CTE before an INSERT": (f"WITH w AS ({rows}) INSERT INTO out SELECT o1, o2 FROM w",),
        "CTE before a DELETE": (f"WITH w AS ({rows}) DELETE FROM out WHERE o1 IN (SELECT o2 FROM w)",),
        "CTE before an UPDATE": (f"WITH u AS ({rows}) UPDATE out SET o1 = (SELECT max(o2) FROM u)",),
    }  # fmt: skip
    form = writer.random.choice(list(forms))
    writer.forms.add(form)
    target = "keyed" if form == "ON CONFLICT" else "out"
    return Statement(forms[form], ["o1", "o2"], frozenset(writer.forms), target)
