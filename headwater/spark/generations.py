"""Which generation of silver or gold is in force: other rules are built beside it and switched to at once."""

import logging
import time
from collections.abc import Mapping, Sequence

from pyspark.sql import Row, SparkSession

from headwater.spark.delta import Folder, together
from headwater.tables import BUILDING, GENERATIONS, GOLD, SILVER, Table

log = logging.getLogger(__name__)


LAYERS: Mapping[str, Sequence[Table]] = {"silver": SILVER, "gold": GOLD}

Folders = Mapping[str, Folder]
"""Both layers in one generation."""


def current(spark: SparkSession, root: str, rules_hash: str) -> Folders | None:
    """Return what these rules have made and is in force, None where that is of others, and before the first pass."""
    found = in_force(spark, root, "silver")
    return _folders(spark, root, found.generation) if found and found.rules_hash == rules_hash else None


def in_force(spark: SparkSession, root: str, layer: str) -> Row | None:
    """Return a layer's row of `generations`, None before the first pass."""
    return _row(spark, root, layer, GENERATIONS)


def generation(spark: SparkSession, root: str, layer: str, name: str) -> Folder:
    """Return a layer's tables in a generation, in force or not."""
    return Folder(spark, f"{root}/{layer}/{name}", LAYERS[layer])


def begin(spark: SparkSession, root: str, rules_hash: str, *, anew: bool = False) -> Folders:
    """Create a generation beside the others, which nobody reads before `switch`.

    A pass that was cut off before its switch is gone on with, where its rules were these; unless `anew`.
    """
    begun = None if anew else _row(spark, root, "silver", BUILDING)
    if begun and begun.rules_hash == rules_hash:
        folders = _folders(spark, root, begun.generation)
    else:
        folders = _folders(spark, root, f"g{time.time_ns() // 1000}")
        _note(folders["silver"], BUILDING, rules_hash)
    log.info("Rules %s are built in %s, beside what is read until then.", rules_hash, folders["silver"].root)
    together(*(folder.create for folder in folders.values()))
    return folders


def switch(folders: Folders, rules_hash: str) -> None:
    """Put a generation in force: gold, which names its silver; then silver, which the next pass goes on with."""
    name = folders["silver"].root.rpartition("/")[2]
    _note(folders["gold"], GENERATIONS, f"{rules_hash}/{name}")
    _note(folders["silver"], GENERATIONS, rules_hash)
    log.info("%s is in force.", name)


def _folders(spark: SparkSession, root: str, name: str) -> Folders:
    return {layer: generation(spark, root, layer, name) for layer in LAYERS}


def _row(spark: SparkSession, root: str, layer: str, table: Table) -> Row | None:
    notes = Folder(spark, f"{root}/{layer}", [table])
    return notes.read(table).collect()[0] if notes.exists(table) else None


def _note(folder: Folder, table: Table, rules_hash: str) -> None:
    root, _, name = folder.root.rpartition("/")
    notes = Folder(folder.spark, root, [table])
    notes.create()
    notes.overwrite(table, notes.rows(table, [(root.rpartition("/")[2], name, rules_hash)]))
