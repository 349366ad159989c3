"""Rule 12.9: the columns of a dataset that only lineage names."""

from typing import TYPE_CHECKING

from headwater.lineage.edges.schema_columns import Columns
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.walks.column_graph import Graph

if TYPE_CHECKING:
    from headwater.lineage.time.snapshot import Snapshot


def judged_columns(snapshot: "Snapshot", dataset: Name) -> Columns:
    """Return the columns of a dataset that questions judge: those of lists, then what lineage and other locations add.

    At each location the newest generation with a list counts, and what newer lineage names; a base list ends it.
    """
    plain, generations = dataset.plain, snapshot.naming.generations
    columns, more = snapshot.shown_columns(plain), dict[str, str]()
    others = snapshot.naming.moved.others_now(plain)
    for location in (plain, *others):
        for generation in generations.meanings(location):
            own = snapshot.columns(generation)
            for key in (*own.by_key, *unlisted_columns(snapshot, generation)):
                more.setdefault(columns.key(key), own.shown(key))
            if own.names and others and snapshot.base_us(generation) is not None:
                return columns.with_more(more)
            if own.names:
                break
    return columns.with_more(more)


def unlisted_columns(snapshot: "Snapshot", generation: Name) -> list[str]:
    """Return the keys of the columns of a generation that no list has and lineage names, after its base list."""
    own = snapshot.columns(generation)
    named = _unlisted(snapshot.graph, generation, own)
    base_us = snapshot.base_us(generation) if own.names and named else None
    return sorted(key for key, said in named.items() if _is_newer(snapshot, said, base_us))


def _unlisted(graph: Graph, generation: Name, listed: Columns) -> dict[str, set[int]]:
    """Return the columns of a generation that only lineage names, each with the edge sets that name it."""
    dataset, found = graph.dataset(generation), dict[str, set[int]]()
    if dataset is None:
        return found
    for node in graph.nodes_of(dataset):
        if graph.keys[node] not in listed.by_key:
            ways = (graph.out.edges(node), graph.into.edges(node))
            told = {number for way in ways for _, _, number in way}
            found[graph.keys[node]] = told | graph.named.get(node, set())
    for number, key in graph.named_by_attempts(dataset):
        if key not in listed.by_key:
            found.setdefault(key, set()).add(number)
    return found


def _is_newer(snapshot: "Snapshot", said: set[int], base_us: int | None) -> bool:
    """Tell whether lineage names a column after the base list; a declaration in force always does."""
    if base_us is None:
        return True
    return any(snapshot.is_in_force(number) or snapshot.seen(number).last_us > base_us for number in said)
