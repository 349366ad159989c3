"""Rule 8, tags: the newest facet of each producer counts; a producer that sends none takes back nothing."""

from collections.abc import Iterable
from typing import NamedTuple

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.names_in_time import Naming
from headwater.lineage.runs.newest_first import Order
from headwater.lineage.runs.run_facts import RunFacts, Tag


class TagsFacet(NamedTuple):
    """The tags that one event puts on one dataset, by its name as sent; fields in the order that decides the newest."""

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


def newest_tags(facets: Iterable[TagsFacet], naming: Naming) -> dict[Name, list[Tag]]:
    """Return the tags that hold, by dataset, whatever its generation.

    A tag stays with the name that it was put on, with all that this has ever meant, and goes where renames carry what
    stands there (rule 10).
    """
    newest: dict[tuple[Name, str], TagsFacet] = {}
    for facet in facets:
        for dataset in tagged(facet.name, facet.order[1], naming):
            known = newest.get((dataset, facet.producer))
            if known is None or (known.order, known.place) < (facet.order, facet.place):
                newest[dataset, facet.producer] = facet
    found: dict[Name, list[Tag]] = {}
    for (dataset, _), facet in newest.items():
        found.setdefault(dataset, []).extend(facet.tags)
    return found


def tagged(name: Name, time_us: int, naming: Naming) -> set[Name]:
    """Return the datasets that a tags facet is about, whatever their generation."""
    bound = naming.bound(name, time_us)
    meant = (naming.resolve(name, time_us), *naming.generations.meanings(bound))
    return {bound, *(each.plain for each in meant)}


def has_tag(key: str, value: str, asked: str) -> bool:
    """Tell whether a tag is the one asked for, and not denied."""
    return key.casefold() == asked.casefold() and value.casefold() != "false"
