"""Generations of silver and gold. Another version of the rules builds its own tables and then replaces the old ones."""

import logging
import re
import time
from collections.abc import Mapping, Sequence

from pyspark.sql import Row, SparkSession

from headwater.spark.delta.spark_delta import TableFolder, settings, together
from headwater.spark.delta.storage_place import StoragePlace
from headwater.spark.delta.versions import SIGNED, said_last
from headwater.tables import BUILDING, GENERATIONS, GOLD, SILVER, Table

log = logging.getLogger(__name__)


KEEP_S = 30 * 86_400.0
"""For so long an old generation is kept: a shortcut may stand on it until somebody makes that anew."""

_GENERATION = re.compile(r"g\d+")
_NAMING = (("silver", GENERATIONS), ("silver", BUILDING), ("gold", GENERATIONS))

LAYERS: Mapping[str, Sequence[Table]] = {"silver": SILVER, "gold": GOLD}

Folders = Mapping[str, TableFolder]
"""Both layers in one generation."""


def current(spark: SparkSession, root: str, rules_hash: str) -> Folders | None:
    """Return what these rules have made and is in force, None where that is of others, and before the first pass."""
    found = in_force(spark, root, "silver")
    return _folders(spark, root, found.generation) if found and found.rules_hash == rules_hash else None


def in_force(spark: SparkSession, root: str, layer: str) -> Row | None:
    """Return a layer's row of `generations`, None before the first pass."""
    return _row(spark, root, layer, GENERATIONS)


def generation(spark: SparkSession, root: str, layer: str, name: str) -> TableFolder:
    """Return a layer's tables in a generation, in force or not."""
    return TableFolder(spark, f"{root}/{layer}/{name}", LAYERS[layer])


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


def remove_old(folders: Folders) -> None:
    """Delete generations that no table names, long after the one in force was put there."""
    spark = folders["silver"].spark
    for folder in folders.values():
        root, _, own = folder.root.rpartition("/")
        place, notes = StoragePlace(spark, root), StoragePlace(spark, f"{root}/{GENERATIONS.name}/_delta_log")
        rows = [_row(spark, root.rpartition("/")[0], *note) for note in _NAMING]
        named = {own, *(row.generation for row in rows if row)}
        switched_s = max(map(notes.changed_s, notes.names()), default=time.time())
        for name in {*filter(_GENERATION.fullmatch, place.names())} - named:
            if time.time() - max(switched_s, int(name[1:]) / 1e6) > KEEP_S:
                log.info("%s/%s is deleted: another one has been in force for 30 days.", root, name)
                place.remove(name)


def _folders(spark: SparkSession, root: str, name: str) -> Folders:
    return {layer: generation(spark, root, layer, name) for layer in LAYERS}


def _row(spark: SparkSession, root: str, layer: str, table: Table) -> Row | None:
    notes = TableFolder(spark, f"{root}/{layer}", [table])
    if not notes.exists(table):
        return None
    name, _, made_by = (said_last(notes, table) or "").partition(" ")
    if _GENERATION.fullmatch(name):  # without a Spark job
        return Row(layer=layer, generation=name, rules_hash=made_by)
    return notes.read(table).collect()[0]


def _note(folder: TableFolder, table: Table, rules_hash: str) -> None:
    root, _, name = folder.root.rpartition("/")
    notes = TableFolder(folder.spark, root, [table])
    notes.create()
    with settings(folder.spark, {SIGNED: f"{name} {rules_hash}"}):
        notes.overwrite(table, notes.rows(table, [(root.rpartition("/")[2], name, rules_hash)]))
