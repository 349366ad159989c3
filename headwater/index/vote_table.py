"""Votes in the index's file: which run says what about which dataset."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from headwater.index.database import chunks, marks
from headwater.index.edge_set_table import EdgeSetTable
from headwater.index.names import NameNumbers
from headwater.index.vote_batch import Cells, VoteBatch
from headwater.lineage.current import Group, Vote
from headwater.lineage.derive import Derived
from headwater.lineage.edges import Contribution
from headwater.lineage.name import Name

_VOTE = "v.time_us, v.tie, v.run, v.execution, v.carries, v.landed, v.ended, v.drops, v.edge_set"


class VoteTable:
    """What runs say, by group."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers, edge_sets: EdgeSetTable):
        """Use the index's connection."""
        self._sql = connection
        self._edge_sets = edge_sets
        self._names = names
        self._groups: dict[Group, int] = {}
        self._alone: dict[int, int] = {}
        self._borrowing = {
            row[0]
            for row in connection.execute("SELECT g.output FROM votes v JOIN groups g ON g.id = v.grp WHERE v.borrowed")
        }

    def replace(self, derived: Sequence[Derived]) -> set[Group]:
        """Replace what runs say; returns the groups where that made a difference."""
        executions = {vote.execution for one in derived for vote in one.said.values()}
        batch = VoteBatch(self._sql, [one.run.key for one in derived], sorted(executions))
        changed: set[int] = set()
        for run, said, _ in derived:
            after = {(number := self._group_id(group)): self._cells(number, vote) for group, vote in said.items()}
            for number in batch.replace(run.key, after):
                if not (batch.is_new(run.key, number) and self._repeats(batch, after[number])):
                    changed.add(number)
        batch.write(self._edge_sets)
        return {self.group(number) for number in changed}

    def settle(self, group: Group, alone: int | None) -> None:
        """Remember that one edge set with column lineage is all that counts in a group; None: that it is not so."""
        number = self._group_id(group)
        if alone is None:
            self._alone.pop(number, None)
        else:
            self._alone[number] = alone

    def _repeats(self, batch: VoteBatch, cells: Cells) -> bool:
        """Tell whether a new vote says only what alone counts in its group already, and its execution nothing else.

        It is so for nearly every run of a job that runs again and again, and then nothing has to be counted anew.
        """
        number, execution, edge_set, drops = cells[0], cells[3], cells[-1], cells[7]
        return self._alone.get(number) == edge_set and not drops and batch.says_only(execution, number, edge_set)

    def _cells(self, number: int, vote: Vote[Contribution]) -> Cells:
        said = vote.said
        if said.borrowed and said.output:
            self._borrowing.add(self._names.number(said.output))
        return (
            number, vote.time_us, vote.tie, vote.execution, vote.carries, vote.landed, vote.ended, vote.drops,
            said.borrowed, self._edge_sets.number(number, said),
        )  # fmt: skip

    def borrowers(self, output: Name | None) -> list[str]:
        """Return the runs that took the columns of this output (None: of any) from another run's schema."""
        if output is None:
            return [run for (run,) in self._sql.execute("SELECT run FROM votes WHERE borrowed")]
        number = self._names.known(output)
        if number not in self._borrowing:
            return []
        query = "SELECT v.run FROM groups g JOIN votes v ON v.grp = g.id AND v.borrowed WHERE g.output = ?"
        return [run for (run,) in self._sql.execute(query, (number,))]

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
            for group, *vote in self._of(some, number, groups=len(groups)):
                found.setdefault(self.group(group), []).append(Vote(*vote))
        return found

    def _of(self, executions: Sequence[str], output: int, *, groups: int) -> list[tuple[Any, ...]]:
        """Return what executions say about an output that has so many groups.

        Each pair of execution and group is looked up, or all that the executions say is looked through, whichever is
        less: an execution may say something about thousands of outputs, and an output may have thousands of groups.
        """
        pairs = groups * len(executions)
        through = groups > 1 and self._says_less(executions, pairs)
        query = (
            f"SELECT v.grp, {_VOTE} FROM votes v INDEXED BY votes_of_execution WHERE v.execution IN "
            f"({marks(executions)}) AND {'+' if through else ''}v.grp IN (SELECT id FROM groups WHERE output = ?)"
        )
        return self._sql.execute(query, (*executions, output)).fetchall()

    def _says_less(self, executions: Sequence[str], than: int) -> bool:
        query = f"SELECT count(*) FROM (SELECT 1 FROM votes WHERE execution IN ({marks(executions)}) LIMIT ?)"
        return int(self._sql.execute(query, (*executions, than)).fetchone()[0]) < than

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
