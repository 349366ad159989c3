"""Finds the job outputs that must be recounted for outputs that are re-created often, without reading each generation.

A table that is rebuilt every night has a job output for each job and night. A batch recounts the job outputs that
changed, those in which their jobs last wrote, and those that have counted as current readers until now (rule 6). It
also recounts the job outputs of statements, because other runs may explain them (rule 4). It skips all others.
"""

import sqlite3
from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import Any

from headwater.index.stored.candidates import CandidateTable
from headwater.index.stored.database import question_marks
from headwater.index.stored.numbers import NEWEST_CANDIDATE, TIE, NameNumbers
from headwater.lineage.edges.candidates import LINEAGE_WEIGHTS, JobOutput
from headwater.lineage.names.dataset_name import Name

_MAX = 100
_NEWEST = (
    "FROM candidates v JOIN run_keys k ON k.id = v.run WHERE v.job_output = ? AND v.weight = ? "
    f"ORDER BY {NEWEST_CANDIDATE} LIMIT 1"
)

_Newest = tuple[int, int, str, int]
"""(period (us), time (us), tie, job output number) of the newest candidate with some weight in a job output."""


class _GenerationsOfOutput:
    """The job outputs of one job and one dataset, in all generations of the dataset.

    numbers: the numbers of the job outputs. reading: the numbers of the job outputs that count over all generations.
    """

    def __init__(self) -> None:
        self.numbers: set[int] = set()
        self.reading: set[int] = set()
        self._newest: dict[int, list[_Newest]] = {weight: [] for weight in LINEAGE_WEIGHTS}
        self._known: dict[tuple[int, int], _Newest] = {}

    def set_newest(self, number: int, weight: int, newest: _Newest | None) -> None:
        """Set the newest candidate with a weight in a job output. newest: None if there is no candidate."""
        known, ordered = self._known.pop((number, weight), None), self._newest[weight]
        if known is not None:
            del ordered[bisect_left(ordered, known)]
        if newest is not None:
            insort(ordered, newest)
            self._known[number, weight] = newest

    def newest_candidate_by_weight(self) -> dict[int, int]:
        """Return the job output number of the newest candidate of each weight, over all generations."""
        return {weight: ordered[-1][3] for weight, ordered in self._newest.items() if ordered}


class RecreatedOutputs:
    """A cache of outputs with more than one generation. An output is loaded when it changes for the first time."""

    def __init__(self, connection: sqlite3.Connection, names: NameNumbers, candidates: CandidateTable):
        self._sql = connection
        self._names = names
        self._candidates = candidates
        self._loaded: set[Name] = set()
        self._jobs: dict[JobOutput, _GenerationsOfOutput] = {}
        self._job_of: dict[int, _GenerationsOfOutput] = {}

    def affected_job_outputs(self, changed: Iterable[JobOutput]) -> list[int]:
        """Return the numbers of the job outputs for which other edge sets may count after a change.

        changed: the job outputs that changed, at least one, all of the same dataset.
        """
        changed = list(changed)
        output = changed[0].output
        if output is None:
            return [self._candidates.job_output_number(job_output) for job_output in changed]
        todo = {self._candidates.job_output_number(job_output) for job_output in changed}
        if len(self._names.generations(output)) < 2:
            return sorted(todo.union(self._candidates.explainable_statements(output)))
        self._load_generations(output.without_generation, changed)
        found: set[int] = set()
        while todo:
            number = todo.pop()
            found.add(number)
            if (generation := self._candidates.job_output_of_number(number).output) is not None:
                todo.update(self._candidates.explainable_statements(generation))
            todo |= self._counting_job_outputs(self._job_of[number])
            todo -= found
        return sorted(found)

    def set_counting_readers(self, numbers: Iterable[int], reading: Iterable[JobOutput]) -> None:
        """Record which job outputs count over all generations.

        numbers: the recounted job outputs. reading: the job outputs with an edge set that counts over all generations.
        """
        for number in numbers:
            if job := self._job_of.get(number):
                job.reading.discard(number)
        for job_output in reading:
            number = self._candidates.job_output_number(job_output)
            if job := self._job_of.get(number):
                job.reading.add(number)

    def _load_generations(self, output: Name, changed: Iterable[JobOutput]) -> None:
        fresh = {self._candidates.job_output_number(job_output) for job_output in changed}
        if output not in self._loaded:
            self._loaded.add(output)
            fresh.update(self._candidates.job_outputs_of(self._names.generations(output)))
        for number in fresh:
            self._load_newest_candidates(number)

    def _load_newest_candidates(self, number: int) -> None:
        job = self._job_of.get(number) or self._generations_with(number)
        query = f"SELECT v.period_us, v.time_us, {TIE} {_NEWEST}"
        for weight in LINEAGE_WEIGHTS:
            row = self._sql.execute(query, (number, weight)).fetchone()
            job.set_newest(number, weight, (*row, number) if row else None)

    def _generations_with(self, number: int) -> _GenerationsOfOutput:
        job_output = self._candidates.job_output_of_number(number)
        key = job_output._replace(output=job_output.output and job_output.output.without_generation)
        job = self._job_of[number] = self._jobs.setdefault(key, _GenerationsOfOutput())
        job.numbers.add(number)
        if self._sql.execute("SELECT 1 FROM edge_sets WHERE job_output = ? AND reading LIMIT 1", (number,)).fetchone():
            job.reading.add(number)
        return job

    def _counting_job_outputs(self, job: _GenerationsOfOutput) -> set[int]:
        """Return the numbers of the job outputs in which a job last wrote or that have counted until now."""
        return {
            number
            for weight, newest in job.newest_candidate_by_weight().items()
            for number in self._job_outputs_of_execution(job, newest, weight)
        } | job.reading

    def _job_outputs_of_execution(self, job: _GenerationsOfOutput, number: int, weight: int) -> set[int]:
        """Return the numbers of the job outputs of `job` that one execution reports.

        The execution is that of the newest candidate with this weight in job output `number`.
        """
        query = f"SELECT DISTINCT job_output FROM candidates WHERE execution = (SELECT v.execution {_NEWEST})"
        found = {row[0] for row in self._sql.execute(f"{query} LIMIT {_MAX}", (number, weight))}
        if len(found) == _MAX:
            own: list[Any] = sorted(job.numbers)
            found = {
                row[0]
                for row in self._sql.execute(
                    f"{query} AND job_output IN ({question_marks(own)})", (number, weight, *own)
                )
            }
        return found & job.numbers
