"""What a question about one dataset walks: the votes about what is around it, fetched table by table, as a graph."""

from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.index.asking import Bounds, Subject, find_dataset
from headwater.lineage.columns import Columns
from headwater.lineage.name import Name
from headwater.lineage.user_rules import UserRules
from headwater.lineage.view import View
from headwater.spark.gold_answers import COUNTING, counting
from headwater.spark.graph import Now
from headwater.spark.layers import OUTPUT, READ, Layers
from headwater.tables import DATASETS, EDGE_SETS

_PLACE = "namespace string, name string"


class Surroundings:
    """A `Scenery` of what is around a dataset; it holds what tables lead to, never the whole graph."""

    def __init__(self, layers: Layers, rules: UserRules):
        """Hold nothing yet."""
        self._layers, self._rules = layers, rules
        self._now = Now((), rules, layers.naming)
        self.graph = self._now.graph

    def take(self, asked: Subject, *, forward: bool, bounds: Bounds) -> None:
        """Fetch what is said about tables up to `depth` steps away, and one more, so that it is known what goes on.

        Raises NotKnown, or WrongQuestion where the name is not one's.
        """
        dataset = find_dataset(self, self._rules.names, asked)
        near, far = (READ, OUTPUT) if forward else (OUTPUT, READ)
        reached = front = self._generations([dataset])
        keys = self._steps(front, far, near)[0]
        for _ in range(bounds.depth + 1):
            found, onward = self._steps(front, near, far)
            keys |= found
            front = self._generations(onward) - reached
            reached |= front
            if not front:
                break
        self._now = self._read(keys, reached)
        self.graph = self._now.graph

    def view(self) -> View:
        """Return what counts."""
        return self._now.view

    def columns(self, dataset: Name) -> Columns:
        """Return the columns of the newest schema of a dataset in its generation."""
        return self._now.columns(dataset)

    def shown_columns(self, dataset: Name) -> Columns:
        """Return the columns of a dataset by its newest generation that says so."""
        return self._now.shown_columns(dataset)

    def resolve(self, name: Name) -> Name:
        """Return the dataset that a canonical name means."""
        return self._now.resolve(name)

    def aliases(self) -> Mapping[Name, Name]:
        """Return the names that are bound to another or were renamed, with the datasets they mean."""
        return self._now.aliases()

    def knows(self, dataset: Name) -> bool:
        """Tell whether a schema or an edge is known of a dataset."""
        return dataset in self._layers.datasets

    def datasets(self) -> Sequence[Name]:
        """Return every dataset that a schema or an edge is known of."""
        return list(self._layers.datasets)

    def job(self, key: Name) -> Name:
        """Return a job as silver names it."""
        return key

    def _generations(self, names: Iterable[Name]) -> set[Name]:
        """Return names with those under which their generations go by now."""
        meanings = self._layers.naming.generations.meanings
        return {found for name in names for found in (name, *(each.plain for each in meanings(name)))}

    def _steps(self, names: Iterable[Name], near: Sequence[str], far: Sequence[str]) -> tuple[set[str], set[Name]]:
        """Return the keys of the outputs that are one step from tables, and the tables at the other end."""
        front = F.broadcast(self._frame(names)).toDF(*near)
        rows = self._layers.feeds.join(front, list(near)).select("output_key", *far).distinct().collect()
        return {row[0] for row in rows}, {Name(row[1], row[2]) for row in rows if row[1] is not None}

    def _read(self, keys: Iterable[str], datasets: Iterable[Name]) -> Now:
        spark, names = self._layers.spark, ["dataset_namespace", "dataset_name"]
        wanted = F.broadcast(spark.createDataFrame([(key,) for key in sorted(keys)], "output_key string"))
        votes = self._layers.silver(EDGE_SETS).where(COUNTING).join(wanted, "output_key", "left_semi")
        places = F.broadcast(self._frame(datasets)).toDF(*names)
        rows = counting(votes, self._layers.silver(DATASETS).join(places, names, "left_semi"))
        return Now((tuple(row) for row in rows.collect()), self._rules, self._layers.naming)

    def _frame(self, names: Iterable[Name]) -> DataFrame:
        return self._layers.spark.createDataFrame(sorted({name.parts for name in names}), _PLACE)
