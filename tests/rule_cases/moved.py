"""R2.4, R10.10, R10.11: a name that moved to another location keeps its readers, sources and tags."""

from typing import Any

from tests.reference.world_events import Json, symlinks
from tests.rule_cases.accounts import of_dbt
from tests.rule_cases.case import case, impact, stops, surface, tagged, until, unused, upstream
from tests.rule_cases.events import begun, changes, declared, done, drop, table, tagging, writes

SRC = table("src", "mail other")


def linked(*names: str) -> dict[str, Any]:
    """Return a symlinks facet with the catalog names of a location."""
    return {"symlinks": symlinks(*(("hive://meta", f"db.{name}") for name in names))}


def load(number: int, second: float, location: str, *names: str, source: str = "src", **more: Any) -> Json:
    written = writes(location, {"mail": f"{source}.mail"}, **linked(*names))
    return done(number, second, written, of=[table(source, "mail other")], **more)


LOAD = load(1, 1, "old", "t", job="load")
REPORT = done(2, 2, writes("report", {"mail": "old.mail"}), of="old")
AGAIN = load(3, 5, "new", "t", job="load")
MOVED = [LOAD, REPORT, AGAIN]
SHOW = done(4, 6, writes("board", {"mail": "new.mail"}), of="new")
REWRITTEN = done(3, 5, writes("new", {"mail": ""}, says="OVERWRITE", **linked("t")), of="", job="touch")
TOUCHED = done(5, 5, table("new", "mail", **linked("t")), of="", job="touch")

CASES = [
    case(
        "R10.10 a reader of the old location counts for the new one",
        MOVED,
        unused("new", {"mail": "used"}),
        impact("new.mail", {"report.mail": "1 before"}),
        impact("src.mail", {"old.mail": "1", "new.mail": "1", "report.mail": "2"}),
    ),
    case(
        "R10.10 at a moment before the move the name means the old location",
        MOVED,
        unused("old", {"mail": "used"}),
        impact("old.mail", {"report.mail": "1"}),
        as_of=3,
    ),
    case(
        "R2.4 the columns of a former location are not judged with all others",
        MOVED,
        unused("old", {}),
    ),
    case(
        "R12.9 the surface has the columns that only lineage of the old location names",
        [LOAD, done(2, 2, writes("report", {"x": "old.extra"}), of="old"), TOUCHED],
        surface(
            "src.mail",
            {
                "old.mail": "exposed",
                "new.mail": "exposed",
                "old.extra": "unknown",
                "new.extra": "unknown",
                "report.x": "unknown",
            },
        ),
    ),
    case(
        "R8.2 a writer of a struct at the old location accounts for a column in it at the new one",
        [
            done(1, 1, writes("old", {"a": "src.mail#"}, **linked("t")), of=[SRC], job="load"),
            done(2, 2, writes("report", {"b": "new.a._value.b"}), of=[table("new", "=a.b", **linked("t"))]),
        ],
        surface("src.mail", {"old.a": "masked"}),
    ),
    case(
        "R2.4 a location that another name means is no former location",
        [load(1, 1, "old", "t", "u", job="load"), REPORT, AGAIN],
        unused("old", {"mail": "used"}),
        unused("new", {"mail": "used"}),
    ),
    case(
        "R2.4 a name that moves back makes the other location the former one",
        [*MOVED, SHOW, load(6, 9, "old", "t", job="load")],
        unused("new", {}),
        unused("old", {"mail": "used"}),
        impact("old.mail", {"report.mail": "1", "board.mail": "1"}),
    ),
    case(
        "R10.10 the new location alone has readers that use other columns",
        [
            done(1, 1, writes("old", {"a": "src.mail", "b": "src.other"}, **linked("t")), of=[SRC]),
            done(2, 2, writes("report", {"a": "old.a"}), of="old"),
            done(3, 5, writes("new", {"a": "src.mail", "b": "src.other"}, **linked("t")), of=[SRC]),
            done(4, 6, writes("board", {"b": "new.b"}), of="new"),
        ],
        unused("new", {"a": "used", "b": "used"}),
    ),
    case(
        "R10.10 a reader without column lineage at the old location hides what it uses at the new one",
        [LOAD, done(2, 2, table("report", "mail"), of="old"), AGAIN, SHOW],
        stops("new.mail", "new"),
    ),
    case(
        "R9 the columns of the old location count while no list is known of the new one",
        [LOAD, REPORT, done(3, 5, table("new", **linked("t")), of="", job="touch")],
        unused("new", {"mail": "used"}),
    ),
    case(
        "R9 a run that copies rows from one location of a name to another proves nothing unused",
        [LOAD, done(3, 5, writes("new", {"mail": "old.mail"}, **linked("t")), of=[table("old", "mail other")])],
        unused("new", {"mail": "used", "other": "unknown: never read"}),
    ),
    case(
        "R10.11 upstream goes on from the new location to what wrote the old one",
        [LOAD, TOUCHED, SHOW],
        upstream("board.mail", {"new.mail": "1", "old.mail": "1", "src.mail": "2"}),
        upstream("new.mail", {"src.mail": "1"}),
        impact("src.mail", {"old.mail": "1", "new.mail": "1", "board.mail": "2"}),
    ),
    case(
        "R10.11 tagged values in the old location reach what reads the new one",
        [LOAD, TOUCHED, SHOW],
        surface("src.mail", {"old.mail": "exposed", "new.mail": "exposed", "board.mail": "exposed"}),
    ),
    case(
        "R10.11 a reader of the new location without column lineage may show what the old one has",
        [LOAD, TOUCHED, done(4, 6, table("board", "m n"), of="new")],
        surface("src.mail", {"old.mail": "exposed", "new.mail": "exposed", "board.m": "unknown", "board.n": "unknown"}),
    ),
    case(
        "R10.11 a list that is not complete does not show which columns an opaque write put into the old location",
        [
            done(1, 1, table("old", **linked("t")), of=[SRC]),
            TOUCHED,
            done(2, 6, writes("old", {"own": "else.own#"}), of="else", job="append"),
        ],
        surface("src.mail", {"old.own": "unknown", "new.own": "unknown", "new.mail": "unknown"}),
    ),
    case(
        "R10.11 a location that was dropped before the name left it brings no rows along",
        [LOAD, drop(7, 3, "old"), load(3, 5, "new", "t", source="clean", job="load"), SHOW],
        upstream("board.mail", {"new.mail": "1", "clean.mail": "2"}),
        surface("src.mail", {}),
    ),
    case(
        "R10.11 rows move on through a location that several names connect",
        [
            load(1, 1, "a", "t", job="load"),
            done(2, 3, table("b", "mail", **linked("t", "u")), of="", job="touch"),
            done(3, 5, table("c", "mail", **linked("u")), of="", job="touch"),
            done(4, 6, writes("board", {"mail": "c.mail"}), of="c"),
        ],
        upstream("board.mail", {"c.mail": "1", "b.mail": "1", "a.mail": "1", "src.mail": "2"}),
    ),
    case(
        "R6.7 a sign of partitions at one location of a name counts for the others",
        [
            LOAD,
            done(6, 3, writes("old", {"mail": "src.mail#"}, says="OVERWRITE", **linked("t")), of=[SRC], job="load"),
            TOUCHED,
            done(7, 6, of="new/day=1"),
        ],
        until("src.mail", {"old.mail": 1, "new.mail": 1}),
    ),
    case(
        "R12.6 with such a sign, an OVERWRITE at another location lists no complete columns",
        [
            done(1, 1, table("old", "mail", **linked("t")), of=""),
            done(2, 2, of="old/day=1"),
            done(3, 5, table("new", "mail extra", **linked("t")), of=""),
            done(4, 6, changes("new", "OVERWRITE", "mail"), of=""),
        ],
        unused("new", {"mail": "unknown: never read", "extra": "unknown: never read"}),
    ),
    case(
        "R10.8 a tag on the old location holds at the new one, and the other way round",
        [LOAD, TOUCHED, SHOW, tagging(2, "old.mail"), tagging(7, "new.other", "secret")],
        tagged("#pii", {"old.mail": "exposed", "new.mail": "exposed"}),
        surface("#pii", {"board.mail": "exposed"}),
    ),
    case(
        "R2.3 of two bindings at one instant the larger location is none of the name",
        [
            load(1, 1, "old", "t", job="load"),
            REPORT,
            load(3, 1, "pld", "t", job="other"),
        ],
        unused("pld", {"mail": "unknown: never read"}),
        unused("old", {"mail": "used"}),
    ),
    case(
        "R12.9 behind a base list, other locations add what lineage names later and what is declared",
        [LOAD, REPORT, declared(2, writes("kept", {"x": "old.id"}), job="kept"), REWRITTEN],
        unused("new", {"mail": "used", "id": "used"}),
    ),
    case(
        "R10.11 the column of a map is the same at a location where no list shows the map",
        [
            done(1, 1, writes("old", {"m": "src.mail"}, columns="m._key m._value.e", **linked("t")), of=[SRC]),
            done(2, 5, writes("new", {"k": ""}, **linked("t")), of="", job="touch"),
            done(3, 6, writes("board", {"x": "new.m._value.e"}), of="new"),
        ],
        impact("src.mail", {"old.m": "1", "old.m._key": "1", "old.m.e": "1", "new.m._value.e": "1", "board.x": "2"}),
    ),
    case(
        "R12.3 lineage of a run that did not complete names columns of the location that a name left",
        [
            LOAD,
            done(2, 5, table("new", "mail", **linked("t")), of="", job="touch"),
            begun(3, 6, writes("board", {"x": "new.other"}), of="new"),
            done(4, 7, writes("old", {"other": "src.other"}, **linked("u")), of=[SRC]),
        ],
        surface("src.other", {"old.other": "exposed", "new.other": "exposed", "board.x": "unknown"}),
    ),
    case(
        "R10.11 unknown columns that no list names may be any column of the location that the name moved to",
        [
            done(1, 1, table("old", **linked("t")), of=[SRC], job="load"),
            of_dbt(done(2, 5, writes("new", {"id": "src.id"}, columns="mail", **linked("t")), of="src", job="touch")),
        ],
        surface("src.mail", {"old.None": "unknown", "new.None": "unknown", "new.id": "unknown", "new.mail": "unknown"}),
    ),
    case(
        "R12.2 a question may spell a column as the location that the name left lists it",
        [
            done(1, 1, writes("old", {"m.e": "src.mail"}, columns="m._key m._value.e", **linked("t")), of=[SRC]),
            done(2, 5, table("new", "m", **linked("t")), of="", job="touch"),
        ],
        upstream("new.m._value.e", {"src.mail": "1"}),
        upstream("new.m.e", {"src.mail": "1"}),
    ),
]
