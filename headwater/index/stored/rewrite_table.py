"""Tables `rewrites`, `commit_proofs` and `newest_event`: the last whole rewrite of each dataset, and related facts."""

import sqlite3
from collections.abc import Iterator, Sequence

from headwater.index.stored.candidate_table import VOTE, CandidateTable
from headwater.index.stored.name_numbers import NameNumbers
from headwater.lineage.edges.current_candidates import Candidate, JobOutput
from headwater.lineage.edges.write_kinds import UNLESS_PARTS, WHOLE
from headwater.lineage.runs.commit_proofs import proofs_in
from headwater.lineage.runs.run_facts import RunFacts
from headwater.lineage.time.whole_rewrites import WholeRewrite, rewrite_of

_LAST = (
    f"SELECT {VOTE} FROM votes v JOIN run_keys k ON k.id = v.run WHERE v.grp = ? AND v.rewrites = ? "
    "ORDER BY v.started_us DESC, v.time_us DESC, coalesce(v.tie, k.key) DESC LIMIT 1"
)


class RewriteTable:
    """Updates the last whole rewrites from the candidates of a batch."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers, candidates: CandidateTable):
        self._sql = connection
        self._names = names
        self._candidates = candidates

    def update(self, generation: int) -> None:
        """Find and write the last rewrite of each dataset for which this batch added or removed one."""
        for output in self._candidates.take_rewritten():
            numbers = self._candidates.job_outputs_of([output])
            unless_parts, whole = (max(self._rewrites(numbers, kind), default=None) for kind in (UNLESS_PARTS, WHOLE))
            every = max((each for each in (unless_parts, whole) if each), default=None)
            row = (self._names.number(output), *(every or _NONE), *(whole or _NONE), generation)
            self._sql.execute("INSERT OR REPLACE INTO rewrites VALUES (?, ?, ?, ?, ?, ?)", row)

    def see(self, facts: Sequence[RunFacts]) -> None:
        """Store what commits prove, and the time of the newest event that is not ahead of its receipt."""
        proofs = [proof for fact in facts for proof in proofs_in(fact.content.write_signs)]
        rows = [(self._names.number(each.dataset), each.is_whole, each.run_id) for each in proofs]
        self._sql.executemany("INSERT OR IGNORE INTO commit_proofs VALUES (?, ?, ?)", rows)
        newest = max((fact.time_us for fact in facts if fact.order.credible), default=None)
        if newest is not None:
            row = "INSERT INTO newest_event VALUES (1, ?) ON CONFLICT(id) DO UPDATE SET time_us = max(time_us, ?)"
            self._sql.execute(row, (newest, newest))

    def _rewrites(self, numbers: Sequence[int], kind: int) -> Iterator[WholeRewrite]:
        for number in numbers:
            for row in self._sql.execute(_LAST, (number, kind)).fetchall():
                last: Candidate[int] = Candidate(*row)
                yield rewrite_of(self._candidates.job_output(number), last, self._beside(last, numbers))

    def _beside(self, candidate: Candidate[int], numbers: Sequence[int]) -> list[tuple[JobOutput, Candidate[int]]]:
        """Return what the execution of a candidate wrote into the same dataset."""
        if candidate.started_us != candidate.last_us:
            return []
        found = self._candidates.of_execution(int(candidate.execution), numbers)
        return [(self._candidates.job_output(number), each) for number, each in found]


_NONE = (None, None)
