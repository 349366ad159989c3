"""R4 and rule 9: unused requires proof. Transformations, readers without outputs, self-reads, streams and case."""

from tests.reference.world_events import Json, column_lineage, step, symlinks
from tests.rule_cases.case import Case, case, exposed, impact, surface, unused, upstream
from tests.rule_cases.events import (
    STREAM,
    begun,
    below,
    changes,
    declared,
    done,
    drop,
    entry,
    going,
    lineage,
    sources,
    table,
    writes,
)

A = table("a", "x y")
COPY = done(1, 1, writes("b", {"x": "a.x"}), of=[A])
LOOK = done(5, 5, of=[A], job="nb.collect_limit")
SEEN = {"x": "used", "y": "unused"}
SHOWN = {"x": "used", "y": "unknown: shown"}
BARE = {"x": "used", "y": "unknown: no transformations"}
OPAQUE = {"x": "used", "y": "unknown: opaque"}
ALL_THREE = {"x": "used", "y": "unused", "z": "unused"}
OVERWRITES = done(1, 1, changes("t", "OVERWRITE", "x y z"))
READS_X = done(2, 2, writes("o", {"x": "t.x"}), of=[table("t", "x y z")])
SAVE = "execute_save_into_data_source_command"


def shown(name: str, events: list[Json], strict: dict[str, str], *, doubt: str = "") -> Case:
    """Return a case of a dataset with a proven reader, and possibly one that only displays it."""
    return case(f"R4 {name}", events, unused("a", SEEN), unused("a", strict, strict=True), doubt=doubt)


STRICT = [
    shown("collect reads without writing: a caveat, strict unknown", [COPY, LOOK], SHOWN),
    shown("nobody looks: strict says the same", [COPY], SEEN),
    shown("a collect that failed may have shown it", [COPY, done(5, 5, of=[A], kind="FAIL")], SHOWN),
    shown("a collect that has only begun may show it", [COPY, begun(5, 5, of=[A])], SHOWN),
    shown(
        "a count in the session that copies the dataset by columns is explained",
        [done(1, 1, writes("b", {"x": "a.x"}), of=[A], under=below(90)), done(5, 5, of=[A], under=below(90))],
        SEEN,
    ),
    shown(
        "a collect in another session than the copy is not explained",
        [done(1, 1, writes("b", {"x": "a.x"}), of=[A], under=below(90)), done(5, 5, of=[A], under=below(91))],
        SHOWN,
    ),
    shown(
        "a collect in a session that copies something else is not explained",
        [COPY, done(4, 4, writes("d", {"k": "c.k"}), of="c", under=below(90)), done(5, 5, of=[A], under=below(90))],
        SHOWN,
    ),
    shown(
        "a collect of an older execution of its job counts no more",
        [COPY, done(5, 5, of=[A], job="report"), done(6, 6, of=[table("c", "k")], job="report")],
        SEEN,
    ),
    shown(
        "toPandas of a job that writes as well, in its newest execution",
        [COPY, done(5, 5, of=[A], job="nb"), done(6, 4, writes("d", {"k": "c.k"}), of="c", job="nb.save")],
        SHOWN,
    ),
    shown(
        "collect read an earlier generation",
        [COPY, LOOK, drop(6, 6, "a"), done(7, 7, table("a", "x y"))],
        SHOWN,
    ),
    case(
        "R4 only a collect reads it: no run reads it to write another",
        [LOOK],
        unused("a", dict.fromkeys("xy", "unknown: never read")),
        unused("a", dict.fromkeys("xy", "unknown: never read"), strict=True),
    ),
    case(
        "R4 a stream that reads and writes nothing may show anything",
        [COPY, going(5, 5, of=[A])],
        unused("a", OPAQUE),
        unused("a", OPAQUE, strict=True),
    ),
    case(
        "R4 of a stream's executions without outputs the newest counts, whatever others write",
        [
            COPY,
            going(5, 5, of=[A], job="s"),
            going(6, 6, writes("d", {"k": "a.x"}), of=[A], job="s"),
        ],
        unused("a", {"x": "used", "y": "unknown: opaque"}),
    ),
]

NO_STEPS = [
    case(
        "R4 a producer without transformations cannot show filters",
        [done(1, 1, writes("b", {"x": "a.x-"}), of=[A])],
        unused("a", BARE),
        exposed("a.x", "b.x"),
    ),
    case(
        "R4 one transformation anywhere in the run proves that it tells them",
        [done(1, 1, writes("b", {"x": "a.x-", "k": "c.k"}), of=[A, table("c", "k l")])],
        unused("a", SEEN),
        unused("c", {"k": "used", "l": "unused"}),
    ),
    case(
        "R4 transformations of the run's other output prove it as well",
        [done(1, 1, writes("b", {"x": "a.x-"}), writes("d", {"k": "c.k"}), of=[A, table("c", "k")])],
        unused("a", SEEN),
    ),
    case(
        "R4 transformations in START, none in COMPLETE: the newest facet counts",
        [begun(1, 1, writes("b", {"x": "a.x"}), of=[A]), done(1, 2, writes("b", {"x": "a.x-"}), of=[A])],
        unused("a", BARE),
    ),
    case(
        "R4 one reader of two without transformations",
        [COPY, done(2, 2, writes("d", {"x": "a.x-"}), of=[A])],
        unused("a", BARE),
    ),
    case(
        "R4 a producer that tells transformations now",
        [
            done(1, 1, writes("b", {"x": "a.x-"}), of=[A], job="j"),
            done(2, 2, writes("b", {"x": "a.x"}), of=[A], job="j"),
        ],
        unused("a", SEEN),
    ),
    case(
        "R4 the old transformationType shows no filters",
        [
            done(
                1,
                1,
                table("b", "x", columnLineage=column_lineage({"x": sources("a.x-")}, transformationType="IDENTITY")),
                of=[A],
            )
        ],
        unused("a", BARE),
        doubt="Whether `transformationType`, which facets had before filters could be told, is a transformation.",
    ),
    case(
        "R4 a reader of an earlier generation without transformations",
        [
            done(1, 1, table("a", "x y")),
            done(2, 2, writes("b", {"x": "a.x-"}), of="a"),
            drop(3, 3, "a"),
            done(4, 4, table("a", "x y"), job="job1"),
            done(5, 5, writes("d", {"x": "a.x"}), of="a"),
        ],
        unused("a", BARE),
    ),
    case(
        "R4 a declared reader without transformations",
        [COPY, declared(2, writes("d", {"x": "a.x-"}), of="a")],
        unused("a", BARE),
        doubt="'a reader has edges but not one transformation among all of its run': a JobEvent is no run.",
    ),
]

VERDICTS = [
    case("R4 nobody reads it", [done(1, 1, A)], unused("a", dict.fromkeys("xy", "unknown: never read"))),
    case(
        "R4 only a failed run reads it",
        [done(1, 1, A), done(2, 2, writes("b", {"x": "a.x"}), of="a", kind="FAIL")],
        unused("a", dict.fromkeys("xy", "unknown: attempted")),
    ),
    case(
        "R4 what only an older execution read is unused",
        [
            done(1, 1, writes("b", {"x": "a.x", "y": "a.y"}), of=[A], job="j"),
            done(2, 2, writes("b", {"x": "a.x"}), of=[A], job="j"),
        ],
        unused("a", SEEN),
    ),
    case(
        "R4 the newest execution failed: what the one before read is used",
        [
            done(1, 1, writes("b", {"x": "a.x", "y": "a.y"}), of=[A], job="j"),
            done(2, 2, writes("b", {"x": "a.x"}), of=[A], job="j", kind="FAIL"),
        ],
        unused("a", {"x": "used", "y": "used"}),
    ),
    case(
        "R4 its job reads it no more, but another does",
        [
            done(1, 1, writes("b", {"x": "a.x"}), of=[A], job="j"),
            done(2, 2, writes("d", {"y": "a.y"}), of=[A], job="k"),
            done(3, 3, writes("b", {"x": "a.x"}), of=[A], job="j"),
        ],
        unused("a", {"x": "used", "y": "used"}),
    ),
    case(
        "R4 a filter is a use",
        [done(1, 1, writes("b", {"x": "a.x"}, "a.y?"), of=[A])],
        unused("a", {"x": "used", "y": "used"}),
        impact("a.y", {}),
        impact("a.y", {"b.x": "1"}, "any"),
    ),
    case(
        "R4 a column that only keeps itself is not used, one that fills another is",
        [
            COPY,
            done(2, 2, writes("a", {"x": "a.x", "y": "a.y", "z": "a.w"}, columns="x y z w"), of=[A]),
        ],
        unused("a", {"x": "used", "y": "unknown: unaccounted", "z": "unknown: unaccounted", "w": "used"}),
    ),
    case(
        "R4 a filter of a table on itself uses the column for the others",
        [
            COPY,
            done(2, 2, writes("a", {"x": "a.x", "y": "a.y"}, "a.y?", columns="x y"), of=[A]),
        ],
        unused("a", {"x": "used", "y": "used"}),
    ),
    case(
        "R4 columns of the base list are judged",
        [COPY, done(2, 2, changes("a", "OVERWRITE", "y z"))],
        unused("a", {"y": "unused", "z": "unused"}),
    ),
    case(
        "R4 a reader under the catalogue's name is a reader",
        [
            done(1, 1, table("a", "x y", symlinks=symlinks(("hive://meta", "db.a")))),
            done(2, 2, writes("b", {"x": "a.x"}), of=[table(("hive://meta", "db.a"))]),
        ],
        unused("a", SEEN),
    ),
    case(
        "R4 an opaque reader under the catalogue's name is one",
        [
            done(1, 1, table("a", "x y", symlinks=symlinks(("hive://meta", "db.a")))),
            done(2, 2, writes("b", {"x": "a.x"}), of="a"),
            done(3, 3, table("d", "p"), of=[table(("hive://meta", "db.a"))]),
        ],
        unused("a", OPAQUE),
        surface("a.y", {"d.p": "unknown"}),
    ),
    case(
        "R4 a declared reader uses what it names",
        [COPY, declared(2, writes("d", {"k": "a.y"}), of="a")],
        unused("a", {"x": "used", "y": "used"}),
    ),
    case(
        "R4 an opaque stream",
        [COPY, done(2, 2, table("d", "p"), of=[A], kind="RUNNING", job_facets=STREAM)],
        unused("a", OPAQUE),
    ),
    case(
        "R4 an opaque reader last night, with columns the night before",
        [
            done(1, 1, writes("b", {"x": "a.x"}), of=[A], job="j"),
            done(2, 2, table("b", "x"), of=[A], job="j"),
        ],
        unused("a", OPAQUE),
    ),
    case(
        "R4 an opaque reader whose output was dropped",
        [COPY, done(2, 2, table("d", "p"), of=[A]), drop(3, 3, "d")],
        unused("a", OPAQUE),
        surface("a.y", {}),
    ),
    case(
        "R4 an opaque reader that reports its columns since the output was made anew",
        [
            done(1, 1, table("d", "x"), of=[A], job="j"),
            drop(2, 2, "d"),
            done(3, 3, writes("d", {"x": "a.x"}), of=[A], job="j"),
        ],
        unused("a", SEEN),
        doubt="'of a current run': the run is current for the dropped generation for ever; here it has been replaced.",
    ),
    case(
        "R4 a reader with columns that is opaque since its output was made anew",
        [
            done(1, 1, writes("d", {"x": "a.x"}), of=[A], job="j"),
            drop(2, 2, "d"),
            done(3, 3, table("d", "x"), of=[A], job="j"),
        ],
        unused("a", OPAQUE),
        surface("a.x", {"d.x": "unknown"}),
        upstream("d.x", {}),
    ),
    case(
        "rule 12 columns match in any case",
        [
            done(1, 1, writes("b", {"MAIL": "a.X"}, columns="Mail"), of=[A]),
            done(2, 2, writes("c", {"k": "b.mail"}), of="b"),
        ],
        unused("a", SEEN),
        exposed("a.x", "b.mail", "c.k"),
        upstream("c.k", {"b.mail": "1", "a.x": "2"}),
    ),
    case(
        "rule 12 twins that differ in case only are two",
        [
            done(1, 1, writes("b", {"k": "a.ID"}), of=[table("a", "ID id")]),
        ],
        unused("a", {"ID": "used", "id": "unused"}),
        exposed("a.ID", "b.k"),
        surface("a.id", {}),
    ),
    case(
        "rule 12 twins of an older schema are one by now",
        [
            done(1, 1, writes("b", {"k": "a.ID"}), of=[table("a", "ID id")]),
            done(2, 2, changes("a", "OVERWRITE", "id")),
        ],
        unused("a", {"id": "used"}),
        exposed("a.id", "b.k"),
    ),
    case(
        "rule 12.9 a declaration in force names a column that a newer base list lacks",
        [declared(1, writes("p", {"x": "t.y"}), of="t"), done(2, 2, changes("t", "OVERWRITE", "x"))],
        unused("t", {"x": "unused", "y": "used"}),
    ),
    *(
        case(f"rule 12.7 {name} removes no column", [OVERWRITES, READS_X, event], unused("t", ALL_THREE))
        for name, event in {
            "a reader": done(3, 3, writes("p", {"x": "t.x"}), of=[table("t", "x")]),
            "an append by a CREATE": done(3, 3, changes("t", "CREATE", "x"), job=f"app.{SAVE}.t"),
            "a write without lifecycleStateChange": done(3, 3, table("t", "x")),
            "a write that is not COMPLETE": done(3, 3, changes("t", "OVERWRITE", "x"), kind="FAIL"),
            "a part": done(3, 3, changes("t/day=1", "OVERWRITE", "x")),
            "an overwrite by a connector that may append": done(
                3, 3, changes(("snowflake://x", "t"), "OVERWRITE", "x"), changes("t", "CREATE", "x"), job=f"app.{SAVE}"
            ),
            "an event that reads what it writes": done(
                3, 3, changes("t", "OVERWRITE", "x"), of="t", job="app.scan_existing_rdd"
            ),
        }.items()
    ),
    *(
        case(
            f"rule 12.6 {name} lists all columns",
            [OVERWRITES, READS_X, event],
            unused("t", {"x": "used", "w": "unused"}),
        )
        for name, event in {
            "OVERWRITE": done(3, 3, changes("t", "OVERWRITE", "x w")),
            "ALTER": done(3, 3, changes("t", "ALTER", "x w")),
            "append_data": done(3, 3, table("t", "x w"), job="app.append_data_exec_v1.t"),
            "MERGE": done(3, 3, table("t", "x w"), job="app.execute_merge_into_command_edge.t"),
            "a statement of Spark": done(3, 3, table("t", "x w"), job="app.atomic_replace_table_as_select.t"),
        }.items()
    ),
    case(
        "rule 12.6 OVERWRITE of a dataset of which a part is named lists the columns of the part",
        [OVERWRITES, READS_X, done(3, 3, changes("t", "OVERWRITE", "x")), done(4, 4, table("p", "x"), of="t/day=1")],
        unused("t", {"x": "used", "day": "used", "y": "unknown: opaque", "z": "unknown: opaque"}),
    ),
    case(
        "rule 12.7 every later list adds columns",
        [OVERWRITES, READS_X, done(3, 3, table("t", "v")), done(4, 4, table("t", "Y w"), job="another")],
        unused("t", {**ALL_THREE, "v": "unused", "w": "unused"}),
    ),
    case(
        "rule 12.9 columns that only lineage names are judged",
        [done(1, 1, writes("b", {"x": "a.x"}), of="a")],
        unused("a", {"x": "used"}),
        unused("b", {"x": "unknown: never read"}),
    ),
    case(
        "rule 12.9 so are those that only the lineage of a failed run names",
        [done(1, 1, writes("b", {"x": "a.x"}), of="a", kind="FAIL")],
        unused("a", {"x": "unknown: attempted"}),
    ),
    case(
        "rule 12.9 a reader that lists fewer columns than its lineage names",
        [OVERWRITES, done(3, 3, writes("p", {"x": "t.x", "new": "t.new"}), of=[table("t", "x")])],
        unused("t", {"x": "used", "y": "unused", "z": "unused", "new": "used"}),
    ),
    case(
        "rule 12.9 a column that lineage names without inputs is judged",
        [done(1, 1, writes("b", {"x": "a.x", "at": ""}, columns=""), of="a")],
        unused("b", {"x": "unknown: never read", "at": "unknown: never read"}),
    ),
    case(
        "rule 12.9 so are both ends of lineage that a newer event of the run replaced",
        [
            done(1, 1, writes("b", {"y": "a.y"}, columns=""), of="a", kind="START"),
            done(1, 2, writes("b", {"x": "a.x"}, columns=""), of="a"),
        ],
        unused("a", {"x": "used", "y": "unknown: unaccounted"}),
        unused("b", {"x": "unknown: never read", "y": "unknown: never read"}),
    ),
    case(
        "rule 12.9 a dataset that only lineage beside entries of a `lineage` facet names is judged",
        [done(1, 1, writes("b", {"x": "c.y"}), of=[A], run_facets=lineage(entry("b", {"x": "a.x"})))],
        unused("a", SEEN),
        unused("c", {"y": "unknown: never read"}),
    ),
    case(
        "rule 12.9 lineage names the source of a whole output, even if no column of the output is known",
        [done(1, 1, writes("b", {}, whole="c.y", columns=""))],
        unused("c", {"y": "unknown: opaque"}),
    ),
    case(
        "rule 12.9 a newer base list removes what lineage named before",
        [done(1, 1, writes("p", {"x": "t.x", "old": "t.old"}), of="t"), done(3, 3, changes("t", "ALTER", "x"))],
        unused("t", {"x": "used"}),
    ),
    case(
        "rule 12.9 columns at a former location stay until a base list comes",
        [
            done(1, 1, table("a1", "x y", symlinks=symlinks(("hive://meta", "db.t")))),
            done(2, 2, table("b2", "x", symlinks=symlinks(("hive://meta", "db.t"))), job="job1"),
            done(3, 3, writes("p", {"x": "b2.x"}), of="b2"),
        ],
        unused("b2", {"x": "used", "y": "unused"}),
    ),
]

HIVE, GLUE = ("hive://meta", "db.orders"), ("arn:aws:glue:eu-west-1:1", "table/db/orders")
TRINO, SQL_SERVER = ("trino://t:8080", "hive.db.orders"), ("mssql://db", "sales.dbo.orders")
ORACLE = ("oracle://db:1521", "SVC.HR.PEOPLE")


def one_name(system: str, canonical: tuple[str, str], other: str) -> Case:
    """Return a case of a table that is written under one spelling of its name and read under another."""
    namespace, name = canonical
    read = {"namespace": namespace, "name": other, "field": "x", "transformations": [step("DIRECT")]}
    out = table("out", "x", columnLineage=column_lineage({"x": [read]}))
    return case(
        f"R8 {system} folds names by case",
        [
            done(1, 1, writes(canonical, {"x": "a.x"}), of=[A]),
            done(2, 2, out, of=[table((namespace, other))]),
        ],
        exposed("a.x", f"{name}.x", "out.x"),
        upstream("out.x", {f"{name}.x": "1", "a.x": "2"}),
    )


NAMES = [
    one_name("Hive", HIVE, "DB.Orders"),
    one_name("Glue", GLUE, "table/DB/Orders"),
    one_name("Oracle", ORACLE, "svc.hr.people"),
    one_name("Trino", TRINO, "hive.DB.Orders"),
    one_name("SQL Server", SQL_SERVER, "Sales.dbo.Orders"),
]

CASES: list[Case] = [*STRICT, *NO_STEPS, *VERDICTS, *NAMES]
