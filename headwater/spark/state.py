"""What a pass must know of all that was said before: in one table, read once, and replaced in one commit at the end."""

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812

from headwater.spark.delta import Folder, keep, shaped
from headwater.tables import IN_STATE, STATE, Table


class State:
    """Rows of the tables `IN_STATE`, as they were before a batch and as they will be after it."""

    def __init__(self, folder: Folder):
        """Read what the last batch has left."""
        self._folder = folder
        whole = self._whole = keep(folder.read(STATE))
        self._rows = {
            table.name: whole.where(F.col("part") == part).select(*table.columns) for part, table in IN_STATE.items()
        }

    def read(self, table: Table) -> DataFrame:
        """Return the rows of a table."""
        return self._rows[table.name]

    def collect(self, *tables: Table) -> Mapping[str, Sequence[Row]]:
        """Return rows of small tables as they were before the batch."""
        parts = {part: table for part, table in IN_STATE.items() if table in tables}
        found = self._whole.where(F.col("part").isin(*parts)).collect()
        return {table.name: [row for row in found if row.part == part] for part, table in parts.items()}

    def put(self, table: Table, rows: DataFrame, keys: Sequence[str], *, when: str = "") -> None:
        """Insert rows or replace those of equal keys; rows whose column `gone` is true only take these away.

        when: which equal keys are replaced (`t` those that are there, and `s`).
        """
        equal = " AND ".join(f"t.{key} <=> s.{key}" for key in keys)
        before = self.read(table)
        if when:
            rows = rows.alias("s").join(before.alias("t"), F.expr(f"{equal} AND NOT ({when})"), "left_anti")
        others = before.alias("t").join(rows.alias("s"), F.expr(equal), "left_anti")
        fresh = rows.where("NOT gone") if "gone" in rows.columns else rows
        self.set(table, others.unionByName(shaped(fresh, table)))

    def set(self, table: Table, rows: DataFrame) -> None:
        """Replace all rows of a table."""
        self._rows[table.name] = self._folder.few(rows)

    def write(self) -> None:
        """Replace the table: the batch is done."""
        parts = (self.read(table).withColumn("part", F.lit(part)) for part, table in IN_STATE.items())
        whole = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
        self._folder.overwrite(STATE, self._folder.few(whole))
