"""Rule 6.1 in silver: a run without a nominal time has that of the nearest run above it, else of its root."""

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.spark.delta.ranges import begin, ranges
from headwater.spark.delta.spark_delta import TableFolder, keep, kept, texts
from headwater.tables import RUNS

_RUN = ("run_key", "parent_run", "execution", "nominal_at")


def runs_dated_above(folder: TableFolder, derived: DataFrame) -> DataFrame | None:
    """Return (`run_key`, `above_us`) of the runs whose period follows from a run above them, or did before this batch.

    derived: rows of `DERIVED` of a batch. Returns None if no such run has to be worked out again.
    """
    return _RunsAbove(folder, derived).dated()


class _RunsAbove:
    """The runs of one batch amid those that silver holds."""

    def __init__(self, folder: TableFolder, derived: DataFrame):
        self._folder = folder
        self._stored = folder.read(RUNS)
        self._fresh = derived.where("kind = 'RUN'").select(*_RUN)
        self._replaced = derived.where("stored").select("run_key")

    def dated(self) -> DataFrame | None:
        below = self._below()
        runs = self._fresh.withColumn("fresh", F.lit(True))
        runs = runs.unionByName(below.join(runs, "run_key", "left_anti").withColumn("fresh", F.lit(False)))
        runs = keep(self._folder.few(runs.where("nominal_at IS NULL")))
        above = self._above(runs)
        found = runs.join(above, "run_key", "left").where("above_us IS NOT NULL OR NOT fresh")
        again, seen = kept(self._folder.few(found.select("run_key", "above_us")), count=F.count("*"))
        return again if seen["count"] else None

    def _below(self) -> DataFrame:
        """Return the runs below those whose parent, root or nominal time this batch changes."""
        keys, replaced = _front(self._replaced, "run_key")
        before = self._stored.where(_near("run_key", replaced)).join(keys, "run_key", "left_semi").select(*_RUN)
        told = self._fresh.where("nominal_at IS NOT NULL OR parent_run IS NOT NULL")
        changed = told.exceptAll(before).unionByName(before.exceptAll(self._fresh)).select("run_key").distinct()
        front, seen = _front(changed, "run_key")
        found, below = front, self._fresh.limit(0)
        while seen["count"]:
            parents = front.withColumnRenamed("run_key", "parent_run")
            roots = front.withColumnRenamed("run_key", "execution")
            near = self._runs(f"{_near('parent_run', seen)} OR {_near('execution', seen)}")
            children = near.join(parents, "parent_run", "left_semi").unionByName(
                near.join(roots, "execution", "left_semi").where("run_key <> execution")
            )
            fresh = keep(self._folder.few(children.distinct().join(found, "run_key", "left_anti").select(*_RUN)))
            below = keep(self._folder.few(below.unionByName(fresh)))
            front, seen = _front(fresh.select("run_key"), "run_key")
            found = keep(self._folder.few(found.unionByName(front)))
        return below

    def _above(self, runs: DataFrame) -> DataFrame:
        """Return (`run_key`, `above_us`) of those runs that inherit a nominal time."""
        steps = keep(runs.select("run_key", F.col("parent_run").alias("at")).where("at IS NOT NULL"))
        seen, found = steps, self._fresh.limit(0).selectExpr("run_key", "unix_micros(nominal_at) AS above_us")
        while True:
            reached = self._reached(steps)
            dated = reached.where("above_us IS NOT NULL").select("run_key", "above_us")
            found = keep(self._folder.few(found.unionByName(dated)))
            onward = reached.where("above_us IS NULL AND parent_run IS NOT NULL")
            onward = onward.select("run_key", F.col("parent_run").alias("at")).join(
                seen, ["run_key", "at"], "left_anti"
            )
            steps, told = kept(self._folder.few(onward), count=F.count("*"))
            if not told["count"]:
                break
            seen = keep(self._folder.few(seen.unionByName(steps)))
        roots = runs.select("run_key", F.col("execution").alias("at")).where("at <> run_key")
        of_roots = self._reached(keep(roots.join(found, "run_key", "left_anti"))).where("above_us IS NOT NULL")
        return found.unionByName(of_roots.select("run_key", "above_us"))

    def _reached(self, steps: DataFrame) -> DataFrame:
        """Return (`run_key`, `above_us`, `parent_run`): what is known of the run `at` that each run leads to."""
        _, seen = _front(steps.select("at"), "at")
        above = self._runs(_near("run_key", seen)).selectExpr(
            "run_key AS at", "parent_run", "unix_micros(nominal_at) AS above_us"
        )
        return keep(self._folder.few(steps.join(above, "at").select("run_key", "above_us", "parent_run")))

    def _runs(self, near: str) -> DataFrame:
        """Return the runs that silver holds after the batch; near: a condition that leaves out most of the others."""
        stored = self._stored.where(near).select(*_RUN)
        return self._folder.few(stored.join(self._fresh, "run_key", "left_anti").unionByName(self._fresh))


def _front(frame: DataFrame, by: str) -> tuple[DataFrame, Mapping[str, Any]]:
    return kept(frame, count=F.count("*"), begins=texts(begin(by)))


def _near(column: str, seen: Mapping[str, Any]) -> str:
    return ranges(column, json.loads(seen["begins"]))
