"""The columns of a dataset over time: types, descriptions and tags, each with the run that made it so."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache

from headwater.events.times import iso
from headwater.index.reading.change_history import ChangeHistory, DescribedColumn
from headwater.index.reading.contract_history import ContractHistory
from headwater.index.reading.live_graph import LiveGraph
from headwater.lineage.edges.complete_lists import READ
from headwater.lineage.edges.schema_history import SeenSchema
from headwater.lineage.rules.tags import TagsFacet
from headwater.lineage.runs.job_identity import run_id_of
from headwater.lineage.runs.newest_first import Order
from headwater.questions.answers.answer_parts import Job
from headwater.questions.answers.contract_answers import Broke, EndedColumn, EndedTag
from headwater.questions.step_ages import NOBODY

_STRETCHES = 200
"""Newest schemas of a dataset that are read."""

Told = Callable[[Order], Broke]
Marked = tuple[str | None, str]
"""A column as sent, None for the dataset, and a tag's key."""


def runs_told(live: LiveGraph) -> Told:
    """Return what tells the run that an event is of; it looks up each once."""
    history = ChangeHistory(live, 0, 0)

    @cache
    def told(order: Order) -> Broke:
        found = history.run_of(order)
        at = iso(order.time_us)
        return Broke(run_id_of(found[0]), at, Job(*live.job(found[1]).parts)) if found else Broke(None, at, None)

    return told


class ColumnAges:
    """Since when columns have their types, and which went."""

    def __init__(self, live: LiveGraph, history: ContractHistory, told: Told):
        """Read the newest schemas of one dataset."""
        texts, self._told, every = ChangeHistory(live, 0, 0), told, history.lists()[:_STRETCHES]
        self._seen = [(_order(each.since), texts.described_columns(history.names, each.lists)) for each in every]
        written = [seen for each in every[:1] for seen in each.lists if seen.authority > READ or not each.has_base]
        self._written = texts.described_columns(history.names, written) if written else {}

    @property
    def types(self) -> Mapping[str, DescribedColumn]:
        """Columns by dots, as they are described now."""
        return self._seen[0][1] if self._seen else {}

    def is_of_readers(self, column: str) -> bool:
        """Tell whether a dataset has a base list, and only lists of readers name a column of it."""
        return column in self.types and column not in self._written

    def changed(self, column: str) -> Broke:
        """Return what gave a column the type that it has."""
        described, newest = self.types.get(column), None
        kind = described.type if described else None
        for order, types in self._seen:
            if column not in types or types[column].type != kind:
                break
            newest = order
        return self._told(newest) if newest else NOBODY

    def ended(self) -> list[EndedColumn]:
        """Return the columns that are there no more, in the order of the schemas that had them last."""
        found: dict[str, Order] = {}
        for (after, _), (_, types) in zip(self._seen, self._seen[1:], strict=False):
            for column in types:
                if column not in self.types and column not in found:
                    found[column] = after
        return [EndedColumn(column, self._told(order)) for column, order in found.items()]


def _order(seen: SeenSchema) -> Order:
    return Order(*seen[:4])


class TagAges:
    """Since when tags hold by their facets, and which were taken back."""

    def __init__(self, facets: Iterable[list[TagsFacet]], told: Told):
        """facets: of each producer the newest first."""
        self._told = told
        self._since: dict[Marked, Order] = {}
        self._ended: dict[Marked, Order] = {}
        for own in facets:
            self._take(own)

    def since(self, column: str | None, key: str) -> Broke:
        """Return what put a tag there; of one of the tags file nobody."""
        order = self._since.get((column, key))
        return self._told(order) if order else NOBODY

    def every(self) -> list[tuple[Marked, Broke]]:
        """Return all tags that hold, each with what put it there."""
        return [(marked, self._told(order)) for marked, order in self._since.items()]

    def ended(self) -> list[EndedTag]:
        """Return the tags that no producer puts there any more."""
        gone = {marked: order for marked, order in self._ended.items() if marked not in self._since}
        return [EndedTag(*marked, self._told(order)) for marked, order in sorted(gone.items(), key=str)]

    def _take(self, own: list[TagsFacet]) -> None:
        standing = _held(own[0]) if own else set()
        current, after = dict.fromkeys(standing, own[0].order) if own else {}, own[0].order if own else None
        still = set(standing)
        for each in own[1:]:
            held = _held(each)
            still &= held
            current |= dict.fromkeys(still, each.order)
            for marked in held - standing:
                self._ended.setdefault(marked, after or each.order)
            after = each.order
        for marked, order in current.items():
            self._since[marked] = min(self._since.get(marked, order), order)


def _held(facet: TagsFacet) -> set[Marked]:
    return {(tag.column, tag.key) for tag in facet.tags if tag.value.casefold() != "false"}
