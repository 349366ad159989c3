"""Rule 12.9: the columns of a dataset that only edges name."""

from headwater.lineage.edges.schema_columns import Columns
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.time.snapshot import Snapshot
from headwater.lineage.walks.adjacency import NO_EDGES, triples
from headwater.lineage.walks.column_graph import Graph


def judged_columns(snapshot: Snapshot, dataset: Name) -> Columns:
    """Return the columns of a dataset that questions judge: those of lists, then what edges and other locations add.

    At each location the newest generation with a list counts, and what edges name in newer ones; a base list ends it.
    """
    plain, generations = dataset.plain, snapshot.naming.generations
    columns, more = snapshot.shown_columns(plain), dict[str, str]()
    others = snapshot.naming.moved.others_now(plain)
    for location in (plain, *others):
        for generation in generations.meanings(location):
            own = snapshot.columns(generation)
            named = _unlisted(snapshot.graph, generation, own)
            base_us = snapshot.base_us(generation) if own.names and (named or others) else None
            newer = [key for key, said in named.items() if _is_newer(snapshot, said, base_us)]
            for key in (*own.by_key, *sorted(newer)):
                more.setdefault(columns.key(key), own.shown(key))
            if base_us is not None:
                return columns.with_more(more)
            if own.names:
                break
    return columns.with_more(more)


def _unlisted(graph: Graph, generation: Name, listed: Columns) -> dict[str, set[int]]:
    """Return the columns of a generation that only edges name, each with the edge sets of these edges."""
    dataset, found = graph.dataset(generation), dict[str, set[int]]()
    if dataset is None:
        return found
    for node in graph.nodes_of(dataset):
        if graph.keys[node] not in listed.by_key:
            ways = (graph.out.get(node, NO_EDGES), graph.into.get(node, NO_EDGES))
            found[graph.keys[node]] = {number for way in ways for _, _, number in triples(way)}
    for number, key in graph.named_by_attempts(dataset):
        if key not in listed.by_key:
            found.setdefault(key, set()).add(number)
    return found


def _is_newer(snapshot: Snapshot, said: set[int], base_us: int | None) -> bool:
    return base_us is None or any(snapshot.seen(number).last_us > base_us for number in said)
