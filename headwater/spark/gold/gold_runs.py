"""Write `run_health` and `hourly_stats` from the runs of silver, with aggregations of Spark."""

import json
from collections.abc import Sequence, Set

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.runs.lost_runs import ENDED, lost_run_condition
from headwater.spark.delta.ranges import key_prefix, prefix_condition
from headwater.spark.delta.spark_delta import TableFolder, checkpoint_with_aggregates, distinct_values_json
from headwater.spark.gold.run_findings import finding_column, worst_findings_by_run
from headwater.spark.silver.silver_batch import SilverBatch
from headwater.tables import HOURLY_STATS, RUN_HEALTH

LATE_S = 3600
"""A run is late if one of its events arrived more than this many seconds after its event time."""

_JOB = ["job_namespace", "job_name"]


def write_runs(gold: TableFolder, rules: UserRules, batch: SilverBatch | None) -> bool:
    """Write the health of the runs that a batch changes, and of runs that have become LOST since the last batch.

    Returns whether any run changed. batch: None if there are no new events.
    """
    lost = F.expr(lost_run_condition("unix_micros(last_event_at)", "unix_micros(current_timestamp())"))
    due = F.expr("NOT ended") & lost
    findings = worst_findings_by_run(batch.folder, batch.state, has_comparison=batch.has_comparison) if batch else {}
    if batch is not None and batch.has_comparison:
        due |= F.col("finding").isNotNull() | F.col("run_key").isin([*findings])
    stored = gold.read(RUN_HEALTH)
    rows = stored.where(due).withColumn("has_no_new_events", F.lit(True))
    if batch is not None:
        fresh = _health_rows(batch.derived.where("kind = 'RUN'"), rules).withColumn("has_no_new_events", F.lit(False))
        rows = rows.unionByName(
            _runs_with_parent_or_root_in(stored, fresh).withColumn("has_no_new_events", F.lit(True))
        ).dropDuplicates(["run_key"])
        rows = gold.coalesce_if_small(rows.join(fresh, "run_key", "left_anti").unionByName(fresh))
        rows = with_ended_state(
            rows, stored.join(fresh, "run_key", "left_anti").unionByName(fresh.drop("has_no_new_events"))
        )
        rows = rows.withColumn("finding", finding_column("run_key", findings))
    found, aggregates = checkpoint_with_aggregates(
        rows.withColumn("state", F.when(lost, "LOST").otherwise(F.col("state"))),
        count=F.count("*"),
        hours=distinct_values_json(F.unix_seconds("hour")),
        has_no_new_events=distinct_values_json(F.when(F.col("has_no_new_events"), key_prefix("run_key"))),
    )
    if aggregates["count"]:
        replaced = [*json.loads(aggregates["has_no_new_events"]), *(batch.replaced if batch else ())]
        _write_hours(gold, rules, found, set(json.loads(aggregates["hours"])), replaced)
        _write_health(gold, found, replaced)
    return bool(aggregates["count"])


def _parent_and_root_runs(runs: DataFrame) -> DataFrame:
    """Return (`run_key`, `above`) for batch runs without an end event: one row for the parent, one for the root run."""
    open_runs = runs.where("NOT ended AND processing = 'BATCH'")
    return open_runs.select("run_key", F.explode(F.array("parent_run", "execution")).alias("above")).where(
        "above <> run_key"
    )


def _runs_with_parent_or_root_in(stored: DataFrame, fresh: DataFrame) -> DataFrame:
    """Return the stored runs without an end event that have a parent or root run in `fresh`."""
    changed = fresh.select(F.col("run_key").alias("above"))
    return stored.join(_parent_and_root_runs(stored).join(changed, "above", "left_semi"), "run_key", "left_semi")


def with_ended_state(rows: DataFrame, every: DataFrame) -> DataFrame:
    """Set the state of runs without an end event, in the column `state`.

    The state is `ENDED` if the run's parent or root run has ended after the run's last event (rule 1.9), else
    `RUNNING`. rows: the runs to change. every: all runs after this batch.
    """
    ends = every.where("ended").select(F.col("run_key").alias("above"), "ended_at")
    last = (
        _parent_and_root_runs(rows)
        .join(ends, "above")
        .groupBy("run_key")
        .agg(F.max("ended_at").alias("above_ended_at"))
    )
    state = (
        f"CASE WHEN above_ended_at >= last_event_at THEN '{ENDED}' "
        f"WHEN NOT ended AND state IN ('{ENDED}', 'LOST') THEN 'RUNNING' ELSE state END"
    )
    return rows.join(last, "run_key", "left").withColumn("state", F.expr(state)).drop("above_ended_at")


def _write_health(gold: TableFolder, found: DataFrame, replaced: Sequence[str]) -> None:
    if not replaced:
        return gold.append(RUN_HEALTH, found)

    def replacement(rows: DataFrame) -> DataFrame:
        others = rows.join(found.select("run_key"), "run_key", "left_anti")
        return gold.coalesce_if_small(others.unionByName(found.select(*others.columns)))

    return gold.replace_rows(RUN_HEALTH, prefix_condition("run_key", replaced), replacement)


def _health_rows(runs: DataFrame, rules: UserRules) -> DataFrame:
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
        F.when(F.col("ended_at") > F.col("started_at"), _duration_ms()).alias("duration_ms"),
        "late_s",
        (F.col("late_s") > LATE_S).alias("late"),
        "events",
        "landed",
        F.lit(None).cast("string").alias("finding"),
        F.lit(rules.rules_hash).alias("rules_hash"),
    )


def _duration_ms() -> Column:
    return ((F.unix_micros("ended_at") - F.unix_micros("started_at")) / 1000).cast("bigint")


def _write_hours(
    gold: TableFolder, rules: UserRules, fresh: DataFrame, hours: Set[int], replaced: Sequence[str]
) -> None:
    """Compute the statistics of the hours to which changed runs belong, before or after the batch.

    Call this function before `_write_health`, which overwrites the previous hours of the runs.

    fresh: the changed runs. hours: the hours of these runs, in seconds since 1970. replaced: prefixes of the keys of
    runs that were stored before the batch.
    """
    stored = gold.read(RUN_HEALTH)
    if replaced:
        before = stored.where(prefix_condition("run_key", replaced)).join(
            fresh.select("run_key"), "run_key", "left_semi"
        )
        hours |= {row[0] for row in before.select(F.unix_seconds("hour")).distinct().collect() if row[0] is not None}
    if not hours:
        return
    among = f"hour IN ({', '.join(f'timestamp_seconds({hour})' for hour in sorted(hours))})"
    others = stored.where(among).join(fresh.select("run_key"), "run_key", "left_anti")
    runs = gold.coalesce_if_small(others.unionByName(fresh.where(among).select(*others.columns)))

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
    gold.replace_rows(HOURLY_STATS, among, lambda _: found.withColumn("rules_hash", F.lit(rules.rules_hash)))
