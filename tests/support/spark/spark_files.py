"""What Spark's own metrics say that it did and read, and what Delta's logs say that was written."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

_LOCATION = re.compile(r"Location: \w+ ?\(\d+ paths?\)\[file:([^\],]+)\]")
_SCHEMA = re.compile(r"ReadSchema: (struct<.*>)")


class Cost:
    """What happened since this was made: Spark jobs as described, and operations by `layer/table` of a lake."""

    def __init__(self, spark: SparkSession, lake: Path) -> None:
        self._spark, self._lake = spark, lake
        self._newest = max((number for number, _ in self._every()), default=-1)
        self._before = set(self._commits())

    def jobs(self) -> list[str]:
        return [text for number, text in self._every() if number > self._newest]

    def operations(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for commit in sorted(set(self._commits()) - self._before):
            layer, _, table = commit.relative_to(self._lake).parts[:3]
            lines = [json.loads(line) for line in commit.read_text("utf-8").splitlines()]
            found[f"{layer}/{table}"] += [line["commitInfo"]["operation"] for line in lines if "commitInfo" in line]
        return found

    def _every(self) -> Iterator[tuple[int, str]]:
        context = self._spark.sparkContext._jsc.sc()
        context.listenerBus().waitUntilEmpty()
        for job in _items(context.statusStore().jobsList(None)):
            yield job.jobId(), f"{job.description()} {job.name()}"

    def _commits(self) -> Iterator[Path]:
        return (file for layer in ("silver", "gold") for file in (self._lake / layer).rglob("_delta_log/*.json"))


class FilesRead:
    """By folder of a table, the most files that one scan read of it since this was made."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._seen = {execution.executionId() for execution in self._executions()}

    def most(self) -> dict[Path, int]:
        found: dict[Path, int] = defaultdict(int)
        for execution in self._executions():
            number = execution.executionId()
            # one call to Java tells whether a plan scans files; most do not, and its nodes cost several calls each
            if number not in self._seen and _LOCATION.search(execution.physicalPlanDescription()):
                for folder, files in self._scans(number):
                    found[folder] = max(found[folder], files)
        return dict(found)

    def columns(self, folder: Path) -> list[str]:
        """Return what each scan of a table read of it, as Spark's plans write a struct of these columns."""
        found = []
        for execution in self._executions():
            if execution.executionId() not in self._seen:
                for line in execution.physicalPlanDescription().splitlines():
                    location, schema = _LOCATION.search(line), _SCHEMA.search(line)
                    if location and schema and Path(location[1]) == folder:
                        found.append(schema[1])
        return found

    def _executions(self) -> Iterator[Any]:
        self._spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        return _items(self._store().executionsList())

    def _scans(self, execution: int) -> Iterator[tuple[Path, int]]:
        values = self._store().executionMetrics(execution)
        for node in _items(self._store().planGraph(execution).allNodes()):
            if not (location := _LOCATION.search(node.desc())):
                continue
            for metric in _items(node.metrics()):
                if metric.name() == "number of files read":
                    value = values.get(metric.accumulatorId())
                    yield Path(location[1]), int(value.get().replace(",", "")) if value.isDefined() else 0

    def _store(self) -> Any:
        return self._spark._jsparkSession.sharedState().statusStore()


@contextmanager
def out_of_reach(files: list[Path]) -> Iterator[None]:
    """Let files be gone for a while: who reads one fails."""
    for file in files:
        file.rename(f"{file}.hidden")
    try:
        yield
    finally:
        for file in files:
            Path(f"{file}.hidden").rename(file)


def _items(found: Any) -> Iterator[Any]:
    return (found.apply(place) for place in range(found.size()))
