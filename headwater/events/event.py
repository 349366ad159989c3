"""One event as bronze needs it: names, times, datasets, and the id that recognises it when it is sent again."""

from typing import NamedTuple

from msgspec import Struct

from headwater.events.envelope import Kind


class Content(Struct, frozen=True, gc=False):
    """A schema or lineage facet, whose rows are stored once however often it is sent.

    table: `schemas` or `column_lineage`; key: the facet's name in the event; raw: its text.
    """

    table: str
    content_hash: str
    key: str
    raw: bytes


class Symlink(NamedTuple):
    """Another name of a dataset, as its `symlinks` facet says."""

    namespace: str
    name: str
    type: str | None


class Dataset(Struct, frozen=True, gc=False):
    """A dataset as one event mentions it, names as sent."""

    digest: bytes
    namespace: str
    name: str
    schema_hash: str | None = None
    lineage_hash: str | None = None
    declared_hash: str | None = None
    symlinks: tuple[Symlink, ...] = ()
    facets: tuple[str, ...] = ()
    contents: tuple[Content, ...] = ()


class Event(Struct, frozen=True, gc=False):
    """An OpenLineage event, as sent but for secrets; events of equal content have equal `id` (128 bits).

    event_time_us: UTC, None where `eventTime` is no time.
    lineage_hashes: of `lineage` facets on the run, the job or a declared dataset.
    flags: what is odd about it (docs/events.md).
    """

    id: bytes
    kind: Kind
    body: bytes
    event_time_us: int | None
    producer: str
    event_type: str | None
    run_id: str | None
    job_namespace: str | None
    job_name: str | None
    parent_run_id: str | None
    root_run_id: str | None
    inputs: tuple[Dataset, ...]
    outputs: tuple[Dataset, ...]
    lineage_hashes: tuple[str, ...]
    contents: tuple[Content, ...]
    flags: tuple[str, ...]
