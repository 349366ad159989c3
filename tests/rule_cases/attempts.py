"""R1: a run that is retried under the same id. Each attempt ends separately."""

from tests.reference.world_events import Json
from tests.rule_cases.case import Case, case, surface, unused, upstream
from tests.rule_cases.events import begun, change, changes, done, drop, table, writes

A = table("a", "x y")
LOADED = writes("b", {"x": "a.x"})
READ = (unused("a", {"x": "used", "y": "unused"}), surface("a.x", {"b.x": "exposed"}), upstream("b.x", {"a.x": "1"}))
OPEN = (
    surface("a.x", {"b.x": "unknown"}),
    unused("a", dict.fromkeys("xy", "unknown: attempted")),
    upstream("b.x", {}),
)
"""Which questions a run that did not complete leaves open. Such a run proves nothing and hides nothing."""


def start(second: float) -> Json:
    return begun(1, second, of=[A])


def end(second: float, kind: str = "COMPLETE") -> Json:
    return done(1, second, LOADED, of=[A], kind=kind)


def failed(second: float) -> Json:
    return done(1, second, kind="FAIL")


CASES: list[Case] = [
    case("R1 a failed attempt after a complete one", [start(1), end(5), start(10), failed(12)], *READ),
    case("R1 an attempt that runs takes nothing back", [start(1), end(5), start(10)], *READ),
    case("R1 a complete attempt after a failed one counts", [start(1), failed(5), start(10), end(12)], *READ),
    case(
        "R1 of three attempts the complete one counts",
        [start(1), failed(3), start(5), end(7), start(10), failed(12)],
        *READ,
    ),
    case(
        "R8.2 a run that did not complete may have written each column that its lineage names, whatever a list has",
        [begun(1, 1, writes("b", {"x": "a.x", "z": "a.x"}), of=[A]), done(2, 2, changes("b", "ALTER", "x"))],
        surface("a.x", {"b.x": "unknown", "b.z": "unknown"}),
    ),
    case("R1 a FAIL without a START before it belongs to the attempt", [start(1), end(5), failed(12)], *OPEN),
    case("R1 a START at the time of the end begins no attempt", [start(5), end(5), failed(12)], *OPEN),
    case("R1 a START of earlier time that comes late begins no attempt", [end(5), failed(12), start(3)], *OPEN),
    case(
        "R1 what a failed attempt names after a complete one may have been written",
        [start(1), end(5), start(10), done(1, 12, writes("c", {"x": "a.y"}), of=[A], kind="FAIL")],
        unused("a", {"x": "used", "y": "unknown: attempted"}),
        surface("a.x", {"b.x": "exposed", "c.x": "unknown"}),
        upstream("b.x", {"a.x": "1"}),
        upstream("c.x", {}),
    ),
    case(
        "R6.10 attempts that report different lineage leave something open, even if the newest reports the same",
        [start(1), end(5), begun(1, 10, writes("b", {"x": "a.y"}), of=[A]), start(20), end(22, "FAIL")],
        unused("a", {"x": "used", "y": "unknown: attempted"}),
        surface("a.y", {"b.x": "unknown"}),
        upstream("b.x", {"a.x": "1"}),
    ),
    case(
        "R6.10 an attempt reads the sources of lineage that a newer event of it replaces",
        [start(1), end(5), begun(1, 10, writes("b", {"x": "crm.mail"}), of=[A]), end(12, "FAIL")],
        surface("crm.mail", {"b.x": "unknown"}),
        unused("crm", {"mail": "unknown: attempted"}),
    ),
    case(
        "R8.2 an attempt may have written a column that a newer complete list lacks",
        [
            done(2, 1, table("b", "x old")),
            begun(1, 2, of=[A]),
            done(1, 3, writes("b", {"x": "a.x"}, columns=""), of=[A], kind="FAIL"),
            done(3, 4, table("b", "x", **change("ALTER"))),
        ],
        surface("a.x", {"b.x": "unknown", "b.old": "unknown"}),
    ),
    case(
        "R1 two complete attempts both count",
        [start(1), end(5), start(10), done(1, 12, writes("c", {"z": "a.y"}), of=[A])],
        unused("a", {"x": "used", "y": "used"}),
        upstream("b.x", {"a.x": "1"}),
        upstream("c.z", {"a.y": "1"}),
    ),
    case(
        "R1 a DROP stays when its run is tried again and fails",
        [done(2, 1, LOADED, of=[A]), drop(3, 5, "b", job="drop"), begun(3, 7, job="drop"),
         done(3, 9, kind="FAIL", job="drop")],
        surface("a.x", {}),
    ),
    case(
        "R10.4 a run that did not complete may have written what it reports as DROP in the end",
        [begun(1, 1, LOADED, of=[A]), done(1, 3, changes("b", "DROP"), kind="FAIL"), done(2, 5, table("b", "x"))],
        *OPEN,
    ),
    case(
        "R11.2 a run that did not complete may have written what it reports as ALTER in the end",
        [done(2, 1, writes("c", {"z": "b.x"}), of=[table("b", "x y")]), begun(1, 2, table("b", "x y"), of="b"),
         done(1, 3, changes("b", "ALTER"), of="b", kind="FAIL")],
        unused("b", {"x": "used", "y": "unknown: attempted"}),
        surface("b.x", {"b.y": "unknown", "c.z": "exposed"}),
    ),
    case(
        "R11.2 a run that did not complete and reports only ALTER is an echo",
        [done(2, 1, writes("c", {"z": "b.x"}), of=[table("b", "x y")]), begun(1, 2, changes("b", "ALTER"), of="b"),
         done(1, 3, changes("b", "ALTER"), of="b", kind="FAIL")],
        unused("b", {"x": "used", "y": "unused"}),
        surface("b.x", {"c.z": "exposed"}),
    ),
]  # fmt: skip
