"""Impact, upstream and paths: which columns reach which."""

from collections.abc import Iterable, Iterator
from typing import Any

from headwater.index.asking import MAX_LIMIT, Bounds, Subject, find_column, find_dataset, nodes_of
from headwater.index.moment import Scenery
from headwater.index.showing import column_json, dataset_json, job_json
from headwater.index.shown import Shown
from headwater.lineage.name import Name
from headwater.lineage.names import NameRules
from headwater.lineage.view import View
from headwater.lineage.walk import Mode, allowed_hows, walk
from headwater.lineage.wave import Hit, Wave


def reach(
    moment: Scenery,
    rules: NameRules,
    asked: Subject,
    view: View,
    *,
    forward: bool,
    mode: Mode,
    bounds: Bounds,
    roots: bool = False,
    paths: bool = False,
) -> dict[str, Any]:
    """Answer impact (forward) or upstream of a column, or without a column of a whole dataset.

    roots: keep only the far ends, from where it goes no further; paths: show each way whole, from the asked column on.
    """
    dataset = find_dataset(moment, rules, asked)
    key = None if asked.column is None else find_column(moment, dataset, asked.column)
    starts = nodes_of(moment, dataset, key)
    limit = MAX_LIMIT if roots else bounds.limit
    found = walk(moment.graph, starts, view, forward=forward, mode=mode, depth=bounds.depth, limit=limit)
    ends = [hit for hit in found.hits if not roots or _is_end(moment, hit.node, view, mode, forward=forward)]
    hits = ends[: bounds.limit]
    by_node = {hit.node: hit for hit in found.hits}
    shown = Shown(moment)
    columns = shown.hits(hits)
    for column, hit in zip(columns, hits if paths else (), strict=False):
        column["path"] = _path(shown, by_node, hit)
    return {
        "column": column_json(moment, dataset, key),
        "mode": mode,
        "columns": columns,
        "stops": _stops(moment, dataset, by_node, view, forward=forward),
        "truncated": found.truncated or len(ends) > len(hits),
    }


def _is_end(moment: Scenery, node: int, view: View, mode: Mode, *, forward: bool) -> bool:
    allowed = allowed_hows(moment.graph, mode, masked=True)
    return not Wave(moment.graph, [node], view, forward=forward, allowed=allowed).advance()


def _path(shown: Shown, hits: dict[int, Hit], hit: Hit) -> list[dict[str, Any]]:
    """Return the way to a hit, nearest to the asked column first; each step as it was reached."""
    steps = [hit]
    while steps[-1].parent in hits:
        steps.append(hits[steps[-1].parent])
    return [{**shown.node(step.node), "via": shown.via(step)} for step in reversed(steps)]


def _stops(
    moment: Scenery, dataset: Name, reached: Iterable[int], view: View, *, forward: bool
) -> list[dict[str, Any]]:
    """Return the datasets, of the one asked for and those with a reached column, where only tables go on."""
    datasets = {moment.graph.columns[node].dataset for node in reached}
    number = moment.graph.dataset(dataset)
    return list(_table_level(moment, datasets if number is None else {*datasets, number}, view, forward=forward))


def _table_level(moment: Scenery, datasets: Iterable[int], view: View, *, forward: bool) -> Iterator[dict[str, Any]]:
    graph = moment.graph
    beside = graph.feeds if forward else graph.fed_by
    for dataset in sorted({*datasets} - view.hidden, key=lambda number: graph.names[number]):
        onward: set[Name] = set()
        jobs: set[Name] = set()
        for number in sorted(beside.get(dataset, ())):
            group, said = graph.sets[number]
            ends = [said.output] if forward else list(said.tables)
            opaque = graph.is_opaque(number, dataset) if forward else not said.carries
            if view.live[number] and opaque and (not forward or graph.names[dataset] in said.tables):
                onward.update(name for name in ends if name and name not in graph.explained[number])
                onward.difference_update(graph.names[each] for each in view.hidden)
                jobs.add(group.job)
        if onward:
            ways = [dataset_json(name) for name in sorted(onward)]
            yield {
                **dataset_json(graph.names[dataset]),
                "onward": ways,
                "jobs": [job_json(moment.job(job)) for job in sorted(jobs)],
            }


def path(moment: Scenery, rules: NameRules, start: Subject, end: Subject, view: View, *, mode: Mode) -> dict[str, Any]:
    """Answer whether one column or dataset reaches another, and by which shortest way.

    Where it does not, `stops` are the datasets from which lineage that names no columns may yet lead there.
    """
    source, target = find_dataset(moment, rules, start), find_dataset(moment, rules, end)
    from_key = None if start.column is None else find_column(moment, source, start.column)
    to_key = None if end.column is None else find_column(moment, target, end.column)
    goal = set(nodes_of(moment, target, to_key))
    starts = nodes_of(moment, source, from_key)
    wave = Wave(moment.graph, starts, view, forward=True, allowed=allowed_hows(moment.graph, mode, masked=True))
    hits: dict[int, Hit] = {}
    reached: Hit | None = None
    while wave.front and reached is None:
        layer = wave.advance()
        hits.update((hit.node, hit) for hit in layer)
        reached = next((hit for hit in layer if hit.node in goal), None)
    return {
        "from": column_json(moment, source, from_key),
        "to": column_json(moment, target, to_key),
        "mode": mode,
        "reaches": reached is not None,
        "path": [] if reached is None else _path(Shown(moment), hits, reached),
        "stops": _stops(moment, source, hits, view, forward=True) if reached is None else [],
    }
