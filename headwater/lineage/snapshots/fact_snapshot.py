"""A snapshot that is derived from facts at once: for the past, for a file, for a test."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from headwater.lineage.edges.column_spellings import chosen_spellings
from headwater.lineage.edges.current_candidates import Candidate, JobOutput
from headwater.lineage.edges.edge_sets import Candidates
from headwater.lineage.edges.facet_contents import Contents
from headwater.lineage.edges.run_edges import OutputLineage, others_read
from headwater.lineage.edges.schema_history import seen_schemas
from headwater.lineage.edges.write_kinds import rewrites
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.names_in_time import Naming
from headwater.lineage.rules.declared_writes import ReportedWrite, decided_kind
from headwater.lineage.rules.tags import newest_tags, tags_facets
from headwater.lineage.rules.user_rules import NO_RULES, UserRules
from headwater.lineage.runs.commit_proofs import CommitProofs, proofs_in
from headwater.lineage.runs.derivation import Derivation
from headwater.lineage.runs.job_identity import job_key
from headwater.lineage.runs.lost_runs import has_ended
from headwater.lineage.runs.memory_store import MemoryStore
from headwater.lineage.runs.merged_run import Run
from headwater.lineage.runs.related_runs import RelatedRunsInMemory
from headwater.lineage.runs.retired_jobs import declared_until, deleted_by, newest_retirements
from headwater.lineage.runs.run_facts import RunFacts, names_of_parts
from headwater.lineage.snapshots.candidate_snapshot import SnapshotOfCandidates
from headwater.lineage.snapshots.snapshot import Remask, as_said


class SnapshotOfFacts(SnapshotOfCandidates):
    """The lineage that follows from the facts of some events, as if there were no others."""

    def __init__(
        self,
        facts: Sequence[RunFacts],
        contents: Contents,
        remask: Remask = as_said,
        rules: UserRules = NO_RULES,
        *,
        until_us: int | None = None,
    ):
        """contents: the facets that the facts refer to; rules: declare, among others, how jobs write.

        until_us: the time that the question asks about, None for that of the newest event.
        """
        self.store, naming = MemoryStore(), Naming()
        super().__init__(naming, remask, rules)
        derivation = Derivation(self.store, contents, naming)
        derivation.add(facts)
        self.newest_us = max((fact.time_us for fact in facts if fact.order.credible), default=None)
        deleted = ((job, fact.time_us) for fact in facts if fact.order.credible for job in deleted_by(fact))
        end_us = self.newest_us if until_us is None else until_us
        self.retired = newest_retirements([*deleted, *declared_until(rules.names.jobs.retired, end_us)])
        seen = (each for fact in facts for each in seen_schemas(fact))
        described = {schema.dataset(name, naming) for name, schema in seen}
        self.schemas = {dataset: derivation.schemas.columns(dataset) for dataset in described}
        bases = ((dataset, derivation.schemas.base(dataset)) for dataset in described)
        self.base_times = {dataset: base.time_us for dataset, base in bases if base}
        self._written = {dataset: derivation.schemas.written_keys(dataset) for dataset in self.base_times}
        sent: dict[Name, set[str]] = {}
        for fact in facts:
            for name, column in derivation.shapes.traits(fact).spellings:
                sent.setdefault(name, set()).add(column)
        self.spellings = {name: chosen_spellings(columns) for name, columns in sent.items()}
        self.tagged = newest_tags((facet for fact in facts for facet in tags_facets(fact)), naming)
        runs = sorted(self.store.runs.values(), key=lambda run: (run.time_us, run.key))
        self.jobs = {run.job_key: job_key(run.job, None) for run in runs}
        self.parents = {run.key: run.parent for run in runs if run.parent}
        self.ended = {run.key for run in runs if self._has_ended(run)}
        relations = RelatedRunsInMemory(runs, self.store.candidates)
        parts, self._proofs = (
            names_of_parts(facts),
            CommitProofs(p for f in facts for p in proofs_in(f.content.write_signs)),
        )
        for output, candidates in by_output(self.store.candidates).items():
            by_parts = output is not None and not parts.isdisjoint(naming.names_of(output))
            self.take(self._counted_rewrites(candidates, rules, by_parts=by_parts), relations)
            lineage = (candidate.lineage for own in candidates.values() for candidate in own)
            self.ever_read.update(name.plain for each in lineage for name in others_read(each))

    def written_keys(self, dataset: Name) -> frozenset[str] | None:
        """Return the keys of the columns of a dataset with a base list that lists of writers contain."""
        return self._written.get(dataset)

    def _has_ended(self, run: Run) -> bool:
        above = (self.store.runs.get(key) for key in {run.parent or run.key, run.execution} - {run.key})
        return has_ended(
            is_open=run.ended_us is None,
            is_streaming=run.processing != "BATCH",
            last_us=run.time_us,
            ends_us=(each.ended_us for each in above if each is not None),
        )

    def _counted_rewrites(
        self, candidates: Candidates[OutputLineage], rules: UserRules, *, by_parts: bool
    ) -> Candidates[OutputLineage]:
        """Return candidates in which `rewrites` is 1 for whole rewrites and 0 for all other writes (rule 6.7)."""

        def counts(job_output: JobOutput, each: Candidate[OutputLineage]) -> int:
            producer = self.store.runs[each.run_key].producer
            is_whole = self._proofs.is_whole(each.run_key, names)
            write = ReportedWrite(producer, each.run_key, each.rewrites, is_whole)
            return int(rewrites(decided_kind(rules, job_output, write), by_parts=by_parts))

        output = next(iter(candidates)).output
        names = self.naming.names_of(output.plain) if output is not None and self._proofs else ()

        return {
            job_output: [each._replace(rewrites=counts(job_output, each)) for each in own]
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
        """Return every dataset that an event names, even if no such run completed."""
        return {self.resolve(name) for name in self.store.names()}

    def is_in_events(self, dataset: Name) -> bool:
        """Tell whether an event names a dataset, even if no such run completed."""
        return not self.store.names().isdisjoint(self.naming.names_of(dataset))


def by_output(
    candidates: Mapping[JobOutput, Mapping[str, Candidate[OutputLineage]]],
) -> dict[Name | None, dict[JobOutput, list[Candidate[OutputLineage]]]]:
    """Group candidates by the dataset that they write, with all its generations together."""
    found: dict[Name | None, dict[JobOutput, list[Candidate[OutputLineage]]]] = {}
    for job_output, by_run in candidates.items():
        if by_run:
            found.setdefault(job_output.output and job_output.output.plain, {})[job_output] = list(by_run.values())
    return found
