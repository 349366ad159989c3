"""What a pass must know of all that was said before: in one table, read once, and replaced in one commit at the end."""

import json
from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812

from headwater.spark.delta.spark_delta import TableFolder, kept, shaped
from headwater.tables import STATE, STATE_PARTS, Table

SMALL = ("position", "binding", "finding")
"""Parts of the table whose rows are looked at here; they hold no times, which JSON would tell otherwise."""


class State:
    """Rows of the tables `STATE_PARTS`, as they were before a batch and as they will be after it."""

    def __init__(self, folder: TableFolder):
        """Read what the last batch has left."""
        self._folder = folder
        small = {f"part_{name}": _as_json(name, STATE_PARTS[name]) for name in SMALL}
        said = F.coalesce(F.sum(F.when(F.col("part") == "vote", F.length("content"))), F.lit(0))
        whole, self._small = kept(folder.fixed(STATE), said=said, **small)
        self._rows = {
            table.name: whole.where(F.col("part") == part).select(*table.columns) for part, table in STATE_PARTS.items()
        }

    @property
    def said_bytes(self) -> int:
        """How long the texts of all open candidates were before the batch."""
        return int(self._small["said"])

    def read(self, table: Table) -> DataFrame:
        """Return the rows of a table."""
        return self._rows[table.name]

    def collect(self, part: str) -> Sequence[Row]:
        """Return the rows of a part of `SMALL` as they were before the batch."""
        columns = STATE_PARTS[part].columns
        return [Row(**{name: row.get(name) for name in columns}) for row in json.loads(self._small[f"part_{part}"])]

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

    def write(self, batch: int) -> None:
        """Replace the table: the batch of this number is done. Nothing is written if one of this number was."""
        parts = (self.read(table).withColumn("part", F.lit(part)) for part, table in STATE_PARTS.items())
        whole = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
        self._folder.overwrite(STATE, self._folder.few(whole), number=batch)


def _as_json(part: str, table: Table) -> Column:
    """Return an aggregate: the rows of a part."""
    return F.to_json(F.collect_list(F.when(F.col("part") == part, F.struct(*table.columns))))
