"""Votes and what they stand for, the edge sets, in the index's file."""

import hashlib
import sqlite3

from headwater.index.database import chunks, marks
from headwater.index.names import NameNumbers
from headwater.index.packing import pack_edges, unpack_edges
from headwater.lineage.current import Group, Vote
from headwater.lineage.derive import Said
from headwater.lineage.edges import Contribution, others_read
from headwater.lineage.name import Name

_KEEP = 50_000

_COLUMNS = "time_us, tie, execution, carries, landed, ended, drops, borrowed, edge_set"

_VOTE = "v.time_us, v.tie, v.run, v.execution, v.carries, v.landed, v.ended, v.drops, v.edge_set"

Cells = tuple[object, ...]


class VoteTable:
    """What runs say, by group; edge sets are numbered, equal ones of a group are one."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers):
        """Use the index's connection."""
        self._sql = connection
        self._names = names
        self._groups: dict[Group, int] = {}
        self._numbers: dict[tuple[int, bytes], int] = {}
        self._digests: dict[int, tuple[Contribution, bytes]] = {}
        self._packed: tuple[Contribution | None, bytes] = (None, b"")
        self._alone: dict[int, int] = {}
        self._borrowing = {
            row[0]
            for row in connection.execute("SELECT g.output FROM votes v JOIN groups g ON g.id = v.grp WHERE v.borrowed")
        }

    def replace(self, run: str, said: Said) -> list[Group]:
        """Replace what a run says; returns the groups where that made a difference."""
        query = f"SELECT grp, {_COLUMNS} FROM votes WHERE run = ?"
        before: dict[int, Cells] = {row[0]: row for row in self._sql.execute(query, (run,)).fetchall()}
        after = {(number := self._group_id(group)): self._cells(number, vote) for group, vote in said.items()}
        changed = [number for number in before.keys() | after.keys() if before.get(number) != after.get(number)]
        repeats = {number for number in changed if number not in before and self._repeats(after[number])}
        for number in changed:
            if number in before:
                self._remove(run, before[number])
            if number in after:
                self._insert(run, after[number])
        return [self.group(number) for number in changed if number not in repeats]

    def settle(self, group: Group, alone: int | None) -> None:
        """Remember that one edge set with column lineage is all that counts in a group; None: that it is not so."""
        number = self._group_id(group)
        if alone is None:
            self._alone.pop(number, None)
        else:
            self._alone[number] = alone

    def _repeats(self, cells: Cells) -> bool:
        """Tell whether a new vote says only what alone counts in its group already, and its execution nothing else.

        It is so for nearly every run of a job that runs again and again, and then nothing has to be counted anew.
        """
        number, execution, edge_set, drops = cells[0], cells[3], cells[-1], cells[7]
        if self._alone.get(number) != edge_set or drops:  # type: ignore[call-overload]
            return False
        query = "SELECT 1 FROM votes WHERE execution = ? AND grp = ? AND edge_set <> ? LIMIT 1"
        return not self._sql.execute(query, (execution, number, edge_set)).fetchone()

    def _cells(self, number: int, vote: Vote[Contribution]) -> Cells:
        said = vote.said
        if said.borrowed and said.output:
            self._borrowing.add(self._names.number(said.output))
        return (
            number, vote.time_us, vote.tie, vote.execution, vote.carries, vote.landed, vote.ended, vote.drops,
            said.borrowed, self._edge_set(number, said),
        )  # fmt: skip

    def _remove(self, run: str, cells: Cells) -> None:
        self._sql.execute("DELETE FROM votes WHERE run = ? AND grp = ?", (run, cells[0]))
        self._sql.execute(
            "UPDATE edge_sets SET (runs, first_us, last_us) = "
            "(SELECT count(*), min(time_us), max(time_us) FROM votes WHERE edge_set = ?1) WHERE number = ?1",
            (cells[-1],),
        )

    def borrowers(self, output: Name | None) -> list[str]:
        """Return the runs that took the columns of this output (None: of any) from another run's schema."""
        if output is None:
            return [run for (run,) in self._sql.execute("SELECT run FROM votes WHERE borrowed")]
        number = self._names.known(output)
        if number not in self._borrowing:
            return []
        query = "SELECT v.run FROM groups g JOIN votes v ON v.grp = g.id AND v.borrowed WHERE g.output = ?"
        return [run for (run,) in self._sql.execute(query, (number,))]

    def _insert(self, run: str, cells: Cells) -> None:
        self._sql.execute("INSERT INTO votes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (run, *cells))
        self._sql.execute(
            "UPDATE edge_sets SET runs = runs + 1, first_us = min(coalesce(first_us, ?1), ?1), "
            "last_us = max(coalesce(last_us, ?1), ?1) WHERE number = ?2",
            (cells[1], cells[-1]),
        )

    def _group_id(self, group: Group) -> int:
        found = self._groups.get(group)
        if found is None:
            key = (group.layer, self._names.number(group.job), self._names.number(group.output) if group.output else 0)
            self._sql.execute("INSERT OR IGNORE INTO groups(layer, job, output) VALUES (?, ?, ?)", key)
            query = "SELECT id FROM groups WHERE layer = ? AND job = ? AND output = ?"
            found = self._groups[group] = int(self._sql.execute(query, key).fetchone()[0])
        return found

    def group(self, number: int) -> Group:
        """Return a group by its number."""
        layer, job, output = self._sql.execute(
            "SELECT layer, job, output FROM groups WHERE id = ?", (number,)
        ).fetchone()
        return Group(layer, self._names.name(job), self._names.name(output) if output else None)

    def _edge_set(self, group: int, said: Contribution) -> int:
        """Return the number of an edge set; the same object, as the memory of contributions gives it, costs nothing."""
        known = self._digests.get(id(said))
        if known is None or known[0] is not said:
            if len(self._digests) > _KEEP:
                self._digests.clear()
            known = self._digests[id(said)] = (said, hashlib.sha256(self._pack(said)).digest()[:16])
        digest = known[1]
        found = self._numbers.get((group, digest))
        if found is None:
            self._sql.execute("INSERT OR IGNORE INTO edge_sets(grp, digest) VALUES (?, ?)", (group, digest))
            query = "SELECT number FROM edge_sets WHERE grp = ? AND digest = ?"
            found = self._numbers[group, digest] = int(self._sql.execute(query, (group, digest)).fetchone()[0])
            self._sql.execute("INSERT OR IGNORE INTO edges VALUES (?, ?)", (found, self._pack(said)))
            self._note_reads(found, said)
        return found

    def _pack(self, said: Contribution) -> bytes:
        """Encode an edge set: the last one once, for its digest and to keep it."""
        if self._packed[0] is not said:
            self._packed = (said, pack_edges(said))
        return self._packed[1]

    def _note_reads(self, edge_set: int, said: Contribution) -> None:
        rows = [(self._names.number(name), edge_set) for name in others_read(said)]
        self._sql.executemany("INSERT OR IGNORE INTO reads VALUES (?, ?)", rows)

    def edges(self, number: int) -> Contribution:
        """Return an edge set."""
        return unpack_edges(self._sql.execute("SELECT value FROM edges WHERE edge_set = ?", (number,)).fetchone()[0])

    def that_can_count(self, output: Name | None) -> dict[Group, list[Vote[int]]]:
        """Return the votes about an output, of the newest executions of each group and of their siblings.

        All that `lineage.outcome` looks at, however long the history.
        """
        number = self._names.number(output) if output else 0
        groups = [group for (group,) in self._sql.execute("SELECT id FROM groups WHERE output = ?", (number,))]
        newest = "SELECT execution FROM votes WHERE grp = ? {} ORDER BY time_us DESC, tie DESC LIMIT 1"
        executions = {
            row[0]
            for group in groups
            for carrying in ("AND carries = 1", "AND carries = 0")
            for row in self._sql.execute(newest.format(carrying), (group,))
        }
        found: dict[Group, list[Vote[int]]] = {}
        for some in chunks(sorted(executions)):
            query = (
                f"SELECT v.grp, {_VOTE} FROM votes v JOIN groups g ON g.id = v.grp "
                f"WHERE v.execution IN ({marks(some)}) AND g.output = ?"
            )
            for row in self._sql.execute(query, (*some, number)).fetchall():
                found.setdefault(self.group(row[0]), []).append(Vote(*row[1:]))
        return found

    def counted(self, output: Name | None) -> dict[int, tuple[int, int, bytes]]:
        """Return (live, latest, explained) of the edge sets about an output that counted so far."""
        number = self._names.number(output) if output else 0
        rows = self._sql.execute(
            "SELECT e.number, e.live, e.latest, e.explained FROM groups g JOIN edge_sets e ON e.grp = g.id "
            "WHERE g.output = ? AND (e.live OR e.latest)",
            (number,),
        )
        return {row[0]: row[1:] for row in rows}

    def was_ever_dropped(self, output: Name) -> bool:
        """Tell whether any run that is still in the votes dropped a dataset, or the index says so."""
        query = (
            "SELECT 1 FROM groups g JOIN votes v ON v.grp = g.id AND v.drops WHERE g.output = ?1 "
            "UNION ALL SELECT 1 FROM datasets WHERE name = ?1 AND dropped"
        )
        return bool(self._sql.execute(query, (self._names.number(output),)).fetchone())

    def ended(self, output: Name) -> list[Vote[int]]:
        """Return the newest votes of COMPLETE runs about an output, enough to see whether it is dropped."""
        rows = self._sql.execute(
            f"SELECT {_VOTE} FROM groups g JOIN votes v ON v.grp = g.id WHERE g.output = ? AND v.ended "
            "ORDER BY v.time_us DESC, v.drops LIMIT 1",
            (self._names.number(output),),
        )
        return [Vote(*row) for row in rows]
