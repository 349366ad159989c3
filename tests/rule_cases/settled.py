"""Cases from random worlds in which two readings of docs/reference/lineage.md differed, until its text was
clarified.
"""

from tests.reference.world_events import at, dataset, dataset_event, symlinks
from tests.rule_cases.case import Case, case, dropped, edges, exposed, impact, surface, unused, upstream
from tests.rule_cases.events import (
    begun,
    changes,
    declared,
    done,
    drop,
    entry,
    lineage,
    rename,
    t,
    table,
    tagging,
    writes,
)

SRC = table("src", "x y")
LOAD = done(1, 1, writes("s", {"x": "src.x"}), of=[SRC])
DROP = drop(3, 5, "s")
READ = done(4, 7, writes("b", {"x": "s.x"}), of="s")

LIVES = [
    case(
        "R1 the START of a RENAME proves nothing of what the RENAME ends",
        [LOAD, DROP, READ, rename(5, 6, "s_new", "s", kind="START"), rename(5, 9, "s_new", "s")],
        upstream("b.x", {"src.x": "2"}),
        exposed("src.x", "b.x"),
    ),
    case(
        "R1 read after a DROP and before a RENAME of what nobody wrote: what lived before is read",
        [LOAD, DROP, READ, rename(5, 9, "s", "s_old")],
        upstream("b.x", {"src.x": "2"}),
        exposed("src.x", "b.x"),
    ),
    case(
        "R1 read after a DROP and a RENAME of what nobody wrote: what was renamed had lived last",
        [LOAD, DROP, rename(5, 6, "s", "s_old"), READ],
        upstream("b.x", {"s_old.x": "1"}),
        exposed("s_old.x", "b.x"),
    ),
    case(
        "R1 a table that reads itself before it is renamed read what its name meant before",
        [
            done(1, 1, writes("s_new", {"x": "src.x"}), of=[SRC]),
            rename(2, 2, "s_new", "s"),
            done(3, 3, writes("s_new", {"x": "s_new.x"}), of="s_new"),
            rename(4, 4, "s_new", "s"),
        ],
        edges("src.x > s@2.x", "s@2.x > s@4.x"),
        exposed("src.x", "s.x"),
    ),
    case(
        "R1 what is written to a name lives before it is renamed, and is read there",
        [
            LOAD,
            drop(2, 2, "s"),
            begun(4, 3),
            done(5, 4, writes("s", {"x": "crm.x"}), of="crm"),
            done(4, 7, writes("b", {"x": "s.x"}), of="s"),
            rename(6, 9, "s", "gold"),
        ],
        upstream("b.x", {"gold.x": "1", "crm.x": "2"}),
        exposed("crm.x", "gold.x", "b.x"),
        surface("src.x", {}),
    ),
    case(
        "R1 a dataset that only a lineage facet names as written was made again",
        [LOAD, DROP, done(4, 7, run_facets=lineage(entry("s", {"x": "crm.x"})), of="crm")],
        dropped(),
        impact("crm.x", {"s.x": "1"}),
        surface("crm.x", {"s.x": "exposed", "s.None": "unknown"}),
    ),
    case(
        "R1 a lineage facet that says nothing makes nothing live",
        [LOAD, DROP, done(4, 7, run_facets=lineage(entry("s", {})))],
        dropped("s"),
        unused("s", {}),
    ),
    case(
        "R1 what a run drops it does not write, though its COMPLETE names it without a word",
        [LOAD, begun(3, 5, changes("s", "DROP")), done(3, 6, table("s"))],
        dropped("s"),
        unused("s", {}),
    ),
    case(
        "R1 DROP and RENAME at one instant: what was renamed is there, declared or not",
        [
            done(1, 1, writes("s_new", {"x": "src.x"}), of=[SRC]),
            drop(3, 5, "s"),
            rename(4, 5, "s_new", "s"),
            declared(7, writes("b", {"x": "s.x"}), "s"),
        ],
        dropped(),
        upstream("b.x", {"s.x": "1", "src.x": "2"}),
        exposed("src.x", "s.x", "b.x"),
    ),
]

SCHEMAS = [
    case(
        "R9 what is declared by a clock ahead displaces nothing, under whatever name",
        [
            done(1, 1, table("s", symlinks=symlinks(("hive://h", "db.s")))),
            dataset_event(at(2), writes(("hive://h", "db.s"), {"x": "src.x"})),
            dataset_event(at(3 * 86_400), dataset(t("s"))),
        ],
        impact("src.x", {"s.x": "1"}),
        exposed("src.x", "s.x"),
    ),
    case(
        "R9 a DROP that failed at the same instant still adds its columns",
        [
            begun(1, 2, table("a", "x")),
            done(2, 2, changes("a", "DROP", "y"), kind="FAIL"),
        ],
        unused("a", {"x": "unknown: never read", "y": "unknown: never read"}),
    ),
    case(
        "R4 a table that was renamed and made again without a schema has the columns that its name had last",
        [
            done(1, 1, table("a", "x")),
            drop(2, 2, "a"),
            done(3, 3, table("a", "y")),
            rename(4, 4, "a", "a_old"),
            done(5, 5, table("a")),
        ],
        unused("a", {"y": "unknown: never read"}),
    ),
]

OLD = table("a", "s.t o")
READERS = [
    case(
        "R3 a column that older generations had whole: who read it whole reads it",
        [
            done(1, 1, writes("b", {"x": "a.s"}), of=[table("a", "s")]),
            drop(2, 2, "a"),
            done(3, 3, writes("a", {"s.t": "src.x"}), of=[SRC]),
        ],
        impact("a.s.t", {"b.x": "1 before"}),
        impact("src.x", {"a.s": "?", "a.s.t": "1", "b.x": "2 before"}),
    ),
    case(
        "R3 a column that older generations had in parts: who read a part reads it",
        [
            done(1, 1, writes("b", {"x": "a.s.t"}), of=[OLD]),
            drop(2, 2, "a"),
            done(3, 3, writes("a", {"s": "src.x"}), of=[SRC]),
        ],
        impact("a.s", {"b.x": "1 before"}),
        impact("src.x", {"a.s": "1", "b.x": "2 before"}),
    ),
    case(
        "R3 a child goes with its parent over readers of older generations, too",
        [
            done(1, 1, writes("b", {"s": "a.s"}, columns="s.t"), of=[OLD]),
            drop(2, 2, "a"),
            done(3, 3, writes("a", {"s.t": "src.x"}), of=[SRC]),
        ],
        impact("a.s.t", {"b.s": "1 before", "b.s.t": "1 before"}),
    ),
    case(
        "R4 nested by turns: who read the column in a struct used the struct",
        [
            done(1, 1, writes("b", {"x": "a.s.t"}), of=[OLD]),
            drop(2, 2, "a"),
            done(3, 3, table("a", "s =s.t o")),
        ],
        unused("a", {"s": "used", "s.t": "used", "o": "unused"}),
    ),
    case(
        "R4 told apart by turns: who read either spelling used both",
        [
            done(1, 1, writes("b", {"x": "a.mail"}), of=[table("a", "mail o")]),
            drop(2, 2, "a"),
            done(3, 3, table("a", "Mail mail o")),
        ],
        unused("a", {"Mail": "used", "mail": "used", "o": "unused"}),
    ),
    case(
        "R4 old code that read an older generation opaquely reads no more",
        [
            done(1, 1, table("b", "k"), of=[table("a", "x y")], job="make"),
            done(2, 2, writes("c", {"k": "b.k"}), of="b"),
            drop(3, 3, "a"),
            drop(4, 4, "b"),
            done(5, 5, table("a", "x y")),
            done(6, 6, writes("b", {"k": "a.x"}), of="a", job="make"),
        ],
        unused("a", {"x": "used", "y": "unused"}),
    ),
    case(
        "R4 what was dropped and went on into a table without column lineage is used",
        [
            done(1, 1, writes("b", {"x": "a.x"}), of=[table("a", "x y")], job="make"),
            done(2, 2, table("c", "k"), of="b"),
            drop(3, 3, "b"),
            done(4, 4, writes("b", {"x": ""}), job="make"),
        ],
        unused("a", {"x": "used", "y": "unused"}),
    ),
    case(
        "R4 an output that is its own input beside a lineage facet is opaquely written from itself",
        [done(1, 1, table("a", "x y"), of="a", run_facets=lineage(entry("b", {"k": "a.x"})))],
        unused("a", {"x": "used", "y": "unknown: opaque"}),
        surface("a.x", {"b.k": "exposed", "b.None": "unknown", "a.y": "unknown"}),
    ),
    case(
        "R2 who names a struct that nothing feeds names what is nested in it",
        [done(1, 1, table("b", "s.t x"), of=[SRC], run_facets=lineage(entry("b", {"s": "", "x": "src.x"})))],
        exposed("src.x", "b.x"),
    ),
    case(
        "R2 who names a nested column that nothing feeds names what it is nested in",
        [done(1, 1, table("b", "s.t x"), of=[SRC], run_facets=lineage(entry("b", {"s.t": "", "x": "src.x"})))],
        exposed("src.x", "b.x"),
    ),
]

SWAPPED = [
    done(1, 1, writes("s_new", {"x": "src.x"}), of=[SRC]),
    tagging(2, "s_new.x"),
    rename(3, 3, "s_new", "s"),
    done(4, 4, writes("b", {"x": "s.x"}), of="s"),
]

TAGS = [
    case("R8 a tag goes where a rename carries what stands there", SWAPPED, exposed("#pii", "b.x")),
    case(
        "R8 what the new name is said to be takes back what was said under the old one",
        [*SWAPPED, tagging(5, "s.x", value="false")],
        surface("#pii", {}),
    ),
    case(
        "R8 a tag that is denied of what a rename carried away stays on the name that it was put on",
        [
            LOAD,
            tagging(2, "s.x"),
            rename(3, 3, "s", "s_old"),
            done(4, 4, writes("s", {"x": "crm.x"}), of="crm"),
            done(5, 5, writes("b", {"x": "s.x"}), of="s"),
            done(6, 6, writes("c", {"x": "s_old.x"}), of="s_old"),
            tagging(7, "s_old.x", value="false"),
        ],
        exposed("#pii", "b.x"),
    ),
]

CASES: list[Case] = [*LIVES, *SCHEMAS, *READERS, *TAGS]
