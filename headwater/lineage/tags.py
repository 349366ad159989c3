"""Rule 8, tags: the newest facet of each producer counts; a producer that sends none takes back nothing."""

from collections.abc import Iterable
from typing import NamedTuple

from headwater.lineage.name import Name
from headwater.lineage.newest import Order
from headwater.lineage.part import Part, Tag


class TagsFacet(NamedTuple):
    """The tags that one event puts on one dataset, by its name as sent; fields in the order that decides the newest."""

    order: Order
    place: int
    name: Name
    producer: str
    tags: tuple[Tag, ...]


def tags_facets(part: Part) -> Iterable[TagsFacet]:
    """Yield the tags facets of an event."""
    for place, mention in enumerate((*part.inputs, *part.outputs)):
        if mention.tags is not None:
            yield TagsFacet(part.order, place, mention.name, part.producer, mention.tags)


def newest_tags(facets: Iterable[tuple[Name, TagsFacet]]) -> dict[Name, list[Tag]]:
    """Return the tags that hold, by dataset; facets come beside the dataset that their name means."""
    newest: dict[tuple[Name, str], TagsFacet] = {}
    for dataset, facet in facets:
        known = newest.get((dataset, facet.producer))
        if known is None or (known.order, known.place) < (facet.order, facet.place):
            newest[dataset, facet.producer] = facet
    found: dict[Name, list[Tag]] = {}
    for (dataset, _), facet in newest.items():
        found.setdefault(dataset, []).extend(facet.tags)
    return found


def has_tag(key: str, value: str, asked: str) -> bool:
    """Tell whether a tag is the one asked for, and not denied."""
    return key.casefold() == asked.casefold() and value.casefold() != "false"
