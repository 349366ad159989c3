"""`masking_surface` and `unused_columns`: asked of the whole graph as it is now."""

from collections.abc import Mapping
from functools import partial

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.rules.user_rules import UserRules
from headwater.spark.delta.arrow_rows import map_rows
from headwater.spark.delta.spark_delta import TableFolder, kept, spark_schema, together
from headwater.spark.gold.graph_answers import ANSWERS, Answers
from headwater.spark.gold.snapshot_of_rows import VOTE_COLUMNS
from headwater.spark.silver.silver_batch import SilverBatch
from headwater.tables import DATASETS, EDGE_SETS, MASKING_SURFACE, UNUSED_COLUMNS, Table

_INPUT = Table("votes_and_datasets", {**EDGE_SETS.columns, **DATASETS.columns})

_ORDER = (
    "layer", "job_namespace", "job_name", "dataset_namespace", "dataset_name", "generation", "time_us", "tie",
    "run_key",
)  # fmt: skip
"""Of an output's candidates, and of datasets: of two answers that are as good, always the same one is given."""


def write_answers(
    gold: TableFolder, rules: UserRules, batch: SilverBatch, before: Mapping[str, str]
) -> Mapping[str, str]:
    """Ask once for all tags and datasets; one worker holds the graph, at about 25 bytes an edge.

    before: by table what its rows came to when it was written last; it is written where they come to something else.
    Returns what they come to now.
    """
    rows = counting(batch.state.read(EDGE_SETS), batch.state.read(DATASETS))
    parts = ((MASKING_SURFACE, F.col("tag").isNotNull()), (UNUSED_COLUMNS, F.col("tag").isNull()))
    ask = Answers(rules, batch.naming, batch.newest_us, batch.parted, batch.removed_before_us)
    answers, sums = kept(
        map_rows(rows, ask, ANSWERS),
        **{table.name: _sum(part) for table, part in parts},
    )
    changed = [(table, part) for table, part in parts if sums[table.name] != before.get(table.name)]
    stamped = answers.withColumn("rules_hash", F.lit(rules.rules_hash))
    together(*(partial(gold.overwrite, table, stamped.where(part)) for table, part in changed))
    return sums


def _sum(part: Column) -> Column:
    """Return an aggregate that rows come to in any order: how many there are, and a hash over all."""
    row = F.when(part, F.xxhash64(F.to_json(F.struct(*ANSWERS.columns))))
    return F.concat_ws("/", F.count(row), F.bit_xor(row))


def counting(candidates: DataFrame, datasets: DataFrame) -> DataFrame:
    """Return rows for `snapshot_of_rows.SnapshotOfRows`: edge sets, then datasets, in one partition and in order.

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
        for side in (candidates.withColumns(first | times), datasets.withColumns(first))
    ]
    return both[0].unionByName(both[1]).coalesce(1).sortWithinPartitions(F.asc_nulls_first("output_key"), *_ORDER)
