"""Gold's `run_health` contains the newest comparison's finding for each run."""

from typing import TYPE_CHECKING

import pytest

from headwater.governance.reconcile.events import finding_event
from headwater.governance.reconcile.histories.entry import HistorySpan
from headwater.questions.answer_types.reports import Finding, FindingKind
from headwater.tables import RUN_HEALTH
from tests.support.data.reconcile_world import run_events
from tests.support.spark.spark_lake import SparkLake
from tests.support.spark.spark_noise import SPARK_NOISE

if TYPE_CHECKING:
    from tests.support.spark.spark_cases import LakeOfCases

pytestmark = [*SPARK_NOISE, pytest.mark.slow, pytest.mark.timeout(1800)]  # the lake covers all of it

BEGAN_US = 1_772_000_000_000_000
NOTHING: FindingKind = "committed_nothing"
NEVER: FindingKind = "never_ended"
SILENT: FindingKind = "no_datasets"
JOB = "compared"
"""Only these runs are checked, because other tests share the lake."""

RUNS = [f"0193a2b4-0000-7000-8000-{number:012}" for number in range(5)]


def compared(minute: int, *found: tuple[FindingKind, str], name: str = "nightly") -> bytes:
    findings = [
        Finding(kind=kind, certain=True, name="x", time="2026-03-01T12:00:00Z", reason="r", advice="a", run=run.upper())
        for kind, run in found
    ]
    return finding_event(name, findings, HistorySpan(0, BEGAN_US + minute * 60_000_000))


def told() -> tuple[list[bytes], list[bytes]]:
    """Return the events of each of two passes."""
    ran = [body for run in RUNS for body in run_events(JOB, BEGAN_US, BEGAN_US + 1_000_000, run=run)]
    nightly = compared(1, (NOTHING, RUNS[0]), (NEVER, RUNS[1]), ("commit_without_run", RUNS[4]))
    said_more = run_events(JOB, BEGAN_US + 5, None, run=RUNS[0])
    other = compared(2, (SILENT, RUNS[1]), (SILENT, RUNS[3]), name="other")
    return (
        [*ran, nightly, compared(1, (SILENT, RUNS[2]), name="hourly")],
        [*said_more, other, compared(3, name="hourly")],
    )


def findings(lake: SparkLake) -> list[tuple[str, str | None]]:
    """Return gold's findings for the runs."""
    rows = lake.read("gold", RUN_HEALTH).where(f"job_name = '{JOB}'").orderBy("run_key").collect()
    return [(row.run_key, row.finding) for row in rows]


def test_gold_says_what_was_found_of_a_run_until_its_next_comparison_says_otherwise(
    lake_of_cases: "LakeOfCases",
) -> None:
    wanted = [NOTHING, NEVER, SILENT, None, None], [NOTHING, NEVER, None, SILENT, None]
    assert lake_of_cases.findings == [list(zip(RUNS, each, strict=True)) for each in wanted]
