"""R6.1: an execution of an older period is never the newest of its job."""

from tests.reference.world_events import Json, at, facet
from tests.rule_cases.case import case, impact, surface, upstream
from tests.rule_cases.events import begun, below, done, table, writes

NEW, OLD = table("new", "x"), table("old", "x")


def period(start: float, end: float | None = None) -> dict[str, Json]:
    times = {"nominalStartTime": at(start)} | ({} if end is None else {"nominalEndTime": at(end)})
    return {"nominalTime": facet(**times)}


def daily(number: int, second: float, source: Json, facets: dict[str, Json] | None = None, *, how: str = "") -> Json:
    outputs = writes("t", {"x": f"{source['name']}.x{how}"})
    return done(number, second, outputs, of=[source], job="daily", run_facets=facets or {})


TODAY = daily(1, 1000, NEW, period(0, 900))

CASES = [
    case(
        "R6 a backfill of an older period is not the newest execution",
        [TODAY, daily(2, 2000, OLD, period(-9000, -8000))],
        upstream("t.x", {"new.x": "1"}),
        impact("new.x", {"t.x": "1"}),
    ),
    case(
        "R6 a rerun of the same period is the newest execution",
        [TODAY, daily(2, 2000, OLD, period(0, 900))],
        upstream("t.x", {"old.x": "1"}),
    ),
    case(
        "R6 a start counts where there is no end",
        [daily(1, 1000, NEW, period(0)), daily(2, 2000, OLD, period(-9000))],
        upstream("t.x", {"new.x": "1"}),
    ),
    case(
        "R6 an execution without a period is of the period of its own time",
        [TODAY, daily(2, 950, OLD), daily(3, 800, OLD)],
        upstream("t.x", {"old.x": "1"}),
    ),
    case(
        "R6 a period is never later than the run",
        [daily(1, 1000, OLD, period(0, 90_000)), daily(2, 2000, NEW)],
        upstream("t.x", {"new.x": "1"}),
    ),
    case(
        "R6 a backfill that masks hides nothing",
        [TODAY, daily(2, 2000, OLD, period(-9000, -8000), how="#")],
        surface("new.x", {"t.x": "exposed"}),
    ),
    case(
        "R6 the period of the parent, which is known late",
        [
            TODAY,
            daily(2, 2000, OLD, below(8)),
            begun(8, 1900, run_facets=period(-9000, -8000)),
            done(8, 2100, run_facets=period(-9000, -8000)),
        ],
        upstream("t.x", {"new.x": "1"}),
    ),
    case(
        "R6 the period of the nearest run above, past one that has none",
        [
            TODAY,
            daily(2, 2000, OLD, below(8)),
            begun(8, 1900, run_facets=below(9)),
            begun(9, 1890, run_facets=period(-9000, -8000)),
        ],
        upstream("t.x", {"new.x": "1"}),
    ),
    case(
        "R6 the period of the root run",
        [TODAY, daily(2, 2000, OLD, below(8, 9)), begun(9, 1890, run_facets=period(-9000, -8000))],
        upstream("t.x", {"new.x": "1"}),
    ),
]
