"""Checks the free disk space of the log, so that requests are refused before a write fails."""

import shutil
import time
from pathlib import Path

_LOOK_EVERY_S = 0.5


class FreeDisk:
    """The free space on a folder's disk, checked at most twice a second."""

    def __init__(self, folder: Path, min_free_bytes: int) -> None:
        """min_free_bytes: below this, the log refuses events."""
        self._folder, self._min_free_bytes = folder, min_free_bytes
        self._looked_at = 0.0
        self._trouble: str | None = None

    def trouble(self) -> str | None:
        """Return why nothing can be written, or None."""
        now = time.monotonic()
        if now - self._looked_at > _LOOK_EVERY_S:
            self._looked_at = now
            self._trouble = self._look()
        return self._trouble

    def _look(self) -> str | None:
        try:
            free = shutil.disk_usage(self._folder).free
        except OSError as error:
            return f"The log folder {self._folder} cannot be read: {error.strerror}. Restore it."
        if free >= self._min_free_bytes:
            return None
        return (
            f"Only {free >> 20} MiB are free at {self._folder}. Below {self._min_free_bytes >> 20} MiB, Headwater "
            "accepts no events. Free some space."
        )
