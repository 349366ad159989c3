"""Rule 13: columns that follow from SQL, the lineage of each kind of statement, and the refusal of expensive SQL."""

import sys
from collections import Counter
from collections.abc import Callable
from importlib.metadata import version
from random import Random
from types import FrameType
from typing import Any

import pytest

from bench.hostile_sql import CROWDED, HOSTILE, WIDE, Script
from headwater.lineage.sql.dialects import dialect_of
from headwater.lineage.sql.errors import UnsupportedSql
from headwater.lineage.sql.limits import MAX_STEPS, max_steps
from headwater.lineage.sql.parser import PARSER_VERSION
from headwater.lineage.sql.relations import Origins
from headwater.lineage.sql.script_reader import read_script
from headwater.lineage.sql.tables import RunTable, TableResolver
from headwater.questions.parameter_groups import parse_origins, read_as_of
from tests.index.test_reference import indexed
from tests.reference.small_events import A, B, run, with_schema, x_from
from tests.reference.world_events import Json, deliver, facet
from tests.rule_cases.events import LAKE, done, table, tagging
from tests.rule_cases.judges import told
from tests.support.data.lineage_world import LineageWorld

TABLES = (
    RunTable(("shop.customers",), ("id", "email", "name", "country"), is_input=True, is_output=False),
    RunTable(("shop.orders",), ("id", "customer_id", "amount", "day"), is_input=True, is_output=False),
    RunTable(("dw.out",), ("a", "b"), is_input=False, is_output=True),
)
UNLISTED = RunTable(("shop.unlisted",), (), is_input=True, is_output=False)
OTHER_OUT = RunTable(("other.out",), ("a", "b"), is_input=True, is_output=False)
OUT, SMALL = 2, RunTable(("shop.small",), ("x", "y"), is_input=True, is_output=False)

SAYS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("INSERT … SELECT goes by place", "INSERT INTO out SELECT name, email FROM customers", {"a": "name", "b": "email"}),
    ("a list of columns", "INSERT INTO out (b) SELECT email FROM customers", {"b": "email"}),
    ("a masked value", "CREATE TABLE out AS SELECT md5(email) AS a FROM customers", {"a": "email#"}),
    ("an aggregate", "CREATE VIEW out AS SELECT sum(amount) AS a FROM orders", {"a": "amount+"}),
    ("`*`", "CREATE TABLE out AS SELECT * FROM customers",
     {"id": "id", "email": "email", "name": "name", "country": "country"}),
    ("a condition", "INSERT INTO out (a) SELECT CASE WHEN country = 'x' THEN name END FROM customers",
     {"a": "country? name"}),
    ("a window", "INSERT INTO out (a) SELECT sum(amount) OVER (PARTITION BY day) FROM orders", {"a": "amount+ day?"}),
    ("a CTE, a join, a filter, a group",
     "INSERT INTO out (a, b) WITH c AS (SELECT id, name FROM customers WHERE country = 'x') "
     "SELECT c.name, sum(o.amount) FROM c JOIN orders o ON o.customer_id = c.id GROUP BY c.name",
     {"a": "name", "b": "amount+", "*": "country? customer_id? id? name?"}),
    ("UNION", "INSERT INTO out (a) SELECT name FROM customers UNION ALL SELECT day FROM orders", {"a": "day name"}),
    ("a subquery that looks outwards",
     "INSERT INTO out (a) SELECT (SELECT max(o.day) FROM orders o WHERE o.customer_id = c.id) FROM customers c",
     {"a": "customer_id? day+ id?"}),
    ("MERGE fills nothing that its INSERT does not name",
     "MERGE INTO out t USING customers s ON s.id = t.a WHEN NOT MATCHED THEN INSERT (b) VALUES (s.email)",
     {"a": "a", "b": "b email", "*": "a? id?"}),
    ("MERGE keeps what it does not set",
     "MERGE INTO out t USING customers s ON s.id = t.a WHEN MATCHED THEN UPDATE SET b = s.email",
     {"a": "a", "b": "email", "*": "a? id?"}),
    ("UPDATE … FROM", "UPDATE out SET b = c.name FROM customers c WHERE c.id = out.a",
     {"a": "a", "b": "name", "*": "a? id?"}),
    ("a table that the script makes for itself",
     "CREATE TEMP TABLE t AS SELECT email AS e FROM customers; INSERT INTO out (a) SELECT lower(e) FROM t",
     {"a": "email~"}),
    ("a query alone, as dbt sends it", "SELECT name AS a, 1 AS b FROM customers", {"a": "name", "b": ""}),
    ("a name of no dataset is a view over the input that no name means",
     "INSERT INTO out (a, b) SELECT u.name, o.amount FROM orders o JOIN u ON u.id = o.customer_id WHERE u.country = ''",
     {"a": "name~", "b": "amount", "*": "country? customer_id? id?"}),
    ("another name of the only output", "INSERT INTO elsewhere (a) SELECT e.b FROM elsewhere e", {"a": "b"}),
    ("a table instead of a query", "INSERT INTO out (a, b) TABLE small", {"a": "x", "b": "y"}),
    ("a clone", "CREATE TABLE out CLONE small", {"x": "x", "y": "y"}),
    ("a cached query",
     "CACHE TABLE c AS SELECT email AS e FROM customers; INSERT INTO out (a) SELECT e FROM c", {"a": "email"}),
    ("REPLACE INTO", "REPLACE INTO out (a) SELECT name FROM customers", {"a": "name"}),
    ("what conditions of INSERT FIRST decide",
     "INSERT FIRST WHEN day > 1 THEN INTO out (a) VALUES (id) ELSE INTO out (b) VALUES (amount) "
     "SELECT id, amount, day FROM orders", {"a": "id", "b": "amount", "*": "day?"}),
    ("the order within an aggregate",
     "INSERT INTO out (a) SELECT array_agg(name ORDER BY id) FROM customers", {"a": "id? name+"}),
    ("EXISTS asks whether there is a row, not what is in it",
     "INSERT INTO out (a) SELECT name FROM customers c WHERE EXISTS (SELECT * FROM orders WHERE customer_id = c.id)",
     {"a": "name", "*": "customer_id? id?"}),
    ("a semi join only decides which rows stay",
     "INSERT INTO out SELECT id, name FROM customers c LEFT SEMI JOIN orders o ON o.customer_id = c.id",
     {"a": "id", "b": "name", "*": "customer_id? id?"}),
    ("a partition of Hive that is written once", "INSERT OVERWRITE TABLE out PARTITION (b = 'x') IF NOT EXISTS "
     "SELECT name FROM customers", {"a": "name"}),
    ("Hive's kinds of tables", "CREATE TRANSACTIONAL TABLE out AS SELECT email AS a FROM customers", {"a": "email"}),
    ("a view of Hive with partitions",
     "CREATE VIEW out PARTITIONED ON (b) AS SELECT email AS a, name AS b FROM customers", {"a": "email", "b": "name"}),
    ("a materialized view that queries do not use",
     "CREATE MATERIALIZED VIEW out DISABLE REWRITE AS SELECT email AS a FROM customers", {"a": "email"}),
    ("a script that loads a jar", "ADD JAR /f.jar; INSERT INTO out (a) SELECT name FROM customers", {"a": "name"}),
    ("Hive's FROM … INSERT", "FROM customers INSERT INTO TABLE out SELECT name, email", {"a": "name", "b": "email"}),
)  # fmt: skip

ACCOUNTED: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("a whole row in an expression", "spark", "INSERT INTO out (a) SELECT to_json(struct(*)) FROM customers",
     {"a": "country~ email~ id~ name~"}),
    ("a whole row of one table", "spark",
     "INSERT INTO out (a) SELECT to_json(struct(o.*)) FROM customers c JOIN orders o ON o.customer_id = c.id",
     {"a": "amount~ customer_id~ day~ id~", "*": "customer_id? id?"}),
    ("a whole row as an object", "snowflake", "INSERT INTO out (a) SELECT OBJECT_CONSTRUCT(*) FROM customers",
     {"a": "country~ email~ id~ name~"}),
    ("an arrow to a field in a function", "postgres",
     "INSERT INTO out (a) SELECT coalesce(c.email, name -> 'first', 'x') FROM customers c", {"a": "email~ name~"}),
    ("a whole row by the alias of its table", "postgres", "INSERT INTO out (a) SELECT row_to_json(c) FROM customers c",
     {"a": "country~ email~ id~ name~"}),
    ("a whole row of the query around", "postgres",
     "INSERT INTO out (a) SELECT (SELECT max(to_json(c)) FROM orders o WHERE o.id = c.id) FROM customers c",
     {"a": "country+ email+ id+ id? name+"}),
    ("columns that match a pattern", "duckdb", "INSERT INTO out (a) SELECT min(COLUMNS('em.*')) FROM customers",
     {"a": "country+ email+ id+ name+"}),
    ("count(*) reads no column", "postgres", "INSERT INTO out (a) SELECT count(*) FROM customers", {"a": ""}),
    ("a correlated subquery over a table whose columns nobody knows", "spark",
     "INSERT INTO out (a) SELECT customers.name FROM customers "
     "WHERE EXISTS (SELECT 1 FROM unlisted WHERE k = customers.email)", {"a": "name", "*": "email? k?"}),
    ("a name that a table here and one around may have", "spark",
     "INSERT INTO out (a) SELECT name FROM customers WHERE EXISTS (SELECT 1 FROM unlisted WHERE country = 1)",
     {"a": "name", "*": "country?"}),
    ("a column here with the alias of a table around as its name", "spark",
     "INSERT INTO out (a) SELECT (SELECT max(o.id) FROM orders o WHERE o.id = day.email) FROM customers day",
     {"a": "day? email? id+ id?"}),
    ("a column of a table that nobody lists with the alias of a table around as its name", "spark",
     "INSERT INTO out (a) SELECT day FROM orders name WHERE EXISTS (SELECT 1 FROM unlisted WHERE name > 1)",
     {"a": "day", "*": "amount? customer_id? day? id? name?"}),
    ("an alias of a table here and of one around, of which this one may lack the column", "spark",
     "INSERT INTO out (a) SELECT c.name FROM customers c WHERE EXISTS (SELECT 1 FROM unlisted c WHERE c.email = 1)",
     {"a": "name", "*": "email?"}),
    ("an alias in the select list that a table whose columns nobody knows may have as a column", "duckdb",
     "INSERT INTO out (a) SELECT k AS x FROM unlisted WHERE x > 1", {"a": "k", "*": "k? x?"}),
    ("a whole row as PostgreSQL's jsonb", "postgres", "INSERT INTO out (a) SELECT to_jsonb(c) FROM customers c",
     {"a": "country~ email~ id~ name~"}),
    ("a whole row as BigQuery's text", "bigquery", "INSERT INTO out (a) SELECT TO_JSON_STRING(c) FROM customers c",
     {"a": "country~ email~ id~ name~"}),
    ("the first of the whole rows", "bigquery",
     "INSERT INTO out (a) SELECT ARRAY_AGG(c ORDER BY c.id LIMIT 1)[OFFSET(0)] FROM customers c",
     {"a": "country+ email+ id+ id? name+"}),
    ("an alias of the query around in a scalar subquery", "spark",
     "INSERT INTO out (a) SELECT (SELECT max(k) FROM unlisted WHERE j = customers.email) FROM customers",
     {"a": "email? j? k+"}),
    ("an alias of the query around in IN", "spark", "INSERT INTO out (a) SELECT name FROM customers "
     "WHERE id IN (SELECT k FROM unlisted WHERE j = customers.email)", {"a": "name", "*": "email? id? j? k?"}),
    ("an alias of the query around in LATERAL that is not selected", "postgres",
     "INSERT INTO out (a) SELECT name FROM customers "
     "CROSS JOIN LATERAL (SELECT k FROM unlisted WHERE j = customers.email) l", {"a": "name", "*": "email? j? k?"}),
    ("explode that is not selected", "spark",
     "INSERT INTO out (a) SELECT name FROM customers LATERAL VIEW explode(country) e AS v",
     {"a": "name", "*": "country?"}),
    ("stack", "spark", "INSERT INTO out SELECT stack(2, id, email, name, country) AS (x, y) FROM customers",
     {"a": "country~ email~ id~ name~", "b": "country~ email~ id~ name~"}),
    ("a field of named_struct", "spark",
     "INSERT INTO out (a) SELECT named_struct('x', id, 'y', email).x FROM customers", {"a": "email~ id~"}),
    ("an UPDATE keeps the other columns", "spark", "UPDATE out SET b = (SELECT max(name) FROM customers)",
     {"a": "a", "b": "name+"}),
    ("USING over a table whose columns nobody knows", "spark",
     "INSERT INTO out (a) SELECT c.name FROM customers c JOIN unlisted USING (id)", {"a": "name", "*": "id?"}),
    ("a DELETE keeps the columns, and its condition decides", "spark",
     "DELETE FROM out WHERE a IN (SELECT email FROM customers)", {"a": "a", "b": "b", "*": "a? email?"}),
    ("DELETE USING", "postgres", "DELETE FROM out USING customers c WHERE out.a = c.id",
     {"a": "a", "b": "b", "*": "a? id?"}),
    ("an array that is taken apart and not selected", "postgres",
     "INSERT INTO out (a) SELECT name FROM customers CROSS JOIN LATERAL unnest(country) AS u(e)",
     {"a": "name", "*": "country?"}),
    ("LIMIT of a query", "duckdb",
     "INSERT INTO out (a) SELECT name FROM customers LIMIT (SELECT max(amount) FROM orders)",
     {"a": "name", "*": "amount?"}),
    ("a lambda's parameter hides a column, not the column of a table", "spark",
     "INSERT INTO out (a) SELECT transform(name, email -> email + customers.id) FROM customers", {"a": "id~ name~"}),
    ("UNION BY NAME", "duckdb",
     "CREATE TABLE out AS SELECT id AS a FROM customers UNION BY NAME SELECT day AS b FROM orders",
     {"a": "id", "b": "day"}),
    ("a recursion of three steps", "postgres",
     "CREATE TABLE out AS WITH RECURSIVE r AS (SELECT id AS a, email AS b, name AS c FROM customers "
     "UNION ALL SELECT b, c, a FROM r) SELECT a FROM r", {"a": "email id name"}),
    ("a column that is only named", "postgres",
     "INSERT INTO out (a) WITH c AS (SELECT id, email FROM customers) SELECT id FROM c", {"a": "id", "*": "email?"}),
    ("a column that only a star takes along", "postgres",
     "INSERT INTO out (a) WITH c AS (SELECT * FROM customers) SELECT id FROM c", {"a": "id"}),
    ("DISTRIBUTE BY names a column", "spark", "INSERT INTO out (a) SELECT id FROM customers DISTRIBUTE BY email",
     {"a": "id", "*": "email?"}),
    ("the written table by the name with which another one ends", "spark", "INSERT INTO out (a) SELECT b FROM out",
     {"a": "b"}),
    ("columns that a star leaves out or replaces", "duckdb", "INSERT INTO out (a) SELECT id FROM "
     "(SELECT * EXCLUDE (country) REPLACE (id AS email) FROM customers)", {"a": "id", "*": "country? email?"}),
    ("DISTINCT compares all that a star takes", "spark",
     "INSERT INTO out (a) SELECT id FROM (SELECT DISTINCT * FROM customers)",
     {"a": "id", "*": "country? email? id? name?"}),
    ("GROUP BY ALL groups by what is not aggregated", "duckdb",
     "INSERT INTO out (a) SELECT n FROM (SELECT id, day, sum(amount) AS n FROM orders GROUP BY ALL)",
     {"a": "amount+", "*": "day? id?"}),
    ("ORDER BY ALL", "duckdb", "INSERT INTO out (a) SELECT id FROM (SELECT * FROM customers ORDER BY ALL LIMIT 1)",
     {"a": "id", "*": "country? email? id? name?"}),
    ("stars in a UNION, whose columns go by their places", "spark",
     "INSERT INTO out (a) SELECT id FROM (SELECT * FROM orders UNION ALL SELECT * FROM orders)",
     {"a": "id", "*": "amount? customer_id? day?"}),
    ("a list of columns behind an alias, by their places", "spark",
     "INSERT INTO out (a) SELECT q.y FROM (SELECT * FROM customers) AS q(x, y)", {"a": "email", "*": "id?"}),
    ("count(t.*) counts rows that have values", "spark", "INSERT INTO out (a) SELECT count(c.*) FROM customers c",
     {"a": "country# email# id# name#"}),
    ("a CTE with the name of a table, in an UPDATE", "spark", "WITH customers AS (SELECT day AS name FROM orders) "
     "UPDATE out SET a = (SELECT max(name) FROM customers)", {"a": "day+", "b": "b"}),
    ("a CTE with the name of a table, behind UNION", "spark",
     "INSERT INTO out (a) WITH customers AS (SELECT * FROM orders) SELECT id FROM orders UNION ALL "
     "SELECT id FROM orders ORDER BY (SELECT max(amount) FROM customers)",
     {"a": "id", "*": "amount?"}),
)  # fmt: skip
"""Statements whose references were missed silently before, and the lineage of their columns."""

STRAY: tuple[tuple[str, str, str], ...] = (
    ("duckdb", "SELECT date_trunc(name, day) FROM customers, orders", "name"),
    ("duckdb", "SELECT email.upper() FROM customers", "email"),
    ("duckdb", "SELECT c.email.upper() FROM customers c", "email"),
    ("postgres", "SELECT @id FROM customers", "id"),
    ("postgres", "SELECT convert(int, email) FROM customers", "email"),
    ("spark", "SELECT map {email: 1} FROM customers", "email"),
    ("spark", "SELECT id FROM customers TABLESAMPLE (BUCKET 1 OUT OF 4 ON email)", "email"),
    ("spark", "SELECT trunc(day, name) FROM customers, orders", "name"),
)
"""Statements in which the parser misinterprets a column: dialect, query, column."""

FUNCTIONS: tuple[tuple[str, str], ...] = (
    ("duckdb", "CREATE MACRO f(p) AS (SELECT max(email) FROM customers); INSERT INTO out (a) SELECT f(id) FROM orders"),
    ("bigquery", "CREATE TEMP FUNCTION f(p INT64) AS ((SELECT max(email) FROM customers)); "
                 "INSERT INTO out (a) SELECT f(id) FROM orders"),
    ("postgres", "CREATE FUNCTION f(p INT) RETURNS INT AS $$ SELECT max(email) FROM customers $$ LANGUAGE sql; "
                 "INSERT INTO out (a) SELECT f(id) FROM orders"),
)  # fmt: skip

NOT_FOLLOWED: tuple[tuple[str, str], ...] = (
    ("bigquery", "SET v = (SELECT max(email) FROM customers); INSERT INTO out (a) SELECT 1"),
    ("bigquery", "DECLARE v INT64 DEFAULT (SELECT max(email) FROM customers); INSERT INTO out (a) SELECT 1"),
    ("spark", "SELECT email FROM customers; INSERT INTO out (a) SELECT 1"),
    ("spark", "CREATE TEMP VIEW v AS SELECT email AS e FROM customers; SELECT e FROM v; INSERT INTO out (a) SELECT 1"),
    ("postgres", "INSERT INTO out (a) SELECT 1 RETURNING (SELECT max(email) FROM customers)"),
    ("postgres", "INSERT INTO out (a) VALUES ((SELECT max(email) FROM customers))"),
    ("spark", "INSERT INTO out REPLACE WHERE a IN (SELECT email FROM customers) SELECT 1"),
    ("spark", "DELETE FROM elsewhere WHERE a IN (SELECT email FROM customers); INSERT INTO out (a) SELECT 1"),
    ("duckdb", "SET VARIABLE v = (SELECT max(x) FROM elsewhere); INSERT INTO out (a) SELECT id FROM orders"),
    ("duckdb", "SET VARIABLE v = (SELECT max(x) FROM query('FROM customers')); INSERT INTO out (a) SELECT 1"),
)
"""Statements with a reference without a column, so that any column of `customers` may be used."""

REFUSED: tuple[tuple[str, str], ...] = (
    ("INSERT INTO out (a) SELECT x FROM elsewhere", "x of a view whose definition is unknown"),
    ("INSERT INTO out (a) SELECT v.id FROM elsewhere v", "id of a view whose definition is unknown"),
    ("INSERT INTO out (a) SELECT * FROM elsewhere", "no event of the run reports the columns of this table"),
    ("INSERT INTO out (a) SELECT e.x FROM customers c, orders o, elsewhere e", "elsewhere, which is not a dataset"),
    ("INSERT INTO out (a) SELECT id FROM customers, orders", "several tables"),
    ("INSERT INTO out (a) SELECT nothing FROM customers, orders", "the table of"),
    ("COPY INTO out FROM '@stage'", "does not support: COPY"),
    ("CALL refresh()", "does not support: CALL"),
    ("INSERT INTO out (a) SELECT {{ column }} FROM customers", "template"),
    ("INSERT INTO out (a) SELECT (name FROM customers", "cannot parse the SQL"),
    ("INSERT INTO out (a) SELECT 'open", "is not closed"),
    ("INSERT INTO out (a) SELECT x FROM my_function('a')", "table function"),
    ("INSERT INTO out (a) SELECT row_to_json(u) FROM unlisted u", "may be a column or a whole row"),
    ("DELETE FROM out USING (SELECT q.x FROM (SELECT id FROM customers) q) w WHERE w.x = a", "the table of column q.x"),
    ("CREATE DEFAULT TEMP TABLE out AS SELECT 1", "cannot parse the SQL"),  # the parser raises a TypeError
)


@pytest.mark.parametrize(("sql", "wanted"), [(sql, wanted) for _, sql, wanted in SAYS], ids=[each[0] for each in SAYS])
def test_a_statement_says_what_its_columns_are_made_of(sql: str, wanted: dict[str, str]) -> None:
    dialect = {
        "FROM": "hive",
        "INSERT OVERWRITE": "hive",
        "ADD": "hive",
        "INSERT FIRST": "snowflake",
        "REPLACE": "mysql",
        "C": "spark",
    }
    chosen = next((dialect[begin] for begin in dialect if sql.startswith(begin)), "")
    said = read_script(sql, chosen, (*TABLES, SMALL))[OUT]
    assert not isinstance(said, str), said
    found = {name: text(made) for name, made in said.columns.items()}
    assert found | ({"*": text(said.row_origins)} if said.row_origins else {}) == wanted


@pytest.mark.parametrize(("name", "dialect", "sql", "wanted"), ACCOUNTED, ids=[each[0] for each in ACCOUNTED])
def test_every_reference_leads_to_a_column(name: str, dialect: str, sql: str, wanted: dict[str, str]) -> None:
    said = read_script(sql, dialect, (*TABLES, UNLISTED, OTHER_OUT))[OUT]
    assert not isinstance(said, str), name
    assert not said.possible_sources
    found = {column: text(made) for column, made in said.columns.items()}
    assert found | ({"*": text(said.row_origins)} if said.row_origins else {}) == wanted


@pytest.mark.parametrize("below", ["c.email = 1", "c.id IN (SELECT c.id FROM orders c WHERE c.email = 1)"])
def test_an_alias_may_be_of_a_table_around_where_the_table_here_lacks_the_column(below: str) -> None:
    sql = f"INSERT INTO out (a) SELECT c.name FROM customers c WHERE EXISTS (SELECT 1 FROM orders c WHERE {below})"
    said = read_script(sql, "spark", TABLES)[OUT]
    assert not isinstance(said, str), said
    assert {(0, "email"), (1, "email")} <= said.row_origins.keys(), "the list of orders may be outdated"


@pytest.mark.parametrize(("dialect", "sql"), NOT_FOLLOWED)
def test_a_table_is_opaque_whose_column_is_used_in_a_way_that_is_not_followed(dialect: str, sql: str) -> None:
    said = read_script(sql, dialect, TABLES)[OUT]
    assert not isinstance(said, str), said
    assert 0 in said.possible_sources or "email?" in text(said.row_origins)


@pytest.mark.parametrize(("dialect", "query", "column"), STRAY)
def test_a_column_is_used_that_the_parser_takes_for_something_else(dialect: str, query: str, column: str) -> None:
    said = read_script(f"INSERT INTO out (a) {query}", dialect, TABLES)[OUT]
    assert not isinstance(said, str), said
    assert column in {name for made in (*said.columns.values(), said.row_origins) for _, name in made}
    unlisted = [table if table.is_output else RunTable(table.names, (), True, False) for table in TABLES]
    unknown = read_script(f"INSERT INTO out (a) {query}", dialect, unlisted)[OUT]
    assert isinstance(unknown, str) or unknown.possible_sources


@pytest.mark.parametrize(("dialect", "sql"), FUNCTIONS)
def test_what_a_function_of_the_script_reads_is_opaque(dialect: str, sql: str) -> None:
    said = read_script(sql, dialect, TABLES)[OUT]
    assert not isinstance(said, str), said
    assert 0 in said.possible_sources


@pytest.mark.parametrize(
    ("dialect", "sql", "columns"),
    [
        ("duckdb", "CREATE TABLE out AS SELECT q.id FROM (SELECT * FROM customers ORDER BY 2 LIMIT 3) q", "email"),
        ("duckdb", "CREATE TABLE out AS SELECT q.id FROM "
                   "(SELECT * FROM customers UNION BY NAME SELECT id FROM orders) q", "email name country"),
        ("duckdb", "CREATE TABLE out AS SELECT name AS email FROM customers ORDER BY email || 'x'", "email name"),
        ("duckdb", "CREATE TEMP TABLE customers AS SELECT id AS email FROM orders; DROP TABLE customers; "
                   "CREATE TABLE out AS SELECT email FROM customers", "email"),
    ],
)  # fmt: skip
def test_a_column_that_decides_by_its_place_or_name_is_used(dialect: str, sql: str, columns: str) -> None:
    said = read_script(sql, dialect, TABLES)[OUT]
    assert not isinstance(said, str), said
    used = {name for made in (*said.columns.values(), said.row_origins) for place, name in made if place == 0}
    assert used >= {*columns.split()}


@pytest.mark.parametrize(
    ("whens", "is_read"),
    [
        ("WHEN NOT MATCHED THEN INSERT *", True),
        ("WHEN MATCHED THEN UPDATE SET *", True),
        ("WHEN NOT MATCHED THEN INSERT VALUES (c.id, c.name)", False),
    ],
)
def test_a_merge_with_lists_that_lack_columns_proves_nothing_of_the_others(whens: str, is_read: bool) -> None:
    part = [RunTable(each.names, each.columns, each.is_input, each.is_output, is_incomplete=True) for each in TABLES]
    said = read_script(f"MERGE INTO out USING customers c ON out.a = c.id {whens}", "spark", part)[OUT]
    assert isinstance(said, str) != is_read
    assert isinstance(said, str) or 0 in said.possible_sources


def test_a_union_that_begins_with_a_star_of_a_list_that_lacks_columns_is_not_read() -> None:
    part = [RunTable(each.names, each.columns, each.is_input, each.is_output, is_incomplete=True) for each in TABLES]
    union = "SELECT * FROM customers UNION BY NAME SELECT id AS email FROM orders"
    said = read_script(f"CREATE TABLE out AS SELECT q.email FROM ({union}) q", "duckdb", part)[OUT]
    assert "a query of a UNION uses `*`" in str(said)


def test_an_insert_by_place_into_a_list_that_lacks_columns_is_not_read() -> None:
    part = [*TABLES[:2], RunTable(("dw.out",), ("a", "b"), False, True, is_incomplete=True)]
    said = read_script("INSERT INTO out SELECT id, name FROM customers", "spark", part)[OUT]
    assert said == "the SQL has no column list, and no event of the run reports all columns of the output"


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [("snowflake", "IDENTIFIER('email')"), ("snowflake", "c.$2"), ("snowflake", "$2"), ("duckdb", "#2")],
)
def test_a_column_that_is_named_by_a_value_or_a_place_is_refused(dialect: str, sql: str) -> None:
    said = read_script(f"INSERT INTO out (a) SELECT {sql} FROM customers c", dialect, TABLES)[OUT]
    assert isinstance(said, str)
    assert "by a value or by its position" in said


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM out WHERE a IN (SELECT x_id FROM (SELECT COLUMNS('(id)') AS 'x_\\1' FROM customers))",
        "INSERT INTO out SELECT COLUMNS('id'), day FROM orders",
        "CREATE TABLE out AS SELECT * FROM (SELECT COLUMNS('id') FROM orders)",
    ],
)
def test_columns_that_match_a_pattern_have_names_that_are_not_read(sql: str) -> None:
    assert "by a pattern" in str(read_script(sql, "duckdb", TABLES)[OUT])


@pytest.mark.parametrize(
    ("dialect", "sql", "reason"),
    [
        ("spark", "INSERT INTO out SELECT n, v FROM customers UNPIVOT (v FOR n IN (email, name))", "PIVOT"),
        ("snowflake", "INSERT INTO out (a) SELECT name FROM IDENTIFIER('customers')", "a table by a value"),
        ("snowflake", "INSERT INTO out (a) SELECT c.name FROM customers c, TABLE(f(c.email)) t", "table function"),
        ("spark", "INSERT INTO out (a) SELECT id FROM table_changes('customers', 2)", "table function"),
        ("postgres", "WITH gone AS (DELETE FROM customers RETURNING email) INSERT INTO out (a) SELECT email FROM gone",
         "does not support: DELETE"),
    ],
)  # fmt: skip
def test_a_form_of_one_dialect_that_is_not_read_is_refused(dialect: str, sql: str, reason: str) -> None:
    try:
        found = str(read_script(sql, dialect, TABLES)[OUT])
    except UnsupportedSql as refused:
        found = str(refused)
    assert reason in found


@pytest.mark.parametrize(
    "sql", ["INSERT INTO orders SELECT y, x FROM stage.orders", "INSERT INTO db.orders SELECT y, x FROM stage.orders"]
)
def test_an_output_is_told_from_an_input_whose_name_ends_with_its_own(sql: str) -> None:
    tables = [RunTable((f"db.{name}",), ("x", "y"), name != "orders", name == "orders")
              for name in ("stage.orders", "orders")]  # fmt: skip
    said = read_script(sql, "spark", tables)[1]
    assert not isinstance(said, str), said
    assert {name: list(made) for name, made in said.columns.items()} == {"x": [(0, "y")], "y": [(0, "x")]}


@pytest.mark.parametrize(("sql", "reason"), REFUSED)
def test_what_cannot_be_told_is_refused_with_its_reason(sql: str, reason: str) -> None:
    assert reason in refusal(sql)


@pytest.mark.slow
@pytest.mark.parametrize(("dialect", "sql", "reason"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_sql_is_refused_before_it_costs_much(dialect: str, sql: str, reason: str) -> None:
    try:
        found = str(read_script(sql, dialect, (*TABLES, WIDE))[OUT])
    except UnsupportedSql as refused:
        found = str(refused)
    assert reason in found


@pytest.mark.slow
@pytest.mark.parametrize(("made", "size", "is_refused"), CROWDED.values(), ids=CROWDED.keys())
def test_a_script_is_read_in_linear_work_or_refused(
    made: Callable[[int], Script], size: int, *, is_refused: bool
) -> None:
    if is_refused:
        script = made(size)
        assert "steps" in answer(read_script, script.sql, script.dialect, script.tables)
    else:
        small, large = (calls(made(each)) for each in (50, 100))
        assert large < small * 2.5


@pytest.mark.slow
def test_a_short_script_may_take_few_steps() -> None:
    script = CROWDED["fields of a function"][0](3900)
    columns = sum(len(table.columns) for table in script.tables)
    most = max_steps(script.sql, columns)
    assert most < MAX_STEPS / 4
    assert f"takes more than {most:,} steps" in answer(read_script, script.sql, script.dialect, script.tables)


def calls(script: Script) -> int:
    """Count the function calls while reading a script. Unlike CPU time, the count is the same on every machine."""
    counted = Counter[str]()

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        counted[event] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        answer(read_script, script.sql, script.dialect, script.tables)
    finally:
        sys.setprofile(before)
    return counted["call"] + counted["c_call"]


@pytest.mark.parametrize("seed", range(20))
def test_a_name_means_the_dataset_with_the_longest_common_end(seed: int) -> None:
    chance = Random(seed)

    def name() -> str:
        return ".".join(chance.choices("abc", k=chance.randint(1, 4)))

    tables = [
        RunTable(
            tuple(name() for _ in range(chance.randint(0, 3))),
            ("x",),
            is_input=(role := chance.choice(["in", "out", "both"])) != "out",
            is_output=role != "in",
        )
        for _ in range(chance.randint(1, 8))
    ]
    asked = [name() for _ in range(40)]
    known = TableResolver(tables, asked[:3])
    for each in asked:
        inputs = meant(each, tables, [place for place, table in enumerate(tables) if table.is_input])
        outputs = meant(each, tables, [place for place, table in enumerate(tables) if table.is_output])
        several = f"the table name {each} matches several datasets of the run"
        assert answer(known.find_output, each) == (several if outputs == "several" else outputs)
        found = inputs if inputs is not None else outputs
        assert answer(known.find_dataset, each) == (several if found == "several" else found)
    assert known.unnamed_inputs() == [
        place
        for place, table in enumerate(tables)
        if table.is_input and not any(meant(each, tables, [place]) is not None for each in asked[:3])
    ]


def meant(name: str, tables: list[RunTable], places: list[int]) -> int | str | None:
    """Compare a name with every name of every table."""
    asked = name.split(".")
    rates: dict[int, int] = {}
    for place in places:
        for own in (each.split(".") for each in tables[place].names):
            length = min(len(asked), len(own))
            if asked[-length:] == own[-length:]:
                rates[place] = max(length, rates.get(place, 0))
    best = [place for place, rate in rates.items() if rate == max(rates.values())]
    return "several" if len(best) > 1 else best[0] if best else None


def answer(read: Callable[..., Any], *asked: Any) -> Any:
    """Return the result of a call, or the text of a refusal. An answer about one output is unpacked."""
    try:
        found = read(*asked)
    except UnsupportedSql as refused:
        return str(refused)
    return next(iter(found.values())) if isinstance(found, dict) and len(found) == 1 else found


def test_more_columns_than_anybody_has_are_refused() -> None:
    wide = RunTable(("wide",), tuple(f"c{n}" for n in range(100_000)), is_input=True, is_output=False)
    with pytest.raises(UnsupportedSql, match="columns"):
        read_script("SELECT 1", "", (wide,))


def test_the_dialect_is_that_of_the_facet_else_of_the_producer_else_of_the_datasets() -> None:
    spark = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
    assert dialect_of("Snowflake", ["postgres://db"], spark) == "snowflake"
    assert dialect_of(None, ["hive://meta"], spark) == "spark"
    assert [dialect_of(None, [each], "https://acme.org/jobs") for each in (
        "postgres://db:5432", "trino://t:8080", "bigquery", "mssql://db", "unitycatalog://h", "s3://lake",
    )] == ["postgres", "trino", "bigquery", "tsql", "databricks", ""]  # fmt: skip


def test_the_parser_is_the_one_that_the_rules_were_written_for() -> None:
    assert f"sqlglot {version('sqlglot')}" == PARSER_VERSION


def test_merge_takes_all_of_a_view_by_the_names_of_its_target() -> None:
    target = RunTable(("dw.out",), ("x", "y"), is_input=True, is_output=True)
    merge = "MERGE INTO out t USING v ON v.x = t.x WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    said = read_script(merge, "spark", (target, SMALL))[0]
    assert not isinstance(said, str), said
    assert {name: list(made) for name, made in said.columns.items()} == {"x": [(1, "x")], "y": [(1, "y")]}
    narrow = RunTable(("shop.narrow",), ("x",), is_input=True, is_output=False)
    assert "y of a view" in str(read_script(merge, "spark", (target, narrow))[0])


def test_behind_a_view_that_is_not_shown_what_else_is_read_stays_unknown() -> None:
    sql: Json = {"sql": facet(query="INSERT INTO b (x) SELECT v.y FROM v", dialect="spark")}
    ran = run(1, 1, with_schema(B, "x"), reads=[with_schema(A, "y z")], job_facets=sql)
    world = LineageWorld(deliver([ran]))
    assert {edge[3] for edge in world.column_edges} == {"y"}
    [lineage] = [lineage for _, lineage in world.graph.edge_sets.values()]
    assert [name.parts for name in lineage.opaque_inputs] == [A]


@pytest.mark.parametrize(
    ("sql", "edges", "unread"),
    [
        ("select * from a", set(), "uses `*` for a table"),
        ("select distinct x from (select * from a) s", {("x", "x")}, ""),
        ("with s as (select distinct * from a) select x from s", {("x", "x")}, "may determine which rows"),
        ("with s as (select * from a) select x from s", {("x", "x")}, ""),
        ("select (select max(x) from a where y = 1) as x from c", {("x", "x"), ("y", "x")}, ""),
        ("select a.*, x as z from a", {("x", "z")}, "uses `*` for a table"),
        ("select z from (select * from a) s(z)", set(), "an alias renames the columns"),
        ("with s as (select * rename (x as z) from a) select z from s", {("x", "z")}, ""),
        ("with s as (select * replace (y + 1 as x) from a) select x from s", {("y", "x"), ("x", "x")}, ""),
        ("select * from a union all select * from a", set(), "a query of a UNION uses `*`"),
    ],
)
def test_a_list_of_documented_columns_may_lack_some(sql: str, edges: set[tuple[str, str]], unread: str) -> None:
    c = ("shop", "c")
    ran = run(1, 1, with_schema(B, "x"), reads=[with_schema(A, "k"), with_schema(c, "k")],
              job_facets={"sql": facet(query=sql, dialect="duckdb")})  # fmt: skip
    world = LineageWorld(deliver([{**ran, "producer": f"{ran['producer']}/integration/dbt"}]))
    found = {(edge[3], edge[7]) for edge in world.column_edges if edge[0:2] == A and edge[3] != "k"}
    assert found == edges
    [lineage] = [lineage for _, lineage in world.graph.edge_sets.values()]
    assert unread in (lineage.unread_sql_reason or "")
    assert bool(lineage.unread_sql_reason) == bool(unread)
    assert not unread or A in {name.parts for name in lineage.opaque_inputs}


SQL: Json = {"sql": facet(query="INSERT INTO b (x) SELECT y FROM a", dialect="spark")}


def test_what_is_inferred_displaces_nothing_that_was_observed() -> None:
    inferred = run(2, 2, with_schema(B, "x"), reads=[with_schema(A, "x y")], job_facets=SQL)
    assert reached([inferred]) == {(*B, "x")}
    assert reached([run(1, 1, x_from(A, B)), inferred], "x") == {(*B, "x")}
    assert reached([run(1, 1, x_from(A, B)), inferred]) == {(*B, "x")}
    own = run(2, 2, x_from(A, B), reads=[with_schema(A, "x y")], job_facets=SQL)
    assert reached([own]) == set()


@pytest.mark.slow
def test_without_inferred_edges_a_run_is_as_opaque_as_if_it_had_sent_no_sql() -> None:
    events = deliver([run(2, 2, with_schema(B, "x"), reads=[with_schema(A, "x y")], job_facets=SQL)])
    with indexed(events, Random(0)) as views:
        for origins, carries in ((None, [True]), ("observed,declared", [False]), ("inferred", [True])):
            with views.open_view(read_as_of(origins=origins)) as here:
                said = [lineage for _, lineage in here.snapshot.graph.edge_sets.values()]
                assert [(each.has_column_lineage, bool(each.opaque_inputs)) for each in said] == [
                    (each, not each) for each in carries
                ]


def reached(events: list[Json], column: str = "y") -> set[tuple[str, str, str]]:
    """Return the columns that a column of A reaches."""
    return {edge[4:6] + edge[7:8] for edge in LineageWorld(deliver(events)).column_edges if edge[3] == column}


@pytest.mark.parametrize("inserts", ["", " WHEN NOT MATCHED THEN INSERT (x) VALUES (s.x)"])
def test_a_missing_list_of_the_target_of_a_merge_makes_no_answer_safer(inserts: str) -> None:
    merge = facet(query=f"MERGE INTO b USING a s ON b.k = s.y WHEN MATCHED THEN UPDATE SET x = s.x{inserts}")
    tagged = tagging(9, "a.x")

    def answers(columns: str, *more: Json) -> tuple[dict[str, str], dict[str, str]]:
        merging = done(1, 1, table("b", columns), of=[table("a", "x y z")], job_facets={"sql": merge})
        lineage = LineageWorld(deliver([merging, tagged, *more]))
        surface = lineage.behind_tag("pii")[0]
        return lineage.unused((LAKE, "a")), {told(column): exposure for column, exposure in surface.items()}

    without = answers("")
    assert without == ({"x": "used", "y": "used", "z": "unused"}, {"b.x": "exposed"})
    assert without == answers("k x other") == answers("", done(2, 2, of=[table("b", "k x other")]))


def test_origins_are_words_that_there_are() -> None:
    assert parse_origins("observed, declared") == {"observed", "declared"}
    assert parse_origins(None) == {"observed", "declared", "inferred"}


def refusal(sql: str) -> str:
    try:
        return str(read_script(sql, "", TABLES)[OUT])
    except UnsupportedSql as refused:
        return str(refused)


def text(made: Origins) -> str:
    """Write columns with marks for their transformations: `?` indirect, `#` masked, `+` aggregated, `~` changed."""
    found = set()
    for (_, column), steps in made.items():
        for step in steps:
            marks = {"AGGREGATION": "+", "TRANSFORMATION": "~"}
            mark = "#" if step.masked else marks.get(step.subtype, "") if step.direct else "?"
            found.add(column + mark)
    return " ".join(sorted(found))
