"""The graph of what counts now, made of open votes: of all of them, or of those around a question."""

from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from itertools import groupby
from operator import attrgetter

from headwater.lineage.columns import Columns
from headwater.lineage.current import Group, Vote
from headwater.lineage.edges import Contribution
from headwater.lineage.masking import remasked
from headwater.lineage.naming import Naming
from headwater.lineage.outcome import Reported
from headwater.lineage.part import Tag
from headwater.lineage.run_derivation import weight_of
from headwater.lineage.snapshot_of_votes import SnapshotOfVotes
from headwater.lineage.user_rules import UserRules
from headwater.spark.arrow import Row
from headwater.spark.contents import read_columns
from headwater.spark.texts import Reading, read_contribution, read_reported
from headwater.spark.votes import COLUMNS, VoteRow

VOTE_COLUMNS = (*COLUMNS, "columns", "tags", "ever_read")
"""Open votes sorted by output, datasets first: rows without `output_key`."""

read_tags = Reading(list[str])
_read_facet = Reading(list[Tag])


class _Row(VoteRow):
    columns: str | None
    tags: str | None
    ever_read: bool | None


class SnapshotOfRows(SnapshotOfVotes):
    """The graph as it is now, and what is known of its datasets; silver names jobs as people do."""

    def __init__(self, rules: UserRules, naming: Naming, rows: Iterable[Row] = ()):
        """Take rows as `take_rows` does."""
        super().__init__(naming, partial(remasked, rules))
        self.take_rows(rows)

    def take_rows(self, rows: Iterable[Row]) -> None:
        """Take rows in the columns `VOTE_COLUMNS`, sorted."""
        for output_key, same in groupby((_Row(*row) for row in rows), key=attrgetter("output_key")):
            if output_key is None:
                for row in same:
                    self._describe(row)
            else:
                voted = list(same)
                votes: dict[Group, list[Vote[Contribution]]] = defaultdict(list)
                for each in voted:
                    said = read_contribution(each.content)
                    votes[each.group].append(each.vote(said)._replace(weight=weight_of(said)))
                self.take(votes, _Kin(voted))

    def _describe(self, row: _Row) -> None:
        dataset = row.dataset
        if dataset and row.columns:
            self.schemas[dataset] = Columns(read_columns(row.columns))
        if dataset and row.tags:
            self.tagged[dataset] = [tag for text in read_tags(row.tags) for tag in _read_facet(text)]
        if dataset and row.ever_read:
            self.ever_read.add(dataset)


class _Kin:
    """What silver found that other runs report; see `outcome.Kin`."""

    def __init__(self, rows: Iterable[VoteRow]):
        self._told = {key: row.kin for row in rows for key in (row.run_key, row.execution) if row.kin}

    def below(self, run_key: str) -> Reported:
        return self._reported(run_key)

    def beside(self, execution: str) -> Reported:
        return self._reported(execution)

    def _reported(self, key: str) -> Reported:
        told = self._told.get(key)
        return read_reported(told) if told else _NOTHING


_NOTHING = Reported(frozenset(), frozenset())
