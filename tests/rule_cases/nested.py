"""R3: nested columns at every step. If names do not settle the nesting, the answer is unknown."""

from tests.rule_cases.case import Case, case, exposed, impact, surface, unused, upstream
from tests.rule_cases.events import done, drop, table, tagging, writes

A = table("a", "s.t s.u o")
COPY = done(1, 1, writes("b", {"s": "a.s"}, columns="s.t s.u"), of=[A])
AGAIN = done(2, 2, writes("c", {"s": "b.s"}, columns="s.t s.u"), of=[table("b", "s.t s.u")])
PARENT = "Whether a parent of which only children are written or reached is a hit, and as what."
NAMED = "Surface (a): naming a parent must name its children (and a child its parent), else siblings are unknown."

CASES: list[Case] = [
    case(
        "R3 a child goes with a copy of its parent and on by name",
        [COPY],
        exposed("a.s.t", "b.s", "b.s.t"),
        impact("a.s.t", {"b.s": "1", "b.s.t": "1"}),
        doubt=NAMED,
    ),
    case(
        "R3 a struct copied over two hops",
        [COPY, AGAIN],
        exposed("a.s.t", "b.s", "b.s.t", "c.s", "c.s.t"),
        exposed("a.s.u", "b.s", "b.s.u", "c.s", "c.s.u"),
        impact("a.s.t", {"b.s": "1", "b.s.t": "1", "c.s": "2", "c.s.t": "2"}),
        surface("a.o", {}),
        doubt=NAMED,
    ),
    case(
        "R3 a tag on a parent covers its children",
        [COPY, AGAIN],
        exposed("a.s", "b.s", "b.s.t", "b.s.u", "c.s", "c.s.t", "c.s.u"),
        impact("a.s", {"b.s": "1", "b.s.t": "1", "b.s.u": "1", "c.s": "2", "c.s.t": "2", "c.s.u": "2"}),
    ),
    case(
        "R3 a child taken out of a copy: reached from that child, not from its sibling",
        [COPY, done(2, 2, writes("c", {"x": "b.s.t"}), of="b")],
        exposed("a.s.t", "b.s", "b.s.t", "c.x"),
        exposed("a.s.u", "b.s", "b.s.u"),
        exposed("a.s", "b.s", "b.s.t", "b.s.u", "c.x"),
        impact("a.s.t", {"b.s": "1", "b.s.t": "1", "c.x": "2"}),
        upstream("c.x", {"b.s.t": "1", "a.s.t": "2", "a.s": "?", "b.s": "?"}),
        doubt=NAMED,
    ),
    case(
        "R3 a child masked on its way out of a copy",
        [COPY, done(2, 2, writes("c", {"x": "b.s.t#", "y": "b.s.u"}), of="b")],
        surface("a.s", {"b.s": "exposed", "b.s.t": "exposed", "b.s.u": "exposed", "c.x": "masked", "c.y": "exposed"}),
        surface("a.s.t", {"b.s": "exposed", "b.s.t": "exposed", "c.x": "masked"}),
        doubt=NAMED,
    ),
    case(
        "R3 a struct that is hashed whole hides its children",
        [done(1, 1, writes("b", {"h": "a.s#"}), of=[A])],
        surface("a.s.t", {"b.h": "masked"}),
        surface("a.s", {"b.h": "masked"}),
        impact("a.s.t", {"b.h": "1 masked"}),
    ),
    case(
        "R3 a struct copied by name is the same, whatever it is called there",
        [done(1, 1, writes("b", {"r": "a.s"}, columns="r.t r.u"), of=[A])],
        exposed("a.s.t", "b.r", "b.r.t"),
        exposed("a.s.u", "b.r", "b.r.u"),
        doubt=NAMED,
    ),
    case(
        "R3 all children renamed: each may be any of them",
        [done(1, 1, writes("b", {"s": "a.s"}, columns="s.k s.m"), of=[A])],
        surface("a.s.t", {"b.s": "exposed", "b.s.k": "unknown", "b.s.m": "unknown"}),
        surface("a.s", {"b.s": "exposed", "b.s.k": "unknown", "b.s.m": "unknown"}),
        impact("a.s.t", {"b.s": "1", "b.s.k": "1", "b.s.m": "1"}),
    ),
    case(
        "R3 one child renamed: the other keeps its name and is no candidate",
        [done(1, 1, writes("b", {"s": "a.s"}, columns="s.t s.k"), of=[A])],
        exposed("a.s.t", "b.s", "b.s.t"),
        surface("a.s.u", {"b.s": "exposed", "b.s.k": "unknown"}),
        surface("a.s", {"b.s": "exposed", "b.s.t": "exposed", "b.s.k": "unknown"}),
        doubt=NAMED,
    ),
    case(
        "R3 what is read from a child that only may hold it is unknown",
        [
            done(1, 1, writes("b", {"s": "a.s"}, columns="s.k s.m"), of=[A]),
            done(2, 2, writes("c", {"x": "b.s.k", "h": "b.s.k#"}), of="b"),
        ],
        surface("a.s.t", {"b.s": "exposed", "b.s.k": "unknown", "b.s.m": "unknown", "c.x": "unknown", "c.h": "masked"}),
    ),
    case(
        "R3 to_json holds every child",
        [done(1, 1, writes("b", {"j": "a.s"}), of=[A])],
        exposed("a.s.t", "b.j"),
        exposed("a.s.u", "b.j"),
        exposed("a.s", "b.j"),
        impact("a.s.t", {"b.j": "1"}),
    ),
    case(
        "R3 to_json and back: the struct holds it, which child is not settled",
        [
            done(1, 1, writes("b", {"j": "a.s"}), of=[A]),
            done(2, 2, writes("c", {"s": "b.j"}, columns="s.t s.u"), of="b"),
        ],
        surface("a.s.t", {"b.j": "exposed", "c.s": "exposed", "c.s.t": "unknown", "c.s.u": "unknown"}),
        impact("a.s.t", {"b.j": "1", "c.s": "2", "c.s.t": "2", "c.s.u": "2"}),
    ),
    case(
        "R3 a scalar put into a struct as a whole",
        [done(1, 1, writes("b", {"s": "a.o"}, columns="s.t s.u"), of=[A])],
        surface("a.o", {"b.s": "exposed", "b.s.t": "unknown", "b.s.u": "unknown"}),
    ),
    case(
        "R3 a scalar put into one child of a struct",
        [done(1, 1, writes("b", {"s.t": "a.o", "s.u": "a.s.u"}), of=[A])],
        surface("a.o", {"b.s.t": "exposed", "b.s": "?"}),
        surface("a.s.u", {"b.s.u": "exposed", "b.s": "?"}),
        impact("a.o", {"b.s.t": "1", "b.s": "?"}),
    ),
    case(
        "R3 an exposed child is told, what it lies in is not",
        [done(1, 1, writes("b", {"s.t": "a.o", "s.u": "a.s.u"}), of=[A])],
        exposed("a.o", "b.s.t"),
    ),
    case(
        "R3 a struct with a scalar in it goes on whole",
        [
            done(1, 1, writes("b", {"s.t": "a.o", "s.u": ""}), of=[A]),
            done(2, 2, writes("c", {"s": "b.s"}, columns="s.t s.u"), of=[table("b", "s.t s.u")]),
        ],
        surface(
            "a.o",
            {
                "b.s.t": "exposed",
                "b.s.u": "unknown",
                "b.s": "?",
                "c.s": "exposed",
                "c.s.t": "exposed",
                "c.s.u": "unknown",
            },
        ),
        impact("a.o", {"b.s.t": "1", "b.s": "?", "c.s": "2", "c.s.t": "2"}),
        doubt=NAMED,
    ),
    case(
        "R3 one child clear, one masked",
        [done(1, 1, writes("b", {"s.t": "a.s.t", "s.u": "a.s.u#"}), of=[A])],
        surface("a.s", {"b.s": "?", "b.s.t": "exposed", "b.s.u": "masked"}),
        surface("a.s.u", {"b.s": "?", "b.s.u": "masked"}),
    ),
    case(
        "R3 a child flattened",
        [done(1, 1, writes("b", {"x": "a.s.t"}), of=[A])],
        exposed("a.s", "b.x"),
        exposed("a.s.t", "b.x"),
        surface("a.s.u", {}),
        impact("a.s", {"b.x": "1"}),
        upstream("b.x", {"a.s.t": "1", "a.s": "?"}),
    ),
    case(
        "R3 upstream of a child in a copy is the child, not its sibling",
        [COPY, AGAIN],
        upstream("c.s.t", {"b.s.t": "1", "a.s.t": "2", "b.s": "?", "a.s": "?"}),
    ),
    case(
        "R3 upstream of a copy is all that is nested in what it is of",
        [COPY],
        upstream("b.s", {"a.s": "1", "a.s.t": "1", "a.s.u": "1"}),
    ),
    case(
        "R3 three levels: the middle one is asked",
        [
            done(1, 1, writes("b", {"s": "a.s"}, columns="s.t.v s.t.w s.u"), of=[table("a", "s.t.v s.t.w s.u")]),
        ],
        exposed("a.s.t", "b.s", "b.s.t", "b.s.t.v", "b.s.t.w"),
        surface("a.s.t.v", {"b.s": "exposed", "b.s.t": "?", "b.s.t.v": "exposed"}),
        exposed("a.s.u", "b.s", "b.s.u"),
        doubt=NAMED,
    ),
    case(
        "R3 without a schema a child is there by the edge that reads it",
        [
            done(1, 1, writes("b", {"s": "a.s"}, columns=""), of=[A]),
            done(2, 2, writes("c", {"x": "b.s.t"}), of="b"),
        ],
        surface("a.s.t", {"b.None": "unknown", "b.s": "exposed", "b.s.t": "exposed", "c.x": "exposed"}),
        surface("a.s.u", {"b.None": "unknown", "b.s": "exposed"}),
    ),
    case(
        "R3 a filter by a struct reaches all that is nested in what it filters",
        [done(1, 1, writes("b", {"s": "a.o?"}, columns="s.t s.u"), of=[A])],
        impact("a.o", {"b.s": "1", "b.s.t": "1", "b.s.u": "1"}, "any"),
        impact("a.o", {}),
        surface("a.o", {}),
    ),
    case(
        "R3 a filter by a child concerns whoever asks about its parent",
        [done(1, 1, writes("b", {"x": "a.o"}, "a.s.t?"), of=[A])],
        impact("a.s", {"b.x": "1"}, "any"),
        impact("a.s.t", {"b.x": "1"}, "any"),
        impact("a.s.u", {}, "any"),
        unused("a", {"s": "used", "s.t": "used", "s.u": "unused", "o": "used"}),
    ),
    case(
        "R3 reading a child uses its parent and not its sibling",
        [done(1, 1, writes("b", {"x": "a.s.t"}), of=[A])],
        unused("a", {"s": "used", "s.t": "used", "s.u": "unused", "o": "unused"}),
    ),
    case(
        "R3 reading a parent as a whole leaves its children unknown",
        [done(1, 1, writes("b", {"j": "a.s"}), of=[A])],
        unused("a", {"s": "used", "s.t": "unknown: nested", "s.u": "unknown: nested", "o": "unused"}),
    ),
    case(
        "R3 a copy by name does not prove that a child is used",
        [COPY],
        unused("a", {"s": "used", "s.t": "unknown: nested", "s.u": "unknown: nested", "o": "unused"}),
    ),
    case(
        "R3 reading a child besides the whole",
        [done(1, 1, writes("b", {"j": "a.s", "x": "a.s.t"}), of=[A])],
        unused("a", {"s": "used", "s.t": "used", "s.u": "unknown: nested", "o": "unused"}),
    ),
    case(
        "R3 reading the middle of three levels",
        [done(1, 1, writes("b", {"j": "a.s.t"}), of=[table("a", "s.t.v s.u o")])],
        unused("a", {"s": "used", "s.t": "used", "s.t.v": "unknown: nested", "s.u": "unused", "o": "unused"}),
    ),
    case(
        "R3 a top-level column with a dot in its name is nested in nothing",
        [done(1, 1, writes("b", {"x": "a.s.t"}), of=[table("a", "=s.t s")])],
        unused("a", {"s": "unused", "s.t": "used"}),
        exposed("a.s.t", "b.x"),
        surface("a.s", {}),
        impact("a.s", {}),
    ),
    case(
        "R3 reading what a dotted name seems nested in leaves it alone",
        [done(1, 1, writes("b", {"x": "a.s"}), of=[table("a", "=s.t s")])],
        unused("a", {"s": "used", "s.t": "unused"}),
        surface("a.s.t", {}),
        exposed("a.s", "b.x"),
    ),
    case(
        "R3 behind an opaque writer parents and children are unknown",
        [done(1, 1, table("b", "s.t o"), of=[A])],
        surface("a.s.t", {"b.s": "unknown", "b.s.t": "unknown", "b.o": "unknown"}),
        unused("a", dict.fromkeys(("s", "s.t", "s.u", "o"), "unknown: opaque")),
    ),
    case(
        "R3 a struct of which a writer names one child leaves the other unknown",
        [done(1, 1, writes("b", {"s.t": "a.s.t"}, columns="s.t s.u"), of=[A])],
        surface("a.s.t", {"b.s.t": "exposed", "b.s.u": "unknown", "b.s": "?"}),
    ),
    case(
        "R3 through a dropped stage children go on by name",
        [COPY, AGAIN, drop(3, 3, "b")],
        exposed("a.s.t", "c.s", "c.s.t"),
        impact("a.s.t", {"c.s": "2", "c.s.t": "2"}),
        unused("a", {"s": "used", "s.t": "unknown: nested", "s.u": "unknown: nested", "o": "unused"}),
        doubt=NAMED,
    ),
    case(
        "R3 a tag on a child as the event writes it",
        [COPY, tagging(5, "a.s.t")],
        exposed("#pii", "b.s", "b.s.t"),
        doubt=NAMED,
    ),
    case(
        "R3 a tag without a field is on every column, nested ones too",
        [done(1, 1, writes("b", {"x": "a.s.t", "y": "a.o"}), of=[A]), tagging(5, "a")],
        exposed("#pii", "b.x", "b.y"),
    ),
    case(
        "R3 names of children match in any case",
        [done(1, 1, writes("b", {"S": "a.s"}, columns="S.T S.U"), of=[A])],
        exposed("a.s.t", "b.s", "b.s.t"),
        doubt=NAMED,
    ),
    *(
        case(
            f"R3 {what} is the same column whether lineage names the {around} or not: {read}",
            [done(1, 1, writes("b", {"x": f"a.{read}"}), of=[table("a", f"o {columns}")])],
            unused("a", {"o": "unused", "i": "used", **rest, "i.t": "used", "i.u": "unused"}),
            *(exposed(f"a.{column}", "b.x") for column in ("i.t", f"i.{around}.t", "i")),
            *(impact(f"a.{column}", {"b.x": "1"}) for column in ("i.t", f"i.{around}.t")),
            surface("a.i.u", {}),
        )
        for what, around, columns, rest in (
            ("an element of an array", "_element", "i._element.t i._element.u", {}),
            ("a value of a map", "_value", "i._key i._value.t i._value.u", {"i._key": "unused"}),
        )
        for read in ("i.t", f"i.{around}.t")
    ),
    case(
        "R3 lineage may write the part of an array in another case",
        [done(1, 1, writes("b", {"x": "a.I._ELEMENT.T"}), of=[table("a", "i._element.t i._element.u")])],
        unused("a", {"i": "used", "i.t": "used", "i.u": "unused"}),
        exposed("a.i.t", "b.x"),
    ),
    case(
        "R3 a struct may have a field by the name of what a map holds",
        [done(1, 1, writes("b", {"x": "a.i._value"}), of=[table("a", "i._value i.unit")])],
        unused("a", {"i": "used", "i._value": "used", "i.unit": "unused"}),
        surface("a.i.unit", {}),
    ),
    case(
        "R3 an array of maps of arrays",
        [done(1, 1, writes("b", {"x": "a.i.t"}), of=[table("a", "i._element._key i._element._value._element.t")])],
        unused("a", {"i": "used", "i._key": "unused", "i.t": "used"}),
    ),
    case(
        "R3 double quotes around a column do not belong to its name",
        [done(1, 1, writes("b", {"x": 'a."T"'}), of=[table("a", "t u")])],
        unused("a", {"t": "used", "u": "unused"}),
        exposed("a.t", "b.x"),
    ),
    case(
        "R12.2 a column is a map if one of several lists shows it, whatever the others nest in it",
        [
            done(1, 1, writes("b", {"x": "a.m.e"}), of=[table("a", "m._key m._value.e")]),
            done(2, 2, writes("c", {"x": "a.o"}), of=[table("a", "m.e m.f o")]),
            done(3, 3, writes("d", {"x": "a.o"}), of=[table("a", "m o")]),
        ],
        unused("a", {"m": "used", "m._key": "unused", "m.e": "used", "m.f": "unused", "o": "used"}),
        exposed("a.m._value.e", "b.x"),
    ),
    case(
        "R12.3 a column is nested if one of several lists shows it, whatever the others call it",
        [
            done(1, 1, writes("b", {"x": "a.s.t"}), of=[table("a", "s.t")]),
            done(2, 2, writes("c", {"x": "a.o"}), of=[table("a", "s =s.t o")]),
        ],
        exposed("a.s", "b.x"),
        unused("a", {"s": "used", "s.t": "used", "o": "used"}),
    ),
]
