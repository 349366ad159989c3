"""What a script makes of one dataset, and the names that its columns get."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headwater.lineage.inferring.column_steps import COPIED, Made, Relation, add
from headwater.lineage.inferring.unread_sql import HIDDEN_NAMES, UnreadSql


class MadeOutput(NamedTuple):
    """What a script makes of one dataset: columns by name, and what concerns all its rows.

    behind_views: places of datasets in it of which the script shows only what a view leaves of them.
    is_part: it has other columns, too, whose names the script does not give. unread: why more may be read of the
    datasets in `behind_views`.
    """

    columns: dict[str, Made]
    whole: Made
    behind_views: frozenset[int] = frozenset()
    is_part: bool = False
    unread: str | None = None

    @property
    def size(self) -> int:
        """Return how many columns copying it copies."""
        return size_of(self.columns.values()) + len(self.whole)

    @property
    def places(self) -> set[int]:
        """Return the places of the datasets that it is made of."""
        return {place for made in (*self.columns.values(), self.whole) for place, _ in made}

    def take(self, other: "MadeOutput") -> None:
        """Add what another statement makes of it."""
        for name, value in other.columns.items():
            self.set(name, value)
        add(self.whole, other.whole, COPIED)

    def set(self, name: str, value: Made) -> None:
        """Add to what a column is made of."""
        add(self.columns.setdefault(name, {}), value, COPIED)


_STAR_OF_PART = "it takes `*` of a table of which no event of the run lists all columns"


def size_of(columns: Iterable[Made]) -> int:
    """Return how many columns are copied with these: each, and those of which it is made."""
    return sum(1 + len(made) for made in columns)


def placed(relation: Relation, columns: Sequence[str]) -> dict[str, Made]:
    """Return columns under the names that they get by their places, all their own where none are given."""
    if relation.hides_names and len(relation.columns) > 1:
        raise UnreadSql(HIDDEN_NAMES)
    if relation.more_of:
        raise UnreadSql(_STAR_OF_PART)
    if not columns:
        return united(relation.columns)
    if len(relation.columns) > len(columns):
        raise UnreadSql("it writes more columns than are listed, or than the output's schema has")
    return united([(name, made) for name, (_, made) in zip(columns, relation.columns, strict=False)])


def united(columns: Sequence[tuple[str, Made]]) -> dict[str, Made]:
    """Return columns by name; what shares a name adds up."""
    found: dict[str, Made] = {}
    for name, made in columns:
        add(found.setdefault(name, {}), made, COPIED)
    return found


def named(relation: Relation, target: Relation | None) -> MadeOutput:
    """Take the columns by the query's names; where it leaves one out, by the places they have in the output."""
    if relation.hides_names:
        raise UnreadSql(HIDDEN_NAMES)
    if relation.more_of:
        known = united([each for each in relation.columns if each[0]])
        return MadeOutput(known, relation.whole, relation.more_of, is_part=True, unread=_STAR_OF_PART)
    if all(name for name, _ in relation.columns):
        return MadeOutput(united(relation.columns), relation.whole)
    columns = target.names if target is not None and not target.more_of else ()
    if len(columns) != len(relation.columns):
        return MadeOutput(united([each for each in relation.columns if each[0]]), relation.whole, is_part=True)
    return MadeOutput(placed(relation, columns), relation.whole)
