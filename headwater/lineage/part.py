"""What one event adds to what is known: a run is the set of its parts, so order and repetition make no difference."""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from headwater.lineage.name import Name
from headwater.lineage.newest import Order, order_of

DELETED = ""
"""Stands for a facet that was removed by `_deleted`."""

NO_COLUMN_LINEAGE = frozenset({None, DELETED})


class Symlink(NamedTuple):
    """Another name of a dataset; `location` where it is the dataset's physical place."""

    name: Name
    location: bool


class Tag(NamedTuple):
    """A tag on a dataset, or on one of its columns."""

    column: str | None
    key: str
    value: str


class Mention(Struct, frozen=True, gc=False, array_like=True):
    """A dataset in one event.

    schema, lineage: content hashes, None where the facet is absent or (lineage) holds no edge, `DELETED` where removed.
    declared: hash of its own `lineage` facet.
    tags: None where there is no tags facet.
    previous: the name before a RENAME, in canonical form.
    landed: output statistics or a version prove that rows were written.
    version: what its producer calls this state of the dataset.
    """

    name: Name
    schema: str | None = None
    lineage: str | None = None
    declared: str | None = None
    symlinks: tuple[Symlink, ...] = ()
    tags: tuple[Tag, ...] | None = None
    lifecycle: str | None = None
    previous: Name | None = None
    landed: bool = False
    version: str | None = None


class Part(Struct, frozen=True, gc=False, array_like=True):
    """One event, as far as lineage asks; times are microseconds since 1970-01-01 UTC.

    run_key: of the run; of a declaration (JobEvent, DatasetEvent) the key of its layer.
    execution: root run of its `parent` facet, else the parent; None without that facet.
    parent: the parent run itself, likewise.
    processing: BATCH, STREAMING or SERVICE; None where the event does not say.
    declared: (`run` or `job`, hash of its `lineage` facet); leads_to: the datasets that these name as written.
    """

    event_id: str
    kind: str
    type: str
    time_us: int
    received_us: int
    run_key: str
    job: Name
    artifact: str | None
    execution: str | None
    processing: str | None
    snapshot: bool
    inputs: tuple[Mention, ...]
    outputs: tuple[Mention, ...]
    declared: tuple[tuple[str, str], ...]
    producer: str
    parent: str | None = None
    leads_to: tuple[Name, ...] = ()

    @property
    def order(self) -> Order:
        """Its place among the events of one run, and wherever the newest is wanted."""
        return order_of(self.event_id, self.type, self.time_us, self.received_us)


def end_of(parts: Iterable[Part]) -> Part | None:
    """Rule 1: the newest terminal event of a run; at one instant FAIL before ABORT before COMPLETE."""
    ends = [part for part in parts if part.type in TERMINAL]
    return max(ends, key=lambda part: (*part.order[:2], TERMINAL.index(part.type)), default=None)


TERMINAL = ("COMPLETE", "ABORT", "FAIL")
"""From the weakest to the strongest at one instant."""
