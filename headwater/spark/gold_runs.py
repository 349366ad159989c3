"""`run_health` and `hourly_stats`: built-in aggregation, the rules have spoken before."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.lost import lost_sql
from headwater.lineage.user_rules import UserRules
from headwater.spark.delta import Folder, keep
from headwater.spark.ranges import prefixes, ranges
from headwater.tables import HOURLY_STATS, RUN_HEALTH, RUNS

LATE_S = 3600
"""A run is late if one of its events came so long after its time."""

_JOB = ["job_namespace", "job_name"]


def write_runs(silver: Folder, gold: Folder, rules: UserRules, after: int) -> None:
    """Take runs that changed behind batch `after`, and runs that are lost by now."""
    runs = silver.read(RUNS).where((F.col("batch") > after) & (F.col("kind") == "RUN"))
    fresh = runs.select(
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
        ((F.unix_micros("ended_at") - F.unix_micros("started_at")) / 1000).cast("bigint").alias("duration_ms"),
        "late_s",
        (F.col("late_s") > LATE_S).alias("late"),
        "events",
        "landed",
        F.lit(rules.rules_hash).alias("rules_hash"),
    )
    known = gold.read(RUN_HEALTH).where("NOT ended").join(fresh, "run_key", "left_anti")
    lost = F.expr(lost_sql("unix_micros(last_event_at)", "unix_micros(current_timestamp())"))
    found = fresh.withColumn("state", F.when(lost, "LOST").otherwise(F.col("state")))
    found = keep(found.unionByName(known.where(lost).withColumn("state", F.lit("LOST")).select(*found.columns)))
    begins = found.agg(prefixes("run_key")).collect()[0][0]
    if begins:
        _write_hours(gold, rules, found, begins)
        gold.merge(RUN_HEALTH, found, ["run_key"], only=ranges("t.run_key", begins))


def _write_hours(gold: Folder, rules: UserRules, fresh: DataFrame, begins: Sequence[str]) -> None:
    """Count anew the hours that runs come to or leave; first, because `run_health` knows the hour that a run leaves."""
    stored = gold.read(RUN_HEALTH)
    before = stored.where(ranges("run_key", begins)).join(fresh.select("run_key"), "run_key", "left_semi")
    hours = fresh.select("hour").unionByName(before.select("hour")).agg(F.collect_set("hour")).collect()[0][0]
    if not hours:
        return
    others = stored.where(F.col("hour").isin(hours)).join(fresh.select("run_key"), "run_key", "left_anti")
    runs = others.unionByName(fresh.where(F.col("hour").isin(hours)))

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
    found = found.withColumns({"rules_hash": F.lit(rules.rules_hash), "gone": F.lit(False)})
    key = ["hour", *_JOB]
    empty = gold.read(HOURLY_STATS).where(F.col("hour").isin(hours)).join(found, key, "left_anti")
    rows = found.unionByName(empty.withColumn("gone", F.lit(True)).select(*found.columns))
    among = ", ".join(f"timestamp_micros({int(hour.timestamp()) * 1_000_000})" for hour in hours)
    gold.merge(HOURLY_STATS, rows, key, only=f"t.hour IN ({among})")
