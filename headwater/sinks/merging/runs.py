"""Merge the events of one run by rule 1 of docs/reference/lineage.md, and write the result as one OpenLineage event."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Raw, structs

from headwater.events.decode import decode, repair_surrogates
from headwater.events.event import Content, SentSymlink
from headwater.events.facet_digests import canonical_json, is_deleted
from headwater.events.rows import content_rows
from headwater.events.rule_facets import PARENT, parent_facet, text_at
from headwater.events.spec_index import CORE
from headwater.events.times import iso_time, parse_time
from headwater.events.wire import NULL, WireDataset, WireEvent, read_wire_dataset, read_wire_event
from headwater.lineage.edges.facet_contents import is_delta_internal_file, read_sent_edges
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.event_order import Order, event_order
from headwater.lineage.runs.run_facts import TERMINAL_TYPES, later_attempt_starts
from headwater.lineage.runs.sent_facets import Facets, decode_members, run_facets
from headwater.sinks.interface.shape import History, Payload, SinkEvent, group_by_run
from headwater.sinks.interface.support import ItemSupport

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


_Ordered = tuple[Order, WireEvent]


class MergedEvent(msgspec.Struct):
    """The merged events of a run, or the event of a job or a dataset; all times are in us, UTC.

    started_us: time of the first START or RUNNING event, or None if there is none.
    state: terminal state of the run, or None while the run has not ended.
    completed_us: end of the newest COMPLETE attempt, or None without such an attempt. The datasets of events up to this
    time count (rule 1.8).
    later_attempt_us: start of the newest attempt if it began after the COMPLETE attempt, otherwise None.
    counts_in_any_state: whether the run counts in any state if it has datasets or lineage facets.
    input_facets, output_facets: facets that describe a dataset only in this run, such as statistics.
    """

    kind: str
    first_event_us: int
    last_event_us: int
    started_us: int | None = None
    ended_us: int | None = None
    state: str | None = None
    completed_us: int | None = None
    later_attempt_us: int | None = None
    producer: str = ""
    run_id: str | None = None
    job: Name = Name("", "")
    run_facets: Facets = msgspec.field(default_factory=dict)
    job_facets: Facets = msgspec.field(default_factory=dict)
    inputs: dict[Name, Facets] = msgspec.field(default_factory=dict)
    outputs: dict[Name, Facets] = msgspec.field(default_factory=dict)
    input_facets: dict[Name, Facets] = msgspec.field(default_factory=dict)
    output_facets: dict[Name, Facets] = msgspec.field(default_factory=dict)
    counts_in_any_state: bool = False

    @property
    def is_streaming(self) -> bool:
        """Return whether the run is a stream or service, which has no end to wait for."""
        kind, by = (self.job_type(name) for name in ("processingType", "integration"))
        return kind in ("STREAMING", "SERVICE") or by == "FLINK"

    def job_type(self, *path: str) -> str:
        """Return the text at a path of the `jobType` facet, in upper case; empty if there is none."""
        return (text_at(facet_members(self.job_facets, "jobType"), *path) or "").upper()

    @property
    def has_counted_edges(self) -> bool:
        """Return whether the edges count: batch runs need a COMPLETE attempt, all others always count."""
        if self.counts_in_any_state:
            return bool(self.datasets or self.lineage_facets)
        return self.kind != "RUN" or self.completed_us is not None or self.is_streaming

    @property
    def lineage_facets(self) -> list[Raw]:
        """Return the `lineage` facets of the job and the run, if they exist."""
        return [facets["lineage"] for facets in (self.job_facets, self.run_facets) if "lineage" in facets]

    @property
    def is_due(self) -> bool:
        """Return whether this can be sent: batch runs must have ended; streams, jobs and datasets are always due."""
        return self.kind != "RUN" or self.state is not None or self.is_streaming

    @property
    def datasets(self) -> dict[Name, Facets]:
        """Return inputs and outputs by name; a dataset that is both has the facets of both."""
        return {
            name: {**self.inputs.get(name, {}), **self.outputs.get(name, {})} for name in self.inputs | self.outputs
        }


def merge_events(events: Iterable[SinkEvent]) -> MergedEvent:
    """Merge the events of one run, or read the single event of a job or dataset; at least one event is required."""
    wires = ((event, read_wire_event(repair_surrogates(event.body))[0]) for event in events)
    ordered = sorted(((_event_order(event, wire), wire) for event, wire in wires), key=lambda each: each[0])
    times = [order.time_us for order, _ in ordered]
    newest = ordered[-1][1]
    found = MergedEvent(_event_kind(newest), min(times), times[-1], producer=newest.producer)
    found.started_us = min((at.time_us for at, wire in ordered if wire.eventType in ("START", "RUNNING")), default=None)
    if end := _newest_end(ordered):
        found.ended_us, found.state = end
    for _, wire in ordered:
        _add_event(found, wire)
    counted = _counted_events(found, ordered)
    if len(counted) < len(ordered):
        _replace_lineage(found, [wire for _, wire in counted])
    for wire in _events_with_datasets(found, [wire for _, wire in counted]):
        for read in _read_datasets(wire.inputs or ()):
            _add_dataset(found.inputs, found.input_facets, read, read.inputFacets)
        for read in _read_datasets([wire.dataset] if found.kind == "DATASET" else wire.outputs or ()):
            _add_dataset(found.outputs, found.output_facets, read, read.outputFacets)
    return found


def _newest_end(ordered: Sequence[_Ordered]) -> tuple[int, str] | None:
    """Return the time (us) and the state of the newest terminal event, or None without such an event."""
    ends = [(order, str(wire.eventType)) for order, wire in ordered if wire.eventType in TERMINAL_TYPES]
    if not ends:
        return None
    order, kind = max(ends, key=lambda each: (*each[0][:2], TERMINAL_TYPES.index(each[1])))
    return order.time_us, kind


def _counted_events(found: MergedEvent, ordered: Sequence[_Ordered]) -> Sequence[_Ordered]:
    """Return the events of a batch run up to the end of its newest COMPLETE attempt, and store this end in `found`.

    Without such an attempt, and for streams, jobs and datasets, returns all events.
    """
    if found.kind != "RUN" or found.is_streaming:
        return ordered
    begins = [0, *later_attempt_starts((wire.eventType or None, order.time_us) for order, wire in ordered)]
    for begin, until in zip(reversed(begins), [len(ordered), *reversed(begins[1:])], strict=True):
        end = _newest_end(ordered[begin:until])
        if end and end[1] == "COMPLETE":
            found.completed_us = end[0]
            found.later_attempt_us = ordered[begins[-1]][0].time_us if until < len(ordered) else None
            return ordered[:until]
    return ordered


def facet_members(facets: Facets, name: str) -> Mapping[str, Any]:
    """Return a facet's members; empty if there is no such facet or it is not an object."""
    value = decode(bytes(facets[name])) if name in facets else None
    return value if isinstance(value, dict) else {}


def objects_in_list(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects in a list; empty if the value is not a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def symlinks(facets: Facets) -> list[SentSymlink]:
    """Return the symlinks of a dataset that have a namespace and a name."""
    links = objects_in_list(facet_members(facets, "symlinks").get("identifiers"))
    named = [SentSymlink(*(text_at(each, key) or "" for key in ("namespace", "name", "type"))) for each in links]
    return [each for each in named if each.namespace and each.name]


def _event_order(event: SinkEvent, wire: WireEvent) -> Order:
    time_us, _ = parse_time(wire.eventTime)
    received_us = event.head.received_us
    sent_us = received_us if time_us is None else time_us
    return event_order(event.head.event_id, wire.eventType or "OTHER", sent_us, received_us)


def _event_kind(wire: WireEvent) -> str:
    return "RUN" if wire.run is not UNSET else "JOB" if wire.job is not UNSET else "DATASET"


def _add_event(found: MergedEvent, wire: WireEvent) -> None:
    if wire.job is not UNSET:
        found.job = Name(wire.job.namespace, wire.job.name)
        merge_facets(found.job_facets, decode_members(wire.job.facets))
    if wire.run is not UNSET:
        found.run_id = wire.run.runId
        merge_facets(found.run_facets, _with_parent(run_facets(wire)))


def _replace_lineage(found: MergedEvent, wires: Iterable[WireEvent]) -> None:
    """Replace the `lineage` facets of `found` with the `lineage` facets of the given events."""
    for facets in (found.run_facets, found.job_facets):
        facets.pop("lineage", None)
    for wire in wires:
        of_job, of_run = decode_members(wire.job.facets) if wire.job is not UNSET else {}, run_facets(wire)
        for target, sent in ((found.job_facets, of_job), (found.run_facets, of_run)):
            merge_facets(target, {name: value for name, value in sent.items() if name == "lineage"})


def _with_parent(facets: Facets) -> Facets:
    """Return the facets of a run with the parent facet under its standard name `parent`."""
    parent = parent_facet(facets)
    if parent is None or parent is facets.get(PARENT[0]):
        return facets
    return {PARENT[0]: parent, **{name: raw for name, raw in facets.items() if name not in PARENT}}


def merge_facets(target: Facets, sent: Facets) -> None:
    """Add the facets in `sent` to `target`: a new value replaces the old one, but `lineage` facets are united.

    A facet that is marked as deleted is removed from `target`.
    """
    for name, value in sent.items():
        if value == NULL:
            continue
        if is_deleted(bytes(value)):
            target.pop(name, None)
        elif name == "lineage" and target.get(name, value) != value:
            target[name] = Raw(msgspec.json.encode(_unite_lineage(decode(bytes(target[name])), decode(bytes(value)))))
        else:
            target[name] = value


def _unite_lineage(older: Any, newer: Any) -> Any:
    """Unite two `lineage` facets (facets/1-0-0/LineageFacet): entries, inputs and fields of both, without repeats."""
    if isinstance(older, dict) and isinstance(newer, dict):
        return older | {
            key: _unite_lineage(older[key], value) if key in older else value for key, value in newer.items()
        }
    if isinstance(older, list) and isinstance(newer, list):
        return [*{canonical_json(each): each for each in (*older, *newer)}.values()]
    return newer


def _read_datasets(raws: Iterable[Raw]) -> Iterator[WireDataset]:
    for raw in raws:
        if (read := read_wire_dataset(bytes(raw))) and not is_delta_internal_file(
            Name(read[0].namespace, read[0].name)
        ):
            yield read[0]


def _add_dataset(datasets: dict[Name, Facets], of_run: dict[Name, Facets], read: WireDataset, own: Raw) -> None:
    name = Name(read.namespace, read.name)
    merge_facets(datasets.setdefault(name, {}), decode_members(read.facets))
    merge_facets(of_run.setdefault(name, {}), decode_members(own))


def _events_with_datasets(found: MergedEvent, wires: Sequence[WireEvent]) -> Sequence[WireEvent]:
    """Return the events whose datasets count: all events, or only the newest if a stream sends full snapshots."""
    mode = found.job_type("emissionPattern", "eventContentMode")
    if not (found.is_streaming and mode == "COMPLETE_SNAPSHOT"):
        return wires
    with_lineage = [wire for wire in wires if any(b'"columnLineage"' in bytes(raw) for raw in wire.outputs or ())]
    return (with_lineage or [wire for wire in wires if wire.inputs or wire.outputs] or wires)[-1:]


def run_payloads(events: Sequence[SinkEvent], history: History) -> list[Payload]:
    """Return one event for each ended run and the current state of streams; jobs and datasets are sent unchanged.

    Each event after a run's end causes the whole run to be sent again. If an attempt failed after a completed one, the
    completed attempt is sent with its datasets, then the start and the end of the failed attempt without datasets.
    """
    return [
        Payload(last, body)
        for last, run in due_runs(events, history)
        for body in (_event_bodies(run) if run.kind == "RUN" else [last.body])
    ]


def _event_bodies(run: MergedEvent) -> list[bytes]:
    if run.later_attempt_us is None or run.completed_us is None or run.state == "COMPLETE":
        return [run_event(run)]
    bare = structs.replace(run, inputs={}, outputs={}, completed_us=None, job_facets=_without_lineage(run.job_facets))
    bare.run_facets = _without_lineage(run.run_facets)
    completed = structs.replace(run, state="COMPLETE", ended_us=run.completed_us)
    begin = structs.replace(bare, state="START", ended_us=run.later_attempt_us)
    return [run_event(each) for each in (completed, begin, bare)]


def _without_lineage(facets: Facets) -> Facets:
    """Return facets without `lineage`."""
    return {name: raw for name, raw in facets.items() if name != "lineage"}


def due_runs(events: Sequence[SinkEvent], history: History) -> list[tuple[SinkEvent, MergedEvent]]:
    """Return the ended runs, streams, jobs and datasets of a batch, as pairs of last event and merged event."""
    merging = ((group[-1], merge_events(group)) for group in group_by_run(events, history))
    return [(last, run) for last, run in merging if run.is_due]


def run_event(run: MergedEvent) -> bytes:
    """Return a run as one RunEvent, encoded as JSON. Its time is the end of the run, or a stream's newest event."""
    return msgspec.json.encode(
        {
            "eventTime": iso_time(run.last_event_us if run.ended_us is None else run.ended_us),
            "producer": run.producer,
            "schemaURL": _RUN,
            "eventType": run.state or "RUNNING",
            "run": {"runId": run.run_id, "facets": run.run_facets},
            "job": {"namespace": run.job.namespace, "name": run.job.name, "facets": run.job_facets},
            "inputs": _sent_datasets(inputs_of(run), "inputFacets", run.input_facets),
            "outputs": _sent_datasets(run.outputs, "outputFacets", run.output_facets),
        }
    )


def inputs_of(run: MergedEvent) -> dict[Name, Facets]:
    """Return the inputs of a run; if the run reports no inputs, returns the source datasets of its column lineage."""
    return run.inputs or _inputs_of_columns(run)


def _inputs_of_columns(run: MergedEvent) -> dict[Name, Facets]:
    """Return the source datasets of the run's column lineage; Spark's MERGE reports its inputs only there."""
    if not run.has_counted_edges:
        return {}
    found = [("lineage", raw) for raw in run.lineage_facets] or [
        (name, facets[name])
        for facets in run.outputs.values()
        for name in [next((each for each in ("lineage", "columnLineage") if each in facets), None)]
        if name
    ]
    rows = (content_rows(Content("column_lineage", "", name, bytes(raw))) for name, raw in found)
    return {edge.source: {} for some in rows for edge in read_sent_edges(some, Name) if edge.source}


def _sent_datasets(datasets: Mapping[Name, Facets], own: str, of_run: Mapping[Name, Facets]) -> list[dict[str, Any]]:
    return [
        {"namespace": name.namespace, "name": name.name, "facets": facets}
        | ({own: of_run[name]} if of_run.get(name) else {})
        for name, facets in datasets.items()
    ]
