"""The facts of one event. A run is the set of its facts, so their order and repetition make no difference."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from headwater.lineage.edges.write_kinds import has_partition_sign
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.event_order import Order

DELETED = ""
"""Stands for a facet that `_deleted` removed."""

NO_COLUMN_LINEAGE = frozenset({None, DELETED})


class Symlink(NamedTuple):
    """Another name of a dataset; is_location: it is the physical location of the dataset (type LOCATION)."""

    name: Name
    is_location: bool


class Tag(NamedTuple):
    """A tag of a dataset, or of one of its columns."""

    column: str | None
    key: str
    value: str


class DatasetUse(Struct, frozen=True, gc=False, array_like=True, cache_hash=True):
    """A dataset in one event.

    schema, lineage: content hashes; None without the facet or (lineage) without an edge, `DELETED` if it was removed.
    declared_facet: hash of the `lineage` facet of the dataset.
    tags: None without a tags facet.
    previous_name: the name before a RENAME, in canonical form.
    rows_confirmed: output statistics or a version prove that rows were written.
    version: the producer's version of the state of the dataset.
    is_part: the rules for names removed a folder or pattern from the name, the output has a `subset` facet, or that of
    the input names partitions or locations.
    filter_columns: columns of an input by which a `subset` facet or the folders of its name select rows (rule 4.11).
    metadata_columns: columns of an input that is a metadata table under the name of its table (rule 11.4).
    """

    name: Name
    schema: str | None = None
    lineage: str | None = None
    declared_facet: str | None = None
    symlinks: tuple[Symlink, ...] = ()
    tags: tuple[Tag, ...] | None = None
    lifecycle: str | None = None
    previous_name: Name | None = None
    rows_confirmed: bool = False
    version: str | None = None
    is_part: bool = False
    filter_columns: tuple[str, ...] = ()
    metadata_columns: tuple[str, ...] = ()


NameForms = tuple[tuple[Name, Name], ...]
"""Names that mean other datasets in an event, each with the name of that dataset."""


class EventContent(Struct, frozen=True, gc=False, array_like=True, cache_hash=True):
    """The part of an event that recurs: all that the rules use, except times, run, parent and versions.

    processing: BATCH, STREAMING or SERVICE; None if the event does not report it.
    inputs, outputs: without versions.
    declared_facets: (`run` or `job`, hash of its `lineage` facet).
    declared_targets: the datasets that these name as targets.
    sql: hash of the job's `sql` facet, None without one, `DELETED` if it was removed.
    write_signs: what SQL, properties and facets show of how the run writes (`write_kinds`), sorted.
    job: canonical name (rule 3); sent_job: name as sent, None if that is the same.
    name_forms: (name, dataset) for each name that means another dataset in this event (rule 2.1). Inputs and outputs
    already have the name of that dataset.
    """

    kind: str
    type: str
    job: Name
    artifact_id: str | None
    processing: str | None
    is_snapshot: bool
    inputs: tuple[DatasetUse, ...]
    outputs: tuple[DatasetUse, ...]
    declared_facets: tuple[tuple[str, str], ...]
    declared_targets: tuple[Name, ...]
    producer: str
    sql: str | None = None
    write_signs: tuple[str, ...] = ()
    sent_job: Name | None = None
    name_forms: NameForms = ()


class RunFacts(Struct, frozen=True, gc=False, array_like=True):
    """All that the rules use of one event; times in microseconds since 1970-01-01 UTC.

    order: sort key of the event (rule 1.3).
    run_key: key of the run, or the key that successive declarations (JobEvent, DatasetEvent) share.
    execution: root run of its `parent` facet, else the parent; None without that facet.
    parent: the parent run; None without that facet.
    versions: dataset versions, by index in the list of inputs followed by outputs.
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
        """The id of the event."""
        return self.order.event_id

    @property
    def time_us(self) -> int:
        """The time of the event (rule 1.1)."""
        return self.order.time_us

    @property
    def kind(self) -> str:
        """RUN, JOB or DATASET."""
        return self.content.kind

    @property
    def type(self) -> str:
        """START, COMPLETE and so on; OTHER if the event has no type."""
        return self.content.type

    @property
    def inputs(self) -> Sequence[DatasetUse]:
        """The datasets that it reads, with versions."""
        return _with_versions(self.content.inputs, self.versions, 0)

    @property
    def outputs(self) -> Sequence[DatasetUse]:
        """The datasets that it writes, with versions."""
        return _with_versions(self.content.outputs, self.versions, len(self.content.inputs))


def without_sql(facts: Iterable[RunFacts]) -> list[RunFacts]:
    """Return facts without the SQL of jobs."""
    return [replace(fact, content=replace(fact.content, sql=None)) if fact.content.sql else fact for fact in facts]


def names_with_part_mentions(facts: Iterable[RunFacts]) -> set[Name]:
    """Return the names, as sent, of datasets whose parts an event mentions, or whose partitions it writes."""
    found: set[Name] = set()
    for fact in facts:
        found.update(use.name for use in (*fact.inputs, *fact.outputs) if use.is_part)
        if has_partition_sign(fact.content.job.name, fact.content.write_signs):
            found.update(use.name for use in fact.outputs)
    return found


def _with_versions(uses: Sequence[DatasetUse], versions: Mapping[int, str], first: int) -> Sequence[DatasetUse]:
    if not versions:
        return uses
    return [replace(each, version=versions.get(place)) for place, each in enumerate(uses, first)]


def terminal_event(facts: Iterable[RunFacts]) -> RunFacts | None:
    """Return the newest terminal event, None without one. At the same instant, FAIL ranks before ABORT (rule 1.9)."""
    ends = [fact for fact in facts if fact.type in TERMINAL_TYPES]
    return max(ends, key=lambda fact: (*fact.order[:2], TERMINAL_TYPES.index(fact.type)), default=None)


def split_attempts(ordered: Sequence[RunFacts]) -> list[Sequence[RunFacts]]:
    """Split the events of a run, oldest first, into attempts (rule 1.8)."""
    begins = [0, *later_attempt_starts((fact.type, fact.time_us) for fact in ordered)]
    return [ordered[begin:end] for begin, end in zip(begins, [*begins[1:], len(ordered)], strict=True)]


def later_attempt_starts(events: Iterable[tuple[str | None, int]]) -> list[int]:
    """Return the indexes of the events that begin the second and later attempts; events: (type, time), in order."""
    found, ended_us = list[int](), None
    for place, (kind, time_us) in enumerate(events):
        if kind == "START" and ended_us is not None and time_us > ended_us:
            found.append(place)
            ended_us = None
        if kind in TERMINAL_TYPES:
            ended_us = time_us if ended_us is None else min(ended_us, time_us)
    return found


def duration_us(started_us: int | None, ended_us: int | None) -> int | None:
    """Return the duration of a run; None if it has not ended, or if no event is earlier than its end (rule 1.13).

    Some producers send only the end, and a START from a clock that is ahead may come after it.
    """
    return ended_us - started_us if started_us is not None and ended_us is not None and ended_us > started_us else None


TERMINAL_TYPES = ("COMPLETE", "ABORT", "FAIL")
"""The terminal types, in ascending rank at the same instant."""


LONG_RUN_EVENTS = 100
"""The number of events from which on a run is stored in this form, so that a batch does not merge all of them."""


class DecidingFacts(list[RunFacts]):
    """The deciding facts of a run with many events; see `DecidingFactsSelector`."""


class DecidingFactsSelector:
    """Selects the deciding facts of one run, one fact at a time.

    Of events with equal content, the newest decides. Of the others only the times count. So the first and the last in
    order (rule 1.3), and the earliest and the latest in time, represent all of them. Some events are all kept, because
    they add up or end a dataset or an attempt: those with `lineage` facets, DROP, RENAME, START, or a terminal type.
    """

    def __init__(self, facts: Iterable[RunFacts]):
        self._by_content: dict[Hashable, tuple[RunFacts, ...]] = {}
        self._always_needed: dict[str, RunFacts] = {}
        for fact in facts:
            self.add(fact)

    def add(self, fact: RunFacts) -> None:
        """Add a fact. Repeated facts make no difference."""
        if fact.type in _ATTEMPT_TYPES or not _is_idempotent(fact.content):
            self._always_needed[fact.event_id] = fact
            return
        key = (fact.content, fact.execution, fact.parent, fact.nominal_us, *fact.versions)
        first, last, earliest, latest = self._by_content.get(key, (fact,) * 4)
        self._by_content[key] = (
            min(first, fact, key=_order_key), max(last, fact, key=_order_key),
            min(earliest, fact, key=_time_key), max(latest, fact, key=_time_key),
        )  # fmt: skip

    def deciding_facts(self) -> DecidingFacts:
        """Return the deciding facts, each once."""
        ends = {fact.event_id: fact for found in self._by_content.values() for fact in found}
        return DecidingFacts([*ends.values(), *self._always_needed.values()])


def _is_idempotent(content: EventContent) -> bool:
    """Tell whether a repetition of this content adds nothing."""
    uses = (*content.inputs, *content.outputs)
    return not content.declared_facets and all(
        use.declared_facet is None and use.lifecycle not in _ENDING_CHANGES for use in uses
    )


_ENDING_CHANGES = ("DROP", "RENAME")
_ATTEMPT_TYPES = ("START", *TERMINAL_TYPES)


def _order_key(fact: RunFacts) -> Order:
    return fact.order


def _time_key(fact: RunFacts) -> tuple[int, str]:
    return fact.time_us, fact.event_id
