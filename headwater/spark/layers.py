"""Silver and gold for questions: the generation in force, each table in one version, names looked up once."""

from collections.abc import Iterable
from functools import cached_property

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.errors import WrongSetting
from headwater.lineage.columns import Columns
from headwater.lineage.name import Name
from headwater.lineage.naming import Naming
from headwater.spark.delta import Folder
from headwater.spark.generations import current, generation
from headwater.spark.known import read_columns
from headwater.spark.naming import naming_of
from headwater.tables import BINDINGS, DATASETS, GOLD, SILVER, TABLE_EDGES, Table

COUNTS = "part = 'open' AND current"
"""Rows of `column_edges` and `table_edges` that count now."""

SOURCE = ["source_namespace", "source_dataset"]
TARGET = ["target_namespace", "target_dataset"]

_NO_COLUMNS = Columns(())


class Layers:
    """Silver and gold as they were when this was made."""

    def __init__(self, silver: Folder, gold: Folder):
        """Read nothing yet."""
        self.folders = {"silver": silver, "gold": gold}
        self.spark = silver.spark
        self._frames: dict[str, DataFrame] = {}
        self._columns: dict[Name, Columns] = {}

    def silver(self, table: Table) -> DataFrame:
        """Return a table of silver; a second call returns the same version."""
        return self._frame("silver", table)

    def gold(self, table: Table) -> DataFrame:
        """Return a table of gold; a second call returns the same version."""
        return self._frame("gold", table)

    @cached_property
    def naming(self) -> Naming:
        """What names mean."""
        return naming_of(self.silver(BINDINGS))

    @cached_property
    def datasets(self) -> frozenset[Name]:
        """Every dataset that a schema or an edge is known of."""
        edges = self.gold(TABLE_EDGES).where(COUNTS)
        found = self.silver(DATASETS).select("dataset_namespace", "dataset_name")
        rows = found.union(edges.select(*SOURCE)).union(edges.select(*TARGET)).distinct().collect()
        return frozenset(Name(*row) for row in rows)

    def read_columns(self, datasets: Iterable[Name]) -> None:
        """Read the newest schemas of datasets, for `columns`."""
        missing = [name for name in dict.fromkeys(datasets) if name not in self._columns]
        if not missing:
            return
        names = ["dataset_namespace", "dataset_name"]
        wanted = self.spark.createDataFrame(missing, f"{names[0]} string, {names[1]} string")
        self._columns.update(dict.fromkeys(missing, _NO_COLUMNS))
        for row in self.silver(DATASETS).join(F.broadcast(wanted), names).collect():
            if row.columns:
                self._columns[Name(row.dataset_namespace, row.dataset_name)] = Columns(read_columns(row.columns))

    def columns(self, dataset: Name) -> Columns:
        """Return the columns of a dataset's newest schema, as far as it was read."""
        return self._columns.get(dataset, _NO_COLUMNS)

    def _frame(self, layer: str, table: Table) -> DataFrame:
        key = f"{layer}/{table.name}"
        if key not in self._frames:
            self._frames[key] = self.folders[layer].read(table)
        return self._frames[key]


def open_layers(spark: SparkSession, lake: str) -> Layers:
    """Open gold of a lake and the silver that it was made from; raises WrongSetting where there is none."""
    gold = current(spark, lake, "gold", GOLD)
    if gold is None:
        raise WrongSetting(f"There is no silver and gold in {lake}. Run the notebook Refresh, or `headwater spark`.")
    made_from = gold[1].rpartition("/")[2]  # silver may have gone over to other rules already
    return Layers(generation(spark, lake, "silver", made_from, SILVER), gold[0])
