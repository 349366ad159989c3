"""The OneLake transport under Spark's real listener, two versions of it: what is emitted lands, whatever happens."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools.jars import class_path, transport_jar

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[1]
AGAIN = pytest.mark.long
LISTENERS = ("1.53.0", pytest.param("1.27.0", marks=AGAIN))
NAME = re.compile(r"\d{13}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-(\d+)events\.ndjson")
LAKEHOUSE = {"workspace": "Sales", "lakehouse": "Shop.Lakehouse", "closeTimeoutSeconds": "100"}
JOBS = 5
LOUD = "LINEAGE CANNOT BE STORED"


@dataclass(frozen=True)
class Session:
    """One Spark application, whose OneLake is a folder."""

    folder: Path
    listener: str

    @property
    def errors(self) -> Path:
        return self.folder / "stderr.log"

    def start(self, end: str, transport: dict[str, str]) -> subprocess.Popen[str]:
        """Start it with these settings behind `spark.openlineage.transport.`."""
        self.folder.mkdir(exist_ok=True)
        settings = self._spark() | {f"spark.openlineage.transport.{key}": value for key, value in transport.items()}
        command = [sys.executable, "-m", "tests.onelake_driver", json.dumps(settings), str(JOBS)]
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
            process.communicate(timeout=240)
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
            "spark.driver.extraClassPath": os.pathsep.join([class_path(self.listener), str(transport_jar())]),
            "spark.driver.extraJavaOptions": "-Duser.timezone=Asia/Tokyo -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.hadoop.fs.abfss.impl": "headwater.demo.OneLakeOnDisk",
            "spark.hadoop.headwater.demo.root": str(self.folder / "onelake"),
            "spark.sql.warehouse.dir": str(self.folder / "warehouse"),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        }


@pytest.mark.parametrize(
    ("listener", "end"), [("1.53.0", "stop"), *(pytest.param("1.27.0", end, marks=AGAIN) for end in ("stop", "exit"))]
)
def test_what_the_listener_emits_lands_whole_and_once(listener: str, end: str, tmp_path: Path) -> None:
    session = Session(tmp_path / "session", listener)
    session.run(end, session.witnessed(**LAKEHOUSE, batchSize="4"))

    emitted = session.emitted()
    assert session.landed() == emitted
    assert emitted.total() > JOBS
    for file in session.files():
        named = NAME.fullmatch(file.name)
        assert named
        assert int(named[2]) == len(file.read_text("utf-8").splitlines()) <= 4
        day = time.strftime("%Y-%m-%d", time.gmtime(int(file.name[:13]) / 1000))
        assert file.parent == tmp_path / f"session/onelake/Sales/Shop.Lakehouse/Files/lineage/dt={day}"
    assert not list((tmp_path / "session").rglob("*.tmp"))


@pytest.mark.parametrize("listener", LISTENERS)
def test_a_kill_loses_at_most_what_is_in_the_queue(listener: str, tmp_path: Path) -> None:
    session = Session(tmp_path / "session", listener)
    settings = session.witnessed(**LAKEHOUSE, batchSize="4", flushIntervalSeconds="3600")
    with session.start("wait", settings) as process:
        assert process.stdout
        java = int(process.stdout.readline())
        whole = session.emitted().total() // 4 * 4
        while session.landed().total() < whole:
            time.sleep(0.1)
        os.kill(java, signal.SIGKILL)
        process.kill()

    lost = session.emitted() - session.landed()
    assert not session.landed() - session.emitted()
    assert session.landed().total() >= 4
    assert lost.total() < 4


@pytest.mark.parametrize("listener", LISTENERS)
def test_names_and_guids_mixed_are_refused_with_the_reason_and_no_job_is_harmed(listener: str, tmp_path: Path) -> None:
    session = Session(tmp_path / "session", listener)
    mixed = {"workspace": "Sales", "lakehouse": "7c1d5b20-0000-4000-8000-0000000000c1"}
    session.run("stop", {"type": "onelake", **mixed})
    said = session.errors.read_text()
    assert said.count("one is a name and one a GUID, which OneLake does not resolve") == 1
    assert "NO LINEAGE IS WRITTEN" in said
    assert not session.files()


def test_a_store_out_of_reach_is_said_once_and_loudly_and_no_job_is_harmed(tmp_path: Path) -> None:
    session = Session(tmp_path / "session", "1.53.0")
    session.run("stop", {"type": "onelake", "location": "s3a://bucket-without-a-token", "closeTimeoutSeconds": "1"})
    said = session.errors.read_text()
    assert said.count(LOUD) == 1
    assert re.search(r"ERROR.*LINEAGE CANNOT BE STORED at s3a://bucket-without-a-token/lineage\. .* The reason: ", said)
    assert re.search(r"\d+ LINEAGE EVENTS ARE LOST", said)
