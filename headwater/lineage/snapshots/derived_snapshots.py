"""Snapshots that are derived from candidates or facts, for times in the past, for files and for Spark's rows."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property

from headwater.lineage.edges.candidates import Candidate, JobOutput, candidate_order_key
from headwater.lineage.edges.edge_sets import Candidates, EdgeSet, RelatedRuns, resolve_edge_sets
from headwater.lineage.edges.facet_contents import FacetContents
from headwater.lineage.edges.output_lineage import OutputLineage, inputs_other_than_output
from headwater.lineage.edges.schema_columns import NO_COLUMNS, Columns, preferred_spellings
from headwater.lineage.edges.schema_history import schema_mentions
from headwater.lineage.edges.write_kinds import is_whole_rewrite
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.rules.applied_rules import ReportedWrite, decide_write_kind
from headwater.lineage.rules.tags import newest_tags, tags_facets
from headwater.lineage.rules.user_rules import NO_RULES, UserRules
from headwater.lineage.runs.commit_proofs import CommitProofs, parse_proof_signs
from headwater.lineage.runs.derivation import Derivation
from headwater.lineage.runs.jobs import (
    RetiredJobs,
    declared_retirements,
    deleted_jobs,
    job_key,
    newest_retirement_times,
)
from headwater.lineage.runs.lost_runs import ended_with_parent
from headwater.lineage.runs.memory_store import MemoryStore, RelatedRunsInMemory
from headwater.lineage.runs.merged_run import Run
from headwater.lineage.runs.run_facts import RunFacts, Tag, names_with_part_mentions
from headwater.lineage.snapshots.snapshot import EdgeSetStats, Remask, ReportTimes, Snapshot, without_masking_file
from headwater.lineage.snapshots.whole_rewrites import WholeRewrite, newest_rewrite


class CandidateSnapshot(Snapshot):
    """A snapshot with all data in attributes. Its creator sets them and calls `add_candidates` for each output.

    schemas: maps datasets, with their generations, to their columns.
    base_times: maps datasets, with their generations, to the times (us) of their base lists.
    spellings: maps datasets, without generations, to the spellings of columns that no schema lists, by column key.
    tagged: maps datasets to the tags in force.
    ever_read: the datasets, without generations, that a run read to write another dataset.
    jobs: maps job keys to job names. The key of a job may be the id of an artifact.
    parents: maps run keys to the keys of the parent runs.
    ended: the keys of runs without a terminal event that ended with their parent or root run.
    newest_us: the time (us) of the newest event with a time not later than its receipt, None without one.
    retired: the jobs that were deleted or declared as retired.
    """

    def __init__(self, naming: NameResolver, remask: Remask, rules: UserRules = NO_RULES):
        super().__init__(naming, remask, rules)
        self.schemas: dict[Name, Columns] = {}
        self.base_times: dict[Name, int] = {}
        self.spellings: dict[Name, Mapping[str, str]] = {}
        self.tagged: dict[Name, list[Tag]] = {}
        self.ever_read: set[Name] = set()
        self.jobs: dict[Name, Name] = {}
        self.parents: dict[str, str] = {}
        self.ended: set[str] = set()
        self._candidates: dict[JobOutput, Sequence[Candidate[OutputLineage]]] = {}
        self.newest_us: int | None = None
        self.retired = RetiredJobs({})
        self._candidates_by_edge_set: list[Sequence[Candidate[OutputLineage]]] = []
        self._rewrites: dict[Name, WholeRewrite] = {}

    def add_candidates(self, candidates: Candidates[OutputLineage], relations: RelatedRuns) -> None:
        """Add the edge sets of all jobs that write one output.

        candidates: the candidates of the output in all its generations.
        """
        self._candidates.update(candidates)
        for job_output, edge_sets in resolve_edge_sets(candidates, lambda lineage: lineage, relations).items():
            same = defaultdict[OutputLineage, list[Candidate[OutputLineage]]](list)
            for candidate in candidates[job_output]:
                same[candidate.lineage].append(candidate)
            for edge_set in edge_sets:
                if job_output.layer != "observed" and not (
                    edge_set.is_live or edge_set.is_latest or edge_set.is_live_across_generations
                ):
                    continue  # a newer declaration has replaced this edge set
                self._add_edge_set(job_output, edge_set, same[edge_set.lineage])
        for output in {job_output.output for job_output in candidates}:
            of_it = ((by, each) for by, own in candidates.items() if by.output == output for each in own)
            if output is not None and (rewrite := newest_rewrite(of_it)):
                self._rewrites[output] = rewrite

    def columns(self, dataset: Name) -> Columns:
        """Return the columns of one generation of a dataset."""
        found, spellings = self.schemas.get(dataset, NO_COLUMNS), self.spellings.get(dataset.without_generation)
        return found.with_unlisted_spellings(spellings) if spellings else found

    def base_list_us(self, dataset: Name) -> int | None:
        """Return the time (us) of the base list of one generation of a dataset, None without a list (rule 12.7)."""
        return self.base_times.get(dataset)

    def datasets_with_schema(self) -> Iterable[Name]:
        """Return the datasets with a schema. Each generation is a separate dataset."""
        return self.schemas

    def current_tags(self) -> Mapping[Name, Sequence[Tag]]:
        """Return the tags in force, by dataset."""
        return self.tagged

    def was_read_to_write(self, dataset: Name) -> bool:
        """Tell whether any run has ever read a dataset to write another dataset."""
        return dataset.without_generation in self.ever_read

    def job_name(self, key: Name) -> Name:
        """Return the name of a job from its key."""
        return self.jobs.get(key, key)

    def edge_set_stats(self, number: int) -> EdgeSetStats:
        """Return statistics of the runs that report an edge set."""
        candidates = self._candidates_by_edge_set[number]
        times = [candidate.time_us for candidate in candidates]
        return EdgeSetStats(
            len(candidates), min(times), max(times), any(candidate.rows_confirmed for candidate in candidates)
        )

    def newest_run(self, number: int) -> str | None:
        """Return the key of the newest run that reports an edge set."""
        return max(self._candidates_by_edge_set[number], key=candidate_order_key).run_key

    def ended_with_parent(self, run: str) -> bool:
        """Tell whether a run without a terminal event is known to have ended with its parent or its root run."""
        return run in self.ended

    def applications_of_edge_set(self, number: int) -> Set[str]:
        """Return the keys of the parents of the runs that report an edge set in the newest execution of its job."""
        newest = max(self._candidates[self.graph.edge_sets[number][0]], key=candidate_order_key).execution
        runs = (
            candidate.run_key for candidate in self._candidates_by_edge_set[number] if candidate.execution == newest
        )
        return {self.parents[run] for run in runs if run in self.parents}

    def edge_sets_older_than(self, time_us: int) -> Iterator[int]:
        """Yield the edge sets that no run reported at or after a time (us)."""
        return (number for number in self.graph.edge_sets if self.report_times(number).last_us < time_us)

    def report_times(self, number: int) -> ReportTimes:
        """Return the times at which runs first and last reported an edge set."""
        times = [candidate.time_us for candidate in self._candidates_by_edge_set[number]]
        return ReportTimes(min(times), max(times))

    def newest_rewrite(self, dataset: Name) -> WholeRewrite | None:
        """Return the whole rewrite of one generation of a dataset that began last, None without a rewrite."""
        return self._rewrites.get(dataset)

    def retired_jobs(self) -> RetiredJobs:
        """Return the jobs that were deleted or declared as retired."""
        return self.retired

    def job_seen_us(self, job: Name) -> int:
        """Return the time (us) of the newest event of a job's runs; runs that neither read nor write are ignored."""
        own = (candidates for job_output, candidates in self._candidates.items() if job_output.job == job)
        return max(candidate.last_us for candidates in own for candidate in candidates)

    def newest_event_us(self) -> int | None:
        """Return the time (us) of the newest event with a time not later than its receipt, None without one."""
        return self.newest_us

    def _add_edge_set(
        self, job_output: JobOutput, edge_set: EdgeSet[OutputLineage], behind: Sequence[Candidate[OutputLineage]]
    ) -> None:
        self._candidates_by_edge_set.append(behind)
        number = len(self._candidates_by_edge_set) - 1
        self._put_edge_set(number, job_output, edge_set, self.report_times(number).last_us)


def with_counted_rewrites(
    candidates: Candidates[OutputLineage], *, by_parts: bool
) -> dict[JobOutput, list[Candidate[OutputLineage]]]:
    """Return the candidates with `write_kind` set to 1 for whole rewrites and to 0 for all other writes (rule 6.7).

    by_parts: whether events mention parts of the output, such as partitions.
    """
    return {
        job_output: [
            each._replace(write_kind=int(is_whole_rewrite(each.write_kind, has_parts=by_parts))) for each in own
        ]
        for job_output, own in candidates.items()
    }


class FactSnapshot(CandidateSnapshot):
    """The lineage that follows from the facts of some events, as if there were no other events."""

    def __init__(
        self,
        facts: Sequence[RunFacts],
        contents: FacetContents,
        remask: Remask = without_masking_file,
        rules: UserRules = NO_RULES,
        *,
        until_us: int | None = None,
    ):
        """Derive the snapshot.

        facts: the facts of the events.
        contents: the facets to which the facts refer.
        remask: applies the declared masks of a masking file.
        rules: the rules of the user.
        until_us: the time (us) that the question asks about, None for the time of the newest event.
        """
        self.store, naming = MemoryStore(), NameResolver()
        super().__init__(naming, remask, rules)
        derivation = Derivation(self.store, contents, naming)
        derivation.add_facts(facts)
        self.newest_us = max((fact.time_us for fact in facts if fact.order.credible), default=None)
        deleted = ((job, fact.time_us) for fact in facts if fact.order.credible for job in deleted_jobs(fact))
        end_us = self.newest_us if until_us is None else until_us
        self.retired = newest_retirement_times([*deleted, *declared_retirements(rules.names.jobs.retired, end_us)])
        seen = (each for fact in facts for each in schema_mentions(fact))
        described = {schema.described_dataset(name, naming) for name, schema in seen}
        self.schemas = {dataset: derivation.schema_history.columns(dataset) for dataset in described}
        bases = ((dataset, derivation.schema_history.base_list(dataset)) for dataset in described)
        self.base_times = {dataset: base.time_us for dataset, base in bases if base}
        self._written_keys = {
            dataset: derivation.schema_history.written_column_keys(dataset) for dataset in self.base_times
        }
        sent: dict[Name, set[str]] = {}
        for fact in facts:
            for name, column in derivation.run_cache.content_traits(fact).spellings:
                sent.setdefault(name, set()).add(column)
        self.spellings = {name: preferred_spellings(columns) for name, columns in sent.items()}
        self.tagged = newest_tags((facet for fact in facts for facet in tags_facets(fact)), naming)
        runs = sorted(self.store.runs.values(), key=lambda run: (run.time_us, run.key))
        self.jobs = {run.job_key: job_key(run.job, None) for run in runs}
        self.parents = {run.key: run.parent for run in runs if run.parent}
        self.ended = {run.key for run in runs if self._has_ended(run)}
        relations = RelatedRunsInMemory(runs, self.store.candidates)
        parts, self._proofs = (
            names_with_part_mentions(facts),
            CommitProofs(p for f in facts for p in parse_proof_signs(f.content.write_signs)),
        )
        parts |= naming.names_of_parts(parts.__contains__)
        for output, candidates in group_by_output(self.store.candidates).items():
            by_parts = output is not None and not parts.isdisjoint(naming.names_of(output))
            self.add_candidates(self._counted_rewrites(candidates, rules, by_parts=by_parts), relations)
            lineage = (candidate.lineage for own in candidates.values() for candidate in own)
            self.ever_read.update(
                name.without_generation for each in lineage for name in inputs_other_than_output(each)
            )

    def written_keys(self, dataset: Name) -> frozenset[str] | None:
        """Return the keys of the columns that writers list for a dataset, None if the dataset has no base list."""
        return self._written_keys.get(dataset)

    def _has_ended(self, run: Run) -> bool:
        above = (self.store.runs.get(key) for key in {run.parent or run.key, run.execution} - {run.key})
        return ended_with_parent(
            is_open=run.ended_us is None,
            is_streaming=run.processing != "BATCH",
            last_us=run.time_us,
            ends_us=(each.ended_us for each in above if each is not None),
        )

    def _counted_rewrites(
        self, candidates: Candidates[OutputLineage], rules: UserRules, *, by_parts: bool
    ) -> Candidates[OutputLineage]:
        """Return the candidates with `write_kind` set to 1 for whole rewrites and to 0 for all other writes (rule 6.7).

        by_parts: whether events mention parts of the output, such as partitions.
        """

        def counts(job_output: JobOutput, each: Candidate[OutputLineage]) -> int:
            producer = self.store.runs[each.run_key].producer
            is_whole = self._proofs.is_whole_rewrite(each.run_key, names)
            write = ReportedWrite(producer, each.run_key, each.write_kind, is_whole)
            return int(is_whole_rewrite(decide_write_kind(rules, job_output, write), has_parts=by_parts))

        output = next(iter(candidates)).output
        names = self.naming.names_of(output.without_generation) if output is not None and self._proofs else ()

        return {
            job_output: [each._replace(write_kind=counts(job_output, each)) for each in own]
            for job_output, own in candidates.items()
        }

    def job_seen_us(self, job: Name) -> int:
        """Return the time (us) of the newest event of a job."""
        return max(run.last_us for run in self._runs_by_job[job])

    def run_times_us(self, job: Name) -> Iterable[int]:
        """Return the time (us) of the newest event of each run of a job."""
        return [run.last_us for run in self._runs_by_job[job] if run.kind == "RUN"]

    @cached_property
    def _runs_by_job(self) -> Mapping[Name, Sequence[Run]]:
        found = defaultdict[Name, list[Run]](list)
        for run in self.store.runs.values():
            found[run.job_key].append(run)
        return found

    def names_in_events(self) -> Iterable[Name]:
        """Return every dataset that an event names, including events of runs that did not complete."""
        return {self.resolve(name) for name in self.store.used_names()}

    def is_in_events(self, dataset: Name) -> bool:
        """Tell whether an event names a dataset. Events of runs that did not complete count, too."""
        return not self.store.used_names().isdisjoint(self.naming.names_of(dataset))


def group_by_output(
    candidates: Mapping[JobOutput, Mapping[str, Candidate[OutputLineage]]],
) -> dict[Name | None, dict[JobOutput, list[Candidate[OutputLineage]]]]:
    """Group candidates by the dataset that they write, without its generation.

    The key None contains the candidates without an output.
    """
    found: dict[Name | None, dict[JobOutput, list[Candidate[OutputLineage]]]] = {}
    for job_output, by_run in candidates.items():
        if by_run:
            found.setdefault(job_output.output and job_output.output.without_generation, {})[job_output] = list(
                by_run.values()
            )
    return found
