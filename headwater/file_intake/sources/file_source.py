"""What every place of files can do, and what it is asked for."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import BinaryIO, NamedTuple, Protocol

_DAY = re.compile(r"dt=(\d{4}-\d\d-\d\d)")
_DAY_US = 24 * 3600 * 1_000_000
_HIDDEN = (".", "_")
_UNFINISHED = (".tmp", ".inprogress", ".crc")


class FoundFile(NamedTuple):
    """A file as it was listed.

    identity: stays when it grows or is renamed, where the place knows of such a thing; else it is the path.
    modified_us: by the clock of the place, since 1970-01-01 UTC; version: of its content, empty where there is none.
    """

    path: str
    identity: str
    size: int
    modified_us: int
    version: str = ""

    @property
    def shown(self) -> str:
        """Return the path as one line of text: a name may hold bytes that are none, line ends, and worse."""
        return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in self.path)


class FileGone(Exception):
    """It was there when the files were listed, or is another one now: the next look tells."""


class FileSource(Protocol):
    """Files below one path. All methods raise Retry where the place does not answer."""

    store: str
    """Names the place among others: two files of one store and identity are one."""

    look_every_s: float
    """Least time between two looks of who follows: a look costs requests."""

    def files(self, since_us: int) -> Iterator[FoundFile]:
        """List the files that were modified at or after a time, folders of earlier days left out.

        A folder that may not be listed stands for itself: opening it says why.
        """

    def find(self, path: str) -> FoundFile | None:
        """Look at one path; None where no file is."""

    def open(self, found: FoundFile) -> BinaryIO:
        """Open a file for reading from any byte on; raises FileGone, OSError where it may not be read."""

    def delete(self, found: FoundFile) -> bool:
        """Delete a file unless it has changed since it was listed; tells whether it did."""


def is_passed_over(name: str) -> bool:
    """Tell whether a file or folder of this name is left alone: hidden, of Delta or Spark, or being written."""
    return name.startswith(_HIDDEN) or name.endswith(_UNFINISHED)


def is_earlier_day(name: str, since_us: int) -> bool:
    """Tell whether a folder `dt=2026-03-01` is of a UTC day that ended a day or more before a time.

    The day in between is looked into: a writer's clock lags, or its store took a batch hours after it was made.
    """
    found = _DAY.fullmatch(name)
    if not found:
        return False
    try:
        begin = datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
    except ValueError:
        return False
    return int(begin.timestamp() * 1e6) + 2 * _DAY_US <= since_us
