"""Inputs of `proof/cases/` whose correct answer is about jobs or runs, asked through both APIs of a running
Headwater.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.marquez.conftest import Marquez
from tests.proof.case_checks import FOLDER
from tests.support.data.shop import Asker, columns, up

pytestmark = pytest.mark.slow


def events(case: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / "cases" / f"{case}.ndjson").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marquez]:
    with up(tmp_path_factory.mktemp("cases") / "data") as running, Asker(running.url) as asker:
        for case in ("20-parentRun-key", "23-deleted-job", "42-kafka-null-minus-1"):
            asker.post(*events(case))
        asked = Marquez(running.url, asker)
        yield asked
        asked.client.close()


def test_a_parent_under_its_old_key_is_the_parent(asked: Marquez) -> None:
    run = events("20-parentRun-key")[-1]["run"]["runId"]
    assert [each["job"]["name"] for each in asked.asker.ask(f"runs/{run}/hierarchy")["ancestors"]] == ["dag"]
    job = asked.get("/namespaces/{}/jobs/{}", "b20", "dag.task")
    assert (job["parentJobName"], job["simpleName"]) == ("dag", "task")


def test_a_deleted_job_is_no_way_through_the_graph_and_no_use(asked: Marquez) -> None:
    def graph() -> set[str]:
        nodes = asked.get("/lineage", nodeId="dataset:s3://b23:d1", depth=20)["graph"]
        return {each["id"].rpartition(":")[2] for each in nodes}

    assert graph() == {"d1", "job1", "d2", "job3", "d3", "job2", "d4"}
    asked.send("DELETE", "/namespaces/{}/jobs/{}", "b23", "job3", status=200)
    asked.settle()
    assert graph() == {"d1", "job1", "d2"}
    impact = asked.asker.ask("impact", namespace="s3://b23", dataset="d1", column="x")
    assert columns(impact).keys() == {"d2.x"}
    unused = asked.asker.ask("unused", namespace="s3://b23", dataset="d2")
    assert [(each["column"], each["verdict"]) for each in unused["items"]] == [("x", "unused")]


def test_a_topic_of_an_unknown_broker_is_one_of_the_namespace_of_its_jobs(asked: Marquez) -> None:
    impact = asked.asker.ask("impact", namespace="s3://b42", dataset="prod", column="x")
    assert {each["namespace"] for each in impact["columns"]} == {"kafka://null:-1/b42", "s3://b42"}
