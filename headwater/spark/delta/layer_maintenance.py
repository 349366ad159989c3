"""Keep silver and gold small: compact files, and delete unused files and old generations.

Maintenance runs after the last commit of a batch and changes no rows. It can stop at any point and is never reverted.
The table versions that `state` records can always be restored. Maintenance runs while their files are still in use.
Delta keeps files that go out of use later for a day (`spark_delta.RETENTION_PROPERTIES`), and at least until the next
batch is complete.
"""

import logging
from collections.abc import Iterator
from functools import partial

from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from headwater.common.failpoints import reach_failpoint
from headwater.spark.delta.spark_delta import TableFolder, job_description, run_concurrently, spark_settings
from headwater.spark.layer_generations import LAYERS, Folders, remove_old_generations
from headwater.tables import Table

COMPACT_EVERY = 10
"""Number of batches between compactions. Each batch adds a file to every table that grows."""

VACUUM_EVERY = 50
"""Number of batches between vacuums. A vacuum lists all folders, which costs more than a batch."""

_FILES = {
    "spark.databricks.delta.optimize.minFileSize": str(32 << 20),  # larger files are not compacted
    "spark.databricks.delta.optimize.maxFileSize": str(128 << 20),
}

_FOLDERS = {"spark.sql.sources.parallelPartitionDiscovery.parallelism": "8"}
"""Number of tasks that list the folders of a table. The default of 10,000 is too high for a few folders."""

log = logging.getLogger(__name__)


def run_due_maintenance(folders: Folders, batch: int) -> None:
    """Do the maintenance that is due after the batch with this number. Only logs errors: the batch itself is complete.

    Compacts every `COMPACT_EVERY` batches. Vacuums and deletes old generations every `VACUUM_EVERY` batches.
    """
    try:
        if batch % COMPACT_EVERY == 0:
            compact(folders)
        if batch % VACUUM_EVERY == 0:
            vacuum(folders)
            remove_old_generations(folders)
    except (PySparkException, Py4JJavaError) as error:
        log.warning("Maintenance of silver and gold failed and will run again later: %s", str(error).splitlines()[0])


def compact(folders: Folders) -> None:
    """Compact the small files of all tables."""
    with spark_settings(next(iter(folders.values())).spark, _FILES):
        run_concurrently(*(partial(compact_table, folder, table) for folder, table in _tables(folders)))


def vacuum(folders: Folders) -> None:
    """Delete unused files of all tables after their retention time (`spark_delta.RETENTION_PROPERTIES`)."""
    with spark_settings(next(iter(folders.values())).spark, _FOLDERS):
        run_concurrently(*(partial(vacuum_table, folder, table) for folder, table in _tables(folders)))


def _tables(folders: Folders) -> Iterator[tuple[TableFolder, Table]]:
    return ((folder, table) for layer, folder in folders.items() for table in LAYERS[layer])


def compact_table(folder: TableFolder, table: Table) -> None:
    """Compact the small files of one table."""
    with job_description(folder.spark, f"{table.name}: compact"):
        DeltaTable.forPath(folder.spark, folder.uri(table)).optimize().executeCompaction()
    reach_failpoint(f"spark.compacted_{table.name}")


def vacuum_table(folder: TableFolder, table: Table) -> None:
    """Delete unused files of one table after the table's retention time."""
    with job_description(folder.spark, f"{table.name}: vacuum"):
        DeltaTable.forPath(folder.spark, folder.uri(table)).vacuum()
