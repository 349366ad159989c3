"""Keeping silver and gold small: few files a table, no files that nobody reads, no generations of long ago.

It follows the last commit of a batch and changes no rows, so that it may be cut off anywhere and is never taken back.
What `state` names can always be restored: those are files in use when this is done, and files that go out of use later
are kept for a day (`delta.KEPT`), or for as long as no batch is done.
"""

import logging
from collections.abc import Iterator
from functools import partial

from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from headwater.common.failpoints import reach
from headwater.spark.delta.spark_delta import TableFolder, described, settings, together
from headwater.spark.layer_generations import LAYERS, Folders, remove_old
from headwater.tables import Table

COMPACT_EVERY = 10
"""Batches; each adds a file to what grows."""

VACUUM_EVERY = 50
"""Batches: to look through all folders costs more than one batch."""

_FILES = {
    "spark.databricks.delta.optimize.minFileSize": str(32 << 20),  # from here on a file is left alone
    "spark.databricks.delta.optimize.maxFileSize": str(128 << 20),
}

_FOLDERS = {"spark.sql.sources.parallelPartitionDiscovery.parallelism": "8"}
"""Tasks that list a table's folders: 10,000 otherwise, for a handful of folders."""

log = logging.getLogger(__name__)


def maintain(folders: Folders, batch: int) -> None:
    """Do what is due after a batch of this number; what fails is put off, because the batch itself is done."""
    try:
        if batch % COMPACT_EVERY == 0:
            compact(folders)
        if batch % VACUUM_EVERY == 0:
            vacuum(folders)
            remove_old(folders)
    except (PySparkException, Py4JJavaError) as error:
        log.warning("Maintenance of silver and gold is put off: %s", str(error).splitlines()[0])


def compact(folders: Folders) -> None:
    """Join small files of every table."""
    with settings(next(iter(folders.values())).spark, _FILES):
        together(*(partial(compact_table, folder, table) for folder, table in _tables(folders)))


def vacuum(folders: Folders) -> None:
    """Delete the files that went out of use longer ago than the tables say (`delta.KEPT`)."""
    with settings(next(iter(folders.values())).spark, _FOLDERS):
        together(*(partial(vacuum_table, folder, table) for folder, table in _tables(folders)))


def _tables(folders: Folders) -> Iterator[tuple[TableFolder, Table]]:
    return ((folder, table) for layer, folder in folders.items() for table in LAYERS[layer])


def compact_table(folder: TableFolder, table: Table) -> None:
    """Join small files of a table."""
    with described(folder.spark, f"{table.name}: compact"):
        DeltaTable.forPath(folder.spark, folder.uri(table)).optimize().executeCompaction()
    reach(f"spark.compacted_{table.name}")


def vacuum_table(folder: TableFolder, table: Table) -> None:
    """Delete the files of a table that went out of use long enough ago."""
    with described(folder.spark, f"{table.name}: vacuum"):
        DeltaTable.forPath(folder.spark, folder.uri(table)).vacuum()
