"""The count file of the local log: stores the newest acknowledged record.

The file is outside the log folder, so it survives the deletion of the log.
"""

import os
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from headwater.common.errors import LogUnavailable

_BYTES = 128  # within one sector and overwritten in place, which works on a full disk


class AcknowledgedRecord(NamedTuple):
    """The newest acknowledged record of a log.

    epoch: the epoch of the log. sequence: 0 before the first record. received_us: time of receipt of the record (us,
    UTC), or 0 if unknown. lake: name of the lake with which the log was compared, empty before the first comparison.
    """

    epoch: str
    sequence: int
    received_us: int = 0
    lake: str = ""


def count_file_path(folder: Path) -> Path:
    """Return the path of the count file: next to the log folder, so that emptying the folder does not delete it."""
    return folder.with_name(f"{folder.name}.acknowledged")


def read_count_file(folder: Path) -> AcknowledgedRecord | None:
    """Return the newest acknowledged record of the log in a folder; None if there is no valid count file.

    Raises LogUnavailable if the file exists and cannot be read.
    """
    try:
        line = count_file_path(folder).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LogUnavailable(
            f"Cannot read the count file of the log: {error}. Restore the file or its permissions."
        ) from error
    content, _, check = line.strip().rpartition(b" ")
    with suppress(ValueError):
        if content and int(check, 16) == crc32(content):
            epoch, sequence, received_us, lake = content.decode().split(" ")
            return AcknowledgedRecord(epoch, int(sequence), int(received_us), lake.lstrip("-"))
    return None  # damaged by a power cut, or another file: then log and lake decide


class CountFile:
    """The count file, opened by the process that writes the log.

    The process writes the file after each commit, but does not sync it. The content survives a killed process. After a
    power cut, the log may contain later records than the count file states, because only the log is synced.
    """

    def __init__(self, folder: Path, count: AcknowledgedRecord):
        """Open the file, then write and sync the first count. Raises LogUnavailable if that fails."""
        self._path = count_file_path(folder)
        with ExitStack() as stack:
            try:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
                stack.callback(self.close)
                self.write(count)
                os.fsync(self._file)
            except OSError as error:
                raise self._write_error(error) from error
            stack.pop_all()

    def write(self, count: AcknowledgedRecord) -> None:
        """Write a count. Raises LogUnavailable if that fails."""
        content = f"{count.epoch} {count.sequence} {count.received_us} -{count.lake}".encode()
        line = b"%b %08x" % (content, crc32(content))
        try:
            os.pwrite(self._file, line.ljust(_BYTES - 1) + b"\n", 0)
        except OSError as error:
            raise self._write_error(error) from error

    def is_deleted(self) -> bool:
        """Whether the file was deleted while open."""
        return not os.fstat(self._file).st_nlink

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _write_error(self, error: OSError) -> LogUnavailable:
        return LogUnavailable(
            f"Cannot write the count file {self._path}: {error}. Free disk space, or restore the disk."
        )
