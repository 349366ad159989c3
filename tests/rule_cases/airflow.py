"""R4: an orchestrator's inlets, with and without child runs that explain them."""

from tests.rule_cases.case import Case, case, stops, surface, unused
from tests.rule_cases.events import begun, below, done, table, writes

A, C = table("a", "x y"), table("c", "k")
B = table("b", "x")
TASK = [begun(10, 1, B, of=[A]), done(10, 9, B, of=[A])]
SPARK = writes("b", {"x": "a.x"})
PROVEN = (
    unused("a", {"x": "used", "y": "unused"}),
    surface("a.x", {"b.x": "exposed"}),
    surface("a.y", {}),
    stops("a.x"),
)
OPAQUE = (
    unused("a", {"x": "used", "y": "unknown: opaque"}),
    surface("a.x", {"b.x": "exposed"}),
    surface("a.y", {"b.x": "unknown"}),
    stops("a.x", "a"),
)

CASES: list[Case] = [
    case(
        "R4 a task above a Spark run that covers its inlet",
        [*TASK, done(11, 5, SPARK, of="a", under=below(10))],
        *PROVEN,
    ),
    case(
        "R4 a task above a Spark run, with a root",
        [*TASK, done(11, 5, SPARK, of="a", under=below(10, 10))],
        *PROVEN,
    ),
    case(
        "R4 a task in a DAG run above a Spark run: depth 2, with roots",
        [
            begun(9, 0),
            begun(10, 1, B, of=[A], under=below(9, 9)),
            done(10, 9, B, of=[A], under=below(9, 9)),
            done(11, 5, SPARK, of="a", under=below(10, 9)),
            done(9, 10),
        ],
        *PROVEN,
    ),
    case(
        "R4 a task, its Spark application, its statement: depth 3, without roots",
        [
            begun(10, 1, B, of=[A], under=below(9)),
            done(10, 9, B, of=[A], under=below(9)),
            begun(11, 2, under=below(10)),
            done(12, 5, SPARK, of="a", under=below(11)),
            done(11, 8, under=below(10)),
        ],
        *PROVEN,
    ),
    case(
        "R4 depth 3 with roots",
        [
            begun(10, 1, B, of=[A], under=below(9, 9)),
            done(10, 9, B, of=[A], under=below(9, 9)),
            begun(11, 2, under=below(10, 9)),
            done(12, 5, SPARK, of="a", under=below(11, 9)),
            done(11, 8, under=below(10, 9)),
        ],
        *PROVEN,
    ),
    case(
        "R4 depth 3, the application in between never reported: nothing leads up to the task",
        [*TASK, done(12, 5, SPARK, of="a", under=below(11))],
        *OPAQUE,
    ),
    case(
        "R4 depth 3, the application in between never reported, the task as root",
        [*TASK, done(12, 5, SPARK, of="a", under=below(11, 10))],
        *OPAQUE,
        doubt="A root is an ancestor too, yet only 'a chain of parents' leads up; unknown is the safe side.",
    ),
    case(
        "R4 an application below a task that has begun only explains by what it wrote",
        [*TASK, begun(11, 2, under=below(10)), done(12, 5, SPARK, of="a", under=below(11))],
        *PROVEN,
    ),
    case(
        "R4 a Spark run beside the task, below the same DAG run, explains nothing",
        [
            begun(10, 1, B, of=[A], under=below(9, 9)),
            done(10, 9, B, of=[A], under=below(9, 9)),
            done(11, 5, SPARK, of="a", under=below(9, 9)),
        ],
        *OPAQUE,
    ),
    case("R4 a Spark run without a parent explains nothing", [*TASK, done(11, 5, SPARK, of="a")], *OPAQUE),
    case(
        "R4 the run below failed",
        [*TASK, done(11, 5, SPARK, of="a", under=below(10), kind="FAIL")],
        unused("a", {"x": "unknown: opaque", "y": "unknown: opaque"}),
        surface("a.x", {"b.x": "unknown"}),
    ),
    case(
        "R4 the task above explains nothing of the run below",
        [
            begun(10, 1, SPARK, of=[A]),
            done(10, 9, SPARK, of=[A]),
            done(11, 5, B, of="a", under=below(10)),
        ],
        *OPAQUE,
    ),
    case(
        "R4 an inlet that no run below covers",
        [
            begun(10, 1, B, of=[A, C]),
            done(10, 9, B, of=[A, C]),
            done(11, 5, SPARK, of="a", under=below(10)),
        ],
        unused("a", {"x": "used", "y": "unused"}),
        unused("c", {"k": "unknown: opaque"}),
        surface("a.x", {"b.x": "exposed"}),
        surface("c.k", {"b.x": "unknown"}),
        stops("c.k", "c"),
    ),
    case(
        "R4 two runs below cover an inlet each",
        [
            begun(10, 1, B, of=[A, C]),
            done(10, 9, B, of=[A, C]),
            done(11, 5, writes("stage", {"x": "a.x"}), of="a", under=below(10)),
            done(12, 6, writes("b", {"x": "stage.x c.k"}), of="stage c", under=below(10)),
        ],
        unused("a", {"x": "used", "y": "unused"}),
        unused("c", {"k": "used"}),
        surface("a.x", {"stage.x": "exposed", "b.x": "exposed"}),
        surface("a.y", {}),
    ),
    case(
        "R4 the run below lists the inlet and covers no column of it",
        [*TASK, done(11, 5, B, of=[A], under=below(10))],
        unused("a", {"x": "unknown: opaque", "y": "unknown: opaque"}),
        surface("a.x", {"b.x": "unknown"}),
    ),
    case(
        "R4 the run below covers the inlet for another output: this one is written opaquely",
        [*TASK, done(11, 5, writes("d", {"x": "a.x"}), of="a", under=below(10))],
        surface("a.x", {"d.x": "exposed", "b.x": "unknown"}),
        stops("a.x", "a"),
    ),
    case(
        "R4 the run below covers the inlet for another output: its reader is explained",
        [*TASK, done(11, 5, writes("d", {"x": "a.x"}), of="a", under=below(10))],
        unused("a", {"x": "used", "y": "unused"}),
    ),
    case(
        "R4 a task without outlets, its inlets covered below",
        [begun(10, 1, of=[A]), done(10, 9, of=[A]), done(11, 5, SPARK, of="a", under=below(10))],
        unused("a", {"x": "used", "y": "unused"}),
        unused("a", {"x": "used", "y": "unused"}, strict=True),
    ),
    case(
        "R4 a task without outlets, an inlet not covered: a reader that shows it to somebody",
        [
            begun(10, 1, of=[A, table("c", "k l")]),
            done(10, 9, of=[A, table("c", "k l")]),
            done(11, 5, SPARK, of="a", under=below(10)),
            done(13, 3, writes("e", {"x": "c.k"}), of="c"),
        ],
        unused("c", {"k": "used", "l": "unused"}),
        unused("c", {"k": "used", "l": "unknown: shown"}, strict=True),
    ),
    case(
        "R4 last night's run below explains last night's task, not tonight's",
        [
            done(10, 9, B, of=[A], job="task"),
            done(11, 5, SPARK, of="a", under=below(10), job="spark"),
            done(20, 109, B, of=[A], job="task"),
        ],
        *OPAQUE,
    ),
    case(
        "R4 every night a task with its run below",
        [
            event
            for night in (1, 2, 3)
            for event in (
                begun(10 * night, 100 * night, B, of=[A], job="task"),
                done(10 * night + 1, 100 * night + 5, SPARK, of="a", under=below(10 * night), job="spark"),
                done(10 * night, 100 * night + 9, B, of=[A], job="task"),
            )
        ],
        *PROVEN,
    ),
]
