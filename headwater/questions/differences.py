"""The question `diff`: edges of columns and tables that were added, removed, or started or stopped masking."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from headwater.common.paging import ListPage, RowOrder
from headwater.lineage.edges.schema_columns import parent_keys
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.snapshots.snapshot import Snapshot
from headwater.questions.answer_types.common import Column, Job
from headwater.questions.answer_types.lineage import Diff, DiffItem


class NamedEdge(NamedTuple):
    """An edge by names.

    source, column: the source dataset and its column. output, target: the output dataset and its column. Both columns
    are None for an edge between tables without column lineage.
    """

    source: Name
    column: str | None
    output: Name
    target: str | None
    direct: bool


class EdgeJob(NamedTuple):
    """A job that makes an edge. masked: whether the job masks the values."""

    job: Name
    masked: bool


def named_edges(snapshot: Snapshot, counted: CountedEdges) -> dict[NamedEdge, EdgeJob]:
    """Return every edge that counts, each with one job that makes it.

    If several jobs make an edge, a job that does not mask is preferred, then the first by name.
    """
    found: dict[NamedEdge, EdgeJob] = {}
    for edge, edge_job in _edges_without_masks(snapshot, counted):
        known = found.get(edge)
        if known is None or (edge_job.masked, edge_job.job) < (known.masked, known.job):
            found[edge] = edge_job
    return found


def _edges_without_masks(snapshot: Snapshot, counted: CountedEdges) -> Iterator[tuple[NamedEdge, EdgeJob]]:
    graph = snapshot.graph
    existing = {name for name in graph.generations if counted.shows_dropped or snapshot.exists(name)}
    for number, (job_output, lineage) in graph.edge_sets.items():
        if (
            not counted.is_counted(number)
            or lineage.output is None
            or graph.dataset_number(lineage.output) in counted.dropped_datasets
        ):
            continue
        output = lineage.output.without_generation
        for edge in lineage.edges:
            if edge.source.without_generation in existing and _has_column(snapshot, edge.source, edge.column):
                targets = lineage.dataset_wide_targets if edge.target is None else (edge.target,)
                for target in targets:
                    found = NamedEdge(
                        edge.source.without_generation, edge.column, output, target, edge.transformation.is_direct
                    )
                    yield found, EdgeJob(job_output.job, edge.transformation.is_masked)
        for source in (
            ()
            if lineage.has_column_lineage
            else {name.without_generation for name in lineage.source_datasets} & existing
        ):
            yield NamedEdge(source, None, output, None, True), EdgeJob(job_output.job, False)


def _has_column(snapshot: Snapshot, source: Name, key: str) -> bool:
    """Return whether a dataset still has a column that was read in one of its generations.

    Edges of readers stay after the dataset was recreated. But a column that the newest schema lacks feeds nothing.
    """
    newest = snapshot.naming.generations.newest_generation(source)
    columns = snapshot.columns(newest)
    if source == newest or not columns.names:
        return True
    own = columns.key(key)
    return any(each in columns.by_key for each in (own, *parent_keys(own, columns.top_level)))


def edge_differences(
    before: tuple[Snapshot, CountedEdges], after: tuple[Snapshot, CountedEdges], *, page: ListPage,
    only: str | None = None,
) -> Diff:  # fmt: skip
    """Answer which edges were added, which were removed (lost lineage), and which started or stopped masking.

    only: list only `added`, `removed` or `changed` edges. An edge between tables that is replaced by edges between
    columns does not count as removed.
    """
    old, new = named_edges(*before), named_edges(*after)
    changed = [edge for edge in old.keys() & new.keys() if old[edge].masked != new[edge].masked]
    new_pairs = {(edge.source, edge.output) for edge in new}
    removed = [edge for edge in old.keys() - new.keys() if edge.column or (edge.source, edge.output) not in new_pairs]
    items: list[_Change] = [("added", edge, new[edge], after[0]) for edge in new.keys() - old.keys()]
    items += [("removed", edge, old[edge], before[0]) for edge in removed]
    items += [("changed", edge, new[edge], after[0]) for edge in changed]
    result = _ORDER.page((item for item in items if only in (None, item[0])), page)
    added = len(items) - len(removed) - len(changed)
    return Diff(added, len(removed), len(changed), [_to_diff_item(*item) for item in result.rows], **result.info)


_Change = tuple[Literal["added", "removed", "changed"], NamedEdge, EdgeJob, Snapshot]


def _sort_key(item: _Change) -> tuple[str | int | None, ...]:
    edge = item[1]
    return (*edge.output.parts, edge.target, *edge.source.parts, edge.column, item[0], int(edge.direct))


_ORDER = RowOrder[_Change](
    "diff",
    {
        "change": lambda item: item[0], "from": lambda item: item[1].source.name,
        "to_namespace": lambda item: item[1].output.namespace, "to": lambda item: item[1].output.name,
        "type": lambda item: "DIRECT" if item[1].direct else "INDIRECT", "job": lambda item: item[2].job.name,
    },
    "to_namespace",
    _sort_key,
    ties=8,
    texts=lambda item: (*item[1].output.parts, item[1].target, *item[1].source.parts, item[1].column, item[2].job.name),
)  # fmt: skip


def _to_diff_item(
    change: Literal["added", "removed", "changed"], edge: NamedEdge, edge_job: EdgeJob, snapshot: Snapshot
) -> DiffItem:
    return DiffItem(
        change,
        Column(*edge.source.parts, _column_spelling(snapshot, edge.source, edge.column)),
        Column(*edge.output.parts, _column_spelling(snapshot, edge.output, edge.target)),
        "DIRECT" if edge.direct else "INDIRECT",
        edge_job.masked,
        Job(*snapshot.job_name(edge_job.job).parts),
    )


def _column_spelling(snapshot: Snapshot, dataset: Name, key: str | None) -> str | None:
    return None if key is None else snapshot.shown_columns(dataset).displayed_spelling(key)
