"""What the events of one run say together, by rule 1 of docs/lineage.md; of a job or a dataset, what its event says."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from headwater.events.decode import decode, repair_surrogates
from headwater.events.event import SentSymlink
from headwater.events.facet_digests import is_deleted
from headwater.events.rule_facets import text_at
from headwater.events.times import parse_time
from headwater.events.wire import NULL, WireEvent, read_wire_dataset, read_wire_event
from headwater.lineage.edges.facet_contents import is_noise
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.newest_first import Order, order_of
from headwater.lineage.runs.run_facts import TERMINAL
from headwater.lineage.runs.sent_facets import Facets, members, run_facets
from headwater.sinks.sink_shape import SinkEvent


class MergedEvent(msgspec.Struct):
    """A run, a job or a dataset; times in us, UTC.

    state: how the run ended, None while it has not; declared: `lineage` facets of run and job, which add up.
    counts_as_told: it counts if it names datasets, whatever its state.
    """

    kind: str
    began_us: int
    newest_us: int
    ended_us: int | None = None
    state: str | None = None
    producer: str = ""
    run_id: str | None = None
    job: Name = Name("", "")
    of_run: Facets = msgspec.field(default_factory=dict)
    of_job: Facets = msgspec.field(default_factory=dict)
    inputs: dict[Name, Facets] = msgspec.field(default_factory=dict)
    outputs: dict[Name, Facets] = msgspec.field(default_factory=dict)
    declared: dict[str, list[Raw]] = msgspec.field(default_factory=lambda: defaultdict(list))
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
        """Tell whether it has edges: a run of a batch if it is complete, anything else always."""
        if self.counts_as_told:
            return bool(self.datasets) or any(self.declared.values())
        return self.kind != "RUN" or self.state == "COMPLETE" or self.is_streaming

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
    ends = [(order, wire.eventType) for order, wire in ordered if wire.eventType in TERMINAL]
    if ends:
        order, kind = max(ends, key=lambda each: (*each[0][:2], TERMINAL.index(str(each[1]))))
        found.ended_us, found.state = order.time_us, str(kind)
    for _, wire in ordered:
        _take(found, wire)
    for wire in _speaking(found, [wire for _, wire in ordered]):
        _take_datasets(found.inputs, wire.inputs or ())
        _take_datasets(found.outputs, [wire.dataset] if wire.dataset else wire.outputs or ())
    return found


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
        _fold(found.of_job, members(wire.job.facets), found.declared["job"])
    if wire.run is not UNSET:
        found.run_id = wire.run.runId
        _fold(found.of_run, run_facets(wire), found.declared["run"])


def _fold(kept: Facets, told: Facets, declared: list[Raw]) -> None:
    """Let the newest value of each facet win whole; `lineage` adds up, until one takes back what was said."""
    for name, value in told.items():
        if value == NULL:
            continue
        if is_deleted(bytes(value)):
            kept.pop(name, None)
            if name == "lineage":
                declared.clear()
        else:
            kept[name] = value
            if name == "lineage":
                declared.append(value)


def _take_datasets(kept: dict[Name, Facets], raws: Iterable[Raw]) -> None:
    for raw in raws:
        read = read_wire_dataset(bytes(raw))
        if read and not is_noise(name := Name(read[0].namespace, read[0].name)):
            _fold(kept.setdefault(name, {}), members(read[0].facets), [])


def _speaking(found: MergedEvent, wires: Sequence[WireEvent]) -> Sequence[WireEvent]:
    """Return the events whose datasets count: all, but of a stream of whole snapshots the newest with datasets."""
    mode = found.job_type("emissionPattern", "eventContentMode")
    if not (found.is_streaming and mode == "COMPLETE_SNAPSHOT"):
        return wires
    with_lineage = [wire for wire in wires if any(b'"columnLineage"' in bytes(raw) for raw in wire.outputs or ())]
    return (with_lineage or [wire for wire in wires if wire.inputs or wire.outputs] or wires)[-1:]
