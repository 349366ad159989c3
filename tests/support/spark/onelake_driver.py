"""A small Spark application: `python -m tests.support.spark.onelake_driver SETTINGS JOBS FOLDER END`.

It writes JOBS tables below FOLDER, prints the process id of its Java, and ends: END is `stop` (the session is stopped),
`exit` (the process just ends), `wait` (for the end of standard input: it wants to be killed) or `again` (after a line
of input it overwrites its tables, and stops).
"""

import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession


def main(settings: str, jobs: str, folder: str, end: str) -> None:
    """Run the application."""
    builder = SparkSession.builder.master("local[1]").appName("nightly")
    for key, value in json.loads(settings).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    write_tables(spark, int(jobs), folder)
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    java = spark.sparkContext._jvm
    assert java
    sys.stdout.write(f"{java.java.lang.ProcessHandle.current().pid()}\n")
    sys.stdout.flush()
    if end == "wait":
        sys.stdin.read()
    elif end == "again":
        sys.stdin.readline()
        write_tables(spark, int(jobs), folder)
    if end in {"stop", "again"}:
        spark.stop()


def write_tables(spark: SparkSession, jobs: int, folder: str) -> None:
    for number in range(jobs):
        spark.range(3).write.mode("overwrite").parquet(str(Path(folder) / f"table_{number}"))


if __name__ == "__main__":
    os.environ["PYSPARK_PYTHON"] = sys.executable
    main(*sys.argv[1:])
