"""The history of a dataset's columns and of the lineage steps into the dataset: times and runs of their changes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from headwater.events.times import iso_time
from headwater.index.reading.change_history import ChangeHistory, DescribedColumn
from headwater.index.reading.contract_history import ContractHistory
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.run_history import SCAN_LIMIT, RunHistory
from headwater.lineage.edges.candidates import (
    INPUTS_ONLY,
    REPORTED_LINEAGE,
    Candidate,
    JobOutput,
    candidate_order_key,
)
from headwater.lineage.edges.facet_contents import Transformation
from headwater.lineage.edges.output_lineage import OutputLineage
from headwater.lineage.edges.schema_history import READER_LIST, SchemaMention
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.tags import TagsFacet
from headwater.lineage.runs.event_order import Order
from headwater.lineage.runs.jobs import run_id_of
from headwater.lineage.snapshots.snapshot import Remask
from headwater.lineage.snapshots.validity import ValidityHistory, ValidityInterval
from headwater.questions.answer_types.common import Job
from headwater.questions.answer_types.contracts import EndedColumn, EndedTag, RunReference

MAX_ENDED = 1_000
"""Maximum number of ended steps in an answer."""

ColumnLink = tuple[Name, str, str | None]
"""(source dataset, source column, target column).

The target column is None if the source column affects all columns.
"""

_Written = Candidate[Sequence[int]]
NO_RUN = RunReference(None, None, None)


class StepChange(NamedTuple):
    """The start or end of a lineage step: time (us, UTC), key of the run, and key of the job."""

    time_us: int
    run_key: str
    job: Name

    def to_answer(self, display_name_of: Callable[[Name], Name]) -> RunReference:
        """Convert the change to a run reference for an answer. display_name_of: returns the display name of a job."""
        return RunReference(run_id_of(self.run_key), iso_time(self.time_us), Job(*display_name_of(self.job).parts))


class WriterHistory(NamedTuple):
    """A job that writes a dataset.

    first: the first write of the job, None if unknown. opaque: the write since which the job reports no column lineage,
    None if the newest write reports it.
    """

    first: StepChange | None
    opaque: StepChange | None


class StepHistory:
    """The history of the steps into one dataset, up to a moment."""

    def __init__(self, runs: RunHistory, dataset: Name, until_us: int, remask: Remask):
        """Read the newest runs of each job that writes the dataset."""
        self._key_of = cache(runs.run_key_of)
        self.writers: dict[Name, WriterHistory] = {}
        self._began: dict[tuple[ColumnLink, Transformation], StepChange] = {}
        self._ends: dict[ColumnLink, StepChange] = {}
        self._active: set[ColumnLink] = set()
        for layer, job, every in runs.dataset_candidates(dataset):
            known = [each for each in every if each.time_us <= until_us]
            if known:
                self._add_output(runs, JobOutput(layer, job, dataset), known, remask)
                self._add_writer(job, known)

    def since_change(self, line: ColumnLink, transformation: Transformation) -> StepChange | None:
        """Return the change since which a step exists without interruption, or None if the step does not exist."""
        return self._began.get((line, transformation)) or self._began.get(((*line[:2], None), transformation))

    def ended_steps(self) -> list[tuple[ColumnLink, StepChange]]:
        """Return (step, change that ended the step) for each step that no longer counts, newest first."""
        ended = [(line, change) for line, change in self._ends.items() if line not in self._active]
        return sorted(ended, key=lambda each: (-each[1].time_us, str(each)))[:MAX_ENDED]

    def _add_output(self, runs: RunHistory, output: JobOutput, writes: Sequence[_Written], remask: Remask) -> None:
        history: ValidityHistory[int] = ValidityHistory(output.layer)
        history.add(writes)
        lineages: dict[int, OutputLineage] = {}
        periods: dict[tuple[ColumnLink, Transformation], list[ValidityInterval[int]]] = {}
        for each in [*history.ended, *history.open_intervals]:
            if each.edge not in lineages:
                lineages[each.edge] = remask(output, runs.output_lineage(each.edge))
            for edge in lineages[each.edge].edges:
                line = (edge.source.without_generation, edge.column, edge.target)
                periods.setdefault((line, edge.transformation), []).append(each)
        by_time = _writes_by_time(writes)
        for (line, transformation), own in periods.items():
            since_us, until_us = _newest_period(own)
            if until_us is None:
                change = self._to_step_change(by_time[since_us], output.job)
                self._active.add(line)
                self._began[line, transformation] = min(self._began.get((line, transformation), change), change)
            else:
                change = self._to_step_change(by_time[until_us], output.job)
                self._ends[line] = max(self._ends.get(line, change), change)

    def _add_writer(self, job: Name, writes: Sequence[_Written]) -> None:
        speaking = sorted(
            (each for each in writes if each.weight in (REPORTED_LINEAGE, INPUTS_ONLY)), key=candidate_order_key
        )
        opaque = None
        for each in reversed(speaking):
            if each.has_column_lineage:
                break
            opaque = self._to_step_change(each, job)
        oldest = min(writes, key=candidate_order_key)
        first = self._to_step_change(oldest, job) if len(writes) <= SCAN_LIMIT else None
        before = self.writers.get(job)
        self.writers[job] = WriterHistory(
            min(first, before.first) if before and before.first and first else first, opaque
        )

    def _to_step_change(self, write: _Written, job: Name) -> StepChange:
        return StepChange(write.time_us, self._key_of(int(write.run_key)), job)  # the index stores runs by number


def _writes_by_time(writes: Iterable[_Written]) -> dict[int, _Written]:
    """Return the writes by time (us). If several writes have the same time, the newest by rule 1.3 is returned."""
    return {each.time_us: each for each in sorted(writes, key=candidate_order_key)}


def _newest_period(intervals: Sequence[ValidityInterval[int]]) -> tuple[int, int | None]:
    """Return (start, end) in us of the newest period that the intervals cover without a gap.

    The end is None if it is open.
    """
    ordered = sorted(intervals, key=lambda each: each.since_us)
    since, until = ordered[0].since_us, ordered[0].until_us
    for each in ordered[1:]:
        if until is not None and each.since_us > until:
            since, until = each.since_us, each.until_us
        elif until is not None:
            until = None if each.until_us is None else max(until, each.until_us)
    return since, until


_MAX_SCHEMAS = 200
"""Maximum number of schemas that are read, newest first."""

RunLookup = Callable[[Order], RunReference]
TagKey = tuple[str | None, str]
"""(column as sent, key of a tag). The column is None for a tag of the dataset."""


def run_lookup(live: LiveGraph) -> RunLookup:
    """Return a function that looks up the run of an event. It caches its results."""
    history = ChangeHistory(live, 0, 0)

    @cache
    def run_of(order: Order) -> RunReference:
        found = history.run_of_event(order)
        at = iso_time(order.time_us)
        return (
            RunReference(run_id_of(found[0]), at, Job(*live.job_name(found[1]).parts))
            if found
            else RunReference(None, at, None)
        )

    return run_of


class ColumnHistory:
    """Finds since when the columns of a dataset have their types, and which columns were removed."""

    def __init__(self, live: LiveGraph, history: ContractHistory, run_of: RunLookup):
        """Read the newest schemas of one dataset."""
        texts, self._run_of, every = ChangeHistory(live, 0, 0), run_of, history.column_lists()[:_MAX_SCHEMAS]
        self._seen = [
            (_event_order(each.since_mention), texts.described_columns(history.names, each.lists)) for each in every
        ]
        written = [
            seen for each in every[:1] for seen in each.lists if seen.authority > READER_LIST or not each.has_base
        ]
        self._written = texts.described_columns(history.names, written) if written else {}

    @property
    def current_columns(self) -> Mapping[str, DescribedColumn]:
        """The current columns, by their dotted names."""
        return self._seen[0][1] if self._seen else {}

    def is_named_only_by_readers(self, column: str) -> bool:
        """Return whether the dataset has a base list, and only lists that readers report contain this column."""
        return column in self.current_columns and column not in self._written

    def run_that_changed_type(self, column: str) -> RunReference:
        """Return the run since which a column has its current type."""
        described, newest = self.current_columns.get(column), None
        kind = described.type if described else None
        for order, types in self._seen:
            if column not in types or types[column].type != kind:
                break
            newest = order
        return self._run_of(newest) if newest else NO_RUN

    def removed_columns(self) -> list[EndedColumn]:
        """Return the removed columns and the runs that removed them. The columns that were removed last come first."""
        found: dict[str, Order] = {}
        for (after, _), (_, types) in zip(self._seen, self._seen[1:], strict=False):
            for column in types:
                if column not in self.current_columns and column not in found:
                    found[column] = after
        return [EndedColumn(column, self._run_of(order)) for column, order in found.items()]


def _event_order(seen: SchemaMention) -> Order:
    return Order(*seen[:4])


class TagHistory:
    """Finds since when the tags of a dataset are set by `tags` facets, and which tags were removed."""

    def __init__(self, facets: Iterable[list[TagsFacet]], run_of: RunLookup):
        """facets: for each producer, its `tags` facets, newest first."""
        self._run_of = run_of
        self._since: dict[TagKey, Order] = {}
        self._ended: dict[TagKey, Order] = {}
        for facets_of_producer in facets:
            self._add_producer(facets_of_producer)

    def run_that_added(self, column: str | None, key: str) -> RunReference:
        """Return the run that added a tag, or an empty reference for a tag that comes from the tags file."""
        order = self._since.get((column, key))
        return self._run_of(order) if order else NO_RUN

    def active_tags(self) -> list[tuple[TagKey, RunReference]]:
        """Return all active tags with the runs that added them."""
        return [(key, self._run_of(order)) for key, order in self._since.items()]

    def removed_tags(self) -> list[EndedTag]:
        """Return the tags that no producer sets any more."""
        gone = {key: order for key, order in self._ended.items() if key not in self._since}
        return [EndedTag(*key, self._run_of(order)) for key, order in sorted(gone.items(), key=str)]

    def _add_producer(self, facets_of_producer: list[TagsFacet]) -> None:
        active = _active_tags_of_facet(facets_of_producer[0]) if facets_of_producer else set()
        current, after = (
            dict.fromkeys(active, facets_of_producer[0].order) if facets_of_producer else {},
            facets_of_producer[0].order if facets_of_producer else None,
        )
        still = set(active)
        for each in facets_of_producer[1:]:
            held = _active_tags_of_facet(each)
            still &= held
            current |= dict.fromkeys(still, each.order)
            for key in held - active:
                self._ended.setdefault(key, after or each.order)
            after = each.order
        for key, order in current.items():
            self._since[key] = min(self._since.get(key, order), order)


def _active_tags_of_facet(facet: TagsFacet) -> set[TagKey]:
    return {(tag.column, tag.key) for tag in facet.tags if tag.value.casefold() != "false"}
