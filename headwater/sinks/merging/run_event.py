"""A whole run as one OpenLineage event: what its events say together, in the form of the specification again."""

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
from headwater.sinks.contract.sink_holdings import Holding
from headwater.sinks.contract.sink_shape import History, Payload, SinkEvent, by_run
from headwater.sinks.merging.merged_event import MergedEvent, merged

_RUN = f"{CORE}#/$defs/RunEvent"
held_of_runs = (
    *(Holding("state", state, "not", "one event a run, at its end") for state in ("START", "RUNNING", "OTHER")),
    Holding(
        "missing input",
        "*",
        "not",
        "the run writes, but neither inputs nor column lineage that counts name what it read",
    ),
)


def run_payloads(events: Sequence[SinkEvent], history: History) -> list[Payload]:
    """Return each run that has ended as one event, a stream as it stands; jobs and datasets as they were sent.

    What comes behind a run's end makes it be sent again, whole. If a later attempt failed, the end of the completed
    one is sent with what that read and wrote, and the begin and end of the later one without.
    """
    return [
        Payload(last, body)
        for last, said in due_runs(events, history)
        for body in (_bodies(said) if said.kind == "RUN" else [last.body])
    ]


def _bodies(said: MergedEvent) -> list[bytes]:
    if said.again_us is None or said.completed_us is None or said.state == "COMPLETE":
        return [run_event(said)]
    bare = structs.replace(said, inputs={}, outputs={}, completed_us=None, of_job=_without_lineage(said.of_job))
    bare.of_run = _without_lineage(said.of_run)
    completed = structs.replace(said, state="COMPLETE", ended_us=said.completed_us)
    begin = structs.replace(bare, state="START", ended_us=said.again_us)
    return [run_event(each) for each in (completed, begin, bare)]


def _without_lineage(facets: Facets) -> Facets:
    """Return the facets of a run or job but `lineage`."""
    return {name: raw for name, raw in facets.items() if name != "lineage"}


def due_runs(events: Sequence[SinkEvent], history: History) -> list[tuple[SinkEvent, MergedEvent]]:
    """Return what a batch settles, each beside its last event: ended runs, streams as they stand, jobs and datasets."""
    merging = ((group[-1], merged(group)) for group in by_run(events, history))
    return [(last, said) for last, said in merging if said.is_due]


def run_event(said: MergedEvent) -> bytes:
    """Return a run as one RunEvent of its end; of a stream, which has none, of its newest event."""
    return msgspec.json.encode(
        {
            "eventTime": iso(said.newest_us if said.ended_us is None else said.ended_us),
            "producer": said.producer,
            "schemaURL": _RUN,
            "eventType": said.state or "RUNNING",
            "run": {"runId": said.run_id, "facets": said.of_run},
            "job": {"namespace": said.job.namespace, "name": said.job.name, "facets": said.of_job},
            "inputs": _datasets(inputs_of(said), "inputFacets", said.input_facets),
            "outputs": _datasets(said.outputs, "outputFacets", said.output_facets),
        }
    )


def inputs_of(said: MergedEvent) -> dict[Name, Facets]:
    """Return what a run read: its inputs, or if it reports none, what its column lineage names as sources."""
    return said.inputs or _inputs_of_columns(said)


def _inputs_of_columns(said: MergedEvent) -> dict[Name, Facets]:
    """Return the datasets that column lineage names as sources: a MERGE of Spark's reports no inputs beside it."""
    if not said.counts:
        return {}
    told = [("lineage", raw) for raw in said.declared] or [
        (name, facets[name])
        for facets in said.outputs.values()
        for name in [next((each for each in ("lineage", "columnLineage") if each in facets), None)]
        if name
    ]
    rows = (content_rows(Content("column_lineage", "", name, bytes(raw))) for name, raw in told)
    return {edge.source: {} for some in rows for edge in sent_edges(some, Name) if edge.source}


def _datasets(told: Mapping[Name, Facets], own: str, of_run: Mapping[Name, Facets]) -> list[dict[str, Any]]:
    return [
        {"namespace": name.namespace, "name": name.name, "facets": facets}
        | ({own: of_run[name]} if of_run.get(name) else {})
        for name, facets in told.items()
    ]
