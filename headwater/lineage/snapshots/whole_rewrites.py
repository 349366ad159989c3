"""Rule 6.9: find the whole rewrite that replaced the rows of earlier writes. Also defines the window of rule 6.8."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from headwater.lineage.edges.candidates import Candidate, JobOutput
from headwater.lineage.edges.edge_sets import is_writing_half
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import is_ctas_statement

DAY_US = 86_400_000_000
WINDOW_DAYS = 92
WINDOW_US = WINDOW_DAYS * DAY_US
"""The default time in microseconds for which an execution counts as use after it ended (rule 6.8)."""


class WholeRewrite(NamedTuple):
    """A run that replaced all rows of a dataset; times in microseconds."""

    started_us: int
    ended_us: int


def newest_rewrite(candidates: Iterable[tuple[JobOutput, Candidate[Any]]]) -> WholeRewrite | None:
    """Return the whole rewrite of a generation that began last, None without a rewrite.

    candidates: the candidates of all jobs that write this generation of a dataset.
    """
    every = list(candidates)
    last: dict[JobOutput, Candidate[Any]] = {}
    for job_output, each in every:
        if each.write_kind and (job_output not in last or _start(each) > _start(last[job_output])):
            last[job_output] = each
    found = (whole_rewrite(job_output, each, every) for job_output, each in last.items())
    return max(found, default=None)


def whole_rewrite(
    job_output: JobOutput, candidate: Candidate[Any], written: Sequence[tuple[JobOutput, Candidate[Any]]]
) -> WholeRewrite:
    """Return the times at which a whole rewrite began and ended.

    Some engines report a CREATE TABLE AS SELECT as two runs, and the events of one run all have the same time. Then the
    rewrite began when the other run wrote the rows.
    candidate: the candidate of the rewrite.
    written: candidates that write the dataset, including at least all candidates of the same execution.
    """
    beside = (
        (by.job, other.time_us)
        for by, other in written
        if other.execution == candidate.execution and other.time_us <= candidate.time_us
    )
    started_us = rewrite_start_us(job_output.job, candidate.started_us, candidate.last_us, beside)
    return WholeRewrite(started_us, candidate.time_us)


def rewrite_start_us(job: Name, started_us: int, last_us: int, same_execution: Iterable[tuple[Name, int]]) -> int:
    """Return the time (us) at which a whole rewrite by a job began.

    started_us, last_us: the times of the first and last event of the run.
    same_execution: (job, time in microseconds) of each write of the same execution into the dataset up to the end of
    the run.
    """
    if not is_ctas_statement(job) or started_us != last_us:
        return started_us
    return min(started_us, max((time_us for by, time_us in same_execution if is_writing_half(by)), default=started_us))


def _start(candidate: Candidate[Any]) -> tuple[int, int, str]:
    return candidate.started_us, candidate.time_us, candidate.tie


def replaces(rewrite: WholeRewrite | None, written_us: int) -> bool:
    """Tell whether a whole rewrite began after a write had ended."""
    return rewrite is not None and rewrite.started_us > written_us
