"""Derive the lineage of one run from its facts. Runs with events of the same content share one cached result."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from headwater.lineage.edges.candidates import (
    ATTEMPTED,
    INFERRED_LINEAGE,
    INPUTS_ONLY,
    NO_SOURCES,
    REPORTED_LINEAGE,
    Candidate,
    JobOutput,
)
from headwater.lineage.edges.facet_contents import FacetContents, SentEdge
from headwater.lineage.edges.output_lineage import EdgeRules, OutputLineage, SchemaAt
from headwater.lineage.edges.run_edges import derive_attempted_lineages, derive_output_lineages
from headwater.lineage.edges.write_kinds import ADDS_ROWS, CompletedWrite, write_kind
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.runs.bounded_cache import BoundedCache
from headwater.lineage.runs.merged_run import (
    Run,
    RunDataset,
    later_attempts,
    merge_run,
    newest_value,
    order_deciding_facts,
)
from headwater.lineage.runs.run_facts import (
    NO_COLUMN_LINEAGE,
    TERMINAL_TYPES,
    DatasetUse,
    EventContent,
    RunFacts,
    split_attempts,
    terminal_event,
)

_MAX_ENTRIES = 20_000
_MAX_EVENTS = 16
"""The maximum number of events of a cached run. Longer runs, such as streams with a thousand updates, never recur."""


class RecurringCandidate(NamedTuple):
    """A `Candidate` without the fields that differ between runs with events of the same content."""

    job_output: JobOutput
    weight: int
    rows_confirmed: bool
    write_kind: int
    lineage: OutputLineage


class CachedRun(Struct, eq=False):
    """The result of deriving a run. All runs with events of the same content share this object.

    run: the first of these runs. Its datasets have no versions.
    end_index: the index of the terminal event among the events of the run; -1 without a terminal event.
    candidates: what the run reports about each of its outputs.
    used_names: all names in the events of the run, including names in lineage facets.
    """

    run: Run
    end_index: int
    candidates: Sequence[RecurringCandidate]
    used_names: frozenset[Name]


class ContentTraits(Struct, eq=False):
    """The properties of an event that depend only on its `EventContent`.

    number: a number that identifies the content.
    used_names: all names of datasets in the event, including names in lineage facets.
    output_names: the names of outputs and of targets in `lineage` facets.
    has_symlinks, has_tags: whether any dataset in the event has symlinks, and whether any has a tags facet.
    has_name_changes: whether the event drops or renames a dataset.
    spellings: the result of `sent_column_spellings`.
    """

    number: int
    used_names: frozenset[Name]
    output_names: frozenset[Name]
    has_symlinks: bool
    has_tags: bool
    has_name_changes: bool
    spellings: frozenset[tuple[Name, str]]


class RunCache:
    """Caches derived runs by the content of their events.

    lookups: the number of calls of `get`. hits: the number of these calls that found a cached run.
    """

    def __init__(self, contents: FacetContents, naming: NameResolver):
        self._contents = contents
        self._naming = naming
        self._traits: dict[EventContent, ContentTraits] = {}
        self._facet_names: BoundedCache[str, frozenset[Name]] = BoundedCache()
        self._runs: dict[Hashable, CachedRun] = {}
        self._keys_by_name: dict[Name, set[Hashable]] = defaultdict(set)
        self._content_count = 0
        self.lookups = self.hits = 0

    def content_traits(self, fact: RunFacts) -> ContentTraits:
        """Return the properties of the content of an event, from the cache if possible."""
        found = self._traits.get(fact.content)
        if found is None:
            if len(self._traits) > _MAX_ENTRIES:
                self._traits.clear()
            self._content_count += 1
            found = self._traits[fact.content] = self._read_traits(fact.content)
        return found

    def cache_key(self, ordered: Sequence[RunFacts]) -> tuple[int, ...] | None:
        """Return the cache key of a run; None if the run cannot be cached.

        The key consists of the index of the terminal event and the numbers of the contents of all events, in order.
        Declarations, runs with several attempts, and runs with more than `_MAX_EVENTS` events cannot be cached.
        ordered: the facts of the run, from oldest to newest.
        """
        if len(ordered) > _MAX_EVENTS or ordered[-1].kind != "RUN":
            return None
        ends = [fact for fact in ordered if fact.type in TERMINAL_TYPES]
        if ends and len(split_attempts(ordered)) > 1:
            return None
        end = ends[0] if len(ends) == 1 else terminal_event(ends)
        return (_index_of(ordered, end), *[self.content_traits(fact).number for fact in ordered])

    def get(self, key: Hashable) -> CachedRun | None:
        """Return the cached run for a cache key; None if there is none."""
        found = self._runs.get(key)
        self.lookups += 1
        self.hits += found is not None
        return found

    def add(
        self,
        key: tuple[int, ...] | None,
        facts: Sequence[RunFacts],
        run: Run,
        candidates: Sequence[RecurringCandidate],
        *,
        uses_schema_sources: bool,
    ) -> CachedRun:
        """Return the result of deriving a run, and cache the result if it can recur.

        key: the cache key of the run; None if the run cannot be cached.
        uses_schema_sources: whether the derivation used columns that other runs reported.
        The result is cached only if the run is a batch run, if the names that it uses mean the same datasets at all
        times, if it uses no columns from other runs, and if the times of its lines of lineage make no difference. The
        times matter if the run has `lineage` facets or replaced `columnLineage`.
        """
        used = frozenset[Name]().union(*(self.content_traits(fact).used_names for fact in facts))
        plain = replace(run, inputs=_without_versions(run.inputs), outputs=_without_versions(run.outputs))
        shape = CachedRun(plain, key[0] if key else -1, candidates, used)
        explicit = run.declared_facets or any(
            dataset.declared_facets or dataset.replaced_lineage for dataset in run.outputs.values()
        )
        own = not explicit and not uses_schema_sources
        if key is not None and run.processing == "BATCH" and own and all(map(self._naming.is_constant, used)):
            self._store(key, shape)
        return shape

    def _store(self, key: Hashable, shape: CachedRun) -> None:
        if len(self._runs) > _MAX_ENTRIES:
            self._runs.clear()
            self._keys_by_name.clear()
        self._runs[key] = shape
        for name in shape.used_names:
            self._keys_by_name[name].add(key)

    def remove_runs_using(self, names: Iterable[Name]) -> None:
        """Remove the cached runs that use one of these names, because their datasets or columns have changed."""
        for name in names:
            for key in self._keys_by_name.pop(name, ()):
                self._runs.pop(key, None)

    def _read_traits(self, content: EventContent) -> ContentTraits:
        used: set[Name] = set()
        uses = (*content.inputs, *content.outputs)
        for use in uses:
            used.add(use.name)
            used |= self._names_in_facet(use.lineage) | self._names_in_facet(use.declared_facet)
            if use.previous_name:
                used.add(use.previous_name)
        for _, content_hash in content.declared_facets:
            used |= self._names_in_facet(content_hash)
        forms = dict(content.name_forms)
        used = {forms.get(name, name) for name in used} if forms else used
        links = any(use.symlinks for use in uses)
        tagged = any(use.tags is not None for use in uses)
        changes = any(use.lifecycle in ("DROP", "RENAME") for use in content.outputs)
        written = frozenset((*(use.name for use in content.outputs), *content.declared_targets))
        spellings = frozenset(sent_column_spellings(content, self._contents.lineage))
        return ContentTraits(self._content_count, frozenset(used), written, links, tagged, changes, spellings)

    def _names_in_facet(self, content_hash: str | None) -> frozenset[Name]:
        """Return the names of the source and target datasets in a lineage facet. Without a facet, there are none."""
        if content_hash is None or content_hash in NO_COLUMN_LINEAGE:
            return frozenset()
        found = self._facet_names.get(content_hash)
        if found is None:
            lines = self._contents.lineage(content_hash)
            names = frozenset(name for line in lines for name in (line.source, line.target) if name)
            found = self._facet_names.put(content_hash, names, len(names))
        return found


def _index_of(ordered: Sequence[RunFacts], fact: RunFacts | None) -> int:
    return next((place for place, each in enumerate(ordered) if each is fact), -1)


def _without_versions(datasets: Mapping[Name, RunDataset]) -> dict[Name, RunDataset]:
    return {name: replace(dataset, version=None) for name, dataset in datasets.items()}


CandidatesByOutput = Mapping[JobOutput, Candidate[OutputLineage]]


class DerivedRun(NamedTuple):
    """The result of deriving one run.

    candidates: what the run reports about each of its outputs, by job output.
    used_names: the names, as sent, that the run uses for datasets or in lineage facets.
    shape: the `CachedRun` of the run. Runs that share a cached result have the same object.
    schema_sources: the datasets for which the derivation used columns from other runs. If their columns at the time of
    the run change, the result may change.
    """

    run: Run
    candidates: CandidatesByOutput
    used_names: Set[Name]
    shape: object
    schema_sources: Set[Name] = frozenset()


class RunDerivation:
    """Derives runs one at a time.

    run_cache: the cache of derived runs. If names mean other datasets or columns get other keys, callers must remove
    the runs that use these names.
    """

    def __init__(self, rules: EdgeRules):
        self.run_cache = RunCache(rules.contents, rules.naming)
        self._schema_sources: set[Name] = set()
        self._rules = rules._replace(schema_at=partial(self._schema_with_source_recorded, rules.schema_at))

    def derive(self, facts: Sequence[RunFacts], nominal_us: int | None = None) -> DerivedRun:
        """Derive one run.

        facts: all facts of the run, or `DecidingFacts`; at least one fact.
        nominal_us: the nominal time (us) of the run or of a run above it; None without a nominal time.
        """
        ordered = order_deciding_facts(facts)
        key = self.run_cache.cache_key(ordered)
        shape = self.run_cache.get(key)
        schema_sources: Set[Name] = frozenset()
        later: CandidatesByOutput = {}
        if shape is not None:
            run = self._run_from_cache(shape, ordered)
        else:
            self._schema_sources.clear()
            run = merge_run(facts, self._rules.naming)
            candidates = _recurring_candidates(run, self._rules)
            if events := later_attempts(facts):  # a run with later attempts is not cached
                attempt = merge_run(events, self._rules.naming)
                later = _candidates_by_output(attempt, _recurring_candidates(attempt, self._rules), nominal_us)
            shape = self.run_cache.add(key, facts, run, candidates, uses_schema_sources=bool(self._schema_sources))
            schema_sources = frozenset(self._schema_sources)
        return DerivedRun(
            run,
            {**_candidates_by_output(run, shape.candidates, nominal_us), **later},
            shape.used_names,
            shape,
            schema_sources,
        )

    def _schema_with_source_recorded(self, schema_at: SchemaAt, dataset: Name, time_us: int) -> str | None:
        """Return the schema hash of a dataset at a time, and record that the derivation used columns of the dataset."""
        self._schema_sources.add(dataset)
        return schema_at(dataset, time_us)

    def _run_from_cache(self, shape: CachedRun, ordered: Sequence[RunFacts]) -> Run:
        """Return the same as `merge_run` for a run with events of the same content as a cached run.

        ordered: the facts of the run, from oldest to newest.
        """
        newest, times = ordered[-1], [fact.time_us for fact in ordered]
        end = ordered[shape.end_index] if shape.end_index >= 0 else None
        return replace(
            shape.run,
            key=newest.run_key,
            execution=newest_value(ordered, "execution") or newest.run_key,
            parent=newest_value(ordered, "parent"),
            started_us=min(times),
            ended_us=end and end.time_us,
            last_us=max(times),
            time_us=(end or newest).time_us,
            inputs=self._add_versions_and_times(
                shape.run.inputs, ((fact, each) for fact in ordered for each in fact.inputs)
            ),
            outputs=self._add_versions_and_times(
                shape.run.outputs, ((fact, each) for fact in ordered for each in fact.outputs)
            ),
            tie_breaker=newest.run_key,
        )

    def _add_versions_and_times(
        self, datasets: dict[Name, RunDataset], uses: Iterable[tuple[RunFacts, DatasetUse]]
    ) -> dict[Name, RunDataset]:
        """Return datasets of a cached run with versions and lineage times from the events of another run."""
        changing_uses = [(fact, each) for fact, each in uses if each.lineage is not None or each.version]
        found = dict(datasets) if changing_uses else datasets
        for fact, each in changing_uses:
            name = self._rules.naming.resolve(each.name, fact.time_us)
            if dataset := found.get(name):
                at_us = dataset.lineage_us if each.lineage is None else fact.time_us
                found[name] = replace(dataset, version=each.version or dataset.version, lineage_us=at_us)
        return found


def job_output_of(run: Run, lineage: OutputLineage) -> JobOutput:
    """Return the job output of a lineage. For a DatasetEvent, the producer takes the place of the job."""
    if run.kind == "RUN":
        return JobOutput(ATTEMPTED if lineage.attempt_state else "observed", run.job_key, lineage.output)
    return JobOutput("declared", run.job_key if run.kind == "JOB" else Name("", run.producer), lineage.output)


def _recurring_candidates(run: Run, rules: EdgeRules) -> list[RecurringCandidate]:
    every = (*derive_output_lineages(run, rules), *derive_attempted_lineages(run, rules))
    return [recurring_candidate(run, found) for found in every]


def _candidates_by_output(
    run: Run, candidates: Iterable[RecurringCandidate], nominal_us: int | None
) -> CandidatesByOutput:
    return {candidate.job_output: _candidate_of_run(run, candidate, nominal_us) for candidate in candidates}


def recurring_candidate(run: Run, lineage: OutputLineage) -> RecurringCandidate:
    """Return what a run reports about one output, without the fields that differ between runs with equal events."""
    return RecurringCandidate(
        job_output_of(run, lineage),
        lineage_weight(lineage),
        lineage.rows_confirmed,
        _write_kind_of_output(run, lineage),
        lineage,
    )


def _write_kind_of_output(run: Run, lineage: OutputLineage) -> int:
    """Return the kind of the write of an output, one of `WRITE_KINDS`."""
    written = run.outputs.get(lineage.output) if lineage.output and run.is_completed else None
    if written is None:
        return ADDS_ROWS
    is_only_output = len(run.outputs) == 1
    return write_kind(
        CompletedWrite(
            run.job.name,
            written.name,
            written.lifecycle,
            run.write_signs,
            written.is_part,
            is_only_output,
            run.has_failed,
        )
    )


def _candidate_of_run(run: Run, candidate: RecurringCandidate, nominal_us: int | None) -> Candidate[OutputLineage]:
    _, weight, rows_confirmed, rewrites, lineage = candidate
    return Candidate(
        run.time_us,
        run.tie_breaker,
        run.key,
        run.execution,
        run.started_us,
        run.last_us,
        weight,
        rows_confirmed,
        rewrites,
        run.time_us if nominal_us is None or run.kind != "RUN" else min(nominal_us, run.time_us),
        lineage,
    )


def lineage_weight(lineage: OutputLineage) -> int:
    """Return what a run reports about an output, one of `LINEAGE_WEIGHTS` (see `Candidate.weight`)."""
    if lineage.attempt_state:
        return INPUTS_ONLY
    if lineage.has_column_lineage:
        return INFERRED_LINEAGE if lineage.is_inferred else REPORTED_LINEAGE
    return (
        INPUTS_ONLY
        if lineage.opaque_inputs or lineage.source_datasets or lineage.other_inputs or lineage.source_jobs
        else NO_SOURCES
    )


def sent_column_spellings(
    content: EventContent, edges_of: Callable[[str], Sequence[SentEdge]]
) -> Iterator[tuple[Name, str]]:
    """Yield (dataset name, column) for each column name in an event's lineage facets that is not in lower case.

    edges_of: returns the lines of a lineage facet by its hash.
    """
    facets_of_uses = [
        (use.name, each) for use in (*content.inputs, *content.outputs) for each in (use.lineage, use.declared_facet)
    ]
    declared, forms = [(None, each) for _, each in content.declared_facets], dict(content.name_forms)
    for carrier, content_hash in (*facets_of_uses, *declared):
        if content_hash is None or content_hash in NO_COLUMN_LINEAGE:
            continue
        for line in edges_of(content_hash):
            for name, column in ((line.target or carrier, line.output_column), (line.source, line.source_column)):
                if name is not None and column is not None and column != column.casefold():
                    yield forms.get(name, name), column
