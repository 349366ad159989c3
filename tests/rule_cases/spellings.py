"""R12.1: the displayed spelling of columns that no schema lists."""

from tests.rule_cases.case import Case, case, impact, spelt
from tests.rule_cases.events import done, drop, table, writes

CASES: list[Case] = [
    case(
        "R12 a column that no schema lists is spelt as lineage spells it",
        [done(1, 1, writes("b", {"Total": "a.Email a.ID", "plain": "a.note"}, columns=""))],
        spelt("a", {"email": "Email", "id": "ID", "note": "note"}),
        spelt("b", {"total": "Total", "plain": "plain"}),
        impact("a.email", {"b.total": "1"}),
    ),
    case(
        "R12 the schema decides the spelling of the columns that it lists, and only of these",
        [
            done(1, 1, writes("b", {"x": "a.EMail"}), of=[table("a", "email phone")]),
            done(2, 2, writes("c", {"x": "a.PhoneNumber"})),
        ],
        spelt("a", {"email": "email", "phone": "phone", "phonenumber": "PhoneNumber"}),
    ),
    case(
        "R12 mixed case comes before upper case, upper case before lower case, then the alphabet decides",
        [
            done(1, 1, writes("b", {"x": "a.email", "y": "a.userid", "z": "a.note"}, columns="")),
            done(2, 2, writes("c", {"x": "a.EMAIL", "y": "a.userID"}, columns="")),
            done(3, 3, writes("d", {"x": "a.Email", "y": "a.UserId", "z": "a.NOTE"}, columns="")),
            done(4, 4, writes("e", {"x": "a.email"}, columns="")),
        ],
        spelt("a", {"email": "Email", "userid": "UserId", "note": "NOTE"}),
        impact("a.email", {"b.x": "1", "c.x": "1", "d.x": "1", "e.x": "1"}),
    ),
    case(
        "R12 a table that is created again without a schema keeps the spelling of its name",
        [
            done(1, 1, writes("b", {"Key": "a.Id"}, columns="")),
            drop(2, 2, "b"),
            done(3, 3, writes("b", {"key": "a.id"}, columns="")),
        ],
        spelt("a", {"id": "Id"}),
        spelt("b", {"key": "Key"}),
    ),
]
