"""Handles records that kill the parser or the index: after each kill, the next attempt processes a smaller batch.

The Python objects of a body of 32 MiB may need a hundred times as much memory. If memory is short, the process is
killed each time it reads the body. Without a count of attempts, all later records would wait forever.
"""

import contextlib
import json
from pathlib import Path

BATCH_RECORDS = 2000
MAX_DEATHS = 9
"""If the process was killed more often than this at one watermark, the next record is rejected without reading it.

Each kill divides the batch size by four.
"""


class UnfinishedAttempts:
    """Counts the batches at a watermark during which the process was killed, in a file that survives the process."""

    def __init__(self, path: Path):
        """Read the count that earlier processes wrote to the file at `path`."""
        self._path = path
        try:
            self._watermark, self._deaths = json.loads(path.read_text())
        except (OSError, ValueError, TypeError):
            self._watermark, self._deaths = -1, 0

    def begin_batch(self, watermark: int) -> int:
        """Record the start of a batch after a watermark, the sequence number of the last processed record.

        Returns the maximum number of records of the batch, or 0 if the caller must reject the next record.
        """
        self._deaths = self._deaths + 1 if watermark == self._watermark else 0
        self._watermark = watermark
        self._write_count()
        return 0 if self._deaths > MAX_DEATHS else max(1, BATCH_RECORDS >> (2 * self._deaths))

    def end_batch(self) -> None:
        """Record that the process survived the batch, whether it succeeded or failed."""
        self._deaths = -1
        self._write_count()

    def _write_count(self) -> None:
        with contextlib.suppress(OSError):  # a full disk must not stop the parser
            self._path.write_text(json.dumps([self._watermark, self._deaths]))
