"""Rule 6.7 in silver: what commits prove about the writes of runs, those of earlier batches included."""

import json
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.runs.commit_proofs import CommitProof
from headwater.lineage.runs.job_identity import is_uuid
from headwater.spark.delta.spark_delta import TableFolder
from headwater.spark.silver.state import State
from headwater.spark.silver.stored_runs import StoredRuns
from headwater.spark.silver.texts import Reading
from headwater.tables import COMMIT_PROOFS, RUNS

_read_sent = Reading(list[CommitProof])


_RUN_ID = "lower(coalesce(get_json_object(run_key, '$[0]'), run_key))"


def take_proofs(folder: TableFolder, state: State, texts: str) -> Sequence[CommitProof]:
    """Keep the proofs of a batch; texts: what `texts` has gathered of its column `proofs`. Returns them, each once."""
    found = sorted({proof for text in json.loads(texts) for proof in _read_sent(text)})
    if found:
        rows = folder.rows(COMMIT_PROOFS, [(each.run_id, *each.dataset.parts, each.is_whole) for each in found])
        state.put(COMMIT_PROOFS, rows, list(COMMIT_PROOFS.columns))
    return found


def proven_runs(folder: TableFolder, stored: StoredRuns, proofs: Sequence[CommitProof]) -> DataFrame | None:
    """Return the keys of the runs that proofs are about (`run_key`), None without any; a run may be unknown yet."""
    if not proofs:
        return None
    ids = {each.run_id for each in proofs}
    keys = stored.keyed(filter(is_uuid, ids))
    others = sorted(run_id for run_id in ids if not is_uuid(run_id))
    if not others:
        return keys
    named = folder.read(RUNS).where(F.col("run_key").startswith("[")).where(F.expr(_RUN_ID).isin(others))
    return keys.unionByName(named.select("run_key"))


def with_proofs(rows: DataFrame, proofs: DataFrame) -> DataFrame:
    """Add to rows of runs what commits prove about each (`proofs`), as text; proofs: rows of `COMMIT_PROOFS`."""
    told = F.collect_list(F.struct(*COMMIT_PROOFS.columns))
    by_run = proofs.groupBy("run_id").agg(F.to_json(told).alias("proofs"))
    return rows.withColumn("run_id", F.expr(_RUN_ID)).join(by_run, "run_id", "left").drop("run_id")
