"""Compute the periods in which the edges of one job and output counted, as rows of gold."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec import Struct

from headwater.lineage.edges.candidates import ATTEMPTED, Candidate, JobOutput
from headwater.lineage.edges.output_lineage import OutputLineage
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.applied_rules import apply_masking_rules
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.snapshots.validity import ValidityHistory, ValidityInterval
from headwater.spark.delta.arrow_rows import Row
from headwater.spark.gold.open_candidates import CLOSED, OPEN
from headwater.spark.silver.candidate_rows import COLUMNS, CandidateRow
from headwater.spark.silver.texts import CachedDecoder, digest_of_texts, json_text, read_output_lineage
from headwater.tables import COLUMN_EDGES, Table, columns_without

CANDIDATE, COLUMN, TABLE = "candidate", "column", "table"
INFERRED_EDGE = "inferred"
"""`origin` of edges that the rules infer from SQL. The origin of other edges is their layer: observed or declared."""

EDGE = Table(
    "edge",
    {
        **columns_without(COLUMN_EDGES, "bucket", "batch", "rules_hash"),
        "opaque": "boolean",
        "kind": "string",
        "gone": "boolean",
        "was": "string",
    },
)
"""Rows of `column_edges` or `table_edges` that are new, changed or removed (`gone`).

kind: COLUMN for rows of `column_edges`, TABLE for rows of `table_edges`.
was: the part of the table that contained the row before the batch; null for a new row.
"""

GROUPED = Table("grouped", {**COLUMNS, "kind": "string", "recompute": "boolean", "fresh": "boolean", "edge": "string"})
"""Rows of a group: candidates (`kind` CANDIDATE), and stored rows of gold as JSON in `edge` (`kind` COLUMN or TABLE).

recompute: compute the history of the group again from all candidates of the group.
fresh: the candidate is new or changed, so the stored rows do not include it.
"""


EdgeCandidate = Candidate[Sequence[NamedTuple]]


class ColumnEdgeRow(NamedTuple):
    """An edge from one column to another, by one transformation."""

    source: Name
    source_column: str
    target_column: str
    direct: bool
    masked: bool
    subtype: str | None
    description: str | None
    inferred: bool


class TableEdgeRow(NamedTuple):
    """An edge from a dataset to the output. opaque: the run does not report columns."""

    source: Name
    opaque: bool
    inferred: bool


@dataclass(frozen=True)
class OutputHistory:
    """Computes the edge rows of one group, which is one job, layer and output. rules: contain the masking rules."""

    rules: UserRules

    def __call__(self, rows: Sequence[Row]) -> Iterator[Row]:
        """Convert all rows of one group, in the columns `GROUPED`, to the changed rows of the group as `EDGE`."""
        every = [_GroupedRow(*row) for row in rows]
        candidates = [row for row in every if row.kind == CANDIDATE]
        recompute = any(row.recompute for row in every)
        one = candidates[0] if candidates else every[0]
        job_output = one.job_output
        if job_output.output is None or job_output.layer == ATTEMPTED:
            return
        lineage_by_content = {
            content: apply_masking_rules(self.rules, job_output, read_output_lineage(content))
            for content in {r.content for r in candidates}
        }
        for kind, edges_of in _KINDS.items():
            edges: dict[str, Sequence[NamedTuple]] = {
                content: edges_of(each) for content, each in lineage_by_content.items()
            }
            lineage = [(row, row.candidate(edges[row.content])) for row in candidates]
            before = [read_row(row.edge) for row in every if row.kind == kind]
            yield from _EdgeRowBuilder(kind, one.group_key, job_output).changes(lineage, before, recompute=recompute)


class _GroupedRow(CandidateRow):
    kind: str
    recompute: bool
    fresh: bool
    edge: str


def _column_edges(lineage: OutputLineage) -> tuple[ColumnEdgeRow, ...]:
    return tuple(
        dict.fromkeys(
            ColumnEdgeRow(
                edge.source,
                edge.column,
                target,
                edge.transformation.is_direct,
                edge.transformation.is_masked,
                *edge.transformation[2:],
                lineage.is_inferred,
            )
            for edge in lineage.edges
            for target in ((edge.target,) if edge.target is not None else lineage.dataset_wide_targets)
        )
    )


def _table_edges(lineage: OutputLineage) -> tuple[TableEdgeRow, ...]:
    return tuple(
        TableEdgeRow(source, not lineage.has_column_lineage, lineage.is_inferred) for source in lineage.source_datasets
    )


_KINDS: dict[str, Callable[[OutputLineage], tuple[NamedTuple, ...]]] = {COLUMN: _column_edges, TABLE: _table_edges}


class StoredEdge(Struct):
    """A stored row of gold, with the columns from which its `ValidityInterval` is built. Times are in microseconds.

    more_runs, again_us: number and last time of recurring runs since the row was written, from `edge_runs`.
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
        """Return the edge of the row with its period. kind: COLUMN or TABLE."""
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
class _EdgeRowBuilder:
    """Builds the changed rows of one group and one kind (COLUMN or TABLE)."""

    kind: str
    group_key: str
    job_output: JobOutput

    def changes(
        self, candidates: Iterable[tuple[_GroupedRow, EdgeCandidate]], before: Sequence[StoredEdge], *, recompute: bool
    ) -> Iterator[Row]:
        """Yield rows of `EDGE` that are new, changed or gone.

        candidates: each row with its candidate. before: the stored rows of the group.
        recompute: compute the history from all candidates. Otherwise, add only fresh candidates to the stored history.
        """
        known = {row.edge_key: (row, row.interval(self.kind)) for row in before}
        if recompute:
            history: ValidityHistory[NamedTuple] = ValidityHistory(self.job_output.layer)
            history.add(candidate for _, candidate in candidates)
        else:
            stored = [candidate for row, candidate in candidates if not row.fresh]
            history = ValidityHistory(self.job_output.layer, stored, [interval for _, interval in known.values()])
            history.add(candidate for row, candidate in candidates if row.fresh)
        now = {self._edge_key(interval): interval for interval in (*history.ended, *history.open_intervals)}
        for key, interval in now.items():
            row, old = known.get(key, (None, None))
            if old != interval or (row and row.more_runs):  # the row takes over the count of `edge_runs`
                yield self._row(key, interval, row.part if row else None, gone=False)
        for key in known.keys() - now.keys():
            row, interval = known[key]
            yield self._row(key, interval, row.part, gone=True)

    def _edge_key(self, interval: ValidityInterval[NamedTuple]) -> str:
        return digest_of_texts(self.group_key, self.kind, json_text(interval.edge), str(interval.since_us))

    def _row(self, key: str, interval: ValidityInterval[NamedTuple], was: str | None, *, gone: bool) -> Row:
        edge, output = interval.edge, self.job_output.output
        assert output is not None  # noqa: S101 - the caller checked this
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


read_row = CachedDecoder(StoredEdge)
