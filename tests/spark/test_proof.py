"""Removing information from an event never makes an answer of gold safer."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.proof.open_points import open_pairs
from tests.proof.spark_judge import SparkJudge, bodies, placed_variants
from tests.support.spark.spark_lake import SparkLake
from tests.support.spark.spark_noise import SPARK_NOISE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.spark.spark_cases import LakeOfCases

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), *SPARK_NOISE]

MANY = range(6, 320)


def test_no_answer_of_gold_is_safer_than_the_events_prove(lake_of_cases: "LakeOfCases") -> None:
    from tests.support.spark.spark_cases import PROOF

    assert_safe(lake_of_cases, PROOF)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_no_answer_of_gold_is_safer_in_any_of_many_worlds(spark: "SparkSession", tmp_path: Path) -> None:
    lake = SparkLake(spark, tmp_path)
    lake.store(body for world in bodies(placed_variants(MANY)) for body in world)
    lake.build()
    assert_safe(lake, MANY)


def assert_safe(lake: SparkLake, numbers: range) -> None:
    """Hold the kinds that are not listed as open."""
    placed = placed_variants(numbers)
    tally = SparkJudge(lake).campaign(placed)
    found = {kind: violations for kind, violations in tally.violations.items() if kind not in open_pairs()}
    assert [str(violations[0]) for violations in found.values()] == [], f"\n{tally}"
    assert any(tally.effective.values())
