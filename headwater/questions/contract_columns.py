"""The history of a dataset's columns: types, descriptions and tags, each with the run that changed it."""

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
from headwater.questions.answers.contract_answers import EndedColumn, EndedTag, RunReference
from headwater.questions.step_history import NO_RUN

_MAX_SCHEMAS = 200
"""Maximum number of schemas that are read, newest first."""

RunLookup = Callable[[Order], RunReference]
TagKey = tuple[str | None, str]
"""A column as sent (None for the dataset), and the key of a tag."""


def run_lookup(live: LiveGraph) -> RunLookup:
    """Return a function that looks up the run of an event. It caches its results."""
    history = ChangeHistory(live, 0, 0)

    @cache
    def run_of(order: Order) -> RunReference:
        found = history.run_of(order)
        at = iso(order.time_us)
        return (
            RunReference(run_id_of(found[0]), at, Job(*live.job(found[1]).parts))
            if found
            else RunReference(None, at, None)
        )

    return run_of


class ColumnHistory:
    """The time since which columns have their types, and removed columns."""

    def __init__(self, live: LiveGraph, history: ContractHistory, run_of: RunLookup):
        """Read the newest schemas of one dataset."""
        texts, self._run_of, every = ChangeHistory(live, 0, 0), run_of, history.lists()[:_MAX_SCHEMAS]
        self._seen = [(_order(each.since), texts.described_columns(history.names, each.lists)) for each in every]
        written = [seen for each in every[:1] for seen in each.lists if seen.authority > READ or not each.has_base]
        self._written = texts.described_columns(history.names, written) if written else {}

    @property
    def types(self) -> Mapping[str, DescribedColumn]:
        """The current columns, by their dotted names."""
        return self._seen[0][1] if self._seen else {}

    def is_of_readers(self, column: str) -> bool:
        """Return whether the dataset has a base list, and only lists of readers name this column."""
        return column in self.types and column not in self._written

    def changed(self, column: str) -> RunReference:
        """Return the run that gave a column its current type."""
        described, newest = self.types.get(column), None
        kind = described.type if described else None
        for order, types in self._seen:
            if column not in types or types[column].type != kind:
                break
            newest = order
        return self._run_of(newest) if newest else NO_RUN

    def ended(self) -> list[EndedColumn]:
        """Return the removed columns, in the order of the schemas that contained them last."""
        found: dict[str, Order] = {}
        for (after, _), (_, types) in zip(self._seen, self._seen[1:], strict=False):
            for column in types:
                if column not in self.types and column not in found:
                    found[column] = after
        return [EndedColumn(column, self._run_of(order)) for column, order in found.items()]


def _order(seen: SeenSchema) -> Order:
    return Order(*seen[:4])


class TagHistory:
    """The time since which tags hold by their facets, and removed tags."""

    def __init__(self, facets: Iterable[list[TagsFacet]], run_of: RunLookup):
        """facets: the tags facets of each producer, newest first."""
        self._run_of = run_of
        self._since: dict[TagKey, Order] = {}
        self._ended: dict[TagKey, Order] = {}
        for facets_of_producer in facets:
            self._add(facets_of_producer)

    def since(self, column: str | None, key: str) -> RunReference:
        """Return the run that added a tag, or no run for a tag of the tags file."""
        order = self._since.get((column, key))
        return self._run_of(order) if order else NO_RUN

    def every(self) -> list[tuple[TagKey, RunReference]]:
        """Return all active tags with the runs that added them."""
        return [(key, self._run_of(order)) for key, order in self._since.items()]

    def ended(self) -> list[EndedTag]:
        """Return the tags that no producer sets any more."""
        gone = {key: order for key, order in self._ended.items() if key not in self._since}
        return [EndedTag(*key, self._run_of(order)) for key, order in sorted(gone.items(), key=str)]

    def _add(self, facets_of_producer: list[TagsFacet]) -> None:
        active = _active_tags(facets_of_producer[0]) if facets_of_producer else set()
        current, after = (
            dict.fromkeys(active, facets_of_producer[0].order) if facets_of_producer else {},
            facets_of_producer[0].order if facets_of_producer else None,
        )
        still = set(active)
        for each in facets_of_producer[1:]:
            held = _active_tags(each)
            still &= held
            current |= dict.fromkeys(still, each.order)
            for key in held - active:
                self._ended.setdefault(key, after or each.order)
            after = each.order
        for key, order in current.items():
            self._since[key] = min(self._since.get(key, order), order)


def _active_tags(facet: TagsFacet) -> set[TagKey]:
    return {(tag.column, tag.key) for tag in facet.tags if tag.value.casefold() != "false"}
