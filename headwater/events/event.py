"""The parsed event for the bronze tables: names, times, datasets, and the id that identifies repeated events."""

from itertools import chain
from typing import NamedTuple

from msgspec import Struct

from headwater.events.envelope import Kind


class Content(Struct, frozen=True, gc=False):
    """A facet whose rows are stored only once, however often it is sent.

    table: `schemas`, `column_lineage` or `facets`; key: the facet's name in the event; raw: its text.
    """

    table: str
    content_hash: str
    key: str
    raw: bytes


class SentSymlink(NamedTuple):
    """Another name of a dataset, from its `symlinks` facet."""

    namespace: str
    name: str
    type: str | None


class Facet(Struct, frozen=True, gc=False):
    """A facet of an event that is not null.

    content_hash: identifies its text in the table `facets`; None for schema and lineage facets, which have separate
    tables, and for facets that differ in every event, which only the body contains.
    deleted: the facet has `_deleted: true`.
    """

    name: str
    content_hash: str | None
    deleted: bool


class SentTag(NamedTuple):
    """A tag of a dataset. field: the tagged column, None for the dataset itself."""

    field: str | None
    key: str
    value: str | None


class UsedDataset(Struct, frozen=True, gc=False):
    """The parts of a dataset that the rules read, except its version.

    schema, lineage, declared: content hashes of the facets `schema`, `columnLineage` and `lineage`; None without the
    facet, empty if it was deleted.
    previous_*: the name before a RENAME; tags: None without the facet.
    counted: names of input facets, `subset` also of an output, and `subset:COLUMN` for the columns of its condition.
    landed: output statistics or a version prove that rows were written.
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
    """The recurring part of an event: all that the rules read, except `Sent`. `shape` is its hash (128 bits, hex).

    artifact: id of the Fabric item of the run; emission: `eventContentMode` of the job, as sent.
    run_lineage, job_lineage: like `UsedDataset.declared`; run_facets: names of facets that are not null.
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
    """A dataset in one event, with names as sent.

    digest: of its whole content; shape: digest of its recurring content; version: the producer's version of its state.
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
    """The part of an event that differs between the events of a job: time, run, parent and versions.

    event_time_us: UTC, None if `eventTime` is not a valid time.
    run_facets: text of the facets of the run, or None; in rows also None if they are too long.
    versions: of the inputs, then of the outputs; None if no dataset has one.
    shape: the hash of the `EventShape`, which has everything else that the rules read.
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
    """An OpenLineage event, redacted. Events with equal content have the same `id` (128 bits).

    lineage_hashes: of `lineage` facets of the run, the job or a dataset; flags: oddities (docs/reference/tables.md).
    """

    id: bytes
    body: bytes
    inputs: tuple[SentDataset, ...]
    outputs: tuple[SentDataset, ...]
    lineage_hashes: tuple[str, ...]
    event_shape: EventShape
    run_contents: tuple[Content, ...]
    job_contents: tuple[Content, ...]
    flags: tuple[str, ...]

    @property
    def sent(self) -> Sent:
        """The part that differs between events of a job, without the body."""
        return Sent(**{name: getattr(self, name) for name in Sent.__struct_fields__})

    @property
    def contents(self) -> tuple[Content, ...]:
        """The facets that are stored by content: those of the run, then of the job, then of the datasets."""
        of_datasets = (dataset.contents for dataset in (*self.inputs, *self.outputs))
        return (*self.run_contents, *self.job_contents, *chain.from_iterable(of_datasets))
