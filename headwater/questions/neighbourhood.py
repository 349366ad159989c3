"""The question `lineage`: tables, columns and edges around a dataset or a column, for a graph."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from headwater.lineage.edges.facet_contents import Transformation
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import is_never_hidden
from headwater.lineage.runs.jobs import FoldJob, keep_job
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.snapshots.snapshot import Snapshot
from headwater.lineage.traversal.column_graph import Graph
from headwater.lineage.traversal.impact import Mode, walk_lineage
from headwater.questions.answer_types.common import Job
from headwater.questions.answer_types.graphs import (
    ColumnEdge,
    LineageColumn,
    LineageTable,
    Neighbourhood,
    TableEdge,
)
from headwater.questions.conversions import column_for_answer, transformation_for_answer
from headwater.questions.subjects import Subject, find_column, find_dataset, nodes_of_column_in_generation


class StepIntoColumn(NamedTuple):
    """A step into a column.

    node: the source column. If the step leads through dropped datasets, the transformation combines the transformations
    on the way.
    """

    node: int
    transformation: Transformation


def steps_into_column(graph: Graph, node: int, counted: CountedEdges) -> Iterator[StepIntoColumn]:
    """Yield each step into a column once.

    Steps by dataset-wide edges lead through meeting points, which are not yielded.
    """
    seen: set[StepIntoColumn] = set()
    todo = list(_direct_steps_into(graph, node, counted))
    while todo:
        feed = todo.pop(0)
        if feed in seen:
            continue
        seen.add(feed)
        if graph.dataset_of[feed.node] in counted.dropped_datasets:
            todo += (
                StepIntoColumn(each.node, _combine_transformations(feed.transformation, each.transformation))
                for each in _direct_steps_into(graph, feed.node, counted)
            )
        else:
            yield feed


def _direct_steps_into(graph: Graph, node: int, counted: CountedEdges) -> Iterator[StepIntoColumn]:
    for far, transformation, number in graph.incoming.edges(node):
        if not counted.live_mask[number]:
            continue
        beyond = graph.incoming.edges(far) if graph.dataset_of[far] < 0 else ((far, transformation, number),)
        for source, onward, _ in beyond:
            yield StepIntoColumn(source, graph.transformations[onward or transformation])


def _combine_transformations(one: Transformation, other: Transformation) -> Transformation:
    """Combine two transformations in sequence."""
    return Transformation(
        one.is_direct and other.is_direct, one.is_masked or other.is_masked, one.subtype or other.subtype, None
    )


COLUMNS_NAMED = 200
"""Maximum number of columns listed for a table; `columnCount` counts all."""

Ends = tuple[int, int]


class GraphBounds(NamedTuple):
    """Maximum distances upstream and downstream. limit: maximum number of columns, or tables."""

    up: int
    down: int
    limit: int


class _FoundTables(NamedTuple):
    """The tables and columns of an answer.

    distances: maps each dataset number to its distance, which is negative upstream. columns: (node, distance, masked)
    in the order of the answer.
    """

    distances: dict[int, int]
    columns: list[tuple[int, int, bool]]
    truncated: bool


def neighbourhood(
    snapshot: Snapshot,
    rules: NameRules,
    asked: Subject,
    counted: CountedEdges,
    *,
    mode: Mode,
    reach: GraphBounds,
    fold: FoldJob = keep_job,
    hides: Callable[[Name], bool] = is_never_hidden,
) -> Neighbourhood:
    """Answer the tables around a dataset; for a column, the related columns and tables that may hide more.

    `masked` of a column: every path has a step that masks. `masked` of an edge: it has no unmasked DIRECT
    transformation.
    fold: maps a job to the job that represents it. hides: returns whether to omit a dataset, and with it the datasets
    that are reachable only through it; it does not apply if a column is given.
    """
    dataset = find_dataset(snapshot, rules, asked, in_events=True)
    key = None if asked.column is None else find_column(snapshot, dataset, asked.column)
    number = counted.lifetimes.newest_with_lineage(dataset)
    links = TableLinks(snapshot, counted, hides if key is None else is_never_hidden)
    if number is None:
        found = _FoundTables({}, [], truncated=False)
    elif key is None:
        found = _tables_around(links, number, reach)
    else:
        found = _columns_around(
            snapshot,
            links,
            number,
            nodes_of_column_in_generation(snapshot, counted, number, key),
            counted,
            mode=mode,
            reach=reach,
        )
    order = sorted(found.distances, key=lambda each: (found.distances[each], snapshot.graph.names[each]))
    place = {each: at for at, each in enumerate(order)}
    return Neighbourhood(
        column_for_answer(snapshot, dataset, key),
        mode,
        [_to_lineage_table(snapshot, links, each, found.distances) for each in order]
        or [LineageTable(*_sort_key(snapshot, dataset), 0, False, 0, 0)],
        [_to_lineage_column(snapshot, place, *each) for each in found.columns],
        list(_column_edges(snapshot, counted, mode, [node for node, _, _ in found.columns])),
        list(_table_edges(snapshot, links, place, fold)),
        len(links.hidden_neighbours - place.keys()),
        found.truncated,
    )


class TableLinks:
    """Finds the neighbours of tables.

    hidden_neighbours: numbers of the neighbours that were omitted because they are hidden.
    """

    def __init__(self, snapshot: Snapshot, counted: CountedEdges, is_hidden: Callable[[Name], bool]):
        self._graph, self._counted, self._hides = snapshot.graph, counted, is_hidden
        self.hidden_neighbours: set[int] = set()

    def neighbours(self, number: int, *, forward: bool) -> dict[int, list[int]]:
        """Map each neighbour of a table on one side to the edge sets between both.

        Paths through dropped tables are followed. A reader of another generation of a table reads that table, too (rule
        10).
        """
        found: dict[int, list[int]] = {}
        todo, seen = [number, *(self._counted.lifetimes.other_generations(number) if forward else ())], {number}
        while todo:
            for far, edge_set in self._linked_tables(todo.pop(0), forward=forward):
                if far not in self._counted.dropped_datasets:
                    found.setdefault(far, []).append(edge_set)
                elif far not in seen:
                    todo.append(far)
                seen.add(far)
        found.pop(number, None)
        hidden = {far for far in found if self._hides(self._graph.names[far].without_generation)}
        self.hidden_neighbours |= hidden
        return {far: edge_sets for far, edge_sets in found.items() if far not in hidden}

    def _linked_tables(self, number: int, *, forward: bool) -> Iterator[tuple[int, int]]:
        graph = self._graph
        for edge_set in sorted((graph.readers_by_dataset if forward else graph.writers_by_dataset).get(number, ())):
            _, lineage = graph.edge_sets[edge_set]
            if not self._counted.is_counted(edge_set) or lineage.output is None:
                continue
            if forward and graph.names[number] not in lineage.source_datasets:
                continue
            for name in (lineage.output,) if forward else lineage.source_datasets:
                far = graph.dataset_number(name)
                if far is not None:
                    yield far, edge_set


def _tables_around(links: TableLinks, start: int, reach: GraphBounds) -> _FoundTables:
    distances = {start: 0}
    truncated = False
    for forward, depth, sign in ((False, reach.up, -1), (True, reach.down, 1)):
        queue = deque([(start, 0)])
        seen = {start}
        while queue:
            number, far = queue.popleft()
            for each in links.neighbours(number, forward=forward) if far < depth else ():
                if each not in seen:
                    seen.add(each)
                    truncated = truncated or len(distances) >= reach.limit
                    if len(distances) < reach.limit:
                        distances.setdefault(each, sign * (far + 1))
                        queue.append((each, far + 1))
    return _FoundTables(distances, [], truncated)


def _columns_around(
    snapshot: Snapshot,
    links: TableLinks,
    dataset: int,
    starts: list[int],
    counted: CountedEdges,
    *,
    mode: Mode,
    reach: GraphBounds,
) -> _FoundTables:
    columns = [(node, 0, False) for node in starts]
    known, truncated = set(starts), False
    for forward, depth, sign in ((False, reach.up, -1), (True, reach.down, 1)):
        walked = walk_lineage(
            snapshot.graph, starts, counted, forward=forward, mode=mode, depth=max(1, depth), limit=reach.limit
        )  # fmt: skip
        fresh = [hit for hit in walked.hits if hit.node not in known] if depth else []
        known.update(hit.node for hit in fresh)
        columns += [(hit.node, sign * hit.distance, hit.masked) for hit in fresh]
        truncated = truncated or (len(walked.hits) >= reach.limit and walked.truncated)
    distances = {dataset: 0}
    for node, distance, _ in columns:
        distances.setdefault(snapshot.graph.dataset_of[node], distance)
    for number, far in [*distances.items()]:
        if 0 <= far < reach.down:
            for each, edge_sets in links.neighbours(number, forward=True).items():
                if any(snapshot.graph.is_opaque(edge_set, number) for edge_set in edge_sets):
                    distances.setdefault(each, far + 1)
        if -reach.up < far <= 0:
            for each, edge_sets in links.neighbours(number, forward=False).items():
                if not all(snapshot.graph.edge_sets[edge_set][1].has_column_lineage for edge_set in edge_sets):
                    distances.setdefault(each, far - 1)
    return _FoundTables(distances, columns, truncated)


def _to_lineage_table(snapshot: Snapshot, links: TableLinks, number: int, shown: dict[int, int]) -> LineageTable:
    fed_by, feeding = links.neighbours(number, forward=False), links.neighbours(number, forward=True)
    sets = snapshot.graph.edge_sets
    return LineageTable(
        *_sort_key(snapshot, snapshot.graph.names[number]),
        shown[number],
        any(sets[each][1].has_column_lineage for edge_sets in fed_by.values() for each in edge_sets),
        sum(each not in shown for each in fed_by),
        sum(each not in shown for each in feeding),
    )


def _sort_key(snapshot: Snapshot, name: Name) -> tuple[str, str, list[str], int]:
    names = snapshot.columns(name).names
    return *name.parts, list(names[:COLUMNS_NAMED]), len(names)


def _to_lineage_column(
    snapshot: Snapshot, table_positions: dict[int, int], node: int, distance: int, masked: bool
) -> LineageColumn:
    dataset, key = snapshot.graph.columns[node]
    shown = snapshot.columns(snapshot.graph.names[dataset]).displayed_spelling(key or "")
    return LineageColumn(table_positions[dataset], shown, distance, masked)


def _column_edges(snapshot: Snapshot, counted: CountedEdges, mode: Mode, nodes: list[int]) -> Iterator[ColumnEdge]:
    place = {node: at for at, node in enumerate(nodes)}
    for node, at in place.items():
        transformations: dict[int, list[Transformation]] = {}
        for feed in steps_into_column(snapshot.graph, node, counted):
            if feed.node in place and (mode == "any" or feed.transformation.is_direct):
                transformations.setdefault(feed.node, []).append(feed.transformation)
        for source, found in sorted(transformations.items(), key=lambda each: place[each[0]]):
            clearest = min(found, key=lambda each: (not each.is_direct, each.is_masked, each.subtype or ""))
            transformation = transformation_for_answer(clearest)
            yield ColumnEdge(place[source], at, transformation.type, transformation.subtype, transformation.masking)


def _table_edges(snapshot: Snapshot, links: TableLinks, place: dict[int, int], fold: FoldJob) -> Iterator[TableEdge]:
    sets = snapshot.graph.edge_sets
    for number, at in place.items():
        neighbours = links.neighbours(number, forward=True)
        for far in sorted(neighbours.keys() & place.keys(), key=place.__getitem__):
            edge_sets = neighbours[far]
            jobs = sorted({fold(sets[each][0].job) for each in edge_sets})
            has_columns = not any(snapshot.graph.is_opaque(each, number) for each in edge_sets)
            yield TableEdge(at, place[far], has_columns, [Job(*snapshot.job_name(job).parts) for job in jobs])
