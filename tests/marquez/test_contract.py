"""Every call of Marquez's page and clients: fields, paging, refusals (`docs/reference/marquez.md` lists the calls)."""

import re
from typing import Any

import msgspec
import pytest

from headwater.api.marquez.shapes import READ_BY_PAGE
from tests.marquez.conftest import Marquez, encoded
from tests.marquez.lake import (
    BARE,
    BROKER,
    COLONS,
    DIGIT,
    FAILED,
    JOB,
    NEW,
    OLD,
    PARENT,
    RAW,
    RUNNING,
    STORE,
    STREAM,
    TABLE,
    TOPIC,
)  # fmt: skip
from tests.reference.world_events import at
from tests.support.data.shop import ALIAS, LAKE, ODD, SILVER

pytestmark = pytest.mark.slow  # starts Headwater

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
RUN_FIELDS = {
    "id", "createdAt", "updatedAt", "nominalStartTime", "nominalEndTime", "state", "startedAt", "endedAt",
    "durationMs", "args", "jobVersion", "facets",
}  # fmt: skip
DATASET_FIELDS = {
    "id", "type", "name", "physicalName", "createdAt", "updatedAt", "namespace", "sourceName", "fields", "tags",
    "lastModifiedAt", "lastLifecycleState", "description", "currentVersion", "columnLineage", "facets", "deleted",
}  # fmt: skip
JOB_FIELDS = {
    "id", "type", "name", "simpleName", "parentJobName", "createdAt", "updatedAt", "namespace", "inputs", "outputs",
    "location", "description", "latestRun", "latestRuns", "tags", "facets", "currentVersion",
}  # fmt: skip


def test_namespaces_are_those_of_jobs_and_datasets_and_default(marquez_to_read: Marquez) -> None:
    answer = marquez_to_read.get("/namespaces")
    names = [each["name"] for each in answer["namespaces"]]
    assert {"default", JOB[0], STORE, BROKER, LAKE} <= set(names)
    assert answer["totalCount"] == len(names)
    one = marquez_to_read.get("/namespaces/{}", STORE)
    assert set(one) == {"name", "createdAt", "updatedAt", "ownerName", "description", "isHidden"}
    assert (one["name"], one["createdAt"], one["isHidden"]) == (STORE, at(1000), False)
    assert marquez_to_read.get("/namespaces/{}", "nowhere", status=404) == {
        "code": 404, "message": "Namespace 'nowhere' not found.",
    }  # fmt: skip


def test_sources_are_what_facets_name_else_namespaces(marquez_to_read: Marquez) -> None:
    sources = {each["name"]: each for each in marquez_to_read.get("/sources")["sources"]}
    assert sources["the lake"]["connectionUrl"] == STORE
    assert sources["the lake"]["type"] == "ABFS"
    assert sources[BROKER]["type"] == "KAFKA"
    assert marquez_to_read.get("/sources/{}", "the lake") == sources["the lake"]
    assert marquez_to_read.get("/sources/{}", "none", status=404)["message"] == "Source 'none' not found."


def test_a_dataset_tells_all_that_its_page_shows(marquez_to_read: Marquez) -> None:
    found = marquez_to_read.get("/namespaces/{}/datasets/{}", *TABLE)
    assert set(found) == DATASET_FIELDS
    assert found["id"] == {"namespace": STORE, "name": "gold/orders"}
    assert (found["type"], found["sourceName"], found["description"]) == ("DB_TABLE", "the lake", "Orders.")
    assert (found["createdAt"], found["lastModifiedAt"]) == (at(1000), at(2030))
    assert found["fields"] == [
        {"name": name, "type": "string", "tags": [], "description": None} for name in ("id", "mail")
    ]
    assert {"schema", "columnLineage", "documentation", "version"} <= set(found["facets"])
    assert found["facets"]["version"]["datasetVersion"] == "42"
    assert UUID.fullmatch(found["currentVersion"])
    mail = next(each for each in found["columnLineage"] if each["name"] == "mail")
    assert mail["inputFields"][0] == {
        "namespace": STORE,
        "name": "2024/orders",
        "dataset": "2024/orders",
        "field": "mail",
        "transformationDescription": "",
        "transformationType": "MASKED",
        "transformations": [{"type": "DIRECT", "subtype": "", "description": "", "masking": True}],
    } | {
        key: mail["inputFields"][0][key] for key in ("transformationDescription", "transformations")
    }  # empty values may be null
    assert mail["inputFields"][0]["transformations"][0]["masking"] is True


def test_datasets_are_listed_by_name_with_their_assertions(marquez_to_read: Marquez) -> None:
    answer = marquez_to_read.get("/namespaces/{}/datasets", STORE)
    assert [each["name"] for each in answer["datasets"]] == ["2024/orders", "gold/orders", "raw/orders"]
    assertions = answer["datasets"][2]["facets"]["dataQualityAssertions"]["assertions"]
    assert assertions == [{"assertion": "not_null", "success": True, "column": "id"}]
    assert marquez_to_read.get("/namespaces/{}/datasets", BROKER)["datasets"][0]["type"] == "STREAM"


def test_a_dataset_goes_by_its_aliases_and_is_listed_once(marquez_to_read: Marquez) -> None:
    found = marquez_to_read.get("/namespaces/{}/datasets/{}", *ALIAS)
    assert found["id"] == {"namespace": LAKE, "name": "silver/customers"}
    assert marquez_to_read.get("/namespaces/{}/datasets/{}", "S3A://lake", "/silver/customers/")["id"] == found["id"]
    listed = marquez_to_read.get("/namespaces/{}/datasets", "S3A://lake")["datasets"]
    assert [each["name"] for each in listed].count("silver/customers") == 1


def test_a_dataset_has_a_version_for_each_schema_lineage_and_label(marquez_to_read: Marquez) -> None:
    answer = marquez_to_read.get("/namespaces/{}/datasets/{}/versions", *TABLE)
    newest, oldest = answer["versions"]
    assert answer["totalCount"] == 2
    assert [each["externalVersion"] for each in (newest, oldest)] == ["42", "41"]
    assert [each["createdByRun"]["id"] for each in (newest, oldest)] == [NEW, OLD]
    assert [len(each["fields"]) for each in (newest, oldest)] == [2, 1]
    one = marquez_to_read.get("/namespaces/{}/datasets/{}/versions/{}", *TABLE, oldest["version"])
    assert (one["version"], one["createdAt"]) == (oldest["version"], at(1030))
    assert marquez_to_read.get("/namespaces/{}/datasets/{}", *TABLE)["currentVersion"] == newest["version"]
    unwritten = marquez_to_read.get("/namespaces/{}/datasets/{}/versions", *RAW)["versions"]
    assert [(each["createdByRun"], len(each["fields"])) for each in unwritten] == [(None, 1)]
    missing = marquez_to_read.get("/namespaces/{}/datasets/{}/versions/{}", *TABLE, "none", status=404)
    assert missing["message"] == "Dataset version 'none' not found."


def test_a_job_tells_all_that_its_page_shows(marquez_to_read: Marquez) -> None:
    found = marquez_to_read.get("/namespaces/{}/jobs/{}", *JOB)
    assert set(found) >= JOB_FIELDS
    assert (found["type"], found["parentJobName"], found["simpleName"]) == ("BATCH", "daily", "load")
    assert (found["description"], found["location"]) == ("Loads orders.", "https://example.org/load.py")
    assert found["tags"] == ["core"]
    assert [each["name"] for each in found["inputs"]] == ["2024/orders", "raw/orders"]
    assert [each["name"] for each in found["outputs"]] == ["gold/orders"]
    assert set(found["latestRun"]) == RUN_FIELDS
    assert (found["latestRun"]["id"], found["latestRun"]["state"]) == (NEW, "COMPLETED")
    assert found["latestRun"]["facets"]["custom"]["of"] == "42"
    assert [each["id"] for each in found["latestRuns"]] == [NEW, OLD]
    assert (
        marquez_to_read.get("/namespaces/{}/jobs/{}", JOB[0], "none", status=404)["message"] == "Job 'none' not found."
    )


def test_a_job_without_runs_has_null_for_its_newest_ones(marquez_to_read: Marquez) -> None:
    """Marquez's page uses the first item of any list that is not null."""
    found = marquez_to_read.get("/namespaces/{}/jobs/{}", JOB[0], "declared")
    assert (found["latestRun"], found["latestRuns"]) == (None, None)
    listed = {each["name"]: each["latestRuns"] for each in marquez_to_read.get("/namespaces/{}/jobs", JOB[0])["jobs"]}
    assert listed["declared"] is None
    assert all(runs for name, runs in listed.items() if name not in {"declared", PARENT[1]})


def test_every_version_that_is_named_is_there(marquez_to_read: Marquez) -> None:
    """Marquez's Java client does not accept null, so a dataset has a version even if no run has completed a write."""
    for run in (OLD, NEW, RUNNING, FAILED, STREAM):
        found = marquez_to_read.get(f"/jobs/runs/{run}")
        versions = [*found["inputVersions"], *found["outputVersions"]]
        assert versions
        assert [each["datasetVersionId"] for each in found["inputDatasetVersions"]] == found["inputVersions"]
        for each in versions:
            assert UUID.fullmatch(each["version"])
            named = (each["namespace"], each["name"])
            shown = marquez_to_read.get("/namespaces/{}/datasets/{}/versions/{}", *named, each["version"])
            assert (shown["version"], shown["id"]["name"]) == (each["version"], each["name"])
    for named in (RAW, TABLE, TOPIC, COLONS, DIGIT, BARE):
        assert UUID.fullmatch(marquez_to_read.get("/namespaces/{}/datasets/{}", *named)["currentVersion"])
        listed = marquez_to_read.get("/namespaces/{}/datasets/{}/versions", *named)
        assert (len(listed["versions"]), listed["totalCount"]) == (listed["totalCount"], listed["totalCount"])
        assert all(UUID.fullmatch(each["version"]) for each in listed["versions"])
        assert listed["versions"]


def test_jobs_are_listed_newest_first_and_by_the_state_of_their_last_run(marquez_to_read: Marquez) -> None:
    answer = marquez_to_read.get("/jobs", limit=3)
    assert [each["name"] for each in answer["jobs"]] == ["stream", "declared", "broken"]
    assert answer["totalCount"] > 3
    assert answer["truncated"]
    for state, names in {"RUNNING": {"now", "stream"}, "FAILED": {"broken"}, "ABORTED": set()}.items():
        found = marquez_to_read.get("/namespaces/{}/jobs", JOB[0], lastRunStates=state)
        assert {each["name"] for each in found["jobs"]} == names
        assert found["totalCount"] == len(names)
    assert marquez_to_read.get("/jobs", lastRunStates="LOST", status=400)["code"] == 400


def test_runs_have_states_times_facets_and_versions(marquez_to_read: Marquez) -> None:
    answer = marquez_to_read.get("/namespaces/{}/jobs/{}/runs", *JOB, limit=1)
    assert answer["totalCount"] == 2
    (newest,) = answer["runs"]
    assert newest["id"] == NEW
    run = marquez_to_read.get(f"/jobs/runs/{OLD}")
    assert (run["startedAt"], run["endedAt"], run["durationMs"]) == (at(1000), at(1030), 30_000)
    assert (run["nominalStartTime"], run["nominalEndTime"]) == (at(1000), at(1060))
    versions = marquez_to_read.get("/namespaces/{}/datasets/{}/versions", *TABLE)["versions"]
    assert run["outputVersions"] == [{"namespace": STORE, "name": "gold/orders", "version": versions[1]["version"]}]
    assert [each["name"] for each in run["inputVersions"]] == ["2024/orders", "raw/orders"]
    assert run["jobVersion"]["version"] == newest["jobVersion"]["version"] or len(run["inputVersions"]) == 2
    assert marquez_to_read.get(f"/jobs/runs/{RUNNING}")["state"] == "RUNNING"
    assert marquez_to_read.get(f"/jobs/runs/{RUNNING}")["endedAt"] is None
    assert marquez_to_read.get(f"/jobs/runs/{FAILED}")["state"] == "FAILED"
    assert marquez_to_read.get("/jobs/runs/{}", "none", status=404)["message"] == "Run 'none' not found."


def test_facets_of_a_run_are_what_its_events_say_together(marquez_to_read: Marquez) -> None:
    run = marquez_to_read.get(f"/jobs/runs/{OLD}/facets", type="run")
    assert run["runId"] == OLD
    assert set(run["facets"]) == {"parent", "nominalTime", "custom"}
    assert set(marquez_to_read.get(f"/jobs/runs/{OLD}/facets", type="job")["facets"]) >= {
        "sql",
        "tags",
        "documentation",
    }
    assert marquez_to_read.get(f"/jobs/runs/{OLD}/facets", type="table", status=400)["code"] == 400


def test_a_job_has_a_version_for_what_it_reads_and_writes(marquez_to_read: Marquez) -> None:
    answer = marquez_to_read.get("/namespaces/{}/jobs/{}/versions", *JOB)
    assert answer["totalCount"] == 1
    (version,) = answer["versions"]
    assert version["version"] == marquez_to_read.get("/namespaces/{}/jobs/{}", *JOB)["currentVersion"]
    one = marquez_to_read.get("/namespaces/{}/jobs/{}/versions/{}", *JOB, version["version"])
    assert [each["name"] for each in one["outputs"]] == ["gold/orders"]
    marquez_to_read.get("/namespaces/{}/jobs/{}/versions/{}", *JOB, "none", status=404)


def test_events_are_as_sent_by_time_and_paged(marquez_to_read: Marquez) -> None:
    answer = marquez_to_read.get("/events/lineage", limit=2, sortDirection="desc")
    assert [each["eventTime"] for each in answer["events"]] == [at(3300), at(3160)]
    older = marquez_to_read.get("/events/lineage", limit=1, offset=1)
    assert older["events"][0]["run"]["runId"] == FAILED
    between = marquez_to_read.get("/events/lineage", after=at(1000), before=at(2000), sortDirection="asc")
    assert [each["eventType"] for each in between["events"]] == ["START", "COMPLETE"]
    assert between["totalCount"] == 2
    assert answer["totalCount"] == older["totalCount"]
    assert marquez_to_read.get("/events/{}", JOB[0], limit=1)["totalCount"] == 9


def test_only_events_of_runs_are_listed_and_counted(marquez_to_read: Marquez) -> None:
    """Marquez's page reads `run` of each event. The data also contains a dataset event and a job event."""
    for query in (dict[str, Any](), {"after": at(3100), "before": at(3301)}):
        found = marquez_to_read.get("/events/lineage", limit=1_000, **query)
        assert all(each["run"]["runId"] for each in found["events"])
        assert found["totalCount"] == len(found["events"])
    assert found["totalCount"] == 3


ADDRESSES: list[tuple[str, tuple[str, ...]]] = [
    ("namespaces", ()),
    *(("namespaces/{namespace}/datasets/{dataset}" + more, named)
      for named in (RAW, TABLE, TOPIC, COLONS, DIGIT, BARE, ALIAS) for more in ("", "/versions")),
    *(("namespaces/{namespace}/jobs/{job}" + more, (JOB[0], name))
      for name in ("daily.load", "declared", "broken", "now", "stream") for more in ("", "/runs")),
    *(("jobs/runs/{run}" + more, (run,)) for run in (OLD, NEW, RUNNING, FAILED, STREAM) for more in ("", "/facets")),
]  # fmt: skip


@pytest.mark.parametrize(("address", "names"), ADDRESSES)
def test_what_the_dashboard_reads_is_of_its_shape(
    marquez_to_read: Marquez, address: str, names: tuple[str, ...]
) -> None:
    answer = marquez_to_read.get("/" + re.sub(r"\{\w+\}", "{}", address), *names)
    assert msgspec.convert(answer, READ_BY_PAGE[address])


def edges(answer: Any) -> set[tuple[str, str]]:
    return {(edge["origin"], edge["destination"]) for node in answer["graph"] for edge in node["outEdges"]}


def test_lineage_of_tables_flows_from_origin_to_destination(marquez_to_read: Marquez) -> None:
    answer = marquez_to_read.get("/lineage", nodeId=f"dataset:{TABLE[0]}:{TABLE[1]}", depth=1)
    ids = [node["id"] for node in answer["graph"]]
    assert ids == sorted(ids)
    table, job = f"dataset:{TABLE[0]}:{TABLE[1]}", f"job:{JOB[0]}:{JOB[1]}"
    assert {(f"dataset:{RAW[0]}:{RAW[1]}", job), (job, table), (table, "job:etl:prod:declared")} <= edges(answer)
    for node in answer["graph"]:
        assert set(node) == {"id", "type", "data", "inEdges", "outEdges"}
        assert all(edge["destination"] == node["id"] for edge in node["inEdges"])
    data = {node["id"]: node["data"] for node in answer["graph"]}
    assert data[job]["latestRun"]["state"] == "COMPLETED"
    assert [field["name"] for field in data[table]["fields"]] == ["id", "mail"]


def test_lineage_shows_what_running_jobs_read_and_write(marquez_to_read: Marquez) -> None:
    found = edges(marquez_to_read.get("/lineage", nodeId=f"dataset:{TOPIC[0]}:{TOPIC[1]}", depth=1))
    assert ("job:etl:prod:now", f"dataset:{BROKER}:orders") in found
    assert (f"dataset:{STORE}:gold/orders", "job:etl:prod:now") in found
    assert ("job:etl:prod:stream", f"dataset:{COLONS[0]}:{COLONS[1]}") in found


def test_lineage_ends_at_its_depth(marquez_to_read: Marquez) -> None:
    node = f"job:{JOB[0]}:{JOB[1]}"
    near, far = (marquez_to_read.get("/lineage", nodeId=node, depth=depth)["graph"] for depth in (1, 5))
    assert {each["id"] for each in near} < {each["id"] for each in far}
    alone = marquez_to_read.get("/lineage", nodeId=f"dataset:{RAW[0]}:{RAW[1]}", depth=0)["graph"]
    assert [each["id"] for each in alone] == [f"dataset:{RAW[0]}:{RAW[1]}"]


def test_lineage_of_the_past_and_of_everything(marquez_to_read: Marquez) -> None:
    node = f"dataset:{STORE}:gold/orders"
    before = marquez_to_read.get("/column-lineage", nodeId=node, asOf=at(1500))["graph"]
    now = marquez_to_read.get("/column-lineage", nodeId=node)["graph"]
    every = marquez_to_read.get("/column-lineage", nodeId=node, view="all")["graph"]
    assert [each["data"]["field"] for each in before] == ["id", "id"]
    assert len(now) == len(every) == 4
    marquez_to_read.get("/lineage", nodeId=node, asOf=at(900), status=404)  # the dataset did not exist yet


def test_column_lineage_has_reversed_in_edges_and_transformations(marquez_to_read: Marquez) -> None:
    node, mail = f"datasetField:{TABLE[0]}:{TABLE[1]}:mail", f"datasetField:{DIGIT[0]}:{DIGIT[1]}:mail"
    answer = marquez_to_read.get("/column-lineage", nodeId=node)
    shown = {each["id"]: each for each in answer["graph"]}
    assert set(shown) == {node, mail}
    assert shown[node]["inEdges"] == [{"origin": node, "destination": mail}]
    assert shown[mail]["outEdges"] == [{"origin": mail, "destination": node}]
    assert (shown[node]["inEdges"], shown[node]["type"]) == ([{"origin": node, "destination": mail}], "DATASET_FIELD")
    data = shown[node]["data"]
    assert (data["fieldType"], data["transformationType"]) == ("string", "MASKED")
    assert data["inputFields"][0]["transformations"][0]["masking"] is True
    assert UUID.fullmatch(data["datasetVersion"])


def test_column_lineage_goes_down_only_when_asked(marquez_to_read: Marquez) -> None:
    node = f"dataset:{DIGIT[0]}:{DIGIT[1]}"
    assert {each["data"]["dataset"] for each in marquez_to_read.get("/column-lineage", nodeId=node)["graph"]} == {
        DIGIT[1]
    }
    down = marquez_to_read.get("/column-lineage", nodeId=node, withDownstream="true")["graph"]
    assert {each["data"]["dataset"] for each in down} == {DIGIT[1], TABLE[1]}


def test_column_lineage_of_a_job_and_of_a_version(marquez_to_read: Marquez) -> None:
    job = marquez_to_read.get("/column-lineage", nodeId=f"job:{JOB[0]}:{JOB[1]}")["graph"]
    assert {each["data"]["field"] for each in job} == {"id", "mail"}
    oldest = marquez_to_read.get("/namespaces/{}/datasets/{}/versions", *TABLE)["versions"][1]["version"]
    before = marquez_to_read.get("/column-lineage", nodeId=f"dataset:{TABLE[0]}:{TABLE[1]}#{oldest}")["graph"]
    assert {each["data"]["field"] for each in before} == {"id"}
    marquez_to_read.get("/column-lineage", nodeId=f"dataset:{TABLE[0]}:{TABLE[1]}#none", status=404)


def test_search_finds_jobs_and_datasets(marquez_to_read: Marquez) -> None:
    answer = marquez_to_read.get("/search", q="orders", filter="DATASET")
    assert {each["name"] for each in answer["results"]} >= {"gold/orders", "raw/orders"}
    assert answer["totalCount"] == len(answer["results"])
    assert set(answer["results"][0]) == {"type", "name", "namespace", "nodeId", "updatedAt"}
    assert marquez_to_read.get("/search", q="load", filter="JOB")["results"][0]["nodeId"] == f"job:{JOB[0]}:{JOB[1]}"
    assert marquez_to_read.get("/search", status=400) == {"errors": ["query param q must not be null"]}
    for kind in ("jobs", "datasets"):
        found = marquez_to_read.client.get(
            marquez_to_read.url + f"/api/v2beta/search/{kind}", params={"q": "orders"}
        ).json()
        assert len(found["hits"]) == len(found["highlights"])


def test_stats_count_by_hour_and_by_day_of_a_zone(marquez_to_read: Marquez) -> None:
    events = marquez_to_read.get("/stats/lineage-events", period="DAY")
    assert len(events) == 24
    assert set(events[0]) == {"startInterval", "endInterval", "fail", "start", "complete", "abort"}
    for what in ("jobs", "datasets", "sources"):
        week = marquez_to_read.get(f"/stats/{what}", period="WEEK", timezone="Asia/Kolkata")
        assert len(week) == 7
        assert week[-1]["count"] > 0
        assert week[0]["startInterval"].endswith("T18:30:00.000Z")
    assert marquez_to_read.get("/stats/jobs", period="WEEK", status=400)["errors"]
    assert marquez_to_read.get("/stats/jobs", period="YEAR", status=400)["errors"]
    assert marquez_to_read.get("/stats/jobs", period="WEEK", timezone="Mars/North", status=400)["code"] == 400


def test_runlineage_names_the_runs_that_wrote_what_a_run_read(marquez_to_read: Marquez) -> None:
    runs = marquez_to_read.get("/runlineage/upstream", runId=RUNNING, depth=5)["runs"]
    assert [(each["run"]["id"], each["depth"]) for each in runs] == [(RUNNING, 0), (NEW, 1)]
    assert marquez_to_read.get("/runlineage/upstream", status=400)["errors"]


ODD_IDS = [f"dataset:{DIGIT[0]}:{DIGIT[1]}", f"dataset:{COLONS[0]}:{COLONS[1]}", f"dataset:{ODD[0]}:{ODD[1]}"]


@pytest.mark.parametrize("node", ODD_IDS)
def test_any_name_is_found_in_the_id_of_a_node(marquez_to_read: Marquez, node: str) -> None:
    answer = marquez_to_read.get("/lineage", nodeId=node, depth=1)
    assert node in [each["id"] for each in answer["graph"]]
    _, _, rest = node.partition(":")
    name = DIGIT if DIGIT[1] in rest else COLONS if COLONS[1] in rest else ODD
    assert marquez_to_read.get("/namespaces/{}/datasets/{}", *name)["id"] == {"namespace": name[0], "name": name[1]}


def test_slashes_that_a_proxy_decoded_are_understood(marquez_to_read: Marquez) -> None:
    found = marquez_to_read.client.get(f"/namespaces/{STORE}/datasets/raw/orders")
    assert found.json()["id"] == {"namespace": STORE, "name": "raw/orders"}
    assert (
        marquez_to_read.client.get(f"/namespaces/{encoded(SILVER[0])}/datasets/silver%2Fcustomers").status_code == 200
    )


@pytest.mark.parametrize("path", ["lineage", "column-lineage"])
def test_every_alias_draws_the_graph_under_the_id_that_was_asked_for(marquez_to_read: Marquez, path: str) -> None:
    kind = "dataset" if path == "lineage" else "datasetField"
    column = "" if path == "lineage" else ":id"
    graphs = []
    for alias in (f"{STORE}:gold/orders", f"{STORE}:/gold/orders", f"{STORE}:/gold/orders/"):
        node = f"{kind}:{alias}{column}"
        graph = marquez_to_read.client.get(f"/{path}", params={"nodeId": node}).json()["graph"]
        ids = {each["id"] for each in graph}
        assert node in ids
        edges = [edge for each in graph for edge in (*each["inEdges"], *each["outEdges"])]
        assert any(node in edge.values() for edge in edges)
        assert {end for edge in edges for end in edge.values()} <= ids
        graphs.append(sorted(str(each).replace(alias, "ALIAS") for each in edges))
    assert graphs[0] == graphs[1] == graphs[2] != []
