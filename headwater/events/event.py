"""The parsed event for the bronze tables: names, times, datasets, and the id that identifies repeated events."""

from itertools import chain
from typing import NamedTuple

from msgspec import Struct

from headwater.events.envelope import Kind
from headwater.events.statistics_facets import Numbers


class Content(Struct, frozen=True, gc=False):
    """A facet that is stored only once under its content hash, however often producers send it.

    table: the table with its rows: `schemas`, `column_lineage` or `facets`. key: the facet's name in the event. raw:
    the JSON text of the facet.
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

    content_hash: key of the facet's text in the table `facets`. It is None for schema and lineage facets, which have
    separate tables, and for facets that differ in every event, which are stored only in the body.
    deleted: the facet has `_deleted: true`.
    """

    name: str
    content_hash: str | None
    deleted: bool


class SentTag(NamedTuple):
    """A tag of a dataset. field: the tagged column, or None if the dataset itself is tagged."""

    field: str | None
    key: str
    value: str | None


class UsedDataset(Struct, frozen=True, gc=False):
    """A dataset of an event, with the parts that the rules read except its version.

    schema, lineage, declared: content hashes of the facets `schema`, `columnLineage` and `lineage`. A hash is None if
    the event lacks the facet, and empty if the facet has `_deleted: true`.
    tags: None if the event lacks the facet. lifecycle: the lifecycle change, such as DROP. previous_namespace,
    previous_name: the name before a RENAME.
    landed: whether output statistics or a dataset version prove that the run wrote rows.
    counted: the names of the input facets; `subset` also if only the output has this facet; `subset:COLUMN` for each
    column in the condition of an input; `PARTS_READ` if this condition names partitions or locations.
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
    """The recurring part of an event: everything that the rules read except the members of `Sent`.

    shape: hash of all other members (128 bits, hex). artifact: id of the Fabric item that the run belongs to, or None.
    emission: `eventContentMode` of the job, as sent.
    run_lineage, job_lineage: content hashes of the facet `lineage` of run and job; None without the facet, empty if it
    has `_deleted: true`. run_facets: names of the run facets that are not null.
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

    digest: digest of the whole dataset. shape: digest of its recurring content. version: `datasetVersion` as the
    producer sent it. schema_hash, lineage_hash, declared_hash: content hashes of the facets `schema`, `columnLineage`
    and `lineage`. facets: names of all facets. mentioned: the parts that the rules read. contents: the facets that are
    stored by content. numbers: what the run read, wrote or measured.
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
    numbers: tuple[Numbers, ...] = ()


class Sent(Struct, frozen=True, gc=False, kw_only=True):
    """The part of an event that differs between the events of a job: time, run, parent and versions.

    event_time_us: microseconds since 1970 (UTC), or None if `eventTime` is not a valid time.
    run_facets: JSON text of the run facets, or None. Rows of the table `events` also have None if this text is too
    long.
    versions: the dataset versions of the inputs, then of the outputs; None if no dataset has a version.
    statistics: the numbers of the datasets, see `encode_numbers`; empty without any. Rows of the table `events` have
    None if this text is too long, or if an older version wrote them.
    shape: hash of the `EventShape`, which contains everything else that the rules read.
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
    statistics: str | None


class Event(Sent, frozen=True, gc=False, kw_only=True):
    """An OpenLineage event without secrets. Events with equal content have the same `id` (128 bits).

    lineage_hashes: content hashes of the `lineage` facets of the run, the job and the datasets. said: the recurring
    part of the event. run_contents, job_contents: the facets of run and job that are stored by content. flags: names of
    deviations from the specification (docs/reference/tables.md).
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
        """The part that differs between the events of a job, without the body."""
        return Sent(**{name: getattr(self, name) for name in Sent.__struct_fields__})

    @property
    def contents(self) -> tuple[Content, ...]:
        """The facets that are stored by content.

        Facets of the run come first, then of the job, then of the datasets.
        """
        of_datasets = (dataset.contents for dataset in (*self.inputs, *self.outputs))
        return (*self.run_contents, *self.job_contents, *chain.from_iterable(of_datasets))
