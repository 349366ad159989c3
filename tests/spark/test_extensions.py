"""A source that says its lineage by OpenLineage's Spark extensions, under real listeners: from event to answer."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from headwater.cli.answer_source import DataFolder
from headwater.operations.runtime.sinks import open_replay
from headwater.operations.settings import load_settings
from headwater.questions import definitions
from headwater.sinks.control.replay_span import ReplaySpan
from tests.support.data.lineage_world import recorded
from tests.support.running import Running
from tests.support.servers.sink_target import sink_server
from tests.support.spark.connector_session import LISTENERS, Connected

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

OWN = "headwater_journal"


@pytest.fixture(scope="module", params=LISTENERS)
def session(request: pytest.FixtureRequest, connectors: Callable[[str], Connected]) -> Connected:
    return connectors(request.param)


def said(facets: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a facet without what every facet has."""
    return {key: value for key, value in facets[name].items() if not key.startswith("_")}


def columns(facets: dict[str, Any]) -> list[str]:
    return [field["name"] for field in facets["schema"]["fields"]]


def edges(session: Connected, *steps: str) -> set[tuple[str, str, str]]:
    """Return the column edges of some steps, without the folder."""
    world = recorded([event for step in steps for event in session.of(step)])
    folder = str(session.folder).lstrip("/")

    def short(column: str) -> str:
        return column.lstrip("/").removeprefix(folder).removeprefix("/").removeprefix("journals/")

    return {(short(origin), short(target), how) for origin, target, how in world.edges}


def test_a_relation_is_asked_which_dataset_is_read_and_its_provider_which_is_written(session: Connected) -> None:
    for step in ("relation is written", "relation is written again"):
        assert list(session.datasets(step, "outputs")) == [session.journal("orders")]
    [(name, facets)] = session.datasets("relation is read", "inputs").items()
    assert name == session.journal("orders")
    assert columns(facets) == ["id", "email", "amount"]
    names = ("id", "email", "amount")
    assert edges(session, "relation is written") == {(f"landing.{one}", f"orders.{one}", "direct") for one in names}
    assert edges(session, "relation is read") == {(f"orders.{one}", f"out_v1.{one}", "direct") for one in names}


def test_a_node_that_writes_names_its_dataset_its_version_what_becomes_of_it_and_its_columns(
    session: Connected,
) -> None:
    for step, version, change in (("node is written", "1", "CREATE"), ("node is overwritten", "2", "OVERWRITE")):
        [(name, facets)] = session.datasets(step, "outputs").items()
        assert name == session.journal("totals")
        assert columns(facets) == ["id", "hash", "total"]
        assert said(facets, "version") == {"datasetVersion": version}
        assert said(facets, "lifecycleStateChange") == {"lifecycleStateChange": change}
        assert said(facets, OWN) == {"parts": 1}
        direct = {
            ("orders.id", "totals.id", "direct"),
            ("orders.email", "totals.hash", "masked"),
            ("orders.amount", "totals.total", "direct"),
        }
        groups = {(f"orders.{key}", f"totals.{one}", "indirect") for key in ("id", "email") for one in columns(facets)}
        assert edges(session, step) == (direct | groups if change == "CREATE" else direct)


def test_the_columns_of_a_node_that_writes_say_what_is_masked_and_what_is_summed(session: Connected) -> None:
    [facets] = session.datasets("node is written", "outputs").values()
    ways = {
        column: [
            (way["type"], way["subtype"], way["masking"])
            for one in told["inputFields"]
            for way in one["transformations"]
        ]
        for column, told in facets["columnLineage"]["fields"].items()
    }
    assert ways == {
        "id": [("DIRECT", "IDENTITY", False)],
        "hash": [("DIRECT", "TRANSFORMATION", True)],
        "total": [("DIRECT", "AGGREGATION", False)],
    }


def test_a_node_that_is_all_of_a_plan_names_what_it_reads_in_either_form(session: Connected) -> None:
    [(name, facets)] = session.datasets("node is read", "inputs").items()
    assert name == session.journal("totals")
    assert (said(facets, "version"), said(facets, OWN)) == ({"datasetVersion": "1"}, {"parts": 1})
    [(name, facets)] = session.datasets("node is read by delegate", "inputs").items()
    assert name == session.journal("totals")
    assert columns(facets) == ["id", "hash", "total"]


def test_below_other_nodes_it_is_read_as_a_relation(session: Connected) -> None:
    assert list(session.datasets("node is read below others", "inputs")) == [session.journal("totals")]
    wanted = {(f"totals.{one}", f"out_node.{one}", "direct") for one in ("id", "total")}
    assert edges(session, "node is read below others") == wanted


def test_another_node_stands_for_what_is_written(session: Connected) -> None:
    assert session.journal("copy") in session.datasets("node is written by delegate", "outputs")
    assert session.journal("totals") in session.datasets("node is written by delegate", "inputs")


def test_properties_of_a_table_say_its_name_and_facets(session: Connected) -> None:
    for step, role, version, parts in (("table is written", "outputs", "2", 2), ("table is read", "inputs", "3", 3)):
        [(name, facets)] = session.datasets(step, role).items()
        assert name == session.journal("orders")
        assert said(facets, "version") == {"datasetVersion": version}
        assert said(facets, OWN) == {"additionalProperties": {"parts": parts}}, "listeners wrap it"
    names = ("id", "email", "amount")
    assert edges(session, "table is read") == {(f"orders.{one}", f"out_v2.{one}", "direct") for one in names}


def test_custom_facets_are_kept_and_can_be_asked_for(session: Connected) -> None:
    asked = {"entity": "dataset", "name": OWN, "limit": "100"}
    items = DataFolder(session.data).ask(definitions.facets, asked)["items"]
    found = {(item["namespace"], item["name"]): item["facet"] for item in items}
    assert set(found) == {session.journal("orders"), session.journal("totals")}
    assert said({OWN: found[session.journal("totals")]}, OWN) == {"parts": 1}
    assert said({OWN: found[session.journal("orders")]}, OWN) == {"additionalProperties": {"parts": 3}}


def test_where_a_masked_column_comes_from_is_answered_across_all_three_interfaces(session: Connected) -> None:
    namespace, dataset = session.journal("totals")
    about = {"namespace": namespace, "dataset": dataset, "column": "hash"}
    items = DataFolder(session.data).ask(definitions.upstream, about)["columns"]
    found = [(item["dataset"], item["column"], item["masked"]) for item in items]
    assert found == [(session.journal("orders")[1], "email", True), (session.file("landing")[1], "email", True)]


@pytest.fixture(scope="module")
def page(session: Connected) -> Iterator[httpx.Client]:
    with Running(session.data) as running, httpx.Client(base_url=running.url, timeout=60) as client:
        yield client


def test_they_are_shown_with_the_dataset(session: Connected, page: httpx.Client) -> None:
    namespace, name = (quote(part, safe="") for part in session.journal("totals"))
    shown = page.get(f"/api/v1/namespaces/{namespace}/datasets/{name}").raise_for_status().json()
    assert shown["facets"][OWN]["parts"] == 1
    assert [field["name"] for field in shown["fields"]] == ["id", "hash", "total"]


def test_they_are_replayed_as_they_came(session: Connected) -> None:
    settings = load_settings({"data": session.data})[0]
    with sink_server() as server:
        replay = open_replay(settings, session.data, ReplaySpan(), server.url, rate=None, batch=50, key=None)
        assert replay.run(lambda *_: None)["delivered"] == len(session.events)
        assert sorted(map(str, server.taken)) == sorted(map(str, session.events))
