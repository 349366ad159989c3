"""Impact, upstream and paths: which columns reach which."""

from collections.abc import Iterable
from typing import Any

from headwater.index.asking import Bounds, Subject, find_column, find_dataset, nodes_of
from headwater.index.moment import Moment
from headwater.index.showing import column_json, dataset_json, job_json, node_json, via_json
from headwater.lineage.name import Name
from headwater.lineage.names import NameRules
from headwater.lineage.walk import Hit, Mode, View, Wave, allowed_hows, walk


def reach(
    moment: Moment,
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

    roots: keep only columns that nothing feeds; paths: show each way whole, from the asked column on.
    """
    dataset = find_dataset(moment, rules, asked)
    key = None if asked.column is None else find_column(moment, dataset, asked.column)
    starts = nodes_of(moment, dataset, key)
    found = walk(moment.graph, starts, view, forward=forward, mode=mode, depth=bounds.depth, limit=bounds.limit)
    hits = [hit for hit in found.hits if not roots or _is_root(moment, hit.node, view, mode)]
    by_node = {hit.node: hit for hit in found.hits}
    columns = [{**_hit(moment, hit), **({"path": _path(moment, by_node, hit)} if paths else {})} for hit in hits]
    number = moment.graph.dataset(dataset)
    datasets = {moment.graph.columns[node].dataset for node in by_node} | ({number} if number is not None else set())
    return {
        "column": column_json(moment, dataset, key),
        "mode": mode,
        "columns": columns,
        "stops": list(_stops(moment, datasets, view, forward=forward)),
        "truncated": found.truncated,
    }


def _hit(moment: Moment, hit: Hit) -> dict[str, Any]:
    column = moment.graph.columns[hit.node]
    schema = moment.columns(moment.graph.names[column.dataset])
    return {
        **node_json(moment, hit.node),
        "distance": hit.distance,
        "masked": hit.masked,
        "via": via_json(moment, hit),
        "in_schema": not schema.by_key or column.key in schema.by_key,
    }


def _is_root(moment: Moment, node: int, view: View, mode: Mode) -> bool:
    allowed = allowed_hows(moment.graph, mode, masked=True)
    return not Wave(moment.graph, [node], view, forward=False, allowed=allowed).advance()


def _path(moment: Moment, hits: dict[int, Hit], hit: Hit) -> list[dict[str, Any]]:
    """Return the way to a hit, nearest to the asked column first; each step as it was reached."""
    steps = [hit]
    while steps[-1].parent in hits:
        steps.append(hits[steps[-1].parent])
    return [{**node_json(moment, step.node), "via": via_json(moment, step)} for step in reversed(steps)]


def _stops(moment: Moment, datasets: Iterable[int], view: View, *, forward: bool) -> Iterable[dict[str, Any]]:
    """Yield the datasets where only table-level lineage goes on."""
    graph = moment.graph
    beside = graph.feeds if forward else graph.fed_by
    for dataset in sorted(datasets, key=lambda number: graph.names[number]):
        onward: set[Name] = set()
        jobs: set[Name] = set()
        for number in sorted(beside.get(dataset, ())):
            group, said = graph.sets[number]
            ends = [said.output] if forward else list(said.tables)
            opaque = graph.is_opaque(number, dataset) if forward else not said.carries
            if view.live[number] and opaque and (not forward or graph.names[dataset] in said.tables):
                onward.update(name for name in ends if name and name not in graph.explained[number])
                jobs.add(group.job)
        if onward:
            ways = [dataset_json(name) for name in sorted(onward)]
            yield {
                **dataset_json(graph.names[dataset]),
                "onward": ways,
                "jobs": [job_json(job) for job in sorted(jobs)],
            }


def path(moment: Moment, rules: NameRules, start: Subject, end: Subject, view: View, *, mode: Mode) -> dict[str, Any]:
    """Answer whether one column or dataset reaches another, and by which shortest way."""
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
        "path": [] if reached is None else _path(moment, hits, reached),
    }
