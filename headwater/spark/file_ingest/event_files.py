"""Ingest event files into bronze: read the new content of a folder in batches and store each record once."""

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
from headwater.spark.delta.spark_delta import spark_settings
from headwater.spark.delta.storage_place import StoragePlace
from headwater.spark.file_ingest.backfilled_files import seed_ledger
from headwater.spark.file_ingest.file_ledger import FileBatch, FileLedger, position_of_row
from headwater.spark.file_ingest.file_parts import LANDED, OTHER, PARTITION, FilePart, FilePartConverter, FilePosition
from headwater.spark.file_ingest.file_plans import LISTING_SETTINGS, FilePlans, escape_path, list_files
from headwater.spark.file_ingest.hadoop_files import HadoopFiles
from headwater.spark.log_ingest.batch_ingest import BatchIngest, PartitionRange
from headwater.spark.log_ingest.bronze_rows import BronzeRows
from headwater.spark.log_ingest.bronze_writer import SparkBronze

WHOLE_BYTES = 256 << 20
"""Maximum bytes of a file that cannot be read in parts (gzip, or one JSON document). Larger files are skipped."""

_WHOLE = {"spark.sql.execution.arrow.maxRecordsPerBatch": "1", "spark.sql.files.openCostInBytes": str(64 << 10)}
"""Settings for reading files: Python gets one file at a time to limit its memory, and small files share a task.

By default, Spark counts each file as 4 MiB larger than it is and would create more tasks for small files. Several tasks
would convert the same facets repeatedly.
"""

_THREADS = 16

log = logging.getLogger(__name__)

OnProgress = Callable[[int, int, int, int], None]
"""Called after each batch with four numbers: ingested files and bytes, and files and bytes listed at the start."""


class EventFileIngest:
    """Ingests the event files below a folder into a lake. The caller must prevent parallel runs."""

    def __init__(self, spark: SparkSession, lake: str, name: str, place: str):
        """Create the ledger if it is missing. A new ledger contains the files that `headwater spark backfill` ingested.

        lake: folder or URI that contains `bronze`; name: name of the log that the events get in the lake; place: path
        or URI of the folder or file with events.
        """
        self._spark = spark
        self._place = place
        self._hadoop = HadoopFiles(spark)
        self._bronze = SparkBronze(spark, f"{lake}/bronze")
        self._ledger = FileLedger(spark, f"{lake}/ingest/{name}")
        self._copies = f"{lake}/ingest/{name}/parts"
        self._ingest = BatchIngest(spark, self._bronze, name, self._ledger.epoch, None)
        seed_ledger(spark, self._ledger, f"{lake}/backfill/{name}")

    def ingest(self, since_us: int, on_progress: OnProgress) -> dict[str, Any]:
        """Ingest the new content of the files and return four counts.

        since_us: ingest only files that were written at or after this time; 0: all files.
        on_progress: called after each batch.

        The counts of this run are `files` (read to the end) and `bytes` (read). The counts over all runs are `waiting`
        (files with an incomplete event at the end) and `passed_over` (files without events).
        """
        batch, is_complete = self._ledger.last_batch()
        if not is_complete:
            self._ingest_batch(batch)
        with spark_settings(self._spark, LISTING_SETTINGS):
            plans = FilePlans(list_files(self._spark, self._place, since_us), self._ledger, self._hadoop)
        files = done = 0
        while planned := plans.next_batch(batch.number + 1, _next_sequence(batch)):
            batch = planned
            self._copy_large_parts(batch)
            self._ledger.plan(batch)
            positions = self._ingest_batch(batch)
            plans.requeue(batch, positions)
            files += sum(part.end == batch.lengths[part.file] for part in batch.parts)
            done += sum(part.end - part.offset for part in batch.parts)
            on_progress(files, done, plans.files, plans.bytes)
        plans.close()
        return {"files": files, "bytes": done, **self._count_incomplete_and_without_events()}

    def delete(self, keep_s: float) -> int:
        """Delete completely ingested files that were last written more than `keep_s` seconds ago.

        Returns the number of deleted files.
        """
        before_us = int((time.time() - keep_s) * 1e6)
        positions = self._ledger.newest_entries().where(
            f"form != '{OTHER}' AND taken AND whole AND end = length AND modified_us < {before_us}"
        )
        with spark_settings(self._spark, LISTING_SETTINGS):
            now = list_files(self._spark, self._place, 0).select("file")
        rows = positions.join(now, "file", "left_semi").select("file", "length", "modified_us").toLocalIterator()
        deleted = 0
        with ThreadPoolExecutor(_THREADS) as pool:
            while some := [tuple(row) for row in islice(rows, 64 * _THREADS)]:
                deleted += sum(pool.map(lambda file: self._hadoop.delete(*file), some))
        return deleted

    def _ingest_batch(self, batch: FileBatch) -> Mapping[str, FilePosition]:
        """Commit a batch to bronze and then to the ledger. Return the position reached in each file."""
        positions = {part.file: state for part in batch.parts if (state := _position_if_skipped(part)) is not None}
        read = [part for part in batch.parts if part.file not in positions]
        contents = self._read([self._copy_of(part, batch) or part.file for part in read])
        if contents is not None:
            positions |= self._commit_contents(contents, batch)
        self._ledger.complete(batch, positions)
        StoragePlace(self._spark, self._copies).remove(str(batch.number))
        return positions

    def _commit_contents(self, contents: DataFrame, batch: FileBatch) -> Mapping[str, FilePosition]:
        """Commit the content of files to bronze. Return the position reached in each file."""
        parts = {self._copy_of(part, batch) or part.file: part for part in batch.parts}
        positions: dict[str, FilePosition] = {}

        def rows_by(step: BronzeRows | None) -> DataFrame:
            rows = contents.mapInArrow(FilePartConverter(parts, step), LANDED).persist()
            try:
                with spark_settings(self._spark, _WHOLE):
                    positions.update(
                        {row.file: position_of_row(row) for row in rows.where("file IS NOT NULL").collect()}
                    )
            except Exception:
                rows.unpersist()
                raise
            return rows

        first, oldest_us = min(part.first for part in batch.parts), min(part.modified_us for part in batch.parts)
        range_ = PartitionRange(first, _next_sequence(batch) - 1, oldest_us, frozenset())
        if not self._ingest.ingest_rows(rows_by, {PARTITION: range_}, dict, self._bronze.stored_event_ids):
            rows_by(None).unpersist()  # bronze has the whole batch from an interrupted attempt; compute positions only
        return positions

    def _read(self, paths: Sequence[str]) -> DataFrame | None:
        """Return a frame with `path` and `content` of the files that still exist, or None if none exists."""
        reader = self._spark.read.format("binaryFile").option("ignoreMissingFiles", "true")
        while paths:
            try:
                with spark_settings(self._spark, LISTING_SETTINGS):
                    return reader.load([escape_path(path) for path in paths]).select("path", "content")
            except AnalysisException as error:
                if error.getErrorClass() != "PATH_NOT_FOUND":
                    raise
                with ThreadPoolExecutor(_THREADS) as pool:
                    paths = list(compress(paths, pool.map(self._hadoop.exists, paths)))
        return None

    def _copy_large_parts(self, batch: FileBatch) -> None:
        """Copy the parts of large files to files of their own.

        Spark reads only whole files, and a repeated batch must read the same bytes.
        """
        for part in batch.parts:
            if part.end > part.offset and (copy := self._copy_of(part, batch)):
                self._hadoop.copy(part.file, part.offset, part.end, copy)

    def _copy_of(self, part: FilePart, batch: FileBatch) -> str | None:
        """Return the path of a part's copy as Spark lists it. Returns None if the part is the whole file."""
        is_whole = part.offset == 0 and part.end == batch.lengths[part.file]
        return None if is_whole else self._hadoop.qualified_uri(f"{self._copies}/{batch.number}/{part.first}")

    def _count_incomplete_and_without_events(self) -> dict[str, int]:
        """Count the files with an incomplete event at the end (`waiting`) and without events (`passed_over`)."""
        counts = (F.count_if(~F.col("whole")).alias("waiting"), F.count_if(F.col("form") == OTHER).alias("passed_over"))
        return self._ledger.newest_entries().agg(*counts).collect()[0].asDict()


def _position_if_skipped(part: FilePart) -> FilePosition | None:
    """Return the new position in a file if its part is empty or too large to read. Return None if it must be read."""
    if part.end <= part.offset:
        return part.before
    if part.end - part.offset <= WHOLE_BYTES:
        return None
    log.warning("%s is skipped: it is one gzip stream or JSON document of more than 256 MiB. Split it.", part.file)
    return FilePosition(FilePlace(OTHER, part.end), "", whole=True)


def _next_sequence(batch: FileBatch) -> int:
    return max((part.last_sequence for part in batch.parts), default=0) + 1
