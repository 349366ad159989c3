"""Since when what feeds a dataset is as it is, and what ended: each with the run that made it so."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from headwater.events.times import iso
from headwater.index.reading.run_history import LOOKED_AT, RunHistory
from headwater.lineage.edges.current_candidates import CARRIES, OPAQUE, Candidate, JobOutput, newness
from headwater.lineage.edges.facet_contents import Transformation
from headwater.lineage.edges.run_edges import OutputLineage
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import run_id_of
from headwater.lineage.time.snapshot import Remask
from headwater.lineage.time.validity import ValidityHistory, ValidityInterval
from headwater.questions.answers.answer_parts import Job
from headwater.questions.answers.contract_answers import Broke

ENDED = 1_000
"""Steps that ended of which is told."""

Line = tuple[Name, str, str | None]
"""Source, its column, and the column it goes into, None where it shapes all."""

_Written = Candidate[Sequence[int]]
NOBODY = Broke(None, None, None)


class Turn(NamedTuple):
    """A moment (us, UTC) at which a step began or ended, the run that made it so, and its job."""

    time_us: int
    run_key: str
    job: Name

    def told(self, shown: Callable[[Name], Name]) -> Broke:
        """Return it as answers have it; shown: what people call a job."""
        return Broke(run_id_of(self.run_key), iso(self.time_us), Job(*shown(self.job).parts))


class WriterAge(NamedTuple):
    """A job that writes a dataset: since when, and since when nothing is said of columns; None: something is."""

    first: Turn | None
    opaque: Turn | None


class StepAges:
    """What was said of one dataset by the runs that wrote it, up to a moment."""

    def __init__(self, runs: RunHistory, dataset: Name, until_us: int, remask: Remask):
        """Read the newest runs of each job that writes it."""
        self._key_of = cache(runs.key_of)
        self.writers: dict[Name, WriterAge] = {}
        self._began: dict[tuple[Line, Transformation], Turn] = {}
        self._ends: dict[Line, Turn] = {}
        self._standing: set[Line] = set()
        for layer, job, every in runs.candidates(dataset):
            known = [each for each in every if each.time_us <= until_us]
            if known:
                self._take(runs, JobOutput(layer, job, dataset), known, remask)
                self._date_writer(job, known)

    def since(self, line: Line, transformation: Transformation) -> Turn | None:
        """Return since when a step is there without a break."""
        return self._began.get((line, transformation)) or self._began.get(((*line[:2], None), transformation))

    def ended(self) -> list[tuple[Line, Turn]]:
        """Return the steps that count no more with what ended them, the newest first."""
        gone = [(line, turn) for line, turn in self._ends.items() if line not in self._standing]
        return sorted(gone, key=lambda each: (-each[1].time_us, str(each)))[:ENDED]

    def _take(self, runs: RunHistory, output: JobOutput, known: Sequence[_Written], remask: Remask) -> None:
        history: ValidityHistory[int] = ValidityHistory(output.layer)
        history.add(known)
        said: dict[int, OutputLineage] = {}
        stretches: dict[tuple[Line, Transformation], list[ValidityInterval[int]]] = {}
        for each in [*history.ended, *history.standing]:
            if each.edge not in said:
                said[each.edge] = remask(output, runs.output_lineage(each.edge))
            for edge in said[each.edge].edges:
                line = (edge.source.plain, edge.column, edge.target)
                stretches.setdefault((line, edge.transformation), []).append(each)
        by_time = _by_time(known)
        for (line, transformation), own in stretches.items():
            since_us, until_us = _newest_stretch(own)
            if until_us is None:
                turn = self._turn(by_time[since_us], output.job)
                self._standing.add(line)
                self._began[line, transformation] = min(self._began.get((line, transformation), turn), turn)
            else:
                turn = self._turn(by_time[until_us], output.job)
                self._ends[line] = max(self._ends.get(line, turn), turn)

    def _date_writer(self, job: Name, known: Sequence[_Written]) -> None:
        speaking = sorted((each for each in known if each.weight in (CARRIES, OPAQUE)), key=newness)
        opaque = None
        for each in reversed(speaking):
            if each.carries:
                break
            opaque = self._turn(each, job)
        oldest = min(known, key=newness)
        first = self._turn(oldest, job) if len(known) <= LOOKED_AT else None
        before = self.writers.get(job)
        self.writers[job] = WriterAge(min(first, before.first) if before and before.first and first else first, opaque)

    def _turn(self, by: _Written, job: Name) -> Turn:
        return Turn(by.time_us, self._key_of(int(by.run_key)), job)  # candidates of the index have runs by number


def _by_time(known: Iterable[_Written]) -> dict[int, _Written]:
    """Return of each moment the run that counts: the greatest of those at one instant."""
    return {each.time_us: each for each in sorted(known, key=newness)}


def _newest_stretch(own: Sequence[ValidityInterval[int]]) -> tuple[int, int | None]:
    """Return from when to when the newest of the times lasts in which one of these intervals always counts."""
    ordered = sorted(own, key=lambda each: each.since_us)
    since, until = ordered[0].since_us, ordered[0].until_us
    for each in ordered[1:]:
        if until is not None and each.since_us > until:
            since, until = each.since_us, each.until_us
        elif until is not None:
            until = None if each.until_us is None else max(until, each.until_us)
    return since, until
