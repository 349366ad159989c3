"""Outputs that are made anew again and again: where a job last wrote one, without a look at every generation of it.

A table that is rebuilt every night has a group of each job for each night. What counts is asked of the generation that
changed, of those where its jobs wrote last, and of those that counted as such until now (rule 6, current readers).
"""

import sqlite3
from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import Any

from headwater.index.database import marks
from headwater.index.names import NameNumbers
from headwater.index.run_numbers import NEWEST_VOTE, TIE
from headwater.index.vote_table import VoteTable
from headwater.lineage.current import CARRIES, OPAQUE, SILENT, Group
from headwater.lineage.name import Name

_FEW = 100
_NEWEST = (
    f"FROM votes v JOIN run_keys k ON k.id = v.run WHERE v.grp = ? AND v.weight = ? ORDER BY {NEWEST_VOTE} LIMIT 1"
)

_Newest = tuple[int, str, int]
"""Time and tie of the newest vote of a weight in a group, and the group's number."""


class _Everywhere:
    """The groups of a job about one output in all its generations; reading: those that count over all of them."""

    def __init__(self) -> None:
        self.numbers: set[int] = set()
        self.reading: set[int] = set()
        self._newest: dict[int, list[_Newest]] = {weight: [] for weight in (CARRIES, OPAQUE, SILENT)}
        self._known: dict[tuple[int, int], _Newest] = {}

    def set_newest(self, number: int, weight: int, newest: _Newest | None) -> None:
        """Take the newest vote of a weight in a group."""
        known, ordered = self._known.pop((number, weight), None), self._newest[weight]
        if known is not None:
            del ordered[bisect_left(ordered, known)]
        if newest is not None:
            insort(ordered, newest)
            self._known[number, weight] = newest

    def newest(self) -> list[tuple[int, int]]:
        """Return (group, weight) of the newest vote of each weight."""
        return [(ordered[-1][2], weight) for weight, ordered in self._newest.items() if ordered]


class Recreated:
    """What is remembered of outputs with more than one generation; read when such an output first changes."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers, votes: VoteTable):
        """Use the index's connection."""
        self._sql = connection
        self._names = names
        self._votes = votes
        self._loaded: set[Name] = set()
        self._jobs: dict[Group, _Everywhere] = {}
        self._job_of: dict[int, _Everywhere] = {}

    def around(self, changed: Iterable[Group]) -> list[int]:
        """Return the groups about one output that must be looked at together when these have changed."""
        changed = list(changed)
        output = changed[0].output
        if output is None:
            return [self._votes.number(group) for group in changed]
        if len(self._names.generations(output)) < 2:
            return self._votes.groups_of([output])
        self._load(output.plain, changed)
        found: set[int] = set()
        seen, todo = set[Name](), {group.output for group in changed if group.output}
        while todo:
            generation = todo.pop()
            seen.add(generation)
            own = self._votes.groups_of([generation])
            found.update(own)
            todo |= {name for number in own for name in self._elsewhere(self._job_of[number])} - seen
        return sorted(found)

    def settle(self, numbers: Iterable[int], reading: Iterable[Group]) -> None:
        """Note which of these groups count over all generations together."""
        for number in numbers:
            if job := self._job_of.get(number):
                job.reading.discard(number)
        for group in reading:
            number = self._votes.number(group)
            if job := self._job_of.get(number):
                job.reading.add(number)

    def _load(self, output: Name, changed: Iterable[Group]) -> None:
        fresh = {self._votes.number(group) for group in changed}
        if output not in self._loaded:
            self._loaded.add(output)
            fresh.update(self._votes.groups_of(self._names.generations(output)))
        for number in fresh:
            self._look(number)

    def _look(self, number: int) -> None:
        job = self._job_of.get(number) or self._take(number)
        query = f"SELECT v.time_us, {TIE} {_NEWEST}"
        for weight in (CARRIES, OPAQUE, SILENT):
            row = self._sql.execute(query, (number, weight)).fetchone()
            job.set_newest(number, weight, (*row, number) if row else None)

    def _take(self, number: int) -> _Everywhere:
        group = self._votes.group(number)
        key = group._replace(output=group.output and group.output.plain)
        job = self._job_of[number] = self._jobs.setdefault(key, _Everywhere())
        job.numbers.add(number)
        if self._sql.execute("SELECT 1 FROM edge_sets WHERE grp = ? AND reading LIMIT 1", (number,)).fetchone():
            job.reading.add(number)
        return job

    def _elsewhere(self, job: _Everywhere) -> Iterable[Name]:
        """Yield the generations in which a job's newest executions wrote an output, and those that counted so far."""
        groups = {number for newest in job.newest() for number in self._together(job, *newest)}
        for number in groups | job.reading:
            if (output := self._votes.group(number).output) is not None:
                yield output

    def _together(self, job: _Everywhere, number: int, weight: int) -> set[int]:
        """Return the groups of a job about an output in which the execution of a group's newest vote says something."""
        query = f"SELECT DISTINCT grp FROM votes WHERE execution = (SELECT v.execution {_NEWEST})"
        found = {row[0] for row in self._sql.execute(f"{query} LIMIT {_FEW}", (number, weight))}
        if len(found) == _FEW:
            own: list[Any] = sorted(job.numbers)
            found = {row[0] for row in self._sql.execute(f"{query} AND grp IN ({marks(own)})", (number, weight, *own))}
        return found & job.numbers
