"""Rule 6.7 in silver: proofs that commits give about the writes of runs, including runs of earlier batches."""

import json
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.runs.commit_proofs import CommitProof
from headwater.lineage.runs.jobs import is_uuid
from headwater.spark.delta.spark_delta import TableFolder
from headwater.spark.silver.state import SilverState
from headwater.spark.silver.stored_runs import StoredRuns
from headwater.spark.silver.texts import CachedDecoder
from headwater.tables import COMMIT_PROOFS, RUNS

_read_proofs = CachedDecoder(list[CommitProof])


_RUN_ID = "lower(coalesce(get_json_object(run_key, '$[0]'), run_key))"


def store_proofs(folder: TableFolder, state: SilverState, texts: str) -> Sequence[CommitProof]:
    """Store the proofs of a batch in `state` and return them, each once.

    texts: the result of the aggregate `texts` over the column `proofs`.
    """
    found = sorted({proof for text in json.loads(texts) for proof in _read_proofs(text)})
    if found:
        rows = folder.frame_of_rows(
            COMMIT_PROOFS, [(each.run_id, *each.dataset.parts, each.is_whole_rewrite) for each in found]
        )
        state.put(COMMIT_PROOFS, rows)
    return found


def proven_runs(folder: TableFolder, stored: StoredRuns, proofs: Sequence[CommitProof]) -> DataFrame | None:
    """Return the keys (`run_key`) of the runs that the proofs are about, or None if there are no proofs.

    Some of these runs may not have sent events yet.
    """
    if not proofs:
        return None
    ids = {each.run_id for each in proofs}
    keys = stored.run_key_rows(filter(is_uuid, ids))
    others = sorted(run_id for run_id in ids if not is_uuid(run_id))
    if not others:
        return keys
    named = folder.read(RUNS).where(F.col("run_key").startswith("[")).where(F.expr(_RUN_ID).isin(others))
    return keys.unionByName(named.select("run_key"))


def with_proofs(rows: DataFrame, proofs: DataFrame) -> DataFrame:
    """Add the column `proofs` to rows of runs: the rows of `COMMIT_PROOFS` about each run, as JSON, or null."""
    proof_rows = F.collect_list(F.struct(*COMMIT_PROOFS.columns))
    by_run = proofs.groupBy("run_id").agg(F.to_json(proof_rows).alias("proofs"))
    return rows.withColumn("run_id", F.expr(_RUN_ID)).join(by_run, "run_id", "left").drop("run_id")
