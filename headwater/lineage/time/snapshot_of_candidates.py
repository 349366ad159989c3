"""A snapshot that counts candidates itself: of the past, of files, of Spark's rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import partial

from headwater.lineage.edges.current_candidates import Candidate, JobOutput, newness
from headwater.lineage.edges.edge_sets import Candidates, EdgeSet, RelatedRuns, outcome
from headwater.lineage.edges.run_edges import OutputLineage
from headwater.lineage.edges.schema_columns import NO_COLUMNS, Columns
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.names_in_time import Naming
from headwater.lineage.runs.run_facts import Tag
from headwater.lineage.time.snapshot import Remask, Snapshot, Stats
from headwater.lineage.walks.exposed_until import Writer, Written, Wrote


class SnapshotOfCandidates(Snapshot):
    """Everything in dictionaries; whoever makes it fills them and lets it `take` the candidates."""

    def __init__(self, naming: Naming, remask: Remask):
        """Hold nothing yet.

        schemas: columns by dataset in its generation; ever_read: datasets that a run read to write another;
        jobs: what people call those that are known by an artifact's id; parents: parent runs by run.
        spellings: of columns that schemas do not list, by dataset without its generation and by key.
        """
        super().__init__(naming, remask)
        self.schemas: dict[Name, Columns] = {}
        self.spellings: dict[Name, Mapping[str, str]] = {}
        self.tagged: dict[Name, list[Tag]] = {}
        self.ever_read: set[Name] = set()
        self.jobs: dict[Name, Name] = {}
        self.parents: dict[str, str] = {}
        self._candidates: dict[JobOutput, Sequence[Candidate[OutputLineage]]] = {}
        self._job_outputs: list[JobOutput] = []
        self._lineage: list[OutputLineage] = []

    def take(self, candidates: Candidates[OutputLineage], relations: RelatedRuns) -> None:
        """Count the candidates about one output, in all its generations."""
        self._candidates.update(candidates)
        for job_output, edge_sets in outcome(candidates, lambda lineage: lineage, relations).items():
            for edge_set in edge_sets:
                self._add(job_output, edge_set)

    def put_history(self) -> None:
        """Add the edge sets that count no more; only `View.everything` shows them."""
        known = set(zip(self._job_outputs, self._lineage, strict=True))
        for job_output, candidates in self._candidates.items():
            for lineage in dict.fromkeys(candidate.lineage for candidate in candidates):
                if (job_output, lineage) not in known:
                    self._add(job_output, EdgeSet(lineage, False, False, False, frozenset(), frozenset()))

    def columns(self, dataset: Name) -> Columns:
        """Return the columns of the newest schema of a dataset in its generation."""
        found, spellings = self.schemas.get(dataset, NO_COLUMNS), self.spellings.get(dataset.plain)
        return found.with_unlisted(spellings) if spellings else found

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
        candidates = self._behind(number)
        times = [candidate.time_us for candidate in candidates]
        return Stats(len(candidates), min(times), max(times), any(candidate.rows_confirmed for candidate in candidates))

    def newest_run(self, number: int) -> str | None:
        """Return the newest run behind an edge set."""
        return max(self._behind(number), key=newness).run_key

    def applications(self, number: int) -> Set[str]:
        """Return the parent runs of the runs behind an edge set that are of its job's newest execution."""
        newest = max(self._candidates[self.graph.sets[number][0]], key=newness).execution
        runs = (candidate.run_key for candidate in self._behind(number) if candidate.execution == newest)
        return {self.parents[run] for run in runs if run in self.parents}

    def older_than(self, time_us: int) -> Iterator[int]:
        """Yield the edge sets whose newest run is older than a time."""
        return (number for number in self.graph.sets if self.stats(number).last_us < time_us)

    def written(self, dataset: Name) -> Written:
        """Return who ever wrote a generation of a dataset."""
        of_it = [
            (job_output, candidate)
            for job_output, own in self._candidates.items()
            if job_output.output == dataset
            for candidate in own
        ]
        rewrites = sorted((candidate.time_us, candidate.run_key) for _, candidate in of_it if candidate.rewrites)

        def wrote(candidate: Candidate[OutputLineage], upto_us: int) -> Wrote | None:
            return (candidate.time_us, candidate.run_key) if candidate.time_us <= upto_us else None

        def rewritten(by: Wrote) -> int | None:
            return next((at for at, run_key in rewrites if at >= by[0] and run_key != by[1]), None)

        return Written(
            [
                Writer(self._remask(job_output, candidate.lineage), partial(wrote, candidate))
                for job_output, candidate in of_it
            ],
            rewritten,
        )

    def _behind(self, number: int) -> list[Candidate[OutputLineage]]:
        return [
            candidate
            for candidate in self._candidates[self.graph.sets[number][0]]
            if candidate.lineage == self._lineage[number]
        ]

    def _add(self, job_output: JobOutput, edge_set: EdgeSet[OutputLineage]) -> None:
        self._put(len(self._lineage), job_output, edge_set)
        self._job_outputs.append(job_output)
        self._lineage.append(edge_set.lineage)
