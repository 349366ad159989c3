"""R4.11: the columns by which a reader selects rows are used."""

from tests.reference.world_events import Json, facet
from tests.rule_cases.case import case, impact, surface, unused, upstream
from tests.rule_cases.events import Named, done, table, writes

DAY = {"type": "partition", "partitions": [{"identifier": "day=1", "dimensions": {"day": "1", "hour": 2}}]}
LATER = {
    "type": "compare",
    "left": {"type": "field", "field": "day"},
    "right": {"type": "literal", "value": "2026-03-01"},
    "comparison": "GREATER_THAN",
}
NAMED = {
    "type": "compare",
    "left": {"type": "literal", "value": "1"},
    "right": {"type": "field", "field": "hour"},
    "comparison": "EQUAL",
}
FOLDERS = {"type": "location", "locations": ["s3://lake/a/day=1/hour=2/part.parquet", "s3://lake/a/x"]}
ALL = "x day hour y"


def selected(name: str | Named, condition: Json, columns: str = ALL) -> Json:
    """Return an input whose rows a condition selects."""
    return table(name, columns) | {"inputFacets": {"subset": facet(inputCondition=condition)}}


def read(condition: Json) -> list[Json]:
    return [done(1, 1, writes("b", {"x": "a.x"}), of=[selected("a", condition)])]


USED = {"x": "used", "day": "used", "hour": "used", "y": "unused"}

CASES = [
    case("R4.11 the dimensions of partitions", read(DAY), unused("a", USED), impact("a.day", {"b.x": "1"}, "any")),
    case(
        "R4.11 both sides of a binary condition of comparisons",
        read({"type": "binary", "operator": "AND", "left": LATER, "right": {**NAMED}}),
        unused("a", USED),
        impact("a.hour", {}),
    ),
    case("R4.11 the folders of locations", read(FOLDERS), unused("a", USED)),
    case(
        "R4.11 a condition that is not as the facet has it",
        read({"partitions": [3], "left": "x"}),
        unused("a", {"x": "used", "day": "unused", "hour": "unused", "y": "unused"}),
    ),
    case(
        "R4.11 the folder of an input's name",
        [done(1, 1, writes("b", {"x": "a.x"}), of=[table("a/day=2026-03-01", ALL)])],
        unused("a", {"x": "used", "day": "used", "hour": "unused", "y": "unused"}),
    ),
    case(
        "R4.11 a condition shows no column lineage: the other columns stay unknown",
        [done(1, 1, table("b", "x"), of=[selected("a", DAY)])],
        unused("a", {"x": "unknown: opaque", "day": "used", "hour": "used", "y": "unknown: opaque"}),
        surface("a.x", {"b.x": "unknown"}),
    ),
    case(
        "R4.11 of another input the condition covers nothing",
        [done(1, 1, writes("b", {"x": "a.x"}), of=[table("a", "x"), selected("c", DAY)])],
        unused("c", {"x": "unknown: opaque", "day": "used", "hour": "used", "y": "unknown: opaque"}),
    ),
    case(
        "R4.11 the conditions of all events of a run count, for each output",
        [
            done(1, 1, writes("b", {"x": "a.x"}), of=[selected("a", LATER)], kind="START"),
            done(1, 2, writes("d", {"x": "a.x"}), of=[selected("a", NAMED)]),
        ],
        impact("a.day", {"b.x": "1", "d.x": "1"}, "any"),
        impact("a.hour", {"b.x": "1", "d.x": "1"}, "any"),
    ),
    case(
        "R4.11 a selecting column that is tagged exposes nothing",
        read(DAY),
        surface("a.day", {}),
    ),
    case(
        "R6.4 the columns that select the rows of the newest execution count, whatever else that reports",
        [
            done(1, 1, writes("b", {"x": "a.x"}), of=[table("a", "x")], job="load"),
            done(2, 2, table("b", "x"), of=[selected("c", DAY)], job="load"),
        ],
        impact("c.day", {"b.x": "1"}, "any"),
        upstream("b.x", {"a.x": "1", "c.day": "1", "c.hour": "1"}, "any"),
    ),
]
