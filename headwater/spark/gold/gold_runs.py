"""`run_health` and `hourly_stats`: built-in aggregation, the rules have spoken before."""

import json
from collections.abc import Sequence, Set

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.runs.lost_runs import ENDED, lost_sql
from headwater.spark.delta.ranges import begin, ranges
from headwater.spark.delta.spark_delta import TableFolder, kept, texts
from headwater.spark.gold.run_findings import finding_of, found_of_runs
from headwater.spark.silver.silver_batch import SilverBatch
from headwater.tables import HOURLY_STATS, RUN_HEALTH

LATE_S = 3600
"""A run is late if one of its events came so long after its time."""

_JOB = ["job_namespace", "job_name"]


def write_runs(gold: TableFolder, rules: UserRules, batch: SilverBatch | None) -> bool:
    """Take runs that a batch changes (None: there is none), and runs that are lost by now; tells if there were any."""
    lost = F.expr(lost_sql("unix_micros(last_event_at)", "unix_micros(current_timestamp())"))
    due = F.expr("NOT ended") & lost
    findings = found_of_runs(batch.folder, batch.state, compared=batch.compared) if batch else {}
    if batch is not None and batch.compared:
        due |= F.col("finding").isNotNull() | F.col("run_key").isin([*findings])
    stored = gold.read(RUN_HEALTH)
    rows = stored.where(due).withColumn("silent", F.lit(True))
    if batch is not None:
        fresh = _health(batch.derived.where("kind = 'RUN'"), rules).withColumn("silent", F.lit(False))
        rows = rows.unionByName(_below(stored, fresh).withColumn("silent", F.lit(True))).dropDuplicates(["run_key"])
        rows = gold.few(rows.join(fresh, "run_key", "left_anti").unionByName(fresh))
        rows = with_ended(rows, stored.join(fresh, "run_key", "left_anti").unionByName(fresh.drop("silent")))
        rows = rows.withColumn("finding", finding_of("run_key", findings))
    found, told = kept(
        rows.withColumn("state", F.when(lost, "LOST").otherwise(F.col("state"))),
        count=F.count("*"),
        hours=texts(F.unix_seconds("hour")),
        silent=texts(F.when(F.col("silent"), begin("run_key"))),
    )
    if told["count"]:
        replaced = [*json.loads(told["silent"]), *(batch.replaced if batch else ())]
        _write_hours(gold, rules, found, set(json.loads(told["hours"])), replaced)
        _write_health(gold, found, replaced)
    return bool(told["count"])


def _above(runs: DataFrame) -> DataFrame:
    """Return the batch runs without an end, each with its parent and its root run."""
    open_runs = runs.where("NOT ended AND processing = 'BATCH'")
    return open_runs.select("run_key", F.explode(F.array("parent_run", "execution")).alias("above")).where(
        "above <> run_key"
    )


def _below(stored: DataFrame, fresh: DataFrame) -> DataFrame:
    """Return the stored runs without an end whose parent or root run is among the fresh ones."""
    changed = fresh.select(F.col("run_key").alias("above"))
    return stored.join(_above(stored).join(changed, "above", "left_semi"), "run_key", "left_semi")


def with_ended(rows: DataFrame, every: DataFrame) -> DataFrame:
    """Give runs without an end the state `ENDED` if they ended with their parent or root run (rule 1.9), else RUNNING.

    every: all runs, as they are after this batch.
    """
    ends = every.where("ended").select(F.col("run_key").alias("above"), "ended_at")
    last = _above(rows).join(ends, "above").groupBy("run_key").agg(F.max("ended_at").alias("above_ended_at"))
    state = (
        f"CASE WHEN above_ended_at >= last_event_at THEN '{ENDED}' "
        f"WHEN NOT ended AND state IN ('{ENDED}', 'LOST') THEN 'RUNNING' ELSE state END"
    )
    return rows.join(last, "run_key", "left").withColumn("state", F.expr(state)).drop("above_ended_at")


def _write_health(gold: TableFolder, found: DataFrame, replaced: Sequence[str]) -> None:
    if not replaced:
        return gold.append(RUN_HEALTH, found)

    def become(rows: DataFrame) -> DataFrame:
        others = rows.join(found.select("run_key"), "run_key", "left_anti")
        return gold.few(others.unionByName(found.select(*others.columns)))

    return gold.change(RUN_HEALTH, ranges("run_key", replaced), become)


def _health(runs: DataFrame, rules: UserRules) -> DataFrame:
    return runs.select(
        "run_key",
        *_JOB,
        "execution",
        "parent_run",
        "state",
        "processing",
        F.col("ended_at").isNotNull().alias("ended"),
        F.date_trunc("hour", F.coalesce("ended_at", "started_at")).alias("hour"),
        "started_at",
        "ended_at",
        "last_event_at",
        F.when(F.col("ended_at") > F.col("started_at"), _took_ms()).alias("duration_ms"),
        "late_s",
        (F.col("late_s") > LATE_S).alias("late"),
        "events",
        "landed",
        F.lit(None).cast("string").alias("finding"),
        F.lit(rules.rules_hash).alias("rules_hash"),
    )


def _took_ms() -> Column:
    return ((F.unix_micros("ended_at") - F.unix_micros("started_at")) / 1000).cast("bigint")


def _write_hours(
    gold: TableFolder, rules: UserRules, fresh: DataFrame, hours: Set[int], replaced: Sequence[str]
) -> None:
    """Count anew the hours that runs come to or leave; first, because `run_health` knows the hour that a run leaves.

    hours: those of `fresh`, in seconds; replaced: what the keys of runs begin with that were there before.
    """
    stored = gold.read(RUN_HEALTH)
    if replaced:
        before = stored.where(ranges("run_key", replaced)).join(fresh.select("run_key"), "run_key", "left_semi")
        hours |= {row[0] for row in before.select(F.unix_seconds("hour")).distinct().collect() if row[0] is not None}
    if not hours:
        return
    among = f"hour IN ({', '.join(f'timestamp_seconds({hour})' for hour in sorted(hours))})"
    others = stored.where(among).join(fresh.select("run_key"), "run_key", "left_anti")
    runs = gold.few(others.unionByName(fresh.where(among).select(*others.columns)))

    def count(state: str) -> Column:
        return F.count(F.when(F.expr(state), 1))

    found = runs.groupBy("hour", *_JOB).agg(
        F.count("*").alias("runs"),
        count("state = 'COMPLETE'").alias("complete"),
        count("state IN ('FAIL', 'ABORT')").alias("failed"),
        count("state = 'LOST'").alias("lost"),
        count(f"state = '{ENDED}'").alias("ended"),
        count("state = 'RUNNING'").alias("running"),
        count("late").alias("late"),
        F.sum("events").alias("events"),
        F.avg("duration_ms").cast("bigint").alias("mean_duration_ms"),
        F.max("duration_ms").alias("max_duration_ms"),
    )
    gold.change(HOURLY_STATS, among, lambda _: found.withColumn("rules_hash", F.lit(rules.rules_hash)))
