"""Create a Spark session like Fabric's: Delta, OneLake names, and the OpenLineage listener that sends to Headwater."""

import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from tools.jars import PLUGIN, TRANSPORT, built, class_path, require_java
from tools.locked_environment import Missing

ONELAKE = "abfss://Sales@onelake.dfs.fabric.microsoft.com"
LAKEHOUSE = f"{ONELAKE}/Shop.Lakehouse"

NOTEBOOK = "nb_shop_medallion"

FABRIC = {
    "spark.synapse.context.notebookname": NOTEBOOK,
    "spark.synapse.workspace.name": "Sales",
    "trident.workspace.id": "3f2a9c1e-0000-4000-8000-00000000aa01",
    "trident.artifact.id": "7c1d5b20-0000-4000-8000-0000000000c1",
    "trident.artifact.type": "SynapseNotebook",
    "trident.activity.id": "90e4a7d3-0000-4000-8000-0000000000e1",
}
"""The properties that Fabric's runtime sets in every session. The listener reports those in `capturedProperties`."""


@contextlib.contextmanager
def fabric_session(
    url: str, api_key: str, listener: str, lake: Path, doors: Path | None = None, *, notebook: str = NOTEBOOK
) -> Iterator[SparkSession]:
    """Yield a session whose OneLake is the folder `lake`. At the end, the session sends all remaining lineage.

    notebook: name of the application and first part of its job names. doors: a folder where the OneLake transport,
    the plugin and the file transport also write the events. Spark's log is written to `lake/spark.log`. Raises Missing
    without Java or the jars.
    """
    require_java()
    lake.mkdir(parents=True, exist_ok=True)
    http = _http(url, api_key)
    conf = _spark(listener, lake) | FABRIC | {"spark.synapse.context.notebookname": notebook}
    if doors:
        port = _free_port()
        conf |= _listener(_every_door(http, doors, port)) | _plugin(doors, port)
        conf["spark.driver.extraClassPath"] += "".join(f"{os.pathsep}{built(jar)}" for jar in (TRANSPORT, PLUGIN))
    else:
        conf |= _listener(http)
    with _noise_in(lake / "spark.log"):
        spark = _start(conf)
    try:
        yield spark
    finally:
        spark.stop()  # waits until the listener has posted its last event


def _start(conf: dict[str, str]) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable  # run UDFs with the interpreter of this program
    builder = SparkSession.builder.master("local[2]").appName(conf["spark.synapse.context.notebookname"])
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _spark(listener: str, lake: Path) -> dict[str, str]:
    return {
        "spark.driver.extraClassPath": class_path(listener),
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.hadoop.fs.abfss.impl": "headwater.demo.OneLakeOnDisk",
        "spark.hadoop.headwater.demo.root": str(lake),
        "spark.sql.warehouse.dir": f"{LAKEHOUSE}/Tables",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.streaming.checkpointFileManagerClass": (
            "org.apache.spark.sql.execution.streaming.FileSystemBasedCheckpointFileManager"
        ),
        "spark.sql.session.timeZone": "UTC",
        # for small data on a small machine
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def _http(url: str, api_key: str) -> dict[str, str]:
    return {
        "type": "http",
        "url": url,
        "endpoint": "/api/v1/lineage",
        "compression": "gzip",
        "timeoutInMillis": "5000",
        "auth.type": "api_key",
        "auth.apiKey": api_key,
    }


def _every_door(http: dict[str, str], doors: Path, port: int) -> dict[str, str]:
    """Return a composite transport that passes each event to all four transports."""
    onelake = {"type": "onelake", "location": (doors / "onelake").as_uri(), "closeTimeoutSeconds": "60"}
    file = {"type": "file", "location": str(doors / "lineage.ndjson")}
    plugin = {"type": "http", "url": f"http://127.0.0.1:{port}", "compression": "gzip"}
    every = {"a": http, "b": onelake, "c": file, "d": plugin}
    nested = {f"transports.{name}.{key}": value for name in every for key, value in every[name].items()}
    return nested | {"type": "composite"}


def _plugin(doors: Path, port: int) -> dict[str, str]:
    return {
        "spark.plugins": "io.headwater.spark.HeadwaterPlugin",
        "spark.headwater.plugin.table": (doors / "plugin").as_uri(),
        "spark.headwater.plugin.port": str(port),
        "spark.headwater.plugin.spillDir": str(doors / "spill"),
    }


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _listener(transport: dict[str, str]) -> dict[str, str]:
    captured = ["spark.master", "spark.app.name", "spark.app.id", *FABRIC]
    return {
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.namespace": "fabric/Sales",
        "spark.openlineage.columnLineage.datasetLineageEnabled": "true",
        "spark.openlineage.capturedProperties": ",".join(captured),
        **{f"spark.openlineage.transport.{key}": value for key, value in transport.items()},
    }


@contextlib.contextmanager
def _noise_in(log: Path) -> Iterator[None]:
    """Redirect standard error to a file; the JVM that starts meanwhile inherits it."""
    ours = os.dup(2)
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 2)
        yield
    except Exception as error:
        raise Missing(f"Spark did not start: {str(error).splitlines()[0]}. See {log}.") from error
    finally:
        os.dup2(ours, 2)
        os.close(ours)
