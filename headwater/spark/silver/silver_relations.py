"""Rule 4.7: find the reports of related runs that may explain opaque inputs, and store them with open candidates.

A batch updates the reports of a candidate when the candidate becomes open, and when a run arrives that may explain it.
Therefore, gold does not have to read earlier runs.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.candidates import INFERRED_LINEAGE
from headwater.lineage.edges.edge_sets import reported_datasets
from headwater.spark.delta.arrow_rows import Row, map_groups
from headwater.spark.delta.ranges import key_prefix, prefix_condition
from headwater.spark.delta.spark_delta import TableFolder, checkpoint, checkpoint_with_aggregates, distinct_values_json
from headwater.spark.gold.open_candidates import CLOSED, COUNTED, OPEN
from headwater.spark.silver.candidate_rows import BELOW, BESIDE
from headwater.spark.silver.texts import json_text, read_output_lineage
from headwater.tables import EDGE_SETS, RUNS, Table

_EXPLANATIONS = Table("explanations", {"run_or_execution": "string", "kin": "string"})
_CANDIDATE_KEY = ["group_key", "run_key"]
_UNEXPLAINED = f"part = '{OPEN}' AND asks IS NOT NULL AND NOT gone"


class SilverRelations:
    """Finds the reports that may explain the candidates of one batch or stored open candidates."""

    def __init__(
        self, folder: TableFolder, before: DataFrame, derived: DataFrame, counted: DataFrame, *, has_unexplained: bool
    ):
        """before: the open candidates before the batch. derived: rows of `DERIVED`. counted: rows of `COUNTED`.

        has_unexplained: before the batch, there were open candidates that other runs may explain.
        """
        self._folder = folder
        self._fresh = derived.select("run_key", "parent_run")
        self._runs = folder.read(RUNS)
        self._before = before
        self._closed = folder.read(EDGE_SETS)
        self._has_unexplained = has_unexplained
        self._counted, self._aggregates = checkpoint_with_aggregates(
            counted,
            has_unexplained=F.max(F.expr(_UNEXPLAINED)),
            closed_prefixes=distinct_values_json(F.when(F.col("was") == CLOSED, key_prefix("run_key"))),
            has_closed=F.max(F.col("part") == CLOSED),
            repeats_lineage=F.max("repeats_lineage"),
            changes_edges=F.max(~F.col("repeats_lineage")),
            open_chars=F.sum(F.when(F.expr(f"part = '{OPEN}' AND NOT gone"), F.length("content"))),
            previous_chars=F.sum("previous_chars"),
        )

    def explained_candidates(self) -> tuple[DataFrame, Mapping[str, Any]]:
        """Return rows of `COUNTED` in which `kin` is set, and aggregates over the changed candidates.

        The rows include the changed candidates of the batch, and open candidates of other runs that runs of the batch
        may explain.
        """
        counted = self._counted
        if not (self._aggregates["has_unexplained"] or self._has_unexplained):
            return counted, self._aggregates
        unexplained, aggregates = checkpoint_with_aggregates(
            self._folder.coalesce_if_small(counted.where(_UNEXPLAINED).unionByName(self._affected_candidates())),
            count=F.count("*"),
            below=F.max(F.col("asks") == BELOW),
        )
        if not aggregates["count"]:
            return counted, self._aggregates
        explanations = checkpoint(self._explanation_rows(unexplained, below=bool(aggregates["below"])))
        updated = (
            unexplained.drop("kin")
            .withColumn("run_or_execution", _run_or_execution())
            .join(explanations, "run_or_execution", "left")
            .select(*COUNTED.columns)
        )
        rows = counted.join(unexplained.select(*_CANDIDATE_KEY), _CANDIDATE_KEY, "left_anti").unionByName(updated)
        return checkpoint(self._folder.coalesce_if_small(rows)), {**self._aggregates, "changes_edges": True}

    def _affected_candidates(self) -> DataFrame:
        """Return the stored open candidates that runs of this batch may explain."""
        stored = self._before.where("asks IS NOT NULL").join(
            self._counted.select(*_CANDIDATE_KEY), _CANDIDATE_KEY, "left_anti"
        )
        flags = {
            "was": F.lit(OPEN),
            "previous_chars": F.length("content"),
            **dict.fromkeys(("recompute", "gone", "fresh", "repeats_lineage"), F.lit(False)),
        }
        rows = stored.withColumns(flags).select(*COUNTED.columns)
        beside = rows.where(F.col("asks") == BESIDE)
        beside = beside.join(self._counted.select("execution").distinct(), "execution", "left_semi")
        unexplained, aggregates = checkpoint_with_aggregates(rows.where(F.col("asks") == BELOW), count=F.count("*"))
        found = beside.select(*COUNTED.columns)
        if not aggregates["count"]:
            return found
        return found.unionByName(unexplained.join(self._runs_above(), "run_key", "left_semi").select(*COUNTED.columns))

    def _runs_above(self) -> DataFrame:
        """Return (`run_key`) for all runs above the runs of the batch."""
        frontier, aggregates = _frontier(_parent_run_keys(self._fresh), "run_key")
        found = frontier
        while aggregates["count"]:
            above = _parent_run_keys(self._related_runs(frontier, aggregates, "run_key")).join(
                found, "run_key", "left_anti"
            )
            frontier, aggregates = _frontier(above, "run_key")
            found = self._folder.coalesce_if_small(found.unionByName(frontier))
        return found

    def _runs_below(self, roots: DataFrame) -> DataFrame:
        """Return (`root`, `run_key`) for all runs below each root. roots: the keys of the roots (`run_key`)."""
        frontier, aggregates = _frontier(roots.select(F.col("run_key").alias("root"), "run_key").distinct(), "run_key")
        found = frontier
        while aggregates["count"]:
            parents = frontier.select("root", F.col("run_key").alias("parent_run"))
            children = self._related_runs(parents.select("parent_run").distinct(), aggregates, "parent_run")
            children = children.join(parents, "parent_run").select("root", "run_key").distinct()
            frontier, aggregates = _frontier(children.join(found, ["root", "run_key"], "left_anti"), "run_key")
            found = self._folder.coalesce_if_small(found.unionByName(frontier))
        return found.where("root <> run_key")

    def _related_runs(self, keys: DataFrame, aggregates: Mapping[str, Any], by: str) -> DataFrame:
        """Return (`run_key`, `parent_run`) of the runs with a value in the column `by` that occurs in `keys`.

        aggregates: contains the prefixes of the keys (`prefixes`).
        """
        near = self._runs.where(prefix_condition(by, json.loads(aggregates["prefixes"]))).select(
            "run_key", "parent_run"
        )
        known = self._folder.coalesce_if_small(near.join(self._fresh, "run_key", "left_anti").unionByName(self._fresh))
        return known.join(keys, by, "left_semi").select("run_key", "parent_run")

    def _explanation_rows(self, unexplained: DataFrame, *, below: bool) -> DataFrame:
        """Return a row of `_EXPLANATIONS` for each run (BELOW) or execution (BESIDE) with opaque inputs."""
        executions = unexplained.where(F.col("asks") == BESIDE).select("execution").distinct()
        found = self._contents_with_lineage(
            "execution", executions.select(F.col("execution").alias("run_or_execution"), "execution")
        )
        if below:
            runs = self._runs_below(unexplained.where(F.col("asks") == BELOW)).select(
                F.col("root").alias("run_or_execution"), "run_key"
            )
            found = self._folder.coalesce_if_small(found.unionByName(self._contents_with_lineage("run_key", runs)))
        return map_groups(
            found.distinct(), "run_or_execution", _explanation_row, _EXPLANATIONS, small=self._folder.small
        )

    def _contents_with_lineage(self, by: str, wanted: DataFrame) -> DataFrame:
        """Return (`run_or_execution`, `content`) of candidates with column lineage.

        by: `run_key` or `execution`. wanted: rows (`run_or_execution`, `by`) that select candidates by this column.
        """
        wanted, aggregates = _frontier(wanted, by)
        columns = [*_CANDIDATE_KEY, by, "weight", "content"]
        near = self._closed.where(prefix_condition(by, json.loads(aggregates["prefixes"]))).select(
            *dict.fromkeys(columns)
        )
        stored = near.unionByName(self._before.select(*near.columns))
        stored = self._folder.coalesce_if_small(stored).join(
            self._counted.select(*_CANDIDATE_KEY), _CANDIDATE_KEY, "left_anti"
        )
        every = stored.unionByName(self._counted.where("NOT gone").select(*stored.columns))
        return (
            self._folder.coalesce_if_small(every)
            .where(F.col("weight") >= INFERRED_LINEAGE)
            .join(wanted, by)
            .select("run_or_execution", "content")
        )


def _frontier(frame: DataFrame, by: str) -> tuple[DataFrame, Mapping[str, Any]]:
    return checkpoint_with_aggregates(frame, count=F.count("*"), prefixes=distinct_values_json(key_prefix(by)))


def _run_or_execution() -> Column:
    return F.expr(f"CASE WHEN asks = '{BELOW}' THEN run_key ELSE execution END")


def _parent_run_keys(runs: DataFrame) -> DataFrame:
    return runs.where("parent_run IS NOT NULL").select(F.col("parent_run").alias("run_key")).distinct()


def _explanation_row(rows: Sequence[Row]) -> Iterator[Row]:
    """Convert the rows (`run_or_execution`, `content`) of one run or execution to one row of `_EXPLANATIONS`.

    `kin` contains the datasets that all these contents report.
    """
    found = reported_datasets(read_output_lineage(content) for _, content in rows)
    yield rows[0][0], json_text([sorted(names) for names in found])
