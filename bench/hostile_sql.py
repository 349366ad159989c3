"""Statements that are made to cost, each with a word of the reason for which it is refused."""

from headwater.lineage.inferring.known_tables import KnownTable

WIDE = KnownTable(("wide",), tuple(f"c{n}" for n in range(4000)), is_input=True, is_output=False)

HOSTILE: dict[str, tuple[str, str]] = {
    "brackets": ("INSERT INTO out (a) SELECT " + "(" * 3000 + "1" + ")" * 3000, "nested"),
    "1 MB": ("INSERT INTO out (a) SELECT '" + "x" * 1_000_000 + "'", "longer"),
    "10,000 UNIONs": (" UNION ALL ".join(["SELECT name FROM customers"] * 10_000), "longer"),
    "40,000 columns": ("SELECT " + ",".join(["a"] * 40_000), "tokens"),
    "NOTs": ("SELECT " + "NOT " * 5000 + "1", "nested"),
    "types": ("SELECT CAST(name AS " + "ARRAY<" * 500 + "INT" + ">" * 500 + ") FROM customers", "nested"),
    "words": ("SELECT " + "interval " * 3000 + "1", "none that sqlglot"),
    "casts": ("INSERT INTO out (a) SELECT name" + "::int" * 2500 + " FROM customers", "nested"),
    "stars": (
        "INSERT INTO out SELECT count(*) FROM " + ", ".join(f"(SELECT * FROM wide) x{n}" for n in range(600)),
        "steps",
    ),
    "views": ("INSERT INTO out (a) SELECT v0.c1 FROM " + ", ".join(f"view{n} v{n}" for n in range(3000)), "tokens"),
    "REPLACE in REPLACE": ("REPLACE INTO " * 5000 + "out SELECT 1", "none that sqlglot"),
    "INSERT ALL": (
        "INSERT ALL " + "INTO out (a) VALUES (c1) " * 300 + "SELECT * FROM wide, wide w2",
        "",
    ),
}
