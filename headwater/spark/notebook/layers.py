"""Read silver and gold for questions. All reads of a table return the same version, from the current generation."""

from collections.abc import Iterable, Mapping
from functools import cached_property

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.common.errors import WrongSetting
from headwater.lineage.edges.candidates import ATTEMPTED
from headwater.lineage.edges.schema_columns import Columns
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.snapshots.snapshot import shown_names
from headwater.spark.delta.spark_delta import TableFolder, checkpoint
from headwater.spark.gold.snapshot_of_rows import RowSnapshot
from headwater.spark.gold.snapshot_rows import sorted_rows
from headwater.spark.layer_generations import current_generation_row, generation_folder
from headwater.spark.layer_positions import read_position
from headwater.spark.silver.silver_names import BatchNaming
from headwater.spark.silver.state import newest_rows
from headwater.tables import BINDINGS, DATASETS, EDGE_SETS, POSITIONS, STATE, Table

COUNTS = "part = 'open' AND current"
"""SQL condition for the rows of `column_edges` and `table_edges` that currently count."""

READ = ["read_namespace", "read_name"]
OUTPUT = ["dataset_namespace", "dataset_name"]
"""Columns of `Layers.datasets_read`: the dataset that is read (`READ`) and the dataset that is written (`OUTPUT`)."""

_JOBS = "STRUCT<jobs: ARRAY<ARRAY<STRING>>>"
_READS = "STRUCT<tables: ARRAY<ARRAY<STRING>>, also_read: ARRAY<ARRAY<STRING>>>"


class Layers:
    """The tables of silver and gold. Each table stays at the version of its first use."""

    def __init__(self, silver: TableFolder, gold: TableFolder):
        self.folders = {"silver": silver, "gold": gold}
        self.spark = silver.spark
        self._frames: dict[str, DataFrame] = {}

    def silver(self, table: Table) -> DataFrame:
        """Return the rows of a table of silver. All calls return the same version."""
        return self._frame("silver", table)

    def gold(self, table: Table) -> DataFrame:
        """Return the rows of a table of gold. All calls return the same version."""
        return self._frame("gold", table)

    @cached_property
    def candidates(self) -> DataFrame:
        """The open candidates, in the columns of `EDGE_SETS`."""
        silver = self.folders["silver"]
        if silver.exists(STATE):
            return newest_rows(self.silver(STATE), EDGE_SETS)
        return self.silver(EDGE_SETS).where("part = 'open' AND NOT retracted")  # of a release without `state`

    @cached_property
    def positions(self) -> DataFrame:
        """The position of the layers, in the columns of `POSITIONS`."""
        if self.folders["silver"].exists(STATE):
            return newest_rows(self.silver(STATE), POSITIONS)
        return self.silver(POSITIONS)

    @cached_property
    def naming(self) -> NameResolver:
        """The meanings of names, from the bindings in silver."""
        return BatchNaming(self.silver(BINDINGS).collect()).naming

    @cached_property
    def rules(self) -> UserRules:
        """The masking rules with which silver was built."""
        return UserRules(masking=read_position(self.positions.collect()).masking)

    @cached_property
    def datasets_read(self) -> DataFrame:
        """The distinct rows (`output_key`, `OUTPUT`, `READ`) of open candidates, one for each dataset that they read.

        `READ` is null for a candidate that reads no dataset.
        """
        return self._feeds(self.candidates)

    @staticmethod
    def _feeds(candidates: DataFrame) -> DataFrame:
        decoded = candidates.select("output_key", *OUTPUT, F.from_json("content", _READS).alias("lineage"))
        read = decoded.select(
            "output_key", *OUTPUT, F.explode_outer(F.expr("concat(lineage.tables, lineage.also_read)")).alias("of")
        )
        return checkpoint(
            read.select(
                "output_key", *OUTPUT, F.expr("of[0]").alias(READ[0]), F.expr("of[1]").alias(READ[1])
            ).distinct()
        )

    @cached_property
    def source_jobs(self) -> Mapping[str, frozenset[Name]]:
        """The jobs that lineage names as sources, by output key of the candidate. Jobs have their names as sent."""
        named = self.candidates.where(F.col("content").contains('"jobs":[['))
        rows = named.select("output_key", F.from_json("content", _JOBS).alias("lineage")).distinct().collect()
        found: dict[str, frozenset[Name]] = {}
        for key, lineage in rows:
            found[key] = found.get(key, frozenset()).union(Name(*job[:2]) for job in lineage.jobs or ())
        return found

    def outputs_of_jobs(self, jobs: Iterable[Name]) -> set[str]:
        """Return the output keys of the open candidates of jobs. jobs: keys of jobs, as `job_key` returns them."""
        places = self.spark.createDataFrame(
            sorted({job.parts for job in jobs}), "job_namespace string, job_name string"
        )
        rows = self.candidates.join(F.broadcast(places), ["job_namespace", "job_name"], "left_semi")
        return {key for (key,) in rows.select("output_key").distinct().collect()}

    @cached_property
    def datasets(self) -> frozenset[Name]:
        """All datasets that have a known schema or an edge."""
        described = self.silver(DATASETS).where("columns IS NOT NULL")
        known = described.select(*OUTPUT, F.expr("coalesce(generation, '')")).collect()
        feeds = self._feeds(self.candidates.where(F.col("layer") != ATTEMPTED))
        edges = feeds.select(*READ).union(feeds.select(*OUTPUT)).distinct().collect()
        shown = shown_names({Name(*row) for row in known}, self.naming)
        return frozenset(shown.union(Name(*row) for row in edges if row[0] is not None))

    def shown_columns(self, datasets: Iterable[Name]) -> Mapping[Name, Columns]:
        """Return the columns of each dataset, from the newest generation of the dataset that has a schema."""
        names = {
            found.without_generation
            for name in datasets
            for found in (name, *self.naming.generations.all_generations(name))
        }
        wanted = self.spark.createDataFrame(
            sorted(name.parts for name in names), "dataset_namespace string, dataset_name string"
        )
        rows = sorted_rows(self.candidates.limit(0), self.silver(DATASETS).join(F.broadcast(wanted), OUTPUT))
        now = RowSnapshot(self.rules, self.naming, (tuple(row) for row in rows.collect()))
        return {name: now.shown_columns(name) for name in datasets}

    def _frame(self, layer: str, table: Table) -> DataFrame:
        key = f"{layer}/{table.name}"
        if key not in self._frames:
            self._frames[key] = self.folders[layer].read(table)
        return self._frames[key]


def open_layers(spark: SparkSession, lake: str) -> Layers:
    """Open the current gold of a lake, and the generation of silver from which this gold was made.

    Raises WrongSetting if the lake has no gold.
    """
    found = current_generation_row(spark, lake, "gold")
    if found is None:
        raise WrongSetting(
            f"There are no tables of silver and gold in {lake}. Run the notebook Refresh, or `headwater spark refresh`."
        )
    made_from = found.rules_hash.rpartition("/")[2]  # silver may already use other rules
    return Layers(
        generation_folder(spark, lake, "silver", made_from), generation_folder(spark, lake, "gold", found.generation)
    )
