"""Silver: bronze events to runs, datasets and votes, a batch at a time; other rules than before are built beside."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.errors import WrongSetting
from headwater.lineage.user_rules import UserRules
from headwater.spark.batch import Batch
from headwater.spark.delta import Folder
from headwater.spark.generations import beside, current, switch
from headwater.spark.positions import Position, beyond, limited, read_position, write_position
from headwater.tables import EVENTS, SILVER

LAYER = "silver"
BATCH_EVENTS = 100_000
"""Events taken at a time: what a batch must hold is bounded, however much has piled up."""


def build_silver(
    spark: SparkSession, lake: str, rules: UserRules, *, rebuild: bool = False, batch_events: int = BATCH_EVENTS
) -> int:
    """Bring silver up to bronze; returns the number of events taken. A second call finds nothing to do.

    Silver of other rules, or of older code, stays in force until all of bronze has been taken by these, beside it; a
    run that was cut off before is gone on with. lake: folder or URI that holds `bronze`; rebuild: in any case, anew.
    """
    bronze_events(spark, lake)
    found = current(spark, lake, LAYER, SILVER)
    goes_on = found is not None and found[1] == rules.rules_hash and not rebuild
    folder = found[0] if found and goes_on else beside(spark, lake, LAYER, SILVER, rules.rules_hash, anew=rebuild)
    taken = 0
    while events := take_batch(folder, lake, rules, batch_events):
        taken += events
    if not goes_on:
        switch(folder, rules.rules_hash)
    return taken


def take_batch(folder: Folder, lake: str, rules: UserRules, batch_events: int) -> int:
    """Take the next events into silver; returns how many, 0 if there are none."""
    position = read_position(folder)
    bronze = bronze_events(folder.spark, lake)
    events, ends = limited(beyond(bronze, position), batch_events)
    if not ends:
        return 0
    batch = Batch(folder, rules, position)
    count = batch.take(events)
    sequences = {**position.sequences, **ends}
    write_position(
        folder, Position(batch.number, sequences, batch.exact, batch.borrows, rules.masking), rules.rules_hash
    )
    return count


def bronze_events(spark: SparkSession, lake: str) -> DataFrame:
    """Return the scalar columns of bronze that silver reads."""
    events = Folder(spark, f"{lake}/bronze", [EVENTS])
    if not events.exists(EVENTS):
        raise WrongSetting(f"No table `events` in {lake}/bronze. Name the lake's folder, or start `headwater up` once.")
    received = F.expr("unix_micros(received_at)").alias("received_us")
    return events.read(EVENTS).select("log", "incarnation", "partition", "sequence", "event_id", received, "body")
