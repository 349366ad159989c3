"""Compare the candidates of a batch with stored candidates: which candidates change, and which datasets are read."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.spark.delta.ranges import prefix_condition
from headwater.spark.delta.spark_delta import TableFolder
from headwater.spark.gold.open_candidates import CLOSED, OPEN, compare_candidates
from headwater.spark.silver.silver_datasets import DATASET, datasets_read, with_ever_read
from headwater.spark.silver.silver_relations import SilverRelations
from headwater.spark.silver.state import SilverState
from headwater.spark.silver.stored_runs import Aggregates
from headwater.tables import EDGE_SETS

CANDIDATE_KEY = ["group_key", "run_key"]
"""The columns that identify a candidate."""


class NewCandidates(NamedTuple):
    """The changed candidates of a batch.

    rows: rows of `COUNTED`.
    read: datasets for which `ever_read` may change. `ever_read` is true if some run reads the dataset to write another
    dataset, and false if no run does so any more.
    closed_prefixes: prefixes of the run keys of candidates that were closed before the batch.
    has_closed: some of the rows are closed after the batch.
    has_unexplained: other runs may explain some open candidates (rule 4.7).
    changes_edges, repeats_lineage: as in `SilverBatch`.
    added_chars: the change of the total text length of open candidates, in characters.
    """

    rows: DataFrame
    read: DataFrame
    closed_prefixes: Sequence[str]
    has_closed: bool
    has_unexplained: bool
    changes_edges: bool
    repeats_lineage: bool
    added_chars: int


def new_candidates(
    folder: TableFolder, state: SilverState, derived: DataFrame, aggregates: Aggregates, *, has_unexplained: bool
) -> NewCandidates | None:
    """Compare the candidates of derived runs with stored candidates. Returns None if nothing changes.

    derived: rows of `DERIVED`. aggregates: the aggregates of `DerivedRuns.derive` over these rows.
    has_unexplained: as in `LayerPosition`, before the batch.
    """
    if not aggregates["changes"] and not (aggregates["has_parents"] and has_unexplained):
        return None
    changes = derived.select(F.explode("changes").alias("candidate")).select("candidate.*")
    outputs = changes.select("output_key").distinct()
    closed = folder.read(EDGE_SETS)
    executions = changes.select("execution").distinct()
    prefixes = {text for texts_of_run in json.loads(aggregates["executions"]) for text in texts_of_run}
    of_executions = closed.where(prefix_condition("execution", prefixes)).join(executions, "execution", "left_semi")
    is_closed = {"part": F.lit(CLOSED)}
    is_open = {"part": F.lit(OPEN)}
    found = state.lookup(EDGE_SETS, outputs, ["output_key"]).withColumns(is_open)
    found = found.unionByName(of_executions.select(closed.columns).withColumns(is_closed))
    if aggregates["replaced"]:  # without the replaced candidate, a closed one may count again
        losing = changes.where("replaced").select("output_key").distinct()
        losing = closed.join(losing, "output_key", "left_semi").select(closed.columns)
        found = found.unionByName(losing.withColumns(is_closed)).distinct()
    found = folder.coalesce_if_small(found).join(outputs, "output_key", "left_semi")
    counted = compare_candidates(folder, found, changes)
    before = state.read(EDGE_SETS).withColumns(is_open)
    rows, changed_aggregates = SilverRelations(
        folder, before, derived, counted, has_unexplained=has_unexplained
    ).explained_candidates()
    read = datasets_read(changes.where("NOT gone")).withColumn("ever_read", F.lit(True))
    if aggregates["replaced"]:
        others = before.unionByName(closed.withColumns(is_closed)).join(
            changes.select(*CANDIDATE_KEY), CANDIDATE_KEY, "left_anti"
        )
        lost = datasets_read(found.join(changes.where("replaced").select(*CANDIDATE_KEY), CANDIDATE_KEY, "left_semi"))
        read = read.unionByName(with_ever_read(lost.join(read, DATASET, "left_anti"), others))
    has_closed, any_unexplained, changes_edges, repeats_lineage = (
        bool(changed_aggregates[name]) for name in ("has_closed", "has_unexplained", "changes_edges", "repeats_lineage")
    )
    added_chars = (changed_aggregates["open_chars"] or 0) - (changed_aggregates["previous_chars"] or 0)
    return NewCandidates(
        rows,
        read,
        json.loads(changed_aggregates["closed_prefixes"]),
        has_closed,
        any_unexplained,
        changes_edges,
        repeats_lineage,
        added_chars,
    )
