"""Add the columns of a newer release to existing tables. Until this happens, readers see these columns as null."""

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructField, StructType

from headwater.common.errors import LakeUnavailable

_RACES = 20


def add_columns(spark: SparkSession, uri: str, schema: StructType) -> None:
    """Add the columns of `schema` that the table at `uri` lacks, in one commit.

    Does nothing if no column is missing. Raises LakeUnavailable if concurrent writers prevent the commit.
    """
    for _ in range(_RACES):
        missing = _missing_fields(spark.read.format("delta").load(uri), schema)
        if not missing:
            return
        added = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in missing)
        try:
            spark.sql(f"ALTER TABLE delta.`{uri}` ADD COLUMNS ({added})")
        except (PySparkException, Py4JJavaError) as error:  # another writer may have been faster
            reason = str(error).splitlines()[0]
    raise LakeUnavailable(f"Cannot add columns to {uri}: {reason}. Run it again.")


def with_nulls(frame: DataFrame, schema: StructType) -> DataFrame:
    """Add the columns of a schema that a frame lacks, filled with nulls. The other columns of the frame stay."""
    missing = _missing_fields(frame, schema)
    return frame.withColumns({field.name: F.lit(None).cast(field.dataType) for field in missing}) if missing else frame


def _missing_fields(frame: DataFrame, schema: StructType) -> list[StructField]:
    present = set(frame.columns)
    return [field for field in schema.fields if field.name not in present]
