"""Rule 12.9: find the columns of a dataset that lineage names, but no list of columns contains."""

from typing import TYPE_CHECKING

from headwater.lineage.edges.schema_columns import Columns
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.traversal.column_graph import Graph

if TYPE_CHECKING:
    from headwater.lineage.snapshots.snapshot import Snapshot


def verdict_columns(snapshot: "Snapshot", dataset: Name) -> Columns:
    """Return the columns of a dataset for which questions give verdicts.

    The columns come from lists and from lineage, at the location of the dataset and at other locations of its names.
    At each location, this function uses the newest generation with a list and the generations after it. From the first
    location with a base list on, further locations add only columns that lineage names after this list.
    """
    plain, generations = dataset.without_generation, snapshot.naming.generations
    columns, more = snapshot.shown_columns(plain), dict[str, str]()
    others = snapshot.naming.moved_names.other_current_locations(plain)
    based_us: int | None = None
    for location in (plain, *others):
        for generation in generations.all_generations(location):
            own = snapshot.columns(generation)
            listed = (*own.by_key, *unlisted_columns(snapshot, generation))
            for key in listed if based_us is None else columns_named_since(snapshot, generation, based_us):
                more.setdefault(columns.key(key), own.displayed_spelling(key))
            if own.names and based_us is None:
                based_us = snapshot.base_list_us(generation) if others else None
                break
    return columns.with_additional_columns(more)


def columns_named_since(snapshot: "Snapshot", generation: Name, base_us: int) -> list[str]:
    """Return the keys of the columns that lineage names for a generation after its base list and after `base_us`."""
    named = _edge_sets_by_column(snapshot.graph, generation)
    own_us = snapshot.base_list_us(generation) if named else None
    since_us = base_us if own_us is None else max(base_us, own_us)
    return sorted(key for key, edge_sets in named.items() if _is_newer_than(snapshot, edge_sets, since_us))


def unlisted_columns(snapshot: "Snapshot", generation: Name) -> list[str]:
    """Return the keys of columns that lineage names for a generation after its base list, but that no list contains."""
    graph, own = snapshot.graph, snapshot.columns(generation)
    dataset = graph.dataset_number(generation)
    nodes = (
        []
        if dataset is None
        else [node for node in graph.nodes_of(dataset) if graph.column_keys[node] not in own.by_key]
    )
    base_us = snapshot.base_list_us(generation) if own.names and nodes else None
    return sorted(
        graph.column_keys[node]
        for node in nodes
        if base_us is None or _is_newer_than(snapshot, _edge_sets_naming(graph, node), base_us)
    )


def _edge_sets_by_column(graph: Graph, generation: Name) -> dict[str, set[int]]:
    """Map the key of each column of a generation to the edge sets that name the column."""
    dataset = graph.dataset_number(generation)
    nodes = () if dataset is None else graph.nodes_of(dataset)
    return {graph.column_keys[node]: _edge_sets_naming(graph, node) for node in nodes}


def _edge_sets_naming(graph: Graph, node: int) -> set[int]:
    ways = (graph.outgoing.edges(node), graph.incoming.edges(node))
    return {number for way in ways for _, _, number in way} | graph.naming_edge_sets.get(node, set())


def _is_newer_than(snapshot: "Snapshot", edge_sets: set[int], base_us: int) -> bool:
    """Tell whether a run reported one of the edge sets after the base list. A declaration in force counts as newer."""
    return any(snapshot.is_in_force(number) or snapshot.report_times(number).last_us > base_us for number in edge_sets)
