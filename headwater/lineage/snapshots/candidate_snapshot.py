"""A snapshot that decides itself which candidates count: for the past, for files and for Spark's rows."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from headwater.lineage.edges.current_candidates import Candidate, JobOutput, newness
from headwater.lineage.edges.edge_sets import Candidates, EdgeSet, RelatedRuns, outcome
from headwater.lineage.edges.run_edges import OutputLineage
from headwater.lineage.edges.schema_columns import NO_COLUMNS, Columns
from headwater.lineage.edges.write_kinds import rewrites
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.names_in_time import Naming
from headwater.lineage.rules.user_rules import NO_RULES, UserRules
from headwater.lineage.runs.retired_jobs import RetiredJobs
from headwater.lineage.runs.run_facts import Tag
from headwater.lineage.snapshots.snapshot import Remask, Seen, Snapshot, Stats
from headwater.lineage.snapshots.whole_rewrites import WholeRewrite, newest_rewrite


class SnapshotOfCandidates(Snapshot):
    """A snapshot with all data in dictionaries. The creator fills them and calls `take` for each output.

    schemas: columns by dataset in its generation; base_times: times (us) of their base lists.
    ever_read: datasets that a run read to write another one.
    jobs: names of jobs whose key is the id of an artifact; parents: parent runs by run.
    ended: runs that ended with their application; newest_us: time of the newest event that is not ahead of its receipt.
    retired: jobs that were deleted or declared as retired.
    spellings: spelling of columns that schemas do not list, by key, for each dataset without its generation.
    """

    def __init__(self, naming: Naming, remask: Remask, rules: UserRules = NO_RULES):
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
        self._behind: list[Sequence[Candidate[OutputLineage]]] = []
        self._rewrites: dict[Name, WholeRewrite] = {}

    def take(self, candidates: Candidates[OutputLineage], relations: RelatedRuns) -> None:
        """Add the candidates of one output, in all its generations, as edge sets."""
        self._candidates.update(candidates)
        for job_output, edge_sets in outcome(candidates, lambda lineage: lineage, relations).items():
            same = defaultdict[OutputLineage, list[Candidate[OutputLineage]]](list)
            for candidate in candidates[job_output]:
                same[candidate.lineage].append(candidate)
            for edge_set in edge_sets:
                if job_output.layer != "observed" and not (edge_set.live or edge_set.latest or edge_set.reading):
                    continue  # a newer declaration has replaced it
                self._add(job_output, edge_set, same[edge_set.lineage])
        for output in {job_output.output for job_output in candidates}:
            of_it = ((by, each) for by, own in candidates.items() if by.output == output for each in own)
            if output is not None and (rewrite := newest_rewrite(of_it)):
                self._rewrites[output] = rewrite

    def columns(self, dataset: Name) -> Columns:
        """Return the columns of a dataset in its generation."""
        found, spellings = self.schemas.get(dataset, NO_COLUMNS), self.spellings.get(dataset.plain)
        return found.with_unlisted(spellings) if spellings else found

    def base_us(self, dataset: Name) -> int | None:
        """Return the time (us) of the base list of a dataset in its generation, None without one (rule 12.7)."""
        return self.base_times.get(dataset)

    def described(self) -> Iterable[Name]:
        """Return the datasets, each in its generation, that have a schema."""
        return self.schemas

    def tags(self) -> Mapping[Name, Sequence[Tag]]:
        """Return the tags in force, by dataset."""
        return self.tagged

    def was_read(self, dataset: Name) -> bool:
        """Tell whether a run, at any time, read a dataset to write another one."""
        return dataset.plain in self.ever_read

    def job(self, key: Name) -> Name:
        """Return the name of a job from its key."""
        return self.jobs.get(key, key)

    def stats(self, number: int) -> Stats:
        """Return statistics of the runs behind an edge set."""
        candidates = self._behind[number]
        times = [candidate.time_us for candidate in candidates]
        return Stats(len(candidates), min(times), max(times), any(candidate.rows_confirmed for candidate in candidates))

    def newest_run(self, number: int) -> str | None:
        """Return the key of the newest run behind an edge set."""
        return max(self._behind[number], key=newness).run_key

    def has_ended(self, run: str) -> bool:
        """Tell whether a run without a terminal event is known to have ended with its parent or its root run."""
        return run in self.ended

    def applications(self, number: int) -> Set[str]:
        """Return the parents of the runs behind an edge set that belong to the newest execution of its job."""
        newest = max(self._candidates[self.graph.sets[number][0]], key=newness).execution
        runs = (candidate.run_key for candidate in self._behind[number] if candidate.execution == newest)
        return {self.parents[run] for run in runs if run in self.parents}

    def older_than(self, time_us: int) -> Iterator[int]:
        """Yield the edge sets whose newest run is older than a time (us)."""
        return (number for number in self.graph.sets if self.seen(number).last_us < time_us)

    def seen(self, number: int) -> Seen:
        """Return the times at which runs reported an edge set."""
        times = [candidate.time_us for candidate in self._behind[number]]
        return Seen(min(times), max(times))

    def rewritten(self, dataset: Name) -> WholeRewrite | None:
        """Return the whole rewrite of this generation of a dataset that began last, None without one."""
        return self._rewrites.get(dataset)

    def retired_jobs(self) -> RetiredJobs:
        """Return the jobs that were deleted or declared as retired."""
        return self.retired

    def job_seen_us(self, job: Name) -> int:
        """Return the time (us) of the newest event of the runs of a job that read or write."""
        own = (candidates for job_output, candidates in self._candidates.items() if job_output.job == job)
        return max(candidate.last_us for candidates in own for candidate in candidates)

    def newest_event_us(self) -> int | None:
        """Return the time (us) of the newest event that is not ahead of its receipt."""
        return self.newest_us

    def _add(
        self, job_output: JobOutput, edge_set: EdgeSet[OutputLineage], behind: Sequence[Candidate[OutputLineage]]
    ) -> None:
        self._behind.append(behind)
        number = len(self._behind) - 1
        self._put(number, job_output, edge_set, self.seen(number).last_us)


def counted_rewrites(
    candidates: Candidates[OutputLineage], *, by_parts: bool
) -> dict[JobOutput, list[Candidate[OutputLineage]]]:
    """Return candidates in which `rewrites` is 1 for whole rewrites and 0 for all other writes (rule 6.7)."""
    return {
        job_output: [each._replace(rewrites=int(rewrites(each.rewrites, by_parts=by_parts))) for each in own]
        for job_output, own in candidates.items()
    }
