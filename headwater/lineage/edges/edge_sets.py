"""Find the edge sets of all jobs for one dataset that count, and the opaque inputs that other runs explain."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from headwater.lineage.edges.candidates import (
    ATTEMPTED,
    Candidate,
    JobOutput,
    candidate_order_key,
    select_counted_candidates,
)
from headwater.lineage.edges.output_lineage import OutputLineage
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import is_ctas_statement

T = TypeVar("T")

Candidates = Mapping[JobOutput, Sequence[Candidate[T]]]
"""The candidates of all jobs that write one dataset, in all its generations."""

NameSet = frozenset[Name]


class EdgeSet(NamedTuple, Generic[T]):
    """One edge set of one job output, and how it counts.

    is_live: it belongs to a current or newest execution in its generation.
    is_latest: it belongs to the newest execution there.
    is_live_across_generations: it belongs to a current or newest execution over all generations together.
    If only earlier executions report it, all three are false, and the newest of these runs represents it.
    explained_inputs: opaque inputs that other runs cover.
    accounted_inputs: the explained inputs for which another run also shows what the output is made of.
    """

    lineage: T
    is_live: bool
    is_latest: bool
    is_live_across_generations: bool
    explained_inputs: NameSet
    accounted_inputs: NameSet


class ReportedDatasets(NamedTuple):
    """The datasets that runs cover as sources, and the outputs for which they carry column lineage (rule 4.4)."""

    covered_sources: NameSet
    outputs_with_lineage: NameSet


class RelatedRuns(Protocol):
    """Reports of related runs. A run is below another if a chain of parents leads to that run."""

    def reports_of_descendants(self, run_key: str) -> ReportedDatasets:
        """Return the reports of the runs below a run."""

    def reports_of_execution(self, execution: str) -> ReportedDatasets:
        """Return the reports of the runs of an execution."""


LineageLookup = Callable[[T], OutputLineage]


def resolve_edge_sets(
    candidates: Candidates[T],
    lineage_of: LineageLookup[T],
    related_runs: RelatedRuns,
    job_outputs: Iterable[JobOutput] | None = None,
) -> dict[JobOutput, list[EdgeSet[T]]]:
    """Return the edge sets of one dataset, by job output, and how they count.

    job_outputs: the job outputs to return; None for all. To return some, `candidates` needs all candidates of these
    job outputs. It also needs two kinds of candidates that could count: those of the same jobs in other generations of
    the dataset, and those of a statement's execution for the same output. If an edge set does not count, its newest
    candidate is enough.
    """
    explainer = _InputExplainer(lineage_of, related_runs)
    if (single := _single_candidate(candidates)) and (job_outputs is None or single[0] in job_outputs):
        job_output, candidate = single
        return {
            job_output: [EdgeSet(candidate.lineage, True, True, True, *explainer.explained_inputs(*single, candidates))]
        }
    reading = _live_across_generations(candidates)
    return {
        job_output: _edge_sets_of_job_output(job_output, candidates[job_output], candidates, explainer, reading)
        for job_output in (candidates if job_outputs is None else job_outputs)
        if job_output in candidates
    }


def _single_candidate(candidates: Candidates[T]) -> tuple[JobOutput, Candidate[T]] | None:
    """Return the only candidate, which counts in every way; None if there are several, or if it is of an attempt."""
    if len(candidates) != 1:
        return None
    job_output, own = next(iter(candidates.items()))
    return (job_output, own[0]) if len(own) == 1 and job_output.layer != ATTEMPTED else None


def _live_across_generations(candidates: Candidates[T]) -> set[tuple[JobOutput, str]]:
    """Return (job output, run key) of the candidates that count over all generations of the output together."""
    over_generations: dict[JobOutput, list[Candidate[T]]] = defaultdict(list)
    job_outputs: dict[tuple[JobOutput, str], list[JobOutput]] = defaultdict(list)
    for job_output, own in candidates.items():
        if job_output.layer == ATTEMPTED:
            continue
        whole = job_output._replace(output=job_output.output and job_output.output.plain)
        over_generations[whole] += own
        for candidate in own:
            job_outputs[whole, candidate.run_key].append(job_output)
    return {
        (job_output, candidate.run_key)
        for whole, every in over_generations.items()
        for part in select_counted_candidates(whole, every)
        for candidate in part
        for job_output in job_outputs[whole, candidate.run_key]
    }


def _edge_sets_of_job_output(
    job_output: JobOutput,
    own_candidates: Sequence[Candidate[T]],
    candidates: Candidates[T],
    explainer: "_InputExplainer[T]",
    live_across_generations: set[tuple[JobOutput, str]],
) -> list[EdgeSet[T]]:
    counted = select_counted_candidates(job_output, own_candidates)
    live, latest = ({candidate.run_key for candidate in part} for part in counted)
    by_lineage: dict[T, list[Candidate[T]]] = {}
    for candidate in own_candidates:
        by_lineage.setdefault(candidate.lineage, []).append(candidate)
    found = []
    for lineage, same in by_lineage.items():
        flags = [
            (c.run_key in live, c.run_key in latest, (job_output, c.run_key) in live_across_generations) for c in same
        ]
        counting = [each for each, counts in zip(same, flags, strict=True) if any(counts)] or [
            max(same, key=candidate_order_key)
        ]
        explanations = [explainer.explained_inputs(job_output, each, candidates) for each in counting]
        explained, accounted = (frozenset.intersection(*every) for every in zip(*explanations, strict=True))
        is_live, is_latest, reads = (any(counts) for counts in zip(*flags, strict=True))
        found.append(EdgeSet(lineage, is_live, is_latest, reads, explained, accounted))
    return found


class _InputExplainer(Generic[T]):
    """Rule 4.7: find the opaque inputs of a run that other runs explain."""

    def __init__(self, lineage_of: LineageLookup[T], related_runs: RelatedRuns):
        self._lineage_of = lineage_of
        self._related_runs = related_runs

    def explained_inputs(
        self, job_output: JobOutput, candidate: Candidate[T], candidates: Candidates[T]
    ) -> tuple[NameSet, NameSet]:
        """Return the explained opaque inputs, and those of them for which the output is explained, too."""
        lineage = self._lineage_of(candidate.lineage)
        if lineage.job_feeds:
            return frozenset(), frozenset()
        if lineage.output is None and not lineage.opaque_inputs:
            return self._related_runs.reports_of_execution(candidate.execution).covered_sources.intersection(
                lineage.source_datasets
            ), frozenset()
        if not lineage.has_hidden_inputs:
            return frozenset(), frozenset()
        halves = self._inputs_of_other_half(job_output, candidate, candidates)
        below = self._related_runs.reports_of_descendants(candidate.run_key)
        # Most runs have no run below them, and there may be thousands of hidden inputs.
        explained = below.covered_sources.intersection(lineage.hidden_inputs) if below.covered_sources else frozenset()
        made = lineage.output in below.outputs_with_lineage
        return explained | halves, (explained if made else frozenset()) | halves

    def _inputs_of_other_half(
        self, job_output: JobOutput, candidate: Candidate[T], candidates: Candidates[T]
    ) -> NameSet:
        """Return the inputs that the other half of a CREATE or REPLACE TABLE AS SELECT covers."""
        if job_output.layer == ATTEMPTED or not is_ctas_statement(job_output.job):
            return frozenset()
        same = [
            (other, each)
            for other, own in candidates.items()
            if other.output == job_output.output and other.layer != ATTEMPTED
            for each in own
        ]
        of_execution = [(other, each) for other, each in same if each.execution == candidate.execution]
        instants = sorted(
            each.last_us for other, each in of_execution if is_ctas_statement(other.job) and _has_single_time(each)
        )
        return frozenset(
            name
            for other, each in of_execution
            if each.has_column_lineage
            and each.run_key != candidate.run_key
            and _is_writing_half_of(candidate, other, each, instants)
            for name in self._lineage_of(each.lineage).column_sources
        )


_WRITING_NODES = ("append_data", "overwrite_by_expression", "overwrite_partitions")


def _has_single_time(candidate: Candidate[T]) -> bool:
    return candidate.started_us == candidate.last_us


def _is_writing_half_of(
    statement: Candidate[T], job_output: JobOutput, other: Candidate[T], statement_times_us: Sequence[int]
) -> bool:
    """Tell whether a run is the other half of a statement, which reports the columns: it ended during the statement.

    statement_times_us: the times of the statements whose events all have the same time, sorted. For such a statement,
    the name of the job decides. The other half belongs to the next statement at or after its newest event, else to the
    last one.
    """
    if not _has_single_time(statement):
        return statement.started_us <= other.last_us <= statement.last_us
    if not is_writing_half(job_output.job):
        return False
    return statement.last_us == next((at for at in statement_times_us if at >= other.last_us), statement_times_us[-1])


def is_writing_half(job: Name) -> bool:
    """Tell whether the name of a job is that of the half of a statement that writes the rows."""
    return any(part.startswith(_WRITING_NODES) for part in job.name.split("."))


def needed_candidates(candidates: Candidates[T]) -> set[tuple[JobOutput, str]]:
    """Return (job output, run key) of the candidates that `resolve_edge_sets` needs; the others make no difference.

    These are the candidates that count, the first and the last of those that report the same, and the whole rewrite of
    each job that began last. If an execution has an opaque candidate or a statement among these, its halves and
    statements are needed, too, because they may explain the opaque input or share its explanation.
    """
    counting = (select_counted_candidates(job_output, own) for job_output, own in candidates.items())
    found = _live_across_generations(candidates) | {
        (job_output, candidate.run_key)
        for job_output, counted in zip(candidates, counting, strict=True)
        for part in counted
        for candidate in part
    }
    found |= {
        (job_output, candidate.run_key)
        for job_output, own in candidates.items()
        for candidate in _first_and_last_candidates(own)
    }
    every = [(job_output, candidate) for job_output, own in candidates.items() for candidate in own]
    opaque = {
        candidate.execution
        for job_output, candidate in every
        if (job_output, candidate.run_key) in found
        and (not candidate.has_column_lineage or is_ctas_statement(job_output.job))
    }
    return found | {
        (job_output, candidate.run_key)
        for job_output, candidate in every
        if candidate.execution in opaque
        and (candidate.has_column_lineage or is_ctas_statement(job_output.job) or is_writing_half(job_output.job))
    }


def _first_and_last_candidates(candidates: Sequence[Candidate[T]]) -> Iterator[Candidate[T]]:
    """Yield the first and the last of candidates that report the same, and the rewrite of each kind that began last."""
    in_time = sorted(candidates, key=lambda each: (each.time_us, each.tie))
    for ordered in (in_time, reversed(in_time), sorted(candidates, key=candidate_order_key)):
        yield from {each.lineage: each for each in ordered}.values()
    for kind in {each.write_kind for each in candidates if each.write_kind}:
        yield max(
            (each for each in candidates if each.write_kind == kind),
            key=lambda each: (each.started_us, each.time_us, each.tie),
        )


def reported_datasets(lineages: Iterable[OutputLineage]) -> ReportedDatasets:
    """Return the datasets that this column lineage covers, and the outputs that it leads to."""
    covered: set[Name] = set()
    carried: set[Name] = set()
    for lineage in lineages:
        covered.update(lineage.column_sources)
        if lineage.output is not None:
            carried.add(lineage.output)
    return ReportedDatasets(frozenset(covered), frozenset(carried))
