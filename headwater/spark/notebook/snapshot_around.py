"""Build the graph for a question about one dataset: fetch the candidates around it, step by step."""

from collections.abc import Iterable, Sequence, Set

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.candidates import NO_SOURCES
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.runs.jobs import job_key
from headwater.questions.subjects import Bounds, Subject, find_dataset
from headwater.spark.delta.arrow_rows import Row
from headwater.spark.gold.snapshot_of_rows import CANDIDATE_COLUMNS, RowSnapshot
from headwater.spark.gold.snapshot_rows import sorted_rows
from headwater.spark.layer_positions import read_position
from headwater.spark.notebook.layers import OUTPUT, READ, Layers
from headwater.tables import DATASETS

_PLACE = "namespace string, name string"


class SnapshotAround(RowSnapshot):
    """The part of the graph around a dataset. It contains the names of all datasets, but only the fetched edges."""

    def __init__(self, layers: Layers, rules: UserRules):
        position = read_position(layers.positions.collect())
        super().__init__(rules, layers.naming, partitioned_names=position.partitioned_names)
        self._layers, self._rules = layers, rules
        self.newest_us = position.newest_us
        self.removed_before_us = position.removed_before_us

    def fetch(self, asked: Subject, *, forward: bool, bounds: Bounds, writers: bool = False) -> None:
        """Fetch the lineage of datasets up to `bounds.depth` steps away, and one step more to see where it continues.

        asked: the dataset to start from. forward: follow lineage downstream, else upstream.
        writers: also fetch the candidates that write the reached datasets. Raises NotKnown if no dataset matches, and
        WrongQuestion if several datasets match.
        """
        dataset = find_dataset(self, self._rules.names, asked)
        near, far = (READ, OUTPUT) if forward else (OUTPUT, READ)
        reached = frontier = self._with_generation_names([dataset])
        keys = self._follow_one_step(frontier, far, near)[0]
        for _ in range(bounds.depth + 1):
            found, onward = self._follow_one_step(frontier, near, far)
            keys |= found
            frontier = self._with_generation_names(onward) - reached
            reached |= frontier
            if not frontier:
                break
        keys |= self._keys_of_source_jobs()
        if writers:
            keys |= self._follow_one_step(reached, OUTPUT, READ)[0]
        rows = self._read(keys, reached)
        self.add_rows(rows)
        self.add_rows(self._rows_of_same_applications(rows, keys, forward=forward))

    def _keys_of_source_jobs(self) -> set[str]:
        """Return the keys of outputs whose lineage names jobs as sources, and of the outputs of these jobs."""
        source_jobs = self._layers.source_jobs
        jobs = {job_key(self._rules.names.canonical_job(job), None) for named in source_jobs.values() for job in named}
        return source_jobs.keys() | self._layers.outputs_of_jobs(jobs) if jobs else set()

    def has_lineage_or_schema(self, dataset: Name) -> bool:
        """Return whether a dataset has a known schema or edge."""
        return dataset in self._layers.datasets

    def datasets(self) -> Iterable[Name]:
        """Return all datasets with a known schema or edge."""
        return self._layers.datasets

    def _with_generation_names(self, names: Iterable[Name]) -> set[Name]:
        """Return the given names, and the current names of the generations of these datasets."""
        meanings = self._layers.naming.generations.all_generations
        return {found for name in names for found in (name, *(each.without_generation for each in meanings(name)))}

    def _follow_one_step(
        self, names: Iterable[Name], near: Sequence[str], far: Sequence[str]
    ) -> tuple[set[str], set[Name]]:
        """Follow lineage for one step. Return the output keys of the step, and the datasets at its other end.

        names: the datasets to start from. near, far: the columns of `Layers.datasets_read` with the start and the end.
        """
        frontier = F.broadcast(self._frame(names)).toDF(*near)
        rows = self._layers.datasets_read.join(frontier, list(near)).select("output_key", *far).distinct().collect()
        return {row[0] for row in rows}, {Name(row[1], row[2]) for row in rows if row[1] is not None}

    def _rows_of_same_applications(self, rows: Sequence[Row], keys: Set[str], *, forward: bool) -> Sequence[Row]:
        """Fetch candidates of other runs in the same applications as incomplete candidates in `rows`.

        Forward, an incomplete candidate reads datasets but reports no output, so this method fetches candidates that
        report an output but no input. Backward, it is the other way round. keys: output keys to skip.
        """
        at = {name: place for place, name in enumerate(CANDIDATE_COLUMNS)}
        silent = {
            row[at["application"]]
            for row in rows
            if row[at["output_key"]] is not None
            and (row[at["dataset_name"]] is None if forward else row[at["weight"]] == NO_SOURCES)
        } - {None}
        if not silent:
            return ()
        wanted = F.broadcast(
            self._layers.spark.createDataFrame([(each,) for each in sorted(silent)], "application string")
        )
        is_other_end = F.col("weight") == NO_SOURCES if forward else F.col("dataset_name").isNull()
        others = self._layers.candidates.where(is_other_end).join(wanted, "application", "left_semi")
        found = {row[0] for row in others.select("output_key").distinct().collect()} - keys
        return self._read(found, ()) if found else ()

    def _read(self, keys: Iterable[str], datasets: Iterable[Name]) -> Sequence[Row]:
        spark, names = self._layers.spark, ["dataset_namespace", "dataset_name"]
        wanted = F.broadcast(spark.createDataFrame([(key,) for key in sorted(keys)], "output_key string"))
        candidates = self._layers.candidates.join(wanted, "output_key", "left_semi")
        places = F.broadcast(self._frame(datasets)).toDF(*names)
        rows = sorted_rows(candidates, self._layers.silver(DATASETS).join(places, names, "left_semi"))
        return [tuple(row) for row in rows.collect()]

    def _frame(self, names: Iterable[Name]) -> DataFrame:
        return self._layers.spark.createDataFrame(sorted({name.parts for name in names}), _PLACE)
