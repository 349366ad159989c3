"""One lake for all cases that are worked out by hand: each under names of its own, in two passes for all of them."""

from pathlib import Path
from random import Random

from pyspark.sql import SparkSession

from tests import newest_cases, test_lost_runs, test_reconcile_gold, test_spark_rule_cases
from tests.spark_lake import SparkLake

PASSES = 2


class LakeOfCases(SparkLake):
    """The lake, and what each pass made of the runs that comparisons speak of."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        super().__init__(spark, folder)
        self.findings: list[list[tuple[str, str | None]]] = []


def lake_of_cases(spark: SparkSession, folder: Path) -> LakeOfCases:
    """Build it; of each story one event in two is taken by the first pass."""
    lake = LakeOfCases(spark, folder)
    stories = [*test_spark_rule_cases.bodies(), newest_cases.shuffled(Random(0))]
    lost, compared = list(test_lost_runs.events()), test_reconcile_gold.told()
    for number in range(PASSES):
        lake.world.append(*lost[number::PASSES])
        lake.parse()  # before the others are made older
        lake.store([*(body for story in stories for body in story[number::PASSES]), *compared[number]])
        lake.build()
        lake.findings.append(test_reconcile_gold.findings(lake))
    return lake
