"""Rule 8: find the tags of each dataset.

For each dataset and producer, the newest tags facet counts. An event without a tags facet removes no tags.
"""

from collections.abc import Iterable
from typing import NamedTuple

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.runs.event_order import Order
from headwater.lineage.runs.run_facts import RunFacts, Tag


class TagsFacet(NamedTuple):
    """The tags facet of one dataset in one event. The facet with the greatest (order, place) is the newest.

    order: the sort key of the event.
    place: the index of the dataset in the event's list of inputs followed by outputs.
    name: the canonical name of the dataset in the event, before symlinks and renames are applied.
    """

    order: Order
    place: int
    name: Name
    producer: str
    tags: tuple[Tag, ...]


def tags_facets(fact: RunFacts) -> Iterable[TagsFacet]:
    """Yield the tags facet of each dataset in an event that has one."""
    for place, use in enumerate((*fact.inputs, *fact.outputs)):
        if use.tags is not None:
            yield TagsFacet(fact.order, place, use.name, fact.content.producer, use.tags)


def newest_tags(facets: Iterable[TagsFacet], naming: NameResolver) -> dict[Name, list[Tag]]:
    """Return the valid tags of each dataset. The tags apply to all generations of the dataset (rule 10.8).

    A tag applies to the dataset with the name in its facet, to every dataset that this name has meant, and to renamed
    datasets under their new names.
    """
    newest: dict[tuple[Name, str], TagsFacet] = {}
    for facet in facets:
        for dataset in datasets_of_tags_facet(facet.name, facet.order[1], naming):
            known = newest.get((dataset, facet.producer))
            if known is None or (known.order, known.place) < (facet.order, facet.place):
                newest[dataset, facet.producer] = facet
    found: dict[Name, list[Tag]] = {}
    for (dataset, _), facet in newest.items():
        found.setdefault(dataset, []).extend(facet.tags)
    return found


def datasets_of_tags_facet(name: Name, time_us: int, naming: NameResolver) -> set[Name]:
    """Return the datasets to which a tags facet applies, as names without generations.

    name: the name of the dataset in the event with the facet. time_us: the time of this event.
    """
    bound = naming.location_at(name, time_us)
    resolved = (naming.resolve(name, time_us), *naming.generations.all_generations(bound))
    return {bound, *(each.without_generation for each in resolved)}


def has_tag(key: str, value: str, requested_key: str) -> bool:
    """Tell whether a tag has the requested key and a value other than `false`. Both comparisons ignore case."""
    return key.casefold() == requested_key.casefold() and value.casefold() != "false"
