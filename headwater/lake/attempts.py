"""Records that kill the parser or the index: a batch that took the process down is tried smaller, down to one record.

A body of 32 MiB can need a hundred times that as Python objects; where memory is short, the process is killed each
time it comes to it, and without a count of attempts everything behind it would wait forever.
"""

import contextlib
import json
from pathlib import Path

BATCH_RECORDS = 2000
MAX_DEATHS = 9
"""Deaths at one watermark after which its next record is rejected unread: four halvings by four, then more tries."""


class Attempts:
    """Counts, in a file that survives the process, how often a batch behind one watermark was begun and not ended."""

    def __init__(self, path: Path):
        """Read the count that a process before left behind."""
        self._path = path
        try:
            self._watermark, self._deaths = json.loads(path.read_text())
        except (OSError, ValueError, TypeError):
            self._watermark, self._deaths = -1, 0

    def begin(self, watermark: int) -> int:
        """Note that a batch behind `watermark` begins; returns how many records it may hold, 0 for: reject the next."""
        self._deaths = self._deaths + 1 if watermark == self._watermark else 0
        self._watermark = watermark
        self._write()
        return 0 if self._deaths > MAX_DEATHS else max(1, BATCH_RECORDS >> (2 * self._deaths))

    def end(self) -> None:
        """Note that the process outlived the batch, whatever became of it."""
        self._deaths = -1
        self._write()

    def _write(self) -> None:
        with contextlib.suppress(OSError):  # a full disk must not add a reason to die
            self._path.write_text(json.dumps([self._watermark, self._deaths]))
