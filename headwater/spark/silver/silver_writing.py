"""The tables of silver, but `state`: one batch's rows in, or instead of those that stood there."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.spark.delta.ranges import ranges
from headwater.spark.delta.spark_delta import TableFolder, kept
from headwater.spark.gold.open_candidates import CLOSED, OPEN
from headwater.spark.silver.dataset_changes import HAPPENED
from headwater.spark.silver.new_candidates import VOTE, NewCandidates
from headwater.spark.silver.newest_facets import IS_NEWER, OF_NAME
from headwater.spark.silver.silver_datasets import DATASET
from headwater.spark.silver.silver_datasets import datasets as datasets_of
from headwater.spark.silver.silver_datasets import fields as fields_of
from headwater.spark.silver.silver_datasets import jobs as jobs_of
from headwater.spark.silver.silver_facets import newest_of
from headwater.spark.silver.state import State
from headwater.tables import (
    BINDINGS,
    DATASETS,
    EDGE_SETS,
    FACETS,
    FIELDS,
    JOBS,
    LATEST_FACETS,
    RUN_DATASETS,
    RUNS,
    Table,
)

_BINDINGS = Table("bindings", {**HAPPENED.columns, "gone": "boolean"})


@dataclass(frozen=True)
class SilverWriter:
    """Writes one batch. number: its own; replaced: what the keys of runs begin with that were there before."""

    folder: TableFolder
    state: State
    number: int
    rules_hash: str
    replaced: Sequence[str]

    def datasets(self, latest: DataFrame, candidates: NewCandidates | None, spellings: DataFrame | None) -> bool:
        """Write newest facets, datasets and their fields; returns whether some dataset changed.

        spellings: rows of `silver_datasets.sent_spellings`, None if there are none.
        """
        self.state.put(LATEST_FACETS, self._stamped(latest), OF_NAME, when=IS_NEWER)
        concerned = latest.select(*DATASET)
        concerned = concerned.unionByName(concerned.withColumn("generation", F.lit("")))
        if spellings is not None:
            concerned = concerned.unionByName(spellings.select(*DATASET))
        concerned = concerned.withColumn("ever_read", F.lit(None).cast("boolean"))
        concerned = self.folder.few(concerned if candidates is None else concerned.unionByName(candidates.read))
        concerned = concerned.groupBy(*DATASET).agg(F.max("ever_read").alias("ever_read"))
        known = self.state.read(DATASETS)
        latest_facets = self.state.read(LATEST_FACETS)
        rows, seen = kept(datasets_of(latest_facets, known, concerned, spellings), count=F.count("*"))
        if seen["count"]:
            self.folder.overwrite(FIELDS, fields_of(self.folder, self._stamped(rows)))
            self.state.put(DATASETS, self._stamped(rows), DATASET)
            self.folder.overwrite(DATASETS, self.state.read(DATASETS))
        return bool(seen["count"])

    def candidates(self, candidates: NewCandidates | None) -> None:
        """Write what runs say of outputs."""
        if candidates is None:
            return
        closed = candidates.rows.where((F.col("part") == CLOSED) & ~F.col("gone"))
        if candidates.closed:
            self._correct(EDGE_SETS, closed, candidates.closed, candidates.rows.select(*VOTE))
        elif candidates.closes:
            self.folder.append(EDGE_SETS, self._stamped(closed))
        elsewhere = {"gone": F.col("gone") | (F.col("part") != OPEN)}
        self.state.put(EDGE_SETS, self._stamped(candidates.rows.withColumns(elsewhere)), VOTE)

    def runs(self, derived: DataFrame) -> None:
        """Write runs and the datasets that they use."""
        uses = derived.select("run_key", F.explode("datasets").alias("of")).select("run_key", "of.*")
        for table, rows in ((RUNS, derived), (RUN_DATASETS, uses)):
            if self.replaced:
                self._correct(table, rows, self.replaced, derived.select("run_key"))
            else:
                self.folder.append(table, self._stamped(rows))

    def bindings(self, rows: Sequence[tuple[object, ...]]) -> None:
        """Write what happened to names."""
        if rows:
            frame = self.folder.rows(_BINDINGS, rows)
            self.state.put(BINDINGS, self._stamped(frame), list(HAPPENED.columns))
            self.folder.overwrite(BINDINGS, self.state.read(BINDINGS))

    def jobs(self, derived: DataFrame) -> None:
        """Write jobs."""
        rows = jobs_of(self.folder, self.state.read(JOBS), derived.where("kind = 'RUN'"), known=bool(self.replaced))
        self.state.put(JOBS, self._stamped(rows), ["job_namespace", "job_name"])
        self.folder.overwrite(JOBS, self.state.read(JOBS))

    def facets(self, fresh: DataFrame) -> None:
        """Write the newest facets of runs, jobs and datasets, as `newest_facets` returns them."""
        where = "entity <> 'run' AND name IS NOT NULL"  # of a condition on partitions alone Delta counts all files
        if self.replaced:
            where = f"({where} OR {ranges('name', self.replaced)})"

        def become(stored: DataFrame) -> DataFrame:
            return newest_of(self.folder.few(stored.unionByName(self._stamped(fresh).select(*stored.columns))))

        self.folder.change(FACETS, where, become)

    def _correct(self, table: Table, rows: DataFrame, begins: Sequence[str], instead_of: DataFrame) -> None:
        """Let rows replace those with these keys; begins: what the run keys of these begin with."""
        where = ranges("run_key", begins)
        fresh = self._stamped(rows).select(*table.columns)

        def become(stored: DataFrame) -> DataFrame:
            others = stored.join(instead_of, instead_of.columns, "left_anti")
            return self.folder.few(others.select(*table.columns).unionByName(fresh))

        self.folder.change(table, where, become)

    def _stamped(self, frame: DataFrame) -> DataFrame:
        return frame.withColumns({"batch": F.lit(self.number), "rules_hash": F.lit(self.rules_hash)})
