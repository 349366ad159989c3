"""`masking_surface` and `unused_columns`: asked of the whole graph as it is now."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.user_rules import UserRules
from headwater.spark.answers import ANSWERS, Answers
from headwater.spark.arrow import map_rows
from headwater.spark.delta import Folder, keep, spark_schema
from headwater.spark.graph import VOTE_COLUMNS
from headwater.spark.naming import naming_of
from headwater.tables import BINDINGS, DATASETS, EDGE_SETS, MASKING_SURFACE, UNUSED_COLUMNS, Table

COUNTING = "part = 'open' AND NOT retracted"
"""Rows of `edge_sets` that may count now."""

_INPUT = Table("votes_and_datasets", {**EDGE_SETS.columns, **DATASETS.columns})

_ORDER = (
    "layer", "job_namespace", "job_name", "dataset_namespace", "dataset_name", "generation", "time_us", "tie",
    "run_key",
)  # fmt: skip
"""Of an output's votes, and of datasets: of two answers that are as good, always the same one is given."""


def write_answers(silver: Folder, gold: Folder, rules: UserRules) -> None:
    """Ask once for all tags and datasets; one worker holds the graph, at about 25 bytes an edge."""
    rows = counting(silver.read(EDGE_SETS).where(COUNTING), silver.read(DATASETS))
    answers = keep(map_rows(rows, Answers(rules, naming_of(silver.read(BINDINGS))), ANSWERS))
    stamped = answers.withColumn("rules_hash", F.lit(rules.rules_hash))
    gold.overwrite(MASKING_SURFACE, stamped.where("tag IS NOT NULL"))
    gold.overwrite(UNUSED_COLUMNS, stamped.where("tag IS NULL"))


def counting(votes: DataFrame, datasets: DataFrame) -> DataFrame:
    """Return rows for `graph.Now`: of `edge_sets` and of `datasets`, in one partition and in order.

    Also of a generation from before datasets had any, which notebooks read until the next one is built.
    """
    first = {"generation": F.expr("coalesce(generation, '')")}
    times = {name: F.coalesce(name, "time_us") for name in ("started_us", "last_us")}
    types = {field.name: field.dataType for field in spark_schema(_INPUT)}
    both = [
        side.select(
            *(
                F.col(name) if name in side.columns else F.lit(None).cast(types[name]).alias(name)
                for name in VOTE_COLUMNS
            )
        )
        for side in (votes.withColumns(first | times), datasets.withColumns(first))
    ]
    return both[0].unionByName(both[1]).coalesce(1).sortWithinPartitions(F.asc_nulls_first("output_key"), *_ORDER)
