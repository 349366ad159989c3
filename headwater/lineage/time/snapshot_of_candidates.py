"""A snapshot that counts candidates itself: of the past, of files, of Spark's rows."""

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
from headwater.lineage.time.snapshot import Remask, Seen, Snapshot, Stats
from headwater.lineage.time.whole_rewrites import WholeRewrite, newest_rewrite


class SnapshotOfCandidates(Snapshot):
    """Everything in dictionaries; whoever makes it fills them and lets it `take` the candidates."""

    def __init__(self, naming: Naming, remask: Remask, rules: UserRules = NO_RULES):
        """Hold nothing yet.

        schemas: columns by dataset in its generation; base_times: of their base lists, us;
        ever_read: datasets that a run read to write another; jobs: what people call those that are known by an
        artifact's id; parents: parent runs by run; ended: runs that ended with their application;
        newest_us: time of the newest event that is not ahead of its receipt; retired: what was deleted or declared;
        spellings: of columns that schemas do not list, by dataset without its generation and by key.
        """
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
        """Count the candidates about one output, in all its generations."""
        self._candidates.update(candidates)
        for job_output, edge_sets in outcome(candidates, lambda lineage: lineage, relations).items():
            same = defaultdict[OutputLineage, list[Candidate[OutputLineage]]](list)
            for candidate in candidates[job_output]:
                same[candidate.lineage].append(candidate)
            for edge_set in edge_sets:
                if job_output.layer != "observed" and not (edge_set.live or edge_set.latest or edge_set.reading):
                    continue  # what was declared before is replaced
                self._add(job_output, edge_set, same[edge_set.lineage])
        for output in {job_output.output for job_output in candidates}:
            of_it = ((by, each) for by, own in candidates.items() if by.output == output for each in own)
            if output is not None and (rewrite := newest_rewrite(of_it)):
                self._rewrites[output] = rewrite

    def columns(self, dataset: Name) -> Columns:
        """Return the columns of the newest schema of a dataset in its generation."""
        found, spellings = self.schemas.get(dataset, NO_COLUMNS), self.spellings.get(dataset.plain)
        return found.with_unlisted(spellings) if spellings else found

    def base_us(self, dataset: Name) -> int | None:
        """Return the time of the base list of a dataset in its generation, None without one."""
        return self.base_times.get(dataset)

    def described(self) -> Iterable[Name]:
        """Return the datasets, each in its generation, of which a schema is known."""
        return self.schemas

    def tags(self) -> Mapping[Name, Sequence[Tag]]:
        """Return the tags that hold, by dataset."""
        return self.tagged

    def was_read(self, dataset: Name) -> bool:
        """Tell whether some run, be it long ago, read a dataset to write another."""
        return dataset.plain in self.ever_read

    def job(self, key: Name) -> Name:
        """Return what people call a job."""
        return self.jobs.get(key, key)

    def stats(self, number: int) -> Stats:
        """Return what is known of the runs behind an edge set."""
        candidates = self._behind[number]
        times = [candidate.time_us for candidate in candidates]
        return Stats(len(candidates), min(times), max(times), any(candidate.rows_confirmed for candidate in candidates))

    def newest_run(self, number: int) -> str | None:
        """Return the newest run behind an edge set."""
        return max(self._behind[number], key=newness).run_key

    def has_ended(self, run: str) -> bool:
        """Tell whether a run that reports no end ended with its parent or its root run, as far as that is known."""
        return run in self.ended

    def applications(self, number: int) -> Set[str]:
        """Return the parent runs of the runs behind an edge set that are of its job's newest execution."""
        newest = max(self._candidates[self.graph.sets[number][0]], key=newness).execution
        runs = (candidate.run_key for candidate in self._behind[number] if candidate.execution == newest)
        return {self.parents[run] for run in runs if run in self.parents}

    def older_than(self, time_us: int) -> Iterator[int]:
        """Yield the edge sets whose newest run is older than a time."""
        return (number for number in self.graph.sets if self.seen(number).last_us < time_us)

    def seen(self, number: int) -> Seen:
        """Return when runs said an edge set."""
        times = [candidate.time_us for candidate in self._behind[number]]
        return Seen(min(times), max(times))

    def rewritten(self, dataset: Name) -> WholeRewrite | None:
        """Return the whole rewrite of a generation of a dataset that began last."""
        return self._rewrites.get(dataset)

    def retired_jobs(self) -> RetiredJobs:
        """Return the jobs that were deleted or declared as retired."""
        return self.retired

    def job_seen_us(self, job: Name) -> int:
        """Return the time of the newest event of the runs of a job that read or write."""
        own = (candidates for job_output, candidates in self._candidates.items() if job_output.job == job)
        return max(candidate.last_us for candidates in own for candidate in candidates)

    def newest_event_us(self) -> int | None:
        """Return the time of the newest event that is not ahead of its receipt."""
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
    """Return candidates of which only whole rewrites say that they rewrite."""
    return {
        job_output: [each._replace(rewrites=int(rewrites(each.rewrites, by_parts=by_parts))) for each in own]
        for job_output, own in candidates.items()
    }
