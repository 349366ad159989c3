"""What of gold a question about one dataset walks: its edges, fetched level by level, as a graph for the rules."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.index.asking import Bounds, Subject, find_column, find_dataset, nodes_of
from headwater.index.moment import NOW_US
from headwater.lineage.columns import Columns
from headwater.lineage.contents import How
from headwater.lineage.current import Group
from headwater.lineage.edges import Contribution, Edge
from headwater.lineage.graph import Graph
from headwater.lineage.name import Name
from headwater.lineage.names import NameRules
from headwater.lineage.view import View
from headwater.lineage.walk import Mode
from headwater.spark.layers import COUNTS, SOURCE, TARGET, Layers
from headwater.tables import COLUMN_EDGES, TABLE_EDGES

Node = tuple[str, str, str]
"""Namespace, dataset and key of a column."""


class Surroundings:
    """A `Scenery` of what is around a dataset; it holds what a walk reached, never all edges."""

    def __init__(self, layers: Layers):
        """Hold no edge yet."""
        self.graph = Graph()
        self._layers = layers

    def take(self, rules: NameRules, asked: Subject, *, forward: bool, mode: Mode, bounds: Bounds) -> None:
        """Fetch what lies up to `depth` edges away, and one edge more, so that it is known whether there is more.

        Stops as soon as there is more than `limit`. Raises NotKnown, or WrongQuestion where the name is not one's.
        """
        dataset = find_dataset(self, rules, asked)
        edges = self._layers.gold(COLUMN_EDGES).where(COUNTS)
        beside = edges.where(_is(SOURCE, dataset) | _is(TARGET, dataset)).collect()
        self._layers.read_columns([dataset])
        self._put(beside)
        key = None if asked.column is None else find_column(self, dataset, asked.column)
        starts = {self._node(number) for number in nodes_of(self, dataset, key)}
        self._put(_Walk(edges, forward=forward, mode=mode).collect(starts, beside, bounds))
        self._layers.read_columns(self.graph.names)
        self._put_opaque({dataset, *self.graph.names}, forward=forward)

    def view(self) -> View:
        """Return what counts: all of it, gold has looked."""
        every = bytearray(b"\1" * len(self.graph.sets))
        return View(every, every, frozenset())

    def columns(self, dataset: Name) -> Columns:
        """Return the columns of a dataset's newest schema."""
        return self._layers.columns(dataset)

    def resolve(self, name: Name) -> Name:
        """Return the dataset that a canonical name means."""
        return self._layers.naming.resolve(name, NOW_US)

    def aliases(self) -> Mapping[Name, Name]:
        """Return the names that are bound to another or were renamed, with the datasets they mean."""
        naming = self._layers.naming
        return {name: self.resolve(name) for name in (*naming.bindings, *naming.renames)}

    def knows(self, dataset: Name) -> bool:
        """Tell whether a schema or an edge is known of a dataset."""
        return dataset in self._layers.datasets

    def datasets(self) -> Sequence[Name]:
        """Return every dataset that a schema or an edge is known of."""
        return list(self._layers.datasets)

    def job(self, key: Name) -> Name:
        """Return a job as gold names it."""
        return key

    def _node(self, number: int) -> Node:
        column = self.graph.columns[number]
        return (*self.graph.names[column.dataset], column.key or "")

    def _put(self, rows: Iterable[Any]) -> None:
        """Put rows of `column_edges`: what one job says about one output is one edge set."""
        said: dict[Group, dict[Edge, None]] = defaultdict(dict)
        for row in rows:
            source, output = Name(row.source_namespace, row.source_dataset), _output(row)
            how = How(row.direct, row.masked, row.subtype, row.description)
            said[_group(row, output)][Edge(source, row.source_column, row.target_column, how)] = None
        for group, edges in said.items():
            self._add(group, Contribution(group.output, edges=tuple(edges), carries=True))

    def _put_opaque(self, datasets: Collection[Name], *, forward: bool) -> None:
        names = SOURCE if forward else TARGET
        reached = self._layers.spark.createDataFrame(list(datasets), f"{names[0]} string, {names[1]} string")
        edges = self._layers.gold(TABLE_EDGES).where(f"{COUNTS} AND opaque")
        for row in edges.join(F.broadcast(reached), names).collect():
            source, output = Name(row.source_namespace, row.source_dataset), _output(row)
            self._add(_group(row, output), Contribution(output, tables=(source,)))

    def _add(self, group: Group, said: Contribution) -> None:
        self.graph.put(len(self.graph.sets), group, said, frozenset())


class _Walk:
    """Follows edges in one direction, one Spark job a level; the driver holds what was reached."""

    def __init__(self, edges: DataFrame, *, forward: bool, mode: Mode):
        self._edges = edges if mode == "any" else edges.where("direct")
        self._takes_all = mode == "any"
        ends = ([*SOURCE, "source_column"], [*TARGET, "target_column"])
        self._near, self._far = ends if forward else (ends[1], ends[0])

    def collect(self, starts: Collection[Node], beside: Iterable[Any], bounds: Bounds) -> Iterator[Any]:
        """Yield the edges behind those `beside` the starts; at most one level and one hit more than asked for."""
        reached = set(starts)
        rows = [row for row in beside if (self._takes_all or row.direct) and _end(row, self._near) in reached]
        for _ in range(bounds.depth):
            front = {_end(row, self._far) for row in rows} - reached
            reached |= front
            if not front or len(reached) - len(starts) > bounds.limit:
                return
            rows = self._beyond(front)
            yield from rows

    def _beyond(self, front: Collection[Node]) -> list[Any]:
        schema = ", ".join(f"{name} string" for name in self._near)
        nodes = self._edges.sparkSession.createDataFrame(list(front), schema)
        return self._edges.join(F.broadcast(nodes), self._near).collect()


def _end(row: Any, names: Sequence[str]) -> Node:
    namespace, dataset, column = (row[name] for name in names)
    return namespace, dataset, column


def _is(columns: Sequence[str], name: Name) -> Any:
    return (F.col(columns[0]) == name.namespace) & (F.col(columns[1]) == name.name)


def _output(row: Any) -> Name:
    return Name(row.target_namespace, row.target_dataset)


def _group(row: Any, output: Name) -> Group:
    return Group(row.origin, Name(row.job_namespace, row.job_name), output)
