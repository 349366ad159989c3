"""`masking_surface` and `unused_columns`: asked of the whole graph as it is now."""

from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.user_rules import UserRules
from headwater.spark.arrow import map_rows
from headwater.spark.delta import Folder, keep, spark_schema
from headwater.spark.graph import ANSWERS, VOTE_COLUMNS, Answers
from headwater.tables import DATASETS, EDGE_SETS, MASKING_SURFACE, UNUSED_COLUMNS, Table

_INPUT = Table(
    "votes_and_datasets",
    {**EDGE_SETS.columns, **DATASETS.columns},
)

_ORDER = ("layer", "job_namespace", "job_name", "dataset_namespace", "dataset_name", "time_us", "tie", "run_key")
"""Of an output's votes, and of datasets: of two answers that are as good, always the same one is given."""


def write_answers(silver: Folder, gold: Folder, rules: UserRules) -> None:
    """Ask once for all tags and datasets; one worker holds the graph, at about 25 bytes an edge."""
    votes = silver.read(EDGE_SETS).where("part = 'open' AND NOT retracted")
    types = {field.name: field.dataType for field in spark_schema(_INPUT)}
    sides = (votes, silver.read(DATASETS))
    both = [
        side.select(
            *(
                F.col(name) if name in side.columns else F.lit(None).cast(types[name]).alias(name)
                for name in VOTE_COLUMNS
            )
        )
        for side in sides
    ]
    rows = both[0].unionByName(both[1]).coalesce(1).sortWithinPartitions(F.asc_nulls_first("output_key"), *_ORDER)
    answers = keep(map_rows(rows, Answers(rules), ANSWERS))
    stamped = answers.withColumn("rules_hash", F.lit(rules.rules_hash))
    gold.overwrite(MASKING_SURFACE, stamped.where("tag IS NOT NULL"))
    gold.overwrite(UNUSED_COLUMNS, stamped.where("tag IS NULL"))
