"""R1: DROP and RENAME end generations. Lineage continues through them, and readers survive a re-creation."""

from tests.reference.world_events import Json, symlinks
from tests.rule_cases.case import (
    Case,
    case,
    dropped,
    edges,
    exposed,
    impact,
    stops,
    surface,
    unused,
    upstream,
)
from tests.rule_cases.events import (
    begun,
    below,
    changes,
    declared,
    done,
    drop,
    going,
    rename,
    table,
    tagging,
    writes,
)

INSTANT = "'the newest generation that lived between': whether one that ended at that very instant lived then."
SRC = table("src", "mail other")
LOAD = done(1, 1, writes("tmp", {"mail": "src.mail"}), of=[SRC])
USE = done(2, 2, writes("target", {"mail": "tmp.mail"}), of="tmp")
CHAIN = [LOAD, USE]
CHAINED = [*CHAIN, drop(3, 5, "tmp")]
OTHER = done(4, 7, writes("tmp", {"mail": "crm.mail"}), of=[table("crm", "mail")])
AFTER = done(5, 8, writes("after", {"mail": "tmp.mail"}), of="tmp")

DROPS = [
    case(
        "R7.3 a failed run that may have written a renamed stage again does not hide where its rows went",
        [
            LOAD,
            rename(2, 3, "tmp", "target"),
            begun(3, 5, table("tmp"), job="again"),
            done(3, 6, kind="FAIL", job="again"),
        ],
        upstream("tmp.mail", {"src.mail": "1"}),
        upstream("target.mail", {"src.mail": "1"}),
        impact("src.mail", {"target.mail": "1"}),
    ),
    case(
        "R7.3 a failed run that may have written a dropped stage again does not hide what it was made of",
        [*CHAINED, begun(6, 7, table("tmp"), job="again"), done(6, 8, kind="FAIL", job="again")],
        upstream("tmp.mail", {"src.mail": "1"}),
        impact("tmp.mail", {"target.mail": "1"}),
    ),
    case(
        "R1 a stage dropped in the middle: the target comes from the source",
        CHAINED,
        dropped("tmp"),
        impact("src.mail", {"target.mail": "2"}),
        upstream("target.mail", {"src.mail": "2"}),
        exposed("src.mail", "target.mail"),
        unused("src", {"mail": "used", "other": "unused"}),
        unused("tmp", {}),
        edges("src.mail > tmp.mail", "tmp.mail > target.mail"),
    ),
    case(
        "R1 asking about the dropped stage answers, and so does a tag on it",
        CHAINED,
        impact("tmp.mail", {"target.mail": "1"}),
        upstream("tmp.mail", {"src.mail": "1"}),
        exposed("tmp.mail", "target.mail"),
    ),
    case(
        "R1 a tag that the dropped stage had while it lived",
        [*CHAINED, tagging(3, "tmp.mail")],
        exposed("#pii", "target.mail"),
    ),
    case(
        "R1 a tag set on the dropped stage after its DROP",
        [*CHAINED, tagging(9, "tmp.mail")],
        exposed("#pii", "target.mail"),
    ),
    case(
        "R1 a dataset dropped at the end is no result",
        [*CHAIN, drop(3, 5, "target")],
        dropped("target"),
        impact("src.mail", {"tmp.mail": "1"}),
        exposed("src.mail", "tmp.mail"),
        upstream("target.mail", {"tmp.mail": "1", "src.mail": "2"}),
        unused("target", {}),
    ),
    case(
        "R1 what the newest execution of a job reads is used though its output was dropped",
        [*CHAIN, drop(3, 5, "target")],
        unused("tmp", {"mail": "used"}),
        doubt="`used`: 'into a generation that is not dropped or leads on' against 'or one of a current reader'.",
    ),
    case(
        "R1 a dropped source: its copies stay reached by a tag on it",
        [*CHAIN, drop(3, 5, "src")],
        dropped("src"),
        impact("src.mail", {"tmp.mail": "1", "target.mail": "2"}),
        exposed("src.mail", "tmp.mail", "target.mail"),
        upstream("target.mail", {"tmp.mail": "1"}),
        unused("src", {}),
    ),
    case(
        "R1 two dropped stages in a row",
        [
            *CHAIN,
            done(3, 3, writes("end", {"mail": "target.mail"}), of="target"),
            drop(4, 5, "tmp"),
            drop(5, 6, "target"),
        ],
        dropped("tmp", "target"),
        impact("src.mail", {"end.mail": "3"}),
        upstream("end.mail", {"src.mail": "3"}),
        exposed("src.mail", "end.mail"),
        unused("src", {"mail": "used", "other": "unused"}),
    ),
    case(
        "R1 as of a moment before the DROP nothing is dropped",
        CHAINED,
        dropped(),
        impact("src.mail", {"tmp.mail": "1", "target.mail": "2"}),
        unused("tmp", {"mail": "used"}),
        as_of=4,
    ),
    case(
        "R1 a masking step before a dropped stage still masks",
        [
            done(1, 1, writes("tmp", {"mail": "src.mail#"}), of=[SRC]),
            USE,
            drop(3, 5, "tmp"),
        ],
        surface("src.mail", {"target.mail": "masked"}),
        impact("src.mail", {"target.mail": "2 masked"}),
        upstream("target.mail", {"src.mail": "2 masked"}),
    ),
    case(
        "R1 an opaque writer of a dropped stage leaves what it fed unknown",
        [
            done(1, 1, table("tmp", "mail"), of=[SRC]),
            USE,
            drop(3, 5, "tmp"),
        ],
        surface("src.mail", {"target.mail": "unknown"}),
        unused("src", {"mail": "unknown: opaque", "other": "unknown: opaque"}),
        stops("src.mail", "src"),
    ),
    case(
        "R1 an opaque reader of a dropped stage leaves its output unknown",
        [LOAD, done(2, 2, table("target", "p q"), of="tmp"), drop(3, 5, "tmp")],
        surface("src.mail", {"target.p": "unknown", "target.q": "unknown"}),
        surface("tmp.mail", {"target.p": "unknown", "target.q": "unknown"}),
        unused("src", {"mail": "used", "other": "unused"}),
    ),
    case(
        "R1 a way that goes on from a dropped stage without columns is a stop",
        [LOAD, done(2, 2, table("target", "p q"), of="tmp"), drop(3, 5, "tmp")],
        stops("src.mail", "tmp"),
        doubt="Stops: whether a dropped dataset is named as one; without it the answer looks complete.",
    ),
    case(
        "R1 a DROP that START and COMPLETE both report is one",
        [*CHAIN, drop(3, 4, "tmp", kind="START"), drop(3, 5, "tmp"), OTHER, AFTER],
        dropped(),
        upstream("after.mail", {"tmp.mail": "1", "crm.mail": "2"}),
        upstream("target.mail", {"src.mail": "2"}),
        edges("src.mail > tmp.mail", "tmp.mail > target.mail", "crm.mail > tmp@3.mail", "tmp@3.mail > after.mail"),
    ),
    case(
        "R1 a DROP that only START reports ends the generation once the run is complete",
        [*CHAIN, drop(3, 4, "tmp", kind="START"), done(3, 9, job="drop tmp"), OTHER, AFTER],
        dropped(),
        upstream("after.mail", {"tmp.mail": "1", "crm.mail": "2"}),
        upstream("target.mail", {"src.mail": "2"}),
    ),
    case(
        "R1 a DROP reported by two runs leaves the same as one",
        [*CHAIN, drop(3, 5, "tmp"), drop(6, 6, "tmp", job="again"), OTHER, AFTER],
        dropped(),
        upstream("after.mail", {"tmp.mail": "1", "crm.mail": "2"}),
        exposed("src.mail", "target.mail"),
        exposed("crm.mail", "tmp.mail", "after.mail"),
        edges("src.mail > tmp.mail", "tmp.mail > target.mail", "crm.mail > tmp@6.mail", "tmp@6.mail > after.mail"),
    ),
    case(
        "R1 of two DROPs at one instant the smaller run names the generation",
        [*CHAIN, drop(6, 5, "tmp"), drop(3, 5, "tmp", job="again"), OTHER],
        edges("src.mail > tmp.mail", "tmp.mail > target.mail", "crm.mail > tmp@3.mail"),
    ),
    *(
        case(
            f"R1 a DROP in a run that ends with {kind} ends nothing",
            [*CHAIN, drop(3, 5, "tmp", kind=kind)],
            dropped(),
            impact("src.mail", {"tmp.mail": "1", "target.mail": "2"}),
        )
        for kind in ("FAIL", "ABORT", "START", "OTHER")
    ),
    case(
        "R1 a FAIL that comes after the DROP's COMPLETE takes the DROP back",
        [*CHAINED, drop(3, 6, "tmp", kind="FAIL"), OTHER],
        dropped(),
        upstream("target.mail", {"tmp.mail": "1", "src.mail": "2", "crm.mail": "2"}),
    ),
    case(
        "R1 a stream that has not ended drops nothing",
        [*CHAIN, going(3, 5, changes("tmp", "DROP"))],
        dropped(),
        impact("src.mail", {"tmp.mail": "1", "target.mail": "2"}),
    ),
    *(
        case(
            f"R1 {change} ends no generation",
            [*CHAIN, done(3, 5, changes("tmp", change))],
            dropped(),
            impact("src.mail", {"tmp.mail": "1", "target.mail": "2"}),
            edges("src.mail > tmp.mail", "tmp.mail > target.mail"),
        )
        for change in ("TRUNCATE", "OVERWRITE", "ALTER", "CREATE")
    ),
    case(
        "R1 a write at the instant of the DROP is of the coming generation",
        [*CHAINED, done(4, 5, writes("tmp", {"mail": "crm.mail"}), of="crm")],
        dropped(),
        exposed("crm.mail", "tmp.mail"),
        exposed("src.mail", "target.mail"),
        edges("src.mail > tmp.mail", "tmp.mail > target.mail", "crm.mail > tmp@3.mail"),
    ),
    case(
        "R1 a reader that ends at the instant of the DROP read what lived since it began",
        [LOAD, begun(2, 4), done(2, 5, writes("target", {"mail": "tmp.mail"}), of="tmp"), drop(3, 5, "tmp")],
        exposed("src.mail", "target.mail"),
    ),
    case(
        "R1 a reader with one event at the instant of the DROP read what lived until then",
        [LOAD, done(2, 5, writes("target", {"mail": "tmp.mail"}), of="tmp"), drop(3, 5, "tmp")],
        exposed("src.mail", "target.mail"),
        unused("src", {"mail": "used", "other": "unused"}),
        doubt=INSTANT,
    ),
    case(
        "R1 DROP through the name of the catalogue ends the generation at the location",
        [
            done(1, 1, writes("tmp", {"mail": "src.mail"}, symlinks=symlinks(("hive://meta", "db.tmp"))), of=[SRC]),
            USE,
            drop(3, 5, ("hive://meta", "db.tmp")),
        ],
        dropped("tmp"),
        impact("src.mail", {"target.mail": "2"}),
        exposed("src.mail", "target.mail"),
    ),
]

RUN_THAT_ENDS = [
    case(
        "R1 an orchestrator's COMPLETE after its child's DROP means what was dropped",
        [
            LOAD,
            begun(10, 1.5),
            drop(3, 5, "tmp", under=below(10)),
            done(10, 9, writes("target", {"mail": "tmp.mail"}), of="tmp"),
        ],
        exposed("src.mail", "target.mail"),
        upstream("target.mail", {"src.mail": "2"}),
        unused("src", {"mail": "used", "other": "unused"}),
        dropped("tmp"),
    ),
    case(
        "R1 an orchestrator with one event, after its child's DROP, read what was dropped",
        [
            LOAD,
            drop(3, 5, "tmp", under=below(10)),
            done(10, 9, writes("target", {"mail": "tmp.mail"}), of="tmp"),
        ],
        exposed("src.mail", "target.mail"),
        unused("src", {"mail": "used", "other": "unused"}),
        doubt="'where none lived, the generation that any mention means': that one never lived, the way is lost.",
    ),
    case(
        "R1 an orchestrator's COMPLETE after DROP and re-creation means the newest that lived while it ran",
        [
            LOAD,
            begun(10, 1.5),
            drop(3, 5, "tmp"),
            OTHER,
            done(10, 9, writes("target", {"mail": "tmp.mail"}), of="tmp"),
        ],
        exposed("crm.mail", "tmp.mail", "target.mail"),
        surface("src.mail", {}),
    ),
    case(
        "R1 a run that drops its own input after reading it read the one that it ends",
        [
            LOAD,
            begun(10, 3, table("target"), changes("tmp", "DROP"), of="tmp"),
            done(10, 9, writes("target", {"mail": "tmp.mail"}), changes("tmp", "DROP"), of="tmp"),
        ],
        exposed("src.mail", "target.mail"),
        dropped("tmp"),
        upstream("target.mail", {"src.mail": "2"}),
    ),
    case(
        "R1 an input that only START lists, dropped before COMPLETE",
        [
            LOAD,
            begun(2, 3, writes("target", {"mail": "tmp.mail"}), of="tmp"),
            drop(3, 5, "tmp"),
            done(2, 9, table("target", "mail")),
        ],
        exposed("src.mail", "target.mail"),
        upstream("target.mail", {"src.mail": "2"}),
    ),
    case(
        "R1 a table kept in memory, dropped, and written anew out of itself",
        [
            done(1, 1, writes("t", {"mail": "src.mail"}), of=[SRC]),
            drop(2, 2, "t"),
            begun(3, 3, writes("t", {"mail": "t.mail"}), of="t"),
            done(3, 4, writes("t", {"mail": "t.mail"}), of="t"),
        ],
        dropped(),
        exposed("src.mail", "t.mail"),
        doubt="An input may mean a generation that lives only by what the run itself writes: the way is lost.",
    ),
    case(
        "R1 two sources of one run, one dropped and made anew since",
        [
            LOAD,
            begun(2, 3),
            drop(3, 5, "tmp"),
            done(2, 9, writes("target", {"mail": "tmp.mail", "id": "crm.id"}), of=[table("tmp"), table("crm", "id")]),
            done(4, 10, writes("tmp", {"mail": "crm.id"}), of="crm"),
        ],
        exposed("src.mail", "target.mail"),
        exposed("crm.id", "target.id", "tmp.mail"),
        upstream("target.mail", {"src.mail": "2"}),
        impact("crm.id", {"target.id": "1", "tmp.mail": "1", "target.mail": "2 before"}),
    ),
    case(
        "R1 a run that rebuilds a stage out of another and drops that: both stories hold",
        [
            LOAD,
            done(2, 3, writes("tmp2", {"mail": "tmp.mail"}), changes("tmp", "DROP"), of="tmp"),
            done(4, 4, writes("target", {"mail": "tmp2.mail"}), changes("tmp2", "DROP"), of="tmp2"),
        ],
        exposed("src.mail", "target.mail"),
        impact("src.mail", {"target.mail": "3"}),
        dropped("tmp", "tmp2"),
        doubt=INSTANT,
    ),
    case(
        "R1 a run that drops a dataset and makes it anew leaves it alive",
        [
            begun(1, 1, changes("t", "DROP"), of=[SRC]),
            done(1, 5, writes("t", {"mail": "src.mail"}, says="CREATE"), of=[SRC]),
        ],
        dropped(),
        exposed("src.mail", "t.mail"),
        doubt="A run whose newest word is CREATE after its own DROP: 'an output of another run' never lets it live.",
    ),
    case(
        "R1 a writer that runs across the DROP writes to both",
        [
            begun(1, 1, writes("t", {"mail": "src.mail"}), of=[SRC]),
            drop(3, 5, "t"),
            done(1, 9, writes("t", {"mail": "src.mail"}), of=[SRC]),
        ],
        dropped(),
        exposed("src.mail", "t.mail"),
    ),
    case(
        "R1 a writer that runs across the DROP and names columns only before it is opaque after it",
        [
            begun(1, 1, writes("t", {"mail": "src.mail"}), of=[SRC]),
            drop(3, 5, "t"),
            done(1, 9, table("t", "mail"), of=[SRC]),
        ],
        dropped(),
        surface("src.mail", {"t.mail": "unknown"}),
        unused("src", {"mail": "used", "other": "unknown: opaque"}),
        doubt="Whether a facet of START counts for the generation that COMPLETE means.",
    ),
]

AGAIN = [
    case(
        "R1 re-creation by another job brings nothing of the old generation back",
        [*CHAINED, OTHER, AFTER],
        dropped(),
        upstream("after.mail", {"tmp.mail": "1", "crm.mail": "2"}),
        upstream("target.mail", {"src.mail": "2"}),
        upstream("tmp.mail", {"crm.mail": "1"}),
        exposed("src.mail", "target.mail"),
        exposed("crm.mail", "tmp.mail", "after.mail"),
        impact("src.mail", {"target.mail": "2"}),
        impact("crm.mail", {"tmp.mail": "1", "after.mail": "2", "target.mail": "2 before"}),
        impact("tmp.mail", {"after.mail": "1", "target.mail": "1 before"}),
        exposed("tmp.mail", "after.mail", "target.mail"),
        unused("src", {"mail": "used", "other": "unused"}),
        unused("tmp", {"mail": "used"}),
        edges("src.mail > tmp.mail", "tmp.mail > target.mail", "crm.mail > tmp@3.mail", "tmp@3.mail > after.mail"),
    ),
    case(
        "R1 re-creation by the same job with another source",
        [
            done(1, 1, writes("tmp", {"mail": "src.mail"}), of=[SRC], job="load"),
            USE,
            drop(3, 5, "tmp"),
            done(4, 7, writes("tmp", {"mail": "src.other"}), of=[SRC], job="load"),
            AFTER,
        ],
        upstream("after.mail", {"tmp.mail": "1", "src.other": "2"}),
        upstream("target.mail", {"src.mail": "2"}),
        exposed("src.mail", "target.mail"),
        exposed("src.other", "tmp.mail", "after.mail"),
        unused("src", {"mail": "used", "other": "used"}),
    ),
    case(
        "R1 re-creation by the same job: what only the dropped generation took, and nobody read on, is unused",
        [
            done(1, 1, writes("tmp", {"mail": "src.mail"}), of=[SRC], job="load"),
            drop(3, 5, "tmp"),
            done(4, 7, writes("tmp", {"mail": "src.other"}), of=[SRC], job="load"),
            AFTER,
        ],
        surface("src.mail", {}),
        impact("src.mail", {}),
        unused("src", {"mail": "unused", "other": "used"}),
    ),
    case(
        "R1 re-creation without columns: the new generation has none of the old ones",
        [*CHAINED, done(4, 7, table("tmp", "mail"), of=[table("crm", "mail")]), AFTER],
        exposed("src.mail", "target.mail"),
        surface("crm.mail", {"tmp.mail": "unknown", "after.mail": "unknown"}),
        upstream("after.mail", {"tmp.mail": "1"}),
        unused("crm", {"mail": "unknown: opaque"}),
    ),
    case(
        "R1 re-creation without inputs or columns has no upstream",
        [*CHAINED, done(4, 7, changes("tmp", "CREATE")), AFTER],
        dropped(),
        upstream("after.mail", {"tmp.mail": "1"}),
        upstream("tmp.mail", {}),
        exposed("src.mail", "target.mail"),
    ),
    *(
        case(
            f"R1 a re-creation that ends with {kind} may have made the dataset anew",
            [*CHAINED, done(4, 7, writes("tmp", {"mail": "crm.mail"}), of="crm", kind=kind)],
            dropped(),
            surface("crm.mail", {"tmp.mail": "unknown"}),
            exposed("src.mail", "target.mail"),
        )
        for kind in ("START", "FAIL")
    ),
    case(
        "R1 a stream makes a dropped dataset live again from its first event on",
        [*CHAINED, going(4, 7, writes("tmp", {"mail": "crm.mail"}), of="crm")],
        dropped(),
        exposed("crm.mail", "tmp.mail"),
    ),
    case(
        "R1 re-created with another schema, the newest generation's is judged",
        [*CHAINED, done(4, 7, writes("tmp", {"mail": "crm.mail", "new": "crm.mail"}), of="crm")],
        unused("tmp", {"mail": "used", "new": "unused"}),
    ),
    case(
        "R1 re-created without a schema, the one before it is judged",
        [*CHAINED, done(4, 7, writes("tmp", {"mail": "crm.mail"}, columns=""), of="crm")],
        unused("tmp", {"mail": "used"}),
    ),
    case(
        "R1 what is read after re-creation is reached in the new generation's columns only",
        [
            done(1, 1, writes("tmp", {"k": "src.mail"}), of=[SRC]),
            drop(3, 5, "tmp"),
            done(4, 7, writes("tmp", {"k": "crm.id"}), of=[table("crm", "id")]),
            done(5, 8, writes("public", {"k": "tmp.k"}), of="tmp"),
        ],
        surface("src.mail", {}),
        exposed("crm.id", "tmp.k", "public.k"),
        unused("src", {"mail": "used", "other": "unused"}),
    ),
]


def nights(number: int) -> list[Json]:
    """Return nights of 100 s that load a stage, use it and drop it. The runs are 11, 12, 13, then 21 and so on."""
    return [
        event
        for night in range(1, number + 1)
        for event in (
            done(10 * night + 1, 100 * night + 1, writes("tmp", {"mail": "src.mail"}), of=[SRC], job="load"),
            done(10 * night + 2, 100 * night + 2, writes("target", {"mail": "tmp.mail"}), of="tmp", job="use"),
            drop(10 * night + 3, 100 * night + 3, "tmp"),
        )
    ]


SENT = done(9, 900, writes("sent", {"mail": "target.mail"}), of="target")
EVERY_NIGHT = [
    case(
        "R1 a stage that is loaded, used and dropped every night",
        [*nights(3), SENT],
        dropped("tmp"),
        impact("src.mail", {"target.mail": "2", "sent.mail": "3"}),
        upstream("sent.mail", {"target.mail": "1", "src.mail": "3"}),
        exposed("src.mail", "target.mail", "sent.mail"),
        exposed("tmp.mail", "target.mail", "sent.mail"),
        impact("tmp.mail", {"target.mail": "1", "sent.mail": "2"}),
        upstream("tmp.mail", {"src.mail": "1"}),
        unused("src", {"mail": "used", "other": "unused"}),
        edges(
            "src.mail > tmp.mail",
            "tmp.mail > target.mail",
            "src.mail > tmp@13.mail",
            "tmp@13.mail > target.mail",
            "src.mail > tmp@23.mail",
            "tmp@23.mail > target.mail",
            "target.mail > sent.mail",
        ),
    ),
    case(
        "R1 the third night, loaded and not yet used",
        [*nights(2), done(31, 301, writes("tmp", {"mail": "src.mail"}), of=[SRC], job="load")],
        dropped(),
        impact("src.mail", {"tmp.mail": "1", "target.mail": "2"}),
        impact("tmp.mail", {"target.mail": "1 before"}),
        exposed("tmp.mail", "target.mail"),
        unused("tmp", {"mail": "used"}),
        upstream("target.mail", {"src.mail": "2"}),
    ),
    case(
        "R1 last night the stage came from elsewhere",
        [
            *nights(2),
            done(31, 301, writes("tmp", {"mail": "crm.mail"}), of="crm", job="load"),
            done(32, 302, writes("target", {"mail": "tmp.mail"}), of="tmp", job="use"),
            drop(33, 303, "tmp"),
        ],
        upstream("target.mail", {"crm.mail": "2"}),
        surface("src.mail", {}),
        exposed("crm.mail", "target.mail"),
        unused("src", {"mail": "unused", "other": "unused"}),
    ),
    case(
        "R1 last night the use of the stage failed: the target is what it was the night before",
        [
            *nights(2),
            done(31, 301, writes("tmp", {"mail": "crm.mail"}), of=[table("crm", "mail")], job="load"),
            done(32, 302, writes("target", {"mail": "tmp.mail"}), of="tmp", job="use", kind="FAIL"),
            drop(33, 303, "tmp"),
        ],
        upstream("target.mail", {"src.mail": "2"}),
        exposed("src.mail", "target.mail"),
        surface("crm.mail", {"target.mail": "unknown"}),
        unused("src", {"mail": "used", "other": "unused"}),
        unused("crm", {"mail": "used"}),
    ),
]


def rebuilt(number: int, *, weekly: tuple[int, ...]) -> list[Json]:
    """Return nights that drop and recreate `t`, with a reader twice a night, and another reader in some nights."""
    told = []
    for night in range(1, number + 1):
        second, run = 100 * night, 10 * night
        told += [
            drop(run + 1, second + 1, "t"),
            done(run + 2, second + 2, writes("t", {c: f"src.{c}" for c in "xyz"}), of=[table("src", "x y z")], job="b"),
            done(run + 3, second + 3, writes("hourly", {"x": "t.x"}), of="t", job="hourly"),
            done(run + 4, second + 4, writes("hourly", {"x": "t.x"}), of="t", job="hourly"),
        ]
        if night in weekly:
            told.append(done(run + 5, second + 5, writes("weekly", {"y": "t.y"}), of="t", job="weekly"))
    return told


REBUILT = [
    case(
        "R1 a table made anew every night has weekly readers",
        rebuilt(5, weekly=(1,)),
        dropped(),
        unused("t", {"x": "used", "y": "used", "z": "unused"}),
        unused("src", {"x": "used", "y": "used", "z": "used"}),
        impact("t.x", {"hourly.x": "1"}),
        impact("t.y", {"weekly.y": "1 before"}),
        impact("t.z", {}),
        impact("src.y", {"t.y": "1", "weekly.y": "2"}),
        upstream("weekly.y", {"src.y": "2"}),
        upstream("hourly.x", {"t.x": "1", "src.x": "2"}),
        exposed("src.y", "t.y", "weekly.y"),
        exposed("t.y", "weekly.y"),
    ),
    case(
        "R1 the weekly reader read last night, too",
        rebuilt(5, weekly=(1, 5)),
        unused("t", {"x": "used", "y": "used", "z": "unused"}),
        impact("t.y", {"weekly.y": "1"}),
        upstream("weekly.y", {"t.y": "1", "src.y": "2"}),
    ),
    case(
        "R1 the weekly reader reads another column now: what it read before is unused",
        [*rebuilt(5, weekly=(1,)), done(99, 599, writes("weekly", {"z": "t.z"}), of="t", job="weekly")],
        unused("t", {"x": "used", "y": "unused", "z": "used"}),
        impact("t.y", {}),
        impact("src.y", {"t.y": "1"}),
        surface("src.y", {"t.y": "exposed"}),
    ),
    case(
        "R1 what was read before re-creation is derived from what the table had then",
        [
            done(1, 1, writes("t", {"y": "old.y"}), of=[table("old", "y")], job="b"),
            done(2, 2, writes("weekly", {"y": "t.y"}), of="t"),
            done(3, 3, writes("report", {"y": "weekly.y"}), of="weekly"),
            drop(4, 4, "t"),
            done(5, 5, writes("t", {"y": "src.y"}), of=[table("src", "y")], job="b"),
        ],
        impact("src.y", {"t.y": "1", "weekly.y": "2 before", "report.y": "3 before"}),
        impact("t.y", {"weekly.y": "1 before", "report.y": "2 before"}),
        impact("old.y", {"weekly.y": "2", "report.y": "3"}),
        upstream("report.y", {"weekly.y": "1", "old.y": "3"}),
        exposed("src.y", "t.y"),
        exposed("old.y", "weekly.y", "report.y"),
        unused("t", {"y": "used"}),
    ),
    case(
        "R1 a reader of an earlier generation that names no columns makes the table unknown",
        [
            done(1, 1, writes("t", {"x": "src.x", "y": "src.x"}), of=[table("src", "x")], job="b"),
            done(2, 2, table("weekly", "p"), of="t"),
            drop(4, 4, "t"),
            done(5, 5, writes("t", {"x": "src.x", "y": "src.x"}), of=[table("src", "x")], job="b"),
            done(6, 6, writes("hourly", {"x": "t.x"}), of="t"),
        ],
        unused("t", {"x": "used", "y": "unknown: opaque"}),
        surface("t.y", {"weekly.p": "unknown"}),
        surface("src.x", {"t.x": "exposed", "t.y": "exposed", "hourly.x": "exposed", "weekly.p": "unknown"}),
    ),
    case(
        "R1 an earlier reader that filters counts, too",
        [
            done(1, 1, writes("t", {"x": "src.x", "y": "src.x"}), of=[table("src", "x")], job="b"),
            done(2, 2, writes("weekly", {"x": "t.x"}, "t.y?"), of="t"),
            drop(4, 4, "t"),
            done(5, 5, writes("t", {"x": "src.x", "y": "src.x"}), of=[table("src", "x")], job="b"),
        ],
        unused("t", {"x": "used", "y": "used"}),
        impact("t.y", {}),
        impact("t.y", {"weekly.x": "1 before"}, "any"),
    ),
    case(
        "R1 a reader whose output was dropped with the table is a reader still",
        [
            done(1, 1, writes("t", {"x": "src.x"}), of=[table("src", "x")], job="b"),
            done(2, 2, writes("out", {"x": "t.x"}), of="t"),
            drop(3, 3, "out"),
            drop(4, 4, "t"),
            done(5, 5, writes("t", {"x": "src.x"}), of=[table("src", "x")], job="b"),
        ],
        unused("t", {"x": "used"}),
        impact("t.x", {}),
        dropped("out"),
    ),
]

SWAP = [
    done(1, 1, writes("t", {"x": "legacy.x"}), of=[table("legacy", "x")], job="old"),
    done(2, 2, writes("t_new", {"x": "src.x"}), of=[table("src", "x y")], job="build"),
    drop(3, 3, "t"),
    rename(4, 4, "t_new", "t"),
    done(5, 5, writes("out", {"x": "t.x"}), of="t", job="read"),
]
SECOND_SWAP = [
    done(12, 102, writes("t_new", {"x": "src.x"}), of=[table("src", "x y")], job="build"),
    drop(13, 103, "t"),
    rename(14, 104, "t_new", "t"),
]
RENAMES = [
    case(
        "R1 CTAS t_new, DROP t, RENAME t_new to t: what was written before the DROP lives",
        SWAP,
        dropped(),
        upstream("out.x", {"t.x": "1", "src.x": "2"}),
        upstream("t.x", {"src.x": "1"}),
        impact("src.x", {"t.x": "1", "out.x": "2"}),
        exposed("src.x", "t.x", "out.x"),
        surface("legacy.x", {}),
        unused("src", {"x": "used", "y": "unused"}),
        unused("t", {"x": "used"}),
        edges("legacy.x > t.x", "src.x > t@4.x", "t@4.x > out.x"),
    ),
    case(
        "R1 the swap again the next night, not read yet",
        [*SWAP, *SECOND_SWAP],
        dropped(),
        impact("src.x", {"t.x": "1", "out.x": "2"}),
        impact("t.x", {"out.x": "1 before"}),
        upstream("out.x", {"src.x": "2"}),
        exposed("src.x", "t.x", "out.x"),
        unused("t", {"x": "used"}),
        edges("legacy.x > t.x", "src.x > t@4.x", "t@4.x > out.x", "src.x > t@14.x"),
    ),
    case(
        "R1 between DROP and RENAME the table is gone and what was written for it is not",
        [*SWAP, *SECOND_SWAP[:2]],
        dropped("t"),
        impact("src.x", {"t_new.x": "1", "out.x": "2"}),
        upstream("out.x", {"src.x": "2"}),
        exposed("src.x", "t_new.x", "out.x"),
    ),
    case(
        "R1 as of a moment before the RENAME the new table has its old name",
        SWAP,
        dropped("t"),
        impact("src.x", {"t_new.x": "1"}),
        as_of=3,
    ),
    case(
        "R1 a RENAME onto a name ends what stands there",
        [
            done(1, 1, writes("c", {"x": "old.x"}), of=[table("old", "x")]),
            done(2, 2, writes("before", {"x": "c.x"}), of="c"),
            done(3, 3, writes("b", {"x": "src.x"}), of=[table("src", "x")]),
            rename(4, 4, "b", "c"),
            done(5, 5, writes("after", {"x": "c.x"}), of="c"),
        ],
        dropped(),
        upstream("before.x", {"old.x": "2"}),
        upstream("after.x", {"c.x": "1", "src.x": "2"}),
        exposed("old.x", "before.x"),
        exposed("src.x", "c.x", "after.x"),
        impact("c.x", {"after.x": "1", "before.x": "1 before"}),
        edges("old.x > c.x", "c.x > before.x", "src.x > c@4.x", "c@4.x > after.x"),
    ),
    case(
        "R1 renames chain in time",
        [
            done(1, 1, writes("b", {"x": "src.x"}), of=[table("src", "x")]),
            rename(2, 2, "b", "c"),
            rename(3, 3, "c", "d"),
            done(4, 4, writes("out", {"x": "d.x"}), of="d"),
        ],
        dropped(),
        upstream("out.x", {"d.x": "1", "src.x": "2"}),
        exposed("src.x", "d.x", "out.x"),
    ),
    case(
        "R10.4 a RENAME of a failed run may have moved what it names",
        [
            done(1, 1, writes("b", {"x": "src.x"}), of=[table("src", "x")]),
            rename(2, 2, "b", "c", kind="FAIL"),
        ],
        surface("src.x", {"b.x": "exposed", "c.None": "unknown"}),
        unused("b", {"x": "unknown: attempted"}),
        stops("b.x", "b"),
    ),
    case(
        "R10.4 a later attempt that fails may have moved what its RENAME names",
        [
            done(1, 1, writes("b", {"x": "src.x"}), of=[table("src", "x")]),
            done(2, 2, table("d", "x"), job="rename b"),
            rename(2, 3, "b", "c", kind="START"),
            rename(2, 4, "b", "c", kind="FAIL"),
        ],
        surface("src.x", {"b.x": "exposed", "c.None": "unknown"}),
        unused("b", {"x": "unknown: attempted"}),
    ),
    case(
        "R1 dropped after a RENAME: what was read under the old name stays derived",
        [
            done(1, 1, writes("b", {"x": "src.x"}), of=[table("src", "x")]),
            done(2, 2, writes("out", {"x": "b.x"}), of="b"),
            rename(3, 3, "b", "c"),
            drop(4, 4, "c"),
        ],
        dropped("c"),
        upstream("out.x", {"src.x": "2"}),
        exposed("src.x", "out.x"),
        impact("src.x", {"out.x": "2"}),
    ),
    case(
        "R1 a table written under its old name after a RENAME is a new one",
        [
            done(1, 1, writes("b", {"x": "src.x"}), of=[table("src", "x")], job="w"),
            rename(2, 2, "b", "c"),
            done(3, 3, writes("b", {"x": "crm.x"}), of=[table("crm", "x")], job="w"),
            done(4, 4, writes("from_b", {"x": "b.x"}), of="b"),
            done(5, 5, writes("from_c", {"x": "c.x"}), of="c"),
        ],
        upstream("from_b.x", {"b.x": "1", "crm.x": "2"}),
        upstream("from_c.x", {"c.x": "1", "src.x": "2"}),
        exposed("src.x", "c.x", "from_c.x"),
        exposed("crm.x", "b.x", "from_b.x"),
    ),
    case(
        "R1 two tables that swap their names keep their histories",
        [
            done(1, 1, writes("t", {"x": "src1.x"}), of=[table("src1", "x")]),
            done(2, 2, writes("s", {"x": "src2.x"}), of=[table("src2", "x")]),
            rename(3, 3, "t", "side"),
            rename(4, 4, "s", "t"),
            rename(5, 5, "side", "s"),
            done(6, 6, writes("from_t", {"x": "t.x"}), of="t"),
            done(7, 7, writes("from_s", {"x": "s.x"}), of="s"),
        ],
        upstream("from_t.x", {"t.x": "1", "src2.x": "2"}),
        upstream("from_s.x", {"s.x": "1", "src1.x": "2"}),
        exposed("src1.x", "s.x", "from_s.x"),
        exposed("src2.x", "t.x", "from_t.x"),
    ),
    case(
        "R1 after a swap of names a question about a name is about what bears it now",
        [
            done(1, 1, writes("t", {"x": "src1.x"}), of=[table("src1", "x")]),
            done(2, 2, writes("s", {"x": "src2.x"}), of=[table("src2", "x")]),
            rename(3, 3, "t", "side"),
            rename(4, 4, "s", "t"),
            rename(5, 5, "side", "s"),
        ],
        upstream("t.x", {"src2.x": "1"}),
        upstream("s.x", {"src1.x": "1"}),
        doubt="'the newest generation of the asked name that lived': s@5 is a generation that `t` meant, begun last.",
    ),
    case(
        "R1 a question about a name that was renamed away is about what it meant",
        SWAP,
        impact("t_new.x", {"out.x": "1"}),
        doubt="Whether t_new's own first generation, which 'has always lived', is newer than t@4.",
    ),
    case(
        "R1 a tag that a table had under its old name goes with it",
        [
            tagging(2.5, "t_new.x"),
            *SWAP,
        ],
        exposed("#pii", "out.x"),
    ),
    case(
        "R1 a table renamed away and back is one history",
        [
            done(1, 1, writes("t", {"x": "src.x"}), of=[table("src", "x")]),
            rename(2, 2, "t", "aside"),
            rename(3, 3, "aside", "t"),
            done(4, 4, writes("out", {"x": "t.x"}), of="t"),
        ],
        dropped(),
        upstream("out.x", {"t.x": "1", "src.x": "2"}),
        exposed("src.x", "t.x", "out.x"),
    ),
    case(
        "R1 a RENAME reported twice is one",
        [
            done(1, 1, writes("t", {"x": "src.x"}), of=[table("src", "x")]),
            rename(2, 2, "t", "u", kind="START"),
            rename(2, 3, "t", "u"),
            done(4, 4, writes("out", {"x": "u.x"}), of="u"),
        ],
        upstream("out.x", {"u.x": "1", "src.x": "2"}),
        exposed("src.x", "u.x", "out.x"),
    ),
]


def dance(number: int, *, weekly: tuple[int, ...]) -> list[Json]:
    """Return nights of dbt runs: build t__tmp, rename t to t__backup and t__tmp to t, drop t__backup, and read t by
    day.
    """
    told = []
    for night in range(1, number + 1):
        second, run = 100 * night, 10 * night
        build = writes("t__tmp", {c: f"src.{c}" for c in "xyz"})
        told.append(done(run + 1, second + 1, build, of=[table("src", "x y z")], job="build"))
        if night > 1:
            told.append(rename(run + 2, second + 2, "t", "t__backup"))
        told.append(rename(run + 3, second + 3, "t__tmp", "t"))
        if night > 1:
            told.append(drop(run + 4, second + 4, "t__backup"))
        told += [
            done(run + hour, second + hour, writes("hourly", {"x": "t.x"}), of="t", job="hourly") for hour in (5, 6)
        ]
        if night in weekly:
            told.append(done(run + 7, second + 7, writes("weekly", {"y": "t.y"}), of="t", job="weekly"))
    return told


DANCED = (
    impact("src.x", {"t.x": "1", "hourly.x": "2"}),
    impact("src.y", {"t.y": "1", "weekly.y": "2"}),
    upstream("hourly.x", {"t.x": "1", "src.x": "2"}),
    upstream("t.x", {"src.x": "1"}),
    exposed("src.x", "t.x", "hourly.x"),
    exposed("src.y", "t.y", "weekly.y"),
    exposed("t.y", "weekly.y"),
    unused("t", {"x": "used", "y": "used", "z": "unused"}),
    unused("src", {"x": "used", "y": "used", "z": "used"}),
    dropped("t__backup"),
)
DANCES = [
    case(
        "R1 dbt's dance over five nights, the weekly reader came in the first",
        dance(5, weekly=(1,)),
        *DANCED,
        impact("t.y", {"weekly.y": "1 before"}),
        upstream("weekly.y", {"src.y": "2"}),
    ),
    case(
        "R1 dbt's dance over five nights, the weekly reader came in the third",
        dance(5, weekly=(1, 3)),
        *DANCED,
        impact("t.y", {"weekly.y": "1 before"}),
        upstream("weekly.y", {"src.y": "2"}),
    ),
    case(
        "R1 dbt's dance over five nights, the weekly reader came in the last",
        dance(5, weekly=(1, 5)),
        *DANCED,
        impact("t.y", {"weekly.y": "1"}),
        upstream("weekly.y", {"t.y": "1", "src.y": "2"}),
    ),
    case(
        "R1 dbt's dance, one night that failed after the build",
        [
            *dance(2, weekly=()),
            done(31, 301, writes("t__tmp", {"x": "src.y"}), of=[table("src", "x y z")], job="build"),
        ],
        impact("src.y", {"t.y": "1", "t__tmp.x": "1", "hourly.x": "2 before"}),
        upstream("hourly.x", {"t.x": "1", "src.x": "2"}),
        exposed("src.x", "t.x", "hourly.x"),
    ),
    case(
        "R1 dbt's dance as of the moment when only the backup is there",
        dance(2, weekly=(1,)),
        impact("src.y", {"t__tmp.y": "1", "t__backup.y": "1", "weekly.y": "2"}),
        upstream("weekly.y", {"t__backup.y": "1", "src.y": "2"}),
        as_of=202,
    ),
]

STREAMS = [
    case(
        "R1 view=all tells masked and indirect ways of every generation apart",
        [
            done(1, 1, writes("t", {"x": "a.x# a.y?"}), of=[table("a", "x y")], job="j"),
            drop(2, 2, "t"),
            done(3, 3, writes("t", {"x": "a.x"}), of=[table("a", "x y")], job="j"),
            done(4, 4, writes("t", {"x": "a.y"}), of=[table("a", "x y")], job="j"),
        ],
        edges("a.x > t.x masked", "a.y > t.x indirect", "a.x > t@2.x", "a.y > t@2.x"),
        exposed("a.y", "t.x"),
        surface("a.x", {}),
        unused("a", {"x": "unused", "y": "used"}),
    ),
    case(
        "R1 a stream that writes on into a re-created table",
        [
            going(1, 1, writes("t", {"mail": "topic.mail"}), of=[table("topic", "mail")]),
            done(2, 2, writes("out", {"mail": "t.mail"}), of="t"),
            drop(3, 5, "t"),
            done(4, 6, changes("t", "CREATE")),
            going(1, 9, writes("t", {"mail": "topic.mail"}), of=[table("topic", "mail")]),
        ],
        dropped(),
        exposed("topic.mail", "t.mail", "out.mail"),
        upstream("out.mail", {"topic.mail": "2"}),
        impact("t.mail", {"out.mail": "1 before"}),
        unused("t", {"mail": "used"}),
    ),
    case(
        "R1 a stream that has not written since the re-creation does not feed the new table",
        [
            going(1, 1, writes("t", {"mail": "topic.mail"}), of=[table("topic", "mail")]),
            drop(3, 5, "t"),
            done(4, 6, writes("t", {"mail": "crm.mail"}), of=[table("crm", "mail")]),
        ],
        surface("topic.mail", {}),
        exposed("crm.mail", "t.mail"),
        upstream("t.mail", {"crm.mail": "1"}),
        unused("topic", {"mail": "used"}),
    ),
    case(
        "R1 a stream that reads across the re-creation says what it reads now",
        [
            done(1, 1, writes("t", {"mail": "old.mail"}), of=[table("old", "mail")]),
            going(2, 2, writes("out", {"mail": "t.mail"}), of="t"),
            drop(3, 5, "t"),
            done(4, 6, writes("t", {"mail": "crm.mail"}), of=[table("crm", "mail")]),
            going(2, 9, writes("out", {"mail": "t.mail"}), of="t"),
        ],
        exposed("crm.mail", "t.mail", "out.mail"),
    ),
]

VIEWS = [
    case(
        "R1 a temporary view of a session is seen through",
        [
            done(1, 1, writes("v", {"mail": "src.mail"}), of=[SRC], under=below(90)),
            done(2, 2, writes("out", {"mail": "v.mail"}), of="v", under=below(90)),
            drop(3, 3, "v", under=below(90)),
        ],
        dropped("v"),
        impact("src.mail", {"out.mail": "2"}),
        exposed("src.mail", "out.mail"),
        unused("src", {"mail": "used", "other": "unused"}),
    ),
    case(
        "R1 sessions one after the other that call their views alike do not mix",
        [
            done(1, 1, writes("v", {"mail": "src.mail"}), of=[SRC], under=below(90)),
            done(2, 2, writes("out1", {"mail": "v.mail"}), of="v", under=below(90)),
            drop(3, 3, "v", under=below(90)),
            done(4, 4, writes("v", {"mail": "crm.mail"}), of=[table("crm", "mail")], under=below(91)),
            done(5, 5, writes("out2", {"mail": "v.mail"}), of="v", under=below(91)),
            drop(6, 6, "v", under=below(91)),
        ],
        exposed("src.mail", "out1.mail"),
        exposed("crm.mail", "out2.mail"),
        upstream("out1.mail", {"src.mail": "2"}),
        upstream("out2.mail", {"crm.mail": "2"}),
    ),
    case(
        "R1 sessions at one time that call their views alike may be either",
        [
            done(1, 1, writes("v", {"mail": "src.mail"}), of=[SRC], under=below(90)),
            done(2, 2, writes("v", {"mail": "crm.mail"}), of=[table("crm", "mail")], under=below(91)),
            done(3, 3, writes("out", {"mail": "v.mail"}), of="v", under=below(90)),
            drop(4, 4, "v", under=below(90)),
            drop(5, 5, "v", under=below(91)),
        ],
        exposed("src.mail", "out.mail"),
        exposed("crm.mail", "out.mail"),
    ),
]

DECLARED = [
    case(
        "R1 declared lineage is about the name: into the newest generation",
        [
            declared(1, writes("t", {"x": "src.x"}), of=[table("src", "x")]),
            drop(2, 2, "t"),
            done(3, 3, changes("t", "CREATE")),
        ],
        dropped(),
        exposed("src.x", "t.x"),
        upstream("t.x", {"src.x": "1"}),
    ),
    case(
        "R1 declared lineage out of a re-created dataset",
        [
            declared(1, writes("out", {"x": "t.x"}), of="t"),
            done(2, 2, writes("t", {"x": "old.x"}), of=[table("old", "x")]),
            drop(3, 3, "t"),
            done(4, 4, writes("t", {"x": "src.x"}), of=[table("src", "x")]),
        ],
        exposed("src.x", "t.x", "out.x"),
        unused("t", {"x": "used"}),
    ),
    case(
        "R1 declared lineage out of a dropped dataset is about what lived last",
        [
            declared(1, writes("out", {"x": "t.x"}), of="t"),
            done(2, 2, writes("t", {"x": "src.x"}), of=[table("src", "x")]),
            drop(3, 3, "t"),
        ],
        dropped("t"),
        exposed("src.x", "out.x"),
        doubt="'the newest generation there' never lived: between DROP and re-creation `out` has no source.",
    ),
    case(
        "R1 declared lineage into a dropped dataset shows no dropped dataset",
        [declared(1, writes("t", {"x": "src.x"}), of=[table("src", "x")]), drop(2, 2, "t")],
        dropped("t"),
        surface("src.x", {}),
        impact("src.x", {}),
    ),
    case(
        "R1 declared lineage follows a RENAME",
        [
            declared(1, writes("t", {"x": "src.x"}), of=[table("src", "x")]),
            rename(2, 2, "t", "u"),
        ],
        exposed("src.x", "u.x"),
        upstream("u.x", {"src.x": "1"}),
    ),
]

CASES: list[Case] = [
    *DROPS,
    *RUN_THAT_ENDS,
    *AGAIN,
    *EVERY_NIGHT,
    *REBUILT,
    *RENAMES,
    *DANCES,
    *STREAMS,
    *VIEWS,
    *DECLARED,
]
