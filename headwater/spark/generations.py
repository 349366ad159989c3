"""Which generation of silver or gold is in force: other rules are built beside it and switched to at once."""

import time
from collections.abc import Sequence

from pyspark.sql import SparkSession

from headwater.spark.delta import Folder
from headwater.tables import GENERATIONS, Table


def current(spark: SparkSession, root: str, layer: str, tables: Sequence[Table]) -> tuple[Folder, str] | None:
    """Return a layer's tables and the hash of the rules they follow, None before the first run."""
    pointer = Folder(spark, f"{root}/{layer}", [GENERATIONS])
    if not pointer.exists(GENERATIONS):
        return None
    found = pointer.read(GENERATIONS).collect()[0]
    return Folder(spark, f"{root}/{layer}/{found.generation}", tables), found.rules_hash


def begin(spark: SparkSession, root: str, layer: str, tables: Sequence[Table]) -> Folder:
    """Create a generation beside the others; nobody reads it before `switch`."""
    folder = Folder(spark, f"{root}/{layer}/g{time.time_ns() // 1000}", tables)
    folder.create()
    return folder


def switch(folder: Folder, rules_hash: str) -> None:
    """Put a generation in force."""
    root, _, generation = folder.root.rpartition("/")
    pointer = Folder(folder.spark, root, [GENERATIONS])
    pointer.create()
    layer = root.rpartition("/")[2]
    pointer.overwrite(GENERATIONS, pointer.rows(GENERATIONS, [(layer, generation, rules_hash)]))
