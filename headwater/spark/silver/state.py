"""The table `state`: what a pass must know from earlier events. The last commit of a batch appends rows to it.

For each key, the row with the highest batch applies. A step reads only rows with the keys of its batch; of other rows,
Spark scans only the key columns. Every `COMPACT_EVERY` batches, a batch compacts the table to one row for each key.
"""

import json
from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812

from headwater.spark.delta.missing_columns import with_nulls
from headwater.spark.delta.spark_delta import TableFolder, conform, spark_schema
from headwater.spark.layer_positions import LayerPosition, read_position
from headwater.tables import EDGE_RUNS, FACETS, JOBS, STATE, STATE_KEYS, STATE_PARTS, Table

SMALL = ("position", "binding", "finding")
"""Parts with rows that the driver collects as JSON. They contain no timestamps, which JSON would format differently."""

COMPACT_EVERY = 16
"""Number of batches between two compactions. The table contains at most about this many rows of each key.

A batch that reads more bytes than `state` contains also compacts the table. This at most doubles the cost of the batch.
"""

STATE_COPIES = (JOBS, FACETS, EDGE_RUNS)
"""Public tables that are copies of a part of `state` and would change with each batch."""

COPY_SHARE = 32
"""Divisor of `task_bytes` for the size limit of a copy (1 MB). A batch writes a copy only up to this size.

Larger copies are written only by compactions and by passes without new events.
"""

_PARTS = {table.name: part for part, table in STATE_PARTS.items()}
_WITH_NULLS = ("binding",)
"""Parts whose key columns may be null."""


class SilverState:
    """Rows of the tables `STATE_PARTS`, before a batch and with the changes of the batch.

    position: the position after the last batch. compacts: this batch compacts the table.
    """

    position: LayerPosition
    compacts = False

    def __init__(self, folder: TableFolder):
        """List the files of the table, and collect positions, bindings and findings."""
        self._folder = folder
        self._stored = folder.rows_by_partition(STATE)
        self._added: dict[str, DataFrame] = {}
        self._small = self._newest_small()
        self.position = read_position(self.collect_part("position"))

    @property
    def size(self) -> int:
        """Bytes of the files of the table before the batch."""
        return sum(part.size for part in self._stored.values())

    def updates_copy(self, table: Table) -> bool:
        """Return whether this batch writes the given table of `STATE_COPIES`."""
        part, _ = _part_of(table)
        return self.compacts or self._size(part) <= self._folder.task_bytes // COPY_SHARE

    def read(self, table: Table) -> DataFrame:
        """Return all rows of a table, with the changes of the batch so far."""
        part, keys = _part_of(table)
        stored = self._part(part)
        if part not in self._added and self.position.batch == self.position.compacted:
            return self._folder.coalesce_by_size(stored.select(*table.columns), self._size(part))
        is_recent = F.col("batch") > self.position.compacted
        recent = stored.where(is_recent)
        recent = recent.unionByName(self._added[part]) if part in self._added else recent
        before, size, nulls = stored.where(~is_recent), self._size(part), part in _WITH_NULLS
        recent = self._folder.coalesce_if_small(recent) if size <= self._folder.task_bytes else recent.repartition(1)
        stays = self._folder.rows_with_keys(before, recent, keys, "left_anti", size=size, nulls=nulls)
        return self._folder.coalesce_by_size(
            stays.select(*table.columns).unionByName(_newest_of(recent, table, keys)), size
        )

    def lookup(self, table: Table, keys: DataFrame, by: Sequence[str]) -> DataFrame:
        """Return the rows of a table with values in the columns `by` that occur in `keys`.

        The result includes the changes of the batch so far. All rows of one key of the table must have the same values
        in the columns `by`.
        """
        part, key_columns = _part_of(table)
        wanted = self._folder.coalesce_if_small(keys.select(*by))
        rows = self._folder.rows_with_keys(self._part(part), wanted, by, size=self._size(part))
        if part in self._added:
            rows = rows.unionByName(self._folder.rows_with_keys(self._added[part], wanted, by, size=0))
        elif self.position.batch == self.position.compacted:
            return rows.select(*table.columns)
        return _newest_of(self._folder.coalesce_if_small(rows), table, key_columns)

    def collect_part(self, part: str) -> Sequence[Row]:
        """Return the rows of a part in `SMALL`, before the batch."""
        return self._small[part]

    def put(self, table: Table, rows: DataFrame, *, when: str = "") -> None:
        """Insert rows into a table, replacing stored rows with equal keys.

        A row with the value true in the optional column `gone` deletes the stored row. when: SQL condition under which
        a new row `s` replaces a stored row `t`; by default, every new row does.
        """
        part, keys = _part_of(table)
        if when:
            equal = " AND ".join(f"t.{key} <=> s.{key}" for key in keys)
            before = self.lookup(table, rows, keys)
            rows = rows.alias("s").join(before.alias("t"), F.expr(f"{equal} AND NOT ({when})"), "left_anti")
        gone = F.col("gone") if "gone" in rows.columns else F.lit(False)
        rows = rows.withColumn("gone", gone)
        rows = rows.withColumn("batch", F.lit(self.position.batch + 1))
        fresh = conform(rows, _stored_table(table))
        if part in self._added:
            nulls = part in _WITH_NULLS
            others = self._folder.rows_with_keys(self._added[part], fresh, keys, "left_anti", size=0, nulls=nulls)
            fresh = fresh.unionByName(others)
        self._added[part] = self._folder.coalesce_if_small(fresh)

    def write(self, batch: int) -> None:
        """Commit the batch with this number, which completes it. Does nothing if it is committed already."""
        if self.compacts:
            parts = [self.read(table).withColumn("part", F.lit(part)) for part, table in STATE_PARTS.items()]
        else:
            parts = [rows.withColumn("part", F.lit(part)) for part, rows in self._added.items()]
        rows = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
        size = self.size if self.compacts else 0
        rows = self._folder.coalesce_by_size(rows.withColumn("batch", F.coalesce("batch", F.lit(batch))), size)
        rows = with_nulls(rows, spark_schema(STATE)).na.fill(False, ["gone"])
        if self.compacts:
            self._folder.overwrite(STATE, rows, number=batch)
        else:
            self._folder.append(STATE, rows, number=batch)

    def _part(self, part: str) -> DataFrame:
        table = _stored_table(STATE_PARTS[part])
        if part not in self._stored:
            return self._folder.frame_of_rows(table, [])
        return self._stored[part].rows.select(*table.columns)

    def _size(self, part: str) -> int:
        return self._stored[part].size if part in self._stored else 0

    def _newest_small(self) -> Mapping[str, Sequence[Row]]:
        """Return the newest row of each key, by part in `SMALL`. The driver collects all rows of these parts."""
        found: dict[str, dict[tuple[object, ...], dict[str, object]]] = {part: {} for part in SMALL}
        parts = [
            self._part(part).select(F.lit(part).alias("part"), F.to_json(F.struct("*")).alias("row"))
            for part in SMALL
            if part in self._stored
        ]
        texts = self._folder.coalesce_if_small(reduce(DataFrame.unionByName, parts)).collect() if parts else ()
        for part, row in sorted(((part, json.loads(text)) for part, text in texts), key=lambda each: each[1]["batch"]):
            found[part][tuple(row.get(name) for name in STATE_KEYS[part])] = row
        return {
            part: [
                Row(**{name: row.get(name) for name in STATE_PARTS[part].columns})
                for row in rows.values()
                if not row.get("gone")
            ]
            for part, rows in found.items()
        }


def newest_rows(rows: DataFrame, table: Table) -> DataFrame:
    """Return the rows of a table from rows of `state`, for readers outside a pass."""
    part, keys = _part_of(table)
    return _newest_of(rows.where(F.col("part") == part), table, keys)


def _part_of(table: Table) -> tuple[str, Sequence[str]]:
    part = _PARTS[table.name]
    return part, STATE_KEYS[part]


def _stored_table(table: Table) -> Table:
    """Return the columns of `state` that store the rows of a table."""
    return Table(table.name, {**table.columns, "batch": "long", "gone": "boolean"})


def _newest_of(rows: DataFrame, table: Table, keys: Sequence[str]) -> DataFrame:
    """Return the newest row of each key, unless it is `gone`. Rows of older releases have null in `gone`."""
    rest = [name for name in _stored_table(table).columns if name not in keys]
    newest = F.max_by(F.struct(*rest), "batch").alias("newest")
    found = rows.groupBy(*keys).agg(newest).where("NOT coalesce(newest.gone, false)")
    return found.select(*(F.col(name if name in keys else f"newest.{name}") for name in table.columns))
