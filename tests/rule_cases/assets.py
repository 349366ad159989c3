"""4.14: inlets and outlets of Airflow tasks."""

from typing import Any

from tests.reference.world_events import facet
from tests.rule_cases.case import Case, case, stops, surface, unused
from tests.rule_cases.events import LAKE, begun, below, done, table, writes


def task(inlets: str = "", outlets: str = "", text: str = "") -> dict[str, Any]:
    """Return the run facets of a task with these tables. text: sent in place of the inlets."""
    named = (
        [{"uri": f"{LAKE}/{each}", "extra": {}, "type": "asset"} for each in told.split()] for told in (inlets, outlets)
    )
    texts = [str(each) for each in named]
    return {"run_facets": {"airflow": facet(task={"task_id": "t", "inlets": text or texts[0], "outlets": texts[1]})}}


A, B = table("a", "x y"), table("b", "x")
KNOWN = [done(1, 0, A), done(2, 0, B, of="z")]
OPAQUE = (
    unused("a", {"x": "unknown: opaque", "y": "unknown: opaque"}),
    surface("a.x", {"b.x": "unknown"}),
    stops("a.x", "a"),
)
UNREAD = (unused("a", {"x": "unknown: never read", "y": "unknown: never read"}), surface("a.x", {}), stops("a.x"))

CASES: list[Case] = [
    case("4.14 a task without datasets of its own names tables", [*KNOWN, done(3, 9, **task("a", "b"))], *OPAQUE),
    case(
        "4.14 START and COMPLETE name the same tables",
        [*KNOWN, begun(3, 5, **task("a", "b")), done(3, 9, **task("a", "b"))],
        *OPAQUE,
    ),
    case("4.14 only START names tables", [*KNOWN, begun(3, 5, **task("a", "b")), done(3, 9)], *OPAQUE),
    case(
        "4.14 an input of the run replaces all inlets",
        [*KNOWN, begun(3, 5, **task("a", "b")), done(3, 9, of="c")],
        *UNREAD,
    ),
    case(
        "4.14 an output of the run replaces all outlets, and inlets stay",
        [*KNOWN, begun(3, 5, **task("a", "b")), done(3, 9, table("d", "x"))],
        unused("a", {"x": "unknown: opaque", "y": "unknown: opaque"}),
        surface("a.x", {"d.x": "unknown"}),
    ),
    case(
        "4.14 column lineage of the run replaces outlets",
        [*KNOWN, begun(3, 5, **task("a", "b")), done(3, 9, writes("b", {"x": "a.x"}), of="a")],
        unused("a", {"x": "used", "y": "unused"}),
        surface("a.x", {"b.x": "exposed"}),
    ),
    case(
        "4.14 a run below explains an inlet",
        [
            *KNOWN,
            begun(3, 5, **task("a", "b")),
            done(4, 6, writes("b", {"x": "a.x"}), of="a", under=below(3)),
            done(3, 9, **task("a", "b")),
        ],
        unused("a", {"x": "used", "y": "unused"}),
        surface("a.x", {"b.x": "exposed"}),
    ),
    case(
        "4.14 only inlets: a task reads a table and writes none",
        [*KNOWN, done(3, 9, **task("a"))],
        *UNREAD,
    ),
    case(
        "4.14 another text is no list",
        [*KNOWN, done(3, 9, **task("a", "b", text="open('a')"))],
        *UNREAD,
    ),
]
