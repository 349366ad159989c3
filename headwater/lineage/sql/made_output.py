"""The result of reading a script for one output, and the assignment of names to its columns."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headwater.lineage.sql.column_steps import COPIED, Made, Relation, add
from headwater.lineage.sql.unread_sql import HIDDEN_NAMES, UnreadSql


class MadeOutput(NamedTuple):
    """The columns that a script writes into one dataset, with their origins.

    columns: origins by column name; whole: origins that concern all rows.
    behind_views: indexes of source datasets that may be read beyond what the script shows, for example through a view.
    is_part: the output has more columns, whose names the script does not contain.
    unread: the reason for `behind_views`.
    """

    columns: dict[str, Made]
    whole: Made
    behind_views: frozenset[int] = frozenset()
    is_part: bool = False
    unread: str | None = None

    @property
    def size(self) -> int:
        """The cost of copying this object, in column copies."""
        return size_of(self.columns.values()) + len(self.whole)

    @property
    def places(self) -> set[int]:
        """The indexes of all source datasets."""
        return {place for made in (*self.columns.values(), self.whole) for place, _ in made}

    def take(self, other: "MadeOutput") -> None:
        """Add the columns that another statement writes into the same dataset."""
        for name, value in other.columns.items():
            self.set(name, value)
        add(self.whole, other.whole, COPIED)

    def set(self, name: str, value: Made) -> None:
        """Add origins to a column."""
        add(self.columns.setdefault(name, {}), value, COPIED)


_STAR_OF_PART = "the SQL uses `*` for a table, but no event of the run reports all columns of this table"


def size_of(columns: Iterable[Made]) -> int:
    """Return the cost of copying these columns: one for each column and for each of its origins."""
    return sum(1 + len(made) for made in columns)


def placed(relation: Relation, columns: Sequence[str]) -> dict[str, Made]:
    """Return the columns of a query under the names at their positions in `columns`; raises UnreadSql.

    If `columns` is empty, the columns keep the names that the query gives them.
    """
    if relation.hides_names and len(relation.columns) > 1:
        raise UnreadSql(HIDDEN_NAMES)
    if relation.more_of:
        raise UnreadSql(_STAR_OF_PART)
    if not columns:
        return united(relation.columns)
    if len(relation.columns) > len(columns):
        raise UnreadSql("the query returns more columns than the column list or the schema of the output contains")
    return united([(name, made) for name, (_, made) in zip(columns, relation.columns, strict=False)])


def united(columns: Sequence[tuple[str, Made]]) -> dict[str, Made]:
    """Return columns by name, and add up the origins of columns with the same name."""
    found: dict[str, Made] = {}
    for name, made in columns:
        add(found.setdefault(name, {}), made, COPIED)
    return found


def named(relation: Relation, target: Relation | None) -> MadeOutput:
    """Return the columns of a query under the names that the query gives them.

    If the query leaves a column without a name, all columns take the names at their positions in the output. If the
    output has another number of columns, or its columns are not all known, only the named columns count, as a part.
    """
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
