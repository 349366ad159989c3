"""What lies around a dataset or a column: tables, columns and the edges between them, enough to draw it."""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from headwater.lineage.contents import How
from headwater.lineage.name import Name
from headwater.lineage.names import NameRules
from headwater.lineage.snapshot import Snapshot
from headwater.lineage.view import View
from headwater.lineage.walk import Mode, walk
from headwater.questions.answers.parts import Job
from headwater.questions.answers.pictures import ColumnEdge, LineageColumn, LineageTable, Surroundings, TableEdge
from headwater.questions.asking import Subject, find_column, find_dataset, nodes_of
from headwater.questions.feeds import feeds
from headwater.questions.showing import shown_column, shown_how

COLUMNS_NAMED = 200
"""Columns of a table that are named; `columnCount` counts all."""

Ends = tuple[int, int]


class Reach(NamedTuple):
    """How far to look: edges towards what feeds it, edges towards what it feeds; limit: columns, or tables."""

    up: int
    down: int
    limit: int


class _Found(NamedTuple):
    """distances: by dataset, below 0 upstream; columns: (node, distance, masked) in the order of the answer."""

    distances: dict[int, int]
    columns: list[tuple[int, int, bool]]
    truncated: bool


def surroundings(
    moment: Snapshot, rules: NameRules, asked: Subject, view: View, *, mode: Mode, reach: Reach
) -> Surroundings:
    """Answer the tables around a dataset; with a column only the columns related to it, and what may hide behind them.

    `masked` of a column: every way there has a step that masks; of an edge: it has no clear DIRECT transformation.
    """
    dataset = find_dataset(moment, rules, asked)
    key = None if asked.column is None else find_column(moment, dataset, asked.column)
    number = view.lifetimes.newest(dataset)
    links = _Links(moment, view)
    if number is None:
        found = _Found({}, [], truncated=False)
    elif key is None:
        found = _tables_around(links, number, reach)
    else:
        found = _columns_around(
            moment, links, number, nodes_of(moment, view, dataset, key), view, mode=mode, reach=reach
        )
    order = sorted(found.distances, key=lambda each: (found.distances[each], moment.graph.names[each]))
    place = {each: at for at, each in enumerate(order)}
    return Surroundings(
        shown_column(moment, dataset, key),
        mode,
        [_table(moment, links, each, found.distances) for each in order]
        or [LineageTable(*_named(moment, dataset), 0, False, 0, 0)],
        [_column(moment, place, *each) for each in found.columns],
        list(_column_edges(moment, view, mode, [node for node, _, _ in found.columns])),
        list(_table_edges(moment, links, place)),
        found.truncated,
    )


class _Links:
    """Which tables lead to which: sets of edges by (source, output)."""

    def __init__(self, moment: Snapshot, view: View):
        self._graph, self._view = moment.graph, view

    def beside(self, number: int, *, forward: bool) -> dict[int, list[int]]:
        """Return the neighbours of a table on one side, each with its edge sets; what is gone is passed through.

        A reader of another generation of a table reads that table, too (rule 10).
        """
        found: dict[int, list[int]] = {}
        todo, seen = [number, *(self._view.lifetimes.others(number) if forward else ())], {number}
        while todo:
            for far, edge_set in self._next(todo.pop(0), forward=forward):
                if far not in self._view.hidden:
                    found.setdefault(far, []).append(edge_set)
                elif far not in seen:
                    todo.append(far)
                seen.add(far)
        found.pop(number, None)
        return found

    def _next(self, number: int, *, forward: bool) -> Iterator[tuple[int, int]]:
        graph = self._graph
        for edge_set in sorted((graph.feeds if forward else graph.fed_by).get(number, ())):
            _, said = graph.sets[edge_set]
            if not self._view.says(edge_set) or said.output is None:
                continue
            if forward and graph.names[number] not in said.tables:
                continue
            for name in (said.output,) if forward else said.tables:
                far = graph.dataset(name)
                if far is not None:
                    yield far, edge_set


def _tables_around(links: _Links, start: int, reach: Reach) -> _Found:
    distances = {start: 0}
    truncated = False
    for forward, depth, sign in ((False, reach.up, -1), (True, reach.down, 1)):
        queue = deque([(start, 0)])
        seen = {start}
        while queue:
            number, far = queue.popleft()
            for each in links.beside(number, forward=forward) if far < depth else ():
                if each not in seen:
                    seen.add(each)
                    truncated = truncated or len(distances) >= reach.limit
                    if len(distances) < reach.limit:
                        distances.setdefault(each, sign * (far + 1))
                        queue.append((each, far + 1))
    return _Found(distances, [], truncated)


def _columns_around(
    moment: Snapshot, links: _Links, dataset: int, starts: list[int], view: View, *, mode: Mode, reach: Reach
) -> _Found:
    columns = [(node, 0, False) for node in starts]
    known, truncated = set(starts), False
    for forward, depth, sign in ((False, reach.up, -1), (True, reach.down, 1)):
        walked = walk(
            moment.graph, starts, view, forward=forward, mode=mode, depth=max(1, depth), limit=reach.limit
        )  # fmt: skip
        fresh = [hit for hit in walked.hits if hit.node not in known] if depth else []
        known.update(hit.node for hit in fresh)
        columns += [(hit.node, sign * hit.distance, hit.masked) for hit in fresh]
        truncated = truncated or (len(walked.hits) >= reach.limit and walked.truncated)
    distances = {dataset: 0}
    for node, distance, _ in columns:
        distances.setdefault(moment.graph.dataset_of[node], distance)
    for number, far in [*distances.items()]:
        if 0 <= far < reach.down:
            for each, edge_sets in links.beside(number, forward=True).items():
                if any(moment.graph.is_opaque(edge_set, number) for edge_set in edge_sets):
                    distances.setdefault(each, far + 1)
        if -reach.up < far <= 0:
            for each, edge_sets in links.beside(number, forward=False).items():
                if not all(moment.graph.sets[edge_set][1].carries for edge_set in edge_sets):
                    distances.setdefault(each, far - 1)
    return _Found(distances, columns, truncated)


def _table(moment: Snapshot, links: _Links, number: int, shown: dict[int, int]) -> LineageTable:
    fed_by, feeding = links.beside(number, forward=False), links.beside(number, forward=True)
    sets = moment.graph.sets
    return LineageTable(
        *_named(moment, moment.graph.names[number]),
        shown[number],
        any(sets[each][1].carries for edge_sets in fed_by.values() for each in edge_sets),
        sum(each not in shown for each in fed_by),
        sum(each not in shown for each in feeding),
    )


def _named(moment: Snapshot, name: Name) -> tuple[str, str, list[str], int]:
    names = moment.columns(name).names
    return *name.parts, list(names[:COLUMNS_NAMED]), len(names)


def _column(moment: Snapshot, place: dict[int, int], node: int, distance: int, masked: bool) -> LineageColumn:
    dataset, key = moment.graph.columns[node]
    shown = moment.columns(moment.graph.names[dataset]).shown(key or "")
    return LineageColumn(place[dataset], shown, distance, masked)


def _column_edges(moment: Snapshot, view: View, mode: Mode, nodes: list[int]) -> Iterator[ColumnEdge]:
    place = {node: at for at, node in enumerate(nodes)}
    for node, at in place.items():
        hows: dict[int, list[How]] = {}
        for feed in feeds(moment.graph, node, view):
            if feed.node in place and (mode == "any" or feed.how.direct):
                hows.setdefault(feed.node, []).append(feed.how)
        for source, found in sorted(hows.items()):
            telling = min(found, key=lambda how: (not how.direct, how.masked))
            how = shown_how(telling)
            yield ColumnEdge(place[source], at, how.type, how.subtype, how.masking)


def _table_edges(moment: Snapshot, links: _Links, place: dict[int, int]) -> Iterator[TableEdge]:
    sets = moment.graph.sets
    for number, at in place.items():
        for far, edge_sets in links.beside(number, forward=True).items():
            if far in place:
                jobs = sorted({sets[each][0].job for each in edge_sets})
                told = not any(moment.graph.is_opaque(each, number) for each in edge_sets)
                yield TableEdge(at, place[far], told, [Job(*moment.job(job).parts) for job in jobs])
