"""The edges of one group of votes in time, as rows of gold."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec import Struct

from headwater.lineage.current import Group, Vote
from headwater.lineage.edges import Contribution
from headwater.lineage.history import History, Spell
from headwater.lineage.masking import remasked
from headwater.lineage.name import Name
from headwater.lineage.user_rules import UserRules
from headwater.spark.arrow import Row
from headwater.spark.judge import CLOSED, OPEN
from headwater.spark.texts import Reading, key_of, read_contribution, text_of
from headwater.spark.votes import COLUMNS, VoteRow
from headwater.tables import COLUMN_EDGES, Table, without

VOTE, COLUMN, TABLE = "vote", "column", "table"

EDGE = Table(
    "edge",
    {
        **without(COLUMN_EDGES, "batch", "rules_hash"),
        "opaque": "boolean",
        "kind": "string",
        "gone": "boolean",
        "was": "string",
    },
)
"""Rows of `column_edges` and `table_edges` (`kind`) that are new or other than before."""

GROUPED = Table("grouped", {**COLUMNS, "kind": "string", "whole": "boolean", "fresh": "boolean", "edge": "string"})
"""A vote, or (`kind` column, table) a row that gold has, as JSON in `edge`.

whole: the group's history is made anew, of all its votes; fresh: a vote that gold has not seen.
"""


Said = Vote[Sequence[NamedTuple]]


class ColumnEdge(NamedTuple):
    """One column to one column, as one transformation says."""

    source: Name
    source_column: str
    target_column: str
    direct: bool
    masked: bool
    subtype: str | None
    description: str | None


class TableEdge(NamedTuple):
    """A dataset to what is written from it; opaque: nobody says which columns."""

    source: Name
    opaque: bool


@dataclass(frozen=True)
class Spells:
    """The history of one group at a time."""

    rules: UserRules

    def __call__(self, rows: Sequence[Row]) -> Iterator[Row]:
        """Take the rows of one group in the columns `GROUPED`; yield rows of `EDGE`."""
        every = [_Grouped(*row) for row in rows]
        votes = [row for row in every if row.kind == VOTE]
        whole = any(row.whole for row in every)
        one = votes[0] if votes else every[0]
        group = one.group
        if group.output is None:
            return
        says = {
            content: remasked(self.rules, group, read_contribution(content)) for content in {r.content for r in votes}
        }
        for kind, edges_of in _KINDS.items():
            edges: dict[str, Sequence[NamedTuple]] = {content: edges_of(each) for content, each in says.items()}
            said = [(row, row.vote(edges[row.content])) for row in votes]
            before = [read_row(row.edge) for row in every if row.kind == kind]
            yield from _Writer(kind, one.group_key, group).changes(said, before, whole=whole)


class _Grouped(VoteRow):
    kind: str
    whole: bool
    fresh: bool
    edge: str


def _column_edges(said: Contribution) -> tuple[ColumnEdge, ...]:
    return tuple(
        dict.fromkeys(
            ColumnEdge(edge.source, edge.column, target, edge.how.direct, edge.how.masked, *edge.how[2:])
            for edge in said.edges
            for target in ((edge.target,) if edge.target is not None else said.columns)
        )
    )


def _table_edges(said: Contribution) -> tuple[TableEdge, ...]:
    return tuple(TableEdge(source, not said.carries) for source in said.tables)


_KINDS: dict[str, Callable[[Contribution], tuple[NamedTuple, ...]]] = {COLUMN: _column_edges, TABLE: _table_edges}


class Kept(Struct):
    """A row that gold has, as far as it goes on; times in microseconds.

    more_runs, again_us: of runs that have said it once more since the row was written (`edge_runs`).
    """

    edge_key: str
    part: str
    source_namespace: str
    source_dataset: str
    source_generation: str
    valid_from_us: int
    last_seen_us: int
    runs: int
    landed: bool
    source_column: str = ""
    target_column: str = ""
    direct: bool = False
    masked: bool = False
    subtype: str | None = None
    description: str | None = None
    opaque: bool = False
    valid_to_us: int | None = None
    more_runs: int = 0
    again_us: int = 0

    def spell(self, kind: str) -> Spell[NamedTuple]:
        """Return what the row says."""
        source = Name(self.source_namespace, self.source_dataset, self.source_generation)
        edge: NamedTuple = TableEdge(source, self.opaque)
        if kind == COLUMN:
            how = (self.direct, self.masked, self.subtype, self.description)
            edge = ColumnEdge(source, self.source_column, self.target_column, *how)
        last_seen_us = max(self.last_seen_us, self.again_us)
        runs = self.runs + self.more_runs
        return Spell(edge, self.valid_from_us, self.valid_to_us, last_seen_us, runs, self.landed)


@dataclass(frozen=True)
class _Writer:
    """Rows of one kind of one group."""

    kind: str
    group_key: str
    group: Group

    def changes(self, votes: Iterable[tuple[_Grouped, Said]], before: Sequence[Kept], *, whole: bool) -> Iterator[Row]:
        """Yield rows that are new, other than before, or gone."""
        known = {row.edge_key: (row, row.spell(self.kind)) for row in before}
        if whole:
            history: History[NamedTuple] = History(self.group.layer, newest=True)
            history.add(vote for _, vote in votes)
        else:
            seen = [vote for row, vote in votes if not row.fresh]
            history = History(self.group.layer, seen, [spell for _, spell in known.values()], newest=True)
            history.add(vote for row, vote in votes if row.fresh)
        now = {self._key(spell): spell for spell in (*history.ended, *history.standing)}
        for key, spell in now.items():
            row, old = known.get(key, (None, None))
            if old != spell or (row and row.more_runs):  # what `edge_runs` counted goes to the row
                yield self._row(key, spell, row.part if row else None, gone=False)
        for key in known.keys() - now.keys():
            row, spell = known[key]
            yield self._row(key, spell, row.part, gone=True)

    def _key(self, spell: Spell[NamedTuple]) -> str:
        return key_of(self.group_key, self.kind, text_of(spell.edge), str(spell.since_us))

    def _row(self, key: str, spell: Spell[NamedTuple], was: str | None, *, gone: bool) -> Row:
        edge, output = spell.edge, self.group.output
        assert output is not None  # noqa: S101 - the caller looked
        column = edge if isinstance(edge, ColumnEdge) else ColumnEdge(edge[0], "", "", False, False, None, None)
        return (
            OPEN if spell.until_us is None else CLOSED, key, self.group_key, *column.source, *output, *column[1:],
            *self.group.job.parts, self.group.layer, spell.since_us, spell.until_us, spell.until_us is None,
            spell.last_seen_us, spell.runs, spell.landed,
            edge.opaque if isinstance(edge, TableEdge) else None, self.kind, gone, was,
        )  # fmt: skip


read_row = Reading(Kept)
