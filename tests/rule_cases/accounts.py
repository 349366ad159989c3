"""R4: every column that a run may have written is accounted for, or it may contain any input of the run."""

from collections.abc import Sequence

from tests.reference.world_events import Json, column_lineage, facet
from tests.reference.world_gaps import DBT, DECLARE
from tests.rule_cases.case import Case, case, edges, stops, surface, unused, upstream
from tests.rule_cases.events import LAKE, begun, below, declared, done, entry, lineage, sources, table, writes

A, C = table("a", "x y"), table("c", "k l")
COPY = {"x": "a.x"}
PROVEN = (unused("a", {"x": "used", "y": "unused"}), surface("a.y", {}), stops("a.x"))
OPEN = unused("a", {"x": "used", "y": "unknown: unaccounted"})


def says(query: str) -> dict[str, Json]:
    return {"sql": facet(query=query, dialect="spark")}


def copied_by(query: str, columns: str = "x at", of: Sequence[Json] = (A,)) -> Json:
    """Return a run whose lineage names only a.x → b.x, and whose SQL may name more columns."""
    return done(1, 1, writes("b", COPY, columns=columns), of=of, job_facets=says(query))


def inserted(columns: str) -> Json:
    """Return a run that lists columns of b, and whose SQL inserts b.x alone."""
    return done(1, 1, table("b", columns), of=[A], job_facets=says("INSERT INTO b (`x`) SELECT s0.`x` FROM a AS s0"))


def of_dbt(event: Json) -> Json:
    return {**event, "producer": DBT}


def fed_by(name: str, **kinds: str) -> dict[str, Json]:
    """Return a `lineage` facet of b: x comes from a.x, other fields come from whole datasets or jobs."""
    told = entry(name, COPY)
    fields = {
        field: {"inputs": [{"type": kind.upper(), "namespace": LAKE, "name": "a"}]} for field, kind in kinds.items()
    }
    return {"lineage": facet(entries=[{**told, "fields": {**told["fields"], **fields}}])}


LISTS = [
    case(
        "R4 a column that is listed and that lineage leaves out may hold what the run reads",
        [done(1, 1, writes("b", COPY, columns="x at"), of=[A])],
        OPEN,
        surface("a.x", {"b.x": "exposed", "b.at": "unknown"}),
        surface("a.y", {"b.at": "unknown"}),
        stops("a.x", "a"),
        upstream("b.at", {}),
    ),
    case(
        "R4 a column without inputs beside one with an input",
        [done(1, 1, writes("b", {"x": "a.x", "at": ""}), of=[A])],
        OPEN,
        surface("a.y", {"b.at": "unknown"}),
        stops("a.y", "a"),
    ),
    case(
        "R4 a struct that lineage names without inputs is not accounted for with a column that is nested in it",
        [done(1, 1, writes("b", {"s": "", "s.x": "a.x"}), of=[A])],
        OPEN,
        surface("a.y", {"b.s": "unknown"}),
    ),
    case(
        "R4 nor is a nested column that it names without inputs with its struct",
        [done(1, 1, writes("b", {"s": "a.x", "s.x": ""}), of=[A])],
        OPEN,
        surface("a.y", {"b.s.x": "unknown"}),
    ),
    case(
        "rule 8.2 an opaque write makes all columns unknown, also those that only lineage names",
        [done(1, 1, writes("b", {"x": "c.k", "z": ""}, columns="x"), of=[C]), done(2, 2, table("b"), of=[A])],
        surface("a.x", {"b.x": "unknown", "b.z": "unknown"}),
    ),
    case(
        "R4 of all inputs of the run, also those that lineage names for its other output alone",
        [done(1, 1, writes("b", COPY, columns="x at"), writes("d", {"k": "c.k"}), of=[A]), done(2, 2, C)],
        OPEN,
        unused("c", {"k": "used", "l": "unknown: unaccounted"}),
        surface("c.l", {"b.at": "unknown"}),
    ),
    case(
        "R4 lineage of the whole dataset accounts for no column",
        [done(1, 1, table("b", "x z", columnLineage=column_lineage({}, sources("a.x?"))), of=[A])],
        unused("a", {"x": "used", "y": "unknown: opaque"}),
        surface("a.y", {"b.x": "unknown", "b.z": "unknown"}),
    ),
    case(
        "R4.6 an output whose lineage names only a dataset may be made of what other outputs are made of",
        [
            done(
                1,
                1,
                writes("b", {"x": "a.x"}),
                table("c", "k", columnLineage=column_lineage({}, sources("d.y?"))),
                of=[A, table("d", "y")],
            ),
        ],
        surface("a.x", {"b.x": "exposed", "c.k": "unknown"}),
    ),
    case(
        "R8.2 a writer of other columns does not hide what a run with lineage of the whole dataset may have written",
        [
            done(1, 1, table("b", "x z", columnLineage=column_lineage({}, sources("a.x?"))), of=[A]),
            done(2, 2, writes("report", {"k": "b.k"}), of="b"),
            done(3, 3, writes("b", {"k": "other.k#"}, says="CREATE"), of="other"),
        ],
        surface("a.y", {"b.x": "unknown", "b.z": "unknown", "b.k": "unknown", "report.k": "unknown"}),
    ),
    case(
        "R4 without any list of columns the output is unaccounted as a whole",
        [done(1, 1, writes("b", COPY, columns=""), of=[A]), done(2, 2, writes("d", {"p": "b.p", "x": "b.x"}))],
        OPEN,
        surface("a.y", {"b.None": "unknown", "d.p": "unknown", "d.None": "?"}),
    ),
    case(
        "R4 a list that another run told before counts where the run has none",
        [done(1, 1, table("b", "x at")), done(2, 2, writes("b", COPY, columns=""), of=[A])],
        OPEN,
        surface("a.y", {"b.at": "unknown"}),
    ),
    case(
        "R4 a list that another run tells later counts where there was none",
        [done(1, 1, writes("b", COPY, columns=""), of=[A]), done(2, 2, table("b", "x"))],
        *PROVEN,
    ),
    case(
        "R4 the run's own list counts, whatever other runs write",
        [done(1, 1, table("b", "x at")), done(2, 2, writes("b", COPY), of=[A])],
        *PROVEN,
    ),
    case(
        "R4 a list that lacks a column of the lineage is a part: what was known before counts as well",
        [
            done(1, 1, table("b", "x at")),
            begun(2, 2, of=[A]),
            done(2, 3, writes("b", {"x": "a.x", "w": "a.x"}, columns="x"), of=[A]),
        ],
        OPEN,
        surface("a.y", {"b.at": "unknown"}),
    ),
    case(
        "R4 dbt lists the columns that are documented",
        [
            done(1, 1, table("b", "x at")),
            of_dbt(begun(2, 2, of=[A])),
            of_dbt(done(2, 3, writes("b", COPY), of=[A])),
        ],
        OPEN,
        surface("a.y", {"b.at": "unknown"}),
    ),
    case(
        "R4 dbt that lists documented columns does not account for what it may have left out",
        [
            done(1, 1, of=[A]),
            of_dbt(done(2, 2, writes("b", COPY, columns="x"), of=[A])),
        ],
        unused("a", {"x": "used", "y": "unknown: unaccounted"}),
    ),
    case(
        "R4 who accounts for a struct accounts for what is nested in it, and the other way round",
        [done(1, 1, writes("b", {"s": "a.x", "t.u": "a.x"}, columns="s.p s.q t.u x"), of=[A])],
        surface("a.y", {"b.x": "unknown"}),
        OPEN,
    ),
    case(
        "R4 a nested column is left out beside another one",
        [done(1, 1, writes("b", {"s.p": "a.x"}, columns="s.p s.q"), of=[A])],
        surface("a.y", {"b.s.q": "unknown"}),
        OPEN,
    ),
    case(
        "R4 what was masked is unknown where it is not accounted for",
        [done(1, 1, writes("b", {"h": "a.x#"}, columns="h at"), of=[A]), done(2, 2, writes("d", {"k": "b.at"}))],
        surface("a.x", {"b.h": "masked", "b.at": "unknown", "d.k": "unknown"}),
    ),
    case(
        "R4 a declared reader accounts for its columns, too",
        [declared(1, writes("b", COPY, columns="x at"), of=[A])],
        OPEN,
    ),
    case(
        "R4 a file of `headwater declare` names all columns, and those that are made of none",
        [{**declared(1, writes("b", {"x": "a.x", "at": ""}, columns=""), of=[A]), "producer": DECLARE}],
        *PROVEN,
        surface("a.x", {"b.x": "exposed"}),
    ),
    case(
        "R4 a run that reads nothing states that a column has no inputs",
        [done(1, 1, writes("b", {"at": ""})), done(2, 2, writes("d", {"x": "a.x"}), of=[A])],
        *PROVEN,
    ),
]

FACETS = [
    case(
        "R4 no upstream in a lineage facet is a statement",
        [done(1, 1, table("b", "x at"), of=[A], run_facets=lineage(entry("b", {"x": "a.x", "at": ""})))],
        *PROVEN,
    ),
    case(
        "R4 a field that a whole dataset feeds is not accounted for",
        [done(1, 1, table("b", "x at"), of=[A], run_facets=fed_by("b", at="dataset"))],
        OPEN,
        surface("a.y", {"b.at": "unknown"}),
    ),
    case(
        "R4 a field that a job feeds is not accounted for",
        [done(1, 1, table("b", "x at"), of=[A], run_facets=fed_by("b", at="job"))],
        OPEN,
        surface("a.y", {"b.at": "unknown"}),
    ),
]

WITH_SQL = [
    case(
        "R8.2 SQL that does not write what the lineage names leaves its columns open",
        [
            done(
                1,
                1,
                writes("b", {"x": "a.x s0.x"}, columns="x z"),
                of=[A],
                job_facets=says("INSERT INTO b (z) SELECT s0.`y` FROM a AS s0"),
            ),
            done(2, 2, writes("b", {"k": "c.k"}), of=[C]),
        ],
        surface("c.k", {"b.k": "exposed", "b.x": "unknown", "b.z": "unknown"}),
    ),
    case(
        "R4.10 a column with an edge from a doubtful name is open, also if another edge leads to it",
        [
            done(
                1,
                1,
                writes("b", {"x": "a.x s0.y"}),
                of=[A],
                job_facets=says("INSERT INTO b (`z`) SELECT s0.`x` FROM a AS s0"),
            ),
        ],
        surface("a.y", {"b.x": "unknown", "b.z": "unknown"}),
    ),
    case(
        "R4.9 SQL does not account for a part of a struct that the lineage names without its sources",
        [
            done(
                1,
                1,
                writes("b", {"s": "", "s.b": "a.x#"}, columns="s.b s.c"),
                of=[A],
                job_facets=says("INSERT INTO b (`s.b`, `s.c`) SELECT s0.`x`, 1 FROM a AS s0"),
            ),
        ],
        surface("a.x", {"b.s": "unknown", "b.s.b": "masked", "b.s.c": "unknown"}),
    ),
    case(
        "R4.9 the table fills what an INSERT does not name: nothing is open for it, and nothing accounts for it",
        [inserted("x day")],
        unused("a", {"x": "used", "y": "unused"}),
        surface("a.x", {"b.x": "exposed", "b.day": "unknown"}),
        surface("a.y", {}),
        stops("a.x"),
    ),
    case(
        "R4.9 without its list, an INSERT says the same of what it reads",
        [done(2, 0.5, table("b", "x day")), inserted("")],
        unused("a", {"x": "used", "y": "unused"}),
        surface("a.x", {"b.x": "exposed", "b.day": "unknown"}),
    ),
    case(
        "R4.9 another job may account for what an INSERT does not name",
        [inserted("x day"), done(2, 2, writes("b", {"day": "c.k"}, says="CREATE"), of=[C])],
        surface("a.x", {"b.x": "exposed"}),
        surface("c.k", {"b.day": "exposed"}),
    ),
    case(
        "R4.9 a column that lineage names and an INSERT does not is open",
        [
            done(
                1,
                1,
                writes("b", {"x": "a.x", "day": ""}),
                of=[A],
                job_facets=says("INSERT INTO b (`x`) SELECT s0.`x` FROM a AS s0"),
            )
        ],
        OPEN,
    ),
    case(
        "R4.9 a column that the run lists and its query does not write is open",
        [
            done(
                1,
                1,
                table("b", "x day"),
                of=[A, C],
                job_facets=says("with q as (select * from a) select q.x from q q join c d on q.x = d.k"),
            )
        ],
        OPEN,
        surface("a.x", {"b.x": "exposed", "b.day": "unknown"}),
        stops("a.x", "a"),
    ),
    case(
        "R4 SQL shows that a column is made of none",
        [copied_by("INSERT INTO b (`x`, `at`) SELECT s0.`x`, 1 FROM a AS s0")],
        *PROVEN,
    ),
    case(
        "R4 SQL says what a column is made of",
        [copied_by("INSERT INTO b (`x`, `z`) SELECT s0.`x`, s1.`k` FROM a AS s0, c AS s1", columns="x z", of=[A, C])],
        *PROVEN,
        unused("c", {"k": "used", "l": "unused"}),
        surface("c.k", {"b.z": "exposed"}),
        edges("a.x > b.x", "c.k > b.z"),
    ),
    case(
        "R4 SQL says of an empty inputFields what the column is made of",
        [
            done(
                1,
                1,
                writes("b", {"x": "a.x", "z": ""}),
                of=[A],
                job_facets=says("INSERT INTO b (`x`, `z`) SELECT s0.`x`, md5(s0.`y`) FROM a AS s0"),
            )
        ],
        unused("a", {"x": "used", "y": "used"}),
        surface("a.y", {"b.z": "masked"}),
    ),
    case(
        "R4 SQL that lists the columns takes the place of a list",
        [copied_by("INSERT INTO b (`x`, `at`) SELECT s0.`x`, 1 FROM a AS s0", columns="")],
        *PROVEN,
    ),
    case(
        "R4 SQL that does not write the columns of the lineage is about something else",
        [copied_by("INSERT INTO b (`at`) SELECT 1 FROM a AS s0")],
        OPEN,
        surface("a.y", {"b.at": "unknown"}),
    ),
    case(
        "R4 SQL that makes a column of something else than the lineage is about something else",
        [copied_by("INSERT INTO b (`x`, `at`) SELECT s0.`y`, 1 FROM a AS s0")],
        OPEN,
        surface("a.y", {"b.at": "unknown"}),
    ),
    case(
        "R4 SQL that reads a view explains no column",
        [copied_by("INSERT INTO b (`x`, `at`) SELECT s0.`x`, s1.`k` FROM a AS s0, t99 AS s1", of=[A, C])],
        OPEN,
    ),
]

TASK = below(90)
EXPLAINED = [
    case(
        "R4 a run below explains the columns that a task leaves out",
        [
            done(90, 9, writes("b", {"x": "a.x", "at": ""}), of=[A], job="dag.task"),
            done(2, 5, writes("b", {"x": "a.x", "at": "a.x"}), of=[A], under=TASK),
        ],
        *PROVEN,
    ),
    case(
        "R4 a run below that writes something else explains the input, not the columns",
        [
            done(90, 9, writes("b", {"x": "a.x", "at": ""}), of=[A], job="dag.task"),
            done(2, 5, writes("d", {"x": "a.x"}), of=[A], under=TASK),
        ],
        unused("a", {"x": "used", "y": "unused"}),
        surface("a.y", {"b.at": "unknown"}),
        stops("a.y", "a"),
    ),
    case(
        "R4 the other half of a statement explains the columns that it leaves out",
        [
            begun(1, 10, of=[A], job="nb.create_table_as_select.b", under=TASK),
            done(2, 12, writes("b", {"x": "a.x", "at": "a.x"}), of=[A], job="nb.append_data.b", under=TASK),
            done(1, 13, writes("b", COPY, columns="x at"), of=[A], job="nb.create_table_as_select.b", under=TASK),
        ],
        *PROVEN,
    ),
]

CASES: list[Case] = [*LISTS, *FACETS, *WITH_SQL, *EXPLAINED]
