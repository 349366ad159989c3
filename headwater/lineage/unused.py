"""Rule 9: may this column be dropped? Used, unused, or not provable; never a guess."""

from array import array
from collections.abc import Collection, Iterator, Mapping
from typing import Literal, NamedTuple

from headwater.lineage.graph import Graph, triples
from headwater.lineage.walk import View

Verdict = Literal["used", "unused", "unknown"]

Consumers = Mapping[str | None, Collection[str]]
"""Column key (None: the whole dataset) → who reads it, as the consumers file declares."""


class Judged(NamedTuple):
    """A column's verdict; `reason` names the readers behind it, by edge set or by declared name."""

    key: str
    verdict: Verdict
    reason: str
    edge_sets: tuple[int, ...]
    consumers: tuple[str, ...]


def judge(
    graph: Graph, dataset: int, keys: Collection[str], view: View, consumers: Consumers, *, ever_read: bool
) -> list[Judged]:
    """Return a verdict for each column of the newest schema of a dataset, in their order.

    ever_read: some job read the dataset and wrote another, be it long ago: its readers report.
    """
    readers = _Readers(graph, dataset, view, ever_read)
    direct = {key: _verdict(graph, dataset, key, readers, consumers) for key in keys}
    return [_with_family(judged, direct) for judged in direct.values()]


class _Readers:
    """Who reads a dataset now, and of whom nobody knows which columns."""

    def __init__(self, graph: Graph, dataset: int, view: View, ever_read: bool):
        feeds = graph.feeds.get(dataset, ())
        self.live = {number for number in feeds if view.live[number]}
        self.latest = {number for number in feeds if view.latest[number]}
        self.opaque = tuple(sorted(number for number in self.live | self.latest if graph.is_opaque(number, dataset)))
        self.all = tuple(sorted(self.live | self.latest))
        self.report = ever_read
        self.view = view


def _verdict(graph: Graph, dataset: int, key: str, readers: _Readers, consumers: Consumers) -> Judged:
    declared = tuple(sorted({*consumers.get(key, ()), *consumers.get(None, ())}))
    used_by = tuple(sorted(set(_uses(graph, dataset, key, readers.view))))
    if used_by or declared:
        return Judged(key, "used", "a consumer is declared" if not used_by else "read by a job", used_by, declared)
    if readers.opaque:
        return Judged(key, "unknown", "a reader reports no column lineage", readers.opaque, ())
    if not readers.report:
        return Judged(key, "unknown", "no reader of this dataset reports", (), ())
    return Judged(key, "unused", "every reader reports its columns, and none reads this one", readers.all, ())


def _uses(graph: Graph, dataset: int, key: str, view: View) -> Iterator[int]:
    """Yield the edge sets in which a column feeds another column."""
    node = graph.node(dataset, key)
    edges = graph.out.get(node) if node is not None else None
    if edges is None or dataset in view.hidden:
        return
    for far, _, number in triples(edges):
        if view.live[number] and far != node and _leads_on(graph, far, node, view):
            yield number


def _leads_on(graph: Graph, far: int, node: int | None, view: View) -> bool:
    if graph.columns[far].dataset >= 0:
        return graph.columns[far].dataset not in view.hidden
    return any(
        onward != node and graph.columns[onward].dataset not in view.hidden
        for onward, _, _ in triples(graph.out.get(far, array("I")))
    )


def _with_family(judged: Judged, direct: Mapping[str, Judged]) -> Judged:
    """Rule 12: use of a nested column is use of its parents; of use of a parent the children cannot tell."""
    if judged.verdict == "used":
        return judged
    for key, other in direct.items():
        if other.verdict == "used" and key.startswith(f"{judged.key}."):
            return other._replace(key=judged.key, reason=f"its nested column {key!r} is read")
    for key, other in direct.items():
        if other.verdict == "used" and judged.key.startswith(f"{key}."):
            return other._replace(key=judged.key, verdict="unknown", reason=f"it is part of {key!r}, which is read")
    return judged
