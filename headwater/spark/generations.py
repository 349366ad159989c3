"""Which generation of silver or gold is in force: other rules are built beside it and switched to at once."""

import logging
import time
from collections.abc import Sequence

from pyspark.sql import Row, SparkSession

from headwater.spark.delta import Folder
from headwater.tables import BUILDING, GENERATIONS, Table

log = logging.getLogger(__name__)


def current(spark: SparkSession, root: str, layer: str, tables: Sequence[Table]) -> tuple[Folder, str] | None:
    """Return a layer's tables and the hash of the rules they follow, None before the first run."""
    found = _row(spark, root, layer, GENERATIONS)
    return (generation(spark, root, layer, found.generation, tables), found.rules_hash) if found else None


def generation(spark: SparkSession, root: str, layer: str, name: str, tables: Sequence[Table]) -> Folder:
    """Return a layer's tables in a generation, in force or not."""
    return Folder(spark, f"{root}/{layer}/{name}", tables)


def beside(
    spark: SparkSession, root: str, layer: str, tables: Sequence[Table], rules_hash: str, *, anew: bool = False
) -> Folder:
    """Create a generation beside the others, which nobody reads before `switch`.

    A run that was cut off before its switch is gone on with, where its rules were these; unless `anew`.
    """
    begun = None if anew else _row(spark, root, layer, BUILDING)
    if begun and begun.rules_hash == rules_hash:
        folder = generation(spark, root, layer, begun.generation, tables)
    else:
        folder = generation(spark, root, layer, f"g{time.time_ns() // 1000}", tables)
        _note(folder, BUILDING, rules_hash)
    log.info("%s of rules %s is built in %s, beside what is read until then.", layer, rules_hash, folder.root)
    folder.create()
    return folder


def switch(folder: Folder, rules_hash: str) -> None:
    """Put a generation in force."""
    _note(folder, GENERATIONS, rules_hash)
    log.info("%s is in force.", folder.root)


def _row(spark: SparkSession, root: str, layer: str, table: Table) -> Row | None:
    notes = Folder(spark, f"{root}/{layer}", [table])
    return notes.read(table).collect()[0] if notes.exists(table) else None


def _note(folder: Folder, table: Table, rules_hash: str) -> None:
    root, _, name = folder.root.rpartition("/")
    notes = Folder(folder.spark, root, [table])
    notes.create()
    notes.overwrite(table, notes.rows(table, [(root.rpartition("/")[2], name, rules_hash)]))
