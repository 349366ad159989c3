"""Write the rows of one batch to the tables of silver, and the changes of the batch to `state`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.spark.delta.ranges import prefix_condition
from headwater.spark.delta.spark_delta import TableFolder, checkpoint, checkpoint_with_aggregates
from headwater.spark.gold.open_candidates import CLOSED, OPEN
from headwater.spark.silver.dataset_changes import NAME_CHANGES
from headwater.spark.silver.new_candidates import CANDIDATE_KEY, NewCandidates
from headwater.spark.silver.newest_facets import IS_NEWER
from headwater.spark.silver.silver_datasets import DATASET, dataset_rows, field_rows, job_rows
from headwater.spark.silver.silver_facets import KEY as FACET_KEY
from headwater.spark.silver.silver_facets import newest_of
from headwater.spark.silver.state import SilverState
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

_OF_RUN = "entity = 'run'"
STATE_FACETS = "(entity <> 'run' AND name IS NOT NULL)"
"""SQL condition for the facets that `state` contains, too.

The condition includes `name` because Delta counts all files if a condition has only partition columns.
"""

_BINDINGS = Table("bindings", {**NAME_CHANGES.columns, "gone": "boolean"})


class ChangedDatasets(NamedTuple):
    """The datasets that a batch changes.

    rows: in the columns `DATASET`; has_base_lists: some of the datasets have a base list (rule 12.7).
    """

    rows: DataFrame
    has_base_lists: bool


@dataclass(frozen=True)
class SilverWriter:
    """Writes one batch.

    number: the number of the batch. rules_hash: hash of the rules that the batch applies. replaced: key prefixes of the
    runs of the batch that silver already contained.
    """

    folder: TableFolder
    state: SilverState
    number: int
    rules_hash: str
    replaced: Sequence[str]

    def write_datasets(
        self, latest: DataFrame, candidates: NewCandidates | None, spellings: DataFrame | None
    ) -> ChangedDatasets | None:
        """Write the newest facets, datasets and fields. Returns the changed datasets, or None if none changed.

        latest: rows of `LATEST` that `NewestFacets.add` returns. candidates: the changed candidates, or None.
        spellings: rows of `silver_datasets.sent_spellings`, or None if there are none.
        """
        self.state.put(LATEST_FACETS, self._with_batch_and_rules(latest), when=IS_NEWER)
        wanted = latest.select(*DATASET)
        wanted = wanted.unionByName(wanted.withColumn("generation", F.lit("")))
        if spellings is not None:
            wanted = wanted.unionByName(spellings.select(*DATASET))
        wanted = wanted.withColumn("ever_read", F.lit(None).cast("boolean"))
        wanted = self.folder.coalesce_if_small(wanted if candidates is None else wanted.unionByName(candidates.read))
        wanted = checkpoint(wanted.groupBy(*DATASET).agg(F.max("ever_read").alias("ever_read")))
        known = self.state.lookup(DATASETS, wanted, DATASET)
        latest_facets = self.state.lookup(LATEST_FACETS, wanted, DATASET[:2])
        changed = dataset_rows(latest_facets, known, wanted, spellings)
        rows, aggregates = checkpoint_with_aggregates(
            changed, count=F.count("*"), based=F.max(F.col("base_us").isNotNull())
        )
        if aggregates["count"]:
            self.folder.overwrite(FIELDS, field_rows(self.folder, self._with_batch_and_rules(rows)))
            self.state.put(DATASETS, self._with_batch_and_rules(rows))
            self.folder.overwrite(DATASETS, self.state.read(DATASETS))
        return ChangedDatasets(rows.select(*DATASET), bool(aggregates["based"])) if aggregates["count"] else None

    def write_candidates(self, candidates: NewCandidates | None) -> None:
        """Write the changed candidates: open ones to `state`, closed ones to `edge_sets`."""
        if candidates is None:
            return
        closed = candidates.rows.where((F.col("part") == CLOSED) & ~F.col("gone"))
        if candidates.closed_prefixes:
            self._replace_rows(EDGE_SETS, closed, candidates.closed_prefixes, candidates.rows.select(*CANDIDATE_KEY))
        elif candidates.has_closed:
            self.folder.append(EDGE_SETS, self._with_batch_and_rules(closed))
        stays = F.expr(f"part = '{OPEN}' AND NOT gone")
        rows = candidates.rows.where(stays | (F.col("was") == OPEN))
        rows = rows.withColumns({"gone": ~stays, "content": F.when(stays, F.col("content"))})
        self.state.put(EDGE_SETS, self._with_batch_and_rules(rows))

    def write_runs(self, derived: DataFrame) -> None:
        """Write runs and the datasets that they use."""
        uses = derived.select("run_key", F.explode("datasets").alias("of")).select("run_key", "of.*")
        for table, rows in ((RUNS, derived), (RUN_DATASETS, uses)):
            if self.replaced:
                self._replace_rows(table, rows, self.replaced, derived.select("run_key"))
            else:
                self.folder.append(table, self._with_batch_and_rules(rows))

    def write_bindings(self, rows: Sequence[tuple[object, ...]]) -> None:
        """Write symlinks, drops, renames and writes. rows: the result of `BatchNaming.changed_rows`."""
        if rows:
            frame = self.folder.frame_of_rows(_BINDINGS, rows)
            self.state.put(BINDINGS, self._with_batch_and_rules(frame))
            self.folder.overwrite(BINDINGS, self.state.read(BINDINGS))

    def write_jobs(self, derived: DataFrame) -> None:
        """Write the jobs of the derived runs."""
        runs = derived.where("kind = 'RUN'")
        before = self.state.lookup(JOBS, runs, ["job_namespace", "job_name"])
        rows = job_rows(self.folder, before, runs, known=bool(self.replaced))
        self.state.put(JOBS, self._with_batch_and_rules(rows))
        if self.state.updates_copy(JOBS):
            self.folder.overwrite(JOBS, self.state.read(JOBS))

    def write_facets(self, fresh: DataFrame) -> None:
        """Write the newest facets of runs, jobs and datasets. fresh: the facets that `newest_facets` returns."""
        fresh = checkpoint(self._with_batch_and_rules(fresh).select(*FACETS.columns))
        of_runs, others = fresh.where(f"{_OF_RUN}"), fresh.where(f"NOT {_OF_RUN}")
        before = self.state.lookup(FACETS, others, FACET_KEY)
        newest = newest_of(self.folder.coalesce_if_small(before.unionByName(others)))
        self.state.put(FACETS, newest.where(F.col("batch") == self.number))
        updates_copy = self.state.updates_copy(FACETS)
        where = [STATE_FACETS] if updates_copy else []
        where += [f"({_OF_RUN} AND {prefix_condition('name', self.replaced)})"] if self.replaced else []

        def replacement(stored: DataFrame) -> DataFrame:
            rows = newest_of(
                self.folder.coalesce_if_small(stored.where(_OF_RUN).unionByName(of_runs.select(*stored.columns)))
            )
            every = rows.unionByName(self.state.read(FACETS).select(*rows.columns)) if updates_copy else rows
            return self.folder.coalesce_if_small(every)

        if where:
            self.folder.replace_rows(FACETS, " OR ".join(where), replacement)
        else:
            self.folder.append(FACETS, of_runs)

    def _replace_rows(self, table: Table, rows: DataFrame, prefixes: Sequence[str], instead_of: DataFrame) -> None:
        """Replace the rows of a table that have one of the keys in `instead_of` by new rows.

        prefixes: prefixes of the run keys of the replaced rows.
        """
        where = prefix_condition("run_key", prefixes)
        fresh = self._with_batch_and_rules(rows).select(*table.columns)

        def replacement(stored: DataFrame) -> DataFrame:
            others = stored.join(instead_of, instead_of.columns, "left_anti")
            return self.folder.coalesce_if_small(others.select(*table.columns).unionByName(fresh))

        self.folder.replace_rows(table, where, replacement)

    def _with_batch_and_rules(self, frame: DataFrame) -> DataFrame:
        return frame.withColumns({"batch": F.lit(self.number), "rules_hash": F.lit(self.rules_hash)})
