"""Find real Spark applications without lineage: by their event logs, a real History Server, and their Delta commits."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import psutil
import pyspark
import pytest

from demo.run import when_caught_up
from tests.support.data.reconcile_world import Json
from tests.support.paths import ROOT
from tests.support.running import Running, headwater
from tests.support.waiting import rest

# `make test` covers histories and tables as Spark writes them in `test_reconcile`, `test_reconcile_history` and
# `_tables`
pytestmark = [pytest.mark.producers, pytest.mark.slow, pytest.mark.timeout(900)]

KEY = "the-key-of-the-reconciling-tests"
LISTENER = ROOT / ".cache/jars/openlineage-1.53.0/openlineage-spark_2.12-1.53.0.jar"
NOW = ("--grace", "1s", "--silent", "1s", "--json")


class Ran(NamedTuple):
    """The results of the applications: ids by name, event logs, the lake, and the data of the Headwater
    they posted to.
    """

    ids: dict[str, str]
    logs: Path
    lake: Path
    data: Path


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Run the applications once, and delete the log of `removed`."""
    folder = tmp_path_factory.mktemp("reconcile")
    logs, lake = folder / "logs", folder / "lake"
    logs.mkdir()
    keys = json.dumps([{"name": "spark", "key": KEY, "roles": ["write", "read"]}])
    with Running(folder / "data", environment={"HEADWATER_KEYS": keys}) as running:
        done = subprocess.run(
            [sys.executable, "-m", "tests.support.spark.reconcile_driver", running.url, KEY, LISTENER, logs, lake],
            cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        when_caught_up(running.url, KEY)
    ids = dict(line.split() for line in done.stdout.splitlines())
    assert list(ids) == ["reports", "silent", "fails", "removed", "killed"], done.stdout + done.stderr
    (log,) = logs.glob(f"*{ids['removed']}*")
    shutil.rmtree(log)
    time.sleep(2)  # the log of the killed application must be unchanged for a second
    return Ran(ids, logs, lake, folder / "data")


@pytest.fixture(scope="module")
def history_server(ran: Ran) -> Iterator[str]:
    """Start a History Server on the logs, and yield its address."""
    jars = Path(pyspark.__file__).parent / "jars"
    options = {"fs.logDirectory": ran.logs.as_uri(), "ui.port": "0", "fs.update.interval": "1s"}
    settings = [f"-Dspark.history.{name}={value}" for name, value in options.items()]
    command = ["java", "-Xmx512m", *settings, "-cp", f"{jars}/*", "org.apache.spark.deploy.history.HistoryServer"]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    for line in process.stderr:
        if "Bound HistoryServer to" in line:
            break
    ports = [each.laddr.port for each in psutil.Process(process.pid).net_connections("tcp") if each.status == "LISTEN"]
    url = f"http://127.0.0.1:{ports[0]}"
    try:
        while len(httpx.get(f"{url}/api/v1/applications", timeout=60).json()) < 4:
            assert process.poll() is None
            rest()
        yield url
    finally:
        process.kill()
        process.communicate()


def reconciled(ran: Ran, *arguments: str | Path) -> list[Json]:
    done = headwater("reconcile", "--data", ran.data, *NOW, *arguments)
    assert (done.returncode, done.stderr) == (1, ""), done.stdout + done.stderr
    found: list[Json] = json.loads(done.stdout)["items"]
    return found


def test_of_event_logs_the_silent_and_the_killed_application_are_named(ran: Ran) -> None:
    found = reconciled(ran, "--history", f"eventlogs:{ran.logs}")

    assert sorted((each["kind"], each["name"], each["id"], each["certain"]) for each in found) == [
        ("never_ended", "killed", ran.ids["killed"], False),
        ("not_reported", "silent", ran.ids["silent"], True),
    ]


@pytest.mark.long  # `test_reconcile_history` covers its answers
def test_of_a_history_server_the_same_are_named(ran: Ran, history_server: str) -> None:
    found = reconciled(ran, "--history", f"historyserver:{history_server}")

    assert sorted((each["kind"], each["name"], each["id"]) for each in found) == [
        ("never_ended", "killed", ran.ids["killed"]),
        ("not_reported", "silent", ran.ids["silent"]),
    ]


def test_of_the_tables_what_the_listener_misses_and_the_silent_write_are_named(ran: Ran) -> None:
    """Appends, the MERGE and writes of other applications match. UPDATE and DELETE events name no dataset."""
    found = reconciled(ran, "--tables", ran.lake)

    commits = [(each["dataset"]["dataset"], each["version"]) for each in found if each["kind"] == "commit_without_run"]
    orders = str(ran.lake / "orders")
    assert commits == [(orders, 3), (orders, 4), (orders, 5)]
    assert [each["reason"].split(", ")[1].split(" by ")[0] for each in found[:2]] == ["UPDATE", "DELETE"]
    assert [bool(each["run"]) for each in found if each["version"]] == [True, True, False]
    (nothing,) = (each for each in found if each["kind"] != "commit_without_run")
    assert (nothing["kind"], nothing["dataset"]["dataset"]) == ("committed_nothing", orders)
