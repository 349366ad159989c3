"""Process one batch of silver: derive every run that the events of the batch change, and write the results."""

import json
from collections.abc import Iterable, Sequence, Set
from functools import partial, reduce
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import Row as SqlRow
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import DatasetChange, NameSpan
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.runs.derivation import affected_runs
from headwater.spark.delta.ranges import key_prefix
from headwater.spark.delta.spark_delta import (
    TableFolder,
    checkpoint,
    checkpoint_with_aggregates,
    distinct_values_json,
    run_concurrently,
)
from headwater.spark.gold.buckets import bucket_count
from headwater.spark.gold.run_findings import COMPARISON
from headwater.spark.layer_positions import LayerPosition
from headwater.spark.silver.bronze_reading import parse_events
from headwater.spark.silver.derivation_context import DerivationContext
from headwater.spark.silver.derived_runs import DerivedRuns, names_of_texts
from headwater.spark.silver.event_shapes import EventShapes
from headwater.spark.silver.new_candidates import new_candidates
from headwater.spark.silver.newest_facets import NewestFacets
from headwater.spark.silver.proven_runs import proven_runs, store_proofs
from headwater.spark.silver.silver_datasets import sent_spellings
from headwater.spark.silver.silver_facets import newest_facets
from headwater.spark.silver.silver_names import BatchNaming
from headwater.spark.silver.silver_writing import SilverWriter
from headwater.spark.silver.state import SilverState
from headwater.spark.silver.stored_runs import Aggregates, StoredRuns
from headwater.spark.silver.texts import read_names
from headwater.tables import COMMIT_PROOFS, EDGE_SETS, LATEST_FACETS, SCHEMA_SOURCES


class RunSelection(NamedTuple):
    """Runs that the batch may change, including stored runs without events in the batch.

    spans: names and times. The selection includes all runs that use one of these names at one of these times.
    keys: the keys (`run_key`) of further selected runs, or None if there are no others.
    """

    spans: frozenset[NameSpan] = frozenset()
    keys: DataFrame | None = None


class SilverBatch:
    """Processes one batch of silver. Implements `lineage.runs.derivation.ChangedBatch`.

    ambiguous_columns, has_schema_sources, has_unexplained, has_nominal_times, has_base_lists, has_commit_proofs,
    removed_before_us, newest_us, partitioned_names, buckets, content_chars: as in `LayerPosition`, after the batch.
    had_base_lists, newest_before_us, buckets_before: the same values before the batch.
    counted: the changed candidates as rows of `COUNTED`, or None if none changed.
    derived: the derived runs as rows of `DERIVED`.
    replaced: key prefixes of the derived runs that silver already contained before the batch.
    before: the open candidates before the batch.
    changed_datasets: the changed datasets in the columns `DATASET`, or None if none changed.
    moved: names that get another meaning by a symlink, rename or drop.
    changes_edges: some changed candidates may change edges.
    repeats_lineage: some changed candidates only repeat the current lineage of their outputs.
    """

    def __init__(
        self,
        folder: TableFolder,
        bronze: TableFolder,
        rules: UserRules,
        before: LayerPosition,
        state: SilverState,
        *,
        bindings: Iterable[SqlRow],
    ):
        """before: the position after the last batch. bindings: the stored rows of table `bindings`."""
        self.folder = folder
        self._bronze = bronze
        self.rules = rules
        self.number = before.batch + 1
        self.ambiguous_columns = self._ambiguous_columns_before = before.ambiguous_columns
        self.has_schema_sources = before.has_schema_sources
        self.has_unexplained = before.has_unexplained
        self.has_nominal_times = before.has_nominal_times
        self.has_base_lists = self.had_base_lists = before.has_base_lists
        self.has_commit_proofs = before.has_commit_proofs
        self.removed_before_us = before.removed_before_us
        self.newest_us = self.newest_before_us = before.newest_us
        self.partitioned_names = self._partitioned_names_before = before.partitioned_names
        self.buckets = self.buckets_before = before.buckets
        self.content_chars = before.content_chars
        self.state = state
        self.counted: DataFrame | None = None
        self.derived: DataFrame
        self.replaced: Sequence[str] = ()
        self.before: DataFrame = state.read(EDGE_SETS)
        self.changed_datasets: DataFrame | None = None
        self.moved: Set[Name] = frozenset()
        self.changes_edges = self.repeats_lineage = False
        self._names = BatchNaming(bindings)
        self._events: DataFrame
        self._shapes: EventShapes
        self._stored: StoredRuns
        self._aggregates: Aggregates
        self._latest: DataFrame
        self._facets: NewestFacets

    @property
    def naming(self) -> NameResolver:
        """The meaning of names, with the changes of the batch so far."""
        return self._names.naming

    def process(self, events: DataFrame) -> int:
        """Process the events of a batch: write all tables of silver except `state`. Returns the number of events."""
        self._events = self.folder.coalesce_if_small(events)
        self._shapes = EventShapes(self._bronze, self._events, self.rules.names)
        parsed, self._aggregates = checkpoint_with_aggregates(
            parse_events(self._bronze, self._events, self._shapes, self.rules.names),
            count=F.count("*"),
            run_facets_in_body=F.max("run_facets_in_body"),
            prefixes=distinct_values_json(key_prefix("run_key")),
            changes=F.max("changes"),
            links=F.max(F.size("bindings") > 0),
            has_comparison=F.max(F.expr(COMPARISON)),
            partitioned_names=distinct_values_json(F.col("partitioned_names")),
            proofs=distinct_values_json(F.col("proofs")),
            newest=F.max(F.when(F.col("event_order").startswith("1"), F.col("time_us"))),
        )
        self.newest_us = max(
            (at for at in (self.newest_us, self._aggregates["newest"]) if at is not None), default=None
        )
        self.partitioned_names |= {
            name for text in json.loads(self._aggregates["partitioned_names"]) for name in read_names(text)
        }
        prefixes = json.loads(self._aggregates["prefixes"])
        self._stored = StoredRuns(
            self.folder, self._bronze, parsed, prefixes, shapes=self._shapes, names=self.rules.names
        )
        links = self._names.new_symlinks(self._stored) if self._aggregates["links"] else ()
        proofs = store_proofs(self.folder, self.state, self._aggregates["proofs"])
        self.has_commit_proofs = self.has_commit_proofs or bool(proofs)
        proven = RunSelection(keys=proven_runs(self.folder, self._stored, proofs))
        others = self._keys(affected_runs(self, self.naming, proven, links))
        self._write(*self._derive(*self._stored.rows_with_contents(others)))
        return int(self._aggregates["count"])

    @property
    def newly_partitioned(self) -> Set[Name]:
        """The names of datasets with partitions that no earlier batch has shown."""
        return self.partitioned_names - self._partitioned_names_before

    @property
    def ambiguity_changes(self) -> Set[Name]:
        """The datasets for which the batch changes `ambiguous_columns`."""
        before, now = self._ambiguous_columns_before, self.ambiguous_columns
        return {name for name in {*now, *before} if now.get(name) != before.get(name)}

    @property
    def buckets_changed(self) -> bool:
        """Whether the batch changes the number of buckets of the edge tables."""
        return self.buckets != self.buckets_before

    @property
    def has_comparison(self) -> bool:
        """Whether the batch contains an event from `headwater reconcile --save`."""
        return bool(self._aggregates["has_comparison"])

    # Methods of `ChangedBatch`, which `affected_runs` calls

    def name_changes(self, _: RunSelection) -> Iterable[tuple[str, Sequence[DatasetChange]]]:
        """Return (run key, drops and renames) of all known runs. The driver has all drops and renames in memory."""
        return self._names.name_changes(self._stored, has_changes=bool(self._aggregates["changes"]))

    def name_writes(self, runs: RunSelection) -> Iterable[tuple[str, Iterable[tuple[int, Name]]]]:
        """Return (run key, writes) of runs. Each write is a pair of time (us) and name of the dataset."""
        return self._names.name_writes(self._stored, runs.spans)

    def add_runs_using(self, runs: RunSelection, changed_names: Iterable[NameSpan]) -> RunSelection:
        """Return the selection, extended by the runs that use the changed names. `_keys` looks up these runs later."""
        return runs._replace(spans=runs.spans.union(changed_names))

    def add_runs_with_changed_columns(self, runs: RunSelection, changed_names: Set[NameSpan]) -> RunSelection:
        """Add the schemas and tags of the batch. Return the selection, extended by runs that use changed datasets.

        A changed dataset is one with columns that the batch may change. changed_names: the names that changed their
        meaning, with the times of the change.
        """
        changed_names = changed_names | self._parts_at_new_locations(changed_names)
        runs = runs._replace(spans=runs.spans.union(changed_names))
        changed_rows = self._names.changed_rows()
        sides_of_changes = (Name(*parts) for _, *sides in changed_rows for parts in (sides[:2], sides[2:4]) if parts[1])
        self.moved = {*(span.name for span in changed_names), *sides_of_changes}
        users = self._keys(runs)
        latest = self._facets = NewestFacets(self.folder, self.state.read(LATEST_FACETS), self.naming)
        rows = (
            (self._stored.parsed, self._stored.contents_of_batch())
            if users is None
            else self._stored.rows_with_contents(users)
        )
        self._latest = latest.add(*rows, self._stored.span_rows(changed_names) if changed_names else None)
        before = self._ambiguous_columns_before
        self.ambiguous_columns = latest.ambiguous_columns(before, moved=bool(changed_names))
        spans = frozenset(map(NameSpan, self.naming.names_of_any(self.ambiguity_changes)))
        if self.has_schema_sources:
            schema_sources = [Name(*row) for row in self.state.read(SCHEMA_SOURCES).collect()]
            changed_columns = (
                map(NameSpan, schema_sources)
                if changed_names
                else self._facets.changed_columns(self._stored.parsed, schema_sources)
            )
            spans |= {span._replace(name=name) for span in changed_columns for name in self.naming.names_of(span.name)}
        return RunSelection(spans, users)

    def _parts_at_new_locations(self, changed_names: Set[NameSpan]) -> Set[NameSpan]:
        """Return the names of partitioned datasets at all locations of the names that changed their meaning.

        The events with these names show parts of the datasets at the new locations, too (rule 6.7).
        """
        locations = self.naming.locations_of_same_names(span.name for span in changed_names)
        every = self.naming.names_at_all_locations(locations) if locations else set()
        return {NameSpan(name) for name in every & self.partitioned_names}

    def _keys(self, runs: RunSelection) -> DataFrame | None:
        """Return the keys (`run_key`) of the selected runs, or None if the selection has neither spans nor keys."""
        found = [] if runs.keys is None else [runs.keys]
        if runs.spans:
            found.append(self._stored.runs_using_spans(runs.spans))
        return checkpoint(reduce(DataFrame.unionByName, found).distinct()) if found else None

    def _derive(self, rows: DataFrame, contents: DataFrame) -> tuple[DataFrame, Aggregates]:
        """Apply the rules to runs. Returns rows of `DERIVED` and aggregates over these rows."""
        proofs = self.state.read(COMMIT_PROOFS) if self.has_commit_proofs else None
        runs = DerivedRuns(self.folder, self._stored, self._facets, proofs)
        context = DerivationContext(self.naming, self.ambiguous_columns, rules=self.rules)
        derived, aggregates = runs.derive(rows, contents, context, has_nominal_times=self.has_nominal_times)
        self.has_nominal_times = self.has_nominal_times or bool(aggregates["has_nominal_times"])
        self._store_schema_sources(names_of_texts(aggregates["schema_sources"]))
        self.replaced = json.loads(aggregates["stored"])
        return derived, aggregates

    def _store_schema_sources(self, datasets: Set[Name]) -> None:
        """Store the datasets with schemas that some runs take from other runs."""
        if datasets:
            self.has_schema_sources = True
            self.state.put(SCHEMA_SOURCES, self.folder.frame_of_rows(SCHEMA_SOURCES, sorted(datasets)))

    def _write(self, derived: DataFrame, aggregates: Aggregates) -> None:
        candidates = new_candidates(self.folder, self.state, derived, aggregates, has_unexplained=self.has_unexplained)
        if candidates:
            self.counted, self.has_unexplained = candidates.rows, self.has_unexplained or candidates.has_unexplained
            self.changes_edges, self.repeats_lineage = candidates.changes_edges, candidates.repeats_lineage
            self.content_chars += candidates.added_chars
            if candidates.changes_edges:
                self.buckets = bucket_count(self.content_chars, self.buckets_before)
        write = SilverWriter(self.folder, self.state, self.number, self.rules.rules_hash, self.replaced)
        # Datasets come first: `candidates.read` is lazy and must read the candidates before this batch.
        changed = write.write_datasets(
            self._latest, candidates, sent_spellings(derived) if aggregates["has_spellings"] else None
        )
        if changed:
            self.changed_datasets, self.has_base_lists = changed.rows, self.has_base_lists or changed.has_base_lists
        run_concurrently(
            partial(write.write_candidates, candidates),
            partial(write.write_runs, derived),
            partial(write.write_jobs, derived),
            lambda: write.write_facets(self._fresh_facets()),
            partial(write.write_bindings, self._names.changed_rows()),
        )
        self.derived = derived

    def _fresh_facets(self) -> DataFrame:
        return newest_facets(
            self._bronze,
            self._events,
            self._stored.parsed,
            self._shapes,
            self.rules.names,
            run_facets_in_body=bool(self._aggregates["run_facets_in_body"]),
        )
