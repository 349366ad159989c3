"""Statements that are made to cost: the dialect, the text, a word of the reason for which it is refused."""

from headwater.lineage.inferring.known_tables import KnownTable

WIDE = KnownTable(("wide",), tuple(f"c{n}" for n in range(4000)), is_input=True, is_output=False)

HOSTILE: dict[str, tuple[str, str, str]] = {
    "brackets": ("", "INSERT INTO out (a) SELECT " + "(" * 3000 + "1" + ")" * 3000, "nested"),
    "1 MB": ("", "INSERT INTO out (a) SELECT '" + "x" * 1_000_000 + "'", "longer"),
    "10,000 UNIONs": ("", " UNION ALL ".join(["SELECT name FROM customers"] * 10_000), "longer"),
    "40,000 columns": ("", "SELECT " + ",".join(["a"] * 40_000), "tokens"),
    "NOTs": ("", "SELECT " + "NOT " * 5000 + "1", "nested"),
    "types": ("", "SELECT CAST(name AS " + "ARRAY<" * 500 + "INT" + ">" * 500 + ") FROM customers", "nested"),
    "words": ("", "SELECT " + "interval " * 3000 + "1", "none that sqlglot"),
    "casts": ("", "INSERT INTO out (a) SELECT name" + "::int" * 2500 + " FROM customers", "nested"),
    "stars": (
        "",
        "INSERT INTO out SELECT count(*) FROM " + ", ".join(f"(SELECT * FROM wide) x{n}" for n in range(600)),
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
