"""Declarations of Marquez's older clients: its Python client immediately reads what it wrote."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from marquez_client import MarquezClient
from marquez_client.errors import APIError
from marquez_client.models import DatasetId, DatasetType, JobType

from headwater.index.api_changes import current_event_time
from tests.marquez.conftest import Marquez
from tests.reference.world_events import at, dataset, run_event
from tests.support.data.shop import Asker
from tests.support.running import Running
from tests.support.waiting import rest

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
SPACE, SOURCE, URL = "my space", "my source", "jdbc:postgresql://localhost:5432/db"
IN, OUT, STREAM = "public.in", "public.out", "changes"


@pytest.fixture(scope="module")
def marquez(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marquez]:
    strict = {"HEADWATER_MARQUEZ_STRICT": "true", "HEADWATER_TICK_S": "0.05"}
    running = Running(tmp_path_factory.mktemp("declared") / "data", environment=strict)
    with running, Asker(running.url) as asker:
        asker.wait_for("coverage")  # the index of the new lake exists
        found = Marquez(running.url, asker)
        yield found
        found.client.close()


class Waiting:
    """Marquez's client, which waits if answers do not include a change yet."""

    def __init__(self, marquez: Marquez) -> None:
        self._client = MarquezClient(url=marquez.url, timeout_ms=60_000)
        self._marquez = marquez

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **more: Any) -> Any:
            found = getattr(self._client, name)(*arguments, **more)
            if name.startswith(("create", "mark", "tag")):
                self._marquez.settle()
            return found

        return call


@pytest.fixture(scope="module")
def client(marquez: Marquez) -> Waiting:
    return Waiting(marquez)


@pytest.fixture(scope="module")
def declared(client: Waiting) -> dict[str, Any]:
    """Declare a namespace, a source, datasets and a job. Returns the answers."""
    field = {"name": "a", "type": "INT", "tags": ["PII"], "description": "A."}
    ways = (IN, DatasetType.DB_TABLE, IN, SOURCE), (STREAM, DatasetType.STREAM, STREAM, SOURCE)
    return {
        "namespace": client.create_namespace(SPACE, "me", "Mine."),
        "source": client.create_source(SOURCE, "POSTGRESQL", URL, "A database."),
        IN: client.create_dataset(SPACE, *ways[0], description="Orders.", fields=[field], tags=["SENSITIVE"]),
        STREAM: client.create_dataset(SPACE, *ways[1], schema_location="http://registry/1"),
        "job": client.create_job(
            SPACE, "load", JobType.BATCH, location="https://example.org/load.py", description="Loads.",
            inputs=[DatasetId(SPACE, IN)], outputs=[DatasetId(SPACE, OUT)],
        ),
    }  # fmt: skip


def test_what_was_declared_is_answered_and_read(client: Waiting, declared: dict[str, Any]) -> None:
    assert client.get_namespace(SPACE)["createdAt"] == declared["namespace"]["createdAt"]
    assert (declared["namespace"]["ownerName"], declared["namespace"]["description"]) == ("me", "Mine.")
    source = client.get_source(SOURCE)
    assert source["createdAt"] == declared["source"]["createdAt"]
    assert (source["type"], source["connectionUrl"], source["description"]) == ("POSTGRESQL", URL, "A database.")
    assert source in client.list_sources()["sources"]
    found = client.get_dataset(SPACE, IN)
    assert (found["sourceName"], found["description"], found["tags"]) == (SOURCE, "Orders.", ["SENSITIVE"])
    assert found["fields"] == [{"name": "a", "type": "INT", "tags": ["PII"], "description": "A."}]
    assert client.list_dataset_versions(SPACE, IN)["versions"][0]["tags"] == ["SENSITIVE"]
    assert (client.get_dataset(SPACE, STREAM)["type"], declared[IN]["type"]) == ("STREAM", "DB_TABLE")
    job = client.get_job(SPACE, "load")
    assert (job["type"], job["location"], job["description"]) == ("BATCH", "https://example.org/load.py", "Loads.")
    assert [each["name"] for side in ("inputs", "outputs") for each in job[side]] == [IN, OUT]
    assert job["latestRun"] is None


def test_a_run_goes_from_state_to_state(client: Waiting, marquez: Marquez, declared: dict[str, Any]) -> None:
    run, time = str(uuid4()), "2026-03-01T10:00:00Z"
    sent = {"id": run, "nominalStartTime": "2026-03-01T09:00:00+01:00", "args": {"k": "v"}}
    path = "/namespaces/{}/jobs/{}/runs"
    created = marquez.send("POST", path, SPACE, "load", status=201, json=sent)
    assert (created["id"], created["state"], created["args"]) == (run, "NEW", {"k": "v"})
    assert created["nominalStartTime"] == "2026-03-01T08:00:00.000Z"
    assert client.get_job_run(run)["state"] == "NEW"
    again = marquez.send("POST", path, SPACE, "load", status=400, json=sent)
    assert again["message"] == f"Run '{run}' already exists."
    marquez.send("POST", path, SPACE, "none", status=404, json={})
    assert client.mark_job_run_as_started(run)["state"] in {"RUNNING", "NEW"}
    assert client.get_job_run(run)["state"] == "RUNNING"
    fields = [{"name": "b", "type": "INT"}]
    client.create_dataset(SPACE, OUT, DatasetType.DB_TABLE, OUT, SOURCE, run_id=run, fields=fields)
    client.mark_job_run_as_completed(run)
    found = client.get_job_run(run)
    assert (found["state"], found["args"]) == ("COMPLETED", {"k": "v"})
    assert [each["name"] for side in ("input", "output") for each in found[f"{side}Versions"]] == [IN, OUT]
    assert client.list_dataset_versions(SPACE, OUT)["versions"][0]["createdByRun"]["id"] == run
    other = client.create_job_run(SPACE, "load")["id"]
    client.mark_job_run_as_failed(other, at=time)
    assert (client.get_job_run(other)["state"], client.get_job_run(other)["endedAt"]) == (
        "FAILED", "2026-03-01T10:00:00.000Z",
    )  # fmt: skip
    ids = {node["id"] for node in marquez.get("/lineage", nodeId=f"job:{SPACE}:load")["graph"]}
    assert ids == {f"dataset:{SPACE}:{IN}", f"dataset:{SPACE}:{OUT}", f"job:{SPACE}:load"}


def test_a_tag_that_a_producer_put_on_is_taken_off(client: Waiting, marquez: Marquez, declared: dict[str, Any]) -> None:
    told = {"key": "FROM_SPARK", "value": "true"}
    tags = {"_producer": "urn:x", "_schemaURL": "urn:x", "tags": [told, {"key": "KEPT", "value": "true"}]}
    event = {"eventTime": "2026-03-01T00:00:00Z", "producer": "urn:spark", "schemaURL": "urn:x#/$defs/DatasetEvent"}
    dataset = {"namespace": SPACE, "name": STREAM, "facets": {"tags": tags}}
    assert marquez.client.post("/lineage", json={**event, "dataset": dataset}).status_code == 201
    marquez.settle()
    assert client.get_dataset(SPACE, STREAM)["tags"] == ["FROM_SPARK", "KEPT"]
    marquez.send("DELETE", "/namespaces/{}/datasets/{}/tags/{}", SPACE, STREAM, "FROM_SPARK", status=200)
    assert client.get_dataset(SPACE, STREAM)["tags"] == ["KEPT"]


def test_marquez_strict_answers_an_event_once_it_can_be_read(client: Waiting, marquez: Marquez) -> None:
    run = str(uuid4())
    event = run_event("COMPLETE", at(1), run, ("strict", "j"), inputs=[dataset(("strict", "t"))])
    answer = marquez.client.post("/lineage", json=event)
    assert (answer.status_code, answer.content) == (201, b"")
    if "headwater-index" in answer.headers:
        marquez.settle()  # happens on a busy machine
    assert client.get_job_run(run)["state"] == "COMPLETED"
    assert [each["name"] for each in client.list_datasets("strict")["datasets"]] == ["t"]
    refused = marquez.client.post("/lineage", json=event | {"inputs": [{"namespace": "strict"}]})
    assert (refused.status_code, refused.json()["field"]) == (422, "inputs[0].name")


def test_a_dataset_that_was_deleted_is_listed_once_an_event_names_it(client: Waiting, marquez: Marquez) -> None:
    named = dataset(("read again", "t"))
    for _ in range(2):
        event = run_event("COMPLETE", current_event_time(), str(uuid4()), ("read again", "j"), inputs=[named])
        assert marquez.client.post("/lineage", json=event).status_code == 201
        marquez.settle()
        (found,) = client.list_datasets("read again")["datasets"]
        assert (found["name"], found["deleted"]) == ("t", False)
        marquez.send("DELETE", "/namespaces/{}/datasets/{}", "read again", "t", status=200)
        marquez.settle()
        assert client.list_datasets("read again")["datasets"] == []


def test_the_version_of_a_declared_job_has_the_newest_run_of_it(client: Waiting, marquez: Marquez) -> None:
    """The second run reports only its output. Its inputs come from its job."""
    inputs, outputs = [DatasetId(SPACE, "v_in")], [DatasetId(SPACE, "v_out")]
    client.create_job(SPACE, "versioned", JobType.BATCH, inputs=inputs, outputs=outputs)
    runs = [str(uuid4()) for _ in range(2)]
    for run in runs:
        client.create_job_run(SPACE, "versioned", run_id=run)
        if run == runs[1]:
            client.create_dataset(SPACE, "v_out", DatasetType.DB_TABLE, "v_out", SOURCE, run_id=run)
        client.mark_job_run_as_completed(run)
        (version,) = marquez.get("/namespaces/{}/jobs/{}/versions", SPACE, "versioned")["versions"]
        assert version["latestRun"]["id"] == run
    assert [each["name"] for each in version["inputs"]] == ["v_in"]
    assert [each["name"] for each in version["outputs"]] == ["v_out"]


def test_a_job_that_a_run_declares_anew_has_its_inputs_and_outputs(client: Waiting) -> None:
    client.create_job(SPACE, "late", JobType.BATCH)
    run = client.create_job_run(SPACE, "late")["id"]
    client.create_dataset(SPACE, "late out", DatasetType.DB_TABLE, "late out", SOURCE)
    client.create_dataset(SPACE, "late out", DatasetType.DB_TABLE, "late out", SOURCE, run_id=run)
    sides = {"inputs": [DatasetId(SPACE, IN)], "outputs": [DatasetId(SPACE, "late out")]}
    client.create_job(SPACE, "late", JobType.BATCH, run_id=run, **sides)
    job = client.get_job(SPACE, "late")
    assert [each["name"] for side in ("inputs", "outputs") for each in job[side]] == [IN, "late out"]
    client.mark_job_run_as_completed(run)
    versions = client.list_dataset_versions(SPACE, "late out")["versions"]
    assert [each["createdByRun"] and each["createdByRun"]["id"] for each in versions] == [run, None]


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"ownerName": 1}', b"{}", b"\xff"])
def test_a_body_of_another_form_is_refused(marquez: Marquez, body: bytes) -> None:
    refused = marquez.send("PUT", "/namespaces/{}", "x", status=400, content=body)
    assert refused["message"] == "Unable to process JSON"


def test_what_a_run_that_is_not_known_did_is_refused(client: Waiting, declared: dict[str, Any]) -> None:
    unknown = str(uuid4())
    with pytest.raises(APIError):
        client.create_dataset(SPACE, OUT, DatasetType.DB_TABLE, OUT, SOURCE, run_id=unknown)
    with pytest.raises(APIError):
        client.mark_job_run_as_started(unknown)


def test_a_namespace_that_is_deleted_is_back_with_what_is_declared_in_it(client: Waiting, marquez: Marquez) -> None:
    client.create_namespace("gone", "me")
    client.create_dataset("gone", "a", DatasetType.DB_TABLE, "a", SOURCE)
    client.create_job("gone", "j", JobType.BATCH)
    assert marquez.send("DELETE", "/namespaces/{}", "gone", status=200)["isHidden"] is True
    assert client.get_namespace("gone")["isHidden"] is True
    assert (client.list_jobs("gone")["totalCount"], client.list_datasets("gone")["totalCount"]) == (0, 0)
    client.create_job("gone", "j", JobType.BATCH)
    assert client.get_namespace("gone")["isHidden"] is False
    assert [each["name"] for each in client.list_jobs("gone")["jobs"]] == ["j"]
    marquez.send("DELETE", "/namespaces/{}", "never", status=404)


KEYS = """[[keys]]
name = "own"
key = "own-secret"
roles = ["write", "read"]
namespaces = ["mine"]
[[keys]]
name = "writer"
key = "writer-secret"
roles = ["write"]
"""


def test_a_key_declares_in_its_own_namespaces(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text(KEYS)
    job = {"type": "BATCH", "inputs": [], "outputs": []}
    with (
        Running(tmp_path / "data", options=["--tick", "50ms"], cwd=tmp_path) as running,
        httpx.Client(base_url=f"{running.url}/api/v1", timeout=60) as client,
    ):
        own, writer = ({"authorization": f"Bearer {name}-secret"} for name in ("own", "writer"))
        while client.get("/tags", headers=own).status_code == 503:
            rest()
        assert client.put("/namespaces/mine/jobs/j", json=job, headers=own).status_code == 200
        assert client.put("/namespaces/other/jobs/j", json=job, headers=own).status_code == 403
        # this key may not read
        assert client.put("/namespaces/mine/jobs/j", json=job, headers=writer).status_code == 403
        # this key is not admin
        assert client.put("/namespaces/mine", json={"ownerName": "x"}, headers=own).status_code == 403
