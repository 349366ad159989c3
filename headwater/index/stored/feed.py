"""Table `feed`: recent changes of run states, edge sets that began or ceased to count, and rejected records.

The table has a bounded number of rows. Its rows are committed in the same transaction as the batch that they describe.
"""

import sqlite3
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from headwater.index.stored.packing import encode

MAX_ROWS = 10_000
BATCH_MAX = 2_000
"""A batch adds at most this many entries, its newest. After a rebuild, the feed thus contains only the last changes."""


class RecentChangesTable:
    """Collects feed entries and writes them in `write_batch`. The caller manages the transaction."""

    def __init__(self, connection: sqlite3.Connection):
        self._sql = connection
        self._entries: deque[tuple[str, int, object]] = deque(maxlen=BATCH_MAX)

    def add_run_state(self, run: str, state: str) -> None:
        """Record a new state of a run."""
        self._entries.append(("run", 0, (run, state)))

    def add_edge_set_change(self, edge_set: int, *, counts_now: bool) -> None:
        """Record that an edge set begins to count as live, or ceases to count. edge_set: its number."""
        self._entries.append(("edges", edge_set, counts_now))

    def add_rejections(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Record rejected events. rows: oldest first."""
        self._entries += (("rejected", 0, row) for row in rows)

    def write_batch(self, generation: int) -> None:
        """Write the recorded entries as one batch and delete the oldest rows."""
        if self._entries:
            rows = [(generation, kind, number, encode(value)) for kind, number, value in self._entries]
            self._sql.executemany("INSERT INTO feed(generation, kind, number, value) VALUES (?, ?, ?, ?)", rows)
            self._sql.execute("DELETE FROM feed WHERE id <= (SELECT max(id) FROM feed) - ?", (MAX_ROWS,))
            self._entries.clear()
