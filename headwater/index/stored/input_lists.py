"""Table `input_lists`: long lists of inputs, stored once for all outputs of a run.

Without it, a run of 1,000 inputs and 1,000 outputs would store a million names.
"""

import hashlib
import sqlite3
from collections.abc import Iterable

from headwater.index.stored.index_packing import Inputs, pack_inputs, unpack_edges, unpack_inputs
from headwater.lineage.edges.run_edges import OutputLineage
from headwater.lineage.runs.weighed import Weighed

_FEWEST = 16
"""The least number of inputs that are stored as a separate list. Shorter lists are smaller inside each edge set."""

_IN_PLACE = (None, b"")


class InputLists:
    """The input lists of one index file."""

    def __init__(self, connection: sqlite3.Connection):
        self._sql = connection
        self._read: Weighed[int, Inputs] = Weighed()
        self._last: tuple[Inputs, int, bytes] | None = None

    def keep(self, lineage: OutputLineage) -> tuple[int | None, bytes]:
        """Store the inputs of an edge set as a list, unless there are few. Return the list's number and digest.

        Fewer than 16 inputs stay in the edge set; the result is then (None, b"").
        """
        inputs = Inputs.of(lineage)
        if len(inputs.tables) + len(inputs.also_read) < _FEWEST:
            return _IN_PLACE
        if self._last is None or inputs != self._last[0]:
            value = pack_inputs(inputs)
            digest = hashlib.sha256(value).digest()[:16]
            self._sql.execute("INSERT OR IGNORE INTO input_lists(digest, value) VALUES (?, ?)", (digest, value))
            query = "SELECT id FROM input_lists WHERE digest = ?"
            self._last = (inputs, int(self._sql.execute(query, (digest,)).fetchone()[0]), digest)
        return self._last[1:]

    def unpack(self, value: bytes, inputs: int | None) -> OutputLineage:
        """Unpack an edge set of table `edges`. inputs: the number of its separate input list, if it has one."""
        return unpack_edges(value, None if inputs is None else self._get(inputs))

    def _get(self, number: int) -> Inputs:
        """Return a list by its number. The list is cached, so the outputs of a run share one object."""
        found = self._read.get(number)
        if found is None:
            value = self._sql.execute("SELECT value FROM input_lists WHERE id = ?", (number,)).fetchone()[0]
            found = unpack_inputs(value)
            self._read.keep(number, found, sum(map(len, found)))
        return found

    def collect(self, numbers: Iterable[int]) -> None:
        """Delete lists by number, unless an edge set still uses them."""
        self._last = None
        query = "DELETE FROM input_lists WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM edges WHERE inputs = ?1)"
        self._sql.executemany(query, [(number,) for number in numbers])
