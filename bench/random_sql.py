"""Generate random queries for `bench.executed_sql` from SQL forms in which inference once missed references."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

TABLES: dict[str, dict[str, str]] = {
    "t": {"a": "INT", "b": "INT", "c": "INT", "s": "STRUCT(x INT, y INT)", "xs": "INT[]"},
    "u": {"k": "INT", "b": "INT", "d": "INT", "ys": "INT[]"},
}
"""By table: its columns and their types. Both tables have a column `b`."""


WHOLE_ROWS = frozenset({
    "whole row", "first whole row", "count of rows with values", "NATURAL JOIN", "star", "star that leaves out",
    "star that replaces", "star that renames", "DISTINCT star", "set operation of stars", "GROUP BY ALL", "PIVOT",
    "UNPIVOT", "COLUMNS", "star of a struct", "CTE that hides a table", "table function", "query of a table function",
    "ORDER BY ALL", "column by its place", "place after a star", "UNION BY NAME of stars", "macro",
})  # fmt: skip
"""Forms that may use columns without naming them."""

DUCKDB_ONLY = frozenset({
    "COLUMNS", "column by its place", "query of a table function", "table function", "POSITIONAL JOIN", "PIVOT",
    "UNPIVOT", "ORDER BY ALL", "SET VARIABLE", "INSERT BY NAME", "alias in WHERE", "alias used again",
    "alias in GROUP BY", "alias in HAVING", "list comprehension", "UNNEST of a struct", "MERGE", "ASOF JOIN",
    "UNION BY NAME of stars", "method", "macro", "dropped temporary table", "alias in an ORDER BY expression",
    "DELETE RETURNING", "CTE that hides a table",  # sqlglot moves a CTE out of its query for Spark
})  # fmt: skip
"""Forms that other dialects do not have, or in which they resolve names differently."""

Query = tuple[str, list[str]]
"""A query and the names of its columns."""


class Statement(NamedTuple):
    """Statements that run one after another, the columns that they write, and their SQL forms.

    A single query writes to `out`. A script that writes itself has the name of its target table in `target`.
    """

    script: tuple[str, ...]
    columns: list[str]
    forms: frozenset[str]
    target: str | None = None

    @property
    def text(self) -> str:
        """The statements as one script."""
        return "; ".join(self.script)


class QueryWriter:
    """Generates the queries of one statement and records their forms."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.forms: set[str] = set()
        self._aliases = 0

    def choose(self, form: str, text: str) -> str:
        """Record the form of a text and return the text."""
        self.forms.add(form)
        return text

    def one_of(self, forms: dict[str, str]) -> str:
        """Return the text of a randomly chosen form."""
        form = self.random.choice(list(forms))
        return self.choose(form, forms[form])

    def alias(self) -> str:
        """Return a name that is unique within the statement."""
        self._aliases += 1
        return f"q{self._aliases}"

    def query(self, depth: int = 2) -> Query:
        """Return a random query and the names of its columns."""
        forms: list[Callable[[], Query]] = [lambda: self._select(depth)]
        if depth:
            forms += [lambda: self._select(depth), lambda: self._select(depth), lambda: self._cte(depth)]
            forms += [lambda: self._union(depth), lambda: self._except(depth), lambda: self._distinct(depth)]
            forms += [self._by_name, self._recursive, self._recursive_join, self._stars_united, self._hidden_table]
            forms += [self._grouped, self._pivoted, self._pattern, self._reused_alias, self._written_rows]
        return self.random.choice(forms)()

    # Queries

    def _select(self, depth: int) -> Query:
        source, columns = self._source(depth)
        names = ["o1", "o2"][: self.random.choice([1, 2, 2])]
        values = [self._value(columns) for _ in names]
        clauses = self._clauses(columns)
        if self.random.random() < 0.2:
            group = self._column(columns)
            text = f"SELECT {group} AS o1, {self._aggregate(columns)} AS o2 FROM {source} GROUP BY {group}"
            having = f" HAVING {self._aggregate(columns)} > 2" if self.random.random() < 0.3 else ""
            return self.choose("GROUP BY", text + having), ["o1", "o2"]
        listed = ", ".join(f"{value} AS {name}" for value, name in zip(values, names, strict=True))
        return f"SELECT {listed} FROM {source}{clauses}", names

    def _cte(self, depth: int) -> Query:
        inner, columns = self.query(depth - 1)
        name = self.alias()
        picked = self.random.choice(columns)
        if self.random.random() < 0.3:
            named = ", ".join(f"n{number}" for number, _ in enumerate(columns))
            text = f"WITH {name}({named}) AS ({inner}) SELECT n{columns.index(picked)} AS o1 FROM {name}"
            return self.choose("CTE with a list of columns", text), ["o1"]
        return self.choose("CTE", f"WITH {name} AS ({inner}) SELECT {name}.{picked} AS o1 FROM {name}"), ["o1"]

    def _union(self, depth: int) -> Query:
        return self._set(self.random.choice(["UNION ALL", "UNION"]), "UNION", depth)

    def _except(self, depth: int) -> Query:
        return self._set(self.random.choice(["EXCEPT", "INTERSECT"]), "EXCEPT or INTERSECT", depth)

    def _set(self, operation: str, form: str, depth: int) -> Query:
        (one, columns), (other, theirs) = self.query(depth - 1), self.query(depth - 1)
        first, second = columns[0], theirs[0]
        left, right = self.alias(), self.alias()
        text = (
            f"SELECT {left}.{first} AS o1 FROM ({one}) AS {left} "
            f"{operation} SELECT {right}.{second} FROM ({other}) AS {right}"
        )
        if self.random.random() < 0.2:
            text = self.choose("ORDER BY of a set operation", f"{text} ORDER BY o1 LIMIT 4")
        return self.choose(form, text), ["o1"]

    def _distinct(self, depth: int) -> Query:
        source, columns = self._source(depth)
        value, key, order = self._value(columns), self._column(columns), self._column(columns)
        forms = {
            "DISTINCT": f"SELECT DISTINCT {key} AS o1, {value} AS o2 FROM {source}",
            "DISTINCT ON": f"SELECT DISTINCT ON ({key}) {order} AS o1, {key} AS o2 FROM {source} "
            f"ORDER BY {key}, {', '.join(columns)}",
        }
        return self.one_of(forms), ["o1", "o2"]

    def _by_name(self) -> Query:
        one, other = self._plain(), self._plain()
        text = f"SELECT {one} AS o1, {self._plain()} AS o2 FROM t UNION ALL BY NAME SELECT {other} AS o3 FROM t"
        return self.choose("UNION BY NAME", text), ["o1", "o2", "o3"]

    def _recursive(self) -> Query:
        name = self.alias()
        text = (
            f"WITH RECURSIVE {name}(n, o1, o2, o3) AS (SELECT 0, a, b, c FROM t "
            f"UNION ALL SELECT n + 1, o2, o3, o1 FROM {name} WHERE n < {self.random.randint(1, 3)}) "
            f"SELECT o1, n FROM {name}"
        )
        return self.choose("WITH RECURSIVE", text), ["o1", "n"]

    def _recursive_join(self) -> Query:
        name = self.alias()
        text = (
            f"WITH RECURSIVE {name} AS (SELECT a AS o1, 0 AS n FROM t UNION "
            f"SELECT u.d, {name}.n + 1 FROM {name} JOIN u ON u.k = {name}.o1 WHERE {name}.n < 3) SELECT o1 FROM {name}"
        )
        return self.choose("WITH RECURSIVE and a join", text), ["o1"]

    def _stars_united(self) -> Query:
        name, picked = self.alias(), self.random.choice("abc")
        operation = self.random.choice(["UNION ALL", "UNION", "EXCEPT", "INTERSECT"])
        inner = f"SELECT * FROM t WHERE a > 1 {operation} SELECT * FROM t WHERE {self._plain()} > 2"
        if self.random.random() < 0.2:
            inner = f"SELECT * FROM t WHERE a > 1 UNION BY NAME SELECT {self._plain()} AS {picked} FROM t"
            return self.choose("UNION BY NAME of stars", f"SELECT {name}.{picked} AS o1 FROM ({inner}) AS {name}"), [
                "o1"
            ]
        return self.choose("set operation of stars", f"SELECT {name}.{picked} AS o1 FROM ({inner}) AS {name}"), ["o1"]

    def _hidden_table(self) -> Query:
        other = self._plain()
        forms = [
            f"WITH u AS (SELECT a AS k, {other} AS d FROM t) SELECT u.k AS o1 FROM u WHERE u.d > 1",
            f"WITH t AS (SELECT * FROM t WHERE {other} > 1) SELECT t.a AS o1 FROM t",
            f"WITH u AS (SELECT {other} AS d FROM t) SELECT k AS o1 FROM (WITH u AS (SELECT d + 1 AS k FROM u) "
            "SELECT k FROM u) AS w",
            f"WITH t AS (SELECT * FROM u) SELECT {self.random.choice('kbd')} AS o1 FROM t ORDER BY (SELECT max(d) FROM "
            "t)",
            f"WITH u AS (SELECT * FROM t) SELECT (SELECT max(u.a) FROM u WHERE u.b > 1) AS o1 FROM t WHERE {other} > 1",
        ]
        return self.choose("CTE that hides a table", self.random.choice(forms)), ["o1"]

    def _grouped(self) -> Query:
        one, other = self.random.sample("abc", 2)
        forms = {
            "GROUP BY ALL": f"SELECT n AS o1 FROM (SELECT *, count(*) AS n FROM t GROUP BY ALL) AS {self.alias()}",
            "GROUPING SETS": f"SELECT {one} AS o1, sum(c) AS o2 FROM t "
            f"GROUP BY GROUPING SETS (({one}), ({other}, {one}))",
            "ROLLUP": f"SELECT {one} AS o1, count({other}) AS o2 FROM t GROUP BY ROLLUP ({one}, b)",
            "GROUP BY a place": f"SELECT {one} + 1 AS o1, max({other}) AS o2 FROM t GROUP BY 1 ORDER BY 2 LIMIT 3",
            "place after a star": f"SELECT {one} AS o1 FROM (SELECT * FROM t ORDER BY 2, a, b, c, s LIMIT 5) "
            f"AS {self.alias()}",
            "ORDER BY ALL": f"SELECT {one} AS o1 FROM (SELECT * FROM t ORDER BY ALL LIMIT 5) AS {self.alias()}",
        }
        text = self.one_of(forms)
        return text, ["o1", "o2"] if "o2" in text else ["o1"]

    def _pivoted(self) -> Query:
        name = self.alias()
        forms = {
            "UNPIVOT": f"SELECT {name}.v AS o1 FROM t UNPIVOT (v FOR n IN (a, b)) AS {name}",
            "PIVOT": f"SELECT * FROM (SELECT a, b, c FROM t) PIVOT (sum(b) FOR c IN (1 AS o1, 2 AS o2)) AS {name}",
        }
        text = self.one_of(forms)
        return text, ["o1"] if "UNPIVOT" in text else ["a", "o1", "o2"]

    def _pattern(self) -> Query:
        one, other = sorted(self.random.sample("abc", 2))
        forms = {
            "COLUMNS": f"SELECT x_{one} AS o1 FROM (SELECT COLUMNS('([{one}{other}])') AS 'x_\\1' FROM t)",
            "column by its place": f"SELECT #{self.random.randint(1, 3)} AS o1 FROM t",
            "query of a table function": f"SELECT {one} AS o1 FROM query('SELECT {one}, {other} FROM t')",
            "table function": f"SELECT r.n + {one} AS o1 FROM t, LATERAL (SELECT unnest(range(t.{other})) AS n) AS r",
        }
        return self.one_of(forms), ["o1"]

    def _reused_alias(self) -> Query:
        """Return a query with an alias that may be equal to the name of another column of the table."""
        given, value, other = self.random.choice("abcz"), self._plain(), self.random.choice("abc")
        forms = {
            "alias used again": f"SELECT {value} AS {given}, {given} + {other} AS o2 FROM t",
            "alias in WHERE": f"SELECT {value} AS {given} FROM t WHERE {given} > 1",
            "alias in ORDER BY": f"SELECT {value} AS {given} FROM t ORDER BY {given}, {value} LIMIT 4",
            "alias in an ORDER BY expression": f"SELECT {value} AS {given} FROM t "
            f"ORDER BY {given} + 1, {value} LIMIT 4",
            "alias in GROUP BY": f"SELECT {value} AS {given}, count(*) AS o2 FROM t GROUP BY {given}, {value}, s, xs",
            "alias in HAVING": f"SELECT {value} AS {given}, sum({other}) AS o2 FROM t GROUP BY ALL HAVING {given} > 1",
        }
        text = self.one_of(forms)
        return text, [given, "o2"] if "o2" in text else [given]

    def _written_rows(self) -> Query:
        name = self.alias()
        rows = f"(VALUES (t.{self.random.choice('abc')}), ((SELECT max(d) FROM u)))"
        text = f"SELECT {name}.v AS o1 FROM t, {rows} AS {name}(v)"
        return self.choose("VALUES", text), ["o1"]

    # Sources

    def _source(self, depth: int) -> Query:
        """Return the text of a FROM clause and the qualified names of its columns."""
        t, u, inner = self.alias(), self.alias(), self.alias()
        of_t, of_u = [f"{t}.a", f"{t}.b", f"{t}.c"], [f"{u}.k", f"{u}.b", f"{u}.d"]
        some = [*of_t, f"{inner}.e"] if self.random.random() < 0.5 else of_t
        both, correlated = of_t + of_u, f"SELECT u.d AS e FROM u WHERE u.k = {t}.a"
        forms: dict[str, Query] = {
            "table": (f"t AS {t}", of_t),
            "plain names": ("t", ["a", "t.b", "c"]),
            "alias like a column": ("t AS b", ["b.a", "b", "b.c"]),
            "alias like a table": ("t AS u", ["u.a", "u.b", "c"]),
            "field of a struct": (f"t AS {t}", [f"{t}.s.x", f"{t}.b", "s.y"]),
            "JOIN ON": (f"t AS {t} JOIN u AS {u} ON {t}.a = {u}.k", both),
            "LEFT JOIN": (f"t AS {t} LEFT JOIN u AS {u} ON {t}.c < {u}.d", both),
            "FULL JOIN": (f"t AS {t} FULL JOIN u AS {u} ON {t}.c = {u}.d", both),
            "join in brackets": (f"(t AS {t} JOIN u AS {u} ON {t}.a = {u}.k)", both),
            "nested join": (
                f"t AS {t} JOIN (u AS {u} JOIN t AS {inner} ON {u}.b = {inner}.c) ON {t}.a = {u}.k",
                [*both, f"{inner}.a"],
            ),
            "plain columns of a join": ("t JOIN u ON a = k", ["a", "d", "c", "t.b", "k"]),
            "USING": (f"t AS {t} JOIN u AS {u} USING (b)", [f"{t}.a", f"{u}.d", "b"]),
            "NATURAL JOIN": (f"t AS {t} NATURAL JOIN u AS {u}", [f"{t}.a", f"{u}.d"]),
            "SEMI JOIN": (f"t AS {t} SEMI JOIN u AS {u} ON {t}.a = {u}.d", of_t),
            "ANTI JOIN": (f"t AS {t} ANTI JOIN u AS {u} ON {t}.a = {u}.d", of_t),
            "CROSS JOIN": (f"t AS {t}, u AS {u}", both),
            "ASOF JOIN": (f"t AS {t} ASOF JOIN u AS {u} ON {t}.a >= {u}.k", both),
            "UNNEST": (f"t AS {t}, UNNEST({t}.xs) AS {inner}(e)", some),
            "LATERAL": (f"t AS {t}, LATERAL ({correlated}) AS {inner}", some),
            "LEFT JOIN LATERAL": (f"t AS {t} LEFT JOIN LATERAL ({correlated}) AS {inner} ON {inner}.e > 1", some),
            "LATERAL with a plain name": (
                f"t AS {t}, LATERAL (SELECT max(d) AS e FROM u WHERE k > a) AS {inner}",
                some,
            ),
            "UNNEST of a struct": (f"(SELECT a, b, unnest(s) FROM t) AS {t}", [f"{t}.a", f"{t}.x", f"{t}.y"]),
            "star of a struct": (f"(SELECT a, t.s.* FROM t) AS {t}", [f"{t}.a", f"{t}.x", f"{t}.y"]),
            "star": (f"(SELECT * FROM t) AS {t}", of_t),
            "DISTINCT star": (f"(SELECT DISTINCT * FROM t) AS {t}", of_t),
            "star that leaves out": (f"(SELECT * EXCLUDE (c) FROM t) AS {t}", of_t[:2]),
            "star that replaces": (f"(SELECT * REPLACE ({self._plain()} AS c) FROM t) AS {t}", of_t),
            "star that renames": (f"(SELECT * RENAME (c AS z) FROM t) AS {t}", [*of_t[:2], f"{t}.z"]),
            "list of columns behind an alias": (
                f"(SELECT a, b, c FROM t) AS {t}(z1, z2, z3)",
                [f"{t}.z1", f"{t}.z2", f"{t}.z3"],
            ),
        }
        if depth and self.random.random() < 0.25:
            return self._derived(depth)
        form = self.random.choice(list(forms))
        if form.startswith("star that replaces"):
            self.forms.add("star")
        self.forms.add(form)
        return forms[form]

    def _derived(self, depth: int) -> Query:
        query, columns = self.query(depth - 1)
        alias = self.alias()
        return self.choose("derived table", f"({query}) AS {alias}"), [f"{alias}.{name}" for name in columns]

    # Expressions

    def _plain(self) -> str:
        """Return an expression of unqualified columns of `t`."""
        return self.random.choice(["a", "b", "c", "a + b", "s.x", "len(xs)", "coalesce(c, a)", "s['y']"])

    def _column(self, columns: list[str]) -> str:
        return self.random.choice(columns)

    def _aggregate(self, columns: list[str]) -> str:
        column, other, alias = self._column(columns), self._column(columns), _alias(columns)
        forms = {
            "aggregate": f"sum({column})",
            "count": f"count({column})",
            "count of distinct values": f"count(DISTINCT {column})",
            "count of rows with values": f"count({alias}.*)",
            "FILTER": f"sum({column}) FILTER (WHERE {other} > 2)",
            "ORDER BY in an aggregate": f"first({column} ORDER BY {other})",
            "arg_max": f"arg_max({column}, {other})",
            "first whole row": f"WHOLE_FIRST_OF({alias}, {other})",
        }
        return self.one_of(forms)

    def _value(self, columns: list[str]) -> str:
        column, other, third = self._column(columns), self._column(columns), self._column(columns)
        forms = {
            "column": column,
            "expression": f"{column} * 2 + {other}",
            "CASE": f"CASE WHEN {column} > 2 THEN {other} ELSE 0 END",
            "window": f"sum({column}) OVER (PARTITION BY {other})",
            "window frame": f"sum({column}) OVER (ORDER BY {other}, {column} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
            "lag": f"lag({column}, 1, {other}) OVER (ORDER BY {third}, {column}, {other})",
            "lambda": f"list_transform([{column}], b -> b + 1)[1]",
            "lambda with an outer column": f"len(list_filter([{column}, 2, 3], e -> e > {other}))",
            "list comprehension": f"len([e + {other} for e in [{column}] if e > {third}])",
            "map": f"map([{column}], [{other}])[{third}]",
            "scalar subquery": f"(SELECT max(u.d) FROM u WHERE u.k = {column})",
            "scalar subquery with plain names": f"(SELECT max(d) FROM u WHERE k = {column})",
            "nested subquery": f"(SELECT max(d) FROM u WHERE k IN (SELECT u.b FROM u WHERE d > {column}))",
            "subquery over the same table": f"(SELECT max(t.c) FROM t WHERE t.a = {column})",
            "subquery of a union": f"(SELECT max(m) FROM (SELECT d AS m FROM u WHERE k = {column} "
            "UNION ALL SELECT a FROM t))",
            "count of a subquery": f"(SELECT count(*) FROM u WHERE k > {column} AND b < {other})",
            "whole row": f"len(WHOLE_ROW_OF({_alias(columns)}))",
            "named_struct": f"struct_pack(p := {column}, q := {other}).p",
            "nested struct": f"struct_pack(p := struct_pack(q := {column}), r := {other}).p.q",
            "method": f"{column}.abs()",
            "constant": "7",
        }
        return self.one_of(forms)

    def _condition(self, columns: list[str]) -> str:
        column, other = self._column(columns), self._column(columns)
        forms = {
            "WHERE": f"{column} > 1",
            "EXISTS": f"EXISTS (SELECT 1 FROM u WHERE u.k = {column})",
            "NOT EXISTS": f"NOT EXISTS (SELECT * FROM u WHERE u.k = {column} AND u.d > {other})",
            "EXISTS with a plain name": f"EXISTS (SELECT 1 FROM u WHERE k = {column} AND d > 1)",
            "EXISTS of a group": f"EXISTS (SELECT b FROM u WHERE k < {column} GROUP BY b HAVING max(d) > 2)",
            "IN": f"{column} IN (SELECT d FROM u WHERE u.k <> {other})",
            "IN of several columns": f"({column}, {other}) IN (SELECT k, d FROM u)",
            "NOT IN": f"{column} NOT IN (SELECT u.k FROM u)",
            "ANY": f"{column} > ANY (SELECT d FROM u WHERE b > 1)",
            "ALL": f"{column} >= ALL (SELECT d FROM u WHERE k = 2)",
            "BETWEEN": f"{column} BETWEEN {other} AND (SELECT max(k) FROM u)",
            "comparison with a subquery": f"{column} >= (SELECT min(u.d) FROM u)",
        }
        return self.one_of(forms)

    def _clauses(self, columns: list[str]) -> str:
        text = f" WHERE {self._condition(columns)}" if self.random.random() < 0.5 else ""
        if self.random.random() < 0.15:
            column, other = self._column(columns), self._column(columns)
            over = f"row_number() OVER (PARTITION BY {column} ORDER BY {other})"
            text += self.choose("QUALIFY", f" QUALIFY {over} = 1")
        if self.random.random() < 0.15:
            order = ", ".join(columns)
            limit = self.random.choice(["3", "(SELECT min(u.d) FROM u)"])
            text += self.choose("ORDER BY and LIMIT", f" ORDER BY {order} LIMIT {limit}")
        return text


def _alias(columns: list[str]) -> str:
    """Return the alias in the names of a source's columns."""
    qualified = next((each for each in columns if "." in each), "t.")
    return qualified.partition(".")[0]
