"""Edge sets, what votes stand for, in the index's file: numbered, equal ones of a group are one."""

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from headwater.index.database import chunks, marks
from headwater.index.names import NameNumbers
from headwater.index.packing import encode, pack_edges, unpack_edges
from headwater.lineage.edges import Contribution, others_read
from headwater.lineage.weighed import Weighed

_ADD = (
    "UPDATE edge_sets SET runs = max(runs, 0) + ?1, first_us = min(coalesce(first_us, ?2), ?2), "
    "last_us = max(coalesce(last_us, ?3), ?3) WHERE number = ?4"
)
_RECOUNT = (
    "UPDATE edge_sets SET (runs, first_us, last_us) = "
    "(SELECT count(*), min(time_us), max(time_us) FROM votes WHERE edge_set = ?1) WHERE number = ?1"
)


_AT_ONCE = 1_000
_KEPT = 1_000
"""Generations for which a reader may still ask for an edge set that no run says any more."""

_FORGOTTEN = -1
"""Runs of an edge set whose edges were deleted; its row stays, for readers that still have it in their graph."""


class Counted(NamedTuple):
    """How an edge set counts; see `outcome.Word`, names as `packing.encode` writes them."""

    live: int = 0
    latest: int = 0
    reading: int = 0
    explained: bytes = encode([])
    accounted: bytes = encode([])


class EdgeSetTable:
    """Takes what runs say about a dataset."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers):
        """Use the index's connection."""
        self._sql = connection
        self._names = names
        self._numbers: dict[tuple[int, bytes], int] = {}
        self._contents: Weighed[int, Contribution] = Weighed()
        self._digests: Weighed[int, tuple[Contribution, bytes]] = Weighed()
        self._packed: tuple[Contribution | None, bytes] = (None, b"")

    def number(self, group: int, said: Contribution) -> int:
        """Return the number of an edge set, a new one where it has none."""
        digest = self._digest(said)
        found = self._numbers.get((group, digest))
        if found is None:
            self._sql.execute("INSERT OR IGNORE INTO edge_sets(grp, digest) VALUES (?, ?)", (group, digest))
            query = "SELECT number FROM edge_sets WHERE grp = ? AND digest = ?"
            found = self._numbers[group, digest] = int(self._sql.execute(query, (group, digest)).fetchone()[0])
            self._sql.execute("INSERT OR IGNORE INTO edges VALUES (?, ?)", (found, self._pack(said)))
            self._sql.executemany("INSERT OR IGNORE INTO reads VALUES (?, ?)", self._reads(found, said))
        return found

    def edges(self, number: int) -> Contribution:
        """Return an edge set."""
        found = self._contents.get(number)
        if found is None:
            query = "SELECT value FROM edges WHERE edge_set = ?"
            said = unpack_edges(self._sql.execute(query, (number,)).fetchone()[0])
            found = self._contents.keep(number, said, len(said.edges))
        return found

    def counted(self, groups: Sequence[int]) -> dict[int, Counted]:
        """Return how the edge sets of some groups counted so far, those that did."""
        query = (
            "SELECT number, live, latest, reading, explained, accounted FROM edge_sets "
            "WHERE grp IN ({}) AND (live OR latest OR reading)"
        )
        return {
            row[0]: Counted(*row[1:])
            for some in chunks(groups)
            for row in self._sql.execute(query.format(marks(some)), some)
        }

    def count(self, number: int, counted: Counted, generation: int) -> None:
        """Note how an edge set counts from now on."""
        self._sql.execute(
            "UPDATE edge_sets SET live = ?, latest = ?, reading = ?, explained = ?, accounted = ?, generation = ? "
            "WHERE number = ?",
            (*counted, generation, number),
        )

    def add_runs(self, times: Mapping[int, Sequence[int]]) -> None:
        """Count runs that say these edge sets, at these times (us)."""
        self._sql.executemany(_ADD, [(len(at), min(at), max(at), number) for number, at in times.items()])

    def recount(self, numbers: Iterable[int]) -> None:
        """Count the runs anew: some say something else now."""
        self._sql.executemany(_RECOUNT, [(number,) for number in numbers])

    def collect(self, generation: int) -> None:
        """Delete the edges of sets that no run says any more, and did not a while ago."""
        query = (
            "SELECT number FROM edge_sets WHERE runs = 0 AND generation < ? AND NOT (live OR latest OR reading) LIMIT ?"
        )
        unsaid = [row[0] for row in self._sql.execute(query, (generation - _KEPT, _AT_ONCE)).fetchall()]
        for number in unsaid:
            read = self._reads(number, self.edges(number))
            self._sql.executemany("DELETE FROM reads WHERE name = ? AND edge_set = ?", read)
            self._sql.execute("DELETE FROM edges WHERE edge_set = ?", (number,))
            self._sql.execute(f"UPDATE edge_sets SET runs = {_FORGOTTEN} WHERE number = ?", (number,))
        if unsaid:
            self._numbers.clear()

    def _reads(self, number: int, said: Contribution) -> list[tuple[int, int]]:
        return [(self._names.number(name), number) for name in {name.plain for name in others_read(said)}]

    def _digest(self, said: Contribution) -> bytes:
        """Digest an edge set; the same object, as the memory of contributions gives it, costs nothing."""
        known = self._digests.get(id(said))
        if known is None or known[0] is not said:
            digest = hashlib.sha256(self._pack(said)).digest()[:16]
            known = self._digests.keep(id(said), (said, digest), len(said.edges))
        return known[1]

    def _pack(self, said: Contribution) -> bytes:
        """Encode an edge set: the last one once, for its digest and to keep it."""
        if self._packed[0] is not said:
            self._packed = (said, pack_edges(said))
        return self._packed[1]
