"""One Spark session under a listener with our connector, and what the listener sent of each of its statements.

`python -m tests.support.spark.connector_session` runs the session and records what the newest listener sends of it.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from headwater.spark.session import CONF
from tests.support.paths import FIXTURES, ROOT
from tests.support.spark.four_doors import fill
from tools.jars import class_path, connector_path, listeners

NAMES = ("events.ndjson", "steps.json")
Json = dict[str, Any]
NEWEST = "1.53.0"
OLDER = tuple(each for each in listeners() if each != NEWEST)  # for Spark 4 there is none
RECORDED = "recorded"
"""In place of a listener: what the newest one sent of this session on Spark 3.5."""

RECORDING = FIXTURES / "listener" / "connector"
FOLDER = "FOLDER/OF/THE/SESSION"
"""Stands in the recording for the folder of the session, without the slash before it."""

LISTENERS = (
    *((RECORDED,) if version("pyspark").startswith("3.5.") else ()),
    pytest.param(NEWEST, marks=pytest.mark.producers),
    *(pytest.param(each, marks=[pytest.mark.producers, pytest.mark.long]) for each in OLDER),
)


@dataclass(frozen=True)
class Connected:
    """A session that has ended, and a lake that has its events."""

    folder: Path
    listener: str

    @cached_property
    def events(self) -> list[Json]:
        return [json.loads(line) for line in (self.folder / NAMES[0]).read_text("utf-8").splitlines()]

    @cached_property
    def steps(self) -> dict[str, tuple[int, int, str]]:
        found: dict[str, tuple[int, int, str]] = json.loads((self.folder / NAMES[1]).read_text("utf-8"))
        return found

    @cached_property
    def data(self) -> Path:
        """Return a data folder with all events."""
        bodies = (self.folder / NAMES[0]).read_bytes().splitlines()
        fill(self.folder / "data", bodies)
        return self.folder / "data"

    def of(self, step: str) -> list[Json]:
        """Return what was sent of a step, which must have gone well."""
        first, behind, wrong = self.steps[step]
        assert not wrong, wrong
        return self.events[first:behind]

    def datasets(self, step: str, role: str) -> dict[tuple[str, str], Json]:
        """Return the inputs or outputs of a step by their names, each with its newest facets of both kinds."""
        found: dict[tuple[str, str], Json] = {}
        for event in self.of(step):
            for one in event[role]:
                facets = one.get("facets", {}) | one.get(f"{role[:-1]}Facets", {})
                found.setdefault((one["namespace"], one["name"]), {}).update(facets)
        return found

    def journal(self, name: str) -> tuple[str, str]:
        return "journal://localhost", str(self.folder / "journals" / name).lstrip("/")

    def file(self, name: str) -> tuple[str, str]:
        return "file", str(self.folder / name)


def connected(folder: Path, listener: str) -> Connected:
    """Run the session to its end, or place what was recorded of it in the folder."""
    folder.mkdir()
    if listener == RECORDED:
        for name in NAMES:
            text = (RECORDING / name).read_text("utf-8")
            (folder / name).write_text(text.replace(FOLDER, str(folder).lstrip("/")), "utf-8")
        return Connected(folder, NEWEST)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.support.spark.connector_driver",
            json.dumps(_spark(folder, listener)),
            str(folder),
        ],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    return Connected(folder, listener)


def _spark(folder: Path, listener: str) -> dict[str, str]:
    extensions = ["io.headwater.connector.JournalExtensions"]
    settings = {
        **CONF,
        "spark.master": "local[1]",
        "spark.driver.memory": "1g",
        "spark.driver.extraClassPath": os.pathsep.join([class_path(listener), connector_path()]),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "1",
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.namespace": "nights",
        "spark.openlineage.columnLineage.datasetLineageEnabled": "true",
        "spark.openlineage.transport.type": "file",
        "spark.openlineage.transport.location": str(folder / "events.ndjson"),
    }
    del settings["spark.sql.catalog.spark_catalog"]
    extensions.append("org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
    settings |= {
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": str(folder / "ice"),
        "spark.sql.catalog.mem": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.mem.catalog-impl": "org.apache.iceberg.inmemory.InMemoryCatalog",
        "spark.sql.catalog.mem.warehouse": str(folder / "mem"),
        "spark.sql.catalog.mem.io-impl": "org.apache.iceberg.hadoop.HadoopFileIO",
    }
    return settings | {"spark.sql.extensions": ",".join(extensions)}


def record() -> None:
    """Run the session under the newest listener, and record it without the paths of this machine."""
    RECORDING.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as temporary:
        session = connected(Path(temporary) / "session", NEWEST)
        for name in NAMES:
            text = (session.folder / name).read_text("utf-8")
            (RECORDING / name).write_text(impersonal(text, session.folder), "utf-8")


def impersonal(text: str, folder: Path) -> str:
    """Return recorded events without the paths and the processes of the machine that they were recorded on."""
    return text.replace(str(folder).lstrip("/"), FOLDER).replace(str(ROOT), "/headwater")


if __name__ == "__main__":
    record()
