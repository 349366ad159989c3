"""Write a merged run as one OpenLineage event."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from headwater.events.event import Content
from headwater.events.rows import content_rows
from headwater.events.spec_index import CORE
from headwater.events.times import iso
from headwater.lineage.edges.facet_contents import sent_edges
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.sent_facets import Facets
from headwater.sinks.contract.item_support import ItemSupport
from headwater.sinks.contract.sink_shape import History, Payload, SinkEvent, group_by_run
from headwater.sinks.merging.merged_event import MergedEvent, merge_events

_RUN = f"{CORE}#/$defs/RunEvent"
RUN_SUPPORT = (
    *(
        ItemSupport("state", state, "not", "sent as one event per run, at its end")
        for state in ("START", "RUNNING", "OTHER")
    ),
    ItemSupport(
        "missing input",
        "*",
        "not",
        "the run writes datasets, but neither inputs nor counted column lineage name what it read",
    ),
)


def run_payloads(events: Sequence[SinkEvent], history: History) -> list[Payload]:
    """Return one event for each ended run and the current state of streams; jobs and datasets are sent unchanged.

    Events after a run's end cause the whole run to be sent again. If a later attempt failed, the completed attempt is
    sent with its datasets, then the start and end of the later attempt without datasets.
    """
    return [
        Payload(last, body)
        for last, run in due_runs(events, history)
        for body in (_bodies(run) if run.kind == "RUN" else [last.body])
    ]


def _bodies(run: MergedEvent) -> list[bytes]:
    if run.later_attempt_us is None or run.completed_us is None or run.state == "COMPLETE":
        return [run_event(run)]
    bare = structs.replace(run, inputs={}, outputs={}, completed_us=None, of_job=_without_lineage(run.of_job))
    bare.of_run = _without_lineage(run.of_run)
    completed = structs.replace(run, state="COMPLETE", ended_us=run.completed_us)
    begin = structs.replace(bare, state="START", ended_us=run.later_attempt_us)
    return [run_event(each) for each in (completed, begin, bare)]


def _without_lineage(facets: Facets) -> Facets:
    """Return facets without `lineage`."""
    return {name: raw for name, raw in facets.items() if name != "lineage"}


def due_runs(events: Sequence[SinkEvent], history: History) -> list[tuple[SinkEvent, MergedEvent]]:
    """Return what a batch makes ready to send, each with its last event: ended runs, streams, jobs and datasets."""
    merging = ((group[-1], merge_events(group)) for group in group_by_run(events, history))
    return [(last, run) for last, run in merging if run.is_due]


def run_event(run: MergedEvent) -> bytes:
    """Return a run as one RunEvent with the time of its end, or of the newest event of a stream."""
    return msgspec.json.encode(
        {
            "eventTime": iso(run.last_event_us if run.ended_us is None else run.ended_us),
            "producer": run.producer,
            "schemaURL": _RUN,
            "eventType": run.state or "RUNNING",
            "run": {"runId": run.run_id, "facets": run.of_run},
            "job": {"namespace": run.job.namespace, "name": run.job.name, "facets": run.of_job},
            "inputs": _datasets(inputs_of(run), "inputFacets", run.input_facets),
            "outputs": _datasets(run.outputs, "outputFacets", run.output_facets),
        }
    )


def inputs_of(run: MergedEvent) -> dict[Name, Facets]:
    """Return the inputs of a run; if it reports none, the sources that its column lineage names."""
    return run.inputs or _inputs_of_columns(run)


def _inputs_of_columns(run: MergedEvent) -> dict[Name, Facets]:
    """Return the source datasets of column lineage: Spark's MERGE reports no other inputs."""
    if not run.counts:
        return {}
    found = [("lineage", raw) for raw in run.declared] or [
        (name, facets[name])
        for facets in run.outputs.values()
        for name in [next((each for each in ("lineage", "columnLineage") if each in facets), None)]
        if name
    ]
    rows = (content_rows(Content("column_lineage", "", name, bytes(raw))) for name, raw in found)
    return {edge.source: {} for some in rows for edge in sent_edges(some, Name) if edge.source}


def _datasets(datasets: Mapping[Name, Facets], own: str, of_run: Mapping[Name, Facets]) -> list[dict[str, Any]]:
    return [
        {"namespace": name.namespace, "name": name.name, "facets": facets}
        | ({own: of_run[name]} if of_run.get(name) else {})
        for name, facets in datasets.items()
    ]
