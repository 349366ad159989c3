"""The question `edge`: the jobs and runs that make an edge."""

from headwater.common.errors import NotKnown
from headwater.events.times import iso_time
from headwater.lineage.edges.output_lineage import Edge, OutputLineage, edge_origin
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.snapshots.snapshot import Snapshot
from headwater.questions.answer_types.common import Job
from headwater.questions.answer_types.lineage import EdgeAnswer, EdgeReason
from headwater.questions.conversions import column_for_answer, transformation_for_answer
from headwater.questions.subjects import Subject, find_column, find_dataset


def edge_answer(
    snapshot: Snapshot, rules: NameRules, start: Subject, end: Subject, counted: CountedEdges
) -> EdgeAnswer:
    """Answer which jobs make the edge between two columns or datasets."""
    source, output = find_dataset(snapshot, rules, start), find_dataset(snapshot, rules, end)
    column = None if start.column is None else find_column(snapshot, source, start.column)
    target = None if end.column is None else find_column(snapshot, output, end.column)
    number = counted.lifetimes.newest_with_lineage(output)
    counts = counted.with_earlier_uses_and_writes().live_mask
    fed_by = sorted(snapshot.graph.writers_by_dataset.get(number, ())) if number is not None else []
    items = []
    for each in fed_by:
        job_output, lineage = snapshot.graph.edge_sets[each]
        edges = [edge for edge in lineage.edges if _is_requested_edge(edge, lineage, source, column, target)]
        if counts[each] and (
            edges
            or (
                column is None
                and target is None
                and source in (each.without_generation for each in lineage.source_datasets)
            )
        ):
            items.append(_to_edge_reason(snapshot, each, job_output.job, edges))
    if not items:
        raise NotKnown("edge", f"{_column_text(source, column)} -> {_column_text(output, target)}", [])
    return EdgeAnswer(column_for_answer(snapshot, source, column), column_for_answer(snapshot, output, target), items)


def _is_requested_edge(
    edge: Edge, lineage: OutputLineage, source: Name, column: str | None, target: str | None
) -> bool:
    if edge.source.without_generation != source or (column is not None and edge.column != column):
        return False
    return target is None or edge.target == target or (edge.target is None and target in lineage.dataset_wide_targets)


def _to_edge_reason(snapshot: Snapshot, number: int, job: Name, edges: list[Edge]) -> EdgeReason:
    stats = snapshot.edge_set_stats(number)
    return EdgeReason(
        Job(*snapshot.job_name(job).parts),
        edge_origin(*snapshot.graph.edge_sets[number]),
        [
            transformation_for_answer(transformation)
            for transformation in dict.fromkeys(edge.transformation for edge in edges)
        ],
        stats.runs,
        iso_time(stats.first_us),
        iso_time(stats.last_us),
        stats.rows_confirmed,
        snapshot.newest_run(number),
    )


def _column_text(dataset: Name, key: str | None) -> str:
    return "/".join(dataset.parts) + ("" if key is None else f"#{key}")
