"""The graph of what counts now, made of open votes: of all of them, or of those around a question."""

from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from itertools import groupby
from typing import NamedTuple

from headwater.lineage.columns import Columns
from headwater.lineage.current import Group, Vote
from headwater.lineage.derive import weight_of
from headwater.lineage.edges import Contribution
from headwater.lineage.masking import remasked
from headwater.lineage.name import Name
from headwater.lineage.naming import Naming
from headwater.lineage.outcome import Reported
from headwater.lineage.part import Tag
from headwater.lineage.snapshot_of_votes import SnapshotOfVotes
from headwater.lineage.user_rules import UserRules
from headwater.spark.arrow import Row
from headwater.spark.contents import read_columns
from headwater.spark.texts import Reading, read_contribution, read_reported

VOTE_COLUMNS = (
    "output_key", "layer", "job_namespace", "job_name", "dataset_namespace", "dataset_name", "generation", "time_us",
    "tie", "run_key", "execution", "started_us", "last_us", "landed", "rewrites", "kin", "content", "columns",
    "tags", "ever_read",
)  # fmt: skip
"""Open votes sorted by output, datasets first: rows without `output_key`."""

read_tags = Reading(list[str])
_read_facet = Reading(list[Tag])


class SnapshotOfRows(SnapshotOfVotes):
    """The graph as it is now, and what is known of its datasets; silver names jobs as people do."""

    def __init__(self, rules: UserRules, naming: Naming, rows: Iterable[Row] = ()):
        """Take rows as `take_rows` does."""
        super().__init__(naming, partial(remasked, rules))
        self.take_rows(rows)

    def take_rows(self, rows: Iterable[Row]) -> None:
        """Take rows in the columns `VOTE_COLUMNS`, sorted."""
        for output_key, same in groupby(rows, key=lambda row: row[0]):
            if output_key is None:
                for row in same:
                    self._describe(Name(*row[4:7]), *row[17:])
            else:
                voted = [_Voted(*row[:17]) for row in same]
                votes: dict[Group, list[Vote[Contribution]]] = defaultdict(list)
                for each in voted:
                    votes[each.group].append(each.vote)
                self.take(votes, _Kin(voted))

    def _describe(self, dataset: Name, columns: str | None, tags: str | None, ever_read: object) -> None:
        if columns:
            self.schemas[dataset] = Columns(read_columns(columns))
        if tags:
            self.tagged[dataset] = [tag for text in read_tags(tags) for tag in _read_facet(text)]
        if ever_read:
            self.ever_read.add(dataset)


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
