"""Write `column_edges` and `table_edges`: each edge with the period in which it counted."""

import json
from collections.abc import Mapping
from functools import partial

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import Generations
from headwater.lineage.rules.user_rules import UserRules
from headwater.spark.delta.arrow_rows import map_groups
from headwater.spark.delta.ranges import key_prefix, prefix_condition
from headwater.spark.delta.spark_delta import (
    TableFolder,
    checkpoint_with_aggregates,
    distinct_values_json,
    run_concurrently,
    spark_schema,
)
from headwater.spark.gold.buckets import bucket_column, buckets_condition, repartition_by_bucket
from headwater.spark.gold.edge_validity import CANDIDATE, COLUMN, EDGE, GROUPED, INFERRED_EDGE, TABLE, OutputHistory
from headwater.spark.gold.open_candidates import CLOSED, OPEN
from headwater.spark.silver.silver_batch import SilverBatch
from headwater.spark.silver.silver_datasets import DATASET
from headwater.tables import COLUMN_EDGES, EDGE_RUNS, EDGE_SETS, TABLE_EDGES, Table

KINDS = {COLUMN: COLUMN_EDGES, TABLE: TABLE_EDGES}
_ENDED = Table("ended", {**dict.fromkeys(DATASET, "string"), "at_us": "long"})
_FILES = COLUMN_EDGES.partition_by
_TIMES = ("valid_from", "valid_to", "last_seen")
_RECURRING_COLUMNS = ("group_key", "runs AS more_runs", "unix_micros(last_seen) AS again_us")


def write_edges(silver: TableFolder, gold: TableFolder, rules: UserRules, batch: SilverBatch) -> None:
    """Write the edges that a batch changes, count the batch's recurring runs, and hide edges of ended generations.

    If the new candidates of a group are later than its stored candidates, they extend the history of the group.
    Otherwise, the history is computed again from all candidates of the group.
    """
    if batch.counted is not None and batch.changes_edges:
        edges = _changed_edges(silver, gold, rules, batch, batch.counted.where("NOT repeats_lineage"))
        steps = [partial(_apply_edge_changes, gold, KINDS[kind], *found) for kind, found in edges.items()]
        if batch.buckets_changed:
            steps += [
                partial(_redistribute_open_edges, gold, table, batch)
                for kind, table in KINDS.items()
                if kind not in edges
            ]
        run_concurrently(*steps)
    if batch.counted is not None:
        _count_runs(rules, batch, batch.counted)
    if batch.state.updates_copy(EDGE_RUNS) and (batch.counted is not None or batch.state.position.has_stale_copies):
        gold.overwrite(EDGE_RUNS, batch.state.read(EDGE_RUNS))
    gone = generation_end_times(batch.naming.generations)
    if batch.moved or (gone and batch.changes_edges):
        found = silver.frame_of_rows(_ENDED, [(*name, time_us) for name, time_us in gone.items()])
        rows = silver.coalesce_if_small(found).select(*DATASET, F.timestamp_micros("at_us").alias("at"))
        run_concurrently(*(partial(hide_ended_edges, rows, gold, table) for table in KINDS.values()))


def _count_runs(rules: UserRules, batch: SilverBatch, changes: DataFrame) -> None:
    """Add recurring runs to the counts in `edge_runs`.

    If the edges of a group change, the batch adds the group's count to the rows of the edges and deletes the count.
    """
    counted = F.col("repeats_lineage") & F.col("fresh")
    times = F.timestamp_micros(F.when(counted, F.col("time_us")))
    before = batch.state.lookup(EDGE_RUNS, changes, ["group_key"]).select(
        "group_key", F.struct("runs", "last_seen").alias("was")
    )
    groups = changes.groupBy("group_key", "job_namespace", "job_name", "layer", *DATASET).agg(
        F.max(~F.col("repeats_lineage")).alias("gone"),
        F.count(F.when(counted, 1)).alias("more"),
        F.max(times).alias("last"),
    )
    names = ("target_namespace", "target_dataset", "target_generation")
    rows = groups.join(before, "group_key", "left").select(
        "group_key",
        "job_namespace",
        "job_name",
        F.col("layer").alias("origin"),
        *(F.col(was).alias(name) for was, name in zip(DATASET, names, strict=True)),
        F.greatest("last", "was.last_seen").alias("last_seen"),
        (F.col("more") + F.coalesce("was.runs", F.lit(0))).alias("runs"),
        F.lit(batch.number).alias("batch"),
        F.lit(rules.rules_hash).alias("rules_hash"),
        "gone",
    )
    batch.state.put(EDGE_RUNS, rows)


def _changed_edges(
    silver: TableFolder, gold: TableFolder, rules: UserRules, batch: SilverBatch, changes: DataFrame
) -> Mapping[str, tuple[DataFrame, str, Column]]:
    """Return the edges that are new, changed or gone, by kind (COLUMN or TABLE). A kind without such edges is missing.

    The values are the last three arguments of `_apply_edge_changes`: `edges`, `where` and `bucket`.
    """
    group = F.col("group_key").alias("group_key")  # a new column, which Spark cannot confuse with the one of `changes`
    bucket = bucket_column("dataset_namespace", "dataset_name", batch.buckets_before)
    groups = changes.groupBy(group).agg(F.max("recompute").alias("recompute"), F.first(bucket).alias("bucket"))
    groups, group_aggregates = checkpoint_with_aggregates(
        groups, recompute=F.max("recompute"), buckets=distinct_values_json(F.col("bucket"))
    )
    groups = groups.drop("bucket")
    in_changed_buckets = buckets_condition(json.loads(group_aggregates["buckets"]))
    rows = _candidates_of_groups(silver, batch, changes, groups, with_closed=bool(group_aggregates["recompute"]))
    recurring = batch.state.lookup(EDGE_RUNS, groups, ["group_key"]).selectExpr(*_RECURRING_COLUMNS)
    for kind, table in KINDS.items():
        known = (
            gold.read(table).where(f"part = '{CLOSED}' OR {in_changed_buckets}").join(recurring, "group_key", "left")
        )
        rows = rows.unionByName(
            _stored_edges_of_groups(known, kind, groups, with_closed=bool(group_aggregates["recompute"]))
        )
    edges = map_groups(silver.coalesce_if_small(rows), "group_key", OutputHistory(rules), EDGE, small=silver.small)
    is_kind = {kind: F.col("kind") == kind for kind in KINDS}
    closed = {
        kind: distinct_values_json(F.when(is_kind[kind] & F.expr(f"was = '{CLOSED}'"), key_prefix("edge_key")))
        for kind in KINDS
    }
    edges, edge_aggregates = checkpoint_with_aggregates(edges, kinds=distinct_values_json(F.col("kind")), **closed)
    bucket = _edge_bucket(batch.buckets)
    stamp = {"bucket": bucket, "batch": F.lit(batch.number), "rules_hash": F.lit(rules.rules_hash)}
    found: dict[str, tuple[DataFrame, str, Column]] = {}
    for kind in json.loads(edge_aggregates["kinds"]):
        where = f"part = '{OPEN}'" if batch.buckets_changed else f"part = '{OPEN}' AND {in_changed_buckets}"
        if prefixes := json.loads(edge_aggregates[kind]):
            where = f"({where} OR {prefix_condition('edge_key', prefixes)})"
        found[kind] = edges.where(is_kind[kind]).withColumns(stamp), where, bucket
    return found


def _edge_bucket(buckets: int) -> Column:
    """Return the bucket of an edge as a column. Closed edges are all in bucket 0: batches mostly append such edges."""
    return F.when(F.col("part") == OPEN, bucket_column("target_namespace", "target_dataset", buckets)).otherwise(
        F.lit(0)
    )


def _redistribute_open_edges(gold: TableFolder, table: Table, batch: SilverBatch) -> None:
    """Distribute all open edges over the new number of buckets."""
    bucket = _edge_bucket(batch.buckets)
    gold.replace_rows(
        table, f"part = '{OPEN}'", lambda rows: repartition_by_bucket(gold, rows.withColumn("bucket", bucket), *_FILES)
    )


def _apply_edge_changes(gold: TableFolder, table: Table, edges: DataFrame, where: str, bucket: Column) -> None:
    """Replace or remove changed edges among the rows that `where` selects, and append new edges.

    edges: the new, changed and removed edges. where: SQL condition for the open edges of changed buckets, and for
    closed edges that change. bucket: column with the bucket of a row after the batch.
    """
    fresh = edges.where("NOT gone").select(*table.columns)

    def replacement(rows: DataFrame) -> DataFrame:
        others = rows.join(edges.select("edge_key"), "edge_key", "left_anti").withColumn("bucket", bucket)
        return repartition_by_bucket(gold, others.select(*table.columns).unionByName(fresh), *_FILES)

    gold.replace_rows(table, where, replacement)


def _candidates_of_groups(
    silver: TableFolder, batch: SilverBatch, changes: DataFrame, groups: DataFrame, *, with_closed: bool
) -> DataFrame:
    """Return the new and the open candidates of groups, in the columns `GROUPED`.

    with_closed: also return the closed candidates of the groups whose column `recompute` is true.
    """
    columns = [name for name in GROUPED.columns if name in EDGE_SETS.columns]
    known = changes.select("group_key", "run_key")
    found = changes.where("NOT gone").select(*columns, "fresh")
    stays = batch.state.lookup(EDGE_SETS, groups, ["group_key"])
    if with_closed:
        closed = silver.read(EDGE_SETS).join(groups.where("recompute").select("group_key"), "group_key", "left_semi")
        stays = silver.coalesce_if_small(stays.unionByName(closed.select(*stays.columns)))
    stays = stays.join(known, ["group_key", "run_key"], "left_anti").withColumn("fresh", F.lit(False))
    found = silver.coalesce_if_small(found.unionByName(stays.select(*found.columns))).join(groups, "group_key")
    empty = {"edge": F.lit(None).cast("string"), "kind": F.lit(CANDIDATE)}
    return found.withColumns(empty).select(*GROUPED.columns)


def _stored_edges_of_groups(edges: DataFrame, kind: str, groups: DataFrame, *, with_closed: bool) -> DataFrame:
    """Return the open rows of groups in gold, in the columns `GROUPED`.

    edges: the rows of the table. with_closed: also return the closed rows of groups whose `recompute` is true.
    """
    found = edges.join(groups, "group_key") if with_closed else edges.where("part = 'open'").join(groups, "group_key")
    found = found.where("part = 'open' OR recompute")
    micros = [F.unix_micros(name).alias(f"{name}_us") for name in _TIMES]
    valid_to_us = F.when(F.col("part") == CLOSED, F.unix_micros("valid_to")).alias("valid_to_us")
    rest = [name for name in KINDS[kind].columns if name not in _TIMES]
    recurring = [F.when(F.col("part") == OPEN, F.col(name)).alias(name) for name in ("more_runs", "again_us")]
    row = F.to_json(F.struct(*rest, micros[0], valid_to_us, micros[2], *recurring)).alias("edge")
    named = {
        "kind": F.lit(kind),
        "layer": F.when(F.col("origin") == INFERRED_EDGE, "observed").otherwise(F.col("origin")),
        "dataset_namespace": F.col("target_namespace"),
        "dataset_name": F.col("target_dataset"),
        "generation": F.col("target_generation"),
    }
    found = found.withColumn("edge", row).withColumns(named)
    types = {field.name: field.dataType for field in spark_schema(GROUPED)}
    present = [name for name in GROUPED.columns if name in found.columns]
    empty = {name: F.lit(None).cast(kind) for name, kind in types.items() if name not in present}
    return found.select(*present).withColumns(empty).select(*GROUPED.columns)


def generation_end_times(generations: Generations) -> dict[Name, int]:
    """Return the generations of datasets that have ended, each with the time of its end in microseconds."""
    found: dict[Name, int] = {}
    for location in generations.changed_locations():
        next_generations = dict(reversed(generations.generation_ends(location)))
        before = location
        for time_us in sorted(next_generations):
            found[before] = time_us
            before = location._replace(generation=next_generations[time_us])
        found.pop(before, None)
        if not generations.exists(before):
            found[before] = max(next_generations)
    return found


def hide_ended_edges(gone: DataFrame, gold: TableFolder, table: Table) -> None:
    """Set the end of open edges whose source or target generation has ended, and remove the end of all others.

    gone: the ended generations, with the time of the end (`at`).
    """
    edges = gold.read(table).where("part = 'open'")
    for side in ("source", "target"):
        names = {"dataset_namespace": f"{side}_namespace", "dataset_name": f"{side}_dataset"}
        ends = gone.withColumnsRenamed({**names, "generation": f"{side}_generation", "at": f"{side}_at"})
        edges = edges.join(gold.coalesce_if_small(ends), [*names.values(), f"{side}_generation"], "left")
    at = F.least("source_at", "target_at")
    edges = edges.withColumn("ended", F.when(at.isNotNull(), F.greatest(at, "valid_from")))
    found = edges.where("NOT ended <=> valid_to")
    found = found.withColumns({"valid_to": F.col("ended"), "current": F.col("ended").isNull(), "gone": F.lit(False)})
    found, aggregates = checkpoint_with_aggregates(
        found.select(*table.columns, "gone"), count=F.count("*"), buckets=distinct_values_json(F.col("bucket"))
    )
    if aggregates["count"]:
        _apply_edge_changes(
            gold,
            table,
            found,
            f"part = '{OPEN}' AND {buckets_condition(json.loads(aggregates['buckets']))}",
            F.col("bucket"),
        )
