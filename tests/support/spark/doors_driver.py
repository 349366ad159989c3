"""Notebooks of one session: `python -m tests.support.spark.doors_driver SETTINGS JOBS FOLDER STORE`.

Two children run at once, as by `runMultiple`, and write a table each below FOLDER; then the session is stamped and what
its file transport wrote is harnessed into STORE, twice. Prints a JSON object; last it tries both without a listener.
"""

import json
import os
import sys
from pathlib import Path

from pyspark import InheritableThread
from pyspark.sql import SparkSession

import headwater
from headwater.common.errors import HeadwaterError


def main(settings: str, _: str, folder: str, store: str) -> None:
    """Run the notebooks."""
    spark = session(json.loads(settings) | {"trident.workspace.id": "ws-1", "trident.activity.id": "act-0"})
    done: dict[str, object] = {}

    def child(name: str) -> None:
        done[name] = headwater.stamp(spark, pipeline="nightly", activity=f"act-{name}", notebook=f"child_{name}")
        spark.range(3).write.parquet(str(Path(folder) / f"table_{name}"))

    threads = [InheritableThread(target=child, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spark.range(3).write.parquet(str(Path(folder) / "table_0"))
    done["session"] = headwater.stamp(spark, pipeline="nightly", pipeline_run="run-1")
    done["first"] = headwater.harness(spark, store, pipeline="nightly", pipeline_run="run-1")
    done["second"] = headwater.harness(spark, store, pipeline="nightly", pipeline_run="run-1")
    done["nowhere"] = refused(lambda: headwater.harness(spark, "file:///proc/nowhere", pipeline="nightly"))
    spark.stop()

    spark = session(json.loads(settings) | {"spark.extraListeners": ""})
    done["unheard"] = refused(lambda: headwater.stamp(spark, pipeline="nightly"))
    spark.stop()
    sys.stdout.write(json.dumps(done) + "\n")


def session(settings: dict[str, str]) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").appName("nightly")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def refused(call: object) -> str:
    assert callable(call)
    try:
        call()
    except HeadwaterError as error:
        return f"{type(error).__name__}: {error}"
    return ""


if __name__ == "__main__":
    os.environ["PYSPARK_PYTHON"] = sys.executable
    main(*sys.argv[1:])
