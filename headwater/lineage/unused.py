"""Rule 9: may this column be dropped? Used, unused, or not provable; never a guess."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from headwater.lineage.adjacency import NO_EDGES, triples
from headwater.lineage.graph import Graph
from headwater.lineage.walk import View

Verdict = Literal["used", "unused", "unknown"]


class Subject(NamedTuple):
    """The dataset that is judged.

    number: in the graph, None where no job that counts mentions it.
    keys: of the columns of its newest schema; top_level: those of them that are in no struct.
    consumers: column key (None: the whole dataset) → who reads it, as the consumers file declares.
    ever_read: some job read it and wrote another dataset, be it long ago: its readers report.
    """

    number: int | None
    keys: Sequence[str]
    top_level: frozenset[str]
    consumers: Mapping[str | None, Collection[str]]
    ever_read: bool


class Judged(NamedTuple):
    """A column's verdict; `edge_sets` and `consumers` are the readers behind it."""

    key: str
    verdict: Verdict
    reason: str
    edge_sets: tuple[int, ...]
    consumers: tuple[str, ...]


def judge(graph: Graph, subject: Subject, view: View) -> list[Judged]:
    """Return a verdict for each column of a dataset, in their order."""
    uses = {key: numbers for key in _known_keys(graph, subject) if (numbers := _uses(graph, subject, key, view))}
    readers = _readers(graph, subject.number, view)
    return [_verdict(graph, key, subject, uses, readers) for key in subject.keys]


def _known_keys(graph: Graph, subject: Subject) -> set[str]:
    mentioned = () if subject.number is None else graph.nodes_of(subject.number)
    return {*subject.keys, *(key for node in mentioned if (key := graph.columns[node].key))}


def _readers(graph: Graph, number: int | None, view: View) -> list[int]:
    feeds = () if number is None else graph.feeds.get(number, ())
    return sorted(each for each in feeds if view.live[each] or view.latest[each])


def _verdict(
    graph: Graph, key: str, subject: Subject, uses: Mapping[str, tuple[int, ...]], readers: Sequence[int]
) -> Judged:
    declared = tuple(sorted({*subject.consumers.get(key, ()), *subject.consumers.get(None, ())}))
    if key in uses or declared:
        return Judged(key, "used", "read by a job" if key in uses else "read as declared", uses.get(key, ()), declared)
    for other, numbers in uses.items():
        if key in parents(other, subject.top_level):
            return Judged(key, "used", f"its nested column {other!r} is read", numbers, ())
    for parent in parents(key, subject.top_level):
        if parent in uses:
            return Judged(key, "unknown", f"{parent!r}, which it is part of, is read as a whole", uses[parent], ())
    opaque = [n for n in readers if subject.number is not None and graph.is_opaque(n, subject.number)]
    if opaque:
        return Judged(key, "unknown", "a reader reports no column lineage", tuple(opaque), ())
    if not subject.ever_read:
        return Judged(key, "unknown", "no reader of this dataset reports", (), ())
    return Judged(key, "unused", "every reader reports its columns, and none reads this one", tuple(readers), ())


def parents(key: str, top_level: frozenset[str]) -> list[str]:
    """Rule 12: return the structs that a column is nested in, outermost first; an exact top-level name has none."""
    if key in top_level:
        return []
    parts = key.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


def _uses(graph: Graph, subject: Subject, key: str, view: View) -> tuple[int, ...]:
    """Return the edge sets in which a column feeds another column."""
    if subject.number is None or subject.number in view.hidden:
        return ()
    node = graph.node(subject.number, key)
    return () if node is None else tuple(sorted(set(_used_in(graph, node, view))))


def _used_in(graph: Graph, node: int, view: View) -> Iterator[int]:
    for far, _, number in triples(graph.out.get(node, NO_EDGES)):
        if view.live[number] and far != node and _leads_on(graph, far, node, view):
            yield number


def _leads_on(graph: Graph, far: int, node: int, view: View) -> bool:
    if graph.columns[far].dataset >= 0:
        return graph.columns[far].dataset not in view.hidden
    onward = (each for each, _, _ in triples(graph.out.get(far, NO_EDGES)))
    return any(each != node and graph.columns[each].dataset not in view.hidden for each in onward)
