"""Match the columns of a dataset before and after its name moved (docs/reference/lineage.md: 10.11)."""

from collections.abc import Collection, Iterator

from tests.reference.generations import Dataset
from tests.reference.nesting import Nesting, Node, Step, Way, below
from tests.reference.solver import Reference


def with_moved(lineage: Reference, nodes: Collection[Node], *, forward: bool = True) -> set[Node]:
    """Return columns together with the same columns after (or before) their names moved."""
    found = set(nodes)
    while more := {each for node in found for each, _ in _moved(lineage, node, forward=forward)} - found:
        found |= more
    return found


def moved_steps(lineage: Reference, steps: Collection[Step], *, forward: bool = True) -> set[Step]:
    """Return steps together with the same steps to (or from) the datasets to which names moved."""
    found, todo = set(steps), list(steps)
    while todo:
        step = todo.pop()
        for each, way in _moved(lineage, step.target if forward else step.source, forward=forward):
            moved = step._replace(target=each) if forward else step._replace(source=each)
            moved = moved._replace(way=Way.MAY) if way is Way.MAY else moved
            if moved not in found:
                found.add(moved)
                todo.append(moved)
    return found


def _moved(lineage: Reference, node: Node, *, forward: bool) -> Iterator[tuple[Node, Way]]:
    nesting = lineage.nesting
    for dataset in lineage.moved_on(node[:3], forward=forward):
        if nesting.same(node, dataset):
            yield from in_generation(nesting, node, dataset)


def in_generation(nesting: Nesting, node: Node, other: Dataset) -> Iterator[tuple[Node, Way]]:
    """Yield the matching columns in another generation: those with the same name, else the nearest parent there."""
    same = nesting.same(node, other)
    yield from ((each, Way.SURE) for each in same or nesting.above(nesting.moved(node, other))[:1])
    for each in same:
        for part in nesting.within(each) - nesting.within(node):
            yield below(each, part), Way.MAY
