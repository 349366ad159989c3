"""What just happened, in the index's file: run states, edge sets that began or ceased to count, rejections.

A bounded tail that `live` reads; it moves with the batch that it tells of, or not at all.
"""

import sqlite3
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from headwater.index.stored.index_packing import encode

KEPT = 10_000
OF_A_BATCH = 2_000
"""Most entries that one batch leaves, newest last: an index that is built anew tells only its end."""


class FeedTable:
    """Takes what happens; the caller holds the transaction."""

    def __init__(self, connection: sqlite3.Connection):
        """Use the index's connection."""
        self._sql = connection
        self._happened: deque[tuple[str, int, object]] = deque(maxlen=OF_A_BATCH)

    def run_state(self, run: str, state: str) -> None:
        """Note that the state of a run is another than before."""
        self._happened.append(("run", 0, (run, state)))

    def counts(self, edge_set: int, *, live: bool) -> None:
        """Note that an edge set counts from now on, or no more."""
        self._happened.append(("edges", edge_set, live))

    def rejected(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Note rejections, oldest first."""
        self._happened += (("rejected", 0, row) for row in rows)

    def write(self, generation: int) -> None:
        """Write what was noted, as one batch."""
        if self._happened:
            rows = [(generation, kind, number, encode(value)) for kind, number, value in self._happened]
            self._sql.executemany("INSERT INTO feed(generation, kind, number, value) VALUES (?, ?, ?, ?)", rows)
            self._sql.execute("DELETE FROM feed WHERE id <= (SELECT max(id) FROM feed) - ?", (KEPT,))
            self._happened.clear()
