"""The history of one dataset's schemas, tags, facets and names, read from all mentions of the dataset."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from headwater.index.reading.facets import facet_set_from
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.database import DATASET, question_marks
from headwater.index.stored.packing import tags_from
from headwater.index.stored.schemas import mention_from_row
from headwater.lineage.edges.schema_history import DatasetColumnLists, SchemaMention
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.tags import TagsFacet, datasets_of_tags_facet
from headwater.lineage.runs.event_order import ORDER_COLUMNS, Order, newest_first_sql

SCAN_LIMIT = 5_000
"""The maximum number of a dataset's newest mentions of each kind that are read."""


class Rename(NamedTuple):
    """The new name of a dataset, when it was renamed (us, UTC), and the key of the run that renamed it."""

    new_name: Name
    time_us: int
    run_key: str


class ColumnLists(NamedTuple):
    """The column lists of a dataset, the base list first.

    since_mention: the mention with which these lists began to apply. has_base: there is a base list.
    """

    since_mention: SchemaMention
    lists: Sequence[SchemaMention]
    has_base: bool = False


class ContractHistory:
    """The history of a dataset, in one generation of the index, up to a time."""

    def __init__(self, live: LiveGraph, dataset: Name, until_us: int):
        """Read from `live`, which must not be refreshed while this object is in use.

        until_us: mentions with a later time (us, UTC) are left out.
        """
        self._live, self._sql, self._dataset, self._until = live, live.sql, dataset, until_us
        self.names = live.naming.names_of(dataset)
        self._numbers = sorted(number for name in self.names if (number := live.names.find_number(name)) is not None)

    def column_lists(self) -> list[ColumnLists]:
        """Return the column lists after each change, newest first."""
        query = (
            f"SELECT name, {', '.join(SchemaMention._fields)} FROM schema_mentions "
            f"WHERE name "
            f"IN ({question_marks(self._numbers)}) AND time_us <= ? "
            f"ORDER BY {newest_first_sql(SchemaMention._fields)} LIMIT {SCAN_LIMIT}"
        )
        rows = self._sql.execute(query, (*self._numbers, self._until)).fetchall()
        mentions = [(mention_from_row(row), self._live.names.name(number)) for number, *row in rows]
        by_parts = self._live.is_written_by_parts(self._dataset)
        known: dict[Name, DatasetColumnLists] = {}
        found: list[ColumnLists] = []
        for seen, name in sorted(mentions):
            dataset = seen.described_dataset(name, self._live.naming)
            if dataset.without_generation == self._dataset:
                own = known.get(dataset) or known.setdefault(dataset, DatasetColumnLists(has_parts=by_parts))
                own.add_mention(seen)
                if not found or [each.schema for each in found[-1].lists] != [each.schema for each in own.lists]:
                    found.append(ColumnLists(seen, own.lists, own.base_list is not None))
        return found[::-1]

    def tags_facets(self) -> Iterator[list[TagsFacet]]:
        """Yield for each producer a list of its `tags` facets for the dataset, newest first."""
        query = (
            f"SELECT name, producer, {', '.join(ORDER_COLUMNS)}, value FROM tags "
            f"WHERE name "
            f"IN ({question_marks(self._numbers)}) AND time_us <= ? "
            f"ORDER BY producer, {newest_first_sql()} LIMIT {SCAN_LIMIT}"
        )
        rows = self._sql.execute(query, (*self._numbers, self._until)).fetchall()
        for producer, same in groupby(rows, lambda row: str(row[1])):
            facets = (
                TagsFacet(Order(bool(first), *order), place, self._live.names.name(name), producer, tags_from(value))
                for name, _, first, *order, place, value in same
            )
            yield [
                each
                for each in facets
                if self._dataset in datasets_of_tags_facet(each.name, each.order.time_us, self._live.naming)
            ]

    def facet_since_us(self, facet: str) -> int | None:
        """Return when the newest text of a facet was first sent (us, UTC), or None if the facet was never sent."""
        query = (
            "SELECT d.first_us, s.value FROM facet_set_uses d JOIN facet_sets s ON s.id = d.facet_set "
            "WHERE d.kind = ? "
            f"AND d.name IN ({question_marks(self._numbers)}) AND d.first_us <= ? "
            f"ORDER BY d.event_order DESC LIMIT {SCAN_LIMIT}"
        )
        rows = self._sql.execute(query, (DATASET, *self._numbers, self._until)).fetchall()
        texts = ((first_us, dict(facet_set_from(value)).get(facet)) for first_us, value in rows)
        sent = [(first_us, text) for first_us, text in texts if text is not None]
        return min((first_us for first_us, text in sent if text == sent[0][1]), default=None)

    def last_rename(self) -> Rename | None:
        """Return the last rename of the dataset, or None if there is none or the dataset was written again since."""
        number = self._live.names.find_number(self._dataset) or 0
        found = self._sql.execute(
            "SELECT renamed, time_us, run FROM dataset_changes r WHERE location = ?1 AND renamed AND time_us <= ?2 "
            "AND NOT EXISTS (SELECT 1 FROM dataset_changes WHERE location = ?1 AND written AND time_us > r.time_us "
            "AND time_us <= ?2) "
            "ORDER BY time_us DESC LIMIT 1",
            (number, self._until),
        ).fetchone()
        return Rename(self._live.names.name(found[0]).without_generation, found[1], str(found[2])) if found else None
