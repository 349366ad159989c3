"""Build rows for `snapshot_of_rows.RowSnapshot` from open candidates and datasets."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.spark.delta.spark_delta import spark_schema
from headwater.spark.gold.snapshot_of_rows import CANDIDATE_COLUMNS
from headwater.tables import DATASETS, EDGE_SETS, Table

_INPUT = Table(
    "candidates_and_datasets", {**EDGE_SETS.columns, **DATASETS.columns, "bucket": "int", "is_target": "boolean"}
)

ORDER = (
    "layer", "job_namespace", "job_name", "dataset_namespace", "dataset_name", "generation", "time_us", "tie",
    "run_key",
)  # fmt: skip
"""Sort order of the candidates of one output, and of datasets. It makes the choice between equal answers stable."""


def snapshot_rows(side: DataFrame, *more: str) -> DataFrame:
    """Return rows about candidates or datasets in the columns `more` and `CANDIDATE_COLUMNS`; missing columns are null.

    Also accepts rows from a release without dataset generations, which notebooks read until an upgrade is complete.
    """
    types = {field.name: field.dataType for field in spark_schema(_INPUT)}
    first = {"generation": F.expr("coalesce(generation, '')")} if "generation" in side.columns else {}
    times = {name: F.coalesce(name, "time_us") for name in ("started_us", "last_us") if name in side.columns}
    found = side.withColumns(first | times) if first or times else side
    return found.select(
        *(
            F.col(name) if name in found.columns else F.lit(None).cast(types[name]).alias(name)
            for name in (*more, *CANDIDATE_COLUMNS)
        )
    )


def sorted_rows(candidates: DataFrame, datasets: DataFrame) -> DataFrame:
    """Return candidates and datasets as rows in `CANDIDATE_COLUMNS`, in one sorted partition with datasets first."""
    rows = snapshot_rows(candidates).unionByName(snapshot_rows(datasets))
    return rows.coalesce(1).sortWithinPartitions(F.asc_nulls_first("output_key"), *ORDER)
