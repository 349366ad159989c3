"""Headwater's own API besides lineage questions: overview, settings, graph, timeline, refused requests,
retry, roles.
"""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.reference.small_events import CLEAR, made, run
from tests.reference.world_events import at, dataset, source, uuid
from tests.support.data.keyed import READ_KEY
from tests.support.data.parsing import World
from tests.support.data.shop import API, DROPPED, EVENTS, LAKE, SILVER, Asker
from tests.support.running import Running
from tests.support.waiting import rest

pytestmark = pytest.mark.slow  # starts Headwater

KEYS = [
    {"name": "viewer", "key": "viewer-key", "roles": ["read"]},
    {"name": "writer", "key": "writer-key", "roles": ["write"]},
    {"name": "boss", "key": "boss-key-1", "roles": ["admin"]},
]
WINDOW = {"from": "2026-03-01T12:00:00Z", "to": "2026-03-01T13:00:00Z", "buckets": "60"}
REPLACED = run(30, 150, made(SILVER, {"email": [source((LAKE, "raw/mails"), "mail", CLEAR)]}, columns="email"),
               job="to_silver")  # fmt: skip
FAILED = {**run(31, 160, reads=[dataset(SILVER)], job="broken"), "eventType": "FAIL"}
LOST = {**run(32, 161, reads=[dataset(SILVER)], job="gone"), "eventType": "START"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    folder = tmp_path_factory.mktemp("own") / "data"
    World(folder).append(b"{}")
    environment = {"HEADWATER_KEYS": json.dumps(KEYS), "HEADWATER_HUB_CONNECTION": "Endpoint=secret"}
    with (
        Running(folder, options=["--tick", "50ms"], environment=environment, cwd=folder.parent) as running,
        Asker(running.url) as asker,
    ):
        asker.client.headers["authorization"] = "Bearer boss-key-1"
        asker.post(*EVENTS, REPLACED, FAILED, LOST)
        assert asker.client.post("/api/v1/lineage", content=b"{").status_code == 400
        yield asker


def until(shop: Asker, question: str, done: Callable[[Any], Any], **asked: str) -> Any:
    """Ask until the answer meets a condition."""
    deadline = time.monotonic() + 60
    while not done(found := shop.ask(question, **asked)):
        assert time.monotonic() < deadline, found
        rest()
    return found


def test_overview_counts_what_came_in_and_how_runs_fare(shop: Asker) -> None:
    now = until(
        shop, "overview", lambda found: found["refused"] and not found["pending"] + found["freshness"]["seconds"]
    )
    assert sum(now["events"]) == len(EVENTS) + 3
    assert list(now["refused"]) == ["not_json"]
    assert {reason: sum(counts) for reason, counts in now["rejected"].items()} == {"shape": 1}
    then = shop.ask("overview", **WINDOW)
    assert then["window"] == {"from": "2026-03-01T12:00:00.000Z", "to": "2026-03-01T13:00:00.000Z", "bucketSeconds": 60}
    runs = then["runs"]
    assert runs["states"] == {"COMPLETE": len(EVENTS) + 1, "FAIL": 1, "RUNNING": 1}
    assert runs["series"]["FAIL"][:4] == [0, 0, 1, 0]
    assert [each["job"]["name"] for each in runs["failed"]] == ["broken"]
    assert ([each["run"] for each in runs["lost"]], runs["lostCount"]) == ([uuid(32)], 1)


def test_settings_show_no_secret(shop: Asker) -> None:
    answer = shop.get("settings")
    found = {each["setting"]: each for each in answer.json()["items"]}
    assert "boss-key" not in answer.text
    assert "Endpoint" not in answer.text
    viewer = found["keys"]["value"][0]
    assert viewer | {"name": "viewer", "key": "***", "roles": ["read"], "namespaces": []} == viewer
    assert (found["hub_connection"]["value"], found["hub_connection"]["default"]) == ("***", False)
    assert (found["vacuum_hours"]["value"], found["vacuum_hours"]["default"]) == (24, True)


def test_the_graph_folds_and_opens(shop: Asker) -> None:
    def edges(answer: Any) -> set[tuple[str, str, int]]:
        return {(each["from"].removeprefix("group:"), each["to"].removeprefix("group:"), each["edges"])
                for each in answer["edges"] if LAKE in each["from"] and LAKE in each["to"]}  # fmt: skip

    whole = shop.ask("graph")
    lake = next(node for node in whole["nodes"] if node["id"] == f"group:{LAKE}")
    assert (lake["kind"], lake["name"], lake["inside"]) == ("group", "", 9)
    assert edges(whole) == set()
    schemas = shop.ask("graph", groups="schema")
    assert (f"{LAKE}/landing", f"{LAKE}/bronze", 1) in edges(schemas)
    opened = shop.ask("graph", groups="schema", expand=f"group:{LAKE}/gold")
    assert (f"{LAKE}/silver", f"dataset:{LAKE}/gold/mailing", 1) in edges(opened)
    assert edges(shop.ask("graph", expand=f"group:{LAKE}")) == edges(shop.ask("graph", groups="lakehouse"))
    tables = shop.ask("graph", groups="none", limit="2")
    assert ({node["kind"] for node in tables["nodes"]}, len(tables["nodes"])) == ({"dataset"}, 2)
    assert (tables["truncated"], tables["totalCount"] > 2) == (True, True)
    assert f"group:{LAKE}/gold" in shop.refused("graph", 404, expand=f"group:{LAKE}/gild")["nearest"]


def test_the_timeline_tells_when_edges_appeared_and_ended(shop: Asker) -> None:
    found = shop.ask("timeline", dataset="silver/customers")["items"]
    told = [(each["change"], each["from"]["dataset"], each["from"]["column"], each["to"]["column"], each["time"])
            for each in found]  # fmt: skip
    assert told == [
        ("appeared", "raw/mails", "mail", "email", "2026-03-01T12:02:30.000Z"),
        ("ended", "bronze/customers", "email", "email", "2026-03-01T12:02:30.000Z"),
        ("ended", "bronze/customers", "email", "email_key", "2026-03-01T12:02:30.000Z"),
        ("appeared", "bronze/customers", "email", "email", "2026-03-01T12:00:10.000Z"),
        ("appeared", "bronze/customers", "email", "email_key", "2026-03-01T12:00:10.000Z"),
    ]
    assert {each["job"]["name"] for each in found} == {"to_silver"}
    assert {each["to"]["column"] for each in found if each["masked"]} == {"email_key"}
    assert len(shop.ask("timeline", dataset="silver/customers", since=at(100))["items"]) == 3
    cut = shop.ask("timeline", dataset="silver/customers", limit="1")
    assert (len(cut["items"]), cut["totalCount"], cut["truncated"]) == (1, 5, True)
    assert shop.ask("timeline", dataset="landing/customers")["items"] == []
    table_level = shop.ask("timeline", dataset="export/dump")["items"]
    assert [(each["from"]["dataset"], each["from"]["column"]) for each in table_level] == [("silver/customers", None)]


def test_a_drop_is_on_the_timeline(shop: Asker) -> None:
    shop.post(DROPPED)
    assert shop.ask("timeline", dataset="gold/mailing")["items"][0]["change"] == "dropped"


def test_refused_are_listed_by_reason(shop: Asker) -> None:
    found = until(shop, "refused", lambda answer: answer["totalCount"] > 0)
    assert (found["items"][0]["reason"], found["items"][0]["count"], found["items"][0]["key"]) == (
        "not_json",
        1,
        "boss",
    )


def test_rejected_events_are_sent_again_as_if_posted_anew(shop: Asker) -> None:
    until(shop, "rejected", lambda answer: answer["totalCount"] == 1)
    found = shop.client.post(f"{API}/rejected/retry").json()
    assert (found["sent"], found["accepted"], found["refused"], found["truncated"]) == (1, 0, 1, False)
    assert found["reasons"] == ["Object missing required field `eventTime` at `eventTime`."]
    answer = shop.client.get(f"{API}/rejected/retry")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("key", "may"),
    [("viewer-key", (200, 403)), ("writer-key", (403, 403)), ("wrong-key", (401, 401))],
)
def test_reading_needs_the_role_read_and_sending_again_admin(shop: Asker, key: str, may: tuple[int, int]) -> None:
    headers = {"authorization": f"Bearer {key}"}
    for question in (
        "overview",
        "settings",
        "graph",
        "refused",
        "rejected",
        "search?q=mail",
        "timeline?dataset=export/dump",
    ):
        assert shop.client.get(f"{API}/{question}", headers=headers).status_code == may[0], question
    assert shop.client.post(f"{API}/rejected/retry?limit=1", headers=headers).status_code == may[1]


@pytest.mark.parametrize(
    ("question", "asked", "said"),
    [
        ("overview", {"buckets": "501"}, "not between 1 and 500"),
        ("overview", {"from": "2026-03-02", "to": "2026-03-01"}, "is empty or"),
        ("overview", {"from": "1926-03-02"}, "longer than 366 days"),
        ("overview", {"to": "9999-12-31T23:59:59Z"}, "after the year"),
        ("graph", {"groups": "table"}, "Write namespace, lakehouse, schema or none"),
        ("graph", {"limit": "2001"}, "not between 1 and 2000"),
        ("timeline", {}, "dataset= is missing"),
        ("timeline", {"dataset": "export/dump", "since": "now"}, "is not a time"),
        ("settings", {"x": "1"}, "It takes no parameters"),
        ("audit", {"x": "1"}, "does not take the parameter 'x'"),
    ],
)
def test_what_is_out_of_form_is_refused_with_the_form(
    shop: Asker, question: str, asked: dict[str, str], said: str
) -> None:
    assert said in shop.refused(question, 400, **asked)["error"]


def test_answers_are_not_stored_or_sniffed_and_readers_see_no_key_names(keyed_to_read: str) -> None:
    reader = {"authorization": f"Bearer {READ_KEY}"}
    for path, headers, status in (
        ("headwater/v1/settings", reader, 200), ("headwater/v1/settings", {}, 401),
        ("headwater/v1/none", reader, 404), ("v1/none", reader, 404),
        ("../health/live", {}, 200), ("../metrics", {}, 200), ("v1/lineage/batch", reader, 405),
    ):  # fmt: skip
        answer = httpx.get(f"{keyed_to_read}/api/{path}", headers=headers, timeout=60)
        assert (answer.status_code, answer.headers["cache-control"]) == (status, "no-store"), path
        assert answer.headers["x-content-type-options"] == "nosniff", path
    shown = httpx.get(f"{keyed_to_read}/api/headwater/v1/settings", headers=reader, timeout=60).json()["items"]
    assert [each["value"] for each in shown if each["setting"] == "keys"] == ["***"]


def test_nothing_yet_is_an_answer_too(keyed_to_read: str) -> None:
    with Asker(keyed_to_read) as asker:
        asker.client.headers["authorization"] = f"Bearer {READ_KEY}"
        found = asker.wait_for("overview")
        assert (sum(found["events"]), found["pending"]) == (0, 0)
