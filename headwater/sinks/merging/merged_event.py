"""What the events of one run say together, by rule 1 of docs/lineage.md; of a job or a dataset, what its event says."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from headwater.events.decode import decode, repair_surrogates
from headwater.events.event import SentSymlink
from headwater.events.facet_digests import canonical, is_deleted
from headwater.events.rule_facets import PARENT, parent_of, text_at
from headwater.events.times import parse_time
from headwater.events.wire import NULL, WireDataset, WireEvent, read_wire_dataset, read_wire_event
from headwater.lineage.edges.facet_contents import is_noise
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.newest_first import Order, order_of
from headwater.lineage.runs.run_facts import TERMINAL, later_begins
from headwater.lineage.runs.sent_facets import Facets, members, run_facets
from headwater.sinks.contract.sink_shape import SinkEvent

_Ordered = tuple[Order, WireEvent]


class MergedEvent(msgspec.Struct):
    """A run, a job or a dataset; times in us, UTC.

    started_us: of its first START or RUNNING, None where none is known. state: how the run ended, None while it has
    not. completed_us: end of its newest COMPLETE attempt, up to which its datasets count (rule 1.8), None without one.
    again_us: begin of the newest attempt, if that is a later one.
    counts_as_told: it counts if it names datasets, whatever its state.
    input_facets, output_facets: what this run alone says of a dataset, such as statistics.
    """

    kind: str
    began_us: int
    newest_us: int
    started_us: int | None = None
    ended_us: int | None = None
    state: str | None = None
    completed_us: int | None = None
    again_us: int | None = None
    producer: str = ""
    run_id: str | None = None
    job: Name = Name("", "")
    of_run: Facets = msgspec.field(default_factory=dict)
    of_job: Facets = msgspec.field(default_factory=dict)
    inputs: dict[Name, Facets] = msgspec.field(default_factory=dict)
    outputs: dict[Name, Facets] = msgspec.field(default_factory=dict)
    input_facets: dict[Name, Facets] = msgspec.field(default_factory=dict)
    output_facets: dict[Name, Facets] = msgspec.field(default_factory=dict)
    counts_as_told: bool = False

    @property
    def is_streaming(self) -> bool:
        """Tell whether no end is to be waited for."""
        kind, by = (self.job_type(name) for name in ("processingType", "integration"))
        return kind in ("STREAMING", "SERVICE") or by == "FLINK"

    def job_type(self, *path: str) -> str:
        """Return what the facet `jobType` says at a path, in upper case; empty where it says nothing."""
        return (text_at(facet(self.of_job, "jobType"), *path) or "").upper()

    @property
    def counts(self) -> bool:
        """Tell whether it has edges: a run of a batch if an attempt of it is complete, anything else always."""
        if self.counts_as_told:
            return bool(self.datasets or self.declared)
        return self.kind != "RUN" or self.completed_us is not None or self.is_streaming

    @property
    def declared(self) -> list[Raw]:
        """Its `lineage` facets, of job and run."""
        return [facets["lineage"] for facets in (self.of_job, self.of_run) if "lineage" in facets]

    @property
    def is_due(self) -> bool:
        """Tell whether all is there that is to be waited for."""
        return self.kind != "RUN" or self.state is not None or self.is_streaming

    @property
    def datasets(self) -> dict[Name, Facets]:
        """Its datasets, one that is read and written with the facets of both."""
        return {
            name: {**self.inputs.get(name, {}), **self.outputs.get(name, {})} for name in self.inputs | self.outputs
        }


def merged(events: Iterable[SinkEvent]) -> MergedEvent:
    """Merge the events of one run, or take the one event of a job or dataset; there must be one."""
    ordered = sorted(((_order(event, wire), wire) for event, wire in _read(events)), key=lambda each: each[0])
    times = [order.time_us for order, _ in ordered]
    newest = ordered[-1][1]
    found = MergedEvent(_kind(newest), min(times), times[-1], producer=newest.producer)
    found.started_us = min((at.time_us for at, wire in ordered if wire.eventType in ("START", "RUNNING")), default=None)
    if end := _end(ordered):
        found.ended_us, found.state = end
    for _, wire in ordered:
        _take(found, wire)
    counted = _counted(found, ordered)
    if len(counted) < len(ordered):
        _take_lineage(found, [wire for _, wire in counted])
    for wire in _speaking(found, [wire for _, wire in counted]):
        for read in _datasets(wire.inputs or ()):
            _take_dataset(found.inputs, found.input_facets, read, read.inputFacets)
        for read in _datasets([wire.dataset] if found.kind == "DATASET" else wire.outputs or ()):
            _take_dataset(found.outputs, found.output_facets, read, read.outputFacets)
    return found


def _end(ordered: Sequence[_Ordered]) -> tuple[int, str] | None:
    """Return when and how the newest attempt ended that did."""
    ends = [(order, str(wire.eventType)) for order, wire in ordered if wire.eventType in TERMINAL]
    if not ends:
        return None
    order, kind = max(ends, key=lambda each: (*each[0][:2], TERMINAL.index(each[1])))
    return order.time_us, kind


def _counted(found: MergedEvent, ordered: Sequence[_Ordered]) -> Sequence[_Ordered]:
    """Return the events of a batch run up to the end of its newest COMPLETE attempt, else all; note that end."""
    if found.kind != "RUN" or found.is_streaming:
        return ordered
    begins = [0, *later_begins((wire.eventType or None, order.time_us) for order, wire in ordered)]
    for begin, until in zip(reversed(begins), [len(ordered), *reversed(begins[1:])], strict=True):
        end = _end(ordered[begin:until])
        if end and end[1] == "COMPLETE":
            found.completed_us = end[0]
            found.again_us = ordered[begins[-1]][0].time_us if until < len(ordered) else None
            return ordered[:until]
    return ordered


def facet(facets: Facets, name: str) -> Mapping[str, Any]:
    """Return a facet's members, none where there is no such facet or it is no object."""
    value = decode(bytes(facets[name])) if name in facets else None
    return value if isinstance(value, dict) else {}


def dicts(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list, none where it is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def symlinks(facets: Facets) -> list[SentSymlink]:
    """Return the other names of a dataset."""
    told = dicts(facet(facets, "symlinks").get("identifiers"))
    named = [SentSymlink(*(text_at(each, key) or "" for key in ("namespace", "name", "type"))) for each in told]
    return [each for each in named if each.namespace and each.name]


def _read(events: Iterable[SinkEvent]) -> list[tuple[SinkEvent, WireEvent]]:
    return [(event, read_wire_event(repair_surrogates(event.body))[0]) for event in events]


def _order(event: SinkEvent, wire: WireEvent) -> Order:
    time_us, _ = parse_time(wire.eventTime)
    received_us = event.head.received_us
    sent_us = received_us if time_us is None else time_us
    return order_of(event.head.event_id, wire.eventType or "OTHER", sent_us, received_us)


def _kind(wire: WireEvent) -> str:
    return "RUN" if wire.run is not UNSET else "JOB" if wire.job is not UNSET else "DATASET"


def _take(found: MergedEvent, wire: WireEvent) -> None:
    if wire.job is not UNSET:
        found.job = Name(wire.job.namespace, wire.job.name)
        fold(found.of_job, members(wire.job.facets))
    if wire.run is not UNSET:
        found.run_id = wire.run.runId
        fold(found.of_run, _with_parent(run_facets(wire)))


def _take_lineage(found: MergedEvent, wires: Iterable[WireEvent]) -> None:
    """Take the `lineage` facets of these events alone."""
    for kept in (found.of_run, found.of_job):
        kept.pop("lineage", None)
    for wire in wires:
        of_job, of_run = members(wire.job.facets) if wire.job is not UNSET else {}, run_facets(wire)
        for kept, told in ((found.of_job, of_job), (found.of_run, of_run)):
            fold(kept, {name: value for name, value in told.items() if name == "lineage"})


def _with_parent(facets: Facets) -> Facets:
    """Return the facets of a run with the parent under the name that the specification gives it."""
    parent = parent_of(facets)
    if parent is None or parent is facets.get(PARENT[0]):
        return facets
    return {PARENT[0]: parent, **{name: raw for name, raw in facets.items() if name not in PARENT}}


def fold(kept: Facets, told: Facets) -> None:
    """Let the newest value of each facet win whole; `lineage` adds up, until one takes back what was said."""
    for name, value in told.items():
        if value == NULL:
            continue
        if is_deleted(bytes(value)):
            kept.pop(name, None)
        elif name == "lineage" and kept.get(name, value) != value:
            kept[name] = Raw(msgspec.json.encode(_united(decode(bytes(kept[name])), decode(bytes(value)))))
        else:
            kept[name] = value


def _united(older: Any, newer: Any) -> Any:
    """Return two `lineage` facets as one (facets/1-0-0/LineageFacet): entries, inputs and fields of both, each once."""
    if isinstance(older, dict) and isinstance(newer, dict):
        return older | {key: _united(older[key], value) if key in older else value for key, value in newer.items()}
    if isinstance(older, list) and isinstance(newer, list):
        return [*{canonical(each): each for each in (*older, *newer)}.values()]
    return newer


def _datasets(raws: Iterable[Raw]) -> Iterator[WireDataset]:
    for raw in raws:
        if (read := read_wire_dataset(bytes(raw))) and not is_noise(Name(read[0].namespace, read[0].name)):
            yield read[0]


def _take_dataset(kept: dict[Name, Facets], of_run: dict[Name, Facets], read: WireDataset, own: Raw) -> None:
    name = Name(read.namespace, read.name)
    fold(kept.setdefault(name, {}), members(read.facets))
    fold(of_run.setdefault(name, {}), members(own))


def _speaking(found: MergedEvent, wires: Sequence[WireEvent]) -> Sequence[WireEvent]:
    """Return the events whose datasets count: all, but of a stream of whole snapshots the newest with datasets."""
    mode = found.job_type("emissionPattern", "eventContentMode")
    if not (found.is_streaming and mode == "COMPLETE_SNAPSHOT"):
        return wires
    with_lineage = [wire for wire in wires if any(b'"columnLineage"' in bytes(raw) for raw in wire.outputs or ())]
    return (with_lineage or [wire for wire in wires if wire.inputs or wire.outputs] or wires)[-1:]
