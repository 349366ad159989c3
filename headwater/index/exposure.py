"""The masking surface as an answer: where tagged columns end up, and how."""

import difflib
from collections.abc import Iterator, Mapping, Set
from typing import Any, NamedTuple

from headwater.errors import NotKnown, WrongQuestion
from headwater.index.asking import Subject, find_column, find_dataset, nodes_in
from headwater.index.showing import column_json, iso, job_json
from headwater.index.shown import Shown
from headwater.lineage.exposed_until import exposed_until
from headwater.lineage.name import Name
from headwater.lineage.snapshot import Snapshot
from headwater.lineage.surface import Surfaced, surface
from headwater.lineage.tags import has_tag
from headwater.lineage.user_rules import UserRules
from headwater.lineage.view import View
from headwater.lineage.wave import Hit

Place = tuple[str, str, str]
"""Namespace, dataset and key of a column."""

_RANK = {"exposed": 0, "unknown": 1, "masked": 2}
ONCE_EXPOSED = "once_exposed"
_WORDS = (*_RANK, ONCE_EXPOSED)


class Sources(NamedTuple):
    """What is tagged: columns by node, and datasets tagged as such whose columns nobody knows."""

    nodes: list[int]
    whole: list[int]


class Exposed(NamedTuple):
    """A moment's masking surface, worst first; until: until when masked columns were written in the clear (us)."""

    sources: Sources
    columns: list[Surfaced]
    ways: Mapping[int, Hit]
    until: Mapping[tuple[int, str | None], int]

    def exposed(self, moment: Snapshot) -> set[Place]:
        """Return the columns whose values can be read."""
        return {_place(moment, each) for each in self.columns if each.exposure == "exposed"}


def look_for(moment: Snapshot, rules: UserRules, view: View, *, tag: str, source: Subject | None) -> Exposed:
    """Find where the columns with a tag, or one source column, are readable, masked, or may be either.

    Raises NotKnown for a tag or a column that is not there.
    """
    sources = _one(moment, rules, view, source) if source else tagged_sources(moment, rules, view, tag)
    found = surface(moment.graph, sources.nodes, sources.whole, view)
    found.columns.sort(key=lambda each: (_RANK[each.exposure], *_place(moment, each)))
    masked = any(each.exposure == "masked" for each in found.columns)
    until = exposed_until(moment.graph, found, moment.written) if masked else {}
    return Exposed(sources, found.columns, found.ways, until)


def exposures(
    moment: Snapshot, found: Exposed, *, tag: str, limit: int, but: Set[Place] | None = None, only: str | None = None
) -> dict[str, Any]:
    """Answer with a masking surface.

    but: columns exposed before; then only what is exposed beside them. only: an exposure, or `once_exposed` for what
    is masked now and was written in the clear before.
    """
    show, shown = Shown(moment), found.columns
    if but is not None:
        shown = [each for each in shown if each.exposure == "exposed" and _place(moment, each) not in but]
    if only is not None:
        shown = [each for each in shown if only in _words(each, found)]
    return {
        "tag": tag,
        "sources": [show.node(node) for node in found.sources.nodes if _is_shown(moment, node)],
        "items": [_item(moment, show, each, found) for each in shown[:limit]],
        "exposures": {word: sum(each.exposure == word for each in shown) for word in _RANK},
        "totalCount": len(shown),
        "truncated": len(shown) > limit,
    }


def read_exposure(text: str | None) -> str | None:
    """Return which exposure is asked for, None for any; raises WrongQuestion for another word."""
    if not text or text in _WORDS:
        return text or None
    raise WrongQuestion(f"exposure={text[:40]!r} is not known. Write {', '.join(_WORDS)}.")


def _words(each: Surfaced, found: Exposed) -> tuple[str, ...]:
    masked = each.exposure == "masked" and (each.dataset, each.key) in found.until
    return (each.exposure, ONCE_EXPOSED) if masked else (each.exposure,)


def _is_shown(moment: Snapshot, node: int) -> bool:
    """Tell whether a source is the one that people see: of several generations of a name the newest."""
    number = moment.graph.columns[node].dataset
    return number == moment.view().lifetimes.newest(moment.graph.names[number].plain)


def _place(moment: Snapshot, each: Surfaced) -> Place:
    return (*moment.graph.names[each.dataset].parts, each.key or "")


def _one(moment: Snapshot, rules: UserRules, view: View, source: Subject) -> Sources:
    dataset = find_dataset(moment, rules.names, source)
    key = None if source.column is None else find_column(moment, dataset, source.column)
    found = [_of(moment, view, number, key) for number in view.lifetimes.of(dataset)]
    return Sources([node for each in found for node in each.nodes], [number for each in found for number in each.whole])


def _of(moment: Snapshot, view: View, number: int, key: str | None) -> Sources:
    """Return a column with what is nested in it, or all of a dataset, also columns that no edge mentions."""
    if key is not None:
        return Sources(nodes_in(moment, view, number, key), [])
    keys = moment.columns(moment.graph.names[number]).by_key
    every = dict.fromkeys([moment.graph.node_for(number, each) for each in keys])
    return Sources(list(every | dict.fromkeys(moment.graph.nodes_of(number))), [] if keys else [number])


def tagged_sources(moment: Snapshot, rules: UserRules, view: View, key: str) -> Sources:
    """Return what holds a tag, by facets or by the tags file; raises NotKnown with the tags there are."""
    nodes: dict[int, None] = {}
    whole: dict[int, None] = {}
    known: set[str] = set()
    for dataset, column, tag in all_tags(moment, rules):
        known.add(tag[0])
        for number in view.lifetimes.generations(dataset) if has_tag(*tag, key) else ():
            named = None if column is None else moment.columns(moment.graph.names[number]).key(column)
            found = _of(moment, view, number, named)
            nodes.update(dict.fromkeys(found.nodes))
            whole.update(dict.fromkeys(found.whole))
    if not any(each.casefold() == key.casefold() for each in known):
        near = difflib.get_close_matches(key, known, 5, 0.4) or sorted(known)[:5]
        raise NotKnown("tag", key, near, "Tags come from `tags` facets and from the file tags.yaml.")
    return Sources(list(nodes), list(whole))


def all_tags(moment: Snapshot, rules: UserRules) -> Iterator[tuple[Name, str | None, tuple[str, str]]]:
    """Yield (dataset, column or None, (key, value)) of each tag, by facets or by the tags file."""
    for dataset, tags in moment.tags().items():
        yield from ((dataset, tag.column, (tag.key, tag.value)) for tag in tags)
    if rules.tags:
        for dataset in moment.datasets():
            for column in (None, *moment.shown_columns(dataset).names):
                for tag in rules.tags_of(*dataset.parts, column):
                    yield dataset, column, tag


def _item(moment: Snapshot, show: Shown, each: Surfaced, found: Exposed) -> dict[str, Any]:
    graph = moment.graph
    until = found.until.get((each.dataset, each.key)) if each.exposure == "masked" else None
    item: dict[str, Any] = {
        **column_json(moment, graph.names[each.dataset], each.key),
        "exposure": each.exposure,
        "exposed_until": iso(until),
        "how": "no writer accounts for this column",
        "source": None,
        "via": None,
    }
    if each.hit is not None:
        item["via"] = show.via(each.hit)
        item["how"] = item["via"]["transformation"]
        item["source"] = show.node(_source(each.hit, found.ways))
    elif each.opaque is not None:
        item["how"] = "written without column lineage"
        item["via"] = {"job": job_json(moment.job(graph.sets[each.opaque][0].job))}
    return item


def _source(hit: Hit, ways: Mapping[int, Hit]) -> int:
    """Follow parents back to where the walk began; what is unknown begins at itself."""
    parent, seen = hit.parent, {hit.node}
    while parent not in seen and (before := ways.get(parent)) is not None:
        seen.add(parent)
        parent = before.parent
    return parent
