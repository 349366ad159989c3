"""Rule 12.9: the columns of a dataset that only lineage names."""

from typing import TYPE_CHECKING

from headwater.lineage.edges.schema_columns import Columns
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.traversal.column_graph import Graph

if TYPE_CHECKING:
    from headwater.lineage.snapshots.snapshot import Snapshot


def judged_columns(snapshot: "Snapshot", dataset: Name) -> Columns:
    """Return the columns of a dataset that questions judge: those of its lists, lineage and other locations.

    At each location, the newest generation with a list counts, and the columns that newer lineage names. After the
    first location with a base list, the other locations add only columns that newer lineage names.
    """
    plain, generations = dataset.plain, snapshot.naming.generations
    columns, more = snapshot.shown_columns(plain), dict[str, str]()
    others = snapshot.naming.moved.other_current_locations(plain)
    based_us: int | None = None
    for location in (plain, *others):
        for generation in generations.meanings(location):
            own = snapshot.columns(generation)
            listed = (*own.by_key, *unlisted_columns(snapshot, generation))
            for key in listed if based_us is None else named_since(snapshot, generation, based_us):
                more.setdefault(columns.key(key), own.displayed_spelling(key))
            if own.names and based_us is None:
                based_us = snapshot.base_us(generation) if others else None
                break
    return columns.with_additional_columns(more)


def named_since(snapshot: "Snapshot", generation: Name, base_us: int) -> list[str]:
    """Return the keys of the columns of a generation that lineage names after a time (us) and after its base list."""
    named = _edge_sets_by_column(snapshot.graph, generation)
    own_us = snapshot.base_us(generation) if named else None
    since_us = base_us if own_us is None else max(base_us, own_us)
    return sorted(key for key, edge_sets in named.items() if _is_newer_than(snapshot, edge_sets, since_us))


def unlisted_columns(snapshot: "Snapshot", generation: Name) -> list[str]:
    """Return the keys of the columns of a generation that lineage names after its base list and no list contains."""
    graph, own = snapshot.graph, snapshot.columns(generation)
    dataset = graph.dataset(generation)
    nodes = [] if dataset is None else [node for node in graph.nodes_of(dataset) if graph.keys[node] not in own.by_key]
    base_us = snapshot.base_us(generation) if own.names and nodes else None
    return sorted(
        graph.keys[node] for node in nodes if base_us is None or _is_newer_than(snapshot, _naming(graph, node), base_us)
    )


def _edge_sets_by_column(graph: Graph, generation: Name) -> dict[str, set[int]]:
    """Return the columns of a generation that lineage names, each with the edge sets that name it."""
    dataset = graph.dataset(generation)
    nodes = () if dataset is None else graph.nodes_of(dataset)
    return {graph.keys[node]: _naming(graph, node) for node in nodes}


def _naming(graph: Graph, node: int) -> set[int]:
    ways = (graph.out.edges(node), graph.into.edges(node))
    return {number for way in ways for _, _, number in way} | graph.named.get(node, set())


def _is_newer_than(snapshot: "Snapshot", edge_sets: set[int], base_us: int) -> bool:
    """Tell whether one of these edge sets is newer than the base list, as a declaration in force always is."""
    return any(snapshot.is_in_force(number) or snapshot.seen(number).last_us > base_us for number in edge_sets)
