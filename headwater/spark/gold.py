"""Gold: what silver changed, as tables of answers; the edges go on where they stood, the rest is asked anew."""

from functools import partial

from pyspark.sql import SparkSession

from headwater.errors import WrongSetting
from headwater.lineage.user_rules import UserRules
from headwater.spark.delta import together
from headwater.spark.generations import beside, current, switch
from headwater.spark.gold_answers import write_answers
from headwater.spark.gold_edges import write_edges
from headwater.spark.gold_runs import write_runs
from headwater.spark.positions import Position, read_position, write_position
from headwater.spark.silver import LAYER as SILVER_LAYER
from headwater.tables import GOLD, SILVER

LAYER = "gold"


def build_gold(spark: SparkSession, lake: str, rules: UserRules, *, rebuild: bool = False) -> int:
    """Bring gold up to silver; returns the number of silver batches taken.

    Gold of another generation of silver, or of other rules, is built beside the old one, then switched to.
    """
    silver = current(spark, lake, SILVER_LAYER, SILVER)
    if silver is None or silver[1] != rules.rules_hash:
        what = "There is no silver" if silver is None else "Silver was built by other rules"
        raise WrongSetting(f"{what} in {lake}. Run `headwater spark silver` first.")
    folder, _ = silver
    generation = folder.root.rpartition("/")[2]
    found = current(spark, lake, LAYER, GOLD)
    of_these = f"{rules.rules_hash}/{generation}"
    goes_on = found is not None and found[1] == of_these and not rebuild
    gold = found[0] if found and goes_on else beside(spark, lake, LAYER, GOLD, of_these, anew=rebuild)
    at, reached = read_position(gold), read_position(folder)
    if at.batch < reached.batch:
        together(
            partial(write_edges, folder, gold, rules, at.batch, reached.batch),
            partial(write_answers, folder, gold, rules),
            partial(write_runs, folder, gold, rules, at.batch),
        )
        write_position(gold, Position(reached.batch, reached.sequences), rules.rules_hash)
    else:
        write_runs(folder, gold, rules, at.batch)  # time alone loses runs
    if not goes_on:
        switch(gold, of_these)
    return reached.batch - at.batch
