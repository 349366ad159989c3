"""The facts of one event.

A run is the set of its facts, so the order and repetition of the facts make no difference.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from headwater.lineage.edges.write_kinds import has_partition_sign
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.event_order import Order

DELETED = ""
"""The content hash that stands for a facet that an event removed with `_deleted`."""

NO_COLUMN_LINEAGE = frozenset({None, DELETED})


class Symlink(NamedTuple):
    """Another name of a dataset. is_location: whether it is the physical location of the dataset (type LOCATION)."""

    name: Name
    is_location: bool


class Tag(NamedTuple):
    """A tag of a column, or of the whole dataset if `column` is None."""

    column: str | None
    key: str
    value: str


class DatasetUse(Struct, frozen=True, gc=False, array_like=True, cache_hash=True):
    """A dataset in one event.

    name: the canonical name of the dataset, before symlinks and renames are applied.
    schema, lineage: the content hashes of the `schema` and `columnLineage` facet. The hash is `DELETED` if the event
    removes the facet, and None if the event has no facet or if the facet is empty.
    declared_facet: the content hash of the `lineage` facet of the dataset, with the same special values.
    tags: the tags in the tags facet; None without a tags facet.
    lifecycle: the `lifecycleStateChange` in upper case; None without one.
    previous_name: the canonical name before a RENAME; None without one.
    rows_confirmed: whether output statistics or a version prove that rows were written.
    version: the version of the dataset that the producer reports; None without one.
    is_part: whether the event uses only a part of the dataset. The signs are a folder or pattern that the rules for
    names removed, the `subset` facet of an output, or partitions or locations in the `subset` facet of an input.
    filter_columns: the columns by which the `subset` facet or the folders in the name of an input select rows (4.11).
    metadata_columns: the columns of an input that is a metadata table under the name of its table (rule 11.4).
    is_asset: whether the event names the dataset only as an inlet or outlet of an Airflow task (rule 4.14).
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
    is_asset: bool = False


NameForms = tuple[tuple[Name, Name], ...]
"""(name, dataset) for each name that means another dataset in an event"""


class EventContent(Struct, frozen=True, gc=False, array_like=True, cache_hash=True):
    """The part of an event that recurs in other runs: the values that the rules use, except for those in `RunFacts`.

    kind: RUN, JOB or DATASET. type: START, COMPLETE and so on; OTHER if the event has no type.
    job: the canonical name of the job (rule 3). sent_job: its name as sent; None if both names are equal.
    artifact_id: the id of the Fabric artifact (`job_key`).
    processing: BATCH, STREAMING or SERVICE; None if the event does not report the processing type.
    is_snapshot: whether each event of the run is a complete snapshot (rule 1.11).
    inputs, outputs: the datasets in the event, without versions. Without any, the inlets or outlets of the task.
    declared_facets: (`run` or `job`, content hash) of each `lineage` facet of the run and the job.
    declared_targets: the datasets that these facets name as targets.
    sql: the content hash of the `sql` facet of the job; None without the facet, `DELETED` if the event removes it.
    write_signs: the sorted signs, in SQL, properties and facets, of how the run writes (`write_kinds`).
    name_forms: the names that mean other datasets in this event (rule 2.1). In `inputs` and `outputs`, these names are
    already replaced.
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
    """All values of one event that the rules use. Times are in microseconds since 1970-01-01 UTC.

    order: the sort key of the event (rule 1.3).
    run_key: the key of the run. Declarations (JobEvent, DatasetEvent) that replace each other have the same key.
    execution: the key of the root run in the `parent` facet, else of the parent run; None without the facet.
    parent: the key of the parent run; None without the `parent` facet.
    content: the values of the event that recur in other runs.
    versions: the versions of datasets, by index in the list of inputs followed by outputs of `content`.
    nominal_us: the end of the `nominalTime` of the run, else its start; None without a `nominalTime`.
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
        """The inputs of the event, with versions."""
        return _with_versions(self.content.inputs, self.versions, 0)

    @property
    def outputs(self) -> Sequence[DatasetUse]:
        """The outputs of the event, with versions."""
        if not self.versions:
            return self.content.outputs
        listed_inputs = sum(not use.is_asset for use in self.content.inputs)
        return _with_versions(self.content.outputs, self.versions, listed_inputs)


def without_sql(facts: Iterable[RunFacts]) -> list[RunFacts]:
    """Return the same facts without the SQL of jobs."""
    return [replace(fact, content=replace(fact.content, sql=None)) if fact.content.sql else fact for fact in facts]


def names_with_part_mentions(facts: Iterable[RunFacts]) -> set[Name]:
    """Return the names, as sent, of the datasets of which some event mentions parts or writes partitions."""
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
    """Return the newest terminal event; None without one.

    Of terminal events at the same time, FAIL wins over ABORT, and ABORT over COMPLETE (rule 1.9).
    """
    ends = [fact for fact in facts if fact.type in TERMINAL_TYPES]
    return max(ends, key=lambda fact: (*fact.order[:2], TERMINAL_TYPES.index(fact.type)), default=None)


def split_attempts(ordered: Sequence[RunFacts]) -> list[Sequence[RunFacts]]:
    """Split the events of a run, oldest first, into attempts (rule 1.8)."""
    begins = [0, *later_attempt_starts((fact.type, fact.time_us) for fact in ordered)]
    return [ordered[begin:end] for begin, end in zip(begins, [*begins[1:], len(ordered)], strict=True)]


def later_attempt_starts(events: Iterable[tuple[str | None, int]]) -> list[int]:
    """Return the index of each event that begins an attempt after the first attempt.

    events: (type, time in us) of each event, from oldest to newest.
    """
    found, ended_us = list[int](), None
    for place, (kind, time_us) in enumerate(events):
        if kind == "START" and ended_us is not None and time_us > ended_us:
            found.append(place)
            ended_us = None
        if kind in TERMINAL_TYPES:
            ended_us = time_us if ended_us is None else min(ended_us, time_us)
    return found


def duration_us(started_us: int | None, ended_us: int | None) -> int | None:
    """Return the duration of a run in us; None if the run has not ended or has no event before its end (rule 1.13).

    Some producers send only the end. A START event from a clock that is ahead may have a later time than the end.
    """
    return ended_us - started_us if started_us is not None and ended_us is not None and ended_us > started_us else None


TERMINAL_TYPES = ("COMPLETE", "ABORT", "FAIL")
"""The types of terminal events. Of events at the same time, the event with the last of these types is the newest."""


LONG_RUN_EVENTS = 100
"""The number of events from which on stores keep `DecidingFacts` of a run. A batch then need not merge all events."""


class DecidingFacts(list[RunFacts]):
    """The facts that decide the result for a run with many events, as `DecidingFactsSelector` selects them."""


class DecidingFactsSelector:
    """Selects the deciding facts of one run. The derivation needs no other facts if names mean the same at all times.

    Of events with equal content, the newest event decides, and only the times of the other events matter. So up to
    four events represent all events with equal content: the first and the last in order (rule 1.3), and the earliest
    and the latest in time. The selector keeps all events with `lineage` facets, DROP or RENAME, and all START and
    terminal events. Such events add up, or end a dataset or an attempt.
    """

    def __init__(self, facts: Iterable[RunFacts]):
        self._by_content: dict[Hashable, tuple[RunFacts, ...]] = {}
        self._always_needed: dict[str, RunFacts] = {}
        for fact in facts:
            self.add(fact)

    def add(self, fact: RunFacts) -> None:
        """Add a fact. A fact that was added before makes no difference."""
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
    """Tell whether another event with this content adds nothing to the run except its time."""
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
