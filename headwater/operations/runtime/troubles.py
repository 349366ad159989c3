"""Record why a service has stopped, in files that audit, metrics and health read, here and in the Function App."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from headwater.common.atomic_files import atomic_write

_SERVICES = ("parser", "index", "snapshot")
_UNWRITTEN: dict[Path, str] = {}
"""Reasons that could not be written because the disk is full, by path of the file. Only this process sees them."""


class ServiceTrouble:
    """The reason why a service has stopped, in a file that exists only while the service is stopped."""

    def __init__(self, folder: Path, service: str):
        """folder: data folder. service: name of the service."""
        self._path = _trouble_path(folder, service)
        self._text = ""

    def record_trouble(self, text: str) -> None:
        """Record the reason of the stop. If the disk is full, other processes do not see the reason."""
        if text != self._text:
            _UNWRITTEN[self._path] = text
            with suppress(OSError):
                atomic_write(self._path, text.encode("utf-8", "replace"))
                self._text = text
                del _UNWRITTEN[self._path]

    def record_or_clear(self, text: str | None) -> None:
        """Record the reason of the stop, or with None that the service continues."""
        if text is None:
            self.record_recovery()
        else:
            self.record_trouble(text)

    def record_recovery(self) -> None:
        """Record that the service continues."""
        _UNWRITTEN.pop(self._path, None)
        if self._text or self._path.exists():  # an earlier process may have left the file
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
                self._text = ""


def service_troubles(folder: Path) -> Mapping[str, str]:
    """Return the reasons of the services that have stopped, by service."""
    found = {}
    for service in _SERVICES:
        path = _trouble_path(folder, service)
        with suppress(OSError):
            found[service] = _UNWRITTEN.get(path) or path.read_text("utf-8", "replace")
    return found


def _trouble_path(folder: Path, service: str) -> Path:
    return folder / "run" / f"{service}.trouble"


def join_reasons(reasons: Mapping[str, str]) -> str:
    """Join the reasons why partitions wait into one text. reasons: by partition; "" stands for the whole parser."""
    return " ".join(f"Partition {name}: {why}" if name else why for name, why in sorted(reasons.items()))
