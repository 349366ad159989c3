"""Names of OneLake in Marquez's API are displayed in readable form and found in either spelling."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from tests.marquez.conftest import answering
from tests.reference.small_events import CLEAR, made
from tests.reference.world_events import at, dataset, run_event, source, uuid
from tests.support.data.parsing import World

pytestmark = pytest.mark.slow  # builds an index

WORKSPACE, ITEM, OTHER = (f"3f2a9c1e-0000-4000-8000-0000000000{end}" for end in ("a1", "b1", "c1"))
METADATA = f"kind,id,name,parent,target\nworkspace,{WORKSPACE},Big Sales,,\nitem,{ITEM},lh.Lakehouse,{WORKSPACE},\n"
HOST = "onelake.dfs.fabric.microsoft.com"
STORED, SHOWN = f"abfss://{WORKSPACE}@{HOST}", f"abfss://Big Sales@{HOST}"
RAW, TABLE = f"{ITEM}/Tables/raw", f"{ITEM}/Tables/gold"
JOB = ("fabric", f"{ITEM}.load")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("display")
    (folder / "rules").mkdir()
    (folder / "rules" / "metadata.csv").write_text(METADATA)
    world = World(folder)
    output = made((STORED, TABLE), {"x": [source((STORED, RAW), "x", CLEAR)]})
    inputs = [dataset((STORED, RAW)), dataset((STORED, f"{OTHER}/Tables/x"))]
    event = run_event("COMPLETE", at(1), uuid(1), JOB, inputs=inputs, outputs=[output])
    world.append(json.dumps(event).encode())
    with answering(world) as found:
        yield found


def get(client: TestClient, *path: str, **query: str) -> Any:
    answer = client.get("/api/v1/" + "/".join(quote(part, safe="") for part in path), params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_datasets_are_shown_as_they_are_called_and_found_by_either_name(client: TestClient) -> None:
    listed = get(client, "namespaces", SHOWN, "datasets")["datasets"]
    assert {each["name"] for each in listed} == {
        "lh.Lakehouse/Tables/raw", "lh.Lakehouse/Tables/gold", f"{OTHER}/Tables/x",
    }  # fmt: skip
    assert {each["namespace"] for each in listed} == {SHOWN}
    shown = get(client, "namespaces", SHOWN, "datasets", "lh.Lakehouse/Tables/gold")
    assert shown == get(client, "namespaces", STORED, "datasets", TABLE)
    assert shown["id"] == {"namespace": SHOWN, "name": "lh.Lakehouse/Tables/gold"}
    assert shown["columnLineage"][0]["inputFields"][0]["dataset"] == "lh.Lakehouse/Tables/raw"
    of_source = json.dumps(shown["facets"]["columnLineage"])
    assert (ITEM in of_source, "lh.Lakehouse" in of_source) == (True, False)  # the facet is unchanged
    assert SHOWN in {each["name"] for each in get(client, "namespaces")["namespaces"]}


@pytest.mark.parametrize("address", ["lineage", "column-lineage"])
def test_graphs_have_display_names_at_both_ends_of_an_edge(client: TestClient, address: str) -> None:
    shown = f"dataset:{SHOWN}:lh.Lakehouse/Tables/gold"
    found = get(client, address, nodeId=shown, withDownstream="true")
    assert found == get(client, address, nodeId=f"dataset:{STORED}:{TABLE}", withDownstream="true")
    ids = {node["id"] for node in found["graph"]}
    edges = [edge for node in found["graph"] for edge in (*node["inEdges"], *node["outEdges"])]
    assert {end for edge in edges for end in edge.values()} <= ids
    assert len(edges) >= 2


def test_jobs_keep_their_names(client: TestClient) -> None:
    assert [each["name"] for each in get(client, "jobs")["jobs"]] == [JOB[1]]
