"""Invalid questions get Marquez's own status and body if it has one, and never a 5xx."""

import errno
import json
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NoReturn, cast

import httpx
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from headwater.api.marquez.routes import MarquezApi
from headwater.api.responses import run_question
from headwater.auth.authentication import Authenticator
from headwater.index.reading.view_opener import ViewOpener
from headwater.lineage.snapshots.as_of import AsOf
from headwater.operations.runtime.index import open_freshness, open_search
from tests.marquez.conftest import Marquez
from tests.marquez.lake import TABLE
from tests.support.data.parsing import World

pytestmark = pytest.mark.slow  # starts Headwater

NODE = f"dataset:{TABLE[0]}:{TABLE[1]}"
HTTP_404 = {"code": 404, "message": "HTTP 404 Not Found"}


@pytest.mark.parametrize("path", ["/lineage", "/column-lineage"])
@pytest.mark.parametrize(
    ("query", "status", "body"),
    [
        ({}, 400, {"errors": ["query param nodeId must not be null"]}),
        ({"nodeId": "nonsense"}, 404, HTTP_404),
        ({"nodeId": "dataset:"}, 404, HTTP_404),
        ({"nodeId": "table:a:b"}, 404, HTTP_404),
        ({"nodeId": "dataset:" + ":" * 5000}, 404, HTTP_404),
        ({"nodeId": "dataset:a:b"}, 404, {"code": 404, "message": "Node 'dataset:a:b' not found."}),
        ({"nodeId": NODE, "depth": "-1"}, 400, {"errors": ["query param depth must be greater than or equal to 0"]}),
        ({"nodeId": NODE, "depth": "deep"}, 400, {"code": 400, "message": "query param depth is not a number."}),
    ],
)
def test_a_wrong_node_or_depth_is_refused(
    marquez_to_read: Marquez, path: str, query: dict[str, str], status: int, body: Any
) -> None:
    assert marquez_to_read.get(path, status=status, **query) == body


@pytest.mark.parametrize("depth", ["0", "9" * 30, "1000000", "+5"])
def test_any_depth_has_an_end(marquez_to_read: Marquez, depth: str) -> None:
    for path in ("/lineage", "/column-lineage"):
        assert marquez_to_read.get(path, nodeId=NODE, depth=depth, withDownstream="TRUE")["truncated"] is False


@pytest.mark.parametrize("path", ["/namespaces", "/sources", "/tags", "/jobs", "/events/lineage"])
def test_pages_are_bounded_and_count_everything(marquez_to_read: Marquez, path: str) -> None:
    every = marquez_to_read.get(path, limit="9" * 20)
    assert every["truncated"] is False
    key = path.rpartition("/")[2] if "events" not in path else "events"
    assert len(every[key]) == every["totalCount"]
    assert marquez_to_read.get(path, limit=0)[key] == []
    assert marquez_to_read.get(path, limit=1, offset=1)[key] == every[key][1:2]
    assert marquez_to_read.get(path, offset="9" * 20)[key] == []
    assert marquez_to_read.get(path, limit="ten", status=400) == {
        "code": 400,
        "message": "query param limit is not a number.",
    }
    assert marquez_to_read.get(path, offset="-5", status=400)["errors"]


@pytest.mark.parametrize(
    "query",
    [
        {"asOf": "yesterday"},
        {"asOf": "2026-03-01T12:00:00+99:00"},
        {"view": "some"},
        {"seenSince": "\x00"},
        {"knownAt": "<script>"},
        {"after": "soon"},
        {"before": "12:00"},
    ],
)
def test_a_wrong_time_is_refused_with_the_form_it_should_have(marquez_to_read: Marquez, query: dict[str, str]) -> None:
    path, more = ("/events/lineage", {}) if {"after", "before"} & query.keys() else ("/lineage", {"nodeId": NODE})
    refused = marquez_to_read.get(path, status=400, **query, **more)
    assert refused["code"] == 400
    assert "Write" in refused["message"]


@pytest.mark.parametrize("zone", ["Z", "+02:00", "../../etc/passwd", "", "Europe/Nowhere", "a" * 5000, "\x00"])
def test_a_wrong_time_zone_is_refused(marquez_to_read: Marquez, zone: str) -> None:
    assert marquez_to_read.client.get("/stats/jobs", params={"period": "WEEK", "timezone": zone}).status_code == 400


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "a\nb", "%2F", "\u202e\U0001f600", "'; DROP TABLE names; --", "x" * 5000]
)
def test_an_unknown_name_is_not_found_whatever_it_holds(marquez_to_read: Marquez, name: str) -> None:
    for path in ("/namespaces/{}/datasets/{}", "/namespaces/{}/jobs/{}"):
        assert marquez_to_read.get(path, TABLE[0], name, status=404)["code"] == 404
    assert marquez_to_read.get("/namespaces/{}/jobs", name, status=404)["message"] == f"Namespace '{name}' not found."
    marquez_to_read.get("/search", q=name[:200])
    marquez_to_read.get("/jobs/runs/{}", name, status=404)


@pytest.mark.parametrize("path", ["/", "/nothing", "/jobs/runs", "/stats/x", "/%ff%fe", "//"])
def test_an_address_of_nothing_is_not_found(marquez_to_read: Marquez, path: str) -> None:
    answer = marquez_to_read.client.get(path)
    assert (answer.status_code, answer.json()) == (404, HTTP_404)


def test_a_method_that_is_not_taken_is_refused(marquez_to_read: Marquez) -> None:
    for method, path in (("POST", "/namespaces"), ("DELETE", "/namespaces"), ("PATCH", "/jobs"), ("PUT", "/jobs")):
        answer = marquez_to_read.client.request(method, path)
        assert (answer.status_code, answer.json()["code"]) == (405, 405)
    assert marquez_to_read.client.put("/tags/new", content=b"[1]").status_code == 400
    assert marquez_to_read.client.put("/tags/new", content=b"{" + b" " * 5_000_000).status_code == 413
    with httpx.Client(base_url=marquez_to_read.url) as client:
        assert client.get("/api/v2beta/search/nothing", params={"q": "a"}).status_code == 404


class _FullDisk:
    """Views of an index on a full disk."""

    def open_view_and_index(self, _: AsOf) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_passing_fault_of_the_disk_is_temporary_as_in_the_reading_api(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append()
    world.parser().commit_next()
    freshness = open_freshness(world.settings, world.folder, lambda: ())
    views = cast("ViewOpener", _FullDisk())
    things = open_search(world.settings, world.folder)
    api = MarquezApi(views, things, world.bronze, Authenticator(()), freshness, record=lambda *_: None, writing=None)
    with TestClient(Starlette(routes=api.routes())) as client:
        answer = client.get("/api/v1/lineage", params={"nodeId": NODE})
    assert answer.status_code == 503
    reading = run_question(lambda: views.open_view_and_index(AsOf()), nullcontext())
    assert reading.status_code == 503
    body = json.loads(reading.body)
    assert answer.json() == {"code": 503, "message": f"{body['error']} {body['fix']}"}
