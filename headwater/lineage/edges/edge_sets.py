"""Find the edge sets of all jobs for one dataset that count, and the opaque inputs that other runs explain."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from headwater.lineage.edges.current_candidates import ATTEMPTED, Candidate, JobOutput, newness, standing
from headwater.lineage.edges.run_edges import OutputLineage
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import is_statement_half

T = TypeVar("T")

Candidates = Mapping[JobOutput, Sequence[Candidate[T]]]
"""The candidates of all jobs that write one dataset, in all its generations."""

Names = frozenset[Name]


class EdgeSet(NamedTuple, Generic[T]):
    """One edge set of one job output, and how it counts.

    live: it belongs to a current or newest execution in its generation.
    latest: it belongs to the newest execution there.
    reading: it belongs to a current or newest execution over all generations together.
    If only earlier executions report it, all three are false, and the newest of these runs represents it.
    explained: opaque inputs that other runs cover.
    accounted: the explained inputs for which another run also shows what the output is made of.
    """

    lineage: T
    live: bool
    latest: bool
    reading: bool
    explained: Names
    accounted: Names


class Reported(NamedTuple):
    """The datasets that runs cover as sources, and the outputs for which they carry column lineage (rule 4.4)."""

    covered: Names
    carried: Names


class RelatedRuns(Protocol):
    """Reports of related runs. A run is below another if a chain of parents leads to that run."""

    def below(self, run_key: str) -> Reported:
        """Return the reports of the runs below a run."""

    def beside(self, execution: str) -> Reported:
        """Return the reports of the runs of an execution."""


ContentOf = Callable[[T], OutputLineage]


def outcome(
    candidates: Candidates[T], content_of: ContentOf[T], relations: RelatedRuns, of: Iterable[JobOutput] | None = None
) -> dict[JobOutput, list[EdgeSet[T]]]:
    """Return the edge sets of one dataset, by job output, and how they count.

    of: the job outputs to return; None for all. To return some, `candidates` needs all candidates of these job outputs.
    It also needs two kinds of candidates that could count: those of the same jobs in other generations of the dataset,
    and those of a statement's execution for the same output. If an edge set does not count, its newest candidate is
    enough.
    """
    explains = _Explains(content_of, relations)
    if (alone := _alone(candidates)) and (of is None or alone[0] in of):
        job_output, candidate = alone
        return {job_output: [EdgeSet(candidate.lineage, True, True, True, *explains.of(*alone, candidates))]}
    reading = _reading(candidates)
    return {
        job_output: _edge_sets(job_output, candidates[job_output], candidates, explains, reading)
        for job_output in (candidates if of is None else of)
        if job_output in candidates
    }


def _alone(candidates: Candidates[T]) -> tuple[JobOutput, Candidate[T]] | None:
    """Return the only candidate, which counts in every way; None if there are several, or if it is of an attempt."""
    if len(candidates) != 1:
        return None
    job_output, own = next(iter(candidates.items()))
    return (job_output, own[0]) if len(own) == 1 and job_output.layer != ATTEMPTED else None


def _reading(candidates: Candidates[T]) -> set[tuple[JobOutput, str]]:
    """Return (job output, run key) of the candidates that count over all generations of the output together."""
    together: dict[JobOutput, list[Candidate[T]]] = defaultdict(list)
    job_outputs: dict[tuple[JobOutput, str], list[JobOutput]] = defaultdict(list)
    for job_output, own in candidates.items():
        if job_output.layer == ATTEMPTED:
            continue
        whole = job_output._replace(output=job_output.output and job_output.output.plain)
        together[whole] += own
        for candidate in own:
            job_outputs[whole, candidate.run_key].append(job_output)
    return {
        (job_output, candidate.run_key)
        for whole, every in together.items()
        for part in standing(whole, every)
        for candidate in part
        for job_output in job_outputs[whole, candidate.run_key]
    }


def _edge_sets(
    job_output: JobOutput,
    own: Sequence[Candidate[T]],
    candidates: Candidates[T],
    explains: "_Explains[T]",
    reading: set[tuple[JobOutput, str]],
) -> list[EdgeSet[T]]:
    counted = standing(job_output, own)
    live, latest = ({candidate.run_key for candidate in part} for part in counted)
    by_lineage: dict[T, list[Candidate[T]]] = {}
    for candidate in own:
        by_lineage.setdefault(candidate.lineage, []).append(candidate)
    found = []
    for lineage, same in by_lineage.items():
        how = [(c.run_key in live, c.run_key in latest, (job_output, c.run_key) in reading) for c in same]
        speaking = [each for each, counts in zip(same, how, strict=True) if any(counts)] or [max(same, key=newness)]
        told = [explains.of(job_output, each, candidates) for each in speaking]
        explained, accounted = (frozenset.intersection(*every) for every in zip(*told, strict=True))
        is_live, is_latest, reads = (any(counts) for counts in zip(*how, strict=True))
        found.append(EdgeSet(lineage, is_live, is_latest, reads, explained, accounted))
    return found


class _Explains(Generic[T]):
    """Rule 4.7: find the opaque inputs of a run that other runs explain."""

    def __init__(self, content_of: ContentOf[T], relations: RelatedRuns):
        self._content_of = content_of
        self._relations = relations

    def of(self, job_output: JobOutput, candidate: Candidate[T], candidates: Candidates[T]) -> tuple[Names, Names]:
        """Return the explained opaque inputs, and those of them for which the output is explained, too."""
        lineage = self._content_of(candidate.lineage)
        if lineage.feeds:
            return frozenset(), frozenset()
        if lineage.output is None and not lineage.opaque:
            return self._relations.beside(candidate.execution).covered.intersection(lineage.tables), frozenset()
        if not lineage.asks:
            return frozenset(), frozenset()
        halves = self._halves(job_output, candidate, candidates)
        below = self._relations.below(candidate.run_key)
        # Most runs have no run below them, and there may be thousands of hidden inputs.
        explained = below.covered.intersection(lineage.hidden) if below.covered else frozenset()
        made = lineage.output in below.carried
        return explained | halves, (explained if made else frozenset()) | halves

    def _halves(self, job_output: JobOutput, candidate: Candidate[T], candidates: Candidates[T]) -> Names:
        """Return the inputs that the other half of a CREATE or REPLACE TABLE AS SELECT covers."""
        if job_output.layer == ATTEMPTED or not is_statement_half(job_output.job):
            return frozenset()
        same = [
            (other, each)
            for other, own in candidates.items()
            if other.output == job_output.output and other.layer != ATTEMPTED
            for each in own
        ]
        beside = [(other, each) for other, each in same if each.execution == candidate.execution]
        instants = sorted(each.last_us for other, each in beside if is_statement_half(other.job) and _is_instant(each))
        return frozenset(
            name
            for other, each in beside
            if each.carries and each.run_key != candidate.run_key and _is_half(candidate, other, each, instants)
            for name in self._content_of(each.lineage).named
        )


_HALVES = ("append_data", "overwrite_by_expression", "overwrite_partitions")


def _is_instant(candidate: Candidate[T]) -> bool:
    return candidate.started_us == candidate.last_us


def _is_half(statement: Candidate[T], job_output: JobOutput, other: Candidate[T], instants: Sequence[int]) -> bool:
    """Tell whether a run is the other half of a statement, which reports the columns: it ended during the statement.

    instants: the times of the statements whose events all have the same time, sorted. For such a statement, the name of
    the job decides. The other half belongs to the next statement at or after its newest event, else to the last one.
    """
    if not _is_instant(statement):
        return statement.started_us <= other.last_us <= statement.last_us
    if not is_writing_half(job_output.job):
        return False
    return statement.last_us == next((at for at in instants if at >= other.last_us), instants[-1])


def is_writing_half(job: Name) -> bool:
    """Tell whether the name of a job is that of the half of a statement that writes the rows."""
    return any(part.startswith(_HALVES) for part in job.name.split("."))


def that_matter(candidates: Candidates[T]) -> set[tuple[JobOutput, str]]:
    """Return (job output, run key) of the candidates that `outcome` needs; the others make no difference.

    These are the candidates that count, the first and the last of those that report the same, and the whole rewrite of
    each job that began last. If an execution has an opaque candidate or a statement among these, its halves and
    statements are needed, too, because they may explain the opaque input or share its explanation.
    """
    counting = (standing(job_output, own) for job_output, own in candidates.items())
    found = _reading(candidates) | {
        (job_output, candidate.run_key)
        for job_output, counted in zip(candidates, counting, strict=True)
        for part in counted
        for candidate in part
    }
    found |= {(job_output, candidate.run_key) for job_output, own in candidates.items() for candidate in _ends(own)}
    every = [(job_output, candidate) for job_output, own in candidates.items() for candidate in own]
    opaque = {
        candidate.execution
        for job_output, candidate in every
        if (job_output, candidate.run_key) in found and (not candidate.carries or is_statement_half(job_output.job))
    }
    return found | {
        (job_output, candidate.run_key)
        for job_output, candidate in every
        if candidate.execution in opaque
        and (candidate.carries or is_statement_half(job_output.job) or is_writing_half(job_output.job))
    }


def _ends(candidates: Sequence[Candidate[T]]) -> Iterator[Candidate[T]]:
    """Yield the first and the last of candidates that report the same, and the rewrite of each kind that began last."""
    in_time = sorted(candidates, key=lambda each: (each.time_us, each.tie))
    for ordered in (in_time, reversed(in_time), sorted(candidates, key=newness)):
        yield from {each.lineage: each for each in ordered}.values()
    for kind in {each.rewrites for each in candidates if each.rewrites}:
        yield max(
            (each for each in candidates if each.rewrites == kind),
            key=lambda each: (each.started_us, each.time_us, each.tie),
        )
