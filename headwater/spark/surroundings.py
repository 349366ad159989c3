"""What of gold a question about one dataset walks: its edges, fetched level by level, as a graph for the rules."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.errors import WrongSetting
from headwater.index.asking import Bounds, Subject, find_column, find_dataset, nodes_of
from headwater.index.moment import NOW_US
from headwater.lineage.columns import Columns
from headwater.lineage.contents import How
from headwater.lineage.current import Group
from headwater.lineage.edges import Contribution, Edge
from headwater.lineage.graph import Graph
from headwater.lineage.name import Name
from headwater.lineage.names import NameRules
from headwater.lineage.walk import Mode, View
from headwater.spark.delta import Folder
from headwater.spark.generations import current
from headwater.spark.known import read_columns
from headwater.spark.naming import naming_of
from headwater.tables import BINDINGS, COLUMN_EDGES, DATASETS, GOLD, SILVER, TABLE_EDGES

Node = tuple[str, str, str]
"""Namespace, dataset and key of a column."""

_COUNTS = "part = 'open' AND current"
_SOURCE = ["source_namespace", "source_dataset"]
_TARGET = ["target_namespace", "target_dataset"]


class Layers(NamedTuple):
    """Silver and gold in the generations that were in force when they were opened."""

    silver: Folder
    gold: Folder


def open_layers(spark: SparkSession, lake: str) -> Layers:
    """Open silver and gold of a lake; raises WrongSetting where one has not been built."""
    found = [current(spark, lake, layer, tables) for layer, tables in (("silver", SILVER), ("gold", GOLD))]
    folders = [each[0] for each in found if each]
    if len(folders) < 2:
        raise WrongSetting(f"There is no silver and gold in {lake}. Run the notebook Refresh, or `headwater spark`.")
    return Layers(*folders)


class Spelling:
    """How the columns of datasets are spelt."""

    def __init__(self, silver: Folder):
        """Know none yet."""
        self._silver = silver
        self._columns: dict[Name, Columns] = {}

    def read(self, datasets: Iterable[Name]) -> None:
        """Read the newest schemas of datasets, for `columns`."""
        missing = [name for name in datasets if name not in self._columns]
        if not missing:
            return
        names = ["dataset_namespace", "dataset_name"]
        wanted = self._silver.spark.createDataFrame(missing, f"{names[0]} string, {names[1]} string")
        for row in self._silver.read(DATASETS).join(F.broadcast(wanted), names).collect():
            name = Name(row.dataset_namespace, row.dataset_name)
            self._columns[name] = Columns(read_columns(row.columns) if row.columns else ())

    def columns(self, dataset: Name) -> Columns:
        """Return the columns of a dataset's newest schema, as far as it was read."""
        return self._columns.get(dataset, _NO_COLUMNS)


_NO_COLUMNS = Columns(())


class Surroundings:
    """A `Scenery` of what is around a dataset; it holds what a walk reached, never all edges."""

    def __init__(self, layers: Layers):
        """Read the names of all datasets, and no edge."""
        self.graph = Graph()
        self._layers = layers
        self._naming = naming_of(layers.silver.read(BINDINGS))
        self._datasets = {Name(*row) for row in _all_datasets(layers).collect()}
        self._spelling = Spelling(layers.silver)

    def take(self, rules: NameRules, asked: Subject, *, forward: bool, mode: Mode, bounds: Bounds) -> None:
        """Fetch what lies up to `depth` edges away, and one edge more, so that it is known whether there is more.

        Stops as soon as there is more than `limit`. Raises NotKnown, or WrongQuestion where the name is not one's.
        """
        dataset = find_dataset(self, rules, asked)
        edges = self._layers.gold.read(COLUMN_EDGES).where(_COUNTS)
        beside = edges.where(_is(_SOURCE, dataset) | _is(_TARGET, dataset)).collect()
        self._spelling.read([dataset])
        self._put(beside)
        key = None if asked.column is None else find_column(self, dataset, asked.column)
        starts = {self._node(number) for number in nodes_of(self, dataset, key)}
        walk = _Walk(edges if mode == "any" else edges.where("direct"), forward=forward)
        self._put(walk.collect(starts, bounds))
        self._spelling.read(self.graph.names)
        self._put_opaque({dataset, *self.graph.names}, forward=forward)

    def view(self) -> View:
        """Return what counts: all of it, gold has looked."""
        every = bytearray(b"\1" * len(self.graph.sets))
        return View(every, every, frozenset())

    def columns(self, dataset: Name) -> Columns:
        """Return the columns of a dataset's newest schema."""
        return self._spelling.columns(dataset)

    def resolve(self, name: Name) -> Name:
        """Return the dataset that a canonical name means."""
        return self._naming.resolve(name, NOW_US)

    def aliases(self) -> Mapping[Name, Name]:
        """Return the names that are bound to another or were renamed, with the datasets they mean."""
        return {name: self.resolve(name) for name in (*self._naming.bindings, *self._naming.renames)}

    def knows(self, dataset: Name) -> bool:
        """Tell whether a schema or an edge is known of a dataset."""
        return dataset in self._datasets

    def datasets(self) -> Sequence[Name]:
        """Return every dataset that a schema or an edge is known of."""
        return list(self._datasets)

    def job(self, key: Name) -> Name:
        """Return a job as gold names it."""
        return key

    def _node(self, number: int) -> Node:
        column = self.graph.columns[number]
        return (*self.graph.names[column.dataset], column.key or "")

    def _put(self, rows: Iterable[Any]) -> None:
        """Put rows of `column_edges`; of what one job says about one output, one edge set a call."""
        said: dict[Group, dict[Edge, None]] = defaultdict(dict)
        for row in rows:
            source, output = Name(row.source_namespace, row.source_dataset), _output(row)
            how = How(row.direct, row.masked, row.subtype, row.description)
            said[_group(row, output)][Edge(source, row.source_column, row.target_column, how)] = None
        for group, edges in said.items():
            self._add(group, Contribution(group.output, edges=tuple(edges), carries=True))

    def _put_opaque(self, datasets: Collection[Name], *, forward: bool) -> None:
        names = _SOURCE if forward else _TARGET
        spark = self._layers.gold.spark
        reached = spark.createDataFrame(list(datasets), f"{names[0]} string, {names[1]} string")
        edges = self._layers.gold.read(TABLE_EDGES).where(f"{_COUNTS} AND opaque")
        for row in edges.join(F.broadcast(reached), names).collect():
            source, output = Name(row.source_namespace, row.source_dataset), _output(row)
            self._add(_group(row, output), Contribution(output, tables=(source,)))

    def _add(self, group: Group, said: Contribution) -> None:
        self.graph.put(len(self.graph.sets), group, said, frozenset())


class _Walk:
    """Follows edges in one direction, one Spark job a level; the driver holds what was reached."""

    def __init__(self, edges: DataFrame, *, forward: bool):
        self._edges = edges
        ends = ([*_SOURCE, "source_column"], [*_TARGET, "target_column"])
        self._near, self._far = ends if forward else (ends[1], ends[0])

    def collect(self, starts: Collection[Node], bounds: Bounds) -> Iterator[Any]:
        """Yield the edges between what is reached; at most one level and one hit more than asked for."""
        reached, front = set(starts), set(starts)
        for _ in range(bounds.depth + 1):
            rows = self._beyond(front) if front and len(reached) - len(starts) <= bounds.limit else []
            yield from rows
            front = {tuple(row[name] for name in self._far) for row in rows} - reached
            reached |= front

    def _beyond(self, front: Collection[Node]) -> list[Any]:
        schema = ", ".join(f"{name} string" for name in self._near)
        nodes = self._edges.sparkSession.createDataFrame(list(front), schema)
        return self._edges.join(F.broadcast(nodes), self._near).collect()


def _all_datasets(layers: Layers) -> DataFrame:
    edges = layers.gold.read(TABLE_EDGES).where(_COUNTS)
    found = layers.silver.read(DATASETS).select("dataset_namespace", "dataset_name")
    return found.union(edges.select(*_SOURCE)).union(edges.select(*_TARGET)).distinct()


def _is(columns: Sequence[str], name: Name) -> Any:
    return (F.col(columns[0]) == name.namespace) & (F.col(columns[1]) == name.name)


def _output(row: Any) -> Name:
    return Name(row.target_namespace, row.target_dataset)


def _group(row: Any, output: Name) -> Group:
    return Group(row.origin, Name(row.job_namespace, row.job_name), output)
