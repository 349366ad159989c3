"""One Spark application under the listener and our transport, whose OneLake is a folder."""

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import ROOT
from tools.jars import TRANSPORT, built, class_path

LAKEHOUSE = {"workspace": "Sales", "lakehouse": "Shop.Lakehouse", "closeTimeoutSeconds": "100"}
JOBS = 5


@dataclass(frozen=True)
class Session:
    """One Spark application, whose OneLake is a folder."""

    folder: Path
    listener: str

    @property
    def errors(self) -> Path:
        return self.folder / "stderr.log"

    def start(
        self, end: str, transport: dict[str, str], driver: str = "tests.support.spark.onelake_driver"
    ) -> subprocess.Popen[str]:
        """Start it with these settings behind `spark.openlineage.transport.`."""
        self.folder.mkdir(exist_ok=True)
        settings = self._spark() | {f"spark.openlineage.transport.{key}": value for key, value in transport.items()}
        command = [sys.executable, "-m", driver, json.dumps(settings), str(JOBS)]
        with self.errors.open("w") as errors:
            return subprocess.Popen(
                [*command, str(self.folder / "tables"), end],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def run(self, end: str, transport: dict[str, str]) -> None:
        """Run it to its end, which must be a good one, with all its tables."""
        with self.start(end, transport) as process:
            process.communicate(timeout=600)
        assert process.returncode == 0, self.errors.read_text()
        assert len(list((self.folder / "tables").rglob("_SUCCESS"))) == JOBS

    def witnessed(self, **transport: str) -> dict[str, str]:
        """Return settings with OpenLineage's own file transport beside ours: a witness of what was emitted."""
        witness = {"type": "file", "location": str(self.folder / "witness.ndjson")}
        both = {"a": {"type": "onelake", **transport}, "b": witness}
        nested = {f"transports.{name}.{key}": value for name in both for key, value in both[name].items()}
        return nested | {"type": "composite"}

    def emitted(self) -> Counter[str]:
        return Counter((self.folder / "witness.ndjson").read_text("utf-8").splitlines())

    def files(self) -> list[Path]:
        """Return the files that readers see."""
        return sorted((self.folder / "onelake").rglob("[!.]*.ndjson"))

    def landed(self) -> Counter[str]:
        return Counter(line for file in self.files() for line in file.read_text("utf-8").splitlines())

    def _spark(self) -> dict[str, str]:
        return {
            "spark.driver.extraClassPath": os.pathsep.join([class_path(self.listener), str(built(TRANSPORT))]),
            "spark.driver.extraJavaOptions": "-Duser.timezone=Asia/Tokyo -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.hadoop.fs.abfss.impl": "headwater.demo.OneLakeOnDisk",
            "spark.hadoop.headwater.demo.root": str(self.folder / "onelake"),
            "spark.sql.warehouse.dir": str(self.folder / "warehouse"),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
            "spark.openlineage.namespace": "fabric/Sales",
            "spark.openlineage.capturedProperties": "spark.master,spark.app.name,headwater.stamp",
        }
