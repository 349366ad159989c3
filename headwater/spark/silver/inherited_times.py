"""Rule 6.1 in silver: a run without a nominal time inherits the time of the nearest run above it, else of its root."""

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.spark.delta.ranges import key_prefix, prefix_condition
from headwater.spark.delta.spark_delta import TableFolder, checkpoint, checkpoint_with_aggregates, distinct_values_json
from headwater.tables import RUNS

_RUN = ("run_key", "parent_run", "execution", "nominal_at")


def runs_with_changed_inherited_times(folder: TableFolder, derived: DataFrame) -> DataFrame | None:
    """Return the runs to derive again because they inherit a nominal time or did before the batch, or None.

    derived: the rows of `DERIVED` of a batch. The result has the columns `run_key` and `above_us` (the inherited time,
    null if the run inherits none).
    """
    return _InheritedTimes(folder, derived).changed_runs()


class _InheritedTimes:
    """The runs of one batch, together with the stored runs."""

    def __init__(self, folder: TableFolder, derived: DataFrame):
        self._folder = folder
        self._stored = folder.read(RUNS)
        self._fresh = derived.where("kind = 'RUN'").select(*_RUN)
        self._replaced = derived.where("stored").select("run_key")

    def changed_runs(self) -> DataFrame | None:
        below = self._runs_below()
        runs = self._fresh.withColumn("fresh", F.lit(True))
        runs = runs.unionByName(below.join(runs, "run_key", "left_anti").withColumn("fresh", F.lit(False)))
        runs = checkpoint(self._folder.coalesce_if_small(runs.where("nominal_at IS NULL")))
        above = self._inherited_nominal_times(runs)
        found = runs.join(above, "run_key", "left").where("above_us IS NOT NULL OR NOT fresh")
        to_derive, aggregates = checkpoint_with_aggregates(
            self._folder.coalesce_if_small(found.select("run_key", "above_us")), count=F.count("*")
        )
        return to_derive if aggregates["count"] else None

    def _runs_below(self) -> DataFrame:
        """Return all runs below a run whose parent, root or nominal time changes in this batch."""
        keys, replaced = _frontier(self._replaced, "run_key")
        before = (
            self._stored.where(_prefix_condition("run_key", replaced)).join(keys, "run_key", "left_semi").select(*_RUN)
        )
        related = self._fresh.where("nominal_at IS NOT NULL OR parent_run IS NOT NULL")
        changed = related.exceptAll(before).unionByName(before.exceptAll(self._fresh)).select("run_key").distinct()
        frontier, aggregates = _frontier(changed, "run_key")
        found, below = frontier, checkpoint(self._fresh.limit(0))  # a join of `below` with `_fresh` needs other columns
        while aggregates["count"]:
            parents = frontier.withColumnRenamed("run_key", "parent_run")
            roots = frontier.withColumnRenamed("run_key", "execution")
            nearby = self._runs_matching(
                f"{_prefix_condition('parent_run', aggregates)} OR {_prefix_condition('execution', aggregates)}"
            )
            children = nearby.join(parents, "parent_run", "left_semi").unionByName(
                nearby.join(roots, "execution", "left_semi").where("run_key <> execution")
            )
            fresh = checkpoint(
                self._folder.coalesce_if_small(children.distinct().join(found, "run_key", "left_anti").select(*_RUN))
            )
            below = checkpoint(self._folder.coalesce_if_small(below.unionByName(fresh)))
            frontier, aggregates = _frontier(fresh.select("run_key"), "run_key")
            found = checkpoint(self._folder.coalesce_if_small(found.unionByName(frontier)))
        return below

    def _inherited_nominal_times(self, runs: DataFrame) -> DataFrame:
        """Return (`run_key`, `above_us`) of the runs in `runs` that inherit a nominal time, with this time."""
        steps = checkpoint(runs.select("run_key", F.col("parent_run").alias("at")).where("at IS NOT NULL"))
        visited, found = steps, self._fresh.limit(0).selectExpr("run_key", "unix_micros(nominal_at) AS above_us")
        while True:
            reached = self._times_of_parents(steps)
            dated = reached.where("above_us IS NOT NULL").select("run_key", "above_us")
            found = checkpoint(self._folder.coalesce_if_small(found.unionByName(dated)))
            onward = reached.where("above_us IS NULL AND parent_run IS NOT NULL")
            onward = onward.select("run_key", F.col("parent_run").alias("at")).join(
                visited, ["run_key", "at"], "left_anti"
            )
            steps, aggregates = checkpoint_with_aggregates(self._folder.coalesce_if_small(onward), count=F.count("*"))
            if not aggregates["count"]:
                break
            visited = checkpoint(self._folder.coalesce_if_small(visited.unionByName(steps)))
        roots = runs.select("run_key", F.col("execution").alias("at")).where("at <> run_key")
        of_roots = self._times_of_parents(checkpoint(roots.join(found, "run_key", "left_anti"))).where(
            "above_us IS NOT NULL"
        )
        return found.unionByName(of_roots.select("run_key", "above_us"))

    def _times_of_parents(self, steps: DataFrame) -> DataFrame:
        """Return (`run_key`, `above_us`, `parent_run`) for each step (`run_key`, `at`).

        above_us, parent_run: the nominal time and the parent of the run `at`, which is above `run_key`.
        """
        _, aggregates = _frontier(steps.select("at"), "at")
        above = self._runs_matching(_prefix_condition("run_key", aggregates)).selectExpr(
            "run_key AS at", "parent_run", "unix_micros(nominal_at) AS above_us"
        )
        return checkpoint(
            self._folder.coalesce_if_small(steps.join(above, "at").select("run_key", "above_us", "parent_run"))
        )

    def _runs_matching(self, condition: str) -> DataFrame:
        """Return the fresh runs of the batch, and the other stored runs that match an SQL condition."""
        stored = self._stored.where(condition).select(*_RUN)
        return self._folder.coalesce_if_small(stored.join(self._fresh, "run_key", "left_anti").unionByName(self._fresh))


def _frontier(frame: DataFrame, by: str) -> tuple[DataFrame, Mapping[str, Any]]:
    return checkpoint_with_aggregates(frame, count=F.count("*"), prefixes=distinct_values_json(key_prefix(by)))


def _prefix_condition(column: str, aggregates: Mapping[str, Any]) -> str:
    return prefix_condition(column, json.loads(aggregates["prefixes"]))
