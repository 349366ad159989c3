"""Decide which edge sets of a dataset count, and which of their opaque inputs other runs explain (rules 4.7, 6)."""

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
"""The candidates of all jobs that write one dataset, by job output. They cover all generations of the dataset."""

NameSet = frozenset[Name]


class EdgeSet(NamedTuple, Generic[T]):
    """One edge set of one job output, and how the edge set counts.

    is_live: a current or newest execution of the job, for this generation of the output, reports the edge set.
    is_latest: the newest execution of the job, for this generation of the output, reports the edge set.
    is_live_across_generations: a current or newest execution reports the edge set if all generations of the output are
    taken together.
    If only earlier executions report the edge set, these three values are False.
    explained_inputs: the opaque inputs that other runs cover (rule 4.7).
    accounted_inputs: the explained inputs for which another run also reports column lineage of the output.
    """

    lineage: T
    is_live: bool
    is_latest: bool
    is_live_across_generations: bool
    explained_inputs: NameSet
    accounted_inputs: NameSet


class ReportedDatasets(NamedTuple):
    """What some runs report (rule 4.4).

    covered_sources: the datasets with columns that are sources of an edge of these runs.
    outputs_with_lineage: the outputs for which these runs report column lineage.
    """

    covered_sources: NameSet
    outputs_with_lineage: NameSet


class RelatedRuns(Protocol):
    """Access to the reports of related runs. Run A is below run B if a chain of parent runs leads from A to B."""

    def reports_of_descendants(self, run_key: str) -> ReportedDatasets:
        """Return what all runs below a run report."""

    def reports_of_execution(self, execution: str) -> ReportedDatasets:
        """Return what all runs of an execution report."""


LineageLookup = Callable[[T], OutputLineage]


def resolve_edge_sets(
    candidates: Candidates[T],
    lineage_of: LineageLookup[T],
    related_runs: RelatedRuns,
    job_outputs: Iterable[JobOutput] | None = None,
) -> dict[JobOutput, list[EdgeSet[T]]]:
    """Return the edge sets of one dataset by job output.

    candidates: the candidates of the dataset.
    lineage_of: returns the `OutputLineage` for the `lineage` of a candidate.
    job_outputs: the job outputs to return; None for all. To return some job outputs, `candidates` must contain all
    candidates of these job outputs. It must also contain two kinds of candidates that could count: candidates of the
    same jobs for other generations of the dataset, and candidates of the same execution and output as a CREATE TABLE AS
    SELECT statement. For an edge set that does not count, the newest candidate is enough.
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
    """Return the only candidate with its job output; None if there are several, or if the only one is an attempt."""
    if len(candidates) != 1:
        return None
    job_output, own = next(iter(candidates.items()))
    return (job_output, own[0]) if len(own) == 1 and job_output.layer != ATTEMPTED else None


def _live_across_generations(candidates: Candidates[T]) -> set[tuple[JobOutput, str]]:
    """Return (job output, run key) of the candidates that count if all generations of the output are taken together."""
    over_generations: dict[JobOutput, list[Candidate[T]]] = defaultdict(list)
    job_outputs: dict[tuple[JobOutput, str], list[JobOutput]] = defaultdict(list)
    for job_output, own in candidates.items():
        if job_output.layer == ATTEMPTED:
            continue
        whole = job_output._replace(output=job_output.output and job_output.output.without_generation)
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
        """Return (explained inputs, accounted inputs) of a candidate, as defined in `EdgeSet`.

        candidates: the candidates of all jobs that write the same dataset.
        """
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
        """Return the inputs that the writing run of a CREATE or REPLACE TABLE AS SELECT covers.

        Spark reports such a statement as two runs: the statement, and the run that writes the rows with column lineage.
        The result is empty if the candidate is not the run of a statement.
        """
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
    """Tell whether a run writes the rows of a statement.

    The run belongs to the statement if its last event lies between the first and the last event of the statement.
    If all events of the statement have the same time, the job name must show that the run writes rows. The run then
    belongs to the first statement at or after the last event of the run, or else to the last statement.
    statement: the candidate of the statement. job_output, other: the run that may write the rows.
    statement_times_us: the times (us) of the statements of the execution with a single event time, sorted.
    """
    if not _has_single_time(statement):
        return statement.started_us <= other.last_us <= statement.last_us
    if not is_writing_half(job_output.job):
        return False
    return statement.last_us == next((at for at in statement_times_us if at >= other.last_us), statement_times_us[-1])


def is_writing_half(job: Name) -> bool:
    """Tell whether a job name shows that runs of the job write the rows of a CREATE or REPLACE TABLE AS SELECT."""
    return any(part.startswith(_WRITING_NODES) for part in job.name.split("."))


def needed_candidates(candidates: Candidates[T]) -> set[tuple[JobOutput, str]]:
    """Return (job output, run key) of the candidates that `resolve_edge_sets` needs. Other candidates are not needed.

    These are the candidates that count, the first and the last candidate with the same lineage, and, for each kind of
    rewrite, the candidate of each job output that began last. If one of these candidates has no column lineage or is a
    CREATE TABLE AS SELECT statement, some other candidates of its execution may explain its inputs. They are the
    statements, the writing runs, and the candidates with column lineage, and the result contains them, too.
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
    """Yield the first and last candidate with each lineage, and for each kind of rewrite the last to begin."""
    in_time = sorted(candidates, key=lambda each: (each.time_us, each.tie))
    for ordered in (in_time, reversed(in_time), sorted(candidates, key=candidate_order_key)):
        yield from {each.lineage: each for each in ordered}.values()
    for kind in {each.write_kind for each in candidates if each.write_kind}:
        yield max(
            (each for each in candidates if each.write_kind == kind),
            key=lambda each: (each.started_us, each.time_us, each.tie),
        )


def reported_datasets(lineages: Iterable[OutputLineage]) -> ReportedDatasets:
    """Return the datasets that some column lineage covers, and the outputs to which the column lineage leads."""
    covered: set[Name] = set()
    carried: set[Name] = set()
    for lineage in lineages:
        covered.update(lineage.column_sources)
        if lineage.output is not None:
            carried.add(lineage.output)
    return ReportedDatasets(frozenset(covered), frozenset(carried))
