"""Derive lineage from facts, one batch of events after the other.

A batch derives only the runs with lineage that the batch may change.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Protocol, TypeVar

from headwater.lineage.edges.candidates import JobOutput
from headwater.lineage.edges.facet_contents import FacetContents
from headwater.lineage.edges.output_lineage import EdgeRules
from headwater.lineage.edges.schema_history import SchemaHistory, SchemaMention, SchemaMentionStore, schema_mentions
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import DatasetChange, NameSpan, merge_spans
from headwater.lineage.names.name_resolution import NameResolver, TimedLocation, event_bindings
from headwater.lineage.runs.merged_run import changes_as_sent, writes_as_sent
from headwater.lineage.runs.run_derivation import DerivedRun, RunCache, RunDerivation
from headwater.lineage.runs.run_facts import DecidingFacts, RunFacts

RunSet = TypeVar("RunSet")


class ChangedBatch(Protocol[RunSet]):
    """Access to the new events of a batch and to the stored runs.

    RunSet: the type that an implementation uses for a set of runs.
    """

    def name_changes(self, runs: RunSet) -> Iterable[tuple[str, Sequence[DatasetChange]]]:
        """Yield (run key, drops and renames of the run from oldest to newest) for some of these runs.

        The result contains the runs that drop or rename a dataset now, and those that did so before the batch.
        """

    def name_writes(self, runs: RunSet) -> Iterable[tuple[str, Iterable[tuple[int, Name]]]]:
        """Yield (run key, writes of the run) for some of these runs. A write is (time in us, output as sent).

        The result contains the runs that write a dataset with a drop or rename now, and those that did so before the
        batch.
        """

    def add_runs_using(self, runs: RunSet, changed_names: Iterable[NameSpan]) -> RunSet:
        """Return these runs and all runs that use one of the names, as sent, at a time in the span of the name."""

    def add_runs_with_changed_columns(self, runs: RunSet, changed_names: Set[NameSpan]) -> RunSet:
        """Store the schemas of the batch, and return these runs and all runs with columns that the schemas may change.

        changed_names: the names that mean other datasets after the batch, with the time spans of the change.
        """


def affected_runs(
    batch: ChangedBatch[RunSet], naming: NameResolver, runs: RunSet, links: Iterable[tuple[Name, TimedLocation]]
) -> RunSet:
    """Apply the symlinks, drops, renames and writes of a batch to name resolution; return all runs that may change.

    runs: the runs with events in the batch.
    links: (name, location of the dataset from a time on) for each symlink in the batch.
    Drops and renames depend on symlinks, and writes depend on both. So the function first applies the symlinks, then
    the drops and renames, and then the writes.
    """
    linked = set(map(NameSpan, naming.add_bindings(links)))
    runs = batch.add_runs_using(runs, linked)
    changed = merge_spans(
        span for run_key, sent in batch.name_changes(runs) for span in naming.set_changes(run_key, sent)
    )
    runs = batch.add_runs_using(runs, changed)
    written = merge_spans(
        span for run_key, sent in batch.name_writes(runs) for span in naming.set_writes(run_key, sent)
    )
    runs = batch.add_runs_using(runs, written)
    return batch.add_runs_with_changed_columns(runs, merge_spans(linked | changed | written))


FactsByRun = Mapping[str, Sequence[RunFacts]]
"""The stored facts of some runs, by run key."""


class DerivationStore(SchemaMentionStore, Protocol):
    """Storage of facts and of derived lineage, in memory or in a file."""

    def add_facts(self, facts: Sequence[RunFacts]) -> Sequence[RunFacts]:
        """Store facts, and return the facts that were not stored before."""

    def all_facts(self, run_keys: Iterable[str]) -> Mapping[str, Sequence[RunFacts]]:
        """Return all facts of each of these runs, by run key."""

    def deciding_facts(self, run_keys: Iterable[str]) -> Mapping[str, Sequence[RunFacts]]:
        """Return the facts that are needed to derive each of these runs, by run key.

        For a run with many events, these are `DecidingFacts`; otherwise these are all facts.
        """

    def runs_using(self, spans: Iterable[NameSpan]) -> Iterable[str]:
        """Return the keys of the runs that use one of these names, as sent, for a dataset or in a lineage facet.

        The time from the first to the last event of the run must overlap the time span of the name. For declarations,
        time makes no difference.
        """

    def is_schema_source(self, dataset: Name) -> bool:
        """Tell whether the derivation of some run used columns of this dataset that other runs reported."""

    def names_with_new_parts(self) -> Set[Name]:
        """Return the names of datasets of which the last `add_facts` mentioned parts for the first time."""

    def runs_with_changed_period(self) -> Iterable[str]:
        """Return the keys of earlier runs with periods (rule 6.1) that the last `add_facts` may have changed."""

    def nominal_time_us(self, run_key: str) -> int | None:
        """Return the nominal time (us) of a run, else of its nearest parent with a nominal time, else of its root.

        The result is None if none of these runs has a nominal time.
        """

    def replace_lineage(self, derived: Sequence[DerivedRun]) -> set[JobOutput]:
        """Replace the derived lineage of these runs; return the job outputs that changed. Each run may occur once."""


class Derivation:
    """Updates the derived lineage in a store after new facts. The result does not depend on the order of the facts.

    naming: resolves names to datasets. schema_history: the columns of datasets. run_derivation: derives single runs.
    checked_datasets: the datasets for which the last batch may have changed the newest schema.
    """

    def __init__(self, store: DerivationStore, contents: FacetContents, naming: NameResolver):
        """naming: resolves names by the symlinks, drops, renames and writes in the facts of the store."""
        self.naming = naming
        self.checked_datasets: set[Name] = set()
        self.schema_history = SchemaHistory(contents, store, naming)
        self._store = store
        self._new_facts: Sequence[RunFacts] = ()
        self.run_derivation = RunDerivation(
            EdgeRules(contents, naming, self.schema_history.column_key, self.schema_history.schema_hash_at)
        )

    @property
    def run_cache(self) -> RunCache:
        """The cache of derived runs."""
        return self.run_derivation.run_cache

    def add_facts(self, facts: Sequence[RunFacts]) -> set[JobOutput]:
        """Store a batch of facts, derive the affected runs again, and return the job outputs with changed lineage."""
        self._new_facts = self._store.add_facts(facts)
        linked = (fact for fact in self._new_facts if self.run_cache.content_traits(fact).has_symlinks)
        links = (link for fact in linked for link in event_bindings(fact))
        runs = affected_runs(
            self, self.naming, self._store.deciding_facts({fact.run_key for fact in self._new_facts}), links
        )
        runs = self._add_runs(runs, self._store.runs_with_changed_period())
        return self._store.replace_lineage(
            [
                self.run_derivation.derive(self._facts_needed(run_key, known), self._store.nominal_time_us(run_key))
                for run_key, known in runs.items()
            ]
        )

    def _facts_needed(self, run_key: str, facts: Sequence[RunFacts]) -> Sequence[RunFacts]:
        """Return the facts that are needed to derive a run.

        These are the given facts. If these are `DecidingFacts` and a name in them means different datasets at different
        times, the result contains all facts of the run instead.
        """
        few = isinstance(facts, DecidingFacts)
        used = (
            frozenset[Name]().union(*(self.run_cache.content_traits(fact).used_names for fact in facts)) if few else ()
        )
        return facts if all(map(self.naming.is_constant, used)) else self._all_facts(run_key, facts)

    def _all_facts(self, run_key: str, facts: Sequence[RunFacts]) -> Sequence[RunFacts]:
        return self._store.all_facts([run_key])[run_key] if isinstance(facts, DecidingFacts) else facts

    # Methods of the protocol `ChangedBatch`

    def name_changes(self, runs: FactsByRun) -> Iterator[tuple[str, Sequence[DatasetChange]]]:
        """Yield (run key, drops and renames) for each run that drops or renames a dataset now, or did before."""
        for run_key, facts in runs.items():
            if any(self.run_cache.content_traits(fact).has_name_changes for fact in facts):
                yield run_key, changes_as_sent(facts)
            elif self.naming.generations.changes_of_run(run_key):
                yield run_key, ()

    def name_writes(self, runs: FactsByRun) -> Iterator[tuple[str, Iterable[tuple[int, Name]]]]:
        """Yield (run key, writes) for each run that writes a name with a symlink, DROP or RENAME now, or did before."""
        for run_key, facts in runs.items():
            if any(
                self.naming.may_change(name)
                for fact in facts
                for name in self.run_cache.content_traits(fact).output_names
            ):
                yield run_key, writes_as_sent(self._all_facts(run_key, facts))
            elif self.naming.generations.writes_of_run(run_key):
                yield run_key, ()

    def add_runs_using(self, runs: FactsByRun, changed_names: Iterable[NameSpan]) -> FactsByRun:
        """Return these runs and all runs that use one of the names in its time span."""
        return self._add_runs(runs, self._store.runs_using(changed_names)) if changed_names else runs

    def add_runs_with_changed_columns(self, runs: FactsByRun, changed_names: Set[NameSpan]) -> FactsByRun:
        """Store the schemas of the new facts, and return these runs and all runs with columns that they may change."""
        datasets = {dataset for span in changed_names for dataset in self.naming.datasets_in(span)}
        checked_datasets = self.checked_datasets = datasets | self.naming.generations.pop_removed_generations()
        found: set[str] = set()
        if changed_names:
            names = self.naming.names_of_any(datasets) | {span.name for span in changed_names}
            self._store.keep_all_mentions(name for name in names if not self.naming.is_constant(name))
            self.schema_history.clear_lists({dataset for dataset in checked_datasets if dataset.generation in runs})
            found.update(
                self._runs_using_schemas(
                    NameSpan(dataset) for dataset in checked_datasets if self._store.is_schema_source(dataset)
                )
            )
        with_parts = {*self._store.names_with_new_parts(), *self._moved_with_parts(changed_names)}
        if with_parts := self.schema_history.clear_lists_of_parts(with_parts):
            checked_datasets |= with_parts
            found.update(
                self._runs_using_schemas(
                    NameSpan(dataset) for dataset in with_parts if self._store.is_schema_source(dataset)
                )
            )
        uses: dict[Name, list[SchemaMention]] = {}
        for fact in self._new_facts:
            for name, seen in schema_mentions(fact):
                uses.setdefault(name, []).append(seen)
        for name, seen_here in uses.items():
            if any(map(self._store.is_schema_source, self.schema_history.mentions_by_dataset(name, seen_here))):
                found.update(self._runs_using_schemas(self.schema_history.changed_spans(name, seen_here)))
            checked_datasets |= self.schema_history.add_mentions(name, seen_here)
        changed = self.schema_history.refresh_columns(checked_datasets)
        names = self.naming.names_of_any(changed)
        if changed or changed_names:
            self.run_cache.remove_runs_using(names.union(span.name for span in changed_names))
        if changed:
            found.update(self._store.runs_using(map(NameSpan, names)))
        return self._add_runs(runs, found)

    def _moved_with_parts(self, changed_names: Set[NameSpan]) -> Set[Name]:
        """Return changed names if events mention parts of datasets to which they refer now, at any location."""
        return self.schema_history.names_of_parts() & {span.name for span in changed_names}

    def _runs_using_schemas(self, schema_sources: Iterable[NameSpan]) -> Iterable[str]:
        """Return the keys of the runs that may have used columns of these datasets, in these spans, from other runs."""
        return self._store.runs_using(
            source._replace(name=name) for source in schema_sources for name in self.naming.names_of(source.name)
        )

    def _add_runs(self, runs: FactsByRun, run_keys: Iterable[str]) -> FactsByRun:
        return {**runs, **self._store.deciding_facts(set(run_keys) - runs.keys())}
