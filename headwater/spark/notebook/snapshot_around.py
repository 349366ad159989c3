"""What a question about one dataset walks: the candidates around it, fetched table by table, as a graph."""

from collections.abc import Iterable, Sequence, Set

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.current_candidates import SILENT
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.runs.job_identity import job_key
from headwater.questions.subjects import Bounds, Subject, find_dataset
from headwater.spark.delta.arrow_rows import Row
from headwater.spark.gold.gold_answers import counting
from headwater.spark.gold.snapshot_of_rows import VOTE_COLUMNS, SnapshotOfRows
from headwater.spark.layer_positions import read_position
from headwater.spark.notebook.layers import OUTPUT, READ, Layers
from headwater.tables import DATASETS

_PLACE = "namespace string, name string"


class SnapshotAround(SnapshotOfRows):
    """What is around a dataset; it holds what tables lead to, never the whole graph, and knows every dataset."""

    def __init__(self, layers: Layers, rules: UserRules):
        """Hold nothing yet."""
        position = read_position(layers.positions.collect())
        super().__init__(rules, layers.naming, parted=position.parted)
        self._layers, self._rules = layers, rules
        self.newest_us = position.newest_us
        self.removed_before_us = position.removed_before_us

    def fetch(self, asked: Subject, *, forward: bool, bounds: Bounds, writers: bool = False) -> None:
        """Fetch what is said about tables up to `depth` steps away, and one more, so that it is known what goes on.

        writers: also all that writes these tables, from wherever.
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
        keys |= self._fed_by_jobs()
        if writers:
            keys |= self._steps(reached, OUTPUT, READ)[0]
        rows = self._read(keys, reached)
        self.take_rows(rows)
        self.take_rows(self._other_ends(rows, keys, forward=forward))

    def _fed_by_jobs(self) -> set[str]:
        """Return the keys of the outputs that jobs feed in place of datasets, and of what these jobs write."""
        fed = self._layers.fed_by_jobs
        jobs = {job_key(self._rules.names.job(job), None) for named in fed.values() for job in named}
        return fed.keys() | self._layers.outputs_of_jobs(jobs) if jobs else set()

    def knows(self, dataset: Name) -> bool:
        """Tell whether a schema or an edge is known of a dataset."""
        return dataset in self._layers.datasets

    def datasets(self) -> Iterable[Name]:
        """Return every dataset that a schema or an edge is known of."""
        return self._layers.datasets

    def _generations(self, names: Iterable[Name]) -> set[Name]:
        """Return names with those under which their generations go by now."""
        meanings = self._layers.naming.generations.meanings
        return {found for name in names for found in (name, *(each.plain for each in meanings(name)))}

    def _steps(self, names: Iterable[Name], near: Sequence[str], far: Sequence[str]) -> tuple[set[str], set[Name]]:
        """Return the keys of the outputs that are one step from tables, and the tables at the other end."""
        front = F.broadcast(self._frame(names)).toDF(*near)
        rows = self._layers.feeds.join(front, list(near)).select("output_key", *far).distinct().collect()
        return {row[0] for row in rows}, {Name(row[1], row[2]) for row in rows if row[1] is not None}

    def _other_ends(self, rows: Sequence[Row], keys: Set[str], *, forward: bool) -> Sequence[Row]:
        """Fetch writers without input of the applications whose readers without output are known (forward), or these.

        Rows of outputs that are there already stay out.
        """
        at = {name: place for place, name in enumerate(VOTE_COLUMNS)}
        silent = {
            row[at["application"]]
            for row in rows
            if row[at["output_key"]] is not None
            and (row[at["dataset_name"]] is None if forward else row[at["weight"]] == SILENT)
        } - {None}
        if not silent:
            return ()
        wanted = F.broadcast(
            self._layers.spark.createDataFrame([(each,) for each in sorted(silent)], "application string")
        )
        is_other_end = F.col("weight") == SILENT if forward else F.col("dataset_name").isNull()
        others = self._layers.candidates.where(is_other_end).join(wanted, "application", "left_semi")
        found = {row[0] for row in others.select("output_key").distinct().collect()} - keys
        return self._read(found, ()) if found else ()

    def _read(self, keys: Iterable[str], datasets: Iterable[Name]) -> Sequence[Row]:
        spark, names = self._layers.spark, ["dataset_namespace", "dataset_name"]
        wanted = F.broadcast(spark.createDataFrame([(key,) for key in sorted(keys)], "output_key string"))
        candidates = self._layers.candidates.join(wanted, "output_key", "left_semi")
        places = F.broadcast(self._frame(datasets)).toDF(*names)
        rows = counting(candidates, self._layers.silver(DATASETS).join(places, names, "left_semi"))
        return [tuple(row) for row in rows.collect()]

    def _frame(self, names: Iterable[Name]) -> DataFrame:
        return self._layers.spark.createDataFrame(sorted({name.parts for name in names}), _PLACE)
