"""Rule 6: choose the runs whose lineage counts for a dataset."""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Generic, NamedTuple, TypeVar

from headwater.lineage.names.dataset_name import Name

T = TypeVar("T")


class JobOutput(NamedTuple):
    """A job and one dataset that it writes; `output` is None if it reports no output.

    layer: `observed`, `declared`, or `attempted` for reports of runs that did not complete.
    """

    layer: str
    job: Name
    output: Name | None

    @property
    def has_job(self) -> bool:
        """Whether a job writes the output. A DatasetEvent has no job; `job` then contains its producer."""
        return self.layer != "declared" or bool(self.job.namespace)


class Candidate(NamedTuple, Generic[T]):
    """What one run reports about a job output.

    time_us: the time of the run. Of runs with the same period and time, the one with the greater `tie` is newer.
    started_us, last_us: the times of the run's first and last event.
    weight: CARRIES (has column lineage), INFERRED (its SQL implies it), OPAQUE (has inputs only) or SILENT (has no
    source, such as an ALTER).
    rows_confirmed: the events show that rows were written.
    write_kind: the kind of the write (`write_kinds`); a whole rewrite replaces the writes that ended before started_us.
    period_us: the period of the run (rule 6.1), never later than its time.
    lineage: identifies its edge set.
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
        """Whether the run has column lineage for the output, reported or inferred."""
        return self.weight >= INFERRED_LINEAGE


ATTEMPTED = "attempted"
"""The layer of reports of runs that did not complete."""

NO_SOURCES, INPUTS_ONLY, INFERRED_LINEAGE, REPORTED_LINEAGE = LINEAGE_WEIGHTS = range(4)


class CountedCandidates(NamedTuple, Generic[T]):
    """The candidates of a job output that count, and those of its newest execution, whatever these carry."""

    current: list[Candidate[T]]
    newest_execution: list[Candidate[T]]


def select_counted_candidates(job_output: JobOutput, candidates: Sequence[Candidate[T]]) -> CountedCandidates[T]:
    """Return the candidates of a job output that count (rules 6.2 to 6.4, 6.10).

    The newest execution with column lineage counts, else the newest execution. Executions that report column lineage
    rank before those that only infer it. The newest execution always counts in addition, even if it carries nothing.
    The newest declaration replaces the older ones, whatever it carries. Attempts do not replace each other; of attempts
    that report the same, only the newest counts.
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
"""The fields, also in tables, that order the candidates of a job output; the greatest is the newest."""

candidate_order_key = attrgetter(*CANDIDATE_ORDER)
