"""Files of events into bronze: what grew since the last time, batch by batch, each record once."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import compress, islice
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.intake.files.file_forms import FilePlace
from headwater.spark.bronze.bronze_rows import BronzeRows
from headwater.spark.bronze.bronze_writer import SparkBronze
from headwater.spark.bronze.spark_ingest import Ingest, Range
from headwater.spark.delta.spark_delta import settings
from headwater.spark.delta.storage_place import StoragePlace
from headwater.spark.landing.backfilled_files import seed
from headwater.spark.landing.file_ledger import FileBatch, FileLedger, state_of
from headwater.spark.landing.file_plans import FEW_LISTERS, FilePlans, escaped, listed
from headwater.spark.landing.hadoop_files import HadoopFiles
from headwater.spark.landing.landed_part import LANDED, OTHER, PARTITION, FilePart, LandedParts, Taken

WHOLE_BYTES = 256 << 20
"""Of gzip, and of a document or list over several lines, no part can be read alone: what is larger is passed over."""

_WHOLE = {"spark.sql.execution.arrow.maxRecordsPerBatch": "1", "spark.sql.files.openCostInBytes": str(64 << 10)}
"""While files are read whole: some at once would be too much for Python; small ones share a task by their bytes.

Spark counts 4 MiB for each, and a task makes the rows of all facets that it meets.
"""

_HANDS = 16

log = logging.getLogger(__name__)

Seen = Callable[[int, int, int, int], None]
"""Is told after each batch: files and bytes that were taken, and how many there were when the run began."""


class LandedFiles:
    """Takes the files below a place into a lake, under a log's name; only one at a time may."""

    def __init__(self, spark: SparkSession, lake: str, name: str, place: str):
        """Make the ledger if it is missing; files that `headwater spark backfill` has taken are in it from then on."""
        self._spark = spark
        self._place = place
        self._hadoop = HadoopFiles(spark)
        self._bronze = SparkBronze(spark, f"{lake}/bronze")
        self._ledger = FileLedger(spark, f"{lake}/ingest/{name}")
        self._copies = f"{lake}/ingest/{name}/parts"
        self._ingest = Ingest(spark, self._bronze, name, self._ledger.epoch, None)
        seed(spark, self._ledger, f"{lake}/backfill/{name}")

    def take(self, since_us: int, seen: Seen) -> dict[str, Any]:
        """Take what is new; since_us: of files that were written to since, 0: of all. Returns how much that was."""
        batch, is_taken = self._ledger.last_batch()
        if not is_taken:
            self._take(batch)
        with settings(self._spark, FEW_LISTERS):
            plans = FilePlans(listed(self._spark, self._place, since_us), self._ledger, self._hadoop)
        files = done = 0
        while planned := plans.next(batch.number + 1, _behind(batch)):
            batch = planned
            self._copy(batch)
            self._ledger.plan(batch)
            taken = self._take(batch)
            plans.put_back(batch, taken)
            files += sum(part.end == batch.lengths[part.file] for part in batch.parts)
            done += sum(part.end - part.offset for part in batch.parts)
            seen(files, done, plans.files, plans.bytes)
        plans.close()
        return {"files": files, "bytes": done, **self._left()}

    def delete(self, keep_s: float) -> int:
        """Delete files that are taken whole and were not written to for so long (s); returns how many."""
        before_us = int((time.time() - keep_s) * 1e6)
        taken = self._ledger.newest().where(
            f"form != '{OTHER}' AND taken AND whole AND end = length AND modified_us < {before_us}"
        )
        with settings(self._spark, FEW_LISTERS):
            now = listed(self._spark, self._place, 0).select("file")
        rows = taken.join(now, "file", "left_semi").select("file", "length", "modified_us").toLocalIterator()
        deleted = 0
        with ThreadPoolExecutor(_HANDS) as pool:
            while some := [tuple(row) for row in islice(rows, 64 * _HANDS)]:
                deleted += sum(pool.map(lambda file: self._hadoop.delete(*file), some))
        return deleted

    def _take(self, batch: FileBatch) -> Mapping[str, Taken]:
        """Bring a batch into the lake, and say so in the ledger."""
        taken = {part.file: state for part in batch.parts if (state := _unread(part)) is not None}
        read = [part for part in batch.parts if part.file not in taken]
        contents = self._read([self._copy_of(part, batch) or part.file for part in read])
        if contents is not None:
            taken |= self._store(contents, batch)
        self._ledger.take(batch, taken)
        StoragePlace(self._spark, self._copies).remove(str(batch.number))
        return taken

    def _store(self, contents: DataFrame, batch: FileBatch) -> Mapping[str, Taken]:
        """Bring what was read of files into the lake; returns how far each is taken."""
        parts = {self._copy_of(part, batch) or part.file: part for part in batch.parts}
        taken: dict[str, Taken] = {}

        def rows_by(step: BronzeRows | None) -> DataFrame:
            rows = contents.mapInArrow(LandedParts(parts, step), LANDED).persist()
            try:
                with settings(self._spark, _WHOLE):
                    taken.update({row.file: state_of(row) for row in rows.where("file IS NOT NULL").collect()})
            except Exception:
                rows.unpersist()
                raise
            return rows

        first, oldest_us = min(part.first for part in batch.parts), min(part.modified_us for part in batch.parts)
        range_ = Range(first, _behind(batch) - 1, oldest_us, frozenset())
        if not self._ingest.take_rows(rows_by, {PARTITION: range_}, dict, self._bronze.known):
            rows_by(None).unpersist()  # an attempt before has brought all into the lake
        return taken

    def _read(self, paths: Sequence[str]) -> DataFrame | None:
        """Return `path`, `content` of files: of those that are still there, None where none is."""
        reader = self._spark.read.format("binaryFile").option("ignoreMissingFiles", "true")
        while paths:
            try:
                with settings(self._spark, FEW_LISTERS):
                    return reader.load([escaped(path) for path in paths]).select("path", "content")
            except AnalysisException as error:
                if error.getErrorClass() != "PATH_NOT_FOUND":
                    raise
                with ThreadPoolExecutor(_HANDS) as pool:
                    paths = list(compress(paths, pool.map(self._hadoop.exists, paths)))
        return None

    def _copy(self, batch: FileBatch) -> None:
        """Copy parts of large files: Spark reads files whole, and an attempt after this one needs the same bytes."""
        for part in batch.parts:
            if part.end > part.offset and (copy := self._copy_of(part, batch)):
                self._hadoop.copy(part.file, part.offset, part.end, copy)

    def _copy_of(self, part: FilePart, batch: FileBatch) -> str | None:
        """Return where a part of a file is copied to, as Spark lists it; None for a file that is read whole."""
        is_whole = part.offset == 0 and part.end == batch.lengths[part.file]
        return None if is_whole else self._hadoop.qualified(f"{self._copies}/{batch.number}/{part.first}")

    def _left(self) -> dict[str, int]:
        """Count files whose end is not there yet, and files that hold no events."""
        counts = (F.count_if(~F.col("whole")).alias("waiting"), F.count_if(F.col("form") == OTHER).alias("passed_over"))
        return self._ledger.newest().agg(*counts).collect()[0].asDict()


def _unread(part: FilePart) -> Taken | None:
    """Return how far a file is taken of which nothing needs to be read, or too much; None for the others."""
    if part.end <= part.offset:
        return part.before
    if part.end - part.offset <= WHOLE_BYTES:
        return None
    log.warning("%s is passed over: it is one gzip stream or document of more than 256 MiB. Split it.", part.file)
    return Taken(FilePlace(OTHER, part.end), "", whole=True)


def _behind(batch: FileBatch) -> int:
    return max((part.last for part in batch.parts), default=0) + 1
