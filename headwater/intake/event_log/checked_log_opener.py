"""Opens the files of the local log, after it has checked that the files match the count file and the lake."""

import logging
from contextlib import closing, suppress
from pathlib import Path

from headwater.common.errors import LogUnavailable, Retry
from headwater.common.resources import close_on_error
from headwater.intake.event_log import LakeCheck
from headwater.intake.event_log.acknowledged import AcknowledgedRecord, CountFile, read_count_file
from headwater.intake.event_log.segment_faults import missing_log_error, other_log_error
from headwater.intake.event_log.segment_writer import SegmentWriter
from headwater.intake.event_log.segments import segment_files
from headwater.intake.event_log.sqlite_reader import SqliteLogReader

log = logging.getLogger(__name__)


class CheckedLogOpener:
    """Opens a log folder, opens it again after each failure of its writer, and maintains the count file.

    For one thread.
    """

    def __init__(self, folder: Path, segment_bytes: int, lake: LakeCheck):
        """Store the parameters. `open_segment` opens the files."""
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._lake = lake
        self._compared: str | None = None  # the epoch that this process has compared with the lake
        self._count: AcknowledgedRecord | None = None
        self._file: CountFile | None = None

    def open_segment(self) -> SegmentWriter:
        """Open the newest segment, or create the first one before the first acknowledgement.

        Raises LogUnavailable if that fails or the log cannot be compared with the lake now, and WrongSetting if log and
        lake do not belong together.
        """
        count = self._count or read_count_file(self._folder)
        if not segment_files(self._folder):
            if count:
                raise missing_log_error(self._folder, count.sequence)
            self._compare_with_lake(may_skip=False)
        elif count:
            _check_wal_frames(self._folder)
        with close_on_error(SegmentWriter(self._folder, self._segment_bytes)) as writer:
            epoch = writer.header.epoch
            is_counted = count is not None and count.epoch == epoch
            if count and is_counted:
                _check_has_acknowledged(self._folder, writer, count)
            if self._compared != epoch:
                self._compare_with_lake(may_skip=bool(count and is_counted and count.lake == self._lake.name))
            self._compared = epoch
            self.write_count(writer)
        return writer

    def write_count(self, writer: SegmentWriter) -> None:
        """Write the newest committed record to the count file. Raises LogUnavailable if that fails."""
        self._count = AcknowledgedRecord(writer.header.epoch, *writer.newest_sequence_and_time, self._lake.name)
        if self._file and not self._file.is_deleted():
            self._file.write(self._count)
            return
        self.close()
        self._file = CountFile(self._folder, self._count)

    def close(self) -> None:
        """Close the count file; `write_count` opens it again."""
        if self._file:
            self._file.close()
            self._file = None

    def _compare_with_lake(self, *, may_skip: bool) -> None:
        """Compare the log with the lake.

        may_skip: whether the comparison may be omitted while the lake is unavailable, because the log was compared with
        this lake before.
        """
        try:
            self._lake.check()
        except Retry as error:
            if not may_skip:
                raise LogUnavailable(
                    f"Headwater cannot check yet whether log and lake belong together: {error}"
                ) from error
            log.warning(
                "The lake is unavailable; the log continues, because it was compared with this lake before: %s", error
            )


def _check_wal_frames(folder: Path) -> None:
    """Raise LogDamaged if the `-wal` file of the newest segment is damaged.

    The check must precede the writer, because SQLite deletes the `-wal` file when a writer closes it.
    """
    newest = segment_files(folder)[-1]
    with suppress(FileNotFoundError):
        if Path(f"{newest}-wal").stat().st_size:
            with closing(SqliteLogReader(folder)) as reader:
                reader.tail()


def _check_has_acknowledged(folder: Path, writer: SegmentWriter, count: AcknowledgedRecord) -> None:
    """Raise LogUnavailable unless the log contains the acknowledged record that the count file names."""
    newest, _ = writer.newest_sequence_and_time
    if newest < count.sequence:
        raise other_log_error(folder, f"it ends at sequence {newest}, but {count.sequence} was acknowledged")
    found = writer.received_us(count.sequence)
    if found and count.received_us and found != count.received_us:
        raise other_log_error(
            folder, f"its record {count.sequence} has another time of receipt than the acknowledged one"
        )
