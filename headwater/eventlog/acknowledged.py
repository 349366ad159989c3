"""What the log on our own disk has acknowledged, counted beside its folder: the count outlives the log's files."""

import os
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from headwater.errors import LogUnavailable

_BYTES = 128  # within one sector, written in place: a disk that is full takes it, too


class Acknowledged(NamedTuple):
    """The newest record that was acknowledged.

    epoch, sequence: its place, 0 before the first; received_us: when it was received (UTC), 0 where nobody knows;
    lake: which lake the log was compared with, as its opener calls it; empty for none yet.
    """

    epoch: str
    sequence: int
    received_us: int = 0
    lake: str = ""


def count_path(folder: Path) -> Path:
    """Return where the count of a log lies: beside its folder, so that who empties that does not take the count too."""
    return folder.with_name(f"{folder.name}.acknowledged")


def read_count(folder: Path) -> Acknowledged | None:
    """Return what the log in a folder has acknowledged, None where nothing says so.

    Raises LogUnavailable for a count that is there and cannot be read.
    """
    try:
        line = count_path(folder).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LogUnavailable(
            f"Cannot read what the log acknowledged: {error}. Restore the file or its rights."
        ) from error
    said, _, check = line.strip().rpartition(b" ")
    with suppress(ValueError):
        if said and int(check, 16) == crc32(said):
            epoch, sequence, received_us, lake = said.decode().split(" ")
            return Acknowledged(epoch, int(sequence), int(received_us), lake.lstrip("-"))
    return None  # torn by a power cut, or no count of ours: the log and the lake say how far it was


class CountFile:
    """The count, for the one process that writes the log.

    Written behind each commit and not synced, which a killed process does not mind; after a power cut the log, which is
    synced, may be ahead of it.
    """

    def __init__(self, folder: Path, count: Acknowledged):
        """Write the first count, to the disk itself; raises LogUnavailable."""
        self._path = count_path(folder)
        with ExitStack() as stack:
            try:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
                stack.callback(self.close)
                self.write(count)
                os.fsync(self._file)
            except OSError as error:
                raise self._unwritable(error) from error
            stack.pop_all()

    def write(self, count: Acknowledged) -> None:
        """Keep a count; raises LogUnavailable."""
        said = f"{count.epoch} {count.sequence} {count.received_us} -{count.lake}".encode()
        line = b"%b %08x" % (said, crc32(said))
        try:
            os.pwrite(self._file, line.ljust(_BYTES - 1) + b"\n", 0)
        except OSError as error:
            raise self._unwritable(error) from error

    def is_deleted(self) -> bool:
        """Tell whether somebody has deleted it meanwhile."""
        return not os.fstat(self._file).st_nlink

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _unwritable(self, error: OSError) -> LogUnavailable:
        return LogUnavailable(
            f"Cannot count what the log acknowledges in {self._path}: {error}. Free or restore its disk."
        )
