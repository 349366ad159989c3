"""Random statements for `bench.executed_sql`: compositions of the forms in which lineage has missed references."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

TABLES: dict[str, dict[str, str]] = {
    "t": {"a": "INT", "b": "INT", "c": "INT", "s": "STRUCT(x INT, y INT)", "xs": "INT[]"},
    "u": {"k": "INT", "b": "INT", "d": "INT", "ys": "INT[]"},
}
"""By table its columns and their types. Both tables have `b`."""


WHOLE_ROWS = frozenset({"whole row", "NATURAL JOIN"})
"""Forms that use columns without naming them."""


class Statement(NamedTuple):
    """A query, the names of its columns, and the forms that it has."""

    query: str
    columns: list[str]
    forms: frozenset[str]


class _Writer:
    """Writes one statement."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.forms: set[str] = set()
        self._aliases = 0

    def choose(self, form: str, text: str) -> str:
        self.forms.add(form)
        return text

    def one_of(self, forms: dict[str, str]) -> str:
        """Return the text of a random form."""
        form = self.random.choice(list(forms))
        return self.choose(form, forms[form])

    def alias(self) -> str:
        self._aliases += 1
        return f"q{self._aliases}"

    def query(self, depth: int = 2) -> tuple[str, list[str]]:
        """Return a query and the names of its columns."""
        forms: list[Callable[[], tuple[str, list[str]]]] = [lambda: self._select(depth)]
        if depth:
            forms += [lambda: self._select(depth), lambda: self._cte(depth), lambda: self._union(depth)]
            forms += [lambda: self._except(depth), self._by_name, self._recursive]
        return self.random.choice(forms)()

    # Queries

    def _select(self, depth: int) -> tuple[str, list[str]]:
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

    def _cte(self, depth: int) -> tuple[str, list[str]]:
        inner, columns = self.query(depth - 1)
        name = self.alias()
        picked = self.random.choice(columns)
        return self.choose("CTE", f"WITH {name} AS ({inner}) SELECT {name}.{picked} AS o1 FROM {name}"), ["o1"]

    def _union(self, depth: int) -> tuple[str, list[str]]:
        return self._set("UNION ALL", "UNION", depth)

    def _except(self, depth: int) -> tuple[str, list[str]]:
        return self._set(self.random.choice(["EXCEPT", "INTERSECT"]), "EXCEPT or INTERSECT", depth)

    def _set(self, operation: str, form: str, depth: int) -> tuple[str, list[str]]:
        (one, columns), (other, theirs) = self.query(depth - 1), self.query(depth - 1)
        first, second = columns[0], theirs[0]
        left, right = self.alias(), self.alias()
        text = (
            f"SELECT {left}.{first} AS o1 FROM ({one}) AS {left} "
            f"{operation} SELECT {right}.{second} FROM ({other}) AS {right}"
        )
        return self.choose(form, text), ["o1"]

    def _by_name(self) -> tuple[str, list[str]]:
        one, other = self._plain(), self._plain()
        text = f"SELECT {one} AS o1, {self._plain()} AS o2 FROM t UNION ALL BY NAME SELECT {other} AS o3 FROM t"
        return self.choose("UNION BY NAME", text), ["o1", "o2", "o3"]

    def _recursive(self) -> tuple[str, list[str]]:
        name = self.alias()
        text = (
            f"WITH RECURSIVE {name}(n, o1, o2, o3) AS (SELECT 0, a, b, c FROM t "
            f"UNION ALL SELECT n + 1, o2, o3, o1 FROM {name} WHERE n < 2) SELECT o1, n FROM {name}"
        )
        return self.choose("WITH RECURSIVE", text), ["o1", "n"]

    # Sources

    def _source(self, depth: int) -> tuple[str, list[str]]:
        """Return what a FROM names, and the columns of it by qualified names."""
        t, u = self.alias(), self.alias()
        of_t, of_u = [f"{t}.a", f"{t}.b", f"{t}.c"], [f"{u}.k", f"{u}.b", f"{u}.d"]
        inner = self.alias()
        choices: list[Callable[[], tuple[str, list[str]]]] = [
            lambda: (f"t AS {t}", of_t),
            lambda: (self.choose("plain names", "t"), ["a", "t.b", "c"]),
            lambda: (self.choose("JOIN ON", f"t AS {t} JOIN u AS {u} ON {t}.a = {u}.k"), of_t + of_u),
            lambda: (self.choose("LEFT JOIN", f"t AS {t} LEFT JOIN u AS {u} ON {t}.c < {u}.d"), of_t + of_u),
            lambda: (self.choose("USING", f"t AS {t} JOIN u AS {u} USING (b)"), [f"{t}.a", f"{u}.d", "b"]),
            lambda: (self.choose("NATURAL JOIN", f"t AS {t} NATURAL JOIN u AS {u}"), [f"{t}.a", f"{u}.d"]),
            lambda: (self.choose("SEMI JOIN", f"t AS {t} SEMI JOIN u AS {u} ON {t}.a = {u}.d"), of_t),
            lambda: (self.choose("CROSS JOIN", f"t AS {t}, u AS {u}"), of_t + of_u),
            lambda: (
                self.choose("UNNEST", f"t AS {t}, UNNEST({t}.xs) AS {inner}(e)"),
                [*of_t, f"{inner}.e"] if self.random.random() < 0.5 else of_t,
            ),
            lambda: (
                self.choose("LATERAL", f"t AS {t}, LATERAL (SELECT u.d AS e FROM u WHERE u.k = {t}.a) AS {inner}"),
                [*of_t, f"{inner}.e"] if self.random.random() < 0.5 else of_t,
            ),
        ]
        if depth:
            choices.append(lambda: self._derived(depth))
        return self.random.choice(choices)()

    def _derived(self, depth: int) -> tuple[str, list[str]]:
        query, columns = self.query(depth - 1)
        alias = self.alias()
        return self.choose("derived table", f"({query}) AS {alias}"), [f"{alias}.{name}" for name in columns]

    # Expressions

    def _plain(self) -> str:
        return self.random.choice(["a", "b", "c", "a + b", "s.x", "len(xs)", "coalesce(c, a)"])

    def _column(self, columns: list[str]) -> str:
        return self.random.choice(columns)

    def _aggregate(self, columns: list[str]) -> str:
        column, other = self._column(columns), self._column(columns)
        forms = {
            "aggregate": f"sum({column})",
            "count": f"count({column})",
            "FILTER": f"sum({column}) FILTER (WHERE {other} > 2)",
            "ORDER BY in an aggregate": f"first({column} ORDER BY {other})",
        }
        return self.one_of(forms)

    def _value(self, columns: list[str]) -> str:
        column, other = self._column(columns), self._column(columns)
        alias = columns[0].partition(".")[0] if "." in columns[0] else "t"
        forms = {
            "column": column,
            "expression": f"{column} * 2 + {other}",
            "CASE": f"CASE WHEN {column} > 2 THEN {other} ELSE 0 END",
            "window": f"sum({column}) OVER (PARTITION BY {other})",
            "lambda": f"list_transform([{column}], b -> b + 1)[1]",
            "scalar subquery": f"(SELECT max(u.d) FROM u WHERE u.k = {column})",
            "whole row": f"len(to_json({alias}))",
            "named_struct": f"struct_pack(p := {column}, q := {other}).p",
            "constant": "7",
        }
        return self.one_of(forms)

    def _condition(self, columns: list[str]) -> str:
        column, other = self._column(columns), self._column(columns)
        forms = {
            "WHERE": f"{column} > 1",
            "EXISTS": f"EXISTS (SELECT 1 FROM u WHERE u.k = {column})",
            "EXISTS with a plain name": f"EXISTS (SELECT 1 FROM u WHERE k = {column} AND d > 1)",
            "IN": f"{column} IN (SELECT d FROM u WHERE u.k <> {other})",
            "NOT IN": f"{column} NOT IN (SELECT u.k FROM u)",
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


def random_statement(random: Random) -> Statement:
    """Return a random statement; not all of them run."""
    writer = _Writer(random)
    query, columns = writer.query()
    return Statement(query, columns, frozenset(writer.forms))
