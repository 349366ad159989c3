"""What keeps a station from going on, written by its process for whoever asks: audit, metrics, health."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from headwater.whole_files import write_whole

_STATIONS = ("parser", "index", "snapshot")
_UNWRITTEN: dict[Path, str] = {}
"""Troubles of this process that a full disk did not take: whoever asks in the same process still gets them."""


class StationTrouble:
    """The trouble of one station; the file is there only while the trouble lasts."""

    def __init__(self, folder: Path, station: str):
        """folder: of data."""
        self._path = _path(folder, station)
        self._text = ""

    def begin(self, text: str) -> None:
        """Keep what is wrong; if the disk is full, other processes do not learn it."""
        if text != self._text:
            _UNWRITTEN[self._path] = text
            with suppress(OSError):
                write_whole(self._path, text.encode("utf-8", "replace"))
                self._text = text
                del _UNWRITTEN[self._path]

    def report(self, text: str | None) -> None:
        """Begin a trouble, or end it with None."""
        if text is None:
            self.end()
        else:
            self.begin(text)

    def end(self) -> None:
        """Note that the station goes on."""
        _UNWRITTEN.pop(self._path, None)
        if self._text or self._path.exists():  # also what a process before has left
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
                self._text = ""


def station_troubles(folder: Path) -> Mapping[str, str]:
    """Return what is wrong with each station that cannot go on."""
    found = {}
    for station in _STATIONS:
        path = _path(folder, station)
        with suppress(OSError):
            found[station] = _UNWRITTEN.get(path) or path.read_text("utf-8", "replace")
    return found


def _path(folder: Path, station: str) -> Path:
    return folder / "run" / f"{station}.trouble"
