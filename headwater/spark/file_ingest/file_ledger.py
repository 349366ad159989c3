"""Record how far each file has been ingested, in a Delta table outside the layers of the lake.

Each batch makes two commits to this table. The first commit, before any file is read, contains the parts of files that
the batch reads and the sequence numbers of their records. The second commit, after the commits to bronze, contains the
position reached in each file. If a batch is interrupted between these commits, the next run repeats it with the same
bytes and the same sequence numbers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.intake.files.file_forms import FilePlace
from headwater.spark.delta.layer_maintenance import COMPACT_EVERY, VACUUM_EVERY, compact_table, vacuum_table
from headwater.spark.delta.spark_delta import TableFolder
from headwater.spark.file_ingest.file_parts import FilePart, FilePosition
from headwater.tables import Table

LANDED_FILES = Table(
    "landed_files",
    {
        "batch": "long",
        "taken": "boolean",
        "file": "string",
        "length": "long",
        "modified_us": "long",
        "end": "long",
        "first": "long",
        "offset": "long",
        "settled": "boolean",
        "form": "string",
        "position": "long",
        "line": "long",
        "mark": "string",
        "whole": "boolean",
    },
)
"""The table of the ledger: one row per file and commit. taken: whether the row is from the second commit of its batch.

The table is not declared in `headwater.tables`: silver and gold need no rebuild if its columns change.
"""

_STATE_COLUMNS = [name for name in LANDED_FILES.columns if name != "file"]


@dataclass(frozen=True)
class FileBatch:
    """A numbered batch of file parts. lengths: the length of each file in bytes when the file was listed."""

    number: int
    parts: Sequence[FilePart]
    lengths: Mapping[str, int]


class FileLedger:
    """The ledger of one log. epoch: the id of the ledger's Delta table, which is also the epoch of the log."""

    def __init__(self, spark: SparkSession, root: str):
        """Create the ledger's table if it is missing. root: folder or URI that contains the table."""
        self._folder = TableFolder(spark, root, [LANDED_FILES])
        self._folder.create()
        self.epoch = str(DeltaTable.forPath(spark, self._folder.uri(LANDED_FILES)).detail().collect()[0].id)

    def newest_entries(self) -> DataFrame:
        """Return the newest entry of each file."""
        newest = F.max_by(F.struct(*_STATE_COLUMNS), F.struct("batch", "taken")).alias("newest")
        return self._folder.read(LANDED_FILES).groupBy("file").agg(newest).select("file", "newest.*")

    def last_batch(self) -> tuple[FileBatch, bool]:
        """Return the newest batch and whether it is complete. If the ledger is empty, the batch has the number 0."""
        rows = self._folder.read(LANDED_FILES)
        number = rows.agg(F.coalesce(F.max("batch"), F.lit(0))).collect()[0][0]
        found = rows.where((F.col("batch") == number) & F.col("first").isNotNull()).collect() if number else []
        planned = [row for row in found if not row.taken]
        batch = FileBatch(number, list(map(_part_of_row, planned)), {row.file: row.length for row in planned})
        return batch, len(planned) < len(found) or not planned

    def record_ingested_files(self, files: DataFrame) -> None:
        """Record that batch 1 has completely ingested these files. Call this method only for an empty ledger.

        files: rows with the columns `file` (path) and `modified_us` (modification time).
        """
        known = {
            "taken": True,
            "whole": True,
            "settled": False,
            "batch": 1,
            "position": 0,
            "line": 0,
            "form": "",
            "mark": "",
        }
        rest = {name: known.get(name) for name in _STATE_COLUMNS if name != "modified_us"}
        self._folder.append(LANDED_FILES, files.withColumns({name: F.lit(value) for name, value in rest.items()}))

    def plan(self, batch: FileBatch) -> None:
        """Record the parts of a batch before it is read."""
        self._append(_ledger_row(batch, part, part.before, taken=False) for part in batch.parts)

    def complete(self, batch: FileBatch, positions: Mapping[str, FilePosition]) -> None:
        """Record the position reached in each file of a batch. Every few batches, also compact and vacuum the table.

        positions: by path of the file. Files that were deleted in the meantime have no entry.
        """
        self._append(
            _ledger_row(batch, part, positions[part.file], taken=True) for part in batch.parts if part.file in positions
        )
        if batch.number % COMPACT_EVERY == 0:
            compact_table(self._folder, LANDED_FILES)
        if batch.number % VACUUM_EVERY == 0:
            vacuum_table(self._folder, LANDED_FILES)

    def _append(self, rows: Iterable[tuple[Any, ...]]) -> None:
        self._folder.append(LANDED_FILES, self._folder.frame_of_rows(LANDED_FILES, list(rows)).coalesce(1))


def _ledger_row(batch: FileBatch, part: FilePart, state: FilePosition, *, taken: bool) -> tuple[Any, ...]:
    where = (part.file, batch.lengths[part.file], part.modified_us, part.end, part.first, part.offset, part.settled)
    return (batch.number, taken, *where, *state.place, state.mark, state.whole)


def _part_of_row(row: Any) -> FilePart:
    return FilePart(row.file, position_of_row(row), row.end, row.first, row.modified_us, row.offset, row.settled)


def position_of_row(row: Any) -> FilePosition:
    """Return the position in a file from a row of the ledger."""
    return FilePosition(FilePlace(row.form, row.position, row.line), row.mark, row.whole)
