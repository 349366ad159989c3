"""The interface of stores of files."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import BinaryIO, NamedTuple, Protocol

_DAY = re.compile(r"dt=(\d{4}-\d\d-\d\d)")
_DAY_US = 24 * 3600 * 1_000_000
_HIDDEN = (".", "_")
_UNFINISHED = (".tmp", ".inprogress", ".crc")


class FoundFile(NamedTuple):
    """A file at the time of the listing.

    identity: unchanged when the file grows or is renamed, if the store has such an id; otherwise the path.
    modified_us: by the clock of the store, since 1970-01-01 UTC; version: of its content, empty if the store has none.
    """

    path: str
    identity: str
    size: int
    modified_us: int
    version: str = ""

    @property
    def printable_path(self) -> str:
        """Return the path as one line of text: a name may contain line ends and invalid characters."""
        return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in self.path)


class FileGone(Exception):
    """The file was deleted or replaced after it was listed. The next listing shows which."""


class FileSource(Protocol):
    """Files below one path. All methods raise Retry if the store does not answer."""

    store: str
    """Identifies the store: two files with the same store and identity are the same file."""

    look_every_s: float
    """Minimum time between two listings with --follow, because a listing costs requests."""

    def files(self, since_us: int) -> Iterator[FoundFile]:
        """List the files that were modified at or after a time, without folders of earlier days.

        A folder that may not be listed is returned itself; opening it raises the reason.
        """

    def find(self, path: str) -> FoundFile | None:
        """Return the file at one path; None if there is none."""

    def open(self, found: FoundFile) -> BinaryIO:
        """Open a file for reading at any position. Raises FileGone, and OSError if it may not be read."""

    def delete(self, found: FoundFile) -> bool:
        """Delete a file unless it has changed since it was listed. Return whether it was deleted."""


def is_ignored_name(name: str) -> bool:
    """Return whether a file or folder of this name is ignored: hidden, of Delta or Spark, or being written."""
    return name.startswith(_HIDDEN) or name.endswith(_UNFINISHED)


def is_folder_of_earlier_day(name: str, since_us: int) -> bool:
    """Return whether a folder `dt=2026-03-01` is for a UTC day that ended a day or more before a time.

    The day in between is not skipped: a writer's clock may lag, or its store accepted a batch hours later.
    """
    found = _DAY.fullmatch(name)
    if not found:
        return False
    try:
        begin = datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
    except ValueError:
        return False
    return int(begin.timestamp() * 1e6) + 2 * _DAY_US <= since_us
