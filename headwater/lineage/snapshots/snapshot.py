"""The lineage at one time: the graph, the edges that count, the datasets and their columns."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from headwater.lineage.edges.candidates import NO_SOURCES, JobOutput
from headwater.lineage.edges.edge_sets import EdgeSet
from headwater.lineage.edges.nesting import Nesting
from headwater.lineage.edges.output_lineage import OutputLineage
from headwater.lineage.edges.schema_columns import Columns
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.display_names import DisplayNames
from headwater.lineage.names.generations import MAX_TIME_US
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.rules.user_rules import NO_RULES, UserRules
from headwater.lineage.runs.jobs import RetiredJobs, job_key
from headwater.lineage.runs.run_derivation import lineage_weight
from headwater.lineage.runs.run_facts import Tag
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.snapshots.lifetimes import Lifetimes
from headwater.lineage.snapshots.named_columns import columns_named_since, unlisted_columns
from headwater.lineage.snapshots.presumed_retired import presumed_retired_edge_sets
from headwater.lineage.snapshots.source_jobs import explain_by_job_events, follow_source_jobs
from headwater.lineage.snapshots.whole_rewrites import WINDOW_US, WholeRewrite, replaces
from headwater.lineage.traversal.column_graph import Graph
from headwater.lineage.traversal.followed_edges import EdgeStore

Remask = Callable[[JobOutput, OutputLineage], OutputLineage]
"""A function that applies the masks declared in a masking file to the lineage of an edge set."""


def without_masking_file(_: JobOutput, lineage: OutputLineage) -> OutputLineage:
    """Return the lineage unchanged, because there is no masking file."""
    return lineage


_MAX_CACHED_WINDOWS = 4
"""The maximum number of windows for which results are cached."""

MIN_TIME_US = -(1 << 62)
"""A time before all events, in microseconds. It marks edge sets that no earlier execution reports."""


class Window(NamedTuple):
    """The time span in which executions count as use (rule 6.8), in microseconds.

    length_us: how long an execution counts as use after it ended; 0 if only newest executions count.
    end_us: the end of the window; None for the time of the newest event.
    """

    length_us: int = WINDOW_US
    end_us: int | None = None


class ReportTimes(NamedTuple):
    """The times at which runs first and last reported an edge set, in microseconds, UTC."""

    first_us: int
    last_us: int


class EdgeSetStats(NamedTuple):
    """Statistics of the runs that report an edge set.

    runs: the number of runs. first_us, last_us: the times of the first and last run in microseconds, UTC.
    rows_confirmed: whether the events of at least one run show that it wrote rows.
    """

    runs: int
    first_us: int
    last_us: int
    rows_confirmed: bool


class Snapshot(ABC):
    """The lineage that answers questions. Subclasses read it from facts, from an index, or from Spark's rows."""

    def __init__(self, naming: NameResolver, remask: Remask, rules: UserRules = NO_RULES):
        """Create a snapshot without edge sets.

        naming: resolves names at the time of the snapshot.
        remask: applies the declared masks of a masking file.
        rules: the rules of the user.
        """
        self.graph = Graph()
        self.naming = naming
        self.removed_before_us: int | None = None
        """Events received before this time (us) are missing from bronze and from the snapshot (rule 1.14).

        None if no events are missing.
        """
        self.rules = rules
        self._remask = remask
        self._masks = (bytearray(), bytearray(), bytearray())
        self._last_us: list[int] = []
        self._attempt_us: dict[int, int] = {}
        self._counted: CountedEdges | None = None
        self._counted_by_window: dict[tuple[int | None, int | None], CountedEdges] = {}
        self._presumed_by_window: dict[tuple[int, int], frozenset[int]] = {}
        self._display: tuple[NameRules, DisplayNames] | None = None

    # Derived answers

    def counted_edges(self) -> CountedEdges:
        """Return the view with the edge sets that current and newest executions report."""
        if self._counted is None:
            graph = self.graph
            lifetimes = Lifetimes(graph, self.naming)
            nested = [
                number for name in self.datasets_with_nesting() if (number := graph.dataset_number(name)) is not None
            ]
            nesting = Nesting(graph, lambda number: self.columns(graph.names[number]), nested)
            retired = self._retired_edge_sets()
            masks = self._masks_without(retired)
            attempted = frozenset(graph.attempted - graph.proven_attempts(lambda number: any(m[number] for m in masks)))
            declared = explain_by_job_events(
                graph, lambda number: any(m[number] for m in self._masks), self.columns, self.job_name
            )
            graph.explained_by_job, graph.accounted_by_job = declared
            latest = self._masks[1]
            graph.set_source_jobs(
                *follow_source_jobs(graph, lambda number: bool(latest[number]), self._key_as_sent, self.job_name)
            )
            self._counted = CountedEdges(
                *masks,
                lifetimes.dropped_datasets,
                lifetimes,
                nesting,
                EdgeStore(graph),
                lambda number: unlisted_columns(self, graph.names[number]),
                lambda number: self.base_list_us(graph.names[number]),
                lambda number, since_us: columns_named_since(self, graph.names[number], since_us),
                attempted=attempted,
                last_us=self._last_us,
                retired_edge_sets=retired,
            )
            self._counted_by_window.clear()
            self._presumed_by_window.clear()
        return self._counted

    def counted_edges_without_presumed(self, window: Window) -> CountedEdges:
        """Return the view of `counted_edges` without the jobs that are presumed retired in a window (rule 6.12)."""
        counted = self.counted_edges()
        return counted.without_edge_sets(self._presumed_retired(counted, window))

    def _presumed_retired(self, counted: CountedEdges, window: Window) -> frozenset[int]:
        """Return the edge sets of jobs that are presumed retired.

        The result is empty if the window has no length or if there are no events.
        """
        end_us = window.end_us if window.end_us is not None else self.newest_event_us()
        since_us = self.window_start_us(window)
        if since_us is None or end_us is None:
            return frozenset()
        if (since_us, end_us) not in self._presumed_by_window:
            if len(self._presumed_by_window) >= _MAX_CACHED_WINDOWS:
                self._presumed_by_window.clear()
            self._presumed_by_window[since_us, end_us] = presumed_retired_edge_sets(self, counted, since_us, end_us)
        return self._presumed_by_window[since_us, end_us]

    def _key_as_sent(self, job: Name) -> Name:
        """Return the key of a job from the name under which lineage names the job as a source."""
        return job_key(self.rules.names.canonical_job(job), None)

    def is_in_force(self, number: int) -> bool:
        """Tell whether an edge set is a declaration that no newer declaration has replaced."""
        edge_set = self.graph.edge_sets.get(number)
        return edge_set is not None and edge_set[0].layer == "declared" and any(mask[number] for mask in self._masks)

    def _retired_edge_sets(self) -> frozenset[int]:
        retired = self.retired_jobs()
        if not retired:
            return frozenset()
        of_job: dict[Name, list[int]] = {}
        for number, (job_output, _) in self.graph.edge_sets.items():
            if job_output.has_job:
                of_job.setdefault(job_output.job, []).append(number)
        since = ((job, retired.retired_since_us(job, self.job_name(job))) for job in of_job)
        return frozenset(
            number
            for job, since_us in since
            if since_us is not None and self.job_seen_us(job) <= since_us
            for number in of_job[job]
        )

    def _masks_without(self, retired: Set[int]) -> tuple[bytearray, bytearray, bytearray]:
        """Return the masks without the edge sets of retired jobs, and record when runs last reported them."""
        if not retired:
            return self._masks
        live, latest, reading = map(bytearray, self._masks)
        for number in retired:
            live[number] = latest[number] = reading[number] = 0
            if self._last_us[number] != MIN_TIME_US:
                self._last_us[number] = self.report_times(number).last_us
        return live, latest, reading

    def counted_edges_with_earlier(self, window: Window) -> CountedEdges:
        """Return the view of `counted_edges` with the masks for earlier executions.

        These executions count for use if they ended within the window, and for rows if their rows remain.
        """
        counted, since_us = self.counted_edges(), self.window_start_us(window)
        key = since_us, self.newest_event_us() if self.rules.rewrites else None
        if key not in self._counted_by_window:
            if len(self._counted_by_window) >= _MAX_CACHED_WINDOWS:
                self._counted_by_window.clear()
            attempted = counted.attempted
            if since_us is not None:
                attempted = frozenset(number for number in attempted if self._attempt_us[number] >= since_us)
            self._counted_by_window[key] = replace(
                counted,
                recent_mask=self._recent_mask_since(since_us, counted.retired_edge_sets),
                remaining_mask=self._remaining_mask(counted),
                attempted=attempted,
                find_presumed=lambda: self._presumed_retired(counted, window),
            )
        return self._counted_by_window[key]

    def default_window(self) -> Window:
        """Return the window for questions that specify no window: the window of the user's rules, or 92 days."""
        return Window() if self.rules.window_us is None else Window(self.rules.window_us)

    def window_start_us(self, window: Window) -> int | None:
        """Return the start of a window (us), None if only newest executions count.

        Without events, the result is a time before all events.
        """
        end_us = window.end_us if window.end_us is not None else self.newest_event_us()
        if not window.length_us:
            return None
        return MIN_TIME_US + 1 if end_us is None else end_us - window.length_us

    def _recent_mask_since(self, since_us: int | None, retired: Set[int]) -> bytes:
        """Return the mask of edge sets that runs reported at or after `since_us`, without those of retired jobs."""
        if since_us is None:
            return bytes(len(self._last_us))
        found = bytearray(at >= since_us for at in self._last_us)
        for number in retired:
            found[number] = 0
        return bytes(found)

    def _remaining_mask(self, counted: CountedEdges) -> bytes:
        """Return the mask of edge sets of earlier executions that wrote rows which may remain (rule 6.9)."""
        found, sets = bytearray(len(self._last_us)), self.graph.edge_sets
        for number, (last_us, *says) in enumerate(
            zip(self._last_us, counted.live_mask, counted.latest_mask, strict=True)
        ):
            if last_us != MIN_TIME_US and not any(says) and (output := sets[number][1].output) is not None:
                found[number] = self.rows_until_us(output, last_us) == MAX_TIME_US
        return bytes(found)

    def rows_until_us(self, dataset: Name, written_us: int) -> int:
        """Return the time (us) when the rows of a write were gone, `MAX_TIME_US` if they may remain (rule 6.9).

        written_us: the time of the write in microseconds.
        """
        rewrite, keeps_us = self.newest_rewrite(dataset), self.rules.retention_us(dataset.without_generation)
        until_us = rewrite.ended_us if rewrite is not None and replaces(rewrite, written_us) else MAX_TIME_US
        newest_us = self.newest_event_us() if keeps_us is not None else None
        if keeps_us is None or newest_us is None or written_us + keeps_us >= newest_us:
            return until_us
        return min(until_us, written_us + keeps_us)

    def shown_columns(self, dataset: Name) -> Columns:
        """Return the columns of the newest generation of a dataset that has a list of columns.

        If no generation at its own location has a list, the other locations of its names are searched, too.
        """
        every = self.naming.generations_of_location(dataset.without_generation)
        described = (columns for each in every if (columns := self.columns(each)).names)
        return next(described, None) or self.columns(dataset.without_generation)

    def is_named_only_by_readers(self, dataset: Name, key: str) -> bool:
        """Tell whether a dataset has a base list, but no list of a writer contains a column (rule 12.9).

        Only edges or the lists of readers name such a column.
        """
        every = self.naming.generations_of_location(dataset.without_generation)
        described = next((each for each in every if self.columns(each).names), None)
        if described is None or self.base_list_us(described) is None:
            return False
        written = self.written_keys(described)
        return written is not None and key not in written

    def written_keys(self, _: Name) -> frozenset[str] | None:
        """Return the keys of the columns that writers list for a dataset, None if this is not stored."""
        return None

    def resolve(self, name: Name) -> Name:
        """Return the dataset to which a canonical name refers now, without its generation."""
        return self.naming.resolve(name, MAX_TIME_US).without_generation

    def aliases(self) -> Mapping[Name, Name]:
        """Map each name with a symlink or rename to the dataset to which the name refers now."""
        return {name: self.resolve(name) for name in self.naming.aliases()}

    def display_names(self, rules: NameRules) -> DisplayNames:
        """Return the display names of all datasets.

        rules: the rules for names in force, which contain the names of workspaces and items, and the business names.
        """
        if self._display is None or self._display[0] is not rules:
            self._display = rules, DisplayNames(rules.onelake_names, rules.aliases)
            self._add_names(self._display[1], (*self.datasets(), *self.names_in_events(), *self.naming.aliases()))
        return self._display[1]

    def _add_names(self, display: DisplayNames, names: Iterable[Name]) -> None:
        """Add names to the display names in sorted order, so that the result is deterministic."""
        for name in sorted({name.without_generation for name in names}):
            display.add(name, self.resolve(name))

    def exists(self, dataset: Name) -> bool:
        """Tell whether a dataset exists: it was not dropped, or it was created again after the last drop."""
        return self.naming.generations.exists_at(dataset)

    def has_lineage_or_schema(self, dataset: Name) -> bool:
        """Tell whether events list columns or lineage for a dataset or for another location of its names."""
        locations = (dataset, *self.naming.moved_names.other_current_locations(dataset.without_generation))
        return any(map(self.graph.has_lineage_under, locations)) or bool(self.shown_columns(dataset).names)

    def names_in_events(self) -> Iterable[Name]:
        """Return every dataset that an event names, including events of runs that did not complete.

        The result is empty if this is not stored.
        """
        return ()

    def is_in_events(self, dataset: Name) -> bool:
        """Tell whether an event names a dataset. Events of runs that did not complete count, too."""
        return dataset in self.names_in_events()

    def datasets(self) -> Iterable[Name]:
        """Return every dataset with a schema or lineage, including names from before a rename."""
        shown = shown_names({*self.datasets_with_schema()}, self.naming)
        return shown.union(name for name in self.graph.generations.keys() - shown if self.graph.has_lineage_under(name))

    def current_names(self, *, attempted: bool = False) -> set[Name]:
        """Return every dataset with a schema or lineage, under its current name only.

        attempted: whether to include two more kinds of datasets: datasets that only runs mention which did not
        complete, and datasets with a column that lineage names without reporting an edge (rule 12.9).
        """
        described = {each.without_generation for each in self.datasets_with_schema()}
        is_used = self.graph.is_mentioned_under if attempted else self.graph.has_lineage_under
        found = described.union(filter(is_used, self.graph.generations.keys() - described))
        left = (former for name in found if (former := self.naming.moved_names.former_location(name)))
        return found | {self.resolve(former.name) for former in left}

    def datasets_with_nesting(self) -> Iterable[Name]:
        """Return the datasets with nested columns in their schema."""
        return (dataset for dataset in self.datasets_with_schema() if self.columns(dataset).has_nested_columns)

    def _put_edge_set(
        self,
        number: int,
        job_output: JobOutput,
        edge_set: EdgeSet[OutputLineage],
        last_us: int,
        *,
        later: bool = False,
    ) -> None:
        """Add an edge set under a new number.

        last_us: the time (us) at which a run last reported the edge set.
        later: whether to leave the edges of the edge set to the next call of `Graph.connect`.
        """
        graph, lineage = self.graph, self._remask(job_output, edge_set.lineage)
        graph.put(number, job_output, lineage, edge_set.explained_inputs, edge_set.accounted_inputs, later=later)
        if number in graph.attempted:
            self._set_masks(number, False, False, False)
            self._attempt_us[number] = last_us
            return
        self._set_masks(number, edge_set.is_live, edge_set.is_latest, edge_set.is_live_across_generations)
        if (
            job_output.layer == "observed"
            and number in graph.edge_sets
            and lineage_weight(edge_set.lineage) > NO_SOURCES
        ):
            self._last_us[number] = last_us

    def _set_masks(self, number: int, *counts: int) -> None:
        """Set the values of an edge set in the masks `live_mask`, `latest_mask` and `reading`.

        This resets the edge set's time in `_last_us`. `_put_edge_set` sets the time if earlier executions may count.
        """
        for mask, count in zip(self._masks, counts, strict=True):
            mask.extend(bytes(max(0, number + 1 - len(mask))))
            mask[number] = count
        self._last_us.extend([MIN_TIME_US] * max(0, number + 1 - len(self._last_us)))
        self._last_us[number] = MIN_TIME_US
        self._counted = None

    # Stored data

    @abstractmethod
    def columns(self, dataset: Name) -> Columns:
        """Return the columns of one generation of a dataset."""

    @abstractmethod
    def base_list_us(self, dataset: Name) -> int | None:
        """Return the time (us) of the base list of one generation of a dataset, None without a list (rule 12.7)."""

    @abstractmethod
    def datasets_with_schema(self) -> Iterable[Name]:
        """Return the datasets with a schema. Each generation is a separate dataset."""

    @abstractmethod
    def current_tags(self) -> Mapping[Name, Sequence[Tag]]:
        """Return the tags in force, by dataset."""

    @abstractmethod
    def was_read_to_write(self, dataset: Name) -> bool:
        """Tell whether any run has ever read a dataset to write another dataset."""

    @abstractmethod
    def job_name(self, key: Name) -> Name:
        """Return the name of a job from its key.

        If the key is the id of an artifact, this is the name that the job has at the time of the snapshot.
        """

    @abstractmethod
    def edge_set_stats(self, number: int) -> EdgeSetStats:
        """Return statistics of the runs that report an edge set."""

    @abstractmethod
    def report_times(self, number: int) -> ReportTimes:
        """Return the times at which runs first and last reported an edge set."""

    @abstractmethod
    def newest_rewrite(self, dataset: Name) -> WholeRewrite | None:
        """Return the whole rewrite of one generation of a dataset that began last, None without a rewrite."""

    @abstractmethod
    def retired_jobs(self) -> RetiredJobs:
        """Return the jobs that were deleted or declared as retired (rule 6.11), including jobs that ran later."""

    @abstractmethod
    def job_seen_us(self, job: Name) -> int:
        """Return the time (us) of the newest known event of a job."""

    def run_times_us(self, _: Name) -> Iterable[int]:
        """Return the time (us) of the newest event of each run of a job; empty if runs are not stored."""
        return ()

    @abstractmethod
    def newest_event_us(self) -> int | None:
        """Return the time (us) of the newest event with a time not later than its receipt, None without one."""

    @abstractmethod
    def newest_run(self, number: int) -> str | None:
        """Return the key of the newest run that reports an edge set."""

    @abstractmethod
    def ended_with_parent(self, run: str) -> bool:
        """Tell whether a run without a terminal event ended with its parent or its root run (rule 1.9)."""

    @abstractmethod
    def applications_of_edge_set(self, number: int) -> Set[str]:
        """Return the keys of the parents of the runs that report an edge set in the newest execution of its job.

        The parent of a Spark statement is its application. Runs without a `parent` facet have no parent.
        """

    def edge_sets_of_application(self, application: str, among: Set[int]) -> Iterator[int]:
        """Yield the edge sets among some edge sets that runs of an application report.

        application: the key of the application's run. among: the numbers of the edge sets.
        """
        return (number for number in among if application in self.applications_of_edge_set(number))

    @abstractmethod
    def edge_sets_older_than(self, time_us: int) -> Iterator[int]:
        """Yield the edge sets that no run reported at or after a time (us)."""


def shown_names(described: Set[Name], naming: NameResolver) -> set[Name]:
    """Return the names of datasets with a schema, without generations: their current names and their former names.

    described: the datasets with a schema, with their generations.
    """
    generations = naming.generations
    renamed = (name for name in generations.renamed if not described.isdisjoint(generations.all_generations(name)))
    return {*(each.without_generation for each in described), *renamed}
