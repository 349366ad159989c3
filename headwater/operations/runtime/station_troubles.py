"""Record why a station has stopped, in a file that audit, metrics and health read."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from headwater.common.atomic_files import atomic_write

_STATIONS = ("parser", "index", "snapshot")
_UNWRITTEN: dict[Path, str] = {}
"""Troubles of this process that could not be written to a full disk; available within this process."""


class StationTrouble:
    """The trouble of one station; its file exists only while the trouble lasts."""

    def __init__(self, folder: Path, station: str):
        """folder: data folder."""
        self._path = _path(folder, station)
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
        """Record that the station continues."""
        _UNWRITTEN.pop(self._path, None)
        if self._text or self._path.exists():  # an earlier process may have left the file
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
                self._text = ""


def station_troubles(folder: Path) -> Mapping[str, str]:
    """Return the troubles of the stations that have stopped."""
    found = {}
    for station in _STATIONS:
        path = _path(folder, station)
        with suppress(OSError):
            found[station] = _UNWRITTEN.get(path) or path.read_text("utf-8", "replace")
    return found


def _path(folder: Path, station: str) -> Path:
    return folder / "run" / f"{station}.trouble"
