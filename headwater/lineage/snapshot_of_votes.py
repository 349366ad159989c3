"""A snapshot that counts votes itself: of the past, of files, of Spark's rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from headwater.lineage.columns import NO_COLUMNS, Columns
from headwater.lineage.current import Group, Vote, newness
from headwater.lineage.edges import Contribution
from headwater.lineage.exposed_until import Writer, Written, Wrote
from headwater.lineage.name import Name
from headwater.lineage.naming import Naming
from headwater.lineage.outcome import Kin, Votes, Word, outcome
from headwater.lineage.part import Tag
from headwater.lineage.snapshot import Remask, Snapshot, Stats


class SnapshotOfVotes(Snapshot):
    """Everything in dictionaries; whoever makes it fills them and lets it `take` the votes."""

    def __init__(self, naming: Naming, remask: Remask):
        """Hold nothing yet.

        schemas: columns by dataset in its generation; ever_read: datasets that a run read to write another;
        jobs: what people call those that are known by an artifact's id.
        """
        super().__init__(naming, remask)
        self.schemas: dict[Name, Columns] = {}
        self.tagged: dict[Name, list[Tag]] = {}
        self.ever_read: set[Name] = set()
        self.jobs: dict[Name, Name] = {}
        self._votes: dict[Group, Sequence[Vote[Contribution]]] = {}
        self._said: list[Contribution] = []

    def take(self, votes: Votes[Contribution], kin: Kin) -> None:
        """Count the votes about one output, in all its generations."""
        self._votes.update(votes)
        for group, words in outcome(votes, lambda said: said, kin).items():
            for word in words:
                self._add(group, word)

    def put_history(self) -> None:
        """Add the edge sets that count no more; only `View.everything` shows them."""
        known = {(group, said) for (group, _), said in zip(self.graph.sets.values(), self._said, strict=True)}
        for group, votes in self._votes.items():
            for said in dict.fromkeys(vote.said for vote in votes):
                if (group, said) not in known:
                    self._add(group, Word(said, False, False, False, frozenset(), frozenset()))

    def columns(self, dataset: Name) -> Columns:
        """Return the columns of the newest schema of a dataset in its generation."""
        return self.schemas.get(dataset, NO_COLUMNS)

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
        votes = self._behind(number)
        times = [vote.time_us for vote in votes]
        return Stats(len(votes), min(times), max(times), any(vote.landed for vote in votes))

    def newest_run(self, number: int) -> str | None:
        """Return the newest run behind an edge set."""
        return max(self._behind(number), key=newness).run_key

    def older_than(self, time_us: int) -> Iterator[int]:
        """Yield the edge sets whose newest run is older than a time."""
        return (number for number in self.graph.sets if self.stats(number).last_us < time_us)

    def written(self, dataset: Name) -> Written:
        """Return who ever wrote a generation of a dataset."""
        of_it = [(group, vote) for group, own in self._votes.items() if group.output == dataset for vote in own]
        rewrites = sorted((vote.time_us, vote.run_key) for _, vote in of_it if vote.rewrites)

        def wrote(vote: Vote[Contribution], upto_us: int) -> Wrote | None:
            return (vote.time_us, vote.run_key) if vote.time_us <= upto_us else None

        def rewritten(by: Wrote) -> int | None:
            return next((at for at, run_key in rewrites if at >= by[0] and run_key != by[1]), None)

        return Written(
            [Writer(self._remask(group, vote.said), partial(wrote, vote)) for group, vote in of_it], rewritten
        )

    def _behind(self, number: int) -> list[Vote[Contribution]]:
        return [vote for vote in self._votes[self.graph.sets[number][0]] if vote.said == self._said[number]]

    def _add(self, group: Group, word: Word[Contribution]) -> None:
        self._put(len(self._said), group, word)
        self._said.append(word.said)
