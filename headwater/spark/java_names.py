"""Names of Java's classes and packages, asked for once.

py4j asks Java for what a name is at each use. Spark lets it look for `functions` in eight packages, and what is no
class is looked for in every jar: with the 250 of Spark each `F.col(…)` takes 1.4 ms of Java's processor time.
"""

from typing import Any

from pyspark.sql import SparkSession

_NAMES = (
    "functions",
    "PythonUtils",
    "PythonSQLUtils",
    "SimplePythonFunction",
    "SparkSession",
    "java.util.ArrayList",
    "org.apache.commons.io.IOUtils",
    "org.apache.hadoop.fs.Path",
    "org.apache.spark.sql.execution.python.UserDefinedPythonFunction",
    "org.apache.spark.sql.types.DataType",
    "org.apache.spark.storage.StorageLevel",
    "scala.Option",
    "scala.collection.JavaConverters",
)
"""What pyspark and we use again and again, and on the way there the packages that they are in."""


def keep_names(spark: SparkSession) -> None:
    """Let this process's view of a session's Java keep what these names are; a second call does nothing."""
    jvm: Any = getattr(spark.sparkContext, "_jvm")  # noqa: B009 - typed as if it could be missing
    for name in _NAMES:
        found = jvm
        for part in name.split("."):
            if part not in vars(found):
                setattr(found, part, getattr(found, part))
            found = getattr(found, part)
