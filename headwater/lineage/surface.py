"""Rule 8: where tagged columns end up readable, masked, or nobody can say."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Literal, NamedTuple

from headwater.lineage.graph import Graph
from headwater.lineage.walk import Hit, View, Wave, allowed_hows

Exposure = Literal["exposed", "masked", "unknown"]

ColumnsOf = Callable[[int], Collection[str]]
"""Dataset number → keys of the columns of its newest schema, none where it is not known."""


class Surfaced(NamedTuple):
    """A column of the masking surface; `key` None stands for a dataset whose columns are not known.

    hit: how it was reached, None where no column edge says; opaque: the edge set that hides how.
    """

    dataset: int
    key: str | None
    exposure: Exposure
    hit: Hit | None
    opaque: int | None


def surface(
    graph: Graph, tagged: Collection[int], whole: Collection[int], view: View, columns_of: ColumnsOf
) -> list[Surfaced]:
    """Return every column that a tagged column's values reach or may reach, the tagged ones left out.

    tagged: nodes; whole: datasets tagged as such whose columns nobody knows.
    """
    exposed = _reach(graph, tagged, view, masked=False)
    direct = _reach(graph, tagged, view, masked=True)
    found = {node: _of_node(graph, hit, "exposed") for node, hit in exposed.items()}
    found |= {node: _of_node(graph, hit, "masked") for node, hit in direct.items() if node not in exposed}
    unknown = _Unknown(graph, view, columns_of, {*found, *tagged}, frozenset(whole))
    clear = {*whole, *(graph.columns[node].dataset for node in (*exposed, *tagged))}
    reached = {graph.columns[node].dataset for node in direct}
    return [*found.values(), *unknown.spread(reached, clear)]


def _reach(graph: Graph, starts: Collection[int], view: View, *, masked: bool) -> dict[int, Hit]:
    found: dict[int, Hit] = {}
    wave = Wave(graph, starts, view, forward=True, allowed=allowed_hows(graph, "value", masked=masked))
    while wave.front:
        found.update((hit.node, hit) for hit in wave.advance())
    return found


def _of_node(graph: Graph, hit: Hit, exposure: Exposure) -> Surfaced:
    dataset, key = graph.columns[hit.node]
    return Surfaced(dataset, key, exposure, hit, None)


class _Unknown:
    """Spreads from datasets whose columns nobody accounts for."""

    def __init__(self, graph: Graph, view: View, columns_of: ColumnsOf, known: set[int], whole: frozenset[int]):
        self._graph = graph
        self._view = view
        self._columns_of = columns_of
        self._known = known
        self._whole = whole
        self._found: dict[tuple[int, str | None], Surfaced] = {}
        self._opaque_from: set[int] = set()

    def spread(self, reached: Collection[int], clear: Collection[int]) -> Iterable[Surfaced]:
        """reached: datasets with a DIRECT-reached column; clear: those with a readable one, tagged ones included."""
        for dataset in reached:
            self._add(dataset, self._unmentioned(dataset), None)
        for dataset in clear:
            self._behind(dataset)
        done: set[tuple[int, str | None]] = set()
        while len(done) < len(self._found):
            for column in [column for column in self._found if column not in done]:
                done.add(column)
                self._onward(*column)
        return self._found.values()

    def _unmentioned(self, dataset: int) -> Iterator[str]:
        """Yield columns of the newest schema that no current writer names."""
        graph = self._graph
        named: set[str | None] = set()
        for number in graph.fed_by.get(dataset, ()):
            if self._view.live[number]:
                said = graph.sets[number][1]
                named.update(said.bare, (edge.target for edge in said.edges))
        return (key for key in self._columns_of(dataset) if key not in named)

    def _behind(self, dataset: int) -> None:
        """Take every column of what is written from a dataset without column lineage."""
        if dataset in self._opaque_from or dataset in self._view.hidden:
            return
        self._opaque_from.add(dataset)
        graph = self._graph
        for number in graph.feeds.get(dataset, ()):
            _, said = graph.sets[number]
            if self._view.live[number] and said.output is not None and graph.is_opaque(number, dataset):
                output = graph.dataset(said.output)
                if graph.names[dataset] in said.tables and output is not None and output not in self._view.hidden:
                    self._add(output, self._columns_of(output) or (None,), number)

    def _add(self, dataset: int, keys: Iterable[str | None], number: int | None) -> None:
        for key in keys:
            if key is None and dataset in self._whole:
                continue
            node = None if key is None else self._graph.node(dataset, key)
            if node not in self._known and (dataset, key) not in self._found:
                self._found[dataset, key] = Surfaced(dataset, key, "unknown", None, number)

    def _onward(self, dataset: int, key: str | None) -> None:
        self._behind(dataset)
        self._add(dataset, self._unmentioned(dataset), None)
        nodes = self._graph.nodes_of(dataset) if key is None else [self._graph.node(dataset, key)]
        starts = [node for node in nodes if node is not None]
        wave = Wave(
            self._graph, starts, self._view, forward=True, allowed=allowed_hows(self._graph, "value", masked=False)
        )
        for hit in wave.advance():
            far, column = self._graph.columns[hit.node]
            if hit.node not in self._known and (far, column) not in self._found:
                self._found[far, column] = Surfaced(far, column, "unknown", hit, None)
