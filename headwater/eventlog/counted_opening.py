"""Opening the log's files: only those that were acknowledged into, and that the lake was fed from."""

import logging
from contextlib import closing, suppress
from pathlib import Path

from headwater.errors import LogUnavailable, Retry
from headwater.eventlog import LakeCheck
from headwater.eventlog.acknowledged import Acknowledged, CountFile, read_count
from headwater.eventlog.segment_faults import is_other, missing
from headwater.eventlog.segment_writer import SegmentWriter
from headwater.eventlog.segments import segment_files
from headwater.eventlog.sqlite_reader import SqliteLogReader
from headwater.opening import or_closed

log = logging.getLogger(__name__)


class CountedOpening:
    """Opens a log folder as often as its writer fails, and counts what is acknowledged; used by one thread."""

    def __init__(self, folder: Path, segment_bytes: int, lake: LakeCheck):
        """Open nothing yet."""
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._lake = lake
        self._compared: str | None = None  # the epoch that this process has held against the lake
        self._count: Acknowledged | None = None
        self._file: CountFile | None = None

    def open(self) -> SegmentWriter:
        """Open the newest segment, or create the first where nothing was acknowledged before.

        Raises LogUnavailable while that cannot be, or nobody knows whether it may be, and WrongSetting where log and
        lake do not belong together.
        """
        count = self._count or read_count(self._folder)
        if not segment_files(self._folder):
            if count:
                raise missing(self._folder, count.sequence)
            self._compare(known=False)
        elif count:
            _check_frames(self._folder)
        with or_closed(SegmentWriter(self._folder, self._segment_bytes)) as writer:
            epoch = writer.header.epoch
            is_counted = count is not None and count.epoch == epoch
            if count and is_counted:
                _check_holds(self._folder, writer, count)
            if self._compared != epoch:
                self._compare(known=bool(count and is_counted and count.lake == self._lake.name))
            self._compared = epoch
            self.acknowledge(writer)
        return writer

    def acknowledge(self, writer: SegmentWriter) -> None:
        """Count all that the writer has committed; raises LogUnavailable."""
        self._count = Acknowledged(writer.header.epoch, *writer.newest, self._lake.name)
        if self._file and not self._file.is_deleted():
            self._file.write(self._count)
            return
        self.close()
        self._file = CountFile(self._folder, self._count)

    def close(self) -> None:
        """Close the count; `acknowledge` opens it again."""
        if self._file:
            self._file.close()
            self._file = None

    def _compare(self, *, known: bool) -> None:
        """Hold the log against the lake; one that cannot be asked is done without where both were `known` before."""
        try:
            self._lake.check()
        except Retry as error:
            if not known:
                raise LogUnavailable(f"Nobody knows yet whether log and lake belong together: {error}") from error
            log.warning(
                "The log goes on with the lake that it was compared with before, which cannot be asked: %s", error
            )


def _check_frames(folder: Path) -> None:
    """Raise LogDamaged for a damaged `-wal` file, before a writer opens it: the writer's end would delete it."""
    newest = segment_files(folder)[-1]
    with suppress(FileNotFoundError):
        if Path(f"{newest}-wal").stat().st_size:
            with closing(SqliteLogReader(folder)) as reader:
                reader.tail()


def _check_holds(folder: Path, writer: SegmentWriter, count: Acknowledged) -> None:
    """Raise LogUnavailable unless the log still holds what it counted last."""
    newest, _ = writer.newest
    if newest < count.sequence:
        raise is_other(folder, f"it ends at sequence {newest}, and had acknowledged up to {count.sequence}")
    found = writer.received_us(count.sequence)
    if found and count.received_us and found != count.received_us:
        raise is_other(folder, f"its record {count.sequence} was received at another time than the one acknowledged")
