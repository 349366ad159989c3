"""`run_health` and `hourly_stats`: built-in aggregation, the rules have spoken before."""

import json
from collections.abc import Sequence, Set

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.runs.lost_runs import lost_sql
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
    rows = gold.read(RUN_HEALTH).where(due).withColumn("silent", F.lit(True))
    if batch is not None:
        fresh = _health(batch.derived.where("kind = 'RUN'"), rules).withColumn("silent", F.lit(False))
        rows = gold.few(rows.join(fresh, "run_key", "left_anti").unionByName(fresh))
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
        count("state = 'RUNNING'").alias("running"),
        count("late").alias("late"),
        F.sum("events").alias("events"),
        F.avg("duration_ms").cast("bigint").alias("mean_duration_ms"),
        F.max("duration_ms").alias("max_duration_ms"),
    )
    gold.change(HOURLY_STATS, among, lambda _: found.withColumn("rules_hash", F.lit(rules.rules_hash)))
