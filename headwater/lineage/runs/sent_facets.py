"""Read the facets of one event as sent, each with its entity and a text that sorts by age."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec
from msgspec import UNSET, Raw

from headwater.events.decode import repair_surrogates
from headwater.events.event import EventShape, Facet
from headwater.events.facet_digests import is_deleted
from headwater.events.times import parse_time
from headwater.events.wire import NULL, WireDataset, WireEvent, read_wire_dataset, read_wire_event
from headwater.lineage.edges.facet_contents import CanonicalizeName
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.event_order import event_order, order_text, order_text_at_index
from headwater.lineage.runs.event_reading import CanonicalizeJob
from headwater.lineage.runs.jobs import job_key, run_key

Facets = dict[str, Raw]

CanonicalizerOfEvent = Callable[[str, str], CanonicalizeName]
"""(producer, namespace of the job) → function for canonical names of datasets in an event of this producer and job

`NameRules.canonical_in_event` is such a function.
"""

RUN_INDEX = 1
"""The index of the run in the list of entities of an event. The job has index 0; the datasets follow the run."""

_members = msgspec.json.Decoder(dict[str, Raw])


class SentFacet(NamedTuple):
    """A facet in an event. Its value is not null.

    entity: `run`, `job` or `dataset`.
    name: the key of the run with an empty namespace, the key of the job without an artifact, or the canonical name of
    the dataset.
    facet: the name of the facet.
    order: a text that sorts the values of a facet of an entity by age (rule 1.3).
    time_us: the time of the event in microseconds. value: the undecoded JSON of the facet.
    """

    entity: str
    name: Name
    facet: str
    order: str
    time_us: int
    value: Raw

    @property
    def is_deleted(self) -> bool:
        """Tell whether this value removes the older values of the facet."""
        return is_deleted(bytes(self.value))


def parse_stored_event(body: str) -> WireEvent:
    """Parse the body of a row in table `events`. Raises InvalidEvent if the body is not a valid event."""
    return read_wire_event(repair_surrogates(body.encode()))[0]


def _sent_job_name(job: Name, _outputs: Iterable[Name]) -> Name:
    return job


def sent_facets(
    event_id: str,
    received_us: int,
    wire: WireEvent,
    names: CanonicalizerOfEvent,
    jobs: CanonicalizeJob = _sent_job_name,
    *,
    has_run_specific_facets: bool = False,
) -> Iterator[SentFacet]:
    """Yield the facets of an event.

    names: returns the function for canonical names of datasets in an event (rule 2).
    jobs: returns the canonical name of a job (rule 3). The default returns the name as sent.
    has_run_specific_facets: whether to also yield the input and output facets of datasets. These facets, such as
    `subset`, concern a single run.
    """
    sent_us, _ = parse_time(wire.eventTime)
    time_us = received_us if sent_us is None else sent_us
    order = order_text(event_order(event_id, wire.eventType or "OTHER", time_us, received_us))
    for place, (entity, name, facets) in enumerate(
        _facets_of_entities(wire, names, jobs, of_runs=has_run_specific_facets)
    ):
        text = order_text_at_index(order, place)
        for facet, value in facets.items():
            if value != NULL:
                yield SentFacet(entity, name, facet, text, time_us, value)


def sent_datasets(wire: WireEvent) -> list[WireDataset]:
    """Return the datasets of an event that have a name, inputs before outputs, in the order of `BodyReader`."""
    declares = wire.run is UNSET and wire.job is UNSET
    raws = (*(wire.inputs or ()), *([wire.dataset] if declares else wire.outputs or ()))
    return [read[0] for raw in raws if (read := read_wire_dataset(bytes(raw)))]


def run_facets(wire: WireEvent) -> Facets:
    """Return the undecoded facets of the run of an event, by facet name. The mapping is empty without a run."""
    return decode_members(wire.run.facets) if wire.run is not UNSET else {}


def decode_members(raw: Raw | None) -> Facets:
    """Return the undecoded members of a JSON object, by name. The mapping is empty if the object is absent or null."""
    return _members.decode(raw) if raw and raw != NULL else {}


def facets_of_shape(
    kind: str, job: Name, order: str, shape: EventShape, canonical_name: CanonicalizeName, *, jobs: CanonicalizeJob
) -> Iterator[tuple[str, Name, str, Facet]]:
    """Yield (entity, name, order, facet) for the job and the datasets of an event, in the order of `sent_facets`.

    kind: the kind of the event: RUN, JOB or DATASET. job: the job of the event, as sent.
    order: the result of `order_text` for the event.
    canonical_name: returns the canonical name of a dataset in the event. jobs: returns the canonical name of a job.
    """
    first_index = 0
    if kind != "DATASET":
        job = jobs(job, (Name(each.namespace, each.name) for each in shape.outputs))
        yield from (("job", job_key(job, None), order_text_at_index(order, 0), facet) for facet in shape.job_facets)
        first_index = RUN_INDEX + 1 if kind == "RUN" else 1
    for index, dataset in enumerate((*shape.inputs, *shape.outputs), first_index):
        name, text = canonical_name(dataset.namespace, dataset.name), order_text_at_index(order, index)
        yield from (("dataset", name, text, facet) for facet in dataset.facets)


def canonical_job(wire: WireEvent, jobs: CanonicalizeJob) -> Name | None:
    """Return the canonical name of the job of an event (rule 3); None for a DatasetEvent."""
    if wire.job is UNSET:
        return None
    outputs = [read[0] for raw in wire.outputs or () if (read := read_wire_dataset(bytes(raw)))]
    return jobs(
        Name(wire.job.namespace, wire.job.name).shortened, [Name(each.namespace, each.name) for each in outputs]
    )


def canonicalizer_of(wire: WireEvent, names: CanonicalizerOfEvent, jobs: CanonicalizeJob) -> CanonicalizeName:
    """Return the function that returns the canonical names of datasets in an event (rule 2.1)."""
    called = canonical_job(wire, jobs)
    return names(wire.producer, called.namespace if called else "")


def _facets_of_entities(
    wire: WireEvent, names: CanonicalizerOfEvent, jobs: CanonicalizeJob, *, of_runs: bool
) -> Iterator[tuple[str, Name, Facets]]:
    job = wire.job if wire.job is not UNSET else None
    canonical_name_of_job = canonical_job(wire, jobs)
    canonical_name = canonicalizer_of(wire, names, jobs)
    if job and canonical_name_of_job:
        name = Name(job.namespace, job.name)
        yield "job", job_key(canonical_name_of_job, None), decode_members(job.facets)
        if wire.run is not UNSET:
            yield "run", Name("", run_key(wire.run.runId, name)), run_facets(wire)
    for dataset in sent_datasets(wire):
        facets = decode_members(dataset.facets)
        if of_runs:
            facets = decode_members(dataset.inputFacets) | decode_members(dataset.outputFacets) | facets
        yield "dataset", canonical_name(dataset.namespace, dataset.name), facets
