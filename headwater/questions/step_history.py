"""The history of the steps into a dataset: since when each exists, and when others ended, with the runs."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from headwater.events.times import iso
from headwater.index.reading.run_history import SCAN_LIMIT, RunHistory
from headwater.lineage.edges.current_candidates import CARRIES, OPAQUE, Candidate, JobOutput, newness
from headwater.lineage.edges.facet_contents import Transformation
from headwater.lineage.edges.run_edges import OutputLineage
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import run_id_of
from headwater.lineage.time.snapshot import Remask
from headwater.lineage.time.validity import ValidityHistory, ValidityInterval
from headwater.questions.answers.answer_parts import Job
from headwater.questions.answers.contract_answers import RunReference

MAX_ENDED = 1_000
"""Maximum number of ended steps in an answer."""

ColumnLink = tuple[Name, str, str | None]
"""Source dataset, its column, and the target column (None: all columns)."""

_Written = Candidate[Sequence[int]]
NO_RUN = RunReference(None, None, None)


class StepChange(NamedTuple):
    """The start or end of a step: time (us, UTC), run and job."""

    time_us: int
    run_key: str
    job: Name

    def to_answer(self, shown: Callable[[Name], Name]) -> RunReference:
        """Convert it for an answer. shown: returns the display name of a job."""
        return RunReference(run_id_of(self.run_key), iso(self.time_us), Job(*shown(self.job).parts))


class WriterHistory(NamedTuple):
    """A job that writes a dataset.

    first: its first write. opaque: since when it reports no column lineage, None if it does.
    """

    first: StepChange | None
    opaque: StepChange | None


class StepHistory:
    """The history of the steps into one dataset, up to a moment."""

    def __init__(self, runs: RunHistory, dataset: Name, until_us: int, remask: Remask):
        """Read the newest runs of each job that writes the dataset."""
        self._key_of = cache(runs.key_of)
        self.writers: dict[Name, WriterHistory] = {}
        self._began: dict[tuple[ColumnLink, Transformation], StepChange] = {}
        self._ends: dict[ColumnLink, StepChange] = {}
        self._active: set[ColumnLink] = set()
        for layer, job, every in runs.candidates(dataset):
            known = [each for each in every if each.time_us <= until_us]
            if known:
                self._add(runs, JobOutput(layer, job, dataset), known, remask)
                self._date_writer(job, known)

    def since(self, line: ColumnLink, transformation: Transformation) -> StepChange | None:
        """Return since when a step has existed without interruption."""
        return self._began.get((line, transformation)) or self._began.get(((*line[:2], None), transformation))

    def ended(self) -> list[tuple[ColumnLink, StepChange]]:
        """Return the steps that no longer count, newest first, with the runs that ended them."""
        ended = [(line, change) for line, change in self._ends.items() if line not in self._active]
        return sorted(ended, key=lambda each: (-each[1].time_us, str(each)))[:MAX_ENDED]

    def _add(self, runs: RunHistory, output: JobOutput, known: Sequence[_Written], remask: Remask) -> None:
        history: ValidityHistory[int] = ValidityHistory(output.layer)
        history.add(known)
        lineages: dict[int, OutputLineage] = {}
        periods: dict[tuple[ColumnLink, Transformation], list[ValidityInterval[int]]] = {}
        for each in [*history.ended, *history.standing]:
            if each.edge not in lineages:
                lineages[each.edge] = remask(output, runs.output_lineage(each.edge))
            for edge in lineages[each.edge].edges:
                line = (edge.source.plain, edge.column, edge.target)
                periods.setdefault((line, edge.transformation), []).append(each)
        by_time = _by_time(known)
        for (line, transformation), own in periods.items():
            since_us, until_us = _newest_period(own)
            if until_us is None:
                change = self._change(by_time[since_us], output.job)
                self._active.add(line)
                self._began[line, transformation] = min(self._began.get((line, transformation), change), change)
            else:
                change = self._change(by_time[until_us], output.job)
                self._ends[line] = max(self._ends.get(line, change), change)

    def _date_writer(self, job: Name, known: Sequence[_Written]) -> None:
        speaking = sorted((each for each in known if each.weight in (CARRIES, OPAQUE)), key=newness)
        opaque = None
        for each in reversed(speaking):
            if each.carries:
                break
            opaque = self._change(each, job)
        oldest = min(known, key=newness)
        first = self._change(oldest, job) if len(known) <= SCAN_LIMIT else None
        before = self.writers.get(job)
        self.writers[job] = WriterHistory(
            min(first, before.first) if before and before.first and first else first, opaque
        )

    def _change(self, by: _Written, job: Name) -> StepChange:
        return StepChange(by.time_us, self._key_of(int(by.run_key)), job)  # the index stores runs by number


def _by_time(known: Iterable[_Written]) -> dict[int, _Written]:
    """Return the run that counts at each moment: the greatest of those at one instant."""
    return {each.time_us: each for each in sorted(known, key=newness)}


def _newest_period(own: Sequence[ValidityInterval[int]]) -> tuple[int, int | None]:
    """Return start and end of the newest period that the intervals cover without a gap."""
    ordered = sorted(own, key=lambda each: each.since_us)
    since, until = ordered[0].since_us, ordered[0].until_us
    for each in ordered[1:]:
        if until is not None and each.since_us > until:
            since, until = each.since_us, each.until_us
        elif until is not None:
            until = None if each.until_us is None else max(until, each.until_us)
    return since, until
