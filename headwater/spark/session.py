"""Start a Spark session on this machine. On Fabric and Databricks, use the session of the platform instead."""

import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.common.errors import WrongSetting
from headwater.common.extras import require_extra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JARS = "HEADWATER_SPARK_JARS"
_DELTA = {
    "3.5": ("delta-spark_2.12-3.3.3.jar", "delta-storage-3.3.3.jar"),
    "4.1": ("delta-spark_4.1_2.13-4.3.1.jar", "delta-storage-4.3.1.jar"),
}
"""Jars of Delta, by version of Spark."""

_STREAM = {
    "3.5": (
        "spark-sql-kafka-0-10_2.12-3.5.7.jar",
        "spark-token-provider-kafka-0-10_2.12-3.5.7.jar",
        "kafka-clients-3.4.1.jar",
        "commons-pool2-2.11.1.jar",
        "spark-avro_2.12-3.5.7.jar",
    ),
    "4.1": (
        "spark-sql-kafka-0-10_2.13-4.1.3.jar",
        "spark-token-provider-kafka-0-10_2.13-4.0.0.jar",
        "kafka-clients-3.9.1.jar",
        "commons-pool2-2.12.1.jar",
        "spark-avro_2.13-4.1.1.jar",
    ),
}
"""Jars for streams and the ingestion of files, in addition to the jars of Delta, by version of Spark."""

CONF = {
    # C1's default code cache of 48 MB is full after four minutes, and the compiler stops then
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "
    "-XX:ReservedCodeCacheSize=240m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "3g",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    # Python does most of the work of a batch: generating Java code for small steps costs more than it saves
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.adaptive.enabled": "false",
    "spark.databricks.delta.merge.materializeSource": "none",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "512",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


LASTING: Mapping[str, str] = {"spark.driver.extraJavaOptions": "-Duser.timezone=UTC -XX:+UseSerialGC"}
"""Settings for a long-running session: both compilers of Java run and optimize Spark's code over time.

Spark's code generation stays off. Otherwise, each pass would generate new code, and compiling this code would take
longer than the pass itself.
"""


@contextmanager
def local_session(
    cores: int | None = None, more: Mapping[str, str] | None = None, *, streams: bool = False
) -> Iterator["SparkSession"]:
    """Start Spark on this machine and yield the session. Stops Spark at the end.

    cores: number of cores, by default all. more: additional settings, which override `CONF`. streams: add the jars for
    streams and the ingestion of files.
    Raises WrongSetting if pyspark, pandas, Java or Delta's jars are missing.
    """
    _require_spark_packages()
    from pyspark.sql import SparkSession  # noqa: PLC0415 - optional

    from headwater.spark.java_names import cache_java_names  # noqa: PLC0415 - as above

    os.environ["PYSPARK_PYTHON"] = sys.executable
    threads = cores or len(os.sched_getaffinity(0))
    builder = SparkSession.builder.master(f"local[{threads}]").appName("headwater")
    conf = {"spark.driver.extraClassPath": class_path(streams=streams), "spark.sql.shuffle.partitions": str(threads)}
    for key, value in {**CONF, **conf, **(more or {})}.items():
        builder = builder.config(key, value)
    with _redirect_java_output():
        spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    cache_java_names(spark)
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def _redirect_java_output() -> Iterator[None]:
    """Redirect everything that Java prints to stderr, for example the number of files that VACUUM deleted."""
    sys.stdout.flush()
    stdout_copy = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(stdout_copy, 1)
        os.close(stdout_copy)


def class_path(*, streams: bool = False) -> str:
    """Return the class path of the additional jars, from HEADWATER_SPARK_JARS or from the folders of `make setup`.

    streams: include the jars for streams and the ingestion of files. Raises WrongSetting if a jar is missing.
    """
    cache = Path(__file__).parents[2] / ".cache" / "jars"
    named = os.environ.get(JARS)
    folders = [Path(named)] if named else [cache / "delta", cache / "spark-stream"]
    names = jar_names(version("pyspark"), streams=streams)
    jars = [next((folder / name for folder in folders if (folder / name).exists()), None) for name in names]
    absent = [name for name, jar in zip(names, jars, strict=True) if jar is None]
    if absent:
        raise WrongSetting(
            f"{absent[0]} is not in {' or '.join(map(str, folders))}. Run `make setup` in a checkout of Headwater (for "
            f"Spark 4.1 `make test-spark4`), or set {JARS} to the folder that contains {', '.join(names)}."
        )
    return os.pathsep.join(map(str, jars))


def jar_names(spark: str, *, streams: bool = False) -> Sequence[str]:
    """Return the names of the additional jars that a version of pyspark needs.

    spark: the version, for example 3.5.7. Raises WrongSetting if Headwater does not support the version.
    """
    release = ".".join(spark.split(".")[:2])
    if release not in _DELTA:
        raise WrongSetting(
            f"Headwater needs Spark {' or '.join(_DELTA)}, not pyspark {spark}. Run `pip install 'headwater[spark]'`."
        )
    return _DELTA[release] + (_STREAM[release] if streams else ())


def _require_spark_packages() -> None:
    with require_extra("spark"), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # pyspark 3.5 imports distutils
        import delta  # noqa: F401, PLC0415
        import pandas  # noqa: F401, PLC0415
        import pyspark.sql.pandas.utils  # noqa: F401, PLC0415 - hides its warnings
