"""What runs say of outputs, held against what is stored: candidates that a batch changes, datasets that are read."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.spark.delta.ranges import ranges
from headwater.spark.delta.spark_delta import TableFolder
from headwater.spark.gold.open_candidates import CLOSED, OPEN, count
from headwater.spark.silver.silver_datasets import DATASET, reads, still_read
from headwater.spark.silver.silver_relations import SilverRelations
from headwater.spark.silver.state import State
from headwater.spark.silver.stored_runs import Seen
from headwater.tables import EDGE_SETS

VOTE = ["group_key", "run_key"]
"""What tells a candidate from others."""


class NewCandidates(NamedTuple):
    """Rows of `COUNTED`, and the datasets that have readers (`ever_read`) or have none any more.

    closed: what the run keys of those begin with that were closed before; closes: some are closed now.
    asks: some ask about other runs; loud, quiet: as in `SilverBatch`; said_bytes: how long the texts of open ones are.
    """

    rows: DataFrame
    read: DataFrame
    closed: Sequence[str]
    closes: bool
    asks: bool
    loud: bool
    quiet: bool
    said_bytes: int


def new_candidates(
    folder: TableFolder, state: State, derived: DataFrame, told: Seen, *, asks: bool
) -> NewCandidates | None:
    """Hold what runs say against what is stored; None if they say nothing new. asks: as in `LayerPosition`, before."""
    if not told["changes"] and not (told["below"] and asks):
        return None
    changes = derived.select(F.explode("changes").alias("vote")).select("vote.*")
    outputs = changes.select("output_key").distinct()
    closed = folder.read(EDGE_SETS)
    executions = changes.select("execution").distinct()
    begins = {text for texts_of_run in json.loads(told["executions"]) for text in texts_of_run}
    same = closed.where(ranges("execution", begins)).join(executions, "execution", "left_semi")
    is_closed = {"part": F.lit(CLOSED)}
    before = state.read(EDGE_SETS).withColumn("part", F.lit(OPEN))
    found = before.unionByName(same.select(closed.columns).withColumns(is_closed))
    if told["replaced"]:  # what stood behind a candidate that is gone may stand again
        losing = changes.where("replaced").select("output_key").distinct()
        losing = closed.join(losing, "output_key", "left_semi").select(closed.columns)
        found = found.unionByName(losing.withColumns(is_closed)).distinct()
    found = folder.few(found).join(outputs, "output_key", "left_semi")
    counted = count(folder, found, changes)
    rows, seen = SilverRelations(folder, before, derived, counted, asks=asks).answered()
    read = reads(changes.where("NOT gone")).withColumn("ever_read", F.lit(True))
    if told["replaced"]:
        others = before.unionByName(closed.withColumns(is_closed)).join(changes.select(*VOTE), VOTE, "left_anti")
        lost = reads(found.join(changes.where("replaced").select(*VOTE), VOTE, "left_semi"))
        read = read.unionByName(still_read(lost.join(read, DATASET, "left_anti"), others))
    closes, asking, loud, quiet = (bool(seen[name]) for name in ("closes", "asks", "loud", "quiet"))
    return NewCandidates(rows, read, json.loads(seen["closed"]), closes, asking, loud, quiet, int(seen["said"] or 0))
