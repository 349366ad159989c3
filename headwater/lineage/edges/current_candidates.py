"""Rule 6: which of the runs that write a dataset say what feeds it now."""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Generic, NamedTuple, TypeVar

from headwater.lineage.names.dataset_name import Name

T = TypeVar("T")


class JobOutput(NamedTuple):
    """A job and one dataset that it writes.

    layer: `observed`, `declared`, or `attempted` for what runs report that did not complete.
    """

    layer: str
    job: Name
    output: Name | None

    @property
    def has_job(self) -> bool:
        """Whether a job writes the output: a DatasetEvent has none, and its producer stands in the job's place."""
        return self.layer != "declared" or bool(self.job.namespace)


class Candidate(NamedTuple, Generic[T]):
    """What one run says of a job output; of two at one instant the greater `tie` is newer.

    started_us, last_us: of the run's first and last event.
    weight: CARRIES column lineage, has it INFERRED, is OPAQUE about inputs, or SILENT, as an ALTER is.
    rows_confirmed: rows are known to have been written. rewrites: its kind, see `write_kinds`; it began at started_us.
    period_us: what it was run for (rule 6.1), never later than its time. lineage: stands for its edges.
    """

    time_us: int
    tie: str
    run_key: str
    execution: str
    started_us: int
    last_us: int
    weight: int
    rows_confirmed: bool
    rewrites: int
    period_us: int
    lineage: T

    @property
    def carries(self) -> bool:
        """Whether it has column lineage."""
        return self.weight >= INFERRED


ATTEMPTED = "attempted"
"""The layer of what runs report that did not complete."""

SILENT, OPAQUE, INFERRED, CARRIES = WEIGHTS = range(4)


class Standing(NamedTuple, Generic[T]):
    """What a job output says: by the candidates that count, and by its newest execution whatever that carries."""

    live: list[Candidate[T]]
    latest: list[Candidate[T]]


def standing(job_output: JobOutput, candidates: Sequence[Candidate[T]]) -> Standing[T]:
    """Count candidates: those of the newest execution among the ones with column lineage, else of the newest.

    The newest execution counts beside that: it may be inferred, or carry nothing but the columns that select its rows.
    A declaration replaces the one before, whatever either carries. Of attempts that report the same, the newest counts,
    and none replaces another.
    """
    if job_output.layer == ATTEMPTED:
        newest_of = {candidate.lineage: candidate for candidate in sorted(candidates, key=newness)}
        return Standing([], list(newest_of.values()))
    if job_output.layer != "observed":
        newest = _of_newest(candidates, candidates)
        return Standing(newest, newest)
    speaking = [candidate for candidate in candidates if candidate.weight > SILENT] or candidates
    heaviest = max((candidate.weight for candidate in speaking), default=SILENT)
    strongest = [candidate for candidate in speaking if candidate.weight == heaviest]
    live, latest = _of_newest(strongest, speaking), _of_newest(speaking, speaking)
    if latest and latest[0].execution != live[0].execution:
        return Standing([*live, *latest], latest)
    return Standing(live, latest)


def _of_newest(pool: Iterable[Candidate[T]], candidates: Sequence[Candidate[T]]) -> list[Candidate[T]]:
    newest = max(pool, key=newness, default=None)
    return [candidate for candidate in candidates if newest and candidate.execution == newest.execution]


CANDIDATE_ORDER = ("period_us", "time_us", "tie")
"""What orders the candidates of a job output, in tables, too; the greatest is the newest."""

newness = attrgetter(*CANDIDATE_ORDER)
