"""Store facts and lineage in memory. Questions about the past, the comparison of two files, and tests use this."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set

from headwater.lineage.edges.candidates import Candidate, JobOutput
from headwater.lineage.edges.edge_sets import ReportedDatasets, reported_datasets
from headwater.lineage.edges.output_lineage import OutputLineage
from headwater.lineage.edges.schema_history import SchemaMention
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import NameSpan
from headwater.lineage.runs.merged_run import Run
from headwater.lineage.runs.nominal_times import NominalTimes
from headwater.lineage.runs.run_derivation import CandidatesByOutput, DerivedRun
from headwater.lineage.runs.run_facts import RunFacts, names_with_part_mentions


class MemoryStore:
    """Stores facts and lineage in dictionaries; implements `derivation.DerivationStore`.

    runs: all runs, by run key. candidates: the derived lineage, by job output and then by run key.
    """

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self.candidates: dict[JobOutput, dict[str, Candidate[OutputLineage]]] = defaultdict(dict)
        self._facts: dict[str, dict[str, RunFacts]] = defaultdict(dict)
        self._users: dict[Name, set[str]] = defaultdict(set)
        self._job_outputs: dict[str, CandidatesByOutput] = {}
        self._schema_sources: set[Name] = set()
        self._mentions: dict[Name, list[SchemaMention]] = defaultdict(list)
        self._names_with_parts: set[Name] = set()
        self._new_parts: set[Name] = set()
        self._nominal_times = NominalTimes(lambda key: [*self._facts.get(key, {}).values()])

    def add_facts(self, facts: Sequence[RunFacts]) -> Sequence[RunFacts]:
        """Store facts, and return the facts that were not stored before."""
        fresh = []
        for fact in facts:
            known = self._facts[fact.run_key]
            if fact.event_id not in known:
                known[fact.event_id] = fact
                fresh.append(fact)
        self._nominal_times.add_facts(fresh)
        self._new_parts = names_with_part_mentions(fresh) - self._names_with_parts
        self._names_with_parts |= self._new_parts
        return fresh

    def runs_with_changed_period(self) -> Iterable[str]:
        """Return the keys of earlier runs with periods (rule 6.1) that the last `add_facts` may have changed."""
        return self._nominal_times.runs_with_changed_period() & self.runs.keys()

    def nominal_time_us(self, run_key: str) -> int | None:
        """Return the nominal time (us) of a run, else of its nearest parent with one, else of its root run, or None."""
        return self._nominal_times.nominal_time_us(run_key)

    def names_with_new_parts(self) -> Set[Name]:
        """Return the names of datasets of which the last `add_facts` mentioned parts for the first time."""
        return self._new_parts

    def has_part_mention(self, name: Name) -> bool:
        """Tell whether some event mentions a part of the dataset under this name, as sent."""
        return name in self._names_with_parts

    def all_facts(self, run_keys: Iterable[str]) -> Mapping[str, Sequence[RunFacts]]:
        """Return all facts of each of these runs, by run key."""
        return {key: list(self._facts[key].values()) for key in run_keys}

    def deciding_facts(self, run_keys: Iterable[str]) -> Mapping[str, Sequence[RunFacts]]:
        """Return the same as `all_facts`, because this store keeps all facts of a run."""
        return self.all_facts(run_keys)

    def runs_using(self, spans: Iterable[NameSpan]) -> Iterable[str]:
        """Return the keys of the runs that use a name in its time span, and of all declarations that use one."""
        return {
            key
            for span in spans
            for key in self._users.get(span.name, ())
            if self._run_overlaps_span(span, self.runs[key])
        }

    def used_names(self) -> Set[Name]:
        """Return all names, as sent, that runs and declarations use."""
        return self._users.keys()

    @staticmethod
    def _run_overlaps_span(span: NameSpan, run: Run) -> bool:
        return run.kind != "RUN" or (run.started_us <= span.until_us and run.last_us >= span.since_us)

    def is_schema_source(self, dataset: Name) -> bool:
        """Tell whether the derivation of some run used columns of this dataset that other runs reported."""
        return dataset in self._schema_sources

    def replace_lineage(self, derived: Sequence[DerivedRun]) -> set[JobOutput]:
        """Replace the derived lineage of these runs, and return the job outputs that changed."""
        return {job_output for one in derived for job_output in self._replace_run(one)}

    def _replace_run(self, derived: DerivedRun) -> set[JobOutput]:
        run, lineage, used, _, schema_sources = derived
        self._schema_sources |= schema_sources
        before = self._job_outputs.get(run.key, {})
        for job_output in before.keys() - lineage.keys():
            del self.candidates[job_output][run.key]
        for job_output, candidate in lineage.items():
            self.candidates[job_output][run.key] = candidate
        self.runs[run.key] = run
        self._job_outputs[run.key] = lineage
        for name in used:
            self._users[name].add(run.key)
        return {
            job_output
            for job_output in before.keys() | lineage.keys()
            if before.get(job_output) != lineage.get(job_output)
        }

    def add_mentions(self, name: Name, mentions: Sequence[SchemaMention]) -> None:
        """Store mentions of schemas under a name. Mentions that are already stored have no effect."""
        history = self._mentions[name]
        for seen in mentions:
            if history[bisect_left(history, seen) :][:1] != [seen]:
                insort(history, seen)

    def keep_all_mentions(self, names: Iterable[Name]) -> None:
        """Do nothing, because this store keeps every mention."""

    def mentions_newest_first(self, span: NameSpan) -> Iterable[SchemaMention]:
        """Return the mentions of schemas under a name in a time span, the newest first."""
        every = reversed(self._mentions.get(span.name, ()))
        return (seen for seen in every if span.since_us <= seen.time_us < span.until_us)


class RelatedRunsInMemory:
    """Finds the reports of related runs among all runs in memory; implements `edge_sets.RelatedRuns`."""

    def __init__(self, runs: Iterable[Run], candidates: Mapping[JobOutput, Mapping[str, Candidate[OutputLineage]]]):
        """candidates: the derived lineage of all runs, by job output and then by run key."""
        self._children: dict[str, list[str]] = defaultdict(list)
        self._executions: dict[str, list[str]] = defaultdict(list)
        self._reports: dict[str, list[OutputLineage]] = defaultdict(list)
        for run in runs:
            self._executions[run.execution].append(run.key)
            if run.parent is not None:
                self._children[run.parent].append(run.key)
        for of_job_output in candidates.values():
            for candidate in of_job_output.values():
                if candidate.has_column_lineage:
                    self._reports[candidate.run_key].append(candidate.lineage)

    def reports_of_descendants(self, run_key: str) -> ReportedDatasets:
        """Return what all runs below a run report."""
        found: dict[str, None] = {}
        todo = list(self._children.get(run_key, ()))
        while todo:
            key = todo.pop()
            if key not in found and key != run_key:
                found[key] = None
                todo += self._children.get(key, ())
        return self._reports_of(found)

    def reports_of_execution(self, execution: str) -> ReportedDatasets:
        """Return what all runs of an execution report."""
        return self._reports_of(self._executions.get(execution, ()))

    def _reports_of(self, run_keys: Iterable[str]) -> ReportedDatasets:
        return reported_datasets(lineage for key in run_keys for lineage in self._reports.get(key, ()))
