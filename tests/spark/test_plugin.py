"""The Spark plugin under Spark's real listener, two versions of it: what is posted lands in its table once."""

import json
import os
import select
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from headwater.spark.session import CONF
from tests.support.paths import ROOT
from tools.jars import PLUGIN, built, class_path, listeners

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

OLDEST = listeners()[0]
Row = dict[str, Any]


class Driver:
    """A Spark driver in a process of its own, its table and its disk below a folder."""

    def __init__(self, folder: Path, listener: str, master: str = "local[1]", **settings: str):
        """Start it; settings: behind `spark.headwater.plugin.`."""
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.errors = folder / "stderr.log"
        spark = _spark(folder, listener, master)
        plugin = {"table": str(folder / "lineage"), "spillDir": str(folder / "spill"), **settings}
        every = spark | {f"spark.headwater.plugin.{key}": value for key, value in plugin.items()}
        with self.errors.open("a") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.spark.plugin_driver", json.dumps(every), str(folder)],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(ROOT), "SPARK_HOME": str(_spark_home(folder))},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        url, self.java = self.tell("address")
        self.url = url and url.removeprefix("http://")

    def tell(self, word: str) -> Any:
        """Have it do something; return its answer."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, self.errors.read_text()[-4_000:]
        return json.loads(line)

    def post(self, path: str, body: bytes = b"", method: str = "POST", **headers: str) -> tuple[int, Any]:
        """Ask the driver's endpoint; return status and answer."""
        connection = HTTPConnection(self.url, timeout=600)
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        said = json.loads(answer.read())
        connection.close()
        return answer.status, said

    def rows(self, **equal: str) -> list[Row]:
        """Return the rows of the table whose columns are equal to these, as they came."""
        found: list[Row] = DeltaTable(self.folder / "lineage").to_pyarrow_table().to_pylist()
        chosen = [row for row in found if all(row[name] == value for name, value in equal.items())]
        return sorted(chosen, key=lambda row: row["received_at"])

    def left(self) -> list[Row]:
        """Return what a session left beside the table at its end."""
        files = sorted((self.folder / "lineage/_headwater").glob("*.ndjson"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def kill(self) -> None:
        """Kill its Java, if it is there, and then it."""
        with suppress(ProcessLookupError):
            os.kill(self.java, signal.SIGKILL)
        self._process.kill()
        self._process.communicate()

    def end(self) -> None:
        """Let it end by itself, with all of its Java."""
        ended = os.pidfd_open(self.java)
        self._process.communicate(timeout=600)
        assert select.select([ended], [], [], 200)[0], "Java does not end"
        os.close(ended)


def _spark(folder: Path, listener: str, master: str) -> dict[str, str]:
    return {
        **CONF,
        "spark.master": master,
        "spark.jars": str(built(PLUGIN)),
        "spark.driver.extraClassPath": class_path(listener),
        "spark.executor.extraClassPath": class_path(listener),
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-Duser.timezone=Asia/Tokyo -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "1",
        "spark.plugins": "io.headwater.spark.HeadwaterPlugin",
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.namespace": "jobs",
    }


def _spark_home(folder: Path) -> Path:
    """Return pyspark's own files under another folder: a cluster of this machine writes its work beside them."""
    found = find_spec("pyspark")
    assert found
    assert found.origin
    home = folder / "spark"
    if not home.exists():
        home.mkdir()
        for each in Path(found.origin).parent.iterdir():
            (home / each.name).symlink_to(each)
    return home


def _events(rows: list[Row]) -> Counter[tuple[str, str, str]]:
    """Count the listener's events by type, job and output."""
    events = [json.loads(row["body"]) for row in rows]
    return Counter(
        (event["eventType"], event["job"]["namespace"], event["outputs"][0]["name"] if event["outputs"] else "")
        for event in events
    )


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """Give a session whose driver is its only executor."""
    driver = Driver(tmp_path_factory.mktemp("session"), "1.53.0")
    with closing_driver(driver):
        yield driver
        driver.tell("stop")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """Give a session with two executors."""
    driver = Driver(tmp_path_factory.mktemp("cluster"), "1.53.0", "local-cluster[2,1,1024]")
    yield driver
    with closing_driver(driver):
        driver.tell("stop")


@contextmanager
def closing_driver(driver: Driver) -> Iterator[Driver]:
    """Leave no process behind."""
    try:
        yield driver
    finally:
        driver.kill()


def test_what_the_listener_emits_lands_once_and_a_second_flush_adds_nothing(session: Driver) -> None:
    tables = [session.tell("write") for _ in range(3)]
    bodies, table = session.tell("flush")
    assert table == str(session.folder / "lineage")
    assert bodies == len(session.rows()) == 1 + 2 * len(tables)
    assert session.tell("flush") == [0, table]

    rows = session.rows()
    wanted = {("START", "jobs", ""): 1} | {(kind, "jobs", name): 1 for name in tables for kind in ("START", "COMPLETE")}
    assert _events(rows) == wanted
    assert len({row["id"] for row in rows}) == len(rows)
    for row in rows:
        assert row["dt"] == row["received_at"].date()
        assert (row["executor_id"], row["method"], row["path"]) == ("driver", "POST", "/api/v1/lineage")
        assert row["application_id"].startswith("local-")
        assert row["application_name"] == "nightly"
        assert dict(row["headers"])["content-type"].startswith("application/json")


@pytest.mark.producers  # `ExecutorDeskTest` of the plugin's own tests has the way from an executor
def test_what_executors_post_comes_through_without_its_credentials(cluster: Driver) -> None:
    posted = cluster.tell("post")
    assert [status for _, _, status in posted] == [202] * 8
    assert cluster.url not in {url.removeprefix("http://") for _, url, _ in posted}

    assert cluster.tell("flush")[0] >= 8  # the listener tells of the job, too
    rows = cluster.rows(path="/any/route")
    assert {row["body"] for row in rows} == {b"body %d" % number for number in range(8)}
    assert {row["executor_id"] for row in rows} <= {"0", "1"}
    assert {dict(row["headers"])["x-batch"] for row in rows} == {str(number) for number in range(8)}
    assert "SECRET" not in str(cluster.rows())


def test_a_body_is_kept_as_it_came(session: Driver) -> None:
    status, said = session.post("/api/v1/lineage/batch", b"\x1f\x8b\x00not even gzip", content_encoding="gzip")
    assert status == 202
    assert session.post("/flush") == (200, {"bodies": 1, "table": str(session.folder / "lineage")})
    [row] = session.rows(id=said["id"])
    assert row["body"] == b"\x1f\x8b\x00not even gzip"
    assert dict(row["headers"])["content-encoding"] == "gzip"
    assert session.post("/api/v1/lineage", method="PUT")[0] == 405
    assert session.post("/health", method="GET")[1]["waiting"] == 0


@pytest.mark.producers  # `HeadwaterDriverTest` of the plugin's own tests has two sessions, `FlushTest` what is on disk
def test_two_sessions_of_one_process_and_a_kill(tmp_path: Path) -> None:
    """The oldest listener keeps the address of a process's first session; a kill loses what is in memory alone."""
    with closing_driver(Driver(tmp_path / "twice", OLDEST, bufferBytes="8k")) as driver:
        one = driver.tell("write")
        driver.tell("flush")
        driver.tell("again")
        assert len(driver.left()) == 1, "the first application's last event"
        two = driver.tell("write")
        driver.tell("flush")
        assert not driver.left()
        wanted = {("START", "jobs", ""): 2, ("COMPLETE", "jobs", ""): 1}
        tables = {(kind, "jobs", name): 1 for name in (one, two) for kind in ("START", "COMPLETE")}
        assert _events(driver.rows()) == wanted | tables

        before = {row["id"] for row in driver.rows()}
        posted = [driver.post("/x", b"x" * 1_000)[1]["id"] for _ in range(20)]
        in_memory = driver.post("/health", method="GET")[1]["waiting"]
        assert 0 < in_memory < 20

    with closing_driver(Driver(tmp_path / "twice", "1.53.0")) as after:
        after.tell("flush")
        ids = [row["id"] for row in after.rows()]
        assert set(ids) >= before | set(posted[in_memory:])
        assert not set(ids) & set(posted[:in_memory])
        assert len(set(ids)) == len(ids)

        assert {status for _, _, status in after.tell("post")} == {202}, "where the driver is its only executor"
        after.post("/y", b"written as the process ends")
        after.end()
        assert [row["executor_id"] for row in after.rows(path="/any/route")] == ["driver"] * 8
        assert len(after.rows(path="/y")) == 1
        assert [end["path"] for end in after.left()] == ["/api/v1/lineage"], "the application's last event"


@pytest.mark.long  # `BufferTest` of the plugin's own tests drops and counts; `test_spark_ingest` takes such losses
def test_what_finds_no_room_is_dropped_counted_and_told(tmp_path: Path) -> None:
    full = {"table": "lineage", "bufferBytes": "32k", "spillBytes": "64k"}
    with closing_driver(Driver(tmp_path / "full", "1.53.0", **full)) as driver:
        answers = [driver.post("/x", b"x" * 5_000)[0] for _ in range(30)]
        assert set(answers) == {202, 507}
        assert Path(driver.tell("write"), "_SUCCESS").exists(), "no job is harmed"
        bodies = [driver.tell("flush"), driver.tell("flush")]
        assert {name for _, name in bodies} == {"lineage"}, "a name of the catalog"
        dropped = driver.post("/health", method="GET")[1]["dropped"]
        assert dropped >= answers.count(507)
        said = driver.errors.read_text().count("lineage events dropped so far: memory and disk are full")
        assert 1 <= said < dropped, "once a minute, not for each"

        found = DeltaTable(driver.folder / "warehouse/lineage").to_pyarrow_table().to_pylist()
        assert sum(count for count, _ in bodies) == len(found) == len({row["id"] for row in found})
        losses = [json.loads(row["body"])["headwater"] for row in found if row["method"] == "LOSSES"]
        assert sum(each["dropped"] for each in losses) == sum(each["queueFull"] for each in losses) == dropped
        assert {(each["applicationName"], each["namespace"]) for each in losses} == {("nightly", "jobs")}


@pytest.mark.long
def test_wrong_settings_are_said_and_no_job_is_harmed(tmp_path: Path) -> None:
    with closing_driver(Driver(tmp_path / "wrong", "1.53.0", bufferBytes="much")) as driver:
        assert driver.url is None
        assert Path(driver.tell("write"), "_SUCCESS").exists()
        said = driver.errors.read_text()
    assert said.count("spark.headwater.plugin.bufferBytes is much. Give a size such as 64m") == 1
    assert "NO LINEAGE IS TAKEN in this session" in said
