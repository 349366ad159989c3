"""The edges of one group of candidates in time, as rows of gold."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec import Struct

from headwater.lineage.edges.current_candidates import ATTEMPTED, Candidate, JobOutput
from headwater.lineage.edges.declared_masking import remasked
from headwater.lineage.edges.run_edges import OutputLineage
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.time.validity import ValidityHistory, ValidityInterval
from headwater.spark.delta.arrow_rows import Row
from headwater.spark.gold.open_candidates import CLOSED, OPEN
from headwater.spark.silver.candidate_rows import COLUMNS, CandidateRow
from headwater.spark.silver.texts import Reading, key_of, read_contribution, text_of
from headwater.tables import COLUMN_EDGES, Table, without

VOTE, COLUMN, TABLE = "vote", "column", "table"
INFERRED_EDGE = "inferred"
"""`origin` of what follows from SQL; of all else it is the layer, `observed` or `declared`."""

EDGE = Table(
    "edge",
    {
        **without(COLUMN_EDGES, "bucket", "batch", "rules_hash"),
        "opaque": "boolean",
        "kind": "string",
        "gone": "boolean",
        "was": "string",
    },
)
"""Rows of `column_edges` and `table_edges` (`kind`) that are new or other than before."""

GROUPED = Table("grouped", {**COLUMNS, "kind": "string", "whole": "boolean", "fresh": "boolean", "edge": "string"})
"""A candidate, or (`kind` column, table) a row that gold has, as JSON in `edge`.

whole: the group's history is made anew, of all its candidates; fresh: a candidate that gold has not seen.
"""


Said = Candidate[Sequence[NamedTuple]]


class ColumnEdgeRow(NamedTuple):
    """One column to one column, as one transformation says."""

    source: Name
    source_column: str
    target_column: str
    direct: bool
    masked: bool
    subtype: str | None
    description: str | None
    inferred: bool


class TableEdgeRow(NamedTuple):
    """A dataset to what is written from it; opaque: nobody says which columns."""

    source: Name
    opaque: bool
    inferred: bool


@dataclass(frozen=True)
class OutputHistory:
    """The history of one group at a time."""

    rules: UserRules

    def __call__(self, rows: Sequence[Row]) -> Iterator[Row]:
        """Take the rows of one group in the columns `GROUPED`; yield rows of `EDGE`."""
        every = [_Grouped(*row) for row in rows]
        candidates = [row for row in every if row.kind == VOTE]
        whole = any(row.whole for row in every)
        one = candidates[0] if candidates else every[0]
        job_output = one.job_output
        if job_output.output is None or job_output.layer == ATTEMPTED:
            return
        says = {
            content: remasked(self.rules, job_output, read_contribution(content))
            for content in {r.content for r in candidates}
        }
        for kind, edges_of in _KINDS.items():
            edges: dict[str, Sequence[NamedTuple]] = {content: edges_of(each) for content, each in says.items()}
            lineage = [(row, row.candidate(edges[row.content])) for row in candidates]
            before = [read_row(row.edge) for row in every if row.kind == kind]
            yield from _Writer(kind, one.group_key, job_output).changes(lineage, before, whole=whole)


class _Grouped(CandidateRow):
    kind: str
    whole: bool
    fresh: bool
    edge: str


def _column_edges(lineage: OutputLineage) -> tuple[ColumnEdgeRow, ...]:
    return tuple(
        dict.fromkeys(
            ColumnEdgeRow(
                edge.source,
                edge.column,
                target,
                edge.transformation.direct,
                edge.transformation.masked,
                *edge.transformation[2:],
                lineage.inferred,
            )
            for edge in lineage.edges
            for target in ((edge.target,) if edge.target is not None else lineage.columns)
        )
    )


def _table_edges(lineage: OutputLineage) -> tuple[TableEdgeRow, ...]:
    return tuple(TableEdgeRow(source, not lineage.carries, lineage.inferred) for source in lineage.tables)


_KINDS: dict[str, Callable[[OutputLineage], tuple[NamedTuple, ...]]] = {COLUMN: _column_edges, TABLE: _table_edges}


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
    origin: str = "observed"
    valid_to_us: int | None = None
    more_runs: int = 0
    again_us: int = 0

    def interval(self, kind: str) -> ValidityInterval[NamedTuple]:
        """Return the content of the row."""
        source = Name(self.source_namespace, self.source_dataset, self.source_generation)
        inferred = self.origin == INFERRED_EDGE
        edge: NamedTuple = TableEdgeRow(source, self.opaque, inferred)
        if kind == COLUMN:
            how = (self.direct, self.masked, self.subtype, self.description, inferred)
            edge = ColumnEdgeRow(source, self.source_column, self.target_column, *how)
        last_seen_us = max(self.last_seen_us, self.again_us)
        runs = self.runs + self.more_runs
        return ValidityInterval(edge, self.valid_from_us, self.valid_to_us, last_seen_us, runs, self.landed)


@dataclass(frozen=True)
class _Writer:
    """Rows of one kind of one group."""

    kind: str
    group_key: str
    job_output: JobOutput

    def changes(
        self, candidates: Iterable[tuple[_Grouped, Said]], before: Sequence[Kept], *, whole: bool
    ) -> Iterator[Row]:
        """Yield rows that are new, other than before, or gone."""
        known = {row.edge_key: (row, row.interval(self.kind)) for row in before}
        if whole:
            history: ValidityHistory[NamedTuple] = ValidityHistory(self.job_output.layer)
            history.add(candidate for _, candidate in candidates)
        else:
            seen = [candidate for row, candidate in candidates if not row.fresh]
            history = ValidityHistory(self.job_output.layer, seen, [interval for _, interval in known.values()])
            history.add(candidate for row, candidate in candidates if row.fresh)
        now = {self._key(interval): interval for interval in (*history.ended, *history.standing)}
        for key, interval in now.items():
            row, old = known.get(key, (None, None))
            if old != interval or (row and row.more_runs):  # what `edge_runs` counted goes to the row
                yield self._row(key, interval, row.part if row else None, gone=False)
        for key in known.keys() - now.keys():
            row, interval = known[key]
            yield self._row(key, interval, row.part, gone=True)

    def _key(self, interval: ValidityInterval[NamedTuple]) -> str:
        return key_of(self.group_key, self.kind, text_of(interval.edge), str(interval.since_us))

    def _row(self, key: str, interval: ValidityInterval[NamedTuple], was: str | None, *, gone: bool) -> Row:
        edge, output = interval.edge, self.job_output.output
        assert output is not None  # noqa: S101 - the caller looked
        assert isinstance(edge, (ColumnEdgeRow, TableEdgeRow))  # noqa: S101 - of `_KINDS`
        column = (
            edge
            if isinstance(edge, ColumnEdgeRow)
            else ColumnEdgeRow(edge[0], "", "", False, False, None, None, edge.inferred)
        )
        origin = INFERRED_EDGE if column.inferred else self.job_output.layer
        return (
            OPEN if interval.until_us is None else CLOSED, key, self.group_key, *column.source, *output, *column[1:-1],
            *self.job_output.job.parts, origin, interval.since_us, interval.until_us,
            interval.until_us is None, interval.last_seen_us, interval.runs, interval.rows_confirmed,
            edge.opaque if isinstance(edge, TableEdgeRow) else None, self.kind, gone, was,
        )  # fmt: skip


read_row = Reading(Kept)
