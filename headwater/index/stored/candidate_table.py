"""Table `votes`: the candidates, that is, what each run reports about each job output (rule 6)."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from headwater.index.stored.database import chunks, marks, one_value
from headwater.index.stored.edge_set_table import EdgeSetTable
from headwater.index.stored.name_numbers import NameNumbers
from headwater.index.stored.run_numbers import NEWEST_CANDIDATE, TIE, RunNumbers
from headwater.index.writing.candidate_batch import CandidateBatch, Cells
from headwater.lineage.edges.current_candidates import ATTEMPTED, WEIGHTS, Candidate, JobOutput
from headwater.lineage.edges.edge_sets import is_half_by_name
from headwater.lineage.edges.run_edges import OutputLineage
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import is_statement_half
from headwater.lineage.runs.run_derivation import Derived

VOTE = (
    f"v.time_us, {TIE}, v.run, v.execution, v.started_us, v.last_us, v.weight, v.landed, v.rewrites, "
    "v.period_us, v.edge_set"
)
"""The columns of a `Candidate`, for aliases `v` (votes) and `k` (run_keys). Runs and executions are numbers."""

_MERE_READERS = (
    "WITH RECURSIVE said(execution, grp) AS ("
    "SELECT id, (SELECT min(grp) FROM votes WHERE execution = id) FROM run_keys WHERE id IN ({}) UNION ALL "
    "SELECT s.execution, (SELECT min(v.grp) FROM votes v WHERE v.execution = s.execution AND v.grp > s.grp) "
    "FROM said s WHERE s.grp IS NOT NULL) "
    "SELECT DISTINCT s.grp FROM said s JOIN groups g ON g.id = s.grp WHERE g.output = 0"
)
"""Select the job outputs of some executions that have no output.

The recursion jumps from one job output to the next in an SQL index, so its cost does not depend on the number of rows
for each of them.
"""


_ASKING = (
    "SELECT (SELECT v.execution FROM votes v JOIN run_keys k ON k.id = v.run WHERE v.edge_set = e.number "
    f"ORDER BY {NEWEST_CANDIDATE} LIMIT 1) FROM edge_sets e WHERE e.grp = ? AND e.asks AND e.runs > 0"
)
"""Select, for each edge set of a job output that other runs may explain, the newest execution that reports it."""


class CandidateTable:
    """The candidates of all runs, by job output."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers, runs: RunNumbers, edge_sets: EdgeSetTable):
        self._sql = connection
        self._runs = runs
        self._edge_sets = edge_sets
        self._names = names
        self._job_outputs: dict[JobOutput, int] = {}
        self._by_number: dict[int, JobOutput] = {}
        self._alone: dict[int, int] = {}
        self._statements: dict[int, list[int]] = {}
        self._rewritten: set[Name] = set()

    def replace(self, derived: Sequence[Derived]) -> set[JobOutput]:
        """Replace the candidates of runs. Return the job outputs for which other edge sets may count now."""
        executions = self._older(candidate.execution for one in derived for candidate in one.lineage.values())
        batch = CandidateBatch(self._sql, self._older(one.run.key for one in derived), executions)
        changed: set[int] = set()
        for run, lineage, *_ in derived:
            run_number = self._runs[run.key]
            after = {
                (number := self._job_output_number(job_output)): self._cells(number, candidate)
                for job_output, candidate in lineage.items()
            }
            for number in batch.replace(run_number, after):
                self._note_rewrite(number, rewrites=batch.rewrites(run_number, number, after.get(number)))
                if not (batch.is_new(run_number, number) and self._repeats(batch, after[number])):
                    changed.add(number)
        batch.write(self._edge_sets)
        return {self.job_output(number) for number in changed}

    def take_rewritten(self) -> Set[Name]:
        """Return the datasets whose last whole rewrite may have changed since the last call."""
        found, self._rewritten = self._rewritten, set()
        return found

    def _note_rewrite(self, number: int, *, rewrites: bool) -> None:
        job_output = self.job_output(number)
        if job_output.output is not None and (
            rewrites or (is_half_by_name(job_output.job) and self.statements(job_output.output))
        ):
            self._rewritten.add(job_output.output)

    def of_execution(self, execution: int, job_outputs: Sequence[int]) -> list[tuple[int, Candidate[int]]]:
        """Return the candidates of an execution in some job outputs, each with the number of its job output."""
        return [(number, Candidate(*cells)) for number, *cells in self._of([execution], job_outputs)]

    def _older(self, keys: Iterable[str]) -> list[int]:
        """Return the numbers of those runs that earlier batches have stored."""
        numbers = map(self._runs.__getitem__, set(keys))
        return sorted(number for number in numbers if not self._runs.is_new(number))

    def settle(self, number: int, alone: int | None) -> None:
        """Remember the only edge set that counts for a job output.

        alone: the number of an edge set with column lineage, or None if several edge sets count or none does.
        """
        if alone is None:
            self._alone.pop(number, None)
        else:
            self._alone[number] = alone

    def _repeats(self, batch: CandidateBatch, cells: Cells) -> bool:
        """Return whether a new candidate and its execution report only the edge set that already counts alone.

        This holds for nearly every run of a recurring job. Its job output then needs no recount.
        """
        number, execution, edge_set = cells[0], cells[3], cells[-1]
        return self._alone.get(number) == edge_set and batch.says_only(execution, number, edge_set)

    def _cells(self, number: int, candidate: Candidate[OutputLineage]) -> Cells:
        lineage = candidate.lineage
        return (
            number, candidate.time_us, None if candidate.tie == candidate.run_key else candidate.tie,
            self._runs[candidate.execution], candidate.started_us, candidate.last_us, candidate.weight,
            candidate.rows_confirmed, candidate.rewrites, candidate.period_us,
            self._edge_sets.number(number, lineage),
        )  # fmt: skip

    def _job_output_number(self, job_output: JobOutput) -> int:
        found = self._job_outputs.get(job_output)
        if found is None:
            key = (
                job_output.layer,
                self._names.number(job_output.job),
                self._names.number(job_output.output) if job_output.output else 0,
            )
            made = self._sql.execute("INSERT OR IGNORE INTO groups(layer, job, output) VALUES (?, ?, ?)", key)
            query = "SELECT id FROM groups WHERE layer = ? AND job = ? AND output = ?"
            found = int(made.lastrowid or 0) if made.rowcount else self._sql.execute(query, key).fetchone()[0]
            self._job_outputs[job_output], self._by_number[found] = found, job_output
            if made.rowcount and key[2] in self._statements and is_statement_half(job_output.job):
                self._statements[key[2]].append(found)
        return found

    def number(self, job_output: JobOutput) -> int:
        """Return the number of a job output. A new job output gets a number."""
        return self._job_output_number(job_output)

    def job_output(self, number: int) -> JobOutput:
        """Return the job output for a number."""
        if found := self._by_number.get(number):
            return found
        layer, job, output = self._sql.execute(
            "SELECT layer, job, output FROM groups WHERE id = ?", (number,)
        ).fetchone()
        return JobOutput(layer, self._names.name(job), self._names.name(output) if output else None)

    def job_outputs_of(self, outputs: Iterable[Name]) -> list[int]:
        """Return the numbers of the job outputs that write these datasets."""
        numbers = [number for name in outputs if (number := self._names.known(name)) is not None]
        query = "SELECT id FROM groups WHERE output IN ({})"
        return [row[0] for some in chunks(numbers) for row in self._sql.execute(query.format(marks(some)), some)]

    def statements(self, output: Name) -> Sequence[int]:
        """Return the job outputs of a dataset whose job is a statement that other runs may explain (rule 4)."""
        number = self._names.number(output)
        found = self._statements.get(number)
        if found is None:
            own = ((each, self.job_output(each)) for each in self.job_outputs_of([output]))
            found = self._statements[number] = [each for each, job_output in own if is_statement_half(job_output.job)]
        return found

    def look_at_statements(self, outputs: Iterable[Name]) -> None:
        """Load the results of `statements` for several datasets with one query."""
        asked = {number: name for name in outputs if (number := self._names.number(name)) not in self._statements}
        self._statements.update((number, []) for number in asked)
        for each in self.job_outputs_of(asked.values()):
            job_output = self.job_output(each)
            if job_output.output and is_statement_half(job_output.job):
                self._statements[self._names.number(job_output.output)].append(each)

    def alone_in(self, job_outputs: Sequence[int]) -> dict[int, Candidate[int]]:
        """Return the candidate of each job output that has exactly one.

        In an event with thousands of outputs, this is the case for most of them.
        """
        query = (
            f"SELECT v.grp, {VOTE} FROM json_each(?) JOIN votes v ON v.grp = value JOIN run_keys k ON k.id = v.run "
            "WHERE NOT EXISTS (SELECT 1 FROM votes w WHERE w.grp = value LIMIT 1 OFFSET 1)"
        )
        rows = self._sql.execute(query, (one_value(job_outputs),))
        return {job_output: Candidate(*cells) for job_output, *cells in rows}

    def that_can_count(
        self, job_outputs: Sequence[int], alone: Mapping[int, Candidate[int]]
    ) -> dict[JobOutput, list[Candidate[int]]]:
        """Return the candidates that can count, by job output.

        These are the candidates of the newest executions, and for an edge set that other runs may explain, those of the
        newest execution that reports it. For statements, the result also contains what these executions report about
        the same dataset under other jobs. `edge_sets.outcome` needs no other candidates of these job outputs. The
        number of candidates depends neither on the length of the history nor on how many other jobs write the dataset.

        alone: the result of `alone_in`.
        """
        explained = {each.output for number in job_outputs if is_statement_half((each := self.job_output(number)).job)}
        beside = {*job_outputs, *self.job_outputs_of(output for output in explained if output)}
        if len(beside) == 1 and (only := alone.get(job_outputs[0])):
            return {self.job_output(job_outputs[0]): [only]}
        newest = (
            "SELECT v.execution FROM votes v JOIN run_keys k ON k.id = v.run WHERE v.grp = ? AND v.weight = ? "
            f"ORDER BY {NEWEST_CANDIDATE} LIMIT 1"
        )
        executions = {
            row[0]
            for job_output in job_outputs
            if self.job_output(job_output).layer != ATTEMPTED
            for weight in WEIGHTS
            for row in self._sql.execute(newest, (job_output, weight))
        }
        executions.update(
            row[0] for job_output in job_outputs for row in self._sql.execute(_ASKING, (job_output,)) if row[0]
        )
        found: dict[JobOutput, list[Candidate[int]]] = {}
        for number in job_outputs:
            if (job_output := self.job_output(number)).layer == ATTEMPTED and (attempts := self._attempts(number)):
                found[job_output] = attempts
        for some in chunks(sorted(executions)):
            for job_output, *candidate in self._of(some, sorted(beside)):
                found.setdefault(self.job_output(job_output), []).append(Candidate(*candidate))
        return found

    def _attempts(self, number: int) -> list[Candidate[int]]:
        newest = (
            f"SELECT {VOTE} FROM votes v JOIN run_keys k ON k.id = v.run WHERE v.edge_set = ? "
            f"ORDER BY {NEWEST_CANDIDATE} LIMIT 1"
        )
        edge_sets = self._sql.execute("SELECT number FROM edge_sets WHERE grp = ? AND runs > 0", (number,)).fetchall()
        rows = (self._sql.execute(newest, edge_set).fetchone() for edge_set in edge_sets)
        return [Candidate(*row) for row in rows if row]

    def touching(self, parents: Iterable[str], executions: Iterable[str]) -> set[JobOutput]:
        """Return the job outputs with opaque edge sets that these runs may explain.

        These are the job outputs of the runs above them, and those of their executions that have no output. Runs and
        executions that are new in this batch are left out, because the batch settles them anyway.

        parents: the parents of these runs.
        """
        above = (
            "WITH RECURSIVE above(run) AS (SELECT run FROM runs WHERE run IN ({}) "
            "UNION SELECT r.parent FROM above a JOIN runs r ON r.run = a.run WHERE r.parent IS NOT NULL) "
            "SELECT DISTINCT v.grp FROM above a JOIN votes v ON v.run = a.run"
        )
        found = {
            row[0]
            for query, keys in ((above, self._older(parents)), (_MERE_READERS, self._older(executions)))
            for some in chunks(keys)
            for row in self._sql.execute(query.format(marks(some)), some)
        }
        return {self.job_output(number) for number in found}

    def _of(self, executions: Sequence[int], job_outputs: Sequence[int]) -> list[tuple[Any, ...]]:
        """Return the candidates of executions in some job outputs.

        An execution may report thousands of outputs, and many jobs may write one output. The query therefore either
        looks up each pair of execution and job output or scans all candidates of the executions, whichever reads fewer
        rows.
        """
        through = len(job_outputs) > 1 and self._says_less(executions, len(job_outputs) * len(executions))
        query = (
            f"SELECT v.grp, {VOTE} FROM votes v INDEXED BY votes_of_execution CROSS JOIN run_keys k ON k.id = v.run "
            f"WHERE v.execution IN ({marks(executions)}) "
            f"AND {'+' if through else ''}v.grp IN (SELECT value FROM json_each(?))"
        )
        return self._sql.execute(query, (*executions, one_value(job_outputs))).fetchall()

    def _says_less(self, executions: Sequence[int], than: int) -> bool:
        query = f"SELECT count(*) FROM (SELECT 1 FROM votes WHERE execution IN ({marks(executions)}) LIMIT ?)"
        return int(self._sql.execute(query, (*executions, than)).fetchone()[0]) < than
