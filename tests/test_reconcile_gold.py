"""Gold's `run_health` says what the newest comparison found of a run."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.questions.answers.report_answers import Finding, FindingKind
from headwater.reconcile.finding_event import finding_event
from headwater.reconcile.histories.history_entry import HistorySpan
from headwater.tables import RUN_HEALTH
from tests.reconciling import run_events
from tests.spark_lake import SparkLake
from tests.spark_noise import SPARK_NOISE

pytestmark = [*SPARK_NOISE, pytest.mark.slow, pytest.mark.timeout(900)]

BEGAN_US = 1_772_000_000_000_000
NOTHING: FindingKind = "committed_nothing"
NEVER: FindingKind = "never_ended"
SILENT: FindingKind = "no_datasets"
RUNS = [f"0193a2b4-0000-7000-8000-{number:012}" for number in range(5)]


def compared(minute: int, *found: tuple[FindingKind, str], name: str = "nightly") -> bytes:
    findings = [
        Finding(kind=kind, certain=True, name="x", time="2026-03-01T12:00:00Z", reason="r", advice="a", run=run.upper())
        for kind, run in found
    ]
    return finding_event(name, findings, HistorySpan(0, BEGAN_US + minute * 60_000_000))


def test_gold_says_what_was_found_of_a_run_until_its_next_comparison_says_otherwise(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = SparkLake(spark, tmp_path)

    def found_behind(*bodies: bytes) -> list[str | None]:
        lake.store(bodies)
        lake.build()
        rows = lake.read("gold", RUN_HEALTH).where("job_namespace = 'jobs'").orderBy("run_key").collect()
        assert [row.run_key for row in rows] == RUNS
        return [row.finding for row in rows]

    ran = [body for run in RUNS for body in run_events("load", BEGAN_US, BEGAN_US + 1_000_000, run=run)]
    nightly = compared(1, (NOTHING, RUNS[0]), (NEVER, RUNS[1]), ("commit_without_run", RUNS[4]))
    assert found_behind(*ran, nightly, compared(1, (SILENT, RUNS[2]), name="hourly")) == [
        NOTHING, NEVER, SILENT, None, None,
    ]  # fmt: skip
    said_more = run_events("load", BEGAN_US + 5, None, run=RUNS[0])
    other = compared(2, (SILENT, RUNS[1]), (SILENT, RUNS[3]), name="other")
    assert found_behind(*said_more, other, compared(3, name="hourly")) == [NOTHING, NEVER, None, SILENT, None]
