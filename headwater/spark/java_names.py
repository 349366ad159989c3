"""Look up the names of Java classes and packages once.

By default, py4j asks Java about a name at each use. Java then searches eight packages for `functions`, and searches
every jar for names that are not classes. With Spark's 250 jars, each `F.col(…)` takes 1.4 ms of Java's processor time.
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
"""Names that pyspark and Headwater use often. `cache_java_names` also caches their packages."""


def cache_java_names(spark: SparkSession) -> None:
    """Cache the classes and packages in `_NAMES` in pyspark's view of the session's JVM. A second call does nothing."""
    jvm: Any = getattr(spark.sparkContext, "_jvm")  # noqa: B009 - typed as if it could be missing
    for name in _NAMES:
        found = jvm
        for part in name.split("."):
            if part not in vars(found):
                setattr(found, part, getattr(found, part))
            found = getattr(found, part)
