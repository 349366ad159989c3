"""Spark applications in one JVM: `python -m tests.support.spark.reconcile_driver URL KEY LISTENER LOGS LAKE`.

`reports` writes a table well and in ways that the listener misses, `silent` has no listener, `fails` fails a job,
`removed` reports, `killed` is killed amid its session. Each line it prints is an application's name and id.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.spark.session import CONF, class_path


def reports(spark: SparkSession, lake: Path) -> None:
    """Append twice, merge, update and delete, and fail to append what does not fit."""
    table = str(lake / "orders")
    for _ in range(2):
        spark.range(3).toDF("id").write.format("delta").mode("append").save(table)
    spark.range(2, 5).toDF("id").createOrReplaceTempView("fresh")
    spark.sql(f"MERGE INTO delta.`{table}` t USING fresh s ON t.id = s.id + 90 WHEN NOT MATCHED THEN INSERT *")
    spark.sql(f"UPDATE delta.`{table}` SET id = 7 WHERE id = 1")
    spark.sql(f"DELETE FROM delta.`{table}` WHERE id = 7")
    with contextlib.suppress(PySparkException, Py4JJavaError):
        spark.sql("SELECT 'text' AS other").write.format("delta").mode("append").save(table)


def silent(spark: SparkSession, lake: Path) -> None:
    """Append, and tell nobody."""
    spark.range(3).toDF("id").write.format("delta").mode("append").save(str(lake / "orders"))


def fails(spark: SparkSession, lake: Path) -> None:
    """Write, then fail in a job."""
    spark.range(3).toDF("id").write.format("delta").mode("append").save(str(lake / "others"))
    with contextlib.suppress(Py4JJavaError):
        spark.sparkContext.parallelize([0], 1).map(lambda each: 1 // each).collect()


def killed(spark: SparkSession, lake: Path) -> None:
    """Write, and be killed."""
    spark.range(3).toDF("id").write.format("delta").mode("append").save(str(lake / "others"))
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    java = spark.sparkContext._jvm
    assert java
    os.kill(java.java.lang.ProcessHandle.current().pid(), signal.SIGKILL)


Work = Callable[[SparkSession, Path], None]
APPLICATIONS: dict[str, tuple[Work, bool, dict[str, str]]] = {
    "reports": (reports, True, {}),
    "silent": (silent, False, {"compress": "true", "compression.codec": "zstd"}),
    "fails": (fails, True, {"compress": "true", "compression.codec": "lz4"}),
    "removed": (fails, True, {"rolling.enabled": "true"}),
    "killed": (killed, True, {"rolling.enabled": "true", "compress": "true", "compression.codec": "lz4"}),
}
"""Name → what it does, whether it has a listener, how its event log is written."""


@contextmanager
def session(name: str, settings: dict[str, str]) -> Iterator[SparkSession]:
    builder = SparkSession.builder.master("local[2]").appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()


def main(url: str, key: str, listener: str, logs: str, lake: str) -> None:
    """Run them all."""
    common = CONF | {
        "spark.driver.extraClassPath": os.pathsep.join([class_path(), listener]),
        "spark.sql.shuffle.partitions": "1",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": Path(logs).as_uri(),
    }
    reporting = {
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.namespace": "jobs",
        "spark.openlineage.transport.type": "http",
        "spark.openlineage.transport.url": url,
        "spark.openlineage.transport.auth.type": "api_key",
        "spark.openlineage.transport.auth.apiKey": key,
    }
    for name, (work, has_listener, log) in APPLICATIONS.items():
        own = {
            "spark.eventLog.compress": "false", "spark.eventLog.rolling.enabled": "false",
            **{f"spark.eventLog.{setting}": value for setting, value in log.items()},
            **(reporting if has_listener else {}),
        }  # fmt: skip
        for setting in reporting.keys() - own.keys():
            _forget(setting)
        with session(name, common | own) as spark:
            sys.stdout.write(f"{name} {spark.sparkContext.applicationId}\n")
            sys.stdout.flush()
            work(spark, Path(lake))


def _forget(setting: str) -> None:
    """Take a setting out of what the JVM of the sessions before still has."""
    from pyspark import SparkContext

    if SparkContext._jvm:
        SparkContext._jvm.java.lang.System.clearProperty(setting)


if __name__ == "__main__":
    os.environ["PYSPARK_PYTHON"] = sys.executable
    main(*sys.argv[1:])
