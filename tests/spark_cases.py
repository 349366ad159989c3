"""One lake for all cases that are worked out by hand: each under names of its own, in two passes for all of them."""

from pathlib import Path
from random import Random

from pyspark.sql import SparkSession

from tests import newest_cases, test_lost_runs, test_spark_rule_cases
from tests.spark_lake import SparkLake

PASSES = 2


def lake_of_cases(spark: SparkSession, folder: Path) -> SparkLake:
    """Build it; of each story one event in two is taken by the first pass."""
    lake = SparkLake(spark, folder)
    stories = [*test_spark_rule_cases.bodies(), newest_cases.shuffled(Random(0))]
    lost = list(test_lost_runs.events())
    for number in range(PASSES):
        lake.world.append(*lost[number::PASSES])
        lake.parse()  # before the others are made older
        lake.store(body for story in stories for body in story[number::PASSES])
        lake.build()
    return lake
