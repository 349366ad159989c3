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

    identity: an id that stays when the file grows or is renamed; the path if the store has no such id.
    modified_us: time of the last change by the clock of the store (us since 1970-01-01 UTC). version: version of the
    content, empty if the store has no versions.
    """

    path: str
    identity: str
    size: int
    modified_us: int
    version: str = ""

    @property
    def printable_path(self) -> str:
        """The path as one line of text. Line ends and unprintable characters in names are escaped."""
        return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in self.path)


class FileGone(Exception):
    """The file was deleted or replaced after it was listed. The next listing shows its new state."""


class FileSource(Protocol):
    """Files below one path. All methods raise Retry if the store does not answer."""

    store: str
    """Identifies the store: two files with the same store and identity are the same file."""

    poll_interval_s: float
    """Minimum seconds between two listings with --follow, because a listing costs requests."""

    def files(self, since_us: int) -> Iterator[FoundFile]:
        """List the files that were modified at or after a time (us). Folders of earlier days are skipped.

        If listing a folder is forbidden, the result contains the folder itself, and `open` raises the error for it.
        """

    def find(self, path: str) -> FoundFile | None:
        """Return the file at a path; None if there is no file."""

    def open(self, found: FoundFile) -> BinaryIO:
        """Open a file for reading at any position. Raises FileGone, and OSError if it may not be read."""

    def delete(self, found: FoundFile) -> bool:
        """Delete a file unless it has changed since it was listed. Return whether it was deleted."""


def is_ignored_name(name: str) -> bool:
    """Return whether files and folders with this name are ignored.

    Ignored are hidden files, files of Delta and Spark, and files that are still being written.
    """
    return name.startswith(_HIDDEN) or name.endswith(_UNFINISHED)


def is_folder_of_earlier_day(name: str, since_us: int) -> bool:
    """Return whether a folder such as `dt=2026-03-01` is for a UTC day that ended a day or more before a time (us).

    The folder of the day directly before is not skipped, because a writer's clock may lag, or the store may accept a
    batch hours later.
    """
    found = _DAY.fullmatch(name)
    if not found:
        return False
    try:
        begin = datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
    except ValueError:
        return False
    return int(begin.timestamp() * 1e6) + 2 * _DAY_US <= since_us
