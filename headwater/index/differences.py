"""What changed between two moments: column and table edges that came and went."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from headwater.index.moment import Moment
from headwater.index.showing import dataset_json, job_json
from headwater.lineage.name import Name
from headwater.lineage.walk import View


class PlainEdge(NamedTuple):
    """An edge by names; `column` and `target` are None between tables whose columns are not reported."""

    source: Name
    column: str | None
    output: Name
    target: str | None
    direct: bool
    masked: bool


def plain_edges(moment: Moment, view: View) -> dict[PlainEdge, Name]:
    """Return every edge that counts, with one job that makes it."""
    return dict(_plain_edges(moment, view))


def _plain_edges(moment: Moment, view: View) -> Iterator[tuple[PlainEdge, Name]]:
    graph = moment.graph
    hidden = {graph.names[number] for number in view.hidden}
    for number, (group, said) in graph.sets.items():
        output = said.output
        if not view.live[number] or output is None or output in hidden:
            continue
        for edge in said.edges:
            if edge.source not in hidden:
                targets = said.columns if edge.target is None else (edge.target,)
                for target in targets:
                    found = PlainEdge(edge.source, edge.column, output, target, edge.how.direct, edge.how.masked)
                    yield found, group.job
        for source in () if said.carries else said.tables:
            if source not in hidden:
                yield PlainEdge(source, None, output, None, True, False), group.job


def difference(before: tuple[Moment, View], after: tuple[Moment, View], *, limit: int) -> dict[str, Any]:
    """Answer which edges came, which went, and which changed only in being masked."""
    old, new = plain_edges(*before), plain_edges(*after)
    came, went = new.keys() - old.keys(), old.keys() - new.keys()
    items = [("added", edge, new[edge], after[0]) for edge in came] + [
        ("removed", edge, old[edge], before[0]) for edge in went
    ]
    items.sort(key=lambda item: (item[1].output, item[1].target or "", item[1].source, item[1].column or "", item[0]))
    return {
        "added": len(came),
        "removed": len(went),
        "items": [_item(*item) for item in items[:limit]],
        "totalCount": len(items),
        "truncated": len(items) > limit,
    }


def _item(change: str, edge: PlainEdge, job: Name, moment: Moment) -> dict[str, Any]:
    return {
        "change": change,
        "from": {**dataset_json(edge.source), "column": _shown(moment, edge.source, edge.column)},
        "to": {**dataset_json(edge.output), "column": _shown(moment, edge.output, edge.target)},
        "type": "DIRECT" if edge.direct else "INDIRECT",
        "masked": edge.masked,
        "job": job_json(job),
    }


def _shown(moment: Moment, dataset: Name, key: str | None) -> str | None:
    return None if key is None else moment.columns(dataset).shown(key)
