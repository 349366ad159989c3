"""A Spark session with Headwater's plugin: `python -m tests.support.spark.plugin_driver SETTINGS FOLDER`.

Each line of standard input is a word, each line of standard output its answer as JSON. SETTINGS are JSON, too; what
Spark writes goes below FOLDER. At the end of its input the process just ends; `stop` stops the session before.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headwater.spark.offline.plugin_flush import executor_url, flush

CREDENTIALS = {"Authorization": "Bearer SECRET-1", "X-Functions-Key": "SECRET-2", "Cookie": "session=SECRET-3"}


def main(settings: str, folder: str) -> None:
    """Do what is told, line by line."""
    session = Session(json.loads(settings), Path(folder))
    words: dict[str, Callable[[], Any]] = {
        "address": session.address,
        "write": session.write,
        "post": session.post,
        "flush": lambda: flush(session.spark),
        "again": session.again,
        "stop": session.stop,
    }
    for line in sys.stdin:
        answer = words[line.strip()]()
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


class Session:
    """One Spark session after the other in one Java."""

    def __init__(self, settings: dict[str, str], folder: Path):
        """Start the first."""
        self._settings = settings
        self._folder = folder
        self._tables = 0
        self.spark = self._start()

    def _start(self) -> SparkSession:
        builder = SparkSession.builder.appName("nightly")
        for key, value in self._settings.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()

    def address(self) -> tuple[str | None, int]:
        """Return the plugin's address, and the process id of Java."""
        java = self.spark.sparkContext._jvm
        assert java
        return self.spark.conf.get("spark.headwater.plugin.url", None), java.java.lang.ProcessHandle.current().pid()

    def write(self) -> str:
        """Write one more table; return its path."""
        path = self._folder / f"table_{self._tables}"
        self._tables += 1
        self.spark.range(3).write.parquet(str(path))
        return str(path)

    def post(self) -> list[tuple[int, str, int]]:
        """Post from executors, eight bodies; return number, address and status of each."""
        return self.spark.sparkContext.parallelize(range(8), 8).mapPartitions(post_from_executor).collect()

    def stop(self) -> None:
        """Stop the session."""
        self.spark.stop()

    def again(self) -> None:
        """Stop the session and start another."""
        self.spark.stop()
        self.spark = self._start()


def post_from_executor(numbers: Iterable[int]) -> Iterator[tuple[int, str, int]]:
    """Post a body for each number, as a client of the user's would, with credentials; runs on an executor."""
    url = executor_url()
    for number in numbers:
        connection = HTTPConnection(url.removeprefix("http://"), timeout=60)
        connection.request(
            "POST", f"/any/route?code=SECRET-{number}", f"body {number}", {**CREDENTIALS, "X-Batch": str(number)}
        )
        yield number, url, connection.getresponse().status
        connection.close()


if __name__ == "__main__":
    os.environ["PYSPARK_PYTHON"] = sys.executable
    main(*sys.argv[1:])
