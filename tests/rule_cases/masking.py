"""R2 and R7: exposed takes precedence over unknown, and unknown over masked. Masking code does not mask
existing data.
"""

from typing import Any

from tests.reference.world_events import Json
from tests.rule_cases.case import Ask, Case, case, exposed, impact, stops, surface, tagged, tagged_until, until
from tests.rule_cases.events import (
    changes,
    declared,
    done,
    drop,
    rename,
    table,
    tagging,
    writes,
)

A = table("a", "x y")
HASH = done(1, 1, writes("b", {"h": "a.x#"}), of=[A])
BLIND = done(2, 2, table("b", "h"), of=[A])

EXPOSURES = [
    case(
        "R2 an opaque writer beside a masking one: the column is unknown",
        [HASH, BLIND],
        surface("a.x", {"b.h": "unknown"}),
        stops("a.x", "a"),
    ),
    case("R2 masked by all its writers is masked", [HASH], surface("a.x", {"b.h": "masked"})),
    case(
        "R2 an opaque writer from a dataset that holds nothing of it leaves it masked",
        [HASH, done(2, 2, table("b", "h"), of=[table("other", "k")])],
        surface("a.x", {"b.h": "masked"}),
        surface("other.k", {"b.h": "unknown"}),
    ),
    case(
        "R2 clear on one way, opaque on the other: exposed",
        [done(1, 1, writes("b", {"h": "a.x"}), of=[A]), BLIND],
        surface("a.x", {"b.h": "exposed"}),
    ),
    case(
        "R2 masked on one way, clear on a longer one: exposed",
        [
            HASH,
            done(2, 2, writes("c", {"k": "a.x"}), of=[A]),
            done(3, 3, writes("b", {"h": "c.k"}), of="c"),
        ],
        exposed("a.x", "b.h", "c.k"),
        impact("a.x", {"b.h": "1", "c.k": "1"}),
    ),
    case(
        "R2 masked on one way, through an opaque stage on the other: unknown",
        [
            HASH,
            done(2, 2, table("m", "p"), of=[A]),
            done(3, 3, writes("b", {"h": "m.p"}), of="m"),
        ],
        surface("a.x", {"b.h": "unknown", "m.p": "unknown"}),
    ),
    case(
        "R2 what is behind an unknown column is unknown, though masked elsewhere",
        [
            HASH,
            BLIND,
            done(3, 3, writes("c", {"k": "b.h"}), of="b"),
            done(4, 4, writes("d", {"k": "b.h#"}), of="b"),
        ],
        surface("a.x", {"b.h": "unknown", "c.k": "unknown", "d.k": "masked"}),
    ),
    case(
        "R2 an opaque write from a dataset with masked columns only leaks nothing",
        [HASH, done(3, 3, table("c", "k"), of="b")],
        surface("a.x", {"b.h": "masked"}),
    ),
    case(
        "R2 an opaque write from a dataset with an unknown column leaks",
        [
            HASH,
            done(2, 2, table("b", "h more")),
            done(3, 3, table("c", "k"), of="b"),
        ],
        surface("a.x", {"b.h": "masked", "b.more": "unknown", "c.k": "unknown"}),
    ),
    case(
        "R2 alternatives of one input: one clear step is enough",
        [done(1, 1, writes("b", {"h": "a.x# a.x", "i": "a.x# a.x?"}), of=[A])],
        surface("a.x", {"b.h": "exposed", "b.i": "masked"}),
    ),
    case(
        "R2 a declared clear way beside a masking run: exposed",
        [HASH, declared(2, writes("b", {"h": "a.x"}), of="a")],
        surface("a.x", {"b.h": "exposed"}),
    ),
    case(
        "R2 a declared way without columns beside a masking run: unknown",
        [HASH, declared(2, table("b", "h"), of="a")],
        surface("a.x", {"b.h": "unknown"}),
    ),
    case(
        "R2 the opaque writer beside the masking one was long ago: it counts no more",
        [
            done(1, 1, table("b", "h"), of=[A], job="j"),
            done(2, 2, writes("b", {"h": "a.x#"}), of=[A], job="j"),
        ],
        surface("a.x", {"b.h": "masked"}),
    ),
    case(
        "R2 an opaque writer of an older generation leaves the masked new one masked",
        [
            done(1, 1, table("b", "h"), of=[A]),
            drop(2, 2, "b"),
            done(3, 3, writes("b", {"h": "a.x#"}), of=[A]),
        ],
        surface("a.x", {"b.h": "masked"}),
    ),
    case(
        "R2 a column of the schema that no writer names is unknown, and so is what is read from it",
        [
            done(1, 1, writes("b", {"x": "a.x"}, columns="x sha"), of=[A]),
            done(2, 2, writes("c", {"k": "b.sha", "l": "b.sha#"}), of="b"),
        ],
        surface("a.x", {"b.x": "exposed", "b.sha": "unknown", "c.k": "unknown"}),
    ),
    case(
        "R2 a column that a writer names without inputs may hold what the run reads",
        [done(1, 1, writes("b", {"x": "a.x", "one": ""}), of=[A])],
        surface("a.x", {"b.x": "exposed", "b.one": "unknown"}),
    ),
]

FIRST = done(1, 10, writes("b", {"x": "a.x"}), of=[A], job="j")
THEN = done(2, 20, writes("b", {"x": "a.x#"}), of=[A], job="j")
MASKED = surface("a.x", {"b.x": "masked"})


def clear_once(name: str, events: list[Json], expected: dict[str, float], *more: Ask, doubt: str = "") -> Case:
    """Return a case in which b.x is masked now and was clear at second 10."""
    return case(f"R7 {name}", [FIRST, THEN, *events], MASKED, until("a.x", expected), *more, doubt=doubt)


def says(number: int, second: float, what: str, **more: Any) -> Json:
    return done(number, second, changes("b", what), **more)


UNTIL = [
    clear_once("masked since yesterday, appended to: clear values are there still", [], {"b.x": 10}),
    clear_once("an OVERWRITE after the clear write removes them", [says(3, 15, "OVERWRITE")], {}),
    clear_once("a TRUNCATE after the clear write removes them", [says(3, 15, "TRUNCATE")], {}),
    clear_once(
        "a CREATE after the clear write removes nothing: an append reports it", [says(3, 15, "CREATE")], {"b.x": 10}
    ),
    clear_once("an ALTER removes nothing", [says(3, 15, "ALTER")], {"b.x": 10}),
    clear_once("an OVERWRITE before the clear write removes nothing of it", [says(3, 5, "OVERWRITE")], {"b.x": 10}),
    clear_once("an OVERWRITE at the instant of the clear write", [says(3, 10, "OVERWRITE")], {"b.x": 10}),
    clear_once("an OVERWRITE that failed removes nothing", [says(3, 15, "OVERWRITE", kind="FAIL")], {"b.x": 10}),
    clear_once(
        "an OVERWRITE that has only begun removes nothing", [says(3, 15, "TRUNCATE", kind="START")], {"b.x": 10}
    ),
    clear_once(
        "an OVERWRITE of another dataset removes nothing",
        [done(3, 15, changes("c", "OVERWRITE"))],
        {"b.x": 10},
    ),
    case(
        "R7 the masking run overwrites: nothing clear is left",
        [FIRST, done(2, 20, writes("b", {"x": "a.x#"}, says="OVERWRITE"), of=[A], job="j")],
        MASKED,
        until("a.x", {}),
    ),
    case(
        "R7 the clear run's own OVERWRITE came before what it wrote",
        [done(1, 10, writes("b", {"x": "a.x"}, says="OVERWRITE"), of=[A], job="j"), THEN],
        MASKED,
        until("a.x", {"b.x": 10}),
    ),
    case(
        "R7 never clear",
        [done(1, 10, writes("b", {"x": "a.x#"}), of=[A], job="j"), THEN],
        MASKED,
        until("a.x", {}),
    ),
    case(
        "R7 clear still: exposed, and no word of until",
        [FIRST, done(2, 20, writes("b", {"x": "a.x"}), of=[A], job="j")],
        surface("a.x", {"b.x": "exposed"}),
        until("a.x", {}),
    ),
    case(
        "R7 another job's old clear write counts as well",
        [
            done(1, 10, writes("b", {"x": "a.x"}), of=[A], job="k"),
            done(3, 12, writes("b", {"x": "a.x#"}), of=[A], job="k"),
            THEN,
        ],
        MASKED,
        until("a.x", {"b.x": 10}),
    ),
    case(
        "R7 another job still writes it clear",
        [FIRST, THEN, done(3, 5, writes("b", {"x": "a.x"}), of=[A], job="k")],
        surface("a.x", {"b.x": "exposed"}),
        until("a.x", {}),
    ),
    case(
        "R7 the newest of several clear writes counts",
        [FIRST, done(3, 12, writes("b", {"x": "a.x"}), of=[A], job="j"), THEN],
        MASKED,
        until("a.x", {"b.x": 12}),
    ),
    case(
        "R7 rewritten between two clear writes",
        [FIRST, says(4, 11, "TRUNCATE"), done(3, 12, writes("b", {"x": "a.x"}), of=[A], job="j"), THEN],
        MASKED,
        until("a.x", {"b.x": 12}),
    ),
    case(
        "R7 a clear write that failed may have written rows",
        [done(1, 10, writes("b", {"x": "a.x"}), of=[A], job="j", kind="FAIL"), THEN],
        surface("a.x", {"b.x": "unknown"}),
        until("a.x", {}),
    ),
    case(
        "R7 a clear write of another column says nothing",
        [done(1, 10, writes("b", {"x": "a.y"}), of=[A], job="j"), THEN],
        MASKED,
        until("a.x", {}),
    ),
    case(
        "R7 what was clear in a dropped generation is gone",
        [FIRST, drop(3, 15, "b"), THEN],
        MASKED,
        until("a.x", {}),
    ),
    case(
        "R7 a RENAME keeps clear values",
        [
            done(1, 10, writes("old", {"x": "a.x"}), of=[A], job="j"),
            rename(3, 15, "old", "b"),
            THEN,
        ],
        MASKED,
        until("a.x", {"b.x": 10}),
    ),
    case(
        "R7 two hops: copied again by a newer execution since, the older copy is clear",
        [
            FIRST,
            done(3, 15, writes("c", {"x": "b.x"}), of="b", job="k"),
            THEN,
            done(4, 25, writes("c", {"x": "b.x"}), of="b", job="k"),
        ],
        surface("a.x", {"b.x": "masked", "c.x": "masked"}),
        until("a.x", {"b.x": 10, "c.x": 25}),
    ),
    case(
        "R7 two hops: the copy that took the clear values is the newest execution",
        [FIRST, done(3, 15, writes("c", {"x": "b.x"}), of="b", job="k"), THEN],
        surface("a.x", {"b.x": "masked", "c.x": "masked"}),
        until("a.x", {"b.x": 10, "c.x": 15}),
    ),
    case(
        "R7 two hops: the first was overwritten since, the copy was not",
        [
            FIRST,
            done(3, 15, writes("c", {"x": "b.x"}), of="b", job="k"),
            done(2, 20, writes("b", {"x": "a.x#"}, says="OVERWRITE"), of=[A], job="j"),
            done(4, 25, writes("c", {"x": "b.x"}), of="b", job="k"),
        ],
        surface("a.x", {"b.x": "masked", "c.x": "masked"}),
        until("a.x", {"c.x": 20}),  # the latest possible time: the copy happened before the rewrite had ended
    ),
    case(
        "R7 two hops: the copy was overwritten since, the first was not",
        [
            FIRST,
            done(3, 15, writes("c", {"x": "b.x"}), of="b", job="k"),
            THEN,
            done(4, 25, writes("c", {"x": "b.x"}, says="OVERWRITE"), of="b", job="k"),
        ],
        surface("a.x", {"b.x": "masked", "c.x": "masked"}),
        until("a.x", {"b.x": 10, "c.x": 25}),
    ),
    case(
        "R7 a stage of every night masks since the second: what the first night appended is clear",
        [
            done(1, 101, writes("tmp", {"x": "a.x"}), of=[A], job="load"),
            done(2, 102, writes("target", {"x": "tmp.x"}), of="tmp", job="use"),
            drop(3, 103, "tmp"),
            done(4, 201, writes("tmp", {"x": "a.x#"}), of=[A], job="load"),
            done(5, 202, writes("target", {"x": "tmp.x"}), of="tmp", job="use"),
            drop(6, 203, "tmp"),
        ],
        surface("a.x", {"target.x": "masked"}),
        until("a.x", {"target.x": 102}),
    ),
    case(
        "R7 a stage of every night masks since the second, which overwrites",
        [
            done(1, 101, writes("tmp", {"x": "a.x"}), of=[A], job="load"),
            done(2, 102, writes("target", {"x": "tmp.x"}), of="tmp", job="use"),
            drop(3, 103, "tmp"),
            done(4, 201, writes("tmp", {"x": "a.x#"}), of=[A], job="load"),
            done(5, 202, writes("target", {"x": "tmp.x"}, says="OVERWRITE"), of="tmp", job="use"),
            drop(6, 203, "tmp"),
        ],
        surface("a.x", {"target.x": "masked"}),
        until("a.x", {}),
    ),
    case(
        "R7 an unknown column says until when it was clear, too",
        [FIRST, THEN, done(3, 22, table("b", "x"), of=[A])],
        surface("a.x", {"b.x": "unknown"}),
        until("a.x", {"b.x": 10}),
    ),
]

PII = tagging(30, "b.h")
B = table("b", "h")
HASH_LATER = done(3, 11, writes("b", {"h": "a.x#"}), of=[A])

TAGGED = [
    case(
        "R8.5 the example of the text: a source that no job writes is readable, and so is a clear copy",
        [
            done(1, 1, writes("b", {"h": "a.x"}), of=[A]),
            done(2, 2, writes("c", {"h": "b.h#"}), of=[B]),
            tagging(30, "a.x", by="a"),
            tagging(30, "b.h", by="b"),
            tagging(30, "c.h", by="c"),
        ],
        tagged("#pii", {"a.x": "exposed", "b.h": "exposed", "c.h": "masked"}),
        surface("#pii", {}),
    ),
    case("R8.5 a tagged column that all its writers mask is masked", [HASH, PII], tagged("#pii", {"b.h": "masked"})),
    case(
        "R8.5 one input in the clear is enough",
        [done(1, 1, writes("b", {"h": "a.x# a.y"}), of=[A]), PII],
        tagged("#pii", {"b.h": "exposed"}),
    ),
    case(
        "R8.5 an opaque writer beside a masking one leaves it readable",
        [HASH, BLIND, PII],
        tagged("#pii", {"b.h": "exposed"}),
    ),
    case(
        "R8.5 a writer that does not name it leaves it readable",
        [HASH, done(2, 2, writes("b", {"k": "a.y"}, columns="h k"), of=[A]), PII],
        tagged("#pii", {"b.h": "exposed"}),
    ),
    case(
        "R8.5 a filter on it or a constant is no mask",
        [
            done(1, 1, writes("b", {"h": "a.x?"}), of=[A]),
            done(2, 2, writes("c", {"k": ""}), of=[A]),
            PII,
            tagging(30, "c.k", by="c"),
        ],
        tagged("#pii", {"b.h": "exposed", "c.k": "exposed"}),
    ),
    case(
        "R8.5 a MERGE keeps its own rows beside masked ones",
        [done(1, 1, writes("b", {"h": "a.x# b.h"}), of=[A, B]), PII],
        tagged("#pii", {"b.h": "masked"}),
    ),
    case(
        "R8.5 a job that only masks its own rows in place does not show what others wrote",
        [done(1, 1, writes("b", {"h": "b.h#"}), of=[B]), PII],
        tagged("#pii", {"b.h": "exposed"}),
    ),
    case(
        "R8.5 the newest execution counts, with the time of older clear rows",
        [
            done(1, 1, writes("b", {"h": "a.x"}), of=[A], job="load"),
            done(2, 11, writes("b", {"h": "a.x#"}), of=[A], job="load"),
            PII,
        ],
        tagged("#pii", {"b.h": "masked"}),
        tagged_until("#pii", {"b.h": 1}),
    ),
    case(
        "R8.5 a whole rewrite replaces older clear rows",
        [
            done(1, 1, writes("b", {"h": "a.x"}), of=[A], job="load"),
            done(2, 11, writes("b", {"h": "a.x#"}, says="OVERWRITE"), of=[A], job="load"),
            PII,
        ],
        tagged("#pii", {"b.h": "masked"}),
        tagged_until("#pii", {}),
    ),
    case(
        "R8.5 a silent run of a job that also reports lineage may have written a masked column in the clear",
        [done(1, 1, table("b", "h"), job="load"), done(2, 11, writes("b", {"h": "a.x#"}), of=[A], job="load"), PII],
        tagged("#pii", {"b.h": "masked"}),
        tagged_until("#pii", {"b.h": 1}),
    ),
    case(
        "R8.5 a whole rewrite replaces the rows of a silent run",
        [
            done(1, 1, table("b", "h"), job="load"),
            done(2, 11, writes("b", {"h": "a.x#"}, says="OVERWRITE"), of=[A], job="load"),
            PII,
        ],
        tagged("#pii", {"b.h": "masked"}),
        tagged_until("#pii", {}),
    ),
    case(
        "R8.5 what a run read before the first write of a masked column is of unknown origin",
        [done(1, 1, writes("c", {"k": "b.h"}), of=[B]), HASH_LATER, PII],
        tagged("#pii", {"b.h": "masked"}),
        tagged_until("#pii", {"b.h": 1}),
    ),
    case(
        "R8.5 so is what a run read that did not complete, or that writes nothing",
        [done(1, 1, table("c"), of=[B], kind="FAIL"), done(2, 2, of=[B]), HASH_LATER, PII],
        tagged_until("#pii", {"b.h": 1}),
    ),
    case(
        "R8.5 a first write that replaces all rows leaves nothing of what a run read before",
        [done(1, 1, of=[B]), done(3, 11, writes("b", {"h": "a.x#"}, says="OVERWRITE"), of=[A]), PII],
        tagged("#pii", {"b.h": "masked"}),
        tagged_until("#pii", {}),
    ),
    case(
        "R8.5 what a run read after the first write is of known origin",
        [HASH, done(3, 12, writes("c", {"k": "b.h"}), of=[B]), PII],
        tagged_until("#pii", {}),
    ),
    case(
        "R8.5 a tag on a struct lists what is nested in it; a clear part leaves the struct readable",
        [
            done(1, 1, writes("b", {"s.t": "a.x#", "s.u": "a.y"}, columns="s.t s.u"), of=[A]),
            tagging(30, "b.s"),
        ],
        tagged("#pii", {"b.s": "exposed", "b.s.t": "masked", "b.s.u": "exposed"}),
    ),
    case(
        "R8.5 a masked struct masks what is nested in it",
        [done(1, 1, writes("b", {"s": "a.x#"}, columns="s.t s.u"), of=[A]), tagging(30, "b.s")],
        tagged("#pii", {"b.s": "masked", "b.s.t": "masked", "b.s.u": "masked"}),
    ),
    case(
        "R8.5 a tag on a dataset lists all its columns, or the dataset if none is known",
        [done(1, 1, table("b"), of=[A]), tagging(30, "a", by="a"), tagging(30, "b", by="b")],
        tagged("#pii", {"a.x": "exposed", "a.y": "exposed", "b.None": "exposed"}),
    ),
    case(
        "R8.5 a dropped dataset is not listed",
        [HASH, drop(3, 3, "b"), PII],
        tagged("#pii", {}),
    ),
    case(
        "R8.5 of a re-created dataset only the new generation is listed and judged",
        [
            done(1, 1, writes("b", {"h": "a.x"}), of=[A], job="load"),
            drop(2, 2, "b"),
            done(3, 3, writes("b", {"h": "a.x#"}), of=[A], job="load"),
            PII,
        ],
        tagged("#pii", {"b.h": "masked"}),
        tagged_until("#pii", {}),
    ),
    case(
        "R8.5 a tag on a column that the dataset lacks is not listed",
        [HASH, done(2, 20, changes("b", "ALTER", "h")), tagging(30, "b.gone")],
        tagged("#pii", {}),
    ),
    case(
        "R8.5 a list that only adds columns does not show that a tagged column is gone",
        [HASH, done(2, 20, table("b", "h"), job="append"), tagging(30, "b.mail")],
        tagged("#pii", {"b.mail": "exposed"}),
    ),
    case(
        "R8.5 a run that only keeps rows of unknown origin exposes a column that another one masks",
        [
            done(1, 1, writes("b", {"h": "b.h"}), of=[table("b", "h")]),
            done(2, 20, writes("b", {"h": "a.x#"}), of=[A], job="append"),
            tagging(30, "b.h"),
        ],
        tagged("#pii", {"b.h": "exposed"}),
    ),
    case(
        "R8.5 a run that keeps rows which another one masked exposes nothing",
        [
            done(1, 30, writes("b", {"h": "b.h"}), of=[table("b", "h")]),
            done(2, 20, writes("b", {"h": "a.x#"}), of=[A], job="append"),
            tagging(30, "b.h"),
        ],
        tagged("#pii", {"b.h": "masked"}),
    ),
]

CASES: list[Case] = [*EXPOSURES, *UNTIL, *TAGGED]
