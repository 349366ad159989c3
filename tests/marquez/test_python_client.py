"""Marquez's own Python client, unchanged, can read everything that it supports."""

import pytest
from marquez_client import MarquezClient
from marquez_client.errors import APIError

from tests.marquez.conftest import Marquez
from tests.marquez.lake import JOB, NEW, STORE, TABLE

pytestmark = pytest.mark.slow  # starts Headwater


@pytest.fixture
def client(marquez_to_read: Marquez) -> MarquezClient:
    return MarquezClient(url=marquez_to_read.url, timeout_ms=60_000)


def test_it_lists_and_gets(client: MarquezClient) -> None:
    assert STORE in [each["name"] for each in client.list_namespaces()["namespaces"]]
    assert client.get_namespace(STORE)["name"] == STORE
    assert "the lake" in [each["name"] for each in client.list_sources()["sources"]]
    assert client.get_source("the lake")["connectionUrl"] == STORE
    assert client.list_datasets(STORE, limit=1, offset=1)["datasets"][0]["name"] == TABLE[1]
    assert client.get_dataset(*TABLE)["name"] == TABLE[1]
    versions = client.list_dataset_versions(*TABLE)["versions"]
    assert client.get_dataset_version(*TABLE, versions[0]["version"])["version"] == versions[0]["version"]
    assert client.list_jobs(JOB[0], limit=2)["totalCount"] > 2
    assert client.get_job(*JOB)["latestRun"]["id"] == NEW
    assert client.list_job_runs(*JOB)["totalCount"] == 2
    assert client.get_job_run(NEW)["state"] == "COMPLETED"
    assert client.list_events(limit=3)["events"]
    assert client.list_events(JOB[0], limit=3)["events"]
    assert "PII" in [each["name"] for each in client.list_tags()["tags"]]


def test_it_reads_column_lineage_of_datasets_fields_jobs_and_versions(client: MarquezClient) -> None:
    version = client.list_dataset_versions(*TABLE)["versions"][1]["version"]
    assert len(client.get_column_lineage_by_dataset(*TABLE)["graph"]) == 4
    assert len(client.get_column_lineage_by_dataset(*TABLE, version=version)["graph"]) == 2
    assert len(client.get_column_lineage_by_dataset_field(*TABLE, "mail", with_downstream=True)["graph"]) == 2
    assert len(client.get_column_lineage_by_job(*JOB, depth=1)["graph"]) == 4


def test_it_is_told_what_is_not_there(client: MarquezClient) -> None:
    with pytest.raises(APIError):
        client.get_dataset(STORE, "none")


def test_it_tags(client: MarquezClient) -> None:
    """This test must be the last one on the shared Headwater, because other tests list tags."""
    assert client.create_tag("mine", "of the client")["name"] == "mine"
    assert "mine" in client.tag_dataset(*TABLE, "mine")["tags"]
    assert "mine" in client.tag_dataset_field(*TABLE, "id", "mine")["fields"][0]["tags"]
