"""Rule 6.9: find the whole rewrite that replaced the rows of earlier writes. The window of rule 6.8 is here, too."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from headwater.lineage.edges.candidates import Candidate, JobOutput
from headwater.lineage.edges.edge_sets import is_writing_half
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import is_ctas_statement

DAY_US = 86_400_000_000
WINDOW_DAYS = 92
WINDOW_US = WINDOW_DAYS * DAY_US
"""How long an execution counts as use after it ended, unless a question gives another window."""


class WholeRewrite(NamedTuple):
    """A run that replaced all rows of a dataset; times in microseconds."""

    started_us: int
    ended_us: int


def newest_rewrite(candidates: Iterable[tuple[JobOutput, Candidate[Any]]]) -> WholeRewrite | None:
    """Return the whole rewrite of a generation that began last, None without one.

    candidates: those of all jobs that write this generation of a dataset.
    """
    every = list(candidates)
    last: dict[JobOutput, Candidate[Any]] = {}
    for job_output, each in every:
        if each.write_kind and (job_output not in last or _start(each) > _start(last[job_output])):
            last[job_output] = each
    found = (rewrite_of(job_output, each, every) for job_output, each in last.items())
    return max(found, default=None)


def rewrite_of(
    job_output: JobOutput, candidate: Candidate[Any], written: Sequence[tuple[JobOutput, Candidate[Any]]]
) -> WholeRewrite:
    """Return when a rewrite began and ended.

    If all events of a statement have the same time, it began when its other half wrote the rows: both are one write.
    written: at least all that the same execution wrote into the dataset.
    """
    beside = (
        (by.job, other.time_us)
        for by, other in written
        if other.execution == candidate.execution and other.time_us <= candidate.time_us
    )
    started_us = start_of_rewrite(job_output.job, candidate.started_us, candidate.last_us, beside)
    return WholeRewrite(started_us, candidate.time_us)


def start_of_rewrite(job: Name, started_us: int, last_us: int, beside: Iterable[tuple[Name, int]]) -> int:
    """Return the start (us) of a rewrite by a job.

    started_us, last_us: times of the first and last event of its run.
    beside: (job, time) of what the same execution wrote into the dataset up to its end.
    """
    if not is_ctas_statement(job) or started_us != last_us:
        return started_us
    return min(started_us, max((time_us for by, time_us in beside if is_writing_half(by)), default=started_us))


def _start(candidate: Candidate[Any]) -> tuple[int, int, str]:
    return candidate.started_us, candidate.time_us, candidate.tie


def replaces(rewrite: WholeRewrite | None, written_us: int) -> bool:
    """Tell whether a whole rewrite began after a write had ended."""
    return rewrite is not None and rewrite.started_us > written_us
