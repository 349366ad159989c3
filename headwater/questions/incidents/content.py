"""Incidents of what was written: emptied datasets, schema breaks and unusual volumes (rules 8, 9 and 11)."""

from collections.abc import Iterator, Mapping, Sequence

from headwater.lineage.edges.candidates import ATTEMPTED
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US
from headwater.lineage.runs.jobs import run_id_of
from headwater.lineage.snapshots.whole_rewrites import DAY_US
from headwater.questions.changes import RemovedColumn, removed_columns
from headwater.questions.incidents.affected import AffectedDataset
from headwater.questions.incidents.incident import FoundIncident, IncidentContext, IncidentSubject
from headwater.questions.unusual_volumes import MAX_SINCE_US, VolumeSpell

_NAMED = 3
"""The number of jobs that a text names."""

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
    changes: dict[tuple[Name, str], list[tuple[RemovedColumn, dict[Name, set[Name]]]]] = {}
    for removed in removed_columns(context.live, from_us):
        readers: dict[Name, set[Name]] = {}
        for job, output in _readers_of_column(context, removed.dataset, removed.column):
            readers.setdefault(job, set()).add(output)
        if readers and removed.time_us <= context.now_us:
            run = removed.run()
            cause = run_id_of(run[0]) if run else str(removed.time_us)
            changes.setdefault((removed.dataset, cause), []).append((removed, readers))
    return [_schema_break(context, *change, columns) for change, columns in changes.items()]


def _schema_break(
    context: IncidentContext, dataset: Name, cause: str, removed: Sequence[tuple[RemovedColumn, dict[Name, set[Name]]]]
) -> FoundIncident:
    """Return the incident of all columns that one run removed from a dataset, with their readers."""
    readers = {job: outputs for _, of_column in removed for job, outputs in of_column.items()}
    roots = {output: MAX_TIME_US for _, of_column in removed for outputs in of_column.values() for output in outputs}
    incident = FoundIncident(
        "schema.changed", IncidentSubject("dataset", dataset), cause, min(each.time_us for each, _ in removed), None,
        roots, detail=_listed(sorted(job.name for job in readers)), columns=tuple(each.column for each, _ in removed),
    )  # fmt: skip
    incident.affected = context.affected.find(incident.roots)
    return incident


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _readers_of_column(context: IncidentContext, dataset: Name, column: str) -> Iterator[tuple[Name, Name]]:
    """Yield (display name of the job, output) for each job whose newest execution reads a column."""
    graph, counted = context.view.snapshot.graph, context.view.counted_edges.without_earlier_masks()
    number = counted.lifetimes.newest_with_lineage(dataset)
    node = None if number is None else graph.find_node(number, context.view.snapshot.columns(dataset).key(column))
    for _, _, edge_set in graph.outgoing.edges(node) if node is not None else ():
        output, lineage = graph.edge_sets[edge_set]
        if counted.is_counted(edge_set) and output.layer != ATTEMPTED and output.has_job and lineage.output:
            yield context.live.job_name(output.job), lineage.output.without_generation


def find_unusual_volumes(context: IncidentContext, found: Sequence[FoundIncident]) -> list[FoundIncident]:
    """Find the unusual row counts that do not follow from another incident."""
    causes: dict[Name, list[FoundIncident]] = {}
    for incident in found:
        for name in incident.affected:
            causes.setdefault(name, []).append(incident)
    unusual = [
        _volume_incident(context, name, spell)
        for name, spell in context.volumes.spells(max(context.since_us, context.now_us - MAX_SINCE_US))
        if spell.first.time_us <= context.now_us
    ]
    own = [each for each in unusual if not any(_explains(other, each) for other in causes.get(each.subject.name, ()))]
    downstream = {each.id: _with_downstream(context, each) for each in own}
    own.sort(key=lambda each: (each.opened_us, each.subject.name))
    roots: list[FoundIncident] = []
    for incident in own:
        name = incident.subject.name
        cause = next((each for each in roots if name in downstream[each.id] and _overlap(each, incident)), None)
        if cause is None:
            roots.append(incident)
        else:
            distance = downstream[cause.id][name].distance
            cause.affected.setdefault(name, AffectedDataset(name, distance, incident.ended_us))
    return roots


def _volume_incident(context: IncidentContext, name: Name, spell: VolumeSpell) -> FoundIncident:
    first, judgement = spell.first, spell.judgement
    usually = f"{judgement.low:,.0f} or more" if judgement.low is not None else ""
    if judgement.low is not None and judgement.high is not None:
        usually = f"{judgement.low:,.0f} to {judgement.high:,.0f}"
    incident = FoundIncident(
        "volume.unusual", IncidentSubject("dataset", name), context.reader.times.run_key(first.run), first.time_us,
        spell.ended_us, {name: first.time_us}, severity="warning", jobs=context.reader.times.jobs_of_runs([first.run]),
        detail=f"{first.numbers.rows:,} rows, usually {usually}",
    )  # fmt: skip
    incident.affected = context.affected.find_until(incident.roots, incident.resolved_us, has_downstream=False)
    return incident


def _with_downstream(context: IncidentContext, incident: FoundIncident) -> Mapping[Name, AffectedDataset]:
    return context.affected.find_until(incident.roots, incident.resolved_us, has_downstream=True)


def _explains(other: FoundIncident, unusual: FoundIncident) -> bool:
    """Return whether a dataset has an unusual row count because of another incident (rule 11).

    The write that makes the dataset up to date again is explained too, for it may contain what was missing. A failed
    test of the dataset itself does not change its rows.
    """
    affected = other.affected[unusual.subject.name]
    if affected.distance == 0 and other.kind in ("test.failed", "schema.changed"):
        return False
    return other.opened_us <= unusual.opened_us <= affected.refreshed_us


def _overlap(one: FoundIncident, other: FoundIncident) -> bool:
    return one.opened_us < other.ended_us and other.opened_us < one.ended_us
