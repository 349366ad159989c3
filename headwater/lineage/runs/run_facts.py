"""What one event adds to what is known: a run is the set of its facts, so order and repetition make no difference."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from headwater.lineage.edges.write_kinds import shows_partitions
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.newest_first import Order

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


class DatasetUse(Struct, frozen=True, gc=False, array_like=True, cache_hash=True):
    """A dataset in one event.

    schema, lineage: content hashes, None where the facet is absent or (lineage) holds no edge, `DELETED` where removed.
    declared: hash of its own `lineage` facet.
    tags: None where there is no tags facet.
    previous: the name before a RENAME, in canonical form.
    rows_confirmed: output statistics or a version prove that rows were written.
    version: what its producer calls this state of the dataset.
    is_part: the rules for names removed a folder or pattern from the name, or the output has a `subset` facet.
    filters: of an input, the columns by which a `subset` facet or the folders of its name select rows.
    metadata: of an input that is a metadata table under the name of its table, the columns that it lists.
    """

    name: Name
    schema: str | None = None
    lineage: str | None = None
    declared: str | None = None
    symlinks: tuple[Symlink, ...] = ()
    tags: tuple[Tag, ...] | None = None
    lifecycle: str | None = None
    previous: Name | None = None
    rows_confirmed: bool = False
    version: str | None = None
    is_part: bool = False
    filters: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()


Forms = tuple[tuple[Name, Name], ...]
"""Names that mean other datasets in an event, each with the name of that dataset."""


class EventContent(Struct, frozen=True, gc=False, array_like=True, cache_hash=True):
    """What an event says, but for when, by which run and of which versions: a job that recurs says it a million times.

    processing: BATCH, STREAMING or SERVICE; None where the event does not say.
    inputs, outputs: without versions.
    declared: (`run` or `job`, hash of its `lineage` facet); leads_to: the datasets that these name as written.
    sql: hash of the job's `sql` facet, None without one, `DELETED` where it was removed.
    write_signs: what SQL, properties and facets show of how the run writes (`write_kinds`), sorted.
    job: in canonical form (rule 3); sent_job: as sent, None where that is the same.
    forms: names that mean another dataset in this event (rule 2.1), each with that one's; inputs and outputs have it.
    """

    kind: str
    type: str
    job: Name
    artifact: str | None
    processing: str | None
    snapshot: bool
    inputs: tuple[DatasetUse, ...]
    outputs: tuple[DatasetUse, ...]
    declared: tuple[tuple[str, str], ...]
    leads_to: tuple[Name, ...]
    producer: str
    sql: str | None = None
    write_signs: tuple[str, ...] = ()
    sent_job: Name | None = None
    forms: Forms = ()


class RunFacts(Struct, frozen=True, gc=False, array_like=True):
    """One event, as far as lineage asks; times are microseconds since 1970-01-01 UTC.

    order: its place among the events of one run, and wherever the newest is wanted.
    run_key: of the run; of a declaration (JobEvent, DatasetEvent) the key of its layer.
    execution: root run of its `parent` facet, else the parent; None without that facet.
    parent: the parent run itself, likewise.
    versions: of datasets, by their place among inputs, then outputs.
    nominal_us: end of its `nominalTime`, else its start.
    """

    order: Order
    received_us: int
    run_key: str
    execution: str | None
    parent: str | None
    content: EventContent
    versions: dict[int, str] = {}
    nominal_us: int | None = None

    @property
    def event_id(self) -> str:
        """Which event it is."""
        return self.order.event_id

    @property
    def time_us(self) -> int:
        """When the event happened."""
        return self.order.time_us

    @property
    def kind(self) -> str:
        """RUN, JOB or DATASET."""
        return self.content.kind

    @property
    def type(self) -> str:
        """START, COMPLETE …; OTHER where the event has none."""
        return self.content.type

    @property
    def inputs(self) -> Sequence[DatasetUse]:
        """What it reads, versions included."""
        return _of_version(self.content.inputs, self.versions, 0)

    @property
    def outputs(self) -> Sequence[DatasetUse]:
        """What it writes, versions included."""
        return _of_version(self.content.outputs, self.versions, len(self.content.inputs))


def without_sql(facts: Iterable[RunFacts]) -> list[RunFacts]:
    """Return facts as if no job had sent its SQL."""
    return [replace(fact, content=replace(fact.content, sql=None)) if fact.content.sql else fact for fact in facts]


def names_of_parts(facts: Iterable[RunFacts]) -> set[Name]:
    """Return the names, as sent, of datasets of which an event mentions a part, or writes partitions."""
    found: set[Name] = set()
    for fact in facts:
        found.update(use.name for use in (*fact.inputs, *fact.outputs) if use.is_part)
        if shows_partitions(fact.content.job.name, fact.content.write_signs):
            found.update(use.name for use in fact.outputs)
    return found


def _of_version(uses: Sequence[DatasetUse], versions: Mapping[int, str], first: int) -> Sequence[DatasetUse]:
    if not versions:
        return uses
    return [replace(each, version=versions.get(place)) for place, each in enumerate(uses, first)]


def end_of(facts: Iterable[RunFacts]) -> RunFacts | None:
    """Rule 1: the newest terminal event of a run; at one instant FAIL before ABORT before COMPLETE."""
    ends = [fact for fact in facts if fact.type in TERMINAL]
    return max(ends, key=lambda fact: (*fact.order[:2], TERMINAL.index(fact.type)), default=None)


def attempts_of(ordered: Sequence[RunFacts]) -> list[Sequence[RunFacts]]:
    """Rule 1: split the events of a run, oldest first, where a START is later than an end before it."""
    begins = [0, *later_begins((fact.type, fact.time_us) for fact in ordered)]
    return [ordered[begin:end] for begin, end in zip(begins, [*begins[1:], len(ordered)], strict=True)]


def later_begins(events: Iterable[tuple[str | None, int]]) -> list[int]:
    """Return the places of the events with which later attempts of a run begin; events: type and time, in order."""
    found, ended_us = list[int](), None
    for place, (kind, time_us) in enumerate(events):
        if kind == "START" and ended_us is not None and time_us > ended_us:
            found.append(place)
            ended_us = None
        if kind in TERMINAL:
            ended_us = time_us if ended_us is None else min(ended_us, time_us)
    return found


def duration_us(started_us: int | None, ended_us: int | None) -> int | None:
    """Return how long a run took; None if it has not ended, or if none of its events is earlier than its end.

    Some producers send only the end, and a START from a clock that is ahead may come after it.
    """
    return ended_us - started_us if started_us is not None and ended_us is not None and ended_us > started_us else None


TERMINAL = ("COMPLETE", "ABORT", "FAIL")
"""From the weakest to the strongest at one instant."""
