"""Record why a service has stopped, in files that audit, metrics and health read, here and in the Function App."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.common.atomic_files import atomic_write
from headwater.common.errors import LakeUnavailable

if TYPE_CHECKING:
    from headwater.lake.bronze_tables import Bronze


_SERVICES = ("parser", "index", "snapshot")
_UNWRITTEN: dict[Path, str] = {}
"""Troubles of this process that could not be written to a full disk; available within this process."""


class ServiceTrouble:
    """The trouble of one service; its file exists only while the trouble lasts."""

    def __init__(self, folder: Path, service: str):
        """folder: data folder."""
        self._path = _path(folder, service)
        self._text = ""

    def begin(self, text: str) -> None:
        """Record the trouble; if the disk is full, other processes do not see it."""
        if text != self._text:
            _UNWRITTEN[self._path] = text
            with suppress(OSError):
                atomic_write(self._path, text.encode("utf-8", "replace"))
                self._text = text
                del _UNWRITTEN[self._path]

    def report(self, text: str | None) -> None:
        """Record a trouble, or its end if None."""
        if text is None:
            self.end()
        else:
            self.begin(text)

    def end(self) -> None:
        """Record that the service continues."""
        _UNWRITTEN.pop(self._path, None)
        if self._text or self._path.exists():  # an earlier process may have left the file
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
                self._text = ""


def service_troubles(folder: Path) -> Mapping[str, str]:
    """Return the troubles of the services that have stopped."""
    found = {}
    for service in _SERVICES:
        path = _path(folder, service)
        with suppress(OSError):
            found[service] = _UNWRITTEN.get(path) or path.read_text("utf-8", "replace")
    return found


def _path(folder: Path, service: str) -> Path:
    return folder / "run" / f"{service}.trouble"


def join_reasons(reasons: Mapping[str, str]) -> str:
    """Return why partitions wait, as one text; the empty partition name represents the whole parser."""
    return " ".join(f"Partition {name}: {why}" if name else why for name, why in sorted(reasons.items()))


class ParserTrouble:
    """Why the parser, or its work on some partitions, has stopped."""

    def __init__(self, folder: Path, bronze: "Bronze", share: Callable[[str, str | None], bool] | None = None):
        """Set up without recording anything.

        folder: data folder. bronze: used only by the parser's thread. share: publishes to other machines why a
        partition waits, or None that it continues, and returns whether that succeeded.
        """
        self._share = share
        self._shared: dict[str, str | None] = {}
        self._trouble = ServiceTrouble(folder, "parser")
        self._bronze = bronze
        self._looked_into: tuple[str, str | None] = "", None
        self._reasons: dict[str, str] = {}

    def begin(self, error: Exception, partition: str = "") -> str:
        """Record why the parser, or one partition, has stopped; returns the reason."""
        reason = self._reasons[partition] = self._explain(error)
        self._note(partition)
        return reason

    def end(self, partition: str = "") -> None:
        """Record that the parser, or one partition, continues."""
        self._reasons.pop(partition, None)
        if not self._reasons:
            self._looked_into = "", None
        self._note(partition)

    def _note(self, partition: str) -> None:
        self._trouble.report(join_reasons(self._reasons) or None)
        reason = self._reasons.get(partition)
        if self._share and self._shared.get(partition, "") != reason and self._share(partition, reason):
            self._shared[partition] = reason

    def _explain(self, error: Exception) -> str:
        """Return the error with its cause; examines a fault of the lake only once, because that reads many files."""
        from headwater.lake.damaged_files import damage_of
        from headwater.lake.file_checksums import DamagedFile

        if not isinstance(error, LakeUnavailable) or isinstance(error, DamagedFile):
            return str(error)
        if str(error) != self._looked_into[0]:
            self._looked_into = str(error), damage_of(self._bronze)
        found = self._looked_into[1]
        return f"{found} ({error})" if found else str(error)
