"""Rules 7, 8 and 9 without generations, executions or nesting: reachability, exposure and use."""

from tests.reference.small_events import CLEAR, FILTERED, HASHED, A, B, made
from tests.reference.world_events import at, job_event, parent, source, uuid
from tests.reference.world_gaps import DECLARE
from tests.rule_cases.case import case, impact, stops, surface, unused, upstream
from tests.rule_cases.events import STREAM, changes, declared, done, table, writes

CHAIN = [
    done(1, 1, writes("b", {"x": "a.x#", "y": "a.x?"})),
    done(2, 2, writes("c", {"x": "b.x", "z": "b.y"})),
    done(3, 3, writes("a", {"x": "c.x"})),
]
WALKS = [
    case(
        "P7 value follows DIRECT edges, any also INDIRECT ones; a cycle ends, and the asked column is left out",
        CHAIN,
        impact("a.x", {"b.x": "1 masked", "c.x": "2 masked"}),
        impact("a.x", {"b.x": "1 masked", "b.y": "1", "c.x": "2 masked", "c.z": "2"}, "any"),
        upstream("a.x", {"c.x": "1", "b.x": "2"}),
        upstream("c.z", {"b.y": "1", "a.x": "2", "c.x": "3", "b.x": "4"}, "any"),
    ),
    case(
        "P7 masked means that every path masks, however long the clear one is",
        [*CHAIN, done(4, 4, writes("d", {"x": "a.x"})), done(5, 5, writes("b", {"x": "d.x"}))],
        impact("a.x", {"b.x": "1", "c.x": "2", "d.x": "1"}),
    ),
    case(
        "P7 what influences a whole dataset is one edge away",
        [done(1, 1, writes("b", {}, "a.k- c.k-", columns="x y")), done(2, 2, writes("d", {"x": "b.x"}))],
        impact("a.k", {"b.x": "1", "b.y": "1", "d.x": "2"}, "any"),
        impact("a.k", {}),
        upstream("d.x", {"b.x": "1", "a.k": "2", "c.k": "2"}, "any"),
    ),
]

ALTERNATIVES = {"x": [source(A, "x", HASHED, CLEAR)], "h": [source(A, "x", HASHED, FILTERED)], "lit": []}
CTAS, APPEND = "nb.atomic_create_table_as_select.b", "nb.append_data_exec_v1.b"
SESSION = {"parent": parent(uuid(90), ("jobs", "app"), uuid(99))}

SURFACES = [
    case(
        "P8 exposed, masked, unknown; of alternatives for one input any clear direct one makes it clear",
        [
            done(1, 1, made(B, ALTERNATIVES)),
            done(2, 2, table("b", "x h lit gone")),
            done(3, 3, table("c", "p q"), of="b"),
            done(4, 4, writes("d", {"r": "c.p", "s": "c.q#"})),
        ],
        surface("a.x", {
            "b.x": "exposed", "b.h": "masked", "b.lit": "unknown", "b.gone": "unknown", "c.p": "unknown",
            "c.q": "unknown", "d.r": "unknown",
        }),
    ),
    case(
        "P8 what a filter shows is nothing, what follows from a masked column is masked",
        [
            done(1, 1, writes("b", {"m": "a.x#", "x": "a.x", "f": "a.x?"}, columns="")),
            done(2, 2, table("b", "m x f sha")),
            done(3, 3, writes("d", {"n": "b.m", "o": "b.f"})),
        ],
        surface("a.x", {"b.x": "exposed", "b.m": "masked", "d.n": "masked", "b.sha": "unknown"}),
    ),
    case(
        "P8 a column that its writer names without inputs is unknown",
        [done(1, 1, writes("b", {"x": "a.x", "constant": ""}, columns="x constant gone"))],
        surface("a.x", {"b.x": "exposed", "b.constant": "unknown", "b.gone": "unknown"}),
    ),
    case(
        "P8 behind an opaque write all is unknown, from one to the next, until something masks",
        [
            done(1, 1, table("b", "p q"), of=[table("a", "x")]),
            done(2, 2, writes("c", {"p": "b.p", "h": "b.q#"})),
            done(3, 3, table("d", "r"), of="c"),
        ],
        surface("a.x", dict.fromkeys(("b.p", "b.q", "c.p", "d.r"), "unknown")),
    ),
    case(
        "P8 an opaque write from a masked column leaks nothing",
        [done(1, 1, writes("b", {"h": "a.x#"})), done(2, 2, table("c", "p"), of="b")],
        surface("a.x", {"b.h": "masked"}),
    ),
    case(
        "P8 the other run of a CTAS explains the opaque one",
        [
            done(1, 1, table("b", "x"), of=[table("a", "x y")], job=CTAS, run_facets=SESSION),
            done(2, 2, writes("b", {"x": "a.y"}), job=APPEND, run_facets=SESSION),
        ],
        surface("a.x", {}),
    ),
]  # fmt: skip

LOOK = done(1, 1, of=[table("a", "x y z")])
USES = [LOOK, done(2, 2, writes("b", {"x": "a.x"}, "a.z?"))]
NESTED = [done(1, 1, of=[table("a", "x y s s.t s.u")]), done(2, 2, writes("b", {"x": "a.x a.s.t"}), of="b")]
SAME = {"x": "used", "y": "unused", "z": "used"}
OPAQUE = SAME | {"y": "unknown: opaque"}
NEVER = "unknown: never read"
OPAQUE_3, OPAQUE_5 = (done(3, 3, table("c"), of="a"), done(5, 5, table("c"), of="a", job="job3"))
REPORTED = done(4, 4, writes("c", {"x": "a.x"}), job="job3")
BESIDE = [
    done(4, 4, table("b"), of="a", job="job4", run_facets=SESSION),
    done(5, 5, writes("b", {"x": "a.x"}), job="job4", run_facets=SESSION),
]
HALVES = [
    done(4, 4, table("b"), of="a", job=CTAS, run_facets=SESSION),
    done(5, 5, writes("b", {"x": "a.x"}), job=APPEND, run_facets=SESSION),
]

NEWER_ECHO = [
    done(3, 3, writes("a", {"x": "d.x", "y": "d.y", "z": "d.z"}), job="load"),
    done(4, 4, table("a"), of="a", job="load"),
]
WROTE_C = done(3, 3, table("c", "k h"), of="a")
ALL_OF_C = writes("c", {"k": "a.x", "h": "a.z#"}, columns="")
TOLD = declared(9, ALL_OF_C, job="job3")

VERDICTS = [
    case("P9 used, unused, and unknown where nobody who reads it reports", USES,
         unused("a", SAME), unused("b", {"x": NEVER})),
    case("P9 what is nested is used by itself", NESTED,
         unused("a", {"x": "used", "y": "unused", "s": "used", "s.t": "used", "s.u": "unused"}),
         unused("b", {"x": NEVER})),
    case("P9 use of a parent leaves its children unknown", [*NESTED, done(3, 3, writes("c", {"x": "a.s"}))],
         unused("a", {"x": "used", "y": "unused", "s": "used", "s.t": "used", "s.u": "unknown: nested"})),
    case("P9 a struct that is copied takes its children along", [*NESTED, done(3, 3, writes("c", {"s": "a.s="}))],
         unused("a", {"x": "used", "y": "unused", "s": "used", "s.t": "used", "s.u": "used"})),
    case("P9 a struct in a condition takes no children along", [*NESTED, done(3, 3, writes("c", {"x": "a.x"}, "a.s?"))],
         unused("a", {"x": "used", "y": "unused", "s": "used", "s.t": "used", "s.u": "unknown: nested"})),
    case("P9 a declaration explains an opaque reader", [*USES, WROTE_C, TOLD],
         unused("a", SAME), surface("a.y", {})),
    case("P9 a declaration explains a reader without transformations",
         [*USES, done(3, 3, writes("c", {"k": "a.x-", "h": "a.x-"}), of="a"), TOLD], unused("a", SAME)),
    case("P9 a declaration that leaves out a column explains nothing",
         [*USES, WROTE_C, declared(9, writes("c", {"k": "a.x"}, columns=""), job="job3")], unused("a", OPAQUE)),
    case("P9 a declaration explains as long as it stands",
         [*USES, WROTE_C, TOLD, job_event(at(10), ("jobs", "job3"), [], [])], unused("a", OPAQUE)),
    case("P9 a declaration does not explain an input that it does not name",
         [*USES, WROTE_C, declared(9, writes("c", {"k": "b.x", "h": "b.x"}, columns=""), job="job3")],
         unused("a", OPAQUE)),
    case("P9 a declaration of another job explains nothing", [*USES, WROTE_C, declared(9, ALL_OF_C)],
         unused("a", OPAQUE)),
    case("P9 a declaration of another output explains nothing",
         [*USES, WROTE_C, declared(9, writes("d", {"k": "a.x", "h": "a.x"}, columns=""), job="job3")],
         unused("a", OPAQUE)),
    case("P9 a declaration accounts for a column that a run leaves out",
         [*USES, done(3, 3, writes("c", {"k": "a.x"}, columns="k h"), of="a"),
          declared(9, writes("c", {"h": "a.x"}, columns=""), job="job3") | {"producer": DECLARE}], unused("a", SAME)),
    case("P9 a declaration does not explain a run that failed",
         [*USES, done(3, 3, table("c", "k h"), of="a", kind="FAIL"), TOLD],
         unused("a", SAME | {"y": "unknown: attempted"})),
    case("P9 an opaque reader makes unknown", [*USES, OPAQUE_3], unused("a", OPAQUE)),
    case("P9 a stream that only reads makes unknown", [*USES, done(3, 3, of="a", kind="RUNNING", job_facets=STREAM)],
         unused("a", OPAQUE)),
    case("P9 a declared reader makes unknown", [*USES, declared(3, table("c"), of="a")], unused("a", OPAQUE)),
    case("P9 a run that failed may have read anything", [*USES, done(3, 3, table("c"), of="a", kind="FAIL")],
         unused("a", SAME | {"y": "unknown: attempted"})),
    case("P9 a loop to itself reads nothing", [*USES, done(3, 3, table("a"), of="a", job="app.scan_existing_rdd")],
         unused("a", SAME)),
    case("R11.2 a run that writes what it reads may use each column for each", [*USES, done(3, 3, table("a"), of="a")],
         unused("a", SAME | {"y": "unknown: opaque"}), stops("a.x", "a")),
    case("R11.2 so its columns may hold the tagged ones", [*USES, done(3, 3, table("a"), of="a")],
         surface("a.x", {"a.y": "unknown", "a.z": "unknown", "b.x": "exposed"})),
    *(case(f"R11.2 {name} is an echo", [*USES, event],
           unused("a", SAME), stops("a.x"), surface("a.x", {"b.x": "exposed"}))
      for name, event in {
          "a job over RDDs": done(3, 3, table("a"), of="a", job="app.python_map_partitions_file_scan"),
          "the result of a command": done(3, 3, table("a"), of="a", job="app.command_result"),
          "an ALTER": done(3, 3, changes("a", "ALTER"), of="a"),
      }.items()),
    case("R6.3 a run that only reads its output is not silent", [*USES, *NEWER_ECHO],
         unused("a", SAME | {"y": "unknown: opaque"})),
    case("P9 what is shown to somebody is unknown only where asked strictly", [*USES, done(3, 3, of="a")],
         unused("a", SAME), unused("a", SAME | {"y": "unknown: shown"}, strict=True)),
    case("P9 a reader without transformations cannot show filters", [LOOK, done(2, 2, writes("b", {"x": "a.x-"}))],
         unused("a", {"x": "used"} | dict.fromkeys("yz", "unknown: no transformations"))),
    case("P9 an opaque reader that reports its columns now is opaque no more", [*USES, OPAQUE_3, REPORTED],
         unused("a", SAME)),
    case("P9 a reader that reported its columns and is opaque now makes unknown", [*USES, REPORTED, OPAQUE_5],
         unused("a", OPAQUE)),
    case("P9 only the column itself is itself", [
        done(3, 3, writes("a", {"x": "a.x", "y": "a.z", "z": "a.z"}, columns="x y z"), of="a"), USES[1],
    ], unused("a", SAME)),
    case("P9 a table of which only its own columns are made", [
        done(3, 3, writes("a", {"x": "a.x", "y": "a.z", "z": "a.z"}, columns="x y z"), of="a"),
    ], unused("a", {"x": NEVER, "y": NEVER, "z": "used"})),
    case("P9 another of its own columns is a use",
         [done(1, 1, writes("a", {"x": "a.x", "y": "a.y"}, "a.y?", columns="x y"), of="a")],
         unused("a", {"x": NEVER, "y": "used"})),
    case("P9 the columns of the base list are judged", [*USES, done(3, 3, changes("a", "OVERWRITE", "y w"))],
         unused("a", {"y": "unused", "w": "unused"})),
    case("P9 a CTAS that its other half explains is not opaque", [*USES, *HALVES], unused("a", SAME)),
    case("P9 no other run of the session explains", [*USES, *BESIDE], unused("a", OPAQUE)),
    case("P9 what nobody reads is unknown", [done(1, 1, table("a", "x"))], unused("a", {"x": NEVER})),
]  # fmt: skip

CASES = [*WALKS, *SURFACES, *VERDICTS]
