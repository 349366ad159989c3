"""Rule 13 for runs whose SQL needs columns that only other runs report.

See docs/reference/lineage.md: columns that follow from SQL.
"""

from tests.reference.world_events import Json, facet
from tests.rule_cases.case import case, impact, stops, unused, upstream
from tests.rule_cases.events import done, drop, table, writes


def says(query: str) -> dict[str, Json]:
    return {"sql": facet(query=query, dialect="spark")}


BY_PLACE = says("INSERT INTO b SELECT s0.`x`, s0.`y` FROM a AS s0")
BY_VIEW = says("INSERT INTO b (p) SELECT s0.`y` FROM t99 AS s0")
"""`t99` is not a dataset but a view over the other inputs of the run."""

CASES = [
    case(
        "S13 columns go to the places of the output's schema that another run told before",
        [done(1, 1, table("b", "p q")), done(2, 2, table("b"), of="a", job_facets=BY_PLACE)],
        impact("a.x", {"b.p": "1"}),
        upstream("b.q", {"a.y": "1"}),
    ),
    case(
        "S13 of several schemas the newest at the time of the run counts, not the newest of all",
        [
            done(1, 1, table("b", "p q")),
            done(2, 2, table("b"), of="a", job_facets=BY_PLACE),
            done(3, 3, table("c", "z"), of=[table("b", "q p")]),
        ],
        impact("a.x", {"b.p": "1"}),
    ),
    case(
        "S13 a schema between two others counts for the runs behind it",
        [
            done(1, 1, table("b", "p q")),
            done(2, 2, table("b", "r s p q")),
            done(3, 3, table("b"), of="a", job_facets=BY_PLACE),
            done(4, 4, table("b", "p q")),
        ],
        upstream("b.r", {"a.x": "1"}),
        upstream("b.p", {}),
    ),
    case(
        "S13 without a schema until then the earliest later one counts",
        [
            done(1, 1, table("b"), of="a", job_facets=BY_PLACE),
            done(2, 2, table("b", "p q")),
            done(3, 3, table("b", "q p")),
        ],
        impact("a.x", {"b.p": "1"}),
    ),
    case(
        "S13 without any schema of it the output stays opaque",
        [done(1, 1, table("b"), of=[table("a", "x y")], job_facets=BY_PLACE)],
        impact("a.x", {}),
        stops("a.x", "a"),
    ),
    case(
        "S13 a view that nobody shows has the columns that other runs tell of what is behind it",
        [
            done(1, 1, writes("a", {"x": "src.x", "y": "src.y"})),
            done(2, 2, table("b", "p"), of="a", job_facets=BY_VIEW),
        ],
        impact("src.y", {"a.y": "1", "b.p": "2"}),
        unused("a", {"x": "unknown: opaque", "y": "used"}),
    ),
    case(
        "S13 a column of a view is none where two datasets behind it have it by now",
        [
            done(1, 1, table("a", "x y")),
            done(2, 2, table("c", "y")),
            done(3, 3, table("b", "p"), of="a c", job_facets=BY_VIEW),
        ],
        impact("a.y", {}),
        stops("a.y", "a"),
    ),
    case(
        "S13 a schema belongs to its generation: what was dropped lends nothing to what is made anew",
        [
            done(1, 1, table("b", "p q")),
            drop(2, 2, "b"),
            done(3, 3, table("b"), of="a", job_facets=BY_PLACE),
            done(4, 4, table("b", "r s")),
        ],
        impact("a.x", {"b.r": "1"}),
    ),
    case(
        "S13 who inserts into its own table by place is found once its columns are known",
        [
            done(1, 1, table("b"), of="b", job_facets=says("INSERT INTO b SELECT s0.`q`, s0.`p` FROM b AS s0")),
            done(2, 2, table("b", "p q")),
        ],
        impact("b.p", {"b.q": "1"}),
    ),
    case(
        "S13 a name that is spelled like none of two columns that differ in case means both",
        [
            done(
                1,
                1,
                table("b", "z"),
                of=[table("a", "Mail mail other")],
                job_facets=says("INSERT INTO b (z) SELECT s0.`MAIL` FROM a AS s0"),
            )
        ],
        unused("a", {"Mail": "used", "mail": "used", "other": "unused"}),
    ),
    case(
        "S13 columns have no places if no list has all of them",
        [
            done(1, 1, table("b", "p")),
            done(2, 2, table("b", "q")),
            done(
                3,
                3,
                table("b"),
                of=[table("a", "x y")],
                job_facets=says("INSERT INTO b SELECT s0.`x`, s0.`y` FROM a AS s0"),
            ),
        ],
        impact("a.x", {}),
        stops("a.x", "a"),
    ),
]
