"""Tags of rule 8: the newest tags facet of each producer counts. An event without one removes no tags."""

from collections.abc import Iterable
from typing import NamedTuple

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.runs.event_order import Order
from headwater.lineage.runs.run_facts import RunFacts, Tag


class TagsFacet(NamedTuple):
    """The tags facet of one dataset in one event. The greatest (order, place) is the newest.

    name: the name of the dataset as sent.
    """

    order: Order
    place: int
    name: Name
    producer: str
    tags: tuple[Tag, ...]


def tags_facets(fact: RunFacts) -> Iterable[TagsFacet]:
    """Yield the tags facets of an event."""
    for place, use in enumerate((*fact.inputs, *fact.outputs)):
        if use.tags is not None:
            yield TagsFacet(fact.order, place, use.name, fact.content.producer, use.tags)


def newest_tags(facets: Iterable[TagsFacet], naming: NameResolver) -> dict[Name, list[Tag]]:
    """Return the tags that hold, by dataset, for all its generations (rule 10.8).

    A tag holds for the name in its facet, for every dataset that this name has meant, and for renamed datasets under
    their new names.
    """
    newest: dict[tuple[Name, str], TagsFacet] = {}
    for facet in facets:
        for dataset in datasets_with_tags(facet.name, facet.order[1], naming):
            known = newest.get((dataset, facet.producer))
            if known is None or (known.order, known.place) < (facet.order, facet.place):
                newest[dataset, facet.producer] = facet
    found: dict[Name, list[Tag]] = {}
    for (dataset, _), facet in newest.items():
        found.setdefault(dataset, []).extend(facet.tags)
    return found


def datasets_with_tags(name: Name, time_us: int, naming: NameResolver) -> set[Name]:
    """Return the datasets that a tags facet under a name applies to, without generations."""
    bound = naming.bound(name, time_us)
    resolved = (naming.resolve(name, time_us), *naming.generations.meanings(bound))
    return {bound, *(each.plain for each in resolved)}


def has_tag(key: str, value: str, requested_key: str) -> bool:
    """Tell whether a tag has the requested key and a value other than `false`; case makes no difference."""
    return key.casefold() == requested_key.casefold() and value.casefold() != "false"
