"""Run real producers against Headwater and compare the column lineage with hand-drawn graphs."""

import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.extractor_names import extracted_names
from tests.support.data.shop import Asker, up
from tests.support.name_addresses import addresses
from tests.support.waiting import rest
from tools.producer_envs import AIRFLOW, DBT, environment, java_class_path

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent / "scripts"
CLIENTS_DREW = {
    "orders.customer → revenue.customer",
    "orders.email → revenue.email_hash, masked",
    "orders.amount → revenue.total",
}
DBT_DREW = {
    "raw_customers.id → stg_customers.customer_id",
    "raw_customers.first_name → stg_customers.full_name",
    "raw_customers.last_name → stg_customers.full_name",
    "raw_customers.email → stg_customers.email",
    "raw_orders.id → stg_orders.order_id",
    "raw_orders.customer_id → stg_orders.customer_id",
    "raw_orders.amount → stg_orders.amount",
    "stg_customers.customer_id → customer_revenue.customer_id",
    "stg_customers.full_name → customer_revenue.full_name",
    "stg_customers.email → customer_revenue.email_hash",
    "stg_orders.amount → customer_revenue.revenue",
}
AIRFLOW_DREW = {"orders.customer → revenue.customer, inferred", "orders.amount → revenue.total, inferred"}


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    """Provide a Headwater to which every producer of this file sends."""
    with up(tmp_path_factory.mktemp("producers") / "data") as running, Asker(running.url) as asker:
        yield asker


def test_the_python_client(asker: Asker) -> None:
    run, parent = str(uuid.uuid4()), str(uuid.uuid4())
    _run([sys.executable, str(HERE / "shop_run.py"), run, parent], {"OPENLINEAGE_URL": _url(asker)})
    asker.wait_for("upstream", dataset="python.revenue")
    assert drawn(asker, "python.revenue") == CLIENTS_DREW
    found = asker.ask(f"runs/{run}/hierarchy")
    assert found["run"]["state"] == "COMPLETE"
    assert [(each["id"], each["job"]["name"]) for each in found["ancestors"]] == [(parent, "nightly")]
    tagged, told = asker.ask("surface", tag="pii")["items"]
    assert (tagged["tagged"], tagged["exposure"]) == (True, "exposed")
    assert (told["dataset"], told["column"], told["exposure"]) == ("python.revenue", "email_hash", "masked")


@pytest.mark.timeout(400)
def test_dbt(asker: Asker, tmp_path: Path) -> None:
    folder = shutil.copytree(HERE / "dbt", tmp_path / "dbt")
    programs = environment(DBT)
    settings = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "OPENLINEAGE_URL": _url(asker),
        "OPENLINEAGE_NAMESPACE": "dbt",
        "SHOP_DATABASE": str(tmp_path / "shop.duckdb"),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    }
    _run([str(programs / "dbt-ol"), "build", "--profiles-dir", "."], settings, folder)
    states = _ended(asker, "dbt", "dbt-run-shop")
    models = ("stg_customers", "stg_orders", "customer_revenue")
    assert states == {
        "dbt-run-shop": "COMPLETE",
        "shop.main.shop.customer_revenue.build.test": "COMPLETE",
        **{f"shop.main.shop.{model}.build.run": "COMPLETE" for model in models},
    }
    assert set().union(*(drawn(asker, f"shop.main.{model}") for model in models)) == DBT_DREW
    assert _parts(asker, "dbt", "dbt-run-shop") == {name for name in states if name != "dbt-run-shop"}


@pytest.mark.long
def test_openlineages_extractors_still_name_tables_as_recorded() -> None:
    asked = [each for each in addresses() if each.extracted is not None]
    for each, name in zip(asked, extracted_names(asked), strict=True):
        assert name == each.extracted, each


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_java_client(asker: Asker) -> None:
    run = str(uuid.uuid4())
    names = ("TYPE", "URL", "COMPRESSION")
    settings = zip((f"OPENLINEAGE__TRANSPORT__{name}" for name in names), ("http", _url(asker), "gzip"), strict=True)
    _run(["java", "-cp", java_class_path(), str(HERE / "ShopRun.java"), run], dict(settings))
    asker.wait_for("upstream", dataset="java.revenue")
    assert drawn(asker, "java.revenue") == CLIENTS_DREW
    assert asker.ask(f"runs/{run}/hierarchy")["run"]["state"] == "COMPLETE"


@pytest.mark.long
@pytest.mark.timeout(900)
def test_airflow(asker: Asker, tmp_path: Path) -> None:
    shutil.copytree(HERE / "airflow", tmp_path / "dags")
    programs = environment(AIRFLOW)
    transport = {"type": "http", "url": _url(asker), "endpoint": "api/v1/lineage", "compression": "gzip"}
    settings = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__DAGS_FOLDER": str(tmp_path / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__OPENLINEAGE__NAMESPACE": "airflow",
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(transport),
        "AIRFLOW_CONN_SHOP": json.dumps({"conn_type": "sqlite", "host": str(tmp_path / "shop.sqlite")}),
    }
    for command in (["db", "migrate"], ["dags", "test", "shop", "2026-01-02"]):
        _run([str(programs / "airflow"), *command], settings)
    states = _ended(asker, "airflow", "shop")
    tasks = {"shop.take", "shop.count", "shop.sum_up"}
    assert {name: states[name] for name in ("shop", *tasks)} == dict.fromkeys(("shop", *tasks), "COMPLETE")
    assert _parts(asker, "airflow", "shop") >= tasks
    assert drawn(asker, "shop.public.revenue") == AIRFLOW_DREW
    (stop,) = asker.ask("upstream", namespace="file://bronze.example", dataset="orders.csv")["stops"]
    assert [each["namespace"] for each in stop["onward"]] == ["file://landing.example"]
    assert [each["name"] for each in stop["jobs"]] == ["shop.take"]


def drawn(asker: Asker, dataset: str) -> set[str]:
    """Return the sources of each column of a dataset, with the last parts of their names."""
    answer = asker.ask("upstream", dataset=dataset, depth=1)
    return {_arrow(each) for each in answer["columns"]}


def _arrow(source: Mapping[str, Any]) -> str:
    via = source["via"]
    ends = [f"{each['dataset'].rpartition('.')[2]}.{each['column']}" for each in (source, via)]
    said = "" if via["origin"] == "observed" else f", {via['origin']}"
    return " → ".join(ends) + (", masked" if source["masked"] else "") + said


def _ended(asker: Asker, namespace: str, last: str) -> dict[str, str]:
    """Wait until the last job has ended. Returns the state of the last run of each job in a namespace."""
    deadline = time.monotonic() + 60
    states: dict[str, str] = {}
    while states.get(last) != "COMPLETE":
        assert time.monotonic() < deadline, states
        rest()
        jobs = asker.wait_for("jobs", limit=1000)["items"]
        states = {each["name"]: each["last_run"]["state"] for each in jobs if each["namespace"] == namespace}
    return states


def _parts(asker: Asker, namespace: str, job: str) -> set[str]:
    """Return the jobs of the runs that belong to the last run of a job."""
    jobs = asker.ask("jobs", limit=1000)["items"]
    (run,) = (each["last_run"]["id"] for each in jobs if (each["namespace"], each["name"]) == (namespace, job))
    return {each["job"]["name"] for each in asker.ask(f"runs/{run}/hierarchy", limit=1000)["items"]}


def _url(asker: Asker) -> str:
    return str(asker.client.base_url).rstrip("/")


def _run(command: list[str], settings: Mapping[str, str], cwd: Path | None = None) -> None:
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=cwd, env={**own, **settings}, capture_output=True, text=True, check=False, timeout=800
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
