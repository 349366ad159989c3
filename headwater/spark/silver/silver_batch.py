"""One batch of silver: what its events change is worked out anew, whichever runs that concerns, and nothing else."""

import json
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from functools import partial, reduce
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import Row as SqlRow
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.schema_history import SeenSchema
from headwater.lineage.names.dataset_history import Change, Span
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.names_in_time import Naming
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.runs.changed_runs import concerned
from headwater.spark.delta.arrow_rows import map_rows
from headwater.spark.delta.ranges import begin, ranges
from headwater.spark.delta.spark_delta import TableFolder, keep, kept, texts, together
from headwater.spark.gold.open_candidates import CLOSED, OPEN, count
from headwater.spark.gold.run_findings import COMPARISON
from headwater.spark.layer_positions import LayerPosition
from headwater.spark.silver.bronze_reading import parse
from headwater.spark.silver.content_texts import read_columns
from headwater.spark.silver.dataset_changes import HAPPENED
from headwater.spark.silver.event_shapes import Shapes
from headwater.spark.silver.known import LATEST, Known, SchemaHistory, seen_of, with_columns
from headwater.spark.silver.newest_facets import IS_NEWER, OF_NAME, NewestFacets
from headwater.spark.silver.silver_datasets import DATASET, datasets, fields, jobs, reads, still_read
from headwater.spark.silver.silver_facets import newest_facets, newest_of
from headwater.spark.silver.silver_names import LearntNames
from headwater.spark.silver.silver_relations import SilverRelations
from headwater.spark.silver.spark_derivation import derive
from headwater.spark.silver.state import State
from headwater.spark.silver.stored_runs import Seen, StoredRuns
from headwater.spark.silver.texts import read_names
from headwater.tables import (
    BINDINGS,
    DATASETS,
    EDGE_SETS,
    FACETS,
    FIELDS,
    JOBS,
    LATEST_FACETS,
    LENDERS,
    RUN_DATASETS,
    RUNS,
    Table,
)

_BINDINGS = Table("bindings", {**HAPPENED.columns, "gone": "boolean"})
_VOTE = ["group_key", "run_key"]


class Others(NamedTuple):
    """Runs outside a batch that it concerns: those that use names at such times, and these keys (`run_key`)."""

    spans: frozenset[Span] = frozenset()
    keys: DataFrame | None = None


class SilverBatch:
    """The state of one batch of silver; see `changed_runs.ChangedRuns`.

    exact, borrows, asks: as in `LayerPosition`, after the batch. counted, derived: what it changes, rows of
    `COUNTED` and `DERIVED`; replaced: what the keys of runs begin with that were there before; moved: something
    happened to names; changed: some dataset is another one; loud, quiet: some candidates say something new, or again
    what stands.
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
        )
        begins = json.loads(self._told["begins"])
        self._stored = StoredRuns(
            self.folder, self._bronze, parsed, begins, shapes=self._shapes, names=self.rules.names
        )
        links = self._names.links(self._stored) if self._told["links"] else ()
        others = self._keys(concerned(self, self.naming, Others(), links))
        self._write(*self._derive(*self._stored.rows_of(others)))
        return int(self._told["count"])

    @property
    def answers_stand(self) -> bool:
        """Whether nothing has changed that answers are made of."""
        return not (self.moved or self.changed or self.loud or self.exact != self._exact_before)

    @property
    def compared(self) -> bool:
        """Whether `headwater reconcile --save` said something."""
        return bool(self._told["compared"])

    # What `concerned` asks

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
            lenders = [Name(*row) for row in self.state.read(LENDERS).collect()]
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
        known = Known(self.naming, self.exact)
        derived, told = self._derived(rows, contents, known)
        for more in (self._with_newest, self._with_histories):
            wanted = _names_in(told["missing"])
            if wanted:  # then these runs are worked out once more
                missing = derived.where("missing IS NOT NULL")
                again = rows.join(missing.select("run_key"), "run_key", "left_semi")
                others = derived.where("missing IS NULL")
                known = more(known, wanted)
                derived, told = self._derived(again, contents, known, others)
        self._lend(_names_in(told["lenders"]))
        self.replaced = json.loads(told["stored"])
        return derived, told

    def _lend(self, datasets: Set[Name]) -> None:
        """Remember whose schemas runs take."""
        if datasets:
            self.borrows = True
            self.state.put(LENDERS, self.folder.rows(LENDERS, sorted(datasets)), DATASET)

    def _derived(
        self, rows: DataFrame, contents: DataFrame, known: Known, others: DataFrame | None = None
    ) -> tuple[DataFrame, Seen]:
        derived = derive(rows, contents, known, small=self.folder.small)
        return kept(
            derived if others is None else self.folder.few(derived.unionByName(others)),
            missing=texts(F.col("missing")),
            lenders=texts(F.col("lenders")),
            stored=texts(F.when(F.col("stored"), begin("run_key"))),
            changes=F.sum(F.size("changes")),
            replaced=F.max(F.exists("changes", lambda candidate: candidate["replaced"])),
            executions=texts(F.transform("changes", lambda candidate: begin(candidate["execution"]))),
            below=F.max(F.col("parent_run").isNotNull()),
        )

    def _with_newest(self, known: Known, datasets: set[Name]) -> Known:
        newest: dict[Name, SeenSchema | None] = dict.fromkeys(datasets)
        columns = {}
        for dataset, seen, text in self._facets.newest(datasets):
            newest[dataset] = seen
            columns[seen.schema] = read_columns(text)
        return replace(known, newest=newest, columns=columns)

    def _with_histories(self, known: Known, datasets: set[Name]) -> Known:
        users = (
            self._stored.users(map(Span, known.naming.names_of_any(datasets)))
            .unionByName(self._stored.touched)
            .distinct()
        )
        rows = self._stored.facts_of(users)
        used_dataset = map_rows(
            rows.select("parts"), SchemaHistory(known.naming, frozenset(datasets)), LATEST
        ).distinct()
        found = with_columns(self.folder.few(used_dataset), self._stored.contents_in(rows)).collect()
        histories: dict[Name, list[SeenSchema]] = {dataset: [] for dataset in datasets}
        columns = {}
        for dataset, seen, text in seen_of(found):
            histories[dataset].append(seen)
            columns[seen.schema] = read_columns(text)
        ordered: dict[Name, Sequence[SeenSchema]] = {name: sorted(history) for name, history in histories.items()}
        return replace(known, histories=ordered, columns={**known.columns, **columns})

    # Writing

    def _write(self, derived: DataFrame, told: Seen) -> None:
        candidates = self._candidates(derived, told)
        self._write_datasets(candidates)  # before the candidates: what is read no more is told from those that stood
        together(
            partial(self._write_candidates, candidates),
            partial(self._write_runs, derived),
            partial(self._write_jobs, derived),
            self._write_facets,
            self._write_bindings,
        )
        self.counted = candidates.rows if candidates else None
        self.derived = derived

    def _write_candidates(self, candidates: "_NewCandidates | None") -> None:
        if candidates is None:
            return
        closed = candidates.rows.where((F.col("part") == CLOSED) & ~F.col("gone"))
        if candidates.closed:
            self._correct(EDGE_SETS, closed, candidates.closed, candidates.rows.select(*_VOTE))
        elif candidates.closes:
            self.folder.append(EDGE_SETS, self._stamped(closed))
        elsewhere = {"gone": F.col("gone") | (F.col("part") != OPEN)}
        self.state.put(EDGE_SETS, self._stamped(candidates.rows.withColumns(elsewhere)), _VOTE)

    def _write_runs(self, derived: DataFrame) -> None:
        uses = derived.select("run_key", F.explode("datasets").alias("of")).select("run_key", "of.*")
        for table, rows in ((RUNS, derived), (RUN_DATASETS, uses)):
            if self.replaced:
                self._correct(table, rows, self.replaced, derived.select("run_key"))
            else:
                self.folder.append(table, self._stamped(rows))

    def _write_bindings(self) -> None:
        if rows := self._names.news():
            frame = self.folder.rows(_BINDINGS, rows)
            self.state.put(BINDINGS, self._stamped(frame), list(HAPPENED.columns))
            self.folder.overwrite(BINDINGS, self.state.read(BINDINGS))

    def _write_jobs(self, derived: DataFrame) -> None:
        rows = jobs(self.folder, self.state.read(JOBS), derived.where("kind = 'RUN'"), known=bool(self.replaced))
        self.state.put(JOBS, self._stamped(rows), ["job_namespace", "job_name"])
        self.folder.overwrite(JOBS, self.state.read(JOBS))

    def _write_facets(self) -> None:
        fresh = newest_facets(
            self._bronze, self._events, self._stored.parsed, self._shapes, self.rules.names, cut=bool(self._told["cut"])
        )
        where = "entity <> 'run' AND name IS NOT NULL"  # of a condition on partitions alone Delta counts all files
        if self.replaced:
            where = f"({where} OR {ranges('name', self.replaced)})"

        def become(stored: DataFrame) -> DataFrame:
            return newest_of(self.folder.few(stored.unionByName(self._stamped(fresh).select(*stored.columns))))

        self.folder.change(FACETS, where, become)

    def _candidates(self, derived: DataFrame, told: Seen) -> "_NewCandidates | None":
        """Hold what runs say against what is stored; None if they say nothing new."""
        if not told["changes"] and not (told["below"] and self.asks):
            return None
        changes = derived.select(F.explode("changes").alias("vote")).select("vote.*")
        outputs = changes.select("output_key").distinct()
        closed = self.folder.read(EDGE_SETS)
        executions = changes.select("execution").distinct()
        begins = {text for texts_of_run in json.loads(told["executions"]) for text in texts_of_run}
        same = closed.where(ranges("execution", begins)).join(executions, "execution", "left_semi")
        is_closed = {"part": F.lit(CLOSED)}
        before = self.state.read(EDGE_SETS).withColumn("part", F.lit(OPEN))
        found = before.unionByName(same.select(closed.columns).withColumns(is_closed))
        if told["replaced"]:  # what stood behind a candidate that is gone may stand again
            losing = changes.where("replaced").select("output_key").distinct()
            losing = closed.join(losing, "output_key", "left_semi").select(closed.columns)
            found = found.unionByName(losing.withColumns(is_closed)).distinct()
        found = self.folder.few(found).join(outputs, "output_key", "left_semi")
        counted = count(self.folder, found, changes)
        rows, seen = SilverRelations(self.folder, before, derived, counted, asks=self.asks).answered()
        self.asks = self.asks or bool(seen["asks"])
        self.loud, self.quiet = bool(seen["loud"]), bool(seen["quiet"])
        read = reads(changes.where("NOT gone")).withColumn("ever_read", F.lit(True))
        if told["replaced"]:
            others = before.unionByName(closed.withColumns(is_closed)).join(changes.select(*_VOTE), _VOTE, "left_anti")
            lost = reads(found.join(changes.where("replaced").select(*_VOTE), _VOTE, "left_semi"))
            read = read.unionByName(still_read(lost.join(read, DATASET, "left_anti"), others))
        return _NewCandidates(rows, json.loads(seen["closed"]), bool(seen["closes"]), read)

    def _write_datasets(self, candidates: "_NewCandidates | None") -> None:
        self.state.put(LATEST_FACETS, self._stamped(self._latest), OF_NAME, when=IS_NEWER)
        concerned = self._latest.select(*DATASET)
        concerned = concerned.unionByName(concerned.withColumn("generation", F.lit("")))
        concerned = concerned.withColumn("ever_read", F.lit(None).cast("boolean"))
        concerned = self.folder.few(concerned if candidates is None else concerned.unionByName(candidates.read))
        concerned = concerned.groupBy(*DATASET).agg(F.max("ever_read").alias("ever_read"))
        known = self.state.read(DATASETS)
        rows, seen = kept(datasets(self.state.read(LATEST_FACETS), known, concerned), count=F.count("*"))
        if seen["count"]:
            self.changed = True
            self.folder.overwrite(FIELDS, fields(self.folder, self._stamped(rows)))
            self.state.put(DATASETS, self._stamped(rows), DATASET)
            self.folder.overwrite(DATASETS, self.state.read(DATASETS))

    def _correct(self, table: Table, rows: DataFrame, begins: Sequence[str], instead_of: DataFrame) -> None:
        """Let rows replace those with these keys; begins: what the run keys of these begin with."""
        where = ranges("run_key", begins)
        fresh = self._stamped(rows).select(*table.columns)

        def become(stored: DataFrame) -> DataFrame:
            others = stored.join(instead_of, instead_of.columns, "left_anti")
            return self.folder.few(others.select(*table.columns).unionByName(fresh))

        self.folder.change(table, where, become)

    def _stamped(self, frame: DataFrame) -> DataFrame:
        return frame.withColumns({"batch": F.lit(self.number), "rules_hash": F.lit(self.rules.rules_hash)})


def _names_in(texts_of_names: str) -> set[Name]:
    """Return the names in what `texts` has gathered of texts of names."""
    return {Name(*name) for text in json.loads(texts_of_names) for name in read_names(text)}


class _NewCandidates(NamedTuple):
    """Rows of `COUNTED`, and the datasets that have readers (`ever_read`) or have none any more.

    closed: what the run keys of those begin with that were closed before; closes: some are closed now.
    """

    rows: DataFrame
    closed: Sequence[str]
    closes: bool
    read: DataFrame
