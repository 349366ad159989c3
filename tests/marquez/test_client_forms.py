"""Send every request of Marquez's page and clients, with recorded events and random worlds, and check the forms."""

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
import pytest
from starlette.testclient import TestClient

from tests.marquez import client_forms as forms
from tests.marquez.conftest import answering
from tests.marquez.lake import EVENTS as LAKE_EVENTS
from tests.marquez.odd_events import EVENTS as ODD_EVENTS
from tests.reference.worlds import random_world
from tests.support.data.parsing import World
from tests.support.data.shop import EVENTS as SHOP_EVENTS
from tests.support.paths import EVENTS

pytestmark = pytest.mark.slow  # builds an index

T = TypeVar("T")
RECORDED = EVENTS
WORLDS = range(20)


class Page:
    """Sends requests as the page and the clients do, and converts each answer to its form."""

    def __init__(self, client: TestClient) -> None:
        self._client = client

    def one(self, form: type[T], *path: str, **query: Any) -> T:
        return msgspec.convert(self._asked(path, query), form)

    def listed(self, form: type[T], key: str, *path: str, counted: bool = True, **query: Any) -> list[T]:
        found = self._asked(path, {"limit": 1000, **query})
        assert not counted or isinstance(found["totalCount"], int)
        return msgspec.convert(found[key], list[form])  # type: ignore[valid-type]

    def _asked(self, path: tuple[str, ...], query: dict[str, Any]) -> Any:
        answer = self._client.get("/api/v1/" + "/".join(quote(part, safe="") for part in path), params=query)
        assert answer.status_code == 200, (path, query, answer.text)
        return answer.json()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Provide a client for the recorded events, 20 random worlds and two small lakes together."""
    world = World(tmp_path_factory.mktemp("forms"))
    events = [each.event for seed in WORLDS for each in random_world(seed)]
    events += [*LAKE_EVENTS, *SHOP_EVENTS, *ODD_EVENTS]
    world.append(*(json.dumps(event).encode() for event in events))
    world.append(*(line for path in sorted(RECORDED.glob("*.ndjson")) for line in path.read_bytes().splitlines()))
    with answering(world) as client:
        yield Page(client)


def test_namespaces_sources_and_tags(page: Page) -> None:
    assert len(page.listed(forms.Namespace, "namespaces", "namespaces")) > 20
    for each in page.listed(forms.Source, "sources", "sources"):
        assert page.one(forms.Source, "sources", each.name) == each
    assert page.listed(forms.Tag, "tags", "tags")


def datasets(page: Page) -> list[forms.Dataset]:
    names = [each.name for each in page.listed(forms.Namespace, "namespaces", "namespaces")]
    return [each for name in names for each in page.listed(forms.Dataset, "datasets", "namespaces", name, "datasets")]


def test_datasets_and_their_versions(page: Page) -> None:
    found = datasets(page)
    assert len(found) > 100
    for each in found:
        at = ("namespaces", each.namespace, "datasets", each.name)
        assert page.one(forms.Dataset, *at).id == each.id
        versions = page.listed(forms.DatasetVersion, "versions", *at, "versions")
        assert str(each.currentVersion) in {str(version.version) for version in versions}
        assert page.one(forms.DatasetVersion, *at, "versions", str(versions[0].version)).id == versions[0].id


def test_jobs_their_versions_runs_and_facets(page: Page) -> None:
    jobs = page.listed(forms.Job, "jobs", "jobs")
    assert len(jobs) > 50
    for each in jobs:
        at = ("namespaces", each.namespace, "jobs", each.name)
        assert page.one(forms.Job, *at).id == each.id
        for version in page.listed(forms.JobVersion, "versions", *at, "versions"):
            assert page.one(forms.JobVersion, *at, "versions", str(version.version)).version == version.version
        runs = page.listed(forms.Run, "runs", *at, "runs")
        for run in [run for run in runs if is_uuid(run.id)][:3]:
            assert page.one(forms.Run, "jobs", "runs", run.id).id == run.id
            for kind in ("run", "job"):
                assert page.one(forms.RunFacets, "jobs", "runs", run.id, "facets", type=kind).runId == run.id


def is_uuid(text: str) -> bool:
    """Return whether an id is a UUID, so that it identifies a run. Other ids may belong to runs of several jobs."""
    return re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text) is not None


def test_both_graphs_from_every_node(page: Page) -> None:
    nodes = 0
    for each in datasets(page):
        id_ = f"dataset:{each.namespace}:{each.name}"
        for node in page.listed(forms.Node, "graph", "lineage", counted=False, nodeId=id_, depth=1):
            nodes += 1
            msgspec.convert(node.data, forms.JobNode if node.type == "JOB" else forms.DatasetNode)
        for columns in page.listed(
            forms.ColumnNode, "graph", "column-lineage", counted=False, nodeId=id_, depth=1, withDownstream="true"
        ):
            assert columns.data.field
    assert nodes > 200


def test_events_search_and_figures(page: Page) -> None:
    assert len(page.listed(forms.Event, "events", "events", "lineage")) > 200
    for word in ("a", "t", "orders", "load"):
        page.listed(forms.Found, "results", "search", q=word, limit=100)
    for period in ("DAY", "WEEK"):
        assert page.one(list[forms.Events24], "stats", "lineage-events", period=period, timezone="Europe/Oslo")
        for asset in ("jobs", "datasets", "sources"):
            assert page.one(list[forms.Counted], "stats", asset, period=period, timezone="Europe/Oslo")
