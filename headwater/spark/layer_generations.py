"""Manage generations of silver and gold. If the rules change, a pass builds new tables that replace the old tables."""

import logging
import re
import time
from collections.abc import Mapping, Sequence

from pyspark.sql import Row, SparkSession

from headwater.spark.delta.spark_delta import TableFolder, run_concurrently, spark_settings
from headwater.spark.delta.storage_place import StoragePlace
from headwater.spark.delta.versions import COMMIT_METADATA_SETTING, newest_signature
from headwater.tables import BUILDING, GENERATIONS, GOLD, SILVER, Table

log = logging.getLogger(__name__)


KEEP_S = 30 * 86_400.0
"""Seconds for which old generations are kept, because a shortcut refers to one until a user changes the shortcut."""

_GENERATION = re.compile(r"g\d+")
_POINTER_TABLES = (("silver", GENERATIONS), ("silver", BUILDING), ("gold", GENERATIONS))

LAYERS: Mapping[str, Sequence[Table]] = {"silver": SILVER, "gold": GOLD}

Folders = Mapping[str, TableFolder]
"""The tables of both layers in one generation, by name of the layer (`silver`, `gold`)."""


def current_generation(spark: SparkSession, root: str, rules_hash: str) -> Folders | None:
    """Return the current generation if these rules built it. Returns None otherwise, and before the first pass.

    root: the folder or URI of the lake.
    """
    found = current_generation_row(spark, root, "silver")
    return _generation_folders(spark, root, found.generation) if found and found.rules_hash == rules_hash else None


def current_generation_row(spark: SparkSession, root: str, layer: str) -> Row | None:
    """Return the row in `GENERATIONS` about a layer's current generation, or None before the first pass."""
    return _row(spark, root, layer, GENERATIONS)


def generation_folder(spark: SparkSession, root: str, layer: str, name: str) -> TableFolder:
    """Return the tables of a layer in a generation, which need not be the current one."""
    return TableFolder(spark, f"{root}/{layer}/{name}", LAYERS[layer])


def begin_or_continue_generation(
    spark: SparkSession, root: str, rules_hash: str, *, force_new: bool = False
) -> Folders:
    """Create a new generation, or continue the one that an interrupted pass started with the same rules.

    Readers ignore the new generation until `switch_generation`. force_new: always create a new generation.
    """
    interrupted = None if force_new else _row(spark, root, "silver", BUILDING)
    if interrupted and interrupted.rules_hash == rules_hash:
        folders = _generation_folders(spark, root, interrupted.generation)
    else:
        folders = _generation_folders(spark, root, f"g{time.time_ns() // 1000}")
        _write_pointer(folders["silver"], BUILDING, rules_hash)
    log.info(
        "Building tables for rules %s in %s. Readers use the old ones until the switch.",
        rules_hash,
        folders["silver"].root,
    )
    run_concurrently(*(folder.create for folder in folders.values()))
    return folders


def switch_generation(folders: Folders, rules_hash: str) -> None:
    """Make a generation the current one, first in gold and then in silver.

    The row of gold names the generation of silver that it was built from. The next pass reads the row of silver.
    """
    name = folders["silver"].root.rpartition("/")[2]
    _write_pointer(folders["gold"], GENERATIONS, f"{rules_hash}/{name}")
    _write_pointer(folders["silver"], GENERATIONS, rules_hash)
    log.info("Switched to generation %s.", name)


def remove_old_generations(folders: Folders) -> None:
    """Delete generations that `GENERATIONS` and `BUILDING` do not name, `KEEP_S` seconds after the last switch."""
    spark = folders["silver"].spark
    for folder in folders.values():
        root, _, own_name = folder.root.rpartition("/")
        place, pointers = StoragePlace(spark, root), StoragePlace(spark, f"{root}/{GENERATIONS.name}/_delta_log")
        rows = [_row(spark, root.rpartition("/")[0], *note) for note in _POINTER_TABLES]
        named = {own_name, *(row.generation for row in rows if row)}
        switched_s = max(map(pointers.modified_s, pointers.names()), default=time.time())
        for name in {*filter(_GENERATION.fullmatch, place.names())} - named:
            if time.time() - max(switched_s, int(name[1:]) / 1e6) > KEEP_S:
                log.info("Deleting generation %s/%s: it was replaced more than 30 days ago.", root, name)
                place.remove(name)


def _generation_folders(spark: SparkSession, root: str, name: str) -> Folders:
    return {layer: generation_folder(spark, root, layer, name) for layer in LAYERS}


def _row(spark: SparkSession, root: str, layer: str, table: Table) -> Row | None:
    pointers = TableFolder(spark, f"{root}/{layer}", [table])
    if not pointers.exists(table):
        return None
    name, _, rules_hash = (newest_signature(pointers, table) or "").partition(" ")
    if _GENERATION.fullmatch(name):  # without a Spark job
        return Row(layer=layer, generation=name, rules_hash=rules_hash)
    return pointers.read(table).collect()[0]


def _write_pointer(folder: TableFolder, table: Table, rules_hash: str) -> None:
    root, _, name = folder.root.rpartition("/")
    pointers = TableFolder(folder.spark, root, [table])
    pointers.create()
    with spark_settings(folder.spark, {COMMIT_METADATA_SETTING: f"{name} {rules_hash}"}):
        pointers.overwrite(table, pointers.frame_of_rows(table, [(root.rpartition("/")[2], name, rules_hash)]))
