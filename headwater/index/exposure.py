"""The masking surface as an answer: where tagged columns end up, and how."""

import difflib
from collections.abc import Iterator, Set
from typing import Any, NamedTuple

from headwater.errors import NotKnown
from headwater.index.asking import Subject, find_column, find_dataset, nodes_of
from headwater.index.moment import Moment
from headwater.index.showing import column_json, how_json, job_json, node_json, via_json
from headwater.lineage.name import Name
from headwater.lineage.surface import Surfaced, surface
from headwater.lineage.tags import has_tag
from headwater.lineage.user_rules import UserRules
from headwater.lineage.view import View
from headwater.lineage.wave import Hit

Place = tuple[str, str, str]
"""Namespace, dataset and key of a column."""

_RANK = {"exposed": 0, "unknown": 1, "masked": 2}


class Sources(NamedTuple):
    """What is tagged: columns by node, and datasets tagged as such whose columns nobody knows."""

    nodes: list[int]
    whole: list[int]


class Exposed(NamedTuple):
    """A moment's masking surface, worst first."""

    sources: Sources
    columns: list[Surfaced]

    def exposed(self, moment: Moment) -> set[Place]:
        """Return the columns whose values can be read."""
        return {_place(moment, each) for each in self.columns if each.exposure == "exposed"}


def look_for(moment: Moment, rules: UserRules, view: View, *, tag: str, source: Subject | None) -> Exposed:
    """Find where the columns with a tag, or one source column, are readable, masked, or may be either.

    Raises NotKnown for a tag or a column that is not there.
    """
    sources = _one(moment, rules, source) if source else tagged_sources(moment, rules, tag)
    found = surface(moment.graph, sources.nodes, sources.whole, view, lambda number: _keys(moment, number))
    found.sort(key=lambda each: (_RANK[each.exposure], *_place(moment, each)))
    return Exposed(sources, found)


def exposures(moment: Moment, found: Exposed, *, tag: str, limit: int, but: Set[Place] | None = None) -> dict[str, Any]:
    """Answer with a masking surface. but: columns exposed before; then only what is exposed beside them."""
    by_node = {moment.graph.node(each.dataset, each.key): each for each in found.columns if each.key is not None}
    shown = found.columns
    if but is not None:
        shown = [each for each in shown if each.exposure == "exposed" and _place(moment, each) not in but]
    return {
        "tag": tag,
        "sources": [node_json(moment, node) for node in found.sources.nodes],
        "items": [_item(moment, each, by_node) for each in shown[:limit]],
        "exposures": {word: sum(each.exposure == word for each in shown) for word in _RANK},
        "totalCount": len(shown),
        "truncated": len(shown) > limit,
    }


def _place(moment: Moment, each: Surfaced) -> Place:
    return (*moment.graph.names[each.dataset], each.key or "")


def _keys(moment: Moment, number: int) -> list[str]:
    return list(moment.columns(moment.graph.names[number]).by_key)


def _one(moment: Moment, rules: UserRules, source: Subject) -> Sources:
    dataset = find_dataset(moment, rules.names, source)
    key = None if source.column is None else find_column(moment, dataset, source.column)
    number = moment.graph.dataset(dataset)
    if number is None or key is None:
        return _whole(moment, dataset)
    return Sources(list({moment.graph.node_for(number, key): None} | dict.fromkeys(nodes_of(moment, dataset, key))), [])


def _whole(moment: Moment, dataset: Name) -> Sources:
    """Return all of a dataset, also columns that no edge mentions: a reader may not say which it reads."""
    number = moment.graph.dataset(dataset)
    if number is None:
        return Sources([], [])
    keys = moment.columns(dataset).by_key
    if keys:
        return Sources([moment.graph.node_for(number, key) for key in keys], [])
    return Sources(list(moment.graph.nodes_of(number)), [number])


def tagged_sources(moment: Moment, rules: UserRules, key: str) -> Sources:
    """Return what holds a tag, by facets or by the tags file; raises NotKnown with the tags there are."""
    nodes: dict[int, None] = {}
    whole: dict[int, None] = {}
    known: set[str] = set()
    for dataset, column, tag in _all_tags(moment, rules):
        known.add(tag[0])
        number = moment.graph.dataset(dataset)
        if number is None or not has_tag(*tag, key):
            continue
        if column is None:
            every = _whole(moment, dataset)
            nodes.update(dict.fromkeys(every.nodes))
            whole.update(dict.fromkeys(every.whole))
        else:
            nodes[moment.graph.node_for(number, moment.columns(dataset).key(column))] = None
    if not any(each.casefold() == key.casefold() for each in known):
        near = difflib.get_close_matches(key, known, 5, 0.4) or sorted(known)[:5]
        raise NotKnown("tag", key, near, "Tags come from `tags` facets and from the file tags.yaml.")
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
        item["via"] = {"job": job_json(moment.job(graph.sets[each.opaque][0].job))}
    return item


def _source(hit: Hit, found: dict[int | None, Surfaced]) -> int:
    """Follow parents back to where the walk began; what is unknown begins at itself."""
    parent, seen = hit.parent, {hit.node}
    while parent not in seen and (before := found.get(parent)) is not None and before.hit is not None:
        seen.add(parent)
        parent = before.hit.parent
    return parent
