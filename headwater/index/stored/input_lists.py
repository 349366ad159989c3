"""The inputs of runs that have many: one list for all outputs of a run, however many it writes.

Without it, a run of 1,000 inputs and 1,000 outputs would store a million names.
"""

import hashlib
import sqlite3
from collections.abc import Iterable

from headwater.index.stored.index_packing import Inputs, pack_inputs, unpack_edges, unpack_inputs
from headwater.lineage.edges.run_edges import OutputLineage
from headwater.lineage.runs.weighed import Weighed

_FEWEST = 16
"""Inputs from which on a list is stored apart: shorter ones cost less in each edge set."""

_IN_PLACE = (None, b"")


class InputLists:
    """Reads and writes the lists of one index file."""

    def __init__(self, connection: sqlite3.Connection):
        """Use a connection to the index."""
        self._sql = connection
        self._read: Weighed[int, Inputs] = Weighed()
        self._last: tuple[Inputs, int, bytes] | None = None

    def keep(self, lineage: OutputLineage) -> tuple[int | None, bytes]:
        """Return number and digest of the list of an edge set's inputs, None where it has few: they stay in it."""
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
        """Return an edge set of the table `edges`, whose inputs are in it, or in the list of a number."""
        return unpack_edges(value, None if inputs is None else self._get(inputs))

    def _get(self, number: int) -> Inputs:
        """Return a list by its number; the outputs that share it share its memory."""
        found = self._read.get(number)
        if found is None:
            value = self._sql.execute("SELECT value FROM input_lists WHERE id = ?", (number,)).fetchone()[0]
            found = unpack_inputs(value)
            self._read.keep(number, found, sum(map(len, found)))
        return found

    def collect(self, numbers: Iterable[int]) -> None:
        """Delete those of some lists that no edge set needs any more."""
        self._last = None
        query = "DELETE FROM input_lists WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM edges WHERE inputs = ?1)"
        self._sql.executemany(query, [(number,) for number in numbers])
