"""One batch of silver: what its events change is worked out anew, whichever runs that concerns, and nothing else."""

import json
from collections.abc import Iterable, Sequence, Set
from functools import partial, reduce
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import Row as SqlRow
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.names.dataset_history import Change, Span
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.names_in_time import Naming
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.runs.changed_runs import affected_runs
from headwater.spark.delta.ranges import begin
from headwater.spark.delta.spark_delta import TableFolder, keep, kept, texts, together
from headwater.spark.gold.buckets import buckets_for
from headwater.spark.gold.run_findings import COMPARISON
from headwater.spark.layer_positions import LayerPosition
from headwater.spark.silver.bronze_reading import parse
from headwater.spark.silver.derived_runs import DerivedRuns, names_in
from headwater.spark.silver.event_shapes import Shapes
from headwater.spark.silver.known import Known
from headwater.spark.silver.new_candidates import new_candidates
from headwater.spark.silver.newest_facets import NewestFacets
from headwater.spark.silver.proven_runs import proven_runs, take_proofs
from headwater.spark.silver.silver_datasets import DATASET, sent_spellings
from headwater.spark.silver.silver_facets import newest_facets
from headwater.spark.silver.silver_names import LearntNames
from headwater.spark.silver.silver_writing import SilverWriter
from headwater.spark.silver.state import State
from headwater.spark.silver.stored_runs import Seen, StoredRuns
from headwater.spark.silver.texts import read_names
from headwater.tables import COMMIT_PROOFS, LATEST_FACETS, SCHEMA_SOURCES


class Others(NamedTuple):
    """Runs outside a batch that it concerns: those that use names at such times, and these keys (`run_key`)."""

    spans: frozenset[Span] = frozenset()
    keys: DataFrame | None = None


class SilverBatch:
    """The state of one batch of silver; see `changed_runs.ChangedRuns`.

    exact, borrows, asks, dated, proves: as in `LayerPosition`, after the batch. counted, derived: what it changes, rows
    of `COUNTED` and `DERIVED`; replaced: what the keys of runs begin with that were there before; moved: something
    happened to names; changed: some dataset is another one; loud, quiet: some candidates say something new, or again
    what stands; newest_us, parted, removed_before_us, buckets: as in `LayerPosition`, after the batch; buckets_before:
    before it.
    """

    def __init__(
        self,
        folder: TableFolder,
        bronze: TableFolder,
        rules: UserRules,
        before: LayerPosition,
        state: State,
        *,
        bindings: Iterable[SqlRow],
    ):
        """`before`: of the last batch; bindings: rows of that table."""
        self.folder = folder
        self._bronze = bronze
        self.rules = rules
        self.number = before.batch + 1
        self.exact = self._exact_before = before.exact
        self.borrows = before.borrows
        self.asks = before.asks
        self.dated = before.dated
        self.proves = before.proves
        self.removed_before_us = before.removed_before_us
        self.newest_us = before.newest_us
        self.parted = self._parted_before = before.parted
        self.buckets = self.buckets_before = before.buckets
        self.state = state
        self.counted: DataFrame | None = None
        self.derived: DataFrame
        self.replaced: Sequence[str] = ()
        self.moved = self.changed = self.loud = self.quiet = False
        self._names = LearntNames(bindings)
        self._events: DataFrame
        self._shapes: Shapes
        self._stored: StoredRuns
        self._told: Seen
        self._latest: DataFrame
        self._facets: NewestFacets

    @property
    def naming(self) -> Naming:
        """What names mean."""
        return self._names.naming

    def take(self, events: DataFrame) -> int:
        """Write all tables of silver but `state`; returns the number of events."""
        self._events = self.folder.few(events)
        self._shapes = Shapes(self._bronze, self._events, self.rules.names)
        parsed, self._told = kept(
            parse(self._bronze, self._events, self._shapes, self.rules.names),
            count=F.count("*"),
            cut=F.max("cut"),
            begins=texts(begin("run_key")),
            changes=F.max("changes"),
            links=F.max(F.size("bindings") > 0),
            compared=F.max(F.expr(COMPARISON)),
            parted=texts(F.col("parted")),
            proofs=texts(F.col("proofs")),
            newest=F.max(F.when(F.col("event_order").startswith("1"), F.col("time_us"))),
        )
        self.newest_us = max((at for at in (self.newest_us, self._told["newest"]) if at is not None), default=None)
        self.parted |= {name for text in json.loads(self._told["parted"]) for name in read_names(text)}
        begins = json.loads(self._told["begins"])
        self._stored = StoredRuns(
            self.folder, self._bronze, parsed, begins, shapes=self._shapes, names=self.rules.names
        )
        links = self._names.links(self._stored) if self._told["links"] else ()
        proofs = take_proofs(self.folder, self.state, self._told["proofs"])
        self.proves = self.proves or bool(proofs)
        begun = Others(keys=proven_runs(self.folder, self._stored, proofs))
        others = self._keys(affected_runs(self, self.naming, begun, links))
        self._write(*self._derive(*self._stored.rows_of(others)))
        return int(self._told["count"])

    @property
    def answers_stand(self) -> bool:
        """Whether nothing has changed that answers are made of."""
        return not (
            self.moved
            or self.changed
            or self.loud
            or self.exact != self._exact_before
            or self.parted != self._parted_before
        )

    @property
    def regrouped(self) -> bool:
        """Whether the tables of edges get more buckets in this batch."""
        return self.buckets != self.buckets_before

    @property
    def compared(self) -> bool:
        """Whether `headwater reconcile --save` said something."""
        return bool(self._told["compared"])

    # What `affected_runs` asks

    def changes(self, _: Others) -> Iterable[tuple[str, Sequence[Change]]]:
        """Return what runs drop and rename: all that is known, for that is at hand."""
        return self._names.changes(self._stored, told=bool(self._told["changes"]))

    def writes(self, runs: Others) -> Iterable[tuple[str, Iterable[tuple[int, Name]]]]:
        """Return when runs write which names."""
        return self._names.writes(self._stored, runs.spans)

    def with_users(self, runs: Others, moved: Iterable[Span]) -> Others:
        """Return runs with those that use names; they are looked for when they are needed."""
        return runs._replace(spans=runs.spans.union(moved))

    def see(self, runs: Others, moved: Set[Span]) -> Others:
        """Take the newest schemas and tags; returns runs with those that take other columns by these."""
        self.moved = bool(moved or self._names.news())
        users = self._keys(runs)
        latest = self._facets = NewestFacets(self.folder, self.state.read(LATEST_FACETS), self.naming)
        rows = (self._stored.parsed, self._stored.contents()) if users is None else self._stored.rows_of(users)
        self._latest = latest.take(*rows, self._stored.spans(moved) if moved else None)
        before = self._exact_before
        self.exact = latest.told_apart(before, moved=bool(moved))
        changed = [name for name in {*self.exact, *before} if self.exact.get(name) != before.get(name)]
        spans = frozenset(map(Span, self.naming.names_of_any(changed)))
        if self.borrows:
            lenders = [Name(*row) for row in self.state.read(SCHEMA_SOURCES).collect()]
            renewed = map(Span, lenders) if moved else self._facets.renewed(self._stored.parsed, lenders)
            spans |= {span._replace(name=name) for span in renewed for name in self.naming.names_of(span.name)}
        return Others(spans, users)

    def _keys(self, runs: Others) -> DataFrame | None:
        """Return the keys of runs outside the batch, None where there can be none."""
        found = [] if runs.keys is None else [runs.keys]
        if runs.spans:
            found.append(self._stored.users(runs.spans))
        return keep(reduce(DataFrame.unionByName, found).distinct()) if found else None

    # What changes

    def _derive(self, rows: DataFrame, contents: DataFrame) -> tuple[DataFrame, Seen]:
        """Apply the rules to runs, and find out what changes."""
        proofs = self.state.read(COMMIT_PROOFS) if self.proves else None
        runs = DerivedRuns(self.folder, self._stored, self._facets, proofs)
        known = Known(self.naming, self.exact, rules=self.rules)
        derived, told = runs.of(rows, contents, known, dated=self.dated)
        self.dated = self.dated or bool(told["dated"])
        self._lend(names_in(told["lenders"]))
        self.replaced = json.loads(told["stored"])
        return derived, told

    def _lend(self, datasets: Set[Name]) -> None:
        """Remember whose schemas runs take."""
        if datasets:
            self.borrows = True
            self.state.put(SCHEMA_SOURCES, self.folder.rows(SCHEMA_SOURCES, sorted(datasets)), DATASET)

    # Writing

    def _write(self, derived: DataFrame, told: Seen) -> None:
        candidates = new_candidates(self.folder, self.state, derived, told, asks=self.asks)
        if candidates:
            self.counted, self.asks = candidates.rows, self.asks or candidates.asks
            self.loud, self.quiet = candidates.loud, candidates.quiet
            if candidates.loud:
                said_bytes = self.state.said_bytes + candidates.said_bytes
                self.buckets = buckets_for(said_bytes, self.buckets_before)
        write = SilverWriter(self.folder, self.state, self.number, self.rules.rules_hash, self.replaced)
        # before the candidates: what is read no more is told from those that stood
        self.changed = write.datasets(self._latest, candidates, sent_spellings(derived) if told["spelt"] else None)
        together(
            partial(write.candidates, candidates),
            partial(write.runs, derived),
            partial(write.jobs, derived),
            lambda: write.facets(self._fresh_facets()),
            partial(write.bindings, self._names.news()),
        )
        self.derived = derived

    def _fresh_facets(self) -> DataFrame:
        return newest_facets(
            self._bronze, self._events, self._stored.parsed, self._shapes, self.rules.names, cut=bool(self._told["cut"])
        )
