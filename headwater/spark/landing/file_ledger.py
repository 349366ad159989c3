"""What was taken of which file: a Delta table beside the lake's layers, to which each batch adds two commits.

The first says which parts of which files a batch is to take, and with which numbers, before any of them is read; the
second, behind the lake's own commits, how far they were taken. An attempt that was cut off between the two is made
again over the same bytes, and gives each record the number that it had.
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
from headwater.spark.landing.landed_part import FilePart, Taken
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
"""Here, not beside bronze: no row of silver or gold follows from it, so it is no part of the rules' version."""

_SAID = [name for name in LANDED_FILES.columns if name != "file"]


@dataclass(frozen=True)
class FileBatch:
    """Some parts; lengths: of each file as it was listed."""

    number: int
    parts: Sequence[FilePart]
    lengths: Mapping[str, int]


class FileLedger:
    """The ledger of one log; `root` is its folder."""

    def __init__(self, spark: SparkSession, root: str):
        """Create the table if it is missing."""
        self._folder = TableFolder(spark, root, [LANDED_FILES])
        self._folder.create()
        self.epoch = str(DeltaTable.forPath(spark, self._folder.uri(LANDED_FILES)).detail().collect()[0].id)

    def newest(self) -> DataFrame:
        """Return the newest entry of each file."""
        said = F.max_by(F.struct(*_SAID), F.struct("batch", "taken")).alias("said")
        return self._folder.read(LANDED_FILES).groupBy("file").agg(said).select("file", "said.*")

    def last_batch(self) -> tuple[FileBatch, bool]:
        """Return the newest batch, and whether it was taken; number 0 before the first."""
        rows = self._folder.read(LANDED_FILES)
        number = rows.agg(F.coalesce(F.max("batch"), F.lit(0))).collect()[0][0]
        found = rows.where((F.col("batch") == number) & F.col("first").isNotNull()).collect() if number else []
        planned = [row for row in found if not row.taken]
        batch = FileBatch(number, list(map(_part, planned)), {row.file: row.length for row in planned})
        return batch, len(planned) < len(found) or not planned

    def seed(self, files: DataFrame) -> None:
        """Note files (`file`, `modified_us`) as taken whole before the first batch; once."""
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
        rest = {name: known.get(name) for name in _SAID if name != "modified_us"}
        self._folder.append(LANDED_FILES, files.withColumns({name: F.lit(value) for name, value in rest.items()}))

    def plan(self, batch: FileBatch) -> None:
        """Say what a batch takes, before it is taken."""
        self._append(_row(batch, part, part.before, taken=False) for part in batch.parts)

    def take(self, batch: FileBatch, taken: Mapping[str, Taken]) -> None:
        """Say how far files of a batch were taken; those that have vanished meanwhile are not among them."""
        self._append(_row(batch, part, taken[part.file], taken=True) for part in batch.parts if part.file in taken)
        if batch.number % COMPACT_EVERY == 0:
            compact_table(self._folder, LANDED_FILES)
        if batch.number % VACUUM_EVERY == 0:
            vacuum_table(self._folder, LANDED_FILES)

    def _append(self, rows: Iterable[tuple[Any, ...]]) -> None:
        self._folder.append(LANDED_FILES, self._folder.rows(LANDED_FILES, list(rows)).coalesce(1))


def _row(batch: FileBatch, part: FilePart, state: Taken, *, taken: bool) -> tuple[Any, ...]:
    where = (part.file, batch.lengths[part.file], part.modified_us, part.end, part.first, part.offset, part.settled)
    return (batch.number, taken, *where, *state.place, state.mark, state.whole)


def _part(row: Any) -> FilePart:
    return FilePart(row.file, state_of(row), row.end, row.first, row.modified_us, row.offset, row.settled)


def state_of(row: Any) -> Taken:
    """Return how far a file is taken, by a row of the ledger."""
    return Taken(FilePlace(row.form, row.position, row.line), row.mark, row.whole)
