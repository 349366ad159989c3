"""Which files a run looks at, and what of them a batch takes: a listing beside what the ledger says of each."""

import re
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.common.errors import WrongSetting
from headwater.spark.landing.file_ledger import FileBatch, FileLedger, state_of
from headwater.spark.landing.hadoop_files import HadoopFiles
from headwater.spark.landing.landed_part import MARK_BYTES, NOTHING, OTHER, FilePart, Taken, fits

BATCH_FILES = 5_000
BATCH_BYTES = 256 << 20
PART_BYTES = 32 << 20
"""Of a file of lines as much is read at once; twice as much where that holds no whole line."""

SETTLED_S = 86_400.0
"""A file that was not written to for so long gets no end any more that it lacks."""

FEW_LISTERS = {"spark.sql.sources.parallelPartitionDiscovery.parallelism": "64"}
"""Tasks that list folders: Spark's own 10,000 would be one for each file."""


@dataclass(frozen=True)
class _Waiting:
    """A file that is to be read, and how far it was."""

    file: str
    length: int
    modified_us: int
    before: Taken = NOTHING
    part_bytes: int = PART_BYTES

    @property
    def is_cut(self) -> bool:
        """Whether it is read part by part: only lines can be, and what it holds is told by the first part."""
        is_of_lines = self.before.place.form == "lines" or (
            not self.before.place.form and not self.file.endswith(".gz")
        )
        return is_of_lines and self.length > PART_BYTES

    def part(self, first: int, settled_us: int) -> FilePart:
        """Return the next part of it."""
        offset = self.before.place.position if self.is_cut else 0
        end = min(self.length, offset + self.part_bytes) if self.is_cut else self.length
        settled = self.modified_us < settled_us and end == self.length
        return FilePart(self.file, self.before, end, first, self.modified_us, offset, settled)


def listed(spark: SparkSession, place: str, since_us: int) -> DataFrame:
    """List the files below a place, at any depth: `file`, `length`, `modified_us`; hidden ones are passed over."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true").option("ignoreMissingFiles", "true")
    if since_us:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(since_us / 1e6))
        reader = reader.option("modifiedAfter", moment).option("timeZone", "UTC")
    try:
        found = reader.load(escaped(place))
    except AnalysisException as error:
        raise WrongSetting(f"Cannot list {place}: {str(error).splitlines()[0]} Name a folder that is there.") from error
    files = found.select(F.col("path").alias("file"), "length", F.unix_micros("modificationTime").alias("modified_us"))
    return files.where(r"length > 0 AND file NOT RLIKE '\\.(tmp|inprogress|crc)$'")


def escaped(path: str) -> str:
    """Return a path so that Spark takes none of its characters for a pattern."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


class FilePlans:
    """The batches of one run: the files as they are when it begins, the oldest first."""

    def __init__(self, listing: DataFrame, ledger: FileLedger, files: HadoopFiles):
        """Look which files have something new."""
        self._hadoop = files
        self._settled_us = int((time.time() - SETTLED_S) * 1e6)
        self._found = _changed(listing, ledger.newest(), self._settled_us).persist()
        self._behind = (-1, "")
        self._again: deque[_Waiting] = deque()
        told = self._found.agg(F.count("*"), F.coalesce(F.sum("length"), F.lit(0))).collect()[0]
        self.files, self.bytes = int(told[0]), int(told[1])

    def next(self, number: int, first: int) -> FileBatch | None:
        """Return the next batch, whose records are numbered from `first`; None when all was planned."""
        self._fill()
        parts: list[FilePart] = []
        lengths, size = {}, 0
        while self._again and len(parts) < BATCH_FILES:
            file = self._again[0]
            part = self._same(file).part(first, self._settled_us)
            size += part.end - part.offset
            if parts and size > BATCH_BYTES:
                break
            self._again.popleft()
            parts.append(part)
            lengths[file.file], first = file.length, part.last + 1
        return FileBatch(number, parts, lengths) if parts else None

    def put_back(self, batch: FileBatch, taken: Mapping[str, Taken]) -> None:
        """Put what is left of a batch's files before all others: of those of which a part was read."""
        for part in batch.parts:
            state = taken.get(part.file)
            if state is not None and part.end < batch.lengths[part.file] and state.place.form != OTHER:
                stuck = state.place.position == part.before.place.position
                size = 2 * (part.end - part.offset) if stuck else PART_BYTES
                self._again.appendleft(_Waiting(part.file, batch.lengths[part.file], part.modified_us, state, size))

    def close(self) -> None:
        """Let go of the listing."""
        self._found.unpersist()

    def _fill(self) -> None:
        """Have as many files wait as a batch may take."""
        room = BATCH_FILES - len(self._again)
        if room > 0:
            since_us, file = F.lit(self._behind[0]), F.lit(self._behind[1])
            is_behind = (F.col("modified_us") > since_us) | (
                (F.col("modified_us") == since_us) & (F.col("file") > file)
            )
            for row in self._found.where(is_behind).orderBy("modified_us", "file").limit(room).collect():
                self._behind = (row.modified_us, row.file)
                before = state_of(row) if row.form is not None else NOTHING
                self._again.append(_Waiting(row.file, row.length, row.modified_us, before))

    def _same(self, file: _Waiting) -> _Waiting:
        """Return a file to be read from its beginning if it is another one than was read before under this name."""
        end = file.before.place.position
        if not (file.is_cut and end):
            return file
        before = self._hadoop.read(file.file, begin := max(0, end - MARK_BYTES), end)
        return file if fits(before, end - begin, file.before.mark) else replace(file, before=NOTHING)


def _changed(listing: DataFrame, newest: DataFrame, settled_us: int) -> DataFrame:
    """Return the files of a listing with new content, and their entries in the ledger."""
    now = listing.withColumnsRenamed({"length": "now_length", "modified_us": "now_us"})
    is_new = "batch IS NULL OR now_length != length OR now_us != modified_us OR end < length OR NOT taken"
    is_torn = f"NOT whole AND NOT settled AND now_us < {settled_us}"
    found = now.join(newest, "file", "left").where(f"{is_new} OR ({is_torn})")
    state = ("form", "position", "line", "mark", "whole")
    return found.select("file", F.col("now_length").alias("length"), F.col("now_us").alias("modified_us"), *state)
