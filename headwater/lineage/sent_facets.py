"""The facets of one event as they were sent, each with what it is about and with what makes it the newest."""

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import UNSET, Raw

from headwater.events.decode import decode
from headwater.events.times import parse_time
from headwater.events.wire import NULL, WireEvent, read_wire_dataset
from headwater.lineage.contents import Canonical
from headwater.lineage.jobs import job_key, run_key
from headwater.lineage.name import Name
from headwater.lineage.newest import order_of, order_text, placed
from headwater.lineage.run_facets import Facets, members


class SentFacet(NamedTuple):
    """A facet that is not null.

    entity: run, job or dataset; name: of a run its key without a namespace, of a job the name people see, of a dataset
    its canonical form; order: of texts of one entity and facet the greatest is the newest.
    """

    entity: str
    name: Name
    facet: str
    order: str
    time_us: int
    value: Raw

    @property
    def is_deleted(self) -> bool:
        """Tell whether it takes back what older events said."""
        return is_deleted(self.value)


def sent_facets(event_id: str, received_us: int, wire: WireEvent, canonical: Canonical) -> Iterator[SentFacet]:
    """Yield the facets of an event; canonical: the form of a dataset's name (rule 2)."""
    sent_us, _ = parse_time(wire.eventTime)
    time_us = received_us if sent_us is None else sent_us
    order = order_text(order_of(event_id, wire.eventType or "OTHER", time_us, received_us))
    for place, (entity, name, facets) in enumerate(_entities(wire, canonical)):
        text = placed(order, place)
        for facet, value in facets.items():
            if value != NULL:
                yield SentFacet(entity, name, facet, text, time_us, value)


def is_deleted(raw: Raw | bytes) -> bool:
    """Tell whether the value of a facet says `_deleted`."""
    text = bytes(raw)
    if b"_deleted" not in text:
        return False
    value = decode(text)
    return isinstance(value, dict) and value.get("_deleted") is True


def _entities(wire: WireEvent, canonical: Canonical) -> Iterator[tuple[str, Name, Facets]]:
    job = wire.job if wire.job is not UNSET else None
    if job:
        name = Name(job.namespace, job.name)
        yield "job", job_key(name, None), members(job.facets)
        if wire.run is not UNSET:
            yield "run", Name("", run_key(wire.run.runId, name)), members(wire.run.facets)
    for raw in (*(wire.inputs or ()), *(wire.outputs or ()), *([] if job else [wire.dataset])):
        read = read_wire_dataset(bytes(raw))
        if read:
            yield "dataset", canonical(read[0].namespace, read[0].name), members(read[0].facets)
