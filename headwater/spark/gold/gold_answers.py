"""Write `masking_surface`, computed from the whole graph."""

from collections.abc import Mapping

from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.rules.user_rules import UserRules
from headwater.spark.delta.arrow_rows import map_rows
from headwater.spark.delta.spark_delta import TableFolder, checkpoint_with_aggregates
from headwater.spark.gold.graph_answers import SURFACES, Surfaces
from headwater.spark.gold.snapshot_rows import sorted_rows
from headwater.spark.silver.silver_batch import SilverBatch
from headwater.tables import DATASETS, EDGE_SETS, MASKING_SURFACE


def write_surface(
    gold: TableFolder, rules: UserRules, batch: SilverBatch, before: Mapping[str, str]
) -> Mapping[str, str]:
    """Compute the surfaces of all tags and write them if their hash changed. Returns the hash by table name.

    One worker holds the graph, with 1.2 to 1.6 KB for each edge. before: the hash by table name at the last write.
    """
    rows = sorted_rows(batch.state.read(EDGE_SETS), batch.state.read(DATASETS))
    step = Surfaces(rules, batch.naming, batch.newest_us, batch.partitioned_names, batch.removed_before_us)
    row = F.xxhash64(F.to_json(F.struct(*SURFACES.columns)))
    answers, sums = checkpoint_with_aggregates(
        map_rows(rows, step, SURFACES), masking_surface=F.concat_ws("/", F.count("*"), F.bit_xor(row))
    )
    if sums[MASKING_SURFACE.name] != before.get(MASKING_SURFACE.name):
        gold.overwrite(MASKING_SURFACE, answers.withColumn("rules_hash", F.lit(rules.rules_hash)))
    return sums
