"""`column_edges` and `table_edges`: each edge with the time in which it counted."""

import json
from collections.abc import Mapping
from functools import partial

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.names.dataset_generations import Generations
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import UserRules
from headwater.spark.delta.arrow_rows import map_groups
from headwater.spark.delta.ranges import begin, ranges
from headwater.spark.delta.spark_delta import TableFolder, kept, spark_schema, texts, together
from headwater.spark.gold.buckets import bucket_of, by_bucket, in_buckets
from headwater.spark.gold.edge_validity import COLUMN, EDGE, GROUPED, INFERRED_EDGE, TABLE, VOTE, OutputHistory
from headwater.spark.gold.open_candidates import CLOSED, OPEN
from headwater.spark.silver.silver_batch import SilverBatch
from headwater.spark.silver.silver_datasets import DATASET
from headwater.tables import COLUMN_EDGES, EDGE_RUNS, EDGE_SETS, TABLE_EDGES, Table

KINDS = {COLUMN: COLUMN_EDGES, TABLE: TABLE_EDGES}
_ENDED = Table("ended", {**dict.fromkeys(DATASET, "string"), "at_us": "long"})
_FILES = COLUMN_EDGES.partition_by
_TIMES = ("valid_from", "valid_to", "last_seen")
_SEEN_AGAIN = ("group_key", "runs AS more_runs", "unix_micros(last_seen) AS again_us")


def write_edges(silver: TableFolder, gold: TableFolder, rules: UserRules, batch: SilverBatch) -> None:
    """Go on with what a batch says: with new candidates where they follow in time, else with all of them."""
    if batch.counted is not None and batch.loud:
        edges = _edges(silver, gold, rules, batch, batch.counted.where("NOT quiet"))
        steps = [partial(_write, gold, KINDS[kind], *found) for kind, found in edges.items()]
        if batch.regrouped:
            steps += [partial(_regroup, gold, table, batch) for kind, table in KINDS.items() if kind not in edges]
        together(*steps)
    if batch.counted is not None:
        _count_runs(gold, rules, batch, batch.counted)
    gone = ended(batch.naming.generations)
    if batch.moved or (gone and batch.loud):
        found = silver.rows(_ENDED, [(*name, time_us) for name, time_us in gone.items()])
        rows = silver.few(found).select(*DATASET, F.timestamp_micros("at_us").alias("at"))
        together(*(partial(hide_ended, rows, gold, table) for table in KINDS.values()))


def _count_runs(gold: TableFolder, rules: UserRules, batch: SilverBatch, changes: DataFrame) -> None:
    """Count the runs that say again what stands; where something changed, the rows of edges have taken their number."""
    counted = F.col("quiet") & F.col("fresh")
    times = F.timestamp_micros(F.when(counted, F.col("time_us")))
    before = batch.state.read(EDGE_RUNS).select("group_key", F.struct("runs", "last_seen").alias("was"))
    same = changes.groupBy("group_key", "job_namespace", "job_name", "layer", *DATASET).agg(
        F.max(~F.col("quiet")).alias("gone"), F.count(F.when(counted, 1)).alias("more"), F.max(times).alias("last")
    )
    names = ("target_namespace", "target_dataset", "target_generation")
    rows = same.join(before, "group_key", "left").select(
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
    batch.state.put(EDGE_RUNS, rows, ["group_key"])
    gold.overwrite(EDGE_RUNS, batch.state.read(EDGE_RUNS))


def _edges(
    silver: TableFolder, gold: TableFolder, rules: UserRules, batch: SilverBatch, changes: DataFrame
) -> Mapping[str, tuple[DataFrame, str, Column]]:
    """Return by kind the edges that are new, other than before, or gone, and what `_write` takes with them.

    Kinds without such are left out.
    """
    group = F.col("group_key").alias("group_key")  # a column of its own, so that Spark tells it from that of `changes`
    bucket = bucket_of("dataset_namespace", "dataset_name", batch.buckets_before)
    groups = changes.groupBy(group).agg(F.max("late").alias("whole"), F.first(bucket).alias("bucket"))
    groups, seen = kept(groups, anew=F.max("whole"), buckets=texts(F.col("bucket")))
    groups = groups.drop("bucket")
    near = in_buckets(json.loads(seen["buckets"]))
    rows = _candidates(silver, batch, changes, groups, anew=bool(seen["anew"]))
    for kind, table in KINDS.items():
        known = gold.read(table).where(f"part = '{CLOSED}' OR {near}")
        known = known.join(batch.state.read(EDGE_RUNS).selectExpr(*_SEEN_AGAIN), "group_key", "left")
        rows = rows.unionByName(_rows(known, kind, groups, anew=bool(seen["anew"])))
    edges = map_groups(silver.few(rows), "group_key", OutputHistory(rules), EDGE, small=silver.small)
    is_kind = {kind: F.col("kind") == kind for kind in KINDS}
    closed = {kind: texts(F.when(is_kind[kind] & F.expr(f"was = '{CLOSED}'"), begin("edge_key"))) for kind in KINDS}
    edges, told = kept(edges, kinds=texts(F.col("kind")), **closed)
    bucket = _bucket(batch.buckets)
    stamp = {"bucket": bucket, "batch": F.lit(batch.number), "rules_hash": F.lit(rules.rules_hash)}
    found: dict[str, tuple[DataFrame, str, Column]] = {}
    for kind in json.loads(told["kinds"]):
        where = f"part = '{OPEN}'" if batch.regrouped else f"part = '{OPEN}' AND {near}"
        if begins := json.loads(told[kind]):
            where = f"({where} OR {ranges('edge_key', begins)})"
        found[kind] = edges.where(is_kind[kind]).withColumns(stamp), where, bucket
    return found


def _bucket(buckets: int) -> Column:
    """Return the bucket of an edge: closed ones, which are only added, have one."""
    return F.when(F.col("part") == OPEN, bucket_of("target_namespace", "target_dataset", buckets)).otherwise(F.lit(0))


def _regroup(gold: TableFolder, table: Table, batch: SilverBatch) -> None:
    """Put all open edges into as many buckets as there are now."""
    bucket = _bucket(batch.buckets)
    gold.change(table, f"part = '{OPEN}'", lambda rows: by_bucket(gold, rows.withColumn("bucket", bucket), *_FILES))


def _write(gold: TableFolder, table: Table, edges: DataFrame, where: str, bucket: Column) -> None:
    """Replace edges among the rows for which `where` holds.

    These are open ones of the buckets that change, and closed ones whose history is another one; else closed ones are
    only added. bucket: the bucket of a row after the batch.
    """
    fresh = edges.where("NOT gone").select(*table.columns)

    def become(rows: DataFrame) -> DataFrame:
        others = rows.join(edges.select("edge_key"), "edge_key", "left_anti").withColumn("bucket", bucket)
        return by_bucket(gold, others.select(*table.columns).unionByName(fresh), *_FILES)

    gold.change(table, where, become)


def _candidates(
    silver: TableFolder, batch: SilverBatch, changes: DataFrame, groups: DataFrame, *, anew: bool
) -> DataFrame:
    """Return the candidates that matter: those that counted before or count now and new ones; all of some groups."""
    columns = [name for name in GROUPED.columns if name in EDGE_SETS.columns]
    known = changes.select("group_key", "run_key")
    found = changes.where("NOT gone").select(*columns, "fresh")
    stays = batch.state.read(EDGE_SETS)
    if anew:
        closed = silver.read(EDGE_SETS).join(groups.where("whole").select("group_key"), "group_key", "left_semi")
        stays = silver.few(stays.unionByName(closed.select(*stays.columns)))
    stays = stays.join(known, ["group_key", "run_key"], "left_anti").withColumn("fresh", F.lit(False))
    found = silver.few(found.unionByName(stays.select(*found.columns))).join(groups, "group_key")
    empty = {"edge": F.lit(None).cast("string"), "kind": F.lit(VOTE)}
    return found.withColumns(empty).select(*GROUPED.columns)


def _rows(edges: DataFrame, kind: str, groups: DataFrame, *, anew: bool) -> DataFrame:
    """Return the rows that gold has of these groups: open ones, and all where a history is made anew."""
    found = edges.join(groups, "group_key") if anew else edges.where("part = 'open'").join(groups, "group_key")
    found = found.where("part = 'open' OR whole")
    micros = [F.unix_micros(name).alias(f"{name}_us") for name in _TIMES]
    ended = F.when(F.col("part") == CLOSED, F.unix_micros("valid_to")).alias("valid_to_us")
    rest = [name for name in KINDS[kind].columns if name not in _TIMES]
    again = [F.when(F.col("part") == OPEN, F.col(name)).alias(name) for name in ("more_runs", "again_us")]
    row = F.to_json(F.struct(*rest, micros[0], ended, micros[2], *again)).alias("edge")
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


def ended(generations: Generations) -> dict[Name, int]:
    """Return the generations that are gone now, and since when (us); one that never lived never was."""
    found: dict[Name, int] = {}
    for location in generations.touched():
        begun = dict(reversed(generations.ends(location)))
        before = location
        for time_us in sorted(begun):
            found[before] = time_us
            before = location._replace(generation=begun[time_us])
        found.pop(before, None)
        if not generations.stands(before):
            found[before] = max(begun)
    return found


def hide_ended(gone: DataFrame, gold: TableFolder, table: Table) -> None:
    """End the edges of generations that are gone now (`gone`), and let those of others go on."""
    edges = gold.read(table).where("part = 'open'")
    for side in ("source", "target"):
        names = {"dataset_namespace": f"{side}_namespace", "dataset_name": f"{side}_dataset"}
        ends = gone.withColumnsRenamed({**names, "generation": f"{side}_generation", "at": f"{side}_at"})
        edges = edges.join(gold.few(ends), [*names.values(), f"{side}_generation"], "left")
    at = F.least("source_at", "target_at")
    edges = edges.withColumn("ended", F.when(at.isNotNull(), F.greatest(at, "valid_from")))
    found = edges.where("NOT ended <=> valid_to")
    found = found.withColumns({"valid_to": F.col("ended"), "current": F.col("ended").isNull(), "gone": F.lit(False)})
    found, told = kept(found.select(*table.columns, "gone"), count=F.count("*"), buckets=texts(F.col("bucket")))
    if told["count"]:
        _write(gold, table, found, f"part = '{OPEN}' AND {in_buckets(json.loads(told['buckets']))}", F.col("bucket"))
