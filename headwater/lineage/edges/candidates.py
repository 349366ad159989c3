"""Rule 6: choose the runs whose lineage counts for a dataset."""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Generic, NamedTuple, TypeVar

from headwater.lineage.names.dataset_name import Name

T = TypeVar("T")


class JobOutput(NamedTuple):
    """A job and one dataset that the job writes.

    layer: `observed`, `declared`, or `attempted` for reports of runs that did not complete.
    job: the key of the job. For a DatasetEvent, it is a name with an empty namespace and the producer as its name.
    output: the dataset; None if the run reports no output.
    """

    layer: str
    job: Name
    output: Name | None

    @property
    def has_job(self) -> bool:
        """Whether a job writes the output. False for a DatasetEvent, because `job` then contains the producer."""
        return self.layer != "declared" or bool(self.job.namespace)


class Candidate(NamedTuple, Generic[T]):
    """What one run reports about a job output.

    time_us: the time of the run (rule 6.1) in microseconds.
    tie: a text that orders runs with the same period and time. The run with the greater text is newer.
    execution: the key of the root run above the run, else of its parent run, else of the run itself.
    started_us, last_us: the times of the first and the last event of the run in microseconds.
    weight: what the run reports, one of `LINEAGE_WEIGHTS`. `REPORTED_LINEAGE`: the run reports column lineage.
    `INFERRED_LINEAGE`: column lineage follows from the SQL of the run. `INPUTS_ONLY`: the run only reports inputs.
    `NO_SOURCES`: the run reports no source, for example because it runs ALTER TABLE.
    rows_confirmed: whether the events prove that the run wrote rows.
    write_kind: the kind of the write, one of `write_kinds.WRITE_KINDS`. A whole rewrite replaces the rows of all writes
    that ended before `started_us`.
    period_us: the period of the run (rule 6.1) in microseconds. It is never later than `time_us`.
    lineage: the lineage of the output, or a value that identifies it. Runs with equal values report the same.
    """

    time_us: int
    tie: str
    run_key: str
    execution: str
    started_us: int
    last_us: int
    weight: int
    rows_confirmed: bool
    write_kind: int
    period_us: int
    lineage: T

    @property
    def has_column_lineage(self) -> bool:
        """Whether the run reports column lineage for the output, or its SQL implies column lineage."""
        return self.weight >= INFERRED_LINEAGE


ATTEMPTED = "attempted"
"""The layer of reports of runs that did not complete."""

NO_SOURCES, INPUTS_ONLY, INFERRED_LINEAGE, REPORTED_LINEAGE = LINEAGE_WEIGHTS = range(4)


class CountedCandidates(NamedTuple, Generic[T]):
    """The candidates that count for a job output.

    current: the candidates of the current execution (rule 6.2), and of the newest execution if it is a different one.
    newest_execution: the candidates of the newest execution, even if they report no column lineage. For attempts, all
    candidates that count are here, and `current` is empty.
    """

    current: list[Candidate[T]]
    newest_execution: list[Candidate[T]]


def select_counted_candidates(job_output: JobOutput, candidates: Sequence[Candidate[T]]) -> CountedCandidates[T]:
    """Return the candidates of a job output that count (rules 6.2 to 6.4, 6.10).

    Observed runs: the newest execution with reported column lineage counts. If no execution reports column lineage, the
    newest execution with inferred column lineage counts. The newest execution always counts, too.
    Declarations: only the newest declaration counts, even if it reports nothing.
    Attempts: all attempts count, but only the newest of several attempts with equal lineage.
    """
    if job_output.layer == ATTEMPTED:
        newest_of = {candidate.lineage: candidate for candidate in sorted(candidates, key=candidate_order_key)}
        return CountedCandidates([], list(newest_of.values()))
    if job_output.layer != "observed":
        newest = _candidates_of_newest_execution(candidates, candidates)
        return CountedCandidates(newest, newest)
    reporting = [candidate for candidate in candidates if candidate.weight > NO_SOURCES] or candidates
    greatest_weight = max((candidate.weight for candidate in reporting), default=NO_SOURCES)
    of_greatest_weight = [candidate for candidate in reporting if candidate.weight == greatest_weight]
    live, latest = (
        _candidates_of_newest_execution(of_greatest_weight, reporting),
        _candidates_of_newest_execution(reporting, reporting),
    )
    if latest and latest[0].execution != live[0].execution:
        return CountedCandidates([*live, *latest], latest)
    return CountedCandidates(live, latest)


def _candidates_of_newest_execution(
    pool: Iterable[Candidate[T]], candidates: Sequence[Candidate[T]]
) -> list[Candidate[T]]:
    newest = max(pool, key=candidate_order_key, default=None)
    return [candidate for candidate in candidates if newest and candidate.execution == newest.execution]


CANDIDATE_ORDER = ("period_us", "time_us", "tie")
"""The fields that order the candidates of a job output, and the table columns of the same names.

The greatest candidate is the newest.
"""

candidate_order_key = attrgetter(*CANDIDATE_ORDER)
