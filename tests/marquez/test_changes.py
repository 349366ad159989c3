"""Changes by Marquez's page are events in the log: durable, replayable, and only for keys with the role `admin`."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.marquez.conftest import Marquez, started
from tests.marquez.lake import COLONS, DIGIT, EVENTS, JOB, RAW, STORE, TABLE
from tests.reference.world_events import at, dataset, facet, run_event, uuid
from tests.support.data.shop import Asker, up
from tests.support.running import Running
from tests.support.waiting import rest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def marquez(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marquez]:
    with started(tmp_path_factory.mktemp("changes")) as found:
        yield found


def test_tags_are_put_on_and_taken_off_and_reach_the_masking_surface(marquez: Marquez) -> None:
    column = "/namespaces/{}/datasets/{}/fields/{}/tags/{}"
    assert marquez.send("PUT", "/tags/{}", "GDPR/1", status=200, json={"description": "Article 1"}) == {
        "name": "GDPR/1", "description": "Article 1",
    }  # fmt: skip
    tagged = marquez.send("POST", column, *RAW, "ID", "GDPR/1", status=200)
    assert tagged["fields"][0]["tags"] == ["GDPR/1"]
    marquez.send("POST", "/namespaces/{}/datasets/{}/tags/{}", *RAW, "PII", status=200)
    marquez.send("POST", "/namespaces/{}/datasets/{}/tags/{}", *RAW, "OLD", status=200)
    marquez.send("DELETE", "/namespaces/{}/datasets/{}/tags/{}", *RAW, "OLD", status=200)
    marquez.send("POST", "/namespaces/{}/jobs/{}/tags/{}", *JOB, "nightly", status=200)
    marquez.send("DELETE", "/namespaces/{}/jobs/{}/tags/{}", *JOB, "core", status=200)
    marquez.settle()
    found = marquez.get("/namespaces/{}/datasets/{}", *RAW)
    assert (found["tags"], found["fields"][0]["tags"]) == (["PII"], ["GDPR/1"])
    assert found["fields"][0]["type"] == "string"  # an event without a schema must not clear the columns
    assert marquez.get("/namespaces/{}/jobs/{}", *JOB)["tags"] == ["nightly"]
    tags = {each["name"]: each["description"] for each in marquez.get("/tags")["tags"]}
    assert tags.keys() >= {"PII", "SENSITIVE", "GDPR/1", "nightly"}
    assert tags["GDPR/1"] == "Article 1"
    told = marquez.get("/events/lineage", limit=1_000)
    assert (len(told["events"]), {"run"} - set.intersection(*map(set, told["events"]))) == (told["totalCount"], set())
    surface = marquez.asker.ask("surface", tag="GDPR/1")
    assert ("gold/orders", "id") in {(each["dataset"], each["column"]) for each in surface["items"]}
    missing = marquez.send("POST", column, *RAW, "none", "PII", status=404)
    assert missing["message"] == "Dataset field 'none' not found."


def test_what_was_deleted_is_back_once_it_is_written_again(marquez: Marquez) -> None:
    marquez.send("DELETE", "/namespaces/{}/datasets/{}", *DIGIT, status=200)
    marquez.send("DELETE", "/namespaces/{}/jobs/{}", JOB[0], "broken", status=200)
    marquez.settle()
    names = [each["name"] for each in marquez.get("/namespaces/{}/datasets", STORE)["datasets"]]
    assert (DIGIT[1] in names, TABLE[1] in names) == (False, True)
    jobs = {each["name"] for each in marquez.get("/namespaces/{}/jobs", JOB[0])["jobs"]}
    assert "broken" not in jobs
    assert f"dataset:{DIGIT[0]}:{DIGIT[1]}" not in ids(marquez)
    later = "2099-01-01T00:00:00Z"
    again = run_event("COMPLETE", later, uuid(200), (JOB[0], "broken"), outputs=[dataset(DIGIT)])
    assert marquez.client.post("/lineage", json=again).status_code == 200
    marquez.settle()
    names = [each["name"] for each in marquez.get("/namespaces/{}/datasets", STORE)["datasets"]]
    assert DIGIT[1] in names
    assert "broken" in {each["name"] for each in marquez.get("/namespaces/{}/jobs", JOB[0])["jobs"]}


def ids(marquez: Marquez) -> set[str]:
    answer = marquez.get("/lineage", nodeId=f"dataset:{TABLE[0]}:{TABLE[1]}", depth=1)
    return {node["id"] for node in answer["graph"]}


def test_changes_outlive_the_index(tmp_path: Path) -> None:
    with up(tmp_path / "data") as running, Asker(running.url) as asker:
        asker.post(*EVENTS)
        marquez = Marquez(running.url, asker)
        marquez.send("POST", "/namespaces/{}/datasets/{}/tags/{}", *TABLE, "PII", status=200)
        marquez.settle()
        before = marquez.get("/namespaces/{}/datasets/{}", *TABLE)
        marquez.client.close()
    shutil.rmtree(tmp_path / "data" / "index")
    with up(tmp_path / "data") as running, Asker(running.url) as asker:
        asker.wait_for("coverage")
        marquez = Marquez(running.url, asker)
        assert marquez.get("/namespaces/{}/datasets/{}", *TABLE) == before
        marquez.client.close()


KEYS = """[[keys]]
name = "reader"
key = "reader-secret"
roles = ["read"]
[[keys]]
name = "boss"
key = "boss-secret"
roles = ["admin"]
"""


def test_reading_needs_the_role_read_and_changing_admin(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text(KEYS)
    with (
        Running(tmp_path / "data", options=["--tick", "50ms"], cwd=tmp_path) as running,
        httpx.Client(base_url=f"{running.url}/api/v1") as client,
    ):
        assert client.get("/namespaces").json()["code"] == 401
        reader, boss = ({"authorization": f"Bearer {name}-secret"} for name in ("reader", "boss"))
        sent = client.post("/lineage", json=EVENTS[1], headers=boss)
        assert sent.status_code == 200, sent.text
        while client.get("/tags", headers=reader).status_code == 503:
            rest()
        assert client.get("/tags", headers=reader).status_code == 200
        refused = client.put("/tags/x", headers=reader, json={})
        assert (refused.status_code, refused.json()["code"]) == (403, 403)
        assert client.put("/tags/x", headers=boss, json={}).status_code == 200


@pytest.mark.parametrize("facets", [{"schema": facet(fields=[])}, {}])
def test_an_event_without_a_schema_blanks_no_columns(marquez: Marquez, facets: dict[str, object]) -> None:
    before = marquez.get("/namespaces/{}/datasets/{}", *COLONS)["fields"]
    number = 300 + len(facets)
    event = run_event("COMPLETE", at(number), uuid(number), JOB, outputs=[dataset(COLONS, **facets)])
    assert marquez.client.post("/lineage", json=event).status_code == 200
    marquez.settle()
    assert marquez.get("/namespaces/{}/datasets/{}", *COLONS)["fields"] == before
    assert before
