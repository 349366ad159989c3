"""The owners of datasets and jobs: see `docs/reference/questions.md`, owners."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from headwater.common.errors import WrongSetting
from headwater.index.reading.view_opener import ViewOpener
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.owner_rules import read_owners
from headwater.lineage.rules.user_rules import UserRules
from headwater.questions.owners import OwnerReader
from tests.index.test_reference import indexed
from tests.reference.small_events import run, x_from
from tests.reference.world_events import Json, dataset, deliver, facet, uuid
from tests.support.data.nested_jobs import kind, part_of
from tests.support.data.recorded_nights import recorded
from tests.support.questions import ask

RULES = """version: 1
owners:
  - namespace: "S3://Shop.Example"
    dataset: "rev*"
    owners: [finance, ada]
  - job: "shop_nightly.wait"
    owners: ops
  - {namespace: "s3://shop.example", dataset: report, owners: []}
"""


@pytest.fixture(scope="module")
def views() -> Iterator[ViewOpener]:
    with indexed(deliver([*recorded("airflow-3.3.2"), *recorded("dbt-pass")]), Random(1)) as open_views:
        yield open_views


def owners(views: ViewOpener, kind: str, *name: str, rules: str = "") -> list[tuple[str, str]]:
    def read(live: Any, known: UserRules) -> list[tuple[str, str]]:
        reader = OwnerReader(live, replace(known, owners=read_owners(rules, "owners.yaml")) if rules else known)
        found = reader.owners_of(Name(*name)) if kind == "dataset" else reader.owners_of_job(Name(*name))
        return [(each.name, each.source) for each in found]

    return views.query_current_index(read)


def test_a_job_has_the_owners_in_its_facet(views: ViewOpener) -> None:
    assert owners(views, "job", "airflow", "shop_nightly.revenue") == [("team-sales", "facet")]
    assert owners(views, "job", "airflow", "shop_nightly") == [("team-customers", "facet"), ("team-sales", "facet")]


def test_a_dataset_without_owners_has_those_of_the_jobs_that_write_it(views: ViewOpener) -> None:
    assert owners(views, "dataset", "s3://shop.example", "revenue") == [("team-sales", "job")]
    assert owners(views, "dataset", "s3://raw.example", "orders") == []


def test_dbt_sends_owners_of_models(views: ViewOpener) -> None:
    where = "duckdb:///opt/producer/shop.duckdb"
    assert owners(views, "dataset", where, "shop.main.stg_customers") == [("sales-data@example.org", "facet")]


def test_the_configuration_of_a_model_names_its_owner() -> None:
    model = facet(config={"materialized": "table", "owner": "ada"})
    with indexed(deliver([run(1, 1, dataset(("s3://l", "t"), dbt_model=model))]), Random(1)) as views:
        assert owners(views, "dataset", "s3://l", "t") == [("ada", "facet")]


def test_the_first_rule_that_fits_decides_alone(views: ViewOpener) -> None:
    of_revenue = owners(views, "dataset", "s3://shop.example", "revenue", rules=RULES)
    assert of_revenue == [("finance", "rules"), ("ada", "rules")]
    assert owners(views, "dataset", "s3://shop.example", "report", rules=RULES) == []
    assert owners(views, "dataset", "s3://shop.example", "customers", rules=RULES) == [("team-customers", "job")]
    assert owners(views, "job", "airflow", "shop_nightly.wait", rules=RULES) == [("ops", "rules")]


def owned(*names: str, integration: str = "SPARK") -> Json:
    return {**kind("JOB", integration), "ownership": facet(owners=[{"name": each} for each in names])}


def job_event(number: int, job: str, job_facets: Json, *outputs: Json, **run_facets: Json) -> Json:
    event = run(number, number, *outputs, job_facets=job_facets, run_facets=run_facets)
    event["job"] |= {"namespace": "n", "name": job}
    return event


def test_a_statement_has_the_owners_of_the_nearest_job_above_it() -> None:
    events = [
        job_event(1, "dag", owned("ada")),
        job_event(2, "dag.task", kind("TASK", "AIRFLOW"), parent=part_of(uuid(1), ("n", "dag"), uuid(1), ("n", "dag"))),
        job_event(3, "app", kind("SQL_JOB", "SPARK"), x_from(("s3://l", "a"), ("s3://l", "b")),
                  parent=part_of(uuid(2), ("n", "dag.task"), uuid(1), ("n", "dag"))),
    ]  # fmt: skip
    with indexed(deliver(events), Random(1)) as views:
        assert owners(views, "job", "n", "app") == [("ada", "facet")]
        assert owners(views, "dataset", "s3://l", "b") == [("ada", "job")]


@pytest.mark.parametrize(
    ("of_task", "of_dag", "expected"),
    [("airflow", "ada, bob", ["ada", "bob"]), ("eve", "ada", ["eve"]), ("airflow", "airflow", [])],
)
def test_old_providers_name_owners_in_the_run_only(of_task: str, of_dag: str, expected: list[str]) -> None:
    told = facet(task={"task_id": "t", "owner": of_task}, dag={"dag_id": "d", "owner": of_dag})
    with indexed(deliver([job_event(1, "d.t", kind("TASK", "AIRFLOW"), airflow=told)]), Random(1)) as views:
        assert [name for name, _ in owners(views, "job", "n", "d.t")] == expected


def test_the_default_owner_of_airflow_is_nobody() -> None:
    event = job_event(1, "d.t", {**owned("airflow", integration="AIRFLOW")})
    with indexed(deliver([event]), Random(1)) as views:
        assert owners(views, "job", "n", "d.t") == []


def test_answers_name_the_owners(views: ViewOpener) -> None:
    orders = {"namespace": "s3://shop.example", "dataset": "orders"}
    of_revenue = {"namespace": "s3://shop.example", "dataset": "revenue"}
    sales = [{"name": "team-sales", "type": None, "source": "facet"}]
    impact = ask(views, "impact", orders)
    assert {each["dataset"]: [owner["name"] for owner in each["owners"]] for each in impact["owners"]} == {
        "orders": ["team-sales"], "revenue": ["team-sales"],
    }  # fmt: skip
    health = ask(views, "health", {"namespace": "airflow", "job": "shop_nightly.revenue"})
    assert health["about"]["owners"] == sales
    readers = ask(views, "readers", {**of_revenue, "since": "2026-11-28T00:00:00Z", "to": "2026-11-29T00:00:00Z"})
    assert [(each["job"]["name"], [owner["name"] for owner in each["owners"]]) for each in readers["items"]] == [
        ("shop_nightly.publish", ["team-sales"])
    ]


def test_exposures_of_dbt_are_readers_with_their_address(views: ViewOpener) -> None:
    model = {"namespace": "duckdb:///opt/producer/shop.duckdb", "dataset": "shop.main.customer_revenue"}
    assert ask(views, "readers", model)["exposures"] == [{
        "id": "exposure.shop.weekly_revenue", "name": "weekly_revenue", "type": "dashboard",
        "address": "https://bi.example.org/dashboards/weekly-revenue", "href": None, "owner": None,
    }]  # fmt: skip


def test_exposures_of_any_structure_are_read() -> None:
    sent = [
        {"name": "a", "owner": {"email": "a@b.c"}, "url": "https://app.powerbi.com/x"},
        {"name": 1},
        7,
        {"name": "B"},
    ]
    facets = {"dbt_exposures": facet(exposures=sent)}
    with indexed(deliver([run(1, 1, dataset(("s3://l", "t"), **facets))]), Random(1)) as views:
        found = ask(views, "readers", {"dataset": "t"})["exposures"]
    assert [(each["name"], each["owner"], each["href"]) for each in found] == [
        ("B", None, None), ("a", "a@b.c", "https://app.powerbi.com/x"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{dataset: a, job: b, owners: c}", "names a dataset and a job"),
        ("{owners: c}", "fit everything"),
        ("{dataset: a}", "owners is missing"),
    ],
)
def test_wrong_rules_are_refused(text: str, message: str) -> None:
    with pytest.raises(WrongSetting, match=message):
        read_owners(f"version: 1\nowners: [{text}]", "owners.yaml")
