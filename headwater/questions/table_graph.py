"""The question `graph`: tables folded by namespace, lakehouse or schema, with expandable groups."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import get_args

from headwater.common.errors import NotKnown
from headwater.common.nearest_names import nearest_names
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import is_never_hidden
from headwater.lineage.runs.jobs import FoldJob, keep_job
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.snapshots.snapshot import Snapshot
from headwater.questions.answer_types.graphs import GraphAnswer, GraphEdge, GraphNode, Kind, Level

_LEVELS = get_args(Level)
_EDGES_OF_A_NODE = 5

Node = tuple[Kind, str, str]
"""Kind (group or dataset), namespace, name."""


def table_graph(
    snapshot: Snapshot,
    counted: CountedEdges,
    *,
    level: Level,
    expand: Collection[str],
    limit: int,
    fold: FoldJob = keep_job,
    hides: Callable[[Name], bool] = is_never_hidden,
) -> GraphAnswer:
    """Answer groups, the datasets of expanded groups, and the number of edges and jobs between them.

    level: the first level of groups: by namespace, by the first part of a name (in OneLake the lakehouse), or by all
    parts but the last; `none` shows datasets. expand: ids of groups to expand by one level.
    fold: maps jobs to the jobs that represent them. hides: returns whether to omit a dataset and its edges.
    Raises NotKnown for an unknown group.
    """
    start = _LEVELS.index(level)
    there = [name for name in snapshot.current_names() if counted.shows_dropped or snapshot.exists(name)]
    datasets = [name for name in there if not hides(name)]
    _check_expanded_ids(expand, datasets)
    node_of = {name: _node_of_dataset(name, start, expand) for name in datasets}
    sizes = Counter(node_of.values())
    shown = sorted(sizes, key=lambda node: (-sizes[node], node))[:limit]
    ids = {node: node_id(node) for node in shown}
    edges, inside = _edges_between_nodes(snapshot, counted, node_of, ids, fold)
    listed = sorted(edges.items(), key=lambda item: (-item[1][0], item[0]))
    most = limit * _EDGES_OF_A_NODE
    return GraphAnswer(
        level,
        [GraphNode(ids[node], *node, sizes[node], inside[ids[node]]) for node in shown],
        [GraphEdge(*ends, count, len(jobs)) for ends, (count, jobs) in listed[:most]],
        len(sizes),
        len(there) - len(datasets),
        len(shown) < len(sizes) or len(listed) > most,
    )


def node_id(node: Node) -> str:
    """Return the id of a node for `expand`."""
    kind, namespace, name = node
    return f"{kind}:{namespace}/{name}" if name else f"{kind}:{namespace}"


def _edges_between_nodes(
    snapshot: Snapshot, counted: CountedEdges, node_of: dict[Name, Node], ids: dict[Node, str], fold: FoldJob
) -> tuple[dict[tuple[str, str], tuple[int, set[Name]]], Counter[str]]:
    pairs: dict[tuple[Name, Name], set[Name]] = {}
    for number, (group, lineage) in snapshot.graph.edge_sets.items():
        output = lineage.output
        if (
            not counted.is_counted(number)
            or output is None
            or snapshot.graph.dataset_number(output) in counted.dropped_datasets
        ):
            continue
        for source in {name.without_generation for name in lineage.source_datasets}:
            if source in node_of and output.without_generation in node_of:
                pairs.setdefault((source, output.without_generation), set()).update(
                    [fold(group.job)] if group.has_job else ()
                )
    found: dict[tuple[str, str], tuple[int, set[Name]]] = {}
    inside: Counter[str] = Counter()
    for (source, output), jobs in pairs.items():
        start, end = ids.get(node_of[source]), ids.get(node_of[output])
        if start is None or end is None:
            continue
        if start == end:
            inside[start] += 1
            continue
        count, known = found.get((start, end), (0, set()))
        found[start, end] = (count + 1, known | jobs)
    return found, inside


def _node_of_dataset(name: Name, start: int, expand: Collection[str]) -> Node:
    for node in _groups_of_dataset(name)[start:]:
        if node_id(node) not in expand:
            return node
    return ("dataset", name.namespace, name.name)


def _groups_of_dataset(name: Name) -> Sequence[Node]:
    """Return the groups of a dataset, from namespace to schema. Two levels may have the same group."""
    text = name.name.strip("/")
    separator = "/" if "/" in text else "."
    first, _, rest = text.partition(separator)
    schema = text.rpartition(separator)[0]
    return [("group", name.namespace, part) for part in ("", first if rest else "", schema)]


def _check_expanded_ids(expand: Collection[str], datasets: Sequence[Name]) -> None:
    if not expand:
        return
    known = set(_group_ids(datasets))
    for each in expand:
        if each not in known:
            raise NotKnown("group", each, nearest_names(each, known))


def _group_ids(datasets: Sequence[Name]) -> Iterator[str]:
    return (node_id(node) for name in datasets for node in _groups_of_dataset(name))
