"""Snippets that connect producers to Headwater are the same everywhere, and run for real if possible."""

import json
import re
import shlex
import subprocess
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, Run, RunEvent, RunState

from headwater.questions.producer_setup import KEY, producer_setups
from tests.support.data.shop import Asker
from tests.support.paths import ROOT
from tests.support.running import Running
from tools.jars import CACHE

pytestmark = pytest.mark.slow

DOCS = ROOT / "docs"
DEFAULT = "http://localhost:5000"
SECRET = "of-producers"
OF_PRODUCERS = {"name": "producers", "key": SECRET, "roles": ["write"]}
OF_READERS = {"name": "readers", "key": "of-readers", "roles": ["read"]}
EMITS = """
from datetime import datetime, timezone
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
OpenLineageClient().emit(RunEvent(
    eventType=RunState.COMPLETE, eventTime=datetime.now(timezone.utc).isoformat(), run=Run(runId="%s"),
    job=Job(namespace="dbt", name="model"), producer="https://example.org/tests"))
"""
JOB = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").appName("submitted").config("spark.ui.enabled", "false").getOrCreate()
spark.range(3).selectExpr("id", "id * 2 AS twice").write.mode("overwrite").parquet("FOLDER/numbers")
spark.read.parquet("FOLDER/numbers").selectExpr("twice AS kept").write.mode("overwrite").parquet("FOLDER/kept")
spark.stop()
"""


def test_the_docs_show_what_the_page_shows() -> None:
    shown = producer_setups(DEFAULT, "0195c000-0000-7000-8000-000000000001", datetime(2026, 3, 1, 12, tzinfo=UTC))
    page = (DOCS / "how-to/data-engineer/connect.md").read_text()
    assert _blocks(page) == [each.text for each in shown.items]
    assert re.findall(r"^## (.+)$", page, re.MULTILINE)[:-1] == [each.title for each in shown.items]


def test_other_pages_of_the_docs_say_the_same() -> None:
    of_fabric = next(each.text for each in producer_setups("https://RECEIVER").items if each.id == "fabric")
    assert of_fabric in _blocks((DOCS / "how-to/data-engineer/fabric.md").read_text())


@pytest.mark.parametrize(
    "url", ["", "example.org", "http://a b", "http://a';reboot;'", "http://a/$(reboot)", "file:///a"]
)
def test_what_is_no_address_is_refused_before_it_is_part_of_a_command(shop_to_read: Asker, url: str) -> None:
    if url:
        assert "is not an address" in shop_to_read.refused("connect", 400, url=url)["error"]
    else:
        assert DEFAULT in json.dumps(shop_to_read.ask("connect", url=url))


def test_each_answer_has_an_event_of_its_own(shop_to_read: Asker) -> None:
    first, second = (shop_to_read.ask("connect", url="https://h.example/") for _ in range(2))
    assert _run_of(first["event"]) != _run_of(second["event"])
    texts = {each["id"]: each["text"] for each in first["items"]}
    assert first["event"] in texts["curl"]
    assert "https://h.example/api/v1/lineage" in texts["curl"]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Provide a Headwater with keys."""
    folder = tmp_path_factory.mktemp("guarded")
    environment = {"HEADWATER_KEYS": json.dumps([OF_PRODUCERS, OF_READERS])}
    with Running(folder / "data", options=["--tick", "50ms"], environment=environment, cwd=folder) as running:
        yield running


@pytest.fixture
def asker(guarded: Running) -> Iterator[Asker]:
    with Asker(guarded.url) as asker:
        asker.client.headers["authorization"] = "Bearer of-readers"
        yield asker


@pytest.fixture
def texts(guarded: Running) -> dict[str, str]:
    """Return the snippets with the key filled in."""
    return {each.id: each.text.replace(KEY, SECRET) for each in producer_setups(guarded.url).items}


def test_curl_as_shown_sends_its_event(asker: Asker, texts: dict[str, str]) -> None:
    done = _bash(texts["curl"].replace("curl ", "curl --silent ", 1))
    assert (done.returncode, done.stdout) == (0, "{}"), done.stderr
    asker.wait_for(f"runs/{_run_of(texts['curl'])}/lineage")


def test_curl_with_a_key_that_may_only_read_fails_and_says_why(texts: dict[str, str]) -> None:
    done = _bash(texts["curl"].replace(SECRET, "of-readers"))
    assert done.returncode != 0
    assert json.loads(done.stdout)["fix"]


def test_the_python_program_as_shown_sends_its_event(asker: Asker, texts: dict[str, str]) -> None:
    subprocess.run([sys.executable, "-c", texts["python"]], check=True, timeout=60)
    asker.wait_for("upstream", dataset="/bronze/orders")


def test_openlineages_client_sends_with_the_settings_for_dbt(asker: Asker, texts: dict[str, str]) -> None:
    run = str(uuid.uuid4())
    done = _bash(f"{_exports(texts['dbt'])}\n{shlex.quote(sys.executable)} -c {shlex.quote(EMITS % run)}")
    assert done.returncode == 0, done.stderr
    asker.wait_for(f"runs/{run}/lineage")


def test_openlineages_client_sends_with_the_transport_for_airflow(asker: Asker, texts: dict[str, str]) -> None:
    """Airflow's provider passes this setting to the client (`OpenLineageClient(config={"transport": …})`)."""
    told = _bash(f'{_exports(texts["airflow"])}\nprintf %s "$AIRFLOW__OPENLINEAGE__TRANSPORT"').stdout
    run = str(uuid.uuid4())
    client = OpenLineageClient(config={"transport": json.loads(told)})
    client.emit(
        RunEvent(
            eventType=RunState.COMPLETE, eventTime=datetime.now(UTC).isoformat(), run=Run(runId=run),
            job=Job(namespace="airflow", name="dag.task"), producer="https://example.org/tests",
        )
    )  # fmt: skip
    asker.wait_for(f"runs/{run}/lineage")


@pytest.mark.producers
@pytest.mark.timeout(300)
def test_spark_submit_as_shown_sends_lineage_of_columns(asker: Asker, texts: dict[str, str], tmp_path: Path) -> None:
    jar = next((CACHE / "openlineage-1.53.0").glob("openlineage-spark_*.jar"))
    (tmp_path / jar.name).symlink_to(jar)
    (tmp_path / "job.py").write_text(JOB.replace("FOLDER", str(tmp_path)))
    programs = str(Path(sys.executable).parent)
    # for a short job, Java's second compiler costs more time than it saves
    java = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    environment = f"PATH={shlex.quote(programs)}:$PATH PYSPARK_PYTHON={sys.executable} SPARK_SUBMIT_OPTS='{java}'"
    done = _bash(f"export {environment}\n{texts['spark-submit']}", tmp_path)
    assert done.returncode == 0, done.stderr
    reached = asker.wait_for("impact", dataset=f"{tmp_path}/numbers", column="twice")
    assert [(each["dataset"], each["column"]) for each in reached["columns"]] == [(f"{tmp_path}/kept", "kept")]


def _blocks(page: str) -> list[str]:
    return re.findall(r"^```\w*\n(.*?)\n```$", page, re.MULTILINE | re.DOTALL)


def _exports(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.startswith("export "))


def _bash(script: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=240, check=False)


def _run_of(text: str) -> str:
    found = re.search(r'"runId": "([^"]+)"', text)
    assert found
    return found[1]
