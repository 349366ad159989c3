"""Compare the listing of a folder with the ledger, and divide the new content of its files into batches."""

import re
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.common.errors import WrongSetting
from headwater.spark.file_ingest.file_ledger import FileBatch, FileLedger, position_of_row
from headwater.spark.file_ingest.file_parts import MARK_BYTES, OTHER, START, FilePart, FilePosition, matches_mark
from headwater.spark.file_ingest.hadoop_files import HadoopFiles

BATCH_FILES = 5_000
BATCH_BYTES = 256 << 20
PART_BYTES = 32 << 20
"""Maximum size in bytes of one part of a file of lines. It is doubled until the part contains a complete line."""

SETTLED_S = 86_400.0
"""Seconds without a write after which the incomplete end of a file is ingested as it is."""

LISTING_SETTINGS = {"spark.sql.sources.parallelPartitionDiscovery.parallelism": "64"}
"""Maximum number of tasks that list folders. With Spark's default of 10,000, each file would get its own task."""


@dataclass(frozen=True)
class _PendingFile:
    """A file to read. before: the position that earlier batches have reached. part_bytes: size of the next part."""

    file: str
    length: int
    modified_us: int
    before: FilePosition = START
    part_bytes: int = PART_BYTES

    @property
    def is_read_in_parts(self) -> bool:
        """Whether the file is read in parts. This is possible only for files of lines.

        A new file without the ending `.gz` counts as a file of lines until its first part has been read.
        """
        is_of_lines = self.before.place.form == "lines" or (
            not self.before.place.form and not self.file.endswith(".gz")
        )
        return is_of_lines and self.length > PART_BYTES

    def next_part(self, first: int, settled_us: int) -> FilePart:
        """Return the next part of the file.

        first: sequence number of the part's first record. settled_us: a file that was last written before this time
        counts as complete, so an incomplete event at its end is ingested.
        """
        offset = self.before.place.position if self.is_read_in_parts else 0
        end = min(self.length, offset + self.part_bytes) if self.is_read_in_parts else self.length
        settled = self.modified_us < settled_us and end == self.length
        return FilePart(self.file, self.before, end, first, self.modified_us, offset, settled)


def list_files(spark: SparkSession, place: str, since_us: int) -> DataFrame:
    """List the files below a folder at any depth, with the columns `file` (path), `length` (bytes) and `modified_us`.

    Omits empty, hidden and temporary files. since_us: also omits files that were last written before this time, unless
    it is 0. Raises WrongSetting if the folder cannot be listed.
    """
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true").option("ignoreMissingFiles", "true")
    if since_us:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(since_us / 1e6))
        reader = reader.option("modifiedAfter", moment).option("timeZone", "UTC")
    try:
        found = reader.load(escape_path(place))
    except AnalysisException as error:
        raise WrongSetting(f"Cannot list {place}: {str(error).splitlines()[0]} Use an existing folder.") from error
    files = found.select(F.col("path").alias("file"), "length", F.unix_micros("modificationTime").alias("modified_us"))
    return files.where(r"length > 0 AND file NOT RLIKE '\\.(tmp|inprogress|crc)$'")


def escape_path(path: str) -> str:
    """Escape the characters of a path that Spark would interpret as a pattern."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


class FilePlans:
    """Divides the files that an ingest run listed at its start into batches, oldest files first.

    files, bytes: number and total size of the listed files with new content.
    """

    def __init__(self, listing: DataFrame, ledger: FileLedger, files: HadoopFiles):
        """Find the files of a listing that have new content. listing: rows as `list_files` returns them."""
        self._hadoop = files
        self._settled_us = int((time.time() - SETTLED_S) * 1e6)
        self._found = _files_with_new_content(listing, ledger.newest_entries(), self._settled_us).persist()
        self._after = (-1, "")
        self._queue: deque[_PendingFile] = deque()
        totals = self._found.agg(F.count("*"), F.coalesce(F.sum("length"), F.lit(0))).collect()[0]
        self.files, self.bytes = int(totals[0]), int(totals[1])

    def next_batch(self, number: int, first: int) -> FileBatch | None:
        """Return the next batch, or None if all files are planned.

        number: number of the batch. first: sequence number of the batch's first record.
        """
        self._fill_queue()
        parts: list[FilePart] = []
        lengths, size = {}, 0
        while self._queue and len(parts) < BATCH_FILES:
            file = self._queue[0]
            part = self._reset_if_replaced(file).next_part(first, self._settled_us)
            size += part.end - part.offset
            if parts and size > BATCH_BYTES:
                break
            self._queue.popleft()
            parts.append(part)
            lengths[file.file], first = file.length, part.last_sequence + 1
        return FileBatch(number, parts, lengths) if parts else None

    def requeue(self, batch: FileBatch, positions: Mapping[str, FilePosition]) -> None:
        """Put the files of a batch that have remaining content at the front of the queue.

        positions: the position that the batch has reached in each file, by path.
        """
        for part in batch.parts:
            state = positions.get(part.file)
            if state is not None and part.end < batch.lengths[part.file] and state.place.form != OTHER:
                stuck = state.place.position == part.before.place.position
                size = 2 * (part.end - part.offset) if stuck else PART_BYTES
                self._queue.appendleft(_PendingFile(part.file, batch.lengths[part.file], part.modified_us, state, size))

    def close(self) -> None:
        """Release the persisted listing."""
        self._found.unpersist()

    def _fill_queue(self) -> None:
        """Fill the queue up to the maximum number of files in one batch."""
        room = BATCH_FILES - len(self._queue)
        if room > 0:
            since_us, file = F.lit(self._after[0]), F.lit(self._after[1])
            is_after = (F.col("modified_us") > since_us) | ((F.col("modified_us") == since_us) & (F.col("file") > file))
            for row in self._found.where(is_after).orderBy("modified_us", "file").limit(room).collect():
                self._after = (row.modified_us, row.file)
                before = position_of_row(row) if row.form is not None else START
                self._queue.append(_PendingFile(row.file, row.length, row.modified_us, before))

    def _reset_if_replaced(self, file: _PendingFile) -> _PendingFile:
        """Return the file with its position reset to the start if another file has replaced it since the last batch."""
        end = file.before.place.position
        if not (file.is_read_in_parts and end):
            return file
        before = self._hadoop.read(file.file, begin := max(0, end - MARK_BYTES), end)
        return file if matches_mark(before, end - begin, file.before.mark) else replace(file, before=START)


def _files_with_new_content(listing: DataFrame, newest: DataFrame, settled_us: int) -> DataFrame:
    """Return the files of a listing that have new content, with the position that the ledger records for each file.

    newest: the newest entry of each file in the ledger. settled_us: files that were last written before this time and
    have an incomplete event at the end are returned, too.
    """
    now = listing.withColumnsRenamed({"length": "now_length", "modified_us": "now_us"})
    is_new = "batch IS NULL OR now_length != length OR now_us != modified_us OR end < length OR NOT taken"
    is_torn = f"NOT whole AND NOT settled AND now_us < {settled_us}"
    found = now.join(newest, "file", "left").where(f"{is_new} OR ({is_torn})")
    state = ("form", "position", "line", "mark", "whole")
    return found.select("file", F.col("now_length").alias("length"), F.col("now_us").alias("modified_us"), *state)
