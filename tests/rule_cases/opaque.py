"""R4, R5, R6: opaque inputs and outputs, their explanations, newest executions without columns, and empty
inputFields.
"""

from tests.reference.world_events import Json, at, column_lineage, dataset_event, facet
from tests.rule_cases.case import Case, case, edges, exposed, links, stops, surface, unused, upstream
from tests.rule_cases.events import (
    begun,
    below,
    change,
    changes,
    declared,
    done,
    entry,
    lineage,
    sources,
    table,
    writes,
)

CATALOG = "https://example.org/catalog"
A, B, C = table("a", "x y"), table("b", "x"), table("c", "k")
COPY = writes("b", {"x": "a.x"})
SESSION = below(90)
ATOMIC = "nb.atomic_replace_table_as_select.goldlh_b"
CREATE = "nb.atomic_create_table_as_select.goldlh_b"
APPEND = "nb.append_data_exec_v1.spark_catalog_goldlh_b"
OVERWRITE = "nb.overwrite_by_expression_exec_v1.b"
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


def statement(second: float, *, of: list[Json], job: str = ATOMIC, number: int = 1, under: Json | None = None) -> Json:
    """Return a CREATE TABLE AS SELECT as Spark's listener reports it: without column lineage, but with a schema at its
    end.
    """
    return done(number, second, table("b", "x", **change("OVERWRITE")), of=of, job=job, under=under or SESSION)


def started(second: float, *, of: list[Json], job: str = ATOMIC, number: int = 1) -> Json:
    return begun(number, second, of=of, job=job, under=SESSION)


def half(second: float, *, job: str = OVERWRITE, number: int = 2, under: Json | None = None, **fields: str) -> Json:
    told = writes("b", fields or {"x": "a.x"})
    return done(number, second, told, of="a", job=job, under=under or SESSION)


PAIRS = [
    case("R4 RTAS: its other half ends while it runs", [started(10, of=[A]), half(12), statement(13, of=[A])], *PROVEN),
    case("R4 RTAS without START, its other half known by its name", [half(12), statement(13, of=[A])], *PROVEN),
    case("R4 CTAS without START", [half(12, job=APPEND), statement(13, of=[A], job=CREATE)], *PROVEN),
    case(
        "R4 CTAS with START",
        [started(10, of=[A], job=CREATE), half(12, job=APPEND), statement(13, of=[A], job=CREATE)],
        *PROVEN,
    ),
    case(
        "R4 CTAS without START and a dynamic overwrite",
        [half(12, job="nb.overwrite_partitions_dynamic_exec.b"), statement(13, of=[A])],
        *PROVEN,
    ),
    case(
        "R4 a CTAS that names its columns itself needs no other half",
        [started(10, of=[A], job=CREATE), done(1, 13, COPY, of=[A], job=CREATE, under=SESSION)],
        *PROVEN,
    ),
    case(
        "R4 RTAS with both halves wordless, as of listener 1.53.0",
        [
            started(10, of=[A]),
            done(2, 12, of=[A], job=OVERWRITE, under=SESSION),
            statement(13, of=[A]),
        ],
        unused("a", {"x": "unknown: opaque", "y": "unknown: opaque"}),
        surface("a.x", {"b.x": "unknown"}),
    ),
    case(
        "R4 RTAS: a run that ended after the statement is not its other half",
        [started(10, of=[A]), statement(13, of=[A]), half(14)],
        *OPAQUE,
    ),
    case(
        "R4 RTAS: a run that ended before the statement began is not its other half",
        [half(9), started(10, of=[A]), statement(13, of=[A])],
        *OPAQUE,
    ),
    case(
        "R4 RTAS: the other half in another session is none",
        [started(10, of=[A]), half(12, under=below(91)), statement(13, of=[A])],
        *OPAQUE,
    ),
    case(
        "R4 RTAS without START: a run of another kind is not its other half",
        [half(12, job="nb.execute_insert_into_hadoop_fs_relation_command.b"), statement(13, of=[A])],
        *OPAQUE,
    ),
    case(
        "R4 two CTAS of one instant: the half is the next one's, though that one's job ran again since",
        [
            statement(10, of=[A], job=CREATE),
            half(12),
            statement(13, of=[A], number=3),
            half(22, number=4, under=below(91)),
            statement(23, of=[A], number=5, under=below(91)),
        ],
        *OPAQUE,
    ),
    case(
        "R4 RTAS: its other half writes something else",
        [
            started(10, of=[A]),
            done(2, 12, writes("d", {"x": "a.x"}), of="a", job=OVERWRITE, under=SESSION),
            statement(13, of=[A]),
        ],
        unused("a", {"x": "used", "y": "unknown: opaque"}),
        surface("a.x", {"d.x": "exposed", "b.x": "unknown"}),
        surface("a.y", {"b.x": "unknown"}),
    ),
    case(
        "R4 RTAS: an input that its other half does not cover stays opaque",
        [started(10, of=[A, C]), half(12), statement(13, of=[A, C])],
        unused("a", {"x": "used", "y": "unused"}),
        unused("c", {"k": "unknown: opaque"}),
        surface("a.y", {}),
        surface("c.k", {"b.x": "unknown"}),
        stops("c.k", "c"),
    ),
    case(
        "R4 two runs of one session without START write one output: no sibling explains the other",
        [
            done(1, 13, B, of=[A], job="nb.execute_save_into_data_source_command.silver_b", under=SESSION),
            half(12, job="nb.execute_merge_into_command.silver_b"),
        ],
        *OPAQUE,
    ),
    case(
        "R4 an opaque append beside one with columns, one job in one session",
        [
            done(1, 13, B, of=[A], job="nb.append.b", under=SESSION),
            half(12, job="nb.append.b"),
        ],
        *OPAQUE,
    ),
    case(
        "R4 an opaque append beside one with columns from elsewhere",
        [
            done(1, 13, B, of=[C], job="nb.append.b", under=SESSION),
            half(12, job="nb.append.b"),
        ],
        unused("c", {"k": "unknown: opaque"}),
        surface("c.k", {"b.x": "unknown"}),
        surface("a.x", {"b.x": "exposed"}),
    ),
    case(
        "R4 two statements without START and one other half: one of them stays opaque",
        [
            statement(11, of=[A], number=1),
            half(10),
            statement(21, of=[A], number=3),
        ],
        *OPAQUE,
        doubt="Every statement of one instant is explained by any append of its session: two statements, one half.",
    ),
    case(
        "R4 a statement that failed and its other half that did not",
        [
            started(10, of=[A]),
            half(12),
            done(1, 13, B, of=[A], job=ATOMIC, under=SESSION, kind="FAIL"),
        ],
        unused("a", {"x": "used", "y": "unknown: attempted"}),
    ),
    case(
        "R4 'table_as_select' in the target's name makes no statement of a save",
        [
            begun(1, 10, of=[A], job="nb.execute_save_into_data_source_command.my_table_as_select", under=SESSION),
            half(12, job="nb.execute_save_into_data_source_command.other"),
            done(1, 13, B, of=[A], job="nb.execute_save_into_data_source_command.my_table_as_select", under=SESSION),
        ],
        *OPAQUE,
        doubt="'has table_as_select in one of its parts': the last part is the target's name and anybody's choice.",
    ),
]

INPUTS = [
    case(
        "R4 an input that is listed and named by no column of the lineage",
        [done(1, 1, writes("b", {"x": "a.x"}), of=[A, C])],
        unused("a", {"x": "used", "y": "unused"}),
        unused("c", {"k": "unknown: opaque"}),
        surface("c.k", {}),
        stops("c.k", "c"),
    ),
    case(
        "R4 an opaque input may fill what the writer does not name",
        [done(1, 1, writes("b", {"x": "a.x"}, columns="x z"), of=[A, C])],
        surface("c.k", {"b.z": "unknown"}),
        surface("a.x", {"b.x": "exposed", "b.z": "unknown"}),
        stops("c.k", "c"),
    ),
    case(
        "R4 a dataset that only filters is covered",
        [done(1, 1, writes("b", {"x": "a.x"}, "c.k?"), of=[A, table("c", "k l")])],
        unused("c", {"k": "used", "l": "unused"}),
        surface("c.l", {}),
        stops("c.l"),
    ),
    case(
        "R4 an input covered by another output of the run",
        [done(1, 1, writes("b", {"x": "a.x"}), writes("d", {"k": "c.k"}), of=[A, table("c", "k l")])],
        unused("a", {"x": "used", "y": "unused"}),
        unused("c", {"k": "used", "l": "unused"}),
    ),
    case(
        "R4 of two outputs one without columns may hold anything of all inputs",
        [done(1, 1, writes("b", {"x": "a.x"}), table("d", "p"), of=[A])],
        unused("a", {"x": "used", "y": "unknown: opaque"}),
        surface("a.x", {"b.x": "exposed", "d.p": "unknown"}),
        surface("a.y", {"d.p": "unknown"}),
        stops("a.x", "a"),
    ),
    case(
        "R4 a dataset that a run drops is none that it writes",
        [done(1, 1, writes("b", {"x": "a.x"}), changes("tmp", "DROP"), of=[A])],
        *PROVEN,
    ),
    case(
        "R4 a run that only drops reads nothing",
        [done(1, 1, COPY, of=[A]), done(2, 2, changes("tmp", "DROP"), of=[A])],
        *PROVEN,
        unused("a", {"x": "used", "y": "unused"}, strict=True),
    ),
    case(
        "R4 an output without schema behind an opaque write is unknown as a whole",
        [done(1, 1, table("b"), of=[A])],
        surface("a.x", {"b.None": "unknown"}),
    ),
    case(
        "R4 a MERGE that lists its own output, named in its lineage",
        [
            done(1, 1, writes("b", {"x": "a.x b.x"}, "b.id?", columns="x id z"), of=[table("b", "x id z")]),
            done(2, 2, writes("d", {"x": "b.x"}), of="b"),
        ],
        unused("b", {"x": "used", "id": "used", "z": "unknown: unaccounted"}),
    ),
    case(
        "R4 a MERGE that lists its own output, not named in its lineage",
        [
            done(1, 1, writes("b", {"x": "a.x"}, columns="x z"), of=[A, table("b", "x z")]),
            done(2, 2, writes("d", {"x": "b.x"}), of="b"),
        ],
        unused("b", {"x": "used", "z": "unknown: unaccounted"}),
        stops("b.x", "b"),
    ),
    case(
        "R4 a MERGE without columns reads its own output, too",
        [
            done(1, 1, table("b", "x z"), of=[A, table("b", "x z")]),
            done(2, 2, writes("d", {"x": "b.x"}), of="b"),
        ],
        unused("b", {"x": "used", "z": "unknown: opaque"}),
        unused("a", {"x": "unknown: opaque", "y": "unknown: opaque"}),
    ),
    case(
        "R4 a loop of a dataset into itself without columns is no reader",
        [
            done(1, 1, COPY, of=[A]),
            done(2, 2, A, of=[A], job="nb.scan_existing_rdd"),
        ],
        *PROVEN,
    ),
    case(
        "R4 a declared reader without columns",
        [done(1, 1, COPY, of=[A]), declared(2, table("d", "p"), of="a")],
        unused("a", {"x": "used", "y": "unknown: opaque"}),
        surface("a.y", {"d.p": "unknown"}),
    ),
    case(
        "R4 a lineage facet takes precedence for its own output only",
        [
            done(
                1,
                1,
                writes("b", {"x": "a.y"}),
                writes("d", {"x": "a.y"}),
                table("e"),
                of=[A],
                run_facets=lineage(entry("b", {"x": "a.x"})),
            )
        ],
        surface("a.x", {"b.x": "exposed", "e.None": "unknown"}),
        surface("a.y", {"d.x": "exposed", "e.None": "unknown"}),
    ),
    case(
        "R6 a DatasetEvent with an owner takes no lineage back",
        [
            dataset_event(at(1), writes("b", {"x": "a.x"}), CATALOG),
            dataset_event(at(2), table("b", ownership=facet(owners=[{"name": "team"}])), CATALOG),
        ],
        edges("a.x > b.x"),
        exposed("a.x", "b.x"),
    ),
    case(
        "R6 a DatasetEvent replaces lineage facets one by one",
        [
            dataset_event(at(1), writes("b", {"x": "a.x"}), CATALOG),
            dataset_event(at(2), writes("b", {"x": "a.y"}), CATALOG),
            dataset_event(at(3), table("c", "k", lineage=entry("c", {"k": "a.x"})), CATALOG),
            dataset_event(at(4), table("c", "k", lineage=entry("c", {"k": "a.y"})), CATALOG),
        ],
        exposed("a.y", "b.x", "c.k"),
        surface("a.x", {}),
    ),
    case(
        "R6 a DatasetEvent takes lineage back where it says so",
        [
            dataset_event(at(1), writes("b", {"x": "a.x"}), CATALOG),
            dataset_event(at(2), table("b", columnLineage=facet(_deleted=True)), CATALOG),
        ],
        surface("a.x", {}),
    ),
    case(
        "R4 a lineage facet with a source without a field",
        [done(1, 1, table("b", "x"), of=[A], run_facets=lineage(entry("b", {}, "a")))],
        unused("a", {"x": "unknown: opaque", "y": "unknown: opaque"}),
        surface("a.x", {"b.x": "unknown"}),
        stops("a.x", "a"),
    ),
    case(
        "R4 a lineage facet that covers one source and lists another",
        [done(1, 1, table("b", "x z"), of=[A], run_facets=lineage(entry("b", {"x": "a.x"}, "c"))), done(2, 2, C)],
        unused("a", {"x": "used", "y": "unknown: unaccounted"}),
        unused("c", {"k": "unknown: opaque"}),
        surface("c.k", {"b.z": "unknown"}),
        surface("a.x", {"b.x": "exposed", "b.z": "unknown"}),
    ),
    case(
        "R4 with a lineage facet what else the run lists as input is opaque",
        [done(1, 1, table("b", "x"), of=[A, C], run_facets=lineage(entry("b", {"x": "a.x"})))],
        unused("a", {"x": "used", "y": "unused"}),
        unused("c", {"k": "unknown: opaque"}),
    ),
    case(
        "R4 a lineage facet explains the run's columnLineage away",
        [done(1, 1, COPY, of=[A], run_facets=lineage(entry("b", {"x": "c.k"}))), done(2, 2, C)],
        unused("a", {"x": "unknown: opaque", "y": "unknown: opaque"}),
        surface("c.k", {"b.x": "exposed"}),
    ),
]

JOB = "nightly"
OLD = done(1, 1, COPY, of=[A], job=JOB)
NEWEST = [
    case(
        "R5 the newest execution has no columns: what it read may be anywhere, the older columns stay",
        [OLD, done(2, 2, B, of=[A], job=JOB)],
        *OPAQUE,
        upstream("b.x", {"a.x": "1"}),
    ),
    case(
        "R5 the newest execution has no columns and reads something else",
        [OLD, done(2, 2, B, of=[C], job=JOB)],
        unused("c", {"k": "unknown: opaque"}),
        surface("c.k", {"b.x": "unknown"}),
        surface("a.x", {"b.x": "exposed"}),
        stops("c.k", "c"),
        upstream("b.x", {"a.x": "1"}),
    ),
    case(
        "R5 the newest execution masks, the one before had no columns",
        [done(1, 1, B, of=[A], job=JOB), done(2, 2, writes("b", {"x": "a.x#"}), of=[A], job=JOB)],
        surface("a.x", {"b.x": "masked"}),
        unused("a", {"x": "used", "y": "unused"}),
        stops("a.x"),
    ),
    case(
        "R5 the one before masks, the newest execution has no columns",
        [done(1, 1, writes("b", {"x": "a.x#"}), of=[A], job=JOB), done(2, 2, B, of=[A], job=JOB)],
        surface("a.x", {"b.x": "unknown"}),
        unused("a", {"x": "used", "y": "unknown: opaque"}),
        stops("a.x", "a"),
    ),
    case(
        "R5 an opaque execution between two with columns counts no more",
        [OLD, done(2, 2, B, of=[A], job=JOB), done(3, 3, COPY, of=[A], job=JOB)],
        *PROVEN,
    ),
    case(
        "R5 a newest execution that failed replaces nothing and leaves open what it did",
        [OLD, done(2, 2, B, of=[A], job=JOB, kind="FAIL")],
        unused("a", {"x": "used", "y": "unknown: attempted"}),
        surface("a.x", {"b.x": "exposed"}),
        surface("a.y", {"b.x": "unknown"}),
        stops("a.x", "a"),
    ),
    case(
        "R5 two opaque executions after one with columns: the newest counts",
        [OLD, done(2, 2, B, of=[A], job=JOB), done(3, 3, B, of=[C], job=JOB)],
        surface("a.x", {"b.x": "exposed"}),
        surface("a.y", {}),
        surface("c.k", {"b.x": "unknown"}),
        unused("a", {"x": "used", "y": "unused"}),
    ),
    case(
        "R5 a newest execution with one run of columns and one without",
        [
            OLD,
            done(2, 2, B, of=[C], job=JOB, under=SESSION),
            done(3, 3, COPY, of=[A], job=JOB, under=SESSION),
        ],
        surface("a.x", {"b.x": "exposed"}),
        surface("c.k", {"b.x": "unknown"}),
        unused("c", {"k": "unknown: opaque"}),
    ),
    *(
        case(f"R5 {name} says nothing of where the data come from", [OLD, event], *PROVEN)
        for name, event in {
            "an ALTER by the same job": done(2, 2, changes("b", "ALTER"), job=JOB),
            "an ALTER by another job": done(2, 2, changes("b", "ALTER"), job="alter"),
            "an ALTER that lists its output as input": done(2, 2, changes("b", "ALTER"), of="b", job=JOB),
            "a TRUNCATE": done(2, 2, changes("b", "TRUNCATE"), job=JOB),
            "an INSERT of VALUES": done(2, 2, B, job=JOB),
            "an INSERT of VALUES by another job": done(2, 2, B, job="values"),
            "an OPTIMIZE without datasets": done(2, 2, job=JOB),
        }.items()
    ),
    case(
        "R5 where only an INSERT of VALUES wrote it, nothing is upstream",
        [done(1, 1, B), done(2, 2, writes("d", {"x": "b.x"}), of="b")],
        upstream("d.x", {"b.x": "1"}),
        unused("b", {"x": "used"}),
    ),
    case(
        "R5 a stream that reports columns no more",
        [
            done(1, 1, COPY, of=[A], job=JOB, job_facets={"jobType": facet(processingType="STREAMING")}),
            done(2, 2, B, of=[A], job=JOB, kind="RUNNING", job_facets={"jobType": facet(processingType="STREAMING")}),
        ],
        *OPAQUE,
    ),
]


def empty(**fields: str) -> Json:
    """Return column lineage with an entry for each field, possibly without inputs."""
    return table("b", "x", columnLineage=column_lineage({field: sources(told) for field, told in fields.items()}))


EMPTY = [
    case(
        "R6 an empty inputFields says that a column has no upstream from then on",
        [OLD, done(2, 2, empty(x=""), job=JOB), done(3, 3, writes("b2", {"y": "a.y"}), of="a")],
        surface("a.x", {}),
        upstream("b.x", {}),
        unused("a", {"x": "unused", "y": "used"}),
    ),
    case(
        "R6 an empty inputFields of a run that lists its input is no column lineage",
        [OLD, done(2, 2, empty(x=""), of=[A], job=JOB)],
        *OPAQUE,
        upstream("b.x", {"a.x": "1"}),
    ),
    case(
        "R6 an empty inputFields of COMPLETE takes back what START said, and the output is opaque",
        [begun(1, 1, COPY, of=[A]), done(1, 2, empty(x=""))],
        upstream("b.x", {}),
        surface("a.x", {"b.x": "unknown"}),
        edges(),
    ),
    case(
        "R6 no field at all says nothing: the older columns stay",
        [OLD, done(2, 2, table("b", "x", columnLineage=facet(fields={})), job=JOB)],
        exposed("a.x", "b.x"),
        upstream("b.x", {"a.x": "1"}),
    ),
    case(
        "R6 no field at all in COMPLETE leaves what START said",
        [begun(1, 1, COPY, of=[A]), done(1, 2, table("b", "x", columnLineage=facet(fields={})))],
        exposed("a.x", "b.x"),
    ),
    case(
        "R6 one column empty, the other with its source",
        [OLD, done(2, 2, writes("b", {"x": "", "z": "a.y"}), of=[A], job=JOB)],
        upstream("b.x", {}),
        upstream("b.z", {"a.y": "1"}),
        surface("a.x", {"b.x": "unknown"}),
        surface("a.y", {"b.x": "unknown", "b.z": "exposed"}),
        unused("a", {"x": "unknown: unaccounted", "y": "used"}),
    ),
    case(
        "R6 a constant by one job, a copy by another: both stand",
        [OLD, done(2, 2, empty(x=""), job="other")],
        exposed("a.x", "b.x"),
    ),
]

OTHER_SESSION, IN_DAG = below(91), (below(90, 80), below(91, 80))


def shown(number: int, second: float, under: Json) -> Json:
    """Return a run that reads a and reports no output."""
    return done(number, second, of=[A], job="show", under=under)


def loaded(number: int, second: float, under: Json) -> Json:
    """Return a run that writes b and reports no input."""
    return done(number, second, B, job="load", under=under)


APART = (links("a"), links("b"))
CONNECTED = (links("a", "> b by load"), links("b", "< a by show"))

LINKS = [
    case(
        "R7 a reader without output and a writer without input of one application may be connected, unproven",
        [shown(1, 1, SESSION), loaded(2, 2, SESSION)],
        *CONNECTED,
        unused("a", {"x": "unknown: never read", "y": "unknown: never read"}),
        surface("a.x", {}),
        stops("a.x", "a"),
    ),
    case(
        "R7 what may be connected proves no use, and takes no doubt away",
        [shown(1, 1, SESSION), loaded(2, 2, SESSION), done(3, 3, writes("c", {"k": "a.x"}), of=[A])],
        *CONNECTED,
        unused("a", {"x": "used", "y": "unused"}),
        unused("a", {"x": "used", "y": "unknown: shown"}, strict=True),
        exposed("a.x", "c.k"),
    ),
    case("R7 the writer runs first", [loaded(2, 1, SESSION), shown(1, 2, SESSION)], *CONNECTED),
    case("R7 two applications", [shown(1, 1, SESSION), loaded(2, 2, OTHER_SESSION)], *APART),
    case("R7 two applications of one DAG", [shown(1, 1, IN_DAG[0]), loaded(2, 2, IN_DAG[1])], *APART),
    case("R7 one application of a DAG", [shown(1, 1, IN_DAG[0]), loaded(2, 2, IN_DAG[0])], *CONNECTED),
    case("R7 no application", [done(1, 1, of=[A], job="show"), done(2, 2, B, job="load")], *APART),
    case(
        "R7 a reader without output and a writer that reports its input",
        [shown(1, 1, SESSION), done(2, 2, B, of=[C], job="load", under=SESSION)],
        *APART,
        stops("a.x"),
    ),
    case(
        "R7 a reader without output and a writer of constants",
        [shown(1, 1, SESSION), done(2, 2, writes("b", {"x": ""}), job="load", under=SESSION)],
        *APART,
    ),
    case(
        "R7 a reader with an output and a writer without input",
        [done(1, 1, writes("c", {"k": "a.x"}), of=[A], job="show", under=SESSION), loaded(2, 2, SESSION)],
        *APART,
    ),
    case(
        "R7 the newest writer is of another application",
        [shown(1, 1, SESSION), loaded(2, 2, SESSION), loaded(3, 3, OTHER_SESSION)],
        *APART,
    ),
    case(
        "R7 reader and writer run again together",
        [shown(1, 1, SESSION), loaded(2, 2, SESSION), shown(3, 3, OTHER_SESSION), loaded(4, 4, OTHER_SESSION)],
        *CONNECTED,
    ),
    case(
        "R7 the newest writer reports its input",
        [shown(1, 1, SESSION), loaded(2, 2, SESSION), done(3, 3, B, of=[C], job="load", under=SESSION)],
        *APART,
    ),
]

UNLISTED = [
    case(
        "R8.2 of the columns that no list names, the answer lists those that come from one another",
        [
            done(1, 1, table("t"), of=[A]),
            done(2, 2, writes("t", {"k": "t.l", "m": "t.m t.n#"}, columns=""), of=""),
        ],
        surface("a.x", {"t.None": "unknown", "t.k": "unknown", "t.m": "unknown"}),
    ),
]

CASES: list[Case] = [*UNLISTED, *PAIRS, *INPUTS, *NEWEST, *EMPTY, *LINKS]
