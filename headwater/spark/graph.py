"""The graph of what counts now, made of open votes: of all of them, or of those around a question."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from headwater.index.moment import NOW_US
from headwater.lineage.columns import Columns
from headwater.lineage.current import Group, Vote
from headwater.lineage.derive import weight_of
from headwater.lineage.edges import Contribution
from headwater.lineage.graph import Graph
from headwater.lineage.lifetimes import Lifetimes
from headwater.lineage.masking import remasked
from headwater.lineage.name import Name
from headwater.lineage.naming import Naming
from headwater.lineage.nesting import Nesting
from headwater.lineage.outcome import Reported, outcome
from headwater.lineage.part import Tag
from headwater.lineage.user_rules import UserRules
from headwater.lineage.view import View
from headwater.spark.arrow import Row
from headwater.spark.known import read_columns
from headwater.spark.texts import Reading, read_contribution, read_reported

VOTE_COLUMNS = (
    "output_key", "layer", "job_namespace", "job_name", "dataset_namespace", "dataset_name", "generation", "time_us",
    "tie", "run_key", "execution", "started_us", "last_us", "landed", "rewrites", "kin", "content", "columns",
    "tags", "ever_read",
)  # fmt: skip
"""Open votes sorted by output, datasets first: rows without `output_key`."""

read_tags = Reading(list[str])
_read_facet = Reading(list[Tag])


class Now:
    """The graph as it is now, and what is known of its datasets; see `index.moment.Known`."""

    def __init__(self, rows: Iterable[Row], rules: UserRules, naming: Naming):
        """Take rows in the columns `VOTE_COLUMNS`, sorted. times: of the newest run behind an edge set (us)."""
        self.graph = Graph()
        self.naming = naming
        self.times: list[int] = []
        self._rules = rules
        self._columns: dict[Name, Columns] = {}
        self._tags: dict[Name, list[Tag]] = {}
        self._read: set[Name] = set()
        self._masks = (bytearray(), bytearray(), bytearray())
        for output_key, same in groupby(rows, key=lambda row: row[0]):
            if output_key is None:
                for row in same:
                    self._take(Name(*row[4:7]), *row[17:])
            else:
                self._put([_Voted(*row[:17]) for row in same])

    @cached_property
    def view(self) -> View:
        """What counts."""
        lifetimes, names = Lifetimes(self.graph, self.naming.generations), self.graph.names
        nested = [number for number, name in enumerate(names) if self.columns(name).nests]
        nesting = Nesting(self.graph, lambda number: self.columns(names[number]), nested)
        return View(*self._masks, lifetimes.hidden, lifetimes, nesting)

    def columns(self, dataset: Name) -> Columns:
        """Return the columns of the newest schema of a dataset in its generation."""
        return self._columns.get(dataset, _NO_COLUMNS)

    def shown_columns(self, dataset: Name) -> Columns:
        """Return the columns of a dataset by its newest generation that says so."""
        generations = self.naming.generations
        every = generations.meanings(dataset)
        return next((columns for each in every if (columns := self.columns(each)).names), _NO_COLUMNS)

    def shown(self, dataset: int, key: str | None) -> tuple[str | None, ...]:
        """Return a column as it is shown."""
        name = self.graph.names[dataset]
        return (*name.parts, None if key is None else self.columns(name).shown(key))

    def job_text(self, number: int) -> str:
        """Return the job of an edge set as text."""
        return "/".join(self.graph.sets[number][0].job.parts)

    def resolve(self, name: Name) -> Name:
        """Return the dataset that a canonical name means."""
        return self.naming.resolve(name, NOW_US).plain

    def aliases(self) -> Mapping[Name, Name]:
        """Return the names that are bound to another or were renamed, with the datasets they mean."""
        return {name: self.resolve(name) for name in self.naming.aliases()}

    def knows(self, dataset: Name) -> bool:
        """Tell whether a schema or an edge is known of a dataset."""
        return dataset in self._described or dataset in self.graph.generations

    def datasets(self) -> Sequence[Name]:
        """Return every dataset that a schema or an edge is known of."""
        return list(self._described | self.graph.generations.keys())

    def with_columns(self) -> set[Name]:
        """Return the datasets that have columns themselves, not only under a name that they were renamed to."""
        return {name.plain for name in self._columns}

    @cached_property
    def _described(self) -> set[Name]:
        """The names that show columns: also those of a dataset from before it was renamed."""
        names = {name for dataset in self._columns for name in self.naming.names_of(dataset)}
        return {name for name in names if self.shown_columns(name).names}

    def job(self, key: Name) -> Name:
        """Return a job as silver names it."""
        return key

    def stands(self, dataset: Name) -> bool:
        """Tell whether a dataset is there: it was not dropped, or was made again."""
        return self.naming.generations.is_there(dataset)

    def was_read(self, dataset: Name) -> bool:
        """Tell whether some run, be it long ago, read a dataset to write another."""
        return dataset in self._read

    def tags(self) -> Mapping[Name, Sequence[Tag]]:
        """Return the tags that hold, by dataset."""
        return self._tags

    def _take(self, dataset: Name, columns: str | None, tags: str | None, ever_read: object) -> None:
        if columns:
            self._columns[dataset] = Columns(read_columns(columns))
        if tags:
            self._tags[dataset] = [tag for text in read_tags(tags) for tag in _read_facet(text)]
        if ever_read:
            self._read.add(dataset)

    def _put(self, rows: Sequence["_Voted"]) -> None:
        """Take the votes about one output, in all its generations."""
        votes: dict[Group, list[Vote[Contribution]]] = defaultdict(list)
        for row in rows:
            votes[row.group].append(row.vote)
        for group, words in outcome(votes, lambda said: said, _Kin(rows)).items():
            for word in words:
                said = remasked(self._rules, group, word.said)
                self.graph.put(len(self.times), group, said, word.explained, word.accounted)
                self.times.append(max(vote.time_us for vote in votes[group] if vote.said == word.said))
                for mask, counts in zip(self._masks, (word.live, word.latest, word.reading), strict=True):
                    mask.append(counts)


class _Voted(NamedTuple):
    output_key: str
    layer: str
    job_namespace: str
    job_name: str
    dataset_namespace: str
    dataset_name: str | None
    generation: str
    time_us: int
    tie: str
    run_key: str
    execution: str
    started_us: int
    last_us: int
    landed: bool
    rewrites: bool
    kin: str | None
    content: str

    @property
    def group(self) -> Group:
        output = None
        if self.dataset_name is not None:
            output = Name(self.dataset_namespace, self.dataset_name, self.generation)
        return Group(self.layer, Name(self.job_namespace, self.job_name), output)

    @property
    def vote(self) -> Vote[Contribution]:
        said = read_contribution(self.content)
        return Vote(*self[7:13], weight_of(said), self.landed, self.rewrites, said)


class _Kin:
    """What silver found that other runs report; see `outcome.Kin`."""

    def __init__(self, rows: Iterable[_Voted]):
        self._told = {key: row.kin for row in rows for key in (row.run_key, row.execution) if row.kin}

    def below(self, run_key: str) -> Reported:
        return self._reported(run_key)

    def beside(self, execution: str) -> Reported:
        return self._reported(execution)

    def _reported(self, key: str) -> Reported:
        told = self._told.get(key)
        return read_reported(told) if told else _NOTHING


_NOTHING = Reported(frozenset(), frozenset())
_NO_COLUMNS = Columns(())
