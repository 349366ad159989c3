"""One event as bronze needs it: names, times, datasets, and the id that recognises it when it is sent again."""

from itertools import chain
from typing import NamedTuple

from msgspec import Struct

from headwater.events.envelope import Kind


class Content(Struct, frozen=True, gc=False):
    """A facet whose rows are stored once however often it is sent.

    table: `schemas`, `column_lineage` or `facets`; key: the facet's name in the event; raw: its text.
    """

    table: str
    content_hash: str
    key: str
    raw: bytes


class SentSymlink(NamedTuple):
    """Another name of a dataset, as its `symlinks` facet says."""

    namespace: str
    name: str
    type: str | None


class Facet(Struct, frozen=True, gc=False):
    """A facet that is not null, as an event has it.

    content_hash: names its text in table `facets`; None for schema and lineage facets, which have tables of their own,
    and for what differs from event to event, which the body alone holds.
    deleted: it says `_deleted`.
    """

    name: str
    content_hash: str | None
    deleted: bool


class SentTag(NamedTuple):
    """One of the tags of a dataset; field: the column it is on."""

    field: str | None
    key: str
    value: str | None


class UsedDataset(Struct, frozen=True, gc=False):
    """What the rules read of a dataset, but its version.

    schema, lineage, declared: content hashes of `schema`, `columnLineage` and its own `lineage` facet; None without
    one, empty where it says `_deleted`.
    previous_*: its name before a RENAME; tags: None without such a facet.
    counted: names of its input facets, `subset` also of an output, and `subset:COLUMN` for columns of its condition.
    landed: rows are confirmed: output statistics or a version prove that they were written.
    """

    namespace: str
    name: str
    schema: str | None = None
    lineage: str | None = None
    declared: str | None = None
    symlinks: tuple[SentSymlink, ...] = ()
    tags: tuple[SentTag, ...] | None = None
    lifecycle: str | None = None
    previous_namespace: str | None = None
    previous_name: str | None = None
    landed: bool = False
    facets: tuple[Facet, ...] = ()
    counted: tuple[str, ...] = ()


class EventShape(Struct, frozen=True, gc=False):
    """What recurs of an event: all that the rules read of it but `Sent`; equal ones have equal `shape` (128 bits, hex).

    artifact: id of the Fabric item that the run is of; emission: what a job says that its events hold, as sent.
    run_lineage, job_lineage: as `Mentioned.declared`; run_facets: names of those that are not null.
    """

    shape: str
    artifact: str | None
    processing_type: str | None
    integration: str | None
    emission: str | None
    run_lineage: str | None
    job_lineage: str | None
    run_facets: tuple[str, ...]
    job_facets: tuple[Facet, ...]
    inputs: tuple[UsedDataset, ...]
    outputs: tuple[UsedDataset, ...]


class SentDataset(Struct, frozen=True, gc=False):
    """A dataset as one event mentions it, names as sent.

    digest: of all it says; shape: of what recurs of it.
    version: what its producer calls this state of it.
    """

    digest: bytes
    namespace: str
    name: str
    schema_hash: str | None = None
    lineage_hash: str | None = None
    declared_hash: str | None = None
    symlinks: tuple[SentSymlink, ...] = ()
    facets: tuple[str, ...] = ()
    version: str | None = None
    shape: bytes = b""
    mentioned: UsedDataset = UsedDataset("", "")
    contents: tuple[Content, ...] = ()


class Sent(Struct, frozen=True, gc=False, kw_only=True):
    """Who an event is of, and when: what differs from one event to the next of a job.

    event_time_us: UTC, None where `eventTime` is no time.
    run_facets: text of the facets of its run; None where it has none, in rows also where only the body has them.
    versions: of inputs and outputs in turn, None where none has one.
    shape: names the `EventShape`, which is all else that the rules read.
    """

    kind: Kind
    event_time_us: int | None
    producer: str
    event_type: str | None
    run_id: str | None
    job_namespace: str | None
    job_name: str | None
    parent_run_id: str | None
    parent_job_namespace: str | None
    parent_job_name: str | None
    root_run_id: str | None
    root_job_namespace: str | None
    root_job_name: str | None
    run_facets: str | None
    versions: tuple[str | None, ...] | None
    shape: str


class Event(Sent, frozen=True, gc=False, kw_only=True):
    """An OpenLineage event, as sent but for secrets; events of equal content have equal `id` (128 bits).

    lineage_hashes: of `lineage` facets on the run, the job or a declared dataset.
    flags: what is odd about it (docs/events.md).
    """

    id: bytes
    body: bytes
    inputs: tuple[SentDataset, ...]
    outputs: tuple[SentDataset, ...]
    lineage_hashes: tuple[str, ...]
    said: EventShape
    run_contents: tuple[Content, ...]
    job_contents: tuple[Content, ...]
    flags: tuple[str, ...]

    @property
    def sent(self) -> Sent:
        """What of it differs from one event to the next, without its body."""
        return Sent(**{name: getattr(self, name) for name in Sent.__struct_fields__})

    @property
    def contents(self) -> tuple[Content, ...]:
        """Its facets that are stored by content: of its run, its job and its datasets in turn."""
        of_datasets = (dataset.contents for dataset in (*self.inputs, *self.outputs))
        return (*self.run_contents, *self.job_contents, *chain.from_iterable(of_datasets))
