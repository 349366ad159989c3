"""Table `candidates`: what each run reports about each job output (rule 6), and the last whole rewrites (rule 6.7)."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from headwater.index.stored.database import json_array, question_marks, split_for_parameters
from headwater.index.stored.edge_sets import EdgeSetTable
from headwater.index.stored.numbers import NEWEST_CANDIDATE, TIE, NameNumbers, RunNumbers
from headwater.lineage.edges.candidates import ATTEMPTED, LINEAGE_WEIGHTS, Candidate, JobOutput
from headwater.lineage.edges.edge_sets import is_writing_half
from headwater.lineage.edges.output_lineage import OutputLineage
from headwater.lineage.edges.write_kinds import WHOLE_REWRITE, WHOLE_UNLESS_PARTITIONED
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.commit_proofs import parse_proof_signs
from headwater.lineage.runs.jobs import is_ctas_statement
from headwater.lineage.runs.run_derivation import DerivedRun
from headwater.lineage.runs.run_facts import RunFacts
from headwater.lineage.snapshots.whole_rewrites import WholeRewrite, whole_rewrite

_STORED_COLUMNS = "time_us, tie, execution, started_us, last_us, weight, rows_confirmed, rewrites, period_us, edge_set"

_REPORTS_OTHER = " UNION ALL ".join(
    f"SELECT 1 FROM candidates WHERE execution = ?1 AND job_output = ?2 AND edge_set {than} ?3" for than in "<>"
) + " LIMIT 1"  # fmt: skip
"""Selects whether an execution reports another edge set for a job output.

It uses an SQL index, because the execution may have a million rows with the same edge set.
"""

_REWRITES = 1 + _STORED_COLUMNS.split(", ").index("rewrites")

_Cells = tuple[Any, ...]
"""The columns of a candidate without its run: `job_output`, then `_STORED_COLUMNS`."""


class CandidateBatch:
    """The candidates of some runs before and after a batch. `write` writes the changes."""

    def __init__(self, connection: sqlite3.Connection, runs: Sequence[int], executions: Sequence[int]):
        """Read the stored candidates of these runs. executions: the executions that earlier batches have stored.

        runs, executions: numbers of runs.
        """
        self._sql = connection
        self._before: dict[int, dict[int, _Cells]] = defaultdict(dict)
        self._lineage: dict[tuple[int, int], set[int]] = defaultdict(set)
        self._deleted: list[tuple[int, int]] = []
        self._added: list[tuple[Any, ...]] = []
        for some in split_for_parameters(runs):
            query = f"SELECT run, job_output, {_STORED_COLUMNS} FROM candidates WHERE run IN ({question_marks(some)})"
            for run, *cells in connection.execute(query, some):
                self._before[run][cells[0]] = tuple(cells)
        self._executions = frozenset(executions)
        self._others: dict[tuple[int, int, int], bool] = {}

    def replace_run(self, run: int, after: Mapping[int, _Cells]) -> list[int]:
        """Replace the candidates of a run. Call it once per run and batch.

        after: the new candidates by job output number. Returns the numbers of the job outputs that changed.
        """
        before = self._before.get(run, {})
        changed = [number for number in before.keys() | after.keys() if before.get(number) != after.get(number)]
        for number in changed:
            if number in before:
                self._deleted.append((run, number))
            if number in after:
                self._added.append((run, *after[number]))
                self._lineage[after[number][3], number].add(after[number][-1])
        return changed

    def is_whole_rewrite(self, run: int, job_output: int, after: _Cells | None) -> bool:
        """Return whether a run's stored or new candidate in a job output is a whole rewrite.

        after: the new candidate, or None if the run has none now.
        """
        before = self._before.get(run, {}).get(job_output)
        return any(bool(cells[_REWRITES]) for cells in (before, after) if cells)

    def is_new_candidate(self, run: int, job_output: int) -> bool:
        """Return whether a run had no stored candidate in a job output."""
        return job_output not in self._before.get(run, ())

    def reports_only_edge_set(self, execution: int, job_output: int, edge_set: int) -> bool:
        """Return whether an execution reports only this edge set for a job output, in this and all earlier batches."""
        if not self._lineage[execution, job_output] <= {edge_set}:
            return False
        key = execution, job_output, edge_set
        if execution in self._executions and key not in self._others:
            self._others[key] = self._sql.execute(_REPORTS_OTHER, key).fetchone() is not None
        return not self._others.get(key, False)

    def write(self, edge_sets: EdgeSetTable) -> None:
        """Write the candidates, then update the run counts of the edge sets."""
        changed_sets = {self._before[run][number][-1] for run, number in self._deleted}
        times: dict[int, list[int]] = defaultdict(list)
        for candidate in self._added:
            times[candidate[-1]].append(candidate[2])
        self._sql.executemany("DELETE FROM candidates WHERE run = ? AND job_output = ?", self._deleted)
        self._sql.executemany("INSERT INTO candidates VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._added)
        edge_sets.add_run_times({number: found for number, found in times.items() if number not in changed_sets})
        edge_sets.recount_runs(changed_sets)


CANDIDATE_COLUMNS = (
    f"v.time_us, {TIE}, v.run, v.execution, v.started_us, v.last_us, v.weight, v.rows_confirmed, v.rewrites, "
    "v.period_us, v.edge_set"
)
"""SQL of the fields of a `Candidate`. `v` is table `candidates`, `k` is `run_keys`. Runs and executions are numbers."""

_WITHOUT_OUTPUT = (
    "WITH RECURSIVE pairs(execution, job_output) AS ("
    "SELECT id, (SELECT min(job_output) FROM candidates WHERE execution = id) FROM run_keys WHERE id IN ({}) UNION ALL "
    "SELECT s.execution, (SELECT min(v.job_output) FROM candidates v WHERE v.execution = s.execution "
    "AND v.job_output > s.job_output) "
    "FROM pairs s WHERE s.job_output IS NOT NULL) "
    "SELECT DISTINCT s.job_output FROM pairs s JOIN job_outputs g ON g.id = s.job_output WHERE g.output = 0"
)
"""Selects the job outputs without an output dataset that some executions report.

The recursion jumps from one job output to the next in an SQL index. Its cost therefore does not depend on the number of
candidates in each job output.
"""

_EXPLAINABLE = (
    "SELECT (SELECT v.execution FROM candidates v JOIN run_keys k ON k.id = v.run WHERE v.edge_set = e.number "
    f"ORDER BY {NEWEST_CANDIDATE} LIMIT 1) FROM edge_sets e WHERE e.job_output = ? AND e.asks AND e.runs > 0"
)
"""Selects, for each edge set of a job output that other runs may explain, the newest execution that reports it."""


class CandidateTable:
    """The candidates of all runs, by job output."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers, runs: RunNumbers, edge_sets: EdgeSetTable):
        self._sql = connection
        self._runs = runs
        self._edge_sets = edge_sets
        self._names = names
        self._job_outputs: dict[JobOutput, int] = {}
        self._by_number: dict[int, JobOutput] = {}
        self._only: dict[int, int] = {}
        self._statements: dict[int, list[int]] = {}
        self._rewritten: set[Name] = set()

    def replace_runs(self, derived: Sequence[DerivedRun]) -> set[JobOutput]:
        """Replace the candidates of runs. Return the job outputs for which other edge sets may count now."""
        executions = self._stored_run_numbers(
            candidate.execution for one in derived for candidate in one.candidates.values()
        )
        batch = CandidateBatch(self._sql, self._stored_run_numbers(one.run.key for one in derived), executions)
        changed: set[int] = set()
        for run, lineage, *_ in derived:
            run_number = self._runs[run.key]
            after = {
                (number := self.job_output_number(job_output)): self._to_cells(number, candidate)
                for job_output, candidate in lineage.items()
            }
            for number in batch.replace_run(run_number, after):
                self._count_rewrite(number, rewrites=batch.is_whole_rewrite(run_number, number, after.get(number)))
                if not (
                    batch.is_new_candidate(run_number, number) and self._repeats_only_counting(batch, after[number])
                ):
                    changed.add(number)
        batch.write(self._edge_sets)
        return {self.job_output_of_number(number) for number in changed}

    def pop_datasets_with_changed_rewrites(self) -> Set[Name]:
        """Return the datasets whose last whole rewrite may have changed since the last call."""
        found, self._rewritten = self._rewritten, set()
        return found

    def _count_rewrite(self, number: int, *, rewrites: bool) -> None:
        job_output = self.job_output_of_number(number)
        if job_output.output is not None and (
            rewrites or (is_writing_half(job_output.job) and self.explainable_statements(job_output.output))
        ):
            self._rewritten.add(job_output.output)

    def candidates_of_execution(self, execution: int, job_outputs: Sequence[int]) -> list[tuple[int, Candidate[int]]]:
        """Return (job output number, candidate) for the candidates of an execution in some job outputs."""
        return [(number, Candidate(*cells)) for number, *cells in self._rows_of_executions([execution], job_outputs)]

    def _stored_run_numbers(self, keys: Iterable[str]) -> list[int]:
        """Return the numbers of the runs in `keys` that earlier batches have stored. keys: run keys."""
        numbers = map(self._runs.__getitem__, set(keys))
        return sorted(number for number in numbers if not self._runs.is_new_in_batch(number))

    def set_only_counting(self, job_output: int, edge_set: int | None) -> None:
        """Remember the only edge set that counts for a job output.

        edge_set: the number of an edge set with column lineage, or None if several edge sets count or none does.
        """
        if edge_set is None:
            self._only.pop(job_output, None)
        else:
            self._only[job_output] = edge_set

    def _repeats_only_counting(self, batch: CandidateBatch, cells: _Cells) -> bool:
        """Return whether a new candidate reports the only edge set that counts already, and its execution no other.

        The job output then needs no recount. This is the case for nearly every run of a recurring job.
        """
        number, execution, edge_set = cells[0], cells[3], cells[-1]
        return self._only.get(number) == edge_set and batch.reports_only_edge_set(execution, number, edge_set)

    def _to_cells(self, number: int, candidate: Candidate[OutputLineage]) -> _Cells:
        lineage = candidate.lineage
        return (
            number, candidate.time_us, None if candidate.tie == candidate.run_key else candidate.tie,
            self._runs[candidate.execution], candidate.started_us, candidate.last_us, candidate.weight,
            candidate.rows_confirmed, candidate.write_kind, candidate.period_us,
            self._edge_sets.edge_set_number(number, lineage),
        )  # fmt: skip

    def job_output_number(self, job_output: JobOutput) -> int:
        """Return the number of a job output. A new job output gets a number."""
        found = self._job_outputs.get(job_output)
        if found is None:
            key = (
                job_output.layer,
                self._names.number(job_output.job),
                self._names.number(job_output.output) if job_output.output else 0,
            )
            made = self._sql.execute("INSERT OR IGNORE INTO job_outputs(layer, job, output) VALUES (?, ?, ?)", key)
            query = "SELECT id FROM job_outputs WHERE layer = ? AND job = ? AND output = ?"
            found = int(made.lastrowid or 0) if made.rowcount else self._sql.execute(query, key).fetchone()[0]
            self._job_outputs[job_output], self._by_number[found] = found, job_output
            if made.rowcount and key[2] in self._statements and is_ctas_statement(job_output.job):
                self._statements[key[2]].append(found)
        return found

    def job_output_of_number(self, number: int) -> JobOutput:
        """Return the job output for a number."""
        if found := self._by_number.get(number):
            return found
        layer, job, output = self._sql.execute(
            "SELECT layer, job, output FROM job_outputs WHERE id = ?", (number,)
        ).fetchone()
        return JobOutput(layer, self._names.name(job), self._names.name(output) if output else None)

    def job_outputs_of(self, outputs: Iterable[Name]) -> list[int]:
        """Return the numbers of the job outputs that write these datasets."""
        numbers = [number for name in outputs if (number := self._names.find_number(name)) is not None]
        query = "SELECT id FROM job_outputs WHERE output IN ({})"
        return [
            row[0]
            for some in split_for_parameters(numbers)
            for row in self._sql.execute(query.format(question_marks(some)), some)
        ]

    def explainable_statements(self, output: Name) -> Sequence[int]:
        """Return the numbers of a dataset's job outputs by CREATE TABLE AS SELECT statements.

        Other runs may explain such a statement (rule 4).
        """
        number = self._names.number(output)
        found = self._statements.get(number)
        if found is None:
            own = ((each, self.job_output_of_number(each)) for each in self.job_outputs_of([output]))
            found = self._statements[number] = [each for each, job_output in own if is_ctas_statement(job_output.job)]
        return found

    def load_explainable_statements(self, outputs: Iterable[Name]) -> None:
        """Load the results of `explainable_statements` for several datasets with one query."""
        missing = {number: name for name in outputs if (number := self._names.number(name)) not in self._statements}
        self._statements.update((number, []) for number in missing)
        for each in self.job_outputs_of(missing.values()):
            job_output = self.job_output_of_number(each)
            if job_output.output and is_ctas_statement(job_output.job):
                self._statements[self._names.number(job_output.output)].append(each)

    def single_candidates(self, job_outputs: Sequence[int]) -> dict[int, Candidate[int]]:
        """Return the candidates of job outputs that have exactly one candidate, by job output number.

        Most outputs of an event with thousands of outputs have exactly one candidate.
        """
        query = (
            f"SELECT v.job_output, {CANDIDATE_COLUMNS} FROM json_each(?) JOIN candidates v ON v.job_output = value "
            "JOIN run_keys k ON k.id = v.run WHERE NOT EXISTS (SELECT 1 FROM candidates w "
            "WHERE w.job_output = value LIMIT 1 OFFSET 1)"
        )
        rows = self._sql.execute(query, (json_array(job_outputs),))
        return {job_output: Candidate(*cells) for job_output, *cells in rows}

    def countable_candidates(
        self, job_outputs: Sequence[int], only: Mapping[int, Candidate[int]]
    ) -> dict[JobOutput, list[Candidate[int]]]:
        """Return the candidates that can count, by job output.

        These are the candidates of the newest executions. For an edge set that other runs may explain, the candidates
        of the newest execution that reports the edge set are added. For statements, the result also contains what these
        executions report about the same dataset under other jobs. `edge_sets.resolve_edge_sets` needs no other
        candidates of these job outputs. The number of candidates depends neither on the length of the history nor on
        the number of other jobs that write the dataset.

        only: the result of `single_candidates`.
        """
        explained = {
            each.output for number in job_outputs if is_ctas_statement((each := self.job_output_of_number(number)).job)
        }
        related = {*job_outputs, *self.job_outputs_of(output for output in explained if output)}
        if len(related) == 1 and (single := only.get(job_outputs[0])):
            return {self.job_output_of_number(job_outputs[0]): [single]}
        newest = (
            "SELECT v.execution FROM candidates v JOIN run_keys k ON k.id = v.run WHERE v.job_output = ? "
            "AND v.weight = ? "
            f"ORDER BY {NEWEST_CANDIDATE} LIMIT 1"
        )
        executions = {
            row[0]
            for job_output in job_outputs
            if self.job_output_of_number(job_output).layer != ATTEMPTED
            for weight in LINEAGE_WEIGHTS
            for row in self._sql.execute(newest, (job_output, weight))
        }
        executions.update(
            row[0] for job_output in job_outputs for row in self._sql.execute(_EXPLAINABLE, (job_output,)) if row[0]
        )
        found: dict[JobOutput, list[Candidate[int]]] = {}
        for number in job_outputs:
            if (job_output := self.job_output_of_number(number)).layer == ATTEMPTED and (
                attempts := self._attempt_candidates(number)
            ):
                found[job_output] = attempts
        for some in split_for_parameters(sorted(executions)):
            for job_output, *candidate in self._rows_of_executions(some, sorted(related)):
                found.setdefault(self.job_output_of_number(job_output), []).append(Candidate(*candidate))
        return found

    def _attempt_candidates(self, number: int) -> list[Candidate[int]]:
        newest = (
            f"SELECT {CANDIDATE_COLUMNS} FROM candidates v JOIN run_keys k ON k.id = v.run WHERE v.edge_set = ? "
            f"ORDER BY {NEWEST_CANDIDATE} LIMIT 1"
        )
        edge_sets = self._sql.execute(
            "SELECT number FROM edge_sets WHERE job_output = ? AND runs > 0", (number,)
        ).fetchall()
        rows = (self._sql.execute(newest, edge_set).fetchone() for edge_set in edge_sets)
        return [Candidate(*row) for row in rows if row]

    def job_outputs_explained_by(self, parents: Iterable[str], executions: Iterable[str]) -> set[JobOutput]:
        """Return the job outputs with opaque edge sets that some runs may explain.

        These are the job outputs of the runs above them, and the job outputs without an output dataset of their
        executions. Runs and executions that are new in this batch are left out, because the batch recounts their job
        outputs anyway.

        parents, executions: the run keys of the parents and the executions of these runs.
        """
        above = (
            "WITH RECURSIVE above(run) AS (SELECT run FROM runs WHERE run IN ({}) "
            "UNION SELECT r.parent FROM above a JOIN runs r ON r.run = a.run WHERE r.parent IS NOT NULL) "
            "SELECT DISTINCT v.job_output FROM above a JOIN candidates v ON v.run = a.run"
        )
        found = {
            row[0]
            for query, keys in (
                (above, self._stored_run_numbers(parents)),
                (_WITHOUT_OUTPUT, self._stored_run_numbers(executions)),
            )
            for some in split_for_parameters(keys)
            for row in self._sql.execute(query.format(question_marks(some)), some)
        }
        return {self.job_output_of_number(number) for number in found}

    def _rows_of_executions(self, executions: Sequence[int], job_outputs: Sequence[int]) -> list[tuple[Any, ...]]:
        """Return the candidates of executions in some job outputs, as (job output number, *`CANDIDATE_COLUMNS`).

        An execution may report thousands of outputs, and many jobs may write one output. The query therefore either
        looks up each pair of execution and job output or scans all candidates of the executions, whichever reads fewer
        rows.
        """
        through = len(job_outputs) > 1 and self._has_fewer_candidates(executions, len(job_outputs) * len(executions))
        query = (
            f"SELECT v.job_output, {CANDIDATE_COLUMNS} FROM candidates v INDEXED BY candidates_of_execution "
            f"CROSS JOIN run_keys k ON k.id = v.run WHERE v.execution IN ({question_marks(executions)}) "
            f"AND {'+' if through else ''}v.job_output IN (SELECT value FROM json_each(?))"
        )
        return self._sql.execute(query, (*executions, json_array(job_outputs))).fetchall()

    def _has_fewer_candidates(self, executions: Sequence[int], limit: int) -> bool:
        query = (
            f"SELECT count(*) FROM (SELECT 1 FROM candidates WHERE execution IN ({question_marks(executions)}) LIMIT ?)"
        )
        return int(self._sql.execute(query, (*executions, limit)).fetchone()[0]) < limit


_LAST = (
    f"SELECT {CANDIDATE_COLUMNS} FROM candidates v JOIN run_keys k ON k.id = v.run WHERE v.job_output = ? "
    "AND v.rewrites = ? "
    "ORDER BY v.started_us DESC, v.time_us DESC, coalesce(v.tie, k.key) DESC LIMIT 1"
)

_NONE = (None, None)


class RewriteTable:
    """Updates table `rewrites`, the last whole rewrite of each dataset, from the candidates of a batch."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers, candidates: CandidateTable):
        self._sql = connection
        self._names = names
        self._candidates = candidates

    def update_rewrites(self, generation: int) -> None:
        """Find and write the last rewrite of each dataset for which this batch may have changed it."""
        for output in self._candidates.pop_datasets_with_changed_rewrites():
            numbers = self._candidates.job_outputs_of([output])
            unless_parts, whole = (
                max(self._newest_rewrites(numbers, kind), default=None)
                for kind in (WHOLE_UNLESS_PARTITIONED, WHOLE_REWRITE)
            )
            every = max((each for each in (unless_parts, whole) if each), default=None)
            row = (self._names.number(output), *(every or _NONE), *(whole or _NONE), generation)
            self._sql.execute("INSERT OR REPLACE INTO rewrites VALUES (?, ?, ?, ?, ?, ?)", row)

    def add_proofs(self, facts: Sequence[RunFacts]) -> None:
        """Store the commit proofs in events, and the time of the newest event that is not ahead of its receipt."""
        proofs = [proof for fact in facts for proof in parse_proof_signs(fact.content.write_signs)]
        rows = [(self._names.number(each.dataset), each.is_whole_rewrite, each.run_id) for each in proofs]
        self._sql.executemany("INSERT OR IGNORE INTO commit_proofs VALUES (?, ?, ?)", rows)
        newest = max((fact.time_us for fact in facts if fact.order.credible), default=None)
        if newest is not None:
            row = "INSERT INTO newest_event VALUES (1, ?) ON CONFLICT(id) DO UPDATE SET time_us = max(time_us, ?)"
            self._sql.execute(row, (newest, newest))

    def _newest_rewrites(self, numbers: Sequence[int], kind: int) -> Iterator[WholeRewrite]:
        for number in numbers:
            for row in self._sql.execute(_LAST, (number, kind)).fetchall():
                last: Candidate[int] = Candidate(*row)
                yield whole_rewrite(
                    self._candidates.job_output_of_number(number), last, self._candidates_of_execution(last, numbers)
                )

    def _candidates_of_execution(
        self, candidate: Candidate[int], numbers: Sequence[int]
    ) -> list[tuple[JobOutput, Candidate[int]]]:
        """Return (job output, candidate) for the candidates of the same execution for the same dataset.

        numbers: the job outputs of the dataset. Returns nothing if the candidate has a duration.
        """
        if candidate.started_us != candidate.last_us:
            return []
        found = self._candidates.candidates_of_execution(int(candidate.execution), numbers)
        return [(self._candidates.job_output_of_number(number), each) for number, each in found]
