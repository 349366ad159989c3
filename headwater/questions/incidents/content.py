"""Incidents of what was written: emptied datasets and schema breaks (rules 8 and 9)."""

from collections.abc import Iterator, Sequence

from headwater.lineage.edges.candidates import ATTEMPTED
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US
from headwater.lineage.runs.jobs import run_id_of
from headwater.lineage.snapshots.whole_rewrites import DAY_US
from headwater.questions.changes import RemovedColumn, removed_columns
from headwater.questions.incidents.incident import FoundIncident, IncidentContext, IncidentSubject

_SCHEMA_DAYS = 31
"""The number of days in which a column must have left for a schema break that is still open."""


def find_emptied(context: IncidentContext, _: Sequence[FoundIncident]) -> list[FoundIncident]:
    """Find the datasets whose newest write replaced all rows with none."""
    found = []
    for name, rows_before in sorted(context.emptied.items()):
        success = context.reader.dataset_health(name).success
        if success is not None:
            incident = FoundIncident(
                "dataset.emptied", IncidentSubject("dataset", name), context.reader.times.run_key(success.run),
                success.time_us, None, {name: MAX_TIME_US}, jobs={success.job},
                detail=str(rows_before),
            )  # fmt: skip
            incident.affected = context.affected.find(incident.roots)
            found.append(incident)
    return found


def find_schema_breaks(context: IncidentContext, _: Sequence[FoundIncident]) -> list[FoundIncident]:
    """Find the columns that left their datasets while the newest run of a job reads them."""
    from_us = (context.now_us - _SCHEMA_DAYS * DAY_US) // DAY_US * DAY_US
    removed = removed_columns(context.live, from_us)
    return [found for each in removed if each.time_us <= context.now_us for found in _breaks(context, each)]


def _breaks(context: IncidentContext, removed: RemovedColumn) -> Iterator[FoundIncident]:
    column, readers = removed.column, dict[Name, set[Name]]()
    for job, output in _readers_of_column(context, removed.dataset, column):
        readers.setdefault(job, set()).add(output)
    if readers:
        run = removed.run()
        roots = {output: MAX_TIME_US for outputs in readers.values() for output in outputs}
        incident = FoundIncident(
            "schema.changed", IncidentSubject("dataset", removed.dataset, column),
            run_id_of(run[0]) if run else str(removed.time_us), removed.time_us, None,
            roots, detail=", ".join(sorted(job.name for job in readers)),
        )  # fmt: skip
        incident.affected = context.affected.find(incident.roots)
        yield incident


def _readers_of_column(context: IncidentContext, dataset: Name, column: str) -> Iterator[tuple[Name, Name]]:
    """Yield (display name of the job, output) for each job whose newest execution reads a column."""
    graph, counted = context.view.snapshot.graph, context.view.counted_edges.without_earlier_masks()
    number = counted.lifetimes.newest_with_lineage(dataset)
    node = None if number is None else graph.find_node(number, context.view.snapshot.columns(dataset).key(column))
    for _, _, edge_set in graph.outgoing.edges(node) if node is not None else ():
        output, lineage = graph.edge_sets[edge_set]
        if counted.is_counted(edge_set) and output.layer != ATTEMPTED and output.has_job and lineage.output:
            yield context.live.job_name(output.job), lineage.output.without_generation
