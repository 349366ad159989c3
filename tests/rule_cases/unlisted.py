"""R4.10: names in column lineage that the run lists neither as an input nor as an output."""

from tests.reference.world_events import Json, facet
from tests.rule_cases.case import Case, case, edges, exposed, stops, surface, tagged, unused, upstream
from tests.rule_cases.events import done, table, tagging, writes

USERS, OTHERS, RAW = (table(name, "mail id") for name in ("data/public/users", "old/public/users", "raw"))
SHORT = {"mail": "public/users.mail"}


def by_sql(query: str, fields: dict[str, str], *inputs: Json, columns: str | None = None) -> Json:
    insert = "" if query.startswith("with") else "INSERT INTO b (`mail`) "
    said = {"sql": facet(query=insert + query, dialect="spark")}
    return done(1, 1, writes("b", fields, columns=columns), of=inputs, job_facets=said)


CASES: list[Case] = [
    case(
        "R4 a name that is the end of one input means it",
        [done(1, 1, writes("b", SHORT), of=[USERS, RAW])],
        edges("data/public/users.mail > b.mail"),
        exposed("data/public/users.mail", "b.mail"),
        unused("data/public/users", {"mail": "used", "id": "unused"}),
    ),
    case(
        "R4 the end of a name is compared by parts and without case",
        [done(1, 1, writes("b", {"mail": "Public/USERS.mail", "x": "sers.mail"}), of=[USERS])],
        edges("data/public/users.mail > b.mail", "sers.mail > b.x"),
        unused("data/public/users", {"mail": "used", "id": "unknown: unlisted"}),
    ),
    case(
        "R4 a name that is the end of two inputs may mean both",
        [done(1, 1, writes("b", {**SHORT, "id": "data/public/users.id"}), of=[USERS, OTHERS, RAW])],
        unused("data/public/users", {"mail": "unknown: unlisted", "id": "used"}),
        unused("old/public/users", {"mail": "unknown: opaque", "id": "unknown: opaque"}),
        surface("data/public/users.mail", {"b.mail": "unknown"}),
        surface("raw.mail", {}),
        stops("data/public/users.id", "data/public/users"),
        upstream("b.mail", {"public/users.mail": "1"}),
    ),
    case(
        "R4 a name that is the end of no input may mean any",
        [done(1, 1, writes("b", {"mail": "else.mail", "id": "raw.id"}), of=[USERS, RAW])],
        unused("raw", {"mail": "unknown: unlisted", "id": "used"}),
        surface("raw.mail", {"b.mail": "unknown"}),
    ),
    case(
        "R4 a name that is the end of no input may mean another name that the run does not list",
        [
            done(1, 1, writes("b", {"mail": "else.mail", "id": "raw.id"}), of=[USERS]),
            done(2, 2, RAW, kind="START"),
        ],
        unused("raw", {"mail": "unknown: unlisted", "id": "used"}),
        surface("raw.mail", {"b.mail": "unknown"}),
    ),
    case(
        "R4 a name that may mean an input feeds no column over a filter",
        [done(1, 1, writes("b", {"mail": "raw.mail else.id?"}), of=[RAW])],
        unused("raw", {"mail": "used", "id": "unknown: unlisted"}),
        surface("raw.id", {}),
    ),
    case(
        "R4 a dataset that another run lists is no other name of an input",
        [done(1, 1, writes("b", {"mail": "else.mail", "id": "raw.id"}), of=[RAW]), done(2, 2, table("d"), of="else")],
        unused("raw", {"mail": "unused", "id": "used"}),
        surface("raw.mail", {}),
    ),
    case(
        "R4 a dataset that another run writes is no other name of an input, whenever it does",
        [done(1, 5, writes("b", {"mail": "else.mail", "id": "raw.id"}), of=[RAW]), done(2, 9, table("else"))],
        unused("raw", {"mail": "unused", "id": "used"}),
    ),
    case(
        "R4 another run that does not list the name either makes it no dataset",
        [done(n, n, writes("b", {"mail": "else.mail"}), of=[RAW], job=f"copy{n}") for n in (1, 2)],
        unused("raw", {"mail": "unknown: opaque", "id": "unknown: opaque"}),
        surface("raw.mail", {"b.mail": "unknown"}),
    ),
    case(
        "R4 a MERGE whose listener lists only its target",
        [done(1, 1, writes("b", {"mail": "raw.mail b.mail", "id": "b.id"}), of=[table("b", "mail id")])],
        edges("raw.mail > b.mail", "b.mail > b.mail", "b.id > b.id"),
        surface("raw.id", {}),
    ),
    case(
        "R4 a CTE is made of what the SQL says, not of an input with this end",
        [
            by_sql(
                "with users as (select * from raw) select o.mail, c.id from users o join other c on c.k = o.id",
                {"mail": "users.mail-"},
                *(USERS, RAW, table("other", "id k")),
                columns="mail id",
            )
        ],
        unused("raw", {"mail": "used", "id": "used"}),
        exposed("raw.mail", "b.mail"),
        surface("raw.id", {}),
        surface("data/public/users.mail", {}),
    ),
    case(
        "R4 a doubtful edge neither masks nor accounts for its column",
        [
            by_sql("SELECT 1 FROM raw AS users", {"mail": "users.mail#", "id": "raw.id"}, RAW),
            tagging(2, "b.mail"),
        ],
        unused("raw", {"mail": "unknown: unaccounted", "id": "used"}),
        tagged("#pii", {"b.mail": "exposed"}),
    ),
    case(
        "R4 SQL that contradicts the lineage explains no name in it",
        [
            by_sql(
                "SELECT s0.`mail` FROM raw AS s0, other AS users",
                {"mail": "users.mail", "id": "data/public/users.id"},
                USERS,
                RAW,
            )
        ],
        unused("data/public/users", {"mail": "unknown: unaccounted", "id": "used"}),
        surface("data/public/users.mail", {"b.mail": "unknown"}),
    ),
    case(
        "R4 without transformations, SQL that is read completely explains every name",
        [by_sql("SELECT s0.`mail` FROM raw AS s0", {"mail": "else.mail-"}, RAW)],
        edges("else.mail > b.mail", "raw.mail > b.mail"),
        surface("raw.id", {}),
    ),
    case(
        "R8.2 a doubtful edge leaves its column open to what the dataset is also made of",
        [
            by_sql(
                "SELECT s0.`mail` FROM gone AS s0, raw AS s1",
                {"mail": "s0.mail"},
                RAW,
            ),
            done(2, 2, writes("b", {"id": "data/public/users.id"}), of=[USERS]),
        ],
        surface("data/public/users.id", {"b.id": "exposed", "b.mail": "unknown"}),
    ),
]
