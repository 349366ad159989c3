"""Parent jobs: a job that only its children name is listed, and `PARENT.JOB` is a name of a child."""

import pytest

from tests.marquez.conftest import Marquez
from tests.marquez.lake import JOB, PARENT
from tests.reference.world_events import at, uuid

pytestmark = pytest.mark.slow  # starts Headwater


def test_a_parent_that_only_its_children_name_is_listed(marquez_to_read: Marquez) -> None:
    listed = {each["name"]: each for each in marquez_to_read.get("/namespaces/{}/jobs", PARENT[0])["jobs"]}
    assert listed[PARENT[1]] == marquez_to_read.get("/namespaces/{}/jobs/{}", *PARENT)
    found = listed[PARENT[1]]
    assert (found["createdAt"], found["updatedAt"]) == (at(1000), at(3000))
    assert PARENT[1] in {each["name"] for each in marquez_to_read.get("/jobs", limit=1_000)["jobs"]}
    for kind in ("", "JOB"):
        assert PARENT in {
            (each["namespace"], each["name"])
            for each in marquez_to_read.get("/search", q=PARENT[1], limit=50, filter=kind)["results"]
            if each["type"] == "JOB"
        }


def test_a_parent_that_only_its_children_name_has_a_run(marquez_to_read: Marquez) -> None:
    listed = marquez_to_read.get("/namespaces/{}/jobs/{}/runs", *PARENT)
    assert (listed["totalCount"], [each["id"] for each in listed["runs"]]) == (1, [uuid(100)])
    (found,) = listed["runs"]
    assert (found["state"], found["startedAt"], found["endedAt"]) == ("RUNNING", at(1000), None)
    assert marquez_to_read.get("/jobs/runs/{}", uuid(100)) == found
    assert marquez_to_read.get("/namespaces/{}/jobs/{}", *PARENT)["latestRun"]["id"] == uuid(100)
    assert marquez_to_read.get("/jobs/runs/{}/facets", uuid(100))["facets"] == {}
    marquez_to_read.get("/jobs/runs/{}", uuid(99_999), status=404)


def test_a_child_goes_by_its_parents_name_and_its_own(marquez_to_read: Marquez) -> None:
    own = marquez_to_read.get("/namespaces/{}/jobs/{}", JOB[0], "now")
    assert own["parentJobName"] == PARENT[1]
    assert marquez_to_read.get("/namespaces/{}/jobs/{}", JOB[0], f"{PARENT[1]}.now") == own
    names = ("now", f"{PARENT[1]}.now")
    asked = [f"job:{JOB[0]}:{name}" for name in names]
    ids = [
        {node["id"] for node in marquez_to_read.get("/lineage", nodeId=node_id, depth=1)["graph"]} for node_id in asked
    ]
    assert asked[0] in ids[0]  # Marquez's page looks for the requested id
    assert asked[1] in ids[1]
    assert ids[0] - {asked[0]} == ids[1] - {asked[1]}
    for name in (f"other.{PARENT[1]}.now", "other.now", ".now", "now.", "." * 50_000):
        marquez_to_read.get("/namespaces/{}/jobs/{}", JOB[0], name, status=404)
