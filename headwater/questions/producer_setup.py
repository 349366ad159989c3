"""The question `connect`: configuration to copy for each producer, and a test event.

`docs/how-to/data-engineer/connect.md`, the page, the command and the notebooks show these texts.
"""

import json
import re
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from headwater.common.errors import WrongQuestion
from headwater.questions.answer_types.lists import ProducerSetup, ProducerSetups

LISTENER = "io.openlineage.spark.agent.OpenLineageSparkListener"
AUTH_KEY = "spark.openlineage.transport.auth.apiKey"
KEY = "YOUR_KEY"
"""Placeholder for a key with the role `write`. A Headwater without keys ignores it."""

FABRIC = (
    "spark.master", "spark.app.name", "spark.synapse.context.notebookname", "trident.workspace.id",
    "trident.artifact.id", "trident.artifact.type", "trident.activity.id", "headwater.stamp",
    "spark.sql.sources.partitionOverwriteMode",
)  # fmt: skip
"""Spark properties that the listener reports for a Fabric session.

The id of its artifact keeps a notebook one job (rule 3).

`headwater.stamp(spark, notebook=…)` sets `headwater.stamp`.
"""

SPARK = ("spark.master", "spark.app.name", "spark.sql.sources.partitionOverwriteMode")

DATABRICKS = (
    "spark.master",
    "spark.app.name",
    "spark.databricks.clusterUsageTags.clusterName",
    "spark.sql.sources.partitionOverwriteMode",
)

_COMPRESSION = "spark.openlineage.transport.compression"
_JAR = "openlineage-spark_2.12-1.53.0.jar"
_ADDRESS = re.compile(r"https?://[\w.:\[\]-]+(/[\w./-]*)?", re.ASCII)


def spark_properties(url: str, namespace: str, captured: tuple[str, ...]) -> dict[str, str]:
    """Return the Spark properties for a Fabric environment or a Databricks cluster, without the key.

    url: of the receiver. namespace: of the jobs. There is no compression, because Azure Functions accept no chunked
    bodies. The timeout is longer than the listener's default, because a cold receiver takes seconds to start and the
    listener loses the event on a timeout.
    """
    return {
        "spark.extraListeners": LISTENER,
        "spark.openlineage.namespace": namespace,
        "spark.openlineage.transport.type": "http",
        "spark.openlineage.transport.url": url,
        "spark.openlineage.transport.endpoint": "/api/v1/lineage",
        "spark.openlineage.transport.timeoutInMillis": "10000",
        "spark.openlineage.transport.auth.type": "api_key",
        "spark.openlineage.columnLineage.datasetLineageEnabled": "true",
        "spark.openlineage.capturedProperties": ",".join(captured),
    }


def arrival_event(run: str, time: datetime) -> dict[str, Any]:
    """Return a test event of the job `headwater/arrival-check` without datasets."""
    return {
        "eventType": "COMPLETE",
        "eventTime": time.isoformat(),
        "producer": "https://headwater.example/arrival-check",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run},
        "job": {"namespace": "headwater", "name": "arrival-check"},
        "inputs": [],
        "outputs": [],
    }


def producer_setups(url: str, run: str | None = None, time: datetime | None = None) -> ProducerSetups:
    """Return the configuration of each producer, and a test event with a new run id.

    Raises WrongQuestion for an invalid address, because the address becomes part of commands.
    """
    if not _ADDRESS.fullmatch(url):
        raise WrongQuestion(f"url={url[:80]!r} is not an address. Write it like https://headwater.example:5000.")
    url = url.rstrip("/")
    event = json.dumps(arrival_event(run or str(uuid4()), time or datetime.now(UTC)))
    spark = spark_properties(url, "spark", SPARK) | {_COMPRESSION: "gzip"}
    fabric, databricks = (
        spark_properties(url, "fabric/WORKSPACE", FABRIC),
        spark_properties(url, "databricks/WORKSPACE", DATABRICKS),
    )
    return ProducerSetups(
        [
            ProducerSetup("fabric", "Microsoft Fabric", "Environment: Spark properties", _conf_text(fabric, 56)),
            ProducerSetup("databricks-init", "Databricks: jar", "Cluster: init script", _INIT),
            ProducerSetup("databricks", "Databricks", "Cluster: Spark config", _conf_text(databricks, 0)),
            ProducerSetup(
                "spark-submit", "spark-submit", "Shell, in the folder of the listener's jar", _spark_submit_text(spark)
            ),
            ProducerSetup("airflow", "Airflow", "Environment of scheduler and workers", _airflow_text(url)),
            ProducerSetup("dbt", "dbt", "Shell, in the project's folder", _DBT.format(url=url, key=KEY)),
            ProducerSetup("python", "Python", "Any program", _PYTHON.format(url=url, key=KEY)),
            ProducerSetup("curl", "curl", "Shell", _curl_text(url, event)),
        ],
        event,
    )


def _with_key_property(conf: dict[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in conf.items():
        found[name] = value
        if name == "spark.openlineage.transport.auth.type":
            found[AUTH_KEY] = KEY
    return found


def _conf_text(conf: dict[str, str], width: int) -> str:
    return "\n".join(
        f"{name:<{width}}".ljust(len(name) + 1) + value for name, value in _with_key_property(conf).items()
    )


def _spark_submit_text(conf: dict[str, str]) -> str:
    lines = [
        "spark-submit",
        f"--jars {_JAR}",
        *(f"--conf {name}={value}" for name, value in _with_key_property(conf).items()),
    ]
    return " \\\n  ".join([*lines, "job.py"])


def _http_transport(url: str) -> dict[str, Any]:
    auth = {"type": "api_key", "apiKey": KEY}
    return {"type": "http", "url": url, "endpoint": "api/v1/lineage", "auth": auth, "compression": "gzip"}


def _airflow_text(url: str) -> str:
    return (
        "pip install apache-airflow-providers-openlineage\n"
        "export AIRFLOW__OPENLINEAGE__NAMESPACE='airflow'\n"
        f"export AIRFLOW__OPENLINEAGE__TRANSPORT='{json.dumps(_http_transport(url))}'"
    )


def _curl_text(url: str, event: str) -> str:
    return (
        f"curl --fail-with-body {url}/api/v1/lineage \\\n"
        f"  -H 'Authorization: Bearer {KEY}' -H 'Content-Type: application/json' \\\n"
        f"  -d '{event}'"
    )


_INIT = f"""#!/bin/bash
cp /Volumes/CATALOG/SCHEMA/jars/{_JAR} /databricks/jars/"""

_DBT = """pip install openlineage-dbt
export OPENLINEAGE_URL={url}
export OPENLINEAGE_API_KEY={key}
export OPENLINEAGE_NAMESPACE=dbt
dbt-ol run"""

_PYTHON = """# pip install openlineage-python
from datetime import datetime, timezone

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.transport.http import ApiKeyTokenProvider, HttpConfig, HttpTransport
from openlineage.client.uuid import generate_new_uuid

key = ApiKeyTokenProvider({{"apiKey": "{key}"}})
client = OpenLineageClient(transport=HttpTransport(HttpConfig(url="{url}", auth=key)))
client.emit(
    RunEvent(
        eventType=RunState.COMPLETE,
        eventTime=datetime.now(timezone.utc).isoformat(),
        run=Run(runId=str(generate_new_uuid())),
        job=Job(namespace="python", name="copy_orders"),
        inputs=[InputDataset(namespace="file", name="/landing/orders")],
        outputs=[OutputDataset(namespace="file", name="/bronze/orders")],
        producer="https://example.org/copy_orders",
    )
)"""
