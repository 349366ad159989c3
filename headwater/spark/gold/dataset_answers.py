"""Compute answers about datasets in Python workers, and replace the answers in gold that changed."""

import json
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.spark.delta.arrow_rows import RowStep, map_rows
from headwater.spark.delta.spark_delta import (
    TableFolder,
    checkpoint,
    checkpoint_with_aggregates,
    distinct_values_json,
    with_new_ids,
)
from headwater.spark.gold.affected_datasets import REPRESENTATIVE, AffectedDatasets, AnswerScope
from headwater.spark.gold.buckets import bucket_column, buckets_condition, repartition_by_bucket
from headwater.spark.gold.snapshot_of_rows import CANDIDATE_COLUMNS
from headwater.spark.gold.snapshot_rows import ORDER, snapshot_rows
from headwater.spark.silver.silver_batch import SilverBatch
from headwater.tables import DATASETS, EDGE_SETS, Table

_DATASET = ["namespace", "dataset"]


def compute_answers(affected: AffectedDatasets, scope: AnswerScope, step: RowStep, to: Table) -> DataFrame:
    """Apply a step to the rows of a scope and return a frame with the columns of the table `to`.

    step: takes rows (bucket, is_target, *`CANDIDATE_COLUMNS`), sorted by bucket, and yields rows of `to`.
    """
    batch = affected.batch
    outputs = with_new_ids(scope.outputs)
    candidates = batch.state.lookup(EDGE_SETS, outputs, ["output_key"])
    candidates = with_new_ids(candidates).join(with_new_ids(outputs), "output_key")
    datasets = (
        affected.representative_datasets()
        .join(with_new_ids(scope.neighbors), REPRESENTATIVE)
        .select(*DATASETS.columns, "bucket")
    )
    names = {
        name: F.col(from_name)
        for name, from_name in zip(("dataset_namespace", "dataset_name"), REPRESENTATIVE, strict=True)
    }
    targets = with_new_ids(scope.targets).withColumns({**names, "is_target": F.lit(True)})
    sides = (snapshot_rows(each, "bucket", "is_target") for each in (candidates, datasets, targets))
    rows = batch.folder.coalesce_if_small(reduce(DataFrame.unionByName, sides)).withColumn(
        "is_target", F.expr("is_target IS NOT NULL")
    )
    rows = rows if batch.folder.small else rows.repartition("bucket")
    rows = rows.select("bucket", "is_target", *CANDIDATE_COLUMNS)
    return map_rows(rows.sortWithinPartitions("bucket", F.asc_nulls_first("output_key"), *ORDER), step, to)


def replace_answers(
    gold: TableFolder, table: Table, batch: SilverBatch, answers: DataFrame, names: DataFrame | None
) -> bool:
    """Replace the rows of datasets whose answers changed, and return whether any rows were rewritten.

    Rewrites only the buckets with changed answers, or all buckets if the batch changes their number.

    answers: rows of the table without `bucket` and `rules_hash`.
    names: (`namespace`, `name`) of the datasets that the answers are about; None if they are about all datasets.
    """
    fresh = _in_buckets(checkpoint(answers).withColumn("rules_hash", F.lit(batch.rules.rules_hash)), batch)
    stored = gold.read(table)
    known = stored
    if names is not None:
        known = stored.join(with_new_ids(names).withColumnRenamed("name", "dataset"), _DATASET, "left_semi")
    changed = _datasets_with_changed_answers(gold, table, known, fresh, batch.buckets_before)
    changed, aggregates = checkpoint_with_aggregates(
        changed, count=F.count("*"), buckets=distinct_values_json(F.col("bucket"))
    )
    if not (aggregates["count"] or batch.buckets_changed):
        return False

    def replacement(rows: DataFrame) -> DataFrame:
        others = rows.join(changed, _DATASET, "left_anti").select(*table.columns)
        every = others.unionByName(fresh.join(changed, _DATASET, "left_semi").select(*others.columns))
        return repartition_by_bucket(gold, _in_buckets(every, batch), "bucket")

    where = "true" if batch.buckets_changed else buckets_condition(json.loads(aggregates["buckets"]))
    gold.replace_rows(table, where, replacement)
    return True


def redistribute_answers(gold: TableFolder, table: Table, batch: SilverBatch) -> None:
    """If the batch changes the number of buckets, distribute all rows of the table over the new buckets."""
    if batch.buckets_changed:
        gold.replace_rows(table, "true", lambda rows: repartition_by_bucket(gold, _in_buckets(rows, batch), "bucket"))


def _datasets_with_changed_answers(
    gold: TableFolder, table: Table, known: DataFrame, fresh: DataFrame, buckets: int
) -> DataFrame:
    """Return (`namespace`, `dataset`, `bucket`) of the datasets whose rows in `known` and `fresh` differ.

    buckets: the number of buckets before the batch.
    """
    columns = [name for name in table.columns if name not in ("bucket", "rules_hash")]

    def summed(rows: DataFrame, name: str) -> DataFrame:
        row = F.xxhash64(F.to_json(F.struct(*columns)))
        return rows.groupBy(*_DATASET).agg(F.concat_ws("/", F.count("*"), F.sum(row.cast("decimal(38,0)"))).alias(name))

    both = (
        gold.coalesce_if_small(summed(known, "was"))
        .join(gold.coalesce_if_small(summed(fresh, "now")), _DATASET, "full")
        .where("NOT was <=> now")
    )
    return both.select(*_DATASET, bucket_column(_DATASET[0], _DATASET[1], buckets).alias("bucket"))


def _in_buckets(rows: DataFrame, batch: SilverBatch) -> DataFrame:
    return rows.withColumn("bucket", bucket_column(_DATASET[0], _DATASET[1], batch.buckets))
