"""A batch is done as a whole or not at all: what one that was cut off has written is taken back before the next one.

The last commit of a batch names the version of every table. Reading and writing then need no care for halves: what a
batch finds is what the one before has left, and it may take events that have come since.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from delta.tables import DeltaTable

from headwater.errors import WrongSetting
from headwater.spark.delta import Folder, together
from headwater.tables import Table

log = logging.getLogger(__name__)

Versions = Mapping[str, int]
"""By `layer/table` the number of its newest commit."""

_COMMIT = re.compile(r"(\d{20})\.json")


def versions(folders: Mapping[str, Folder], tables: Mapping[str, Sequence[Table]]) -> Versions:
    """Look up how far tables are, in their logs' folders: Spark has no part in it."""
    return {
        f"{layer}/{table.name}": newest(folder, table) for layer, folder in folders.items() for table in tables[layer]
    }


def newest(folder: Folder, table: Table) -> int:
    """Return the number of a table's newest commit."""
    context: Any = folder.spark.sparkContext
    place = context._jvm.org.apache.hadoop.fs.Path(f"{folder.uri(table)}/_delta_log")
    files = place.getFileSystem(context._jsc.hadoopConfiguration()).listStatus(place)
    names = (_COMMIT.fullmatch(file.getPath().getName()) for file in files)
    return max(int(name[1]) for name in names if name)


def put_back(folders: Mapping[str, Folder], before: Versions, now: Versions) -> None:
    """Take tables that went on to the versions where they were."""
    steps = []
    for key, version in before.items():
        layer, _, name = key.partition("/")
        if now[key] < version:
            raise WrongSetting(f"{folders[layer].root}/{name} is older than the last pass. Run it with --rebuild.")
        if now[key] > version:
            log.warning("A pass was cut off: %s/%s goes back to version %d.", folders[layer].root, name, version)
            steps.append(partial(_restore, folders[layer], name, version))
    together(*steps)


def _restore(folder: Folder, name: str, version: int) -> None:
    DeltaTable.forPath(folder.spark, f"{folder.root}/{name}").restoreToVersion(version)
