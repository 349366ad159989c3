"""A store in memory: for questions about the past, for comparing two files, and for tests."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set

from headwater.lineage.edges.current_candidates import Candidate, JobOutput
from headwater.lineage.edges.run_edges import OutputLineage
from headwater.lineage.edges.schema_history import SeenSchema
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import Span
from headwater.lineage.runs.merged_run import Run
from headwater.lineage.runs.nominal_times import NominalTimes
from headwater.lineage.runs.run_derivation import Derived, Said
from headwater.lineage.runs.run_facts import RunFacts, names_of_parts


class MemoryStore:
    """Stores everything in dictionaries; see `derivation.Store`."""

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self.candidates: dict[JobOutput, dict[str, Candidate[OutputLineage]]] = defaultdict(dict)
        self._facts: dict[str, dict[str, RunFacts]] = defaultdict(dict)
        self._users: dict[Name, set[str]] = defaultdict(set)
        self._job_outputs: dict[str, Said] = {}
        self._schema_sources: set[Name] = set()
        self._seen: dict[Name, list[SeenSchema]] = defaultdict(list)
        self._parted: set[Name] = set()
        self._new_parts: set[Name] = set()
        self._nominal = NominalTimes(lambda key: [*self._facts.get(key, {}).values()])

    def add(self, facts: Sequence[RunFacts]) -> Sequence[RunFacts]:
        """Store facts, and return those that are new."""
        fresh = []
        for fact in facts:
            known = self._facts[fact.run_key]
            if fact.event_id not in known:
                known[fact.event_id] = fact
                fresh.append(fact)
        self._nominal.add(fresh)
        self._new_parts = names_of_parts(fresh) - self._parted
        self._parted |= self._new_parts
        return fresh

    def dated_anew(self) -> Iterable[str]:
        """Return the runs of earlier batches whose period (rule 6.1) the last `add` may have changed."""
        return self._nominal.dated_anew() & self.runs.keys()

    def nominal(self, run_key: str) -> int | None:
        """Return the nominal time (us) of a run, else of its nearest parent that has one, else of its root."""
        return self._nominal.of(run_key)

    def new_parts(self) -> Set[Name]:
        """Return the names of datasets whose parts were mentioned for the first time in the last `add`."""
        return self._new_parts

    def is_parted(self, name: Name) -> bool:
        """Tell whether some event mentions a part of the dataset under this name, as sent."""
        return name in self._parted

    def facts(self, run_keys: Iterable[str]) -> Mapping[str, Sequence[RunFacts]]:
        """Return all facts of each of these runs."""
        return {key: list(self._facts[key].values()) for key in run_keys}

    def deciding_facts(self, run_keys: Iterable[str]) -> Mapping[str, Sequence[RunFacts]]:
        """Return the same as `facts`: this store keeps all facts of a run."""
        return self.facts(run_keys)

    def users(self, spans: Iterable[Span]) -> Iterable[str]:
        """Return the keys of the runs that use one of these names in its span, and of declarations that use it."""
        return {key for span in spans for key in self._users.get(span.name, ()) if self._is_in(span, self.runs[key])}

    def names(self) -> Set[Name]:
        """Return all names, as sent, that runs and declarations use."""
        return self._users.keys()

    @staticmethod
    def _is_in(span: Span, run: Run) -> bool:
        return run.kind != "RUN" or (run.started_us <= span.until_us and run.last_us >= span.since_us)

    def is_schema_source(self, dataset: Name) -> bool:
        """Tell whether a run took columns of this dataset from schemas of other runs."""
        return dataset in self._schema_sources

    def put(self, derived: Sequence[Derived]) -> set[JobOutput]:
        """Replace the derived lineage of these runs; returns the job outputs that changed."""
        return {job_output for one in derived for job_output in self._put(one)}

    def _put(self, derived: Derived) -> set[JobOutput]:
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

    def see(self, name: Name, uses: Sequence[SeenSchema]) -> None:
        """Store mentions of schemas."""
        history = self._seen[name]
        for seen in uses:
            if history[bisect_left(history, seen) :][:1] != [seen]:
                insort(history, seen)

    def keep_whole(self, names: Iterable[Name]) -> None:
        """Do nothing: this store keeps every mention."""

    def newest_first(self, span: Span) -> Iterable[SeenSchema]:
        """Return the schemas mentioned under a name in a span of time, newest first."""
        every = reversed(self._seen.get(span.name, ()))
        return (seen for seen in every if span.since_us <= seen.time_us < span.until_us)
