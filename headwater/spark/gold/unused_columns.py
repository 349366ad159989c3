"""Write `unused_columns`: compute the verdicts that a batch may change, and rewrite buckets with changes."""

import json
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.rules.user_rules import UserRules
from headwater.spark.delta.arrow_rows import map_rows
from headwater.spark.delta.spark_delta import TableFolder, checkpoint, checkpoint_with_aggregates, texts, with_new_ids
from headwater.spark.gold.affected_datasets import REPRESENTATIVE, AffectedDatasets, VerdictScope
from headwater.spark.gold.buckets import bucket_of, by_bucket, in_buckets
from headwater.spark.gold.dataset_verdicts import VERDICTS, DatasetVerdicts
from headwater.spark.gold.snapshot_of_rows import CANDIDATE_COLUMNS
from headwater.spark.gold.snapshot_rows import ORDER, snapshot_rows
from headwater.spark.silver.silver_batch import SilverBatch
from headwater.tables import DATASETS, EDGE_SETS, UNUSED_COLUMNS

_DATASET = ["namespace", "dataset"]


def write_unused(gold: TableFolder, rules: UserRules, batch: SilverBatch, *, recompute_all: bool) -> None:
    """Write the verdicts of the datasets that the batch affects, or of all datasets (`recompute_all`).

    A worker holds the candidates of one bucket, with 1.2 to 1.6 KB for each edge: those that name its datasets, and
    those that these lead to (`affected_datasets`). Buckets in which no verdict changes are not rewritten.
    """
    affected = AffectedDatasets(batch.folder, batch, batch.naming.representatives())
    scope = affected.of_all() if recompute_all else affected.of_changes()
    if scope is None:
        if batch.buckets_changed:
            gold.change(UNUSED_COLUMNS, "true", lambda rows: by_bucket(gold, _in_buckets(rows, batch), "bucket"))
        return
    fresh = _in_buckets(checkpoint(_verdicts(affected, scope)).withColumn("rules_hash", F.lit(rules.rules_hash)), batch)
    stored = gold.read(UNUSED_COLUMNS)
    names = scope.names and with_new_ids(scope.names).withColumnRenamed("name", "dataset")
    known = stored if names is None else stored.join(names, _DATASET, "left_semi")
    changed = _changed(gold, known, fresh, batch.buckets_before)
    changed, aggregates = checkpoint_with_aggregates(changed, count=F.count("*"), buckets=texts(F.col("bucket")))
    if not (aggregates["count"] or batch.buckets_changed):
        return

    def replacement(rows: DataFrame) -> DataFrame:
        others = rows.join(changed, _DATASET, "left_anti").select(*UNUSED_COLUMNS.columns)
        every = others.unionByName(fresh.join(changed, _DATASET, "left_semi").select(*others.columns))
        return by_bucket(gold, _in_buckets(every, batch), "bucket")

    where = "true" if batch.buckets_changed else in_buckets(json.loads(aggregates["buckets"]))
    gold.change(UNUSED_COLUMNS, where, replacement)


def _verdicts(affected: AffectedDatasets, scope: VerdictScope) -> DataFrame:
    """Compute the verdicts as rows of `VERDICTS`."""
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
    step = DatasetVerdicts(
        batch.rules,
        batch.naming,
        affected.representatives,
        batch.newest_us,
        batch.partitioned_names,
        batch.removed_before_us,
    )
    return map_rows(rows.sortWithinPartitions("bucket", F.asc_nulls_first("output_key"), *ORDER), step, VERDICTS)


def _changed(gold: TableFolder, known: DataFrame, fresh: DataFrame, buckets: int) -> DataFrame:
    """Return the datasets whose rows changed, with the bucket that contains them."""
    columns = [name for name in UNUSED_COLUMNS.columns if name not in ("bucket", "rules_hash")]

    def summed(rows: DataFrame, name: str) -> DataFrame:
        row = F.xxhash64(F.to_json(F.struct(*columns)))
        return rows.groupBy(*_DATASET).agg(F.concat_ws("/", F.count("*"), F.bit_xor(row)).alias(name))

    both = (
        gold.coalesce_if_small(summed(known, "was"))
        .join(gold.coalesce_if_small(summed(fresh, "now")), _DATASET, "full")
        .where("NOT was <=> now")
    )
    return both.select(*_DATASET, bucket_of(_DATASET[0], _DATASET[1], buckets).alias("bucket"))


def _in_buckets(rows: DataFrame, batch: SilverBatch) -> DataFrame:
    return rows.withColumn("bucket", bucket_of(_DATASET[0], _DATASET[1], batch.buckets))
