"""A Spark session on this machine; Fabric and Databricks bring their own."""

import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.errors import WrongSetting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JARS = "HEADWATER_SPARK_JARS"
_DELTA = ("delta-spark_2.12-3.3.3.jar", "delta-storage-3.3.3.jar")

CONF = {
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "3g",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    # most of a batch's work is Python's: generating and compiling Java for each small step costs more than it saves
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


@contextmanager
def local_session(cores: int | None = None, more: Mapping[str, str] | None = None) -> Iterator["SparkSession"]:
    """Start Spark in this process's own JVM, on all cores unless told otherwise.

    Raises WrongSetting where pyspark, pandas, Java or Delta's jars are missing.
    """
    _require()
    from pyspark.sql import SparkSession  # noqa: PLC0415 - optional

    os.environ["PYSPARK_PYTHON"] = sys.executable
    threads = cores or len(os.sched_getaffinity(0))
    builder = SparkSession.builder.master(f"local[{threads}]").appName("headwater")
    conf = {"spark.driver.extraClassPath": class_path(), "spark.sql.shuffle.partitions": str(threads)}
    for key, value in {**CONF, **conf, **(more or {})}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def class_path() -> str:
    """Return where Delta's jars are: in HEADWATER_SPARK_JARS, or in the folder of `make setup`."""
    folder = Path(os.environ.get(JARS) or Path(__file__).parents[2] / ".cache" / "jars" / "delta")
    jars = [folder / name for name in _DELTA]
    absent = [jar.name for jar in jars if not jar.exists()]
    if absent:
        raise WrongSetting(
            f"{absent[0]} is not in {folder}. Run `make setup` in a checkout of Headwater, or name the folder that "
            f"holds {' and '.join(_DELTA)} in {JARS}."
        )
    return os.pathsep.join(map(str, jars))


def _require() -> None:
    for module in ("pyspark", "delta", "pandas"):
        if find_spec(module) is None:
            raise WrongSetting(f"The Python package {module} is missing. Run `pip install headwater[spark]`.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # pyspark 3.5 asks distutils for versions
        import pyspark.sql.pandas.utils  # noqa: F401, PLC0415 - its warnings come once, here
