"""Derive lineage from facts, a batch at a time. A batch causes work only for the runs that it changes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Protocol

from headwater.lineage.edges.current_candidates import JobOutput
from headwater.lineage.edges.facet_contents import Contents
from headwater.lineage.edges.run_edges import EdgeRules
from headwater.lineage.edges.schema_history import Schemas, SeenSchema, SeenSchemas, seen_schemas
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import Change, Span
from headwater.lineage.names.name_resolution import NameResolver, event_bindings
from headwater.lineage.runs.changed_runs import affected_runs
from headwater.lineage.runs.long_runs import FewFacts
from headwater.lineage.runs.merged_run import sent_changes, sent_writes
from headwater.lineage.runs.recurring_runs import ShapeMemo
from headwater.lineage.runs.run_derivation import Derived, RunDerivation
from headwater.lineage.runs.run_facts import RunFacts

Runs = Mapping[str, Sequence[RunFacts]]
"""All stored facts of some runs, by run key."""


class Store(SeenSchemas, Protocol):
    """Storage of facts and of the lineage derived from them, in memory or in a file."""

    def add(self, facts: Sequence[RunFacts]) -> Sequence[RunFacts]:
        """Store facts, and return those that are new."""

    def facts(self, run_keys: Iterable[str]) -> Mapping[str, Sequence[RunFacts]]:
        """Return all facts of each of these runs."""

    def deciding_facts(self, run_keys: Iterable[str]) -> Mapping[str, Sequence[RunFacts]]:
        """Return the facts of these runs that are needed to derive them: `FewFacts` for a run of many events."""

    def users(self, spans: Iterable[Span]) -> Iterable[str]:
        """Return the keys of the runs that use one of these names, as sent, for a dataset or in a lineage facet.

        A run counts if the time from its first to its last event overlaps the span of the name. Declarations always
        count.
        """

    def is_schema_source(self, dataset: Name) -> bool:
        """Tell whether a run took columns of this dataset from schemas of other runs."""

    def new_parts(self) -> Set[Name]:
        """Return the names of datasets whose parts were mentioned for the first time in the last `add`."""

    def dated_anew(self) -> Iterable[str]:
        """Return the runs of earlier batches whose period (rule 6.1) the last `add` may have changed."""

    def nominal(self, run_key: str) -> int | None:
        """Return the nominal time (us) of a run, else of its nearest parent that has one, else of its root."""

    def put(self, derived: Sequence[Derived]) -> set[JobOutput]:
        """Replace the derived lineage of these runs, each given once; returns the job outputs that changed."""


class Derivation:
    """Updates a store by new facts. The result does not depend on the order of the facts.

    checked_datasets: datasets whose newest schema the last batch may have changed.
    """

    def __init__(self, store: Store, contents: Contents, naming: NameResolver):
        """naming: the meaning of names by the facts in the store."""
        self.naming = naming
        self.checked_datasets: set[Name] = set()
        self.schemas = Schemas(contents, store, naming)
        self._store = store
        self._fresh: Sequence[RunFacts] = ()
        self.runs = RunDerivation(EdgeRules(contents, naming, self.schemas.key, self.schemas.at))

    @property
    def shapes(self) -> ShapeMemo:
        """The cache of derived runs."""
        return self.runs.shapes

    def add(self, facts: Sequence[RunFacts]) -> set[JobOutput]:
        """Add a batch of facts, and return the job outputs that changed."""
        self._fresh = self._store.add(facts)
        linked = (fact for fact in self._fresh if self.shapes.traits(fact).links)
        links = (link for fact in linked for link in event_bindings(fact))
        runs = affected_runs(
            self, self.naming, self._store.deciding_facts({fact.run_key for fact in self._fresh}), links
        )
        runs = self._with(runs, self._store.dated_anew())
        return self._store.put(
            [
                self.runs.derive(self._all_that_counts(run_key, known), self._store.nominal(run_key))
                for run_key, known in runs.items()
            ]
        )

    def _all_that_counts(self, run_key: str, facts: Sequence[RunFacts]) -> Sequence[RunFacts]:
        """Return all facts of a run if few are given and a name in them means different datasets at different times."""
        few = isinstance(facts, FewFacts)
        used = frozenset[Name]().union(*(self.shapes.traits(fact).used for fact in facts)) if few else ()
        return facts if all(map(self.naming.is_constant, used)) else self._whole(run_key, facts)

    def _whole(self, run_key: str, facts: Sequence[RunFacts]) -> Sequence[RunFacts]:
        return self._store.facts([run_key])[run_key] if isinstance(facts, FewFacts) else facts

    # The protocol `ChangedRuns`

    def changes(self, runs: Runs) -> Iterator[tuple[str, Sequence[Change]]]:
        """Yield (run key, what the run drops and renames) for each run that does so now, or did before."""
        for run_key, facts in runs.items():
            if any(self.shapes.traits(fact).changes for fact in facts):
                yield run_key, sent_changes(facts)
            elif self.naming.generations.changes(run_key):
                yield run_key, ()

    def writes(self, runs: Runs) -> Iterator[tuple[str, Iterable[tuple[int, Name]]]]:
        """Yield (run key, its writes) for each run that writes a name with a symlink, DROP or RENAME, or did before."""
        for run_key, facts in runs.items():
            if any(self.naming.moves(name) for fact in facts for name in self.shapes.traits(fact).written):
                yield run_key, sent_writes(self._whole(run_key, facts))
            elif self.naming.generations.writes(run_key):
                yield run_key, ()

    def with_users(self, runs: Runs, moved: Iterable[Span]) -> Runs:
        """Return runs, extended by those that use these names."""
        return self._with(runs, self._store.users(moved)) if moved else runs

    def see(self, runs: Runs, moved: Set[Span]) -> Runs:
        """Learn the schemas of the new facts, and return runs, extended by those whose columns they may change."""
        meant = {dataset for span in moved for dataset in self.naming.datasets_in(span)}
        checked_datasets = self.checked_datasets = meant | self.naming.generations.taken_back()
        found: set[str] = set()
        if moved:
            names = self.naming.names_of_any(meant) | {span.name for span in moved}
            self._store.keep_whole(name for name in names if not self.naming.is_constant(name))
            self.schemas.forget({dataset for dataset in checked_datasets if dataset.generation in runs})
            found.update(
                self._users_of_schemas(
                    Span(dataset) for dataset in checked_datasets if self._store.is_schema_source(dataset)
                )
            )
        if parted := self.schemas.part(self._store.new_parts()):
            checked_datasets |= parted
            found.update(
                self._users_of_schemas(Span(dataset) for dataset in parted if self._store.is_schema_source(dataset))
            )
        uses: dict[Name, list[SeenSchema]] = {}
        for fact in self._fresh:
            for name, seen in seen_schemas(fact):
                uses.setdefault(name, []).append(seen)
        for name, seen_here in uses.items():
            if any(map(self._store.is_schema_source, self.schemas.by_dataset(name, seen_here))):
                found.update(self._users_of_schemas(self.schemas.renewed(name, seen_here)))
            checked_datasets |= self.schemas.see(name, seen_here)
        changed = self.schemas.settle(checked_datasets)
        names = self.naming.names_of_any(changed)
        if changed or moved:
            self.shapes.forget(names.union(span.name for span in moved))
        if changed:
            found.update(self._store.users(map(Span, names)))
        return self._with(runs, found)

    def _users_of_schemas(self, schema_sources: Iterable[Span]) -> Iterable[str]:
        """Return the runs that may have taken columns of these datasets from other runs, in these spans of time."""
        return self._store.users(
            source._replace(name=name) for source in schema_sources for name in self.naming.names_of(source.name)
        )

    def _with(self, runs: Runs, others: Iterable[str]) -> Runs:
        return {**runs, **self._store.deciding_facts(set(others) - runs.keys())}
