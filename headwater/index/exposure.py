"""The masking surface as an answer: where tagged columns end up, and how."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from headwater.errors import NotKnown
from headwater.index.asking import Subject, find_column, find_dataset, nodes_of
from headwater.index.moment import Moment
from headwater.index.showing import column_json, how_json, job_json, node_json, via_json
from headwater.lineage.name import Name
from headwater.lineage.surface import Surfaced, surface
from headwater.lineage.tags import has_tag
from headwater.lineage.user_rules import UserRules
from headwater.lineage.walk import Hit, View

_RANK = {"exposed": 0, "unknown": 1, "masked": 2}


class Sources(NamedTuple):
    """What is tagged: columns by node, and datasets tagged as such whose columns nobody knows."""

    nodes: list[int]
    whole: list[int]


def exposures(
    moment: Moment, rules: UserRules, view: View, *, tag: str, source: Subject | None, limit: int
) -> dict[str, Any]:
    """Answer where the columns with a tag, or one source column, are readable, masked, or may be either."""
    sources = _one(moment, rules, source) if source else tagged_sources(moment, rules, tag)
    found = surface(moment.graph, sources.nodes, sources.whole, view, lambda number: _keys(moment, number))
    by_node = {moment.graph.node(each.dataset, each.key): each for each in found if each.key is not None}
    found.sort(key=lambda each: (_RANK[each.exposure], moment.graph.names[each.dataset], each.key or ""))
    items = [_item(moment, each, by_node) for each in found[:limit]]
    return {
        "tag": tag,
        "sources": [node_json(moment, node) for node in sources.nodes],
        "items": items,
        "totalCount": len(found),
        "truncated": len(found) > limit,
    }


def _keys(moment: Moment, number: int) -> list[str]:
    return list(moment.columns(moment.graph.names[number]).by_key)


def _one(moment: Moment, rules: UserRules, source: Subject) -> Sources:
    dataset = find_dataset(moment, rules.names, source)
    key = None if source.column is None else find_column(moment, dataset, source.column)
    return Sources(nodes_of(moment, dataset, key), [])


def tagged_sources(moment: Moment, rules: UserRules, key: str) -> Sources:
    """Return what holds a tag, by facets or by the tags file; raises NotKnown with the tags there are."""
    nodes: dict[int, None] = {}
    whole: dict[int, None] = {}
    known: set[str] = set()
    for dataset, column, tag in _all_tags(moment, rules):
        known.add(tag[0])
        if not has_tag(*tag, key):
            continue
        number = moment.graph.dataset(dataset)
        columns = moment.columns(dataset)
        if number is None:
            continue
        if column is not None:
            nodes[moment.graph.node_for(number, columns.key(column))] = None
        elif columns.by_key:
            nodes.update((moment.graph.node_for(number, each), None) for each in columns.by_key)
        else:
            whole[number] = None
            nodes.update((node, None) for node in moment.graph.nodes_of(number))
    if not any(each.casefold() == key.casefold() for each in known):
        raise NotKnown("tag", key, sorted(known)[:5])
    return Sources(list(nodes), list(whole))


def _all_tags(moment: Moment, rules: UserRules) -> Iterator[tuple[Name, str | None, tuple[str, str]]]:
    for dataset, tags in moment.tags().items():
        yield from ((dataset, tag.column, (tag.key, tag.value)) for tag in tags)
    if rules.tags:
        for dataset in moment.datasets():
            for column in (None, *moment.columns(dataset).names):
                for tag in rules.tags_of(*dataset, column):
                    yield dataset, column, tag


def _item(moment: Moment, each: Surfaced, found: dict[int | None, Surfaced]) -> dict[str, Any]:
    graph = moment.graph
    item: dict[str, Any] = {
        **column_json(moment, graph.names[each.dataset], each.key),
        "exposure": each.exposure,
        "how": "no writer accounts for this column",
        "source": None,
        "via": None,
    }
    if each.hit is not None:
        item["how"] = how_json(graph.hows[each.hit.how])
        item["source"] = node_json(moment, _source(each.hit, found))
        item["via"] = via_json(moment, each.hit)
    elif each.opaque is not None:
        item["how"] = "written without column lineage"
        item["via"] = {"job": job_json(graph.sets[each.opaque][0].job)}
    return item


def _source(hit: Hit, found: dict[int | None, Surfaced]) -> int:
    """Follow parents back to where the walk began; what is unknown begins at itself."""
    parent, seen = hit.parent, {hit.node}
    while parent not in seen and (before := found.get(parent)) is not None and before.hit is not None:
        seen.add(parent)
        parent = before.hit.parent
    return parent
