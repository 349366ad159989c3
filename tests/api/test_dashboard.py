"""The dashboard as served: headers, caching, deep links and the wheel, and the questions of its graph."""

import re
import sys
import zipfile
from pathlib import Path
from subprocess import run as run_command
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from headwater.api.web.pages import Web
from tests.reference.small_events import CLEAR, FILTERED, HASHED, made, run
from tests.reference.world_events import source
from tests.support.data.shop import BRONZE, EXPORT, LANDING, MAILING, SILVER, Asker
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow  # starts Headwater several times and builds a wheel

HTML = {"accept": "text/html,application/xhtml+xml"}


@pytest.mark.parametrize("path", ["/", "/lineage?dataset=a%2Fb", "/a/b/c"])
def test_every_address_of_the_page_reloads(shop_to_read: Asker, path: str) -> None:
    answer = shop_to_read.client.get(path, headers=HTML)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.headers["cache-control"] == "no-cache"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


def test_the_page_names_its_own_files_only_and_they_never_change(shop_to_read: Asker) -> None:
    page = shop_to_read.client.get("/", headers=HTML).text
    named = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert any(name.endswith(".js") for name in named)
    for name in named:
        assert name.startswith("/assets/")
        answer = shop_to_read.client.get(name)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["x-content-type-options"] == "nosniff"
        plain = shop_to_read.client.get(name, headers={"accept-encoding": "identity"})
        assert plain.content == answer.content
        assert "content-encoding" not in plain.headers
    assert "<style" not in page
    assert "<script>" not in page


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/nothing", {"accept": "application/json"}), ("POST", "/nothing", HTML), ("GET", "/api/nothing", HTML),
        ("GET", "/assets/nothing.js", HTML), ("GET", "/assets/..%2findex.html", HTML), ("GET", "/health/nothing", HTML),
    ],
)  # fmt: skip
def test_what_is_no_page_is_still_not_found(
    shop_to_read: Asker, method: str, path: str, headers: dict[str, str]
) -> None:
    answer = shop_to_read.client.request(method, path, headers=headers)
    assert (answer.status_code, answer.json()["fix"]) == (404, "See /docs for all paths.")


def test_the_page_is_public_where_the_api_asks_for_a_key(keyed_to_read: str) -> None:
    with httpx.Client(base_url=keyed_to_read, timeout=60) as client:
        assert client.get("/", headers=HTML).status_code == 200
        assert client.get("/api/headwater/v1/settings").status_code == 401


def test_where_it_is_not_built_the_page_says_what_to_do(tmp_path: Path) -> None:
    client = TestClient(Starlette(routes=Web(tmp_path).routes()))
    assert "make web" in client.get("/").text


def test_the_wheel_has_the_dashboard_in_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    run_command(command, cwd=ROOT, check=True, capture_output=True)
    names = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()
    assert "headwater/api/web/assets/index.html" in names
    assert any(name.startswith("headwater/api/web/assets/assets/") and name.endswith(".js") for name in names)


# Questions of the graph


def names(answer: Any) -> list[str]:
    return [each["dataset"] for each in answer["tables"]]


def ends(answer: Any) -> set[tuple[str, str, str, bool]]:
    """Return the column edges as (from, to, type, masked)."""
    shown = [f"{answer['tables'][each['table']]['dataset']}.{each['column']}" for each in answer["columns"]]
    return {(shown[each["from"]], shown[each["to"]], each["type"], each["masked"]) for each in answer["columnEdges"]}


def test_tables_around_a_dataset_with_what_lies_beyond(shop_to_read: Asker) -> None:
    found = shop_to_read.ask("lineage", dataset="silver/customers")
    assert [(each["dataset"], each["distance"]) for each in found["tables"]] == [
        ("bronze/customers", -1),
        ("silver/customers", 0),
        (EXPORT[1], 1),
        (MAILING[1], 1),
    ]
    bronze, silver, export, _ = found["tables"]
    assert (bronze["moreUp"], bronze["moreDown"], silver["moreUp"]) == (1, 1, 0)
    assert (silver["columns"], silver["columnCount"]) == (["email", "email_key", "loaded_by"], 3)
    assert (silver["columnLineage"], export["columnLineage"]) == (True, False)
    opaque = [edge for edge in found["tableEdges"] if not edge["columns"]]
    assert [(found["tables"][edge["to"]]["dataset"], edge["jobs"][0]["name"]) for edge in opaque] == [
        (EXPORT[1], "export")
    ]
    assert names(shop_to_read.ask("lineage", dataset="silver/customers", up=0, down=0)) == [SILVER[1]]
    cut = shop_to_read.ask("lineage", dataset="silver/customers", limit=2)
    assert (len(cut["tables"]), cut["truncated"]) == (2, True)


def test_columns_around_a_column_are_those_of_impact_and_upstream(shop_to_read: Asker) -> None:
    asked = {"dataset": "bronze/customers", "column": "EMAIL"}
    for mode in ("value", "any"):
        found = shop_to_read.ask("lineage", **asked, mode=mode, up=1000, down=1000)
        shown = {
            (found["tables"][each["table"]]["dataset"], each["column"], each["masked"]) for each in found["columns"]
        }
        answered = {
            (each["dataset"], each["column"], each["masked"])
            for question in ("impact", "upstream")
            for each in shop_to_read.ask(question, **asked, mode=mode)["columns"]
        }
        assert shown == answered | {("bronze/customers", "email", False)}
    assert ("bronze/customers.email", "silver/customers.email_key", "DIRECT", True) in ends(found)
    assert ("landing/customers.country", "bronze/customers.email", "INDIRECT", False) in ends(found)
    assert EXPORT[1] in names(found), "the dataset is downstream of the job without column lineage"


def test_an_edge_is_as_clear_as_its_clearest_transformation(shop_to_read: Asker) -> None:
    both = {
        "x": [source(LANDING, "phone", HASHED), source(LANDING, "phone", CLEAR), source(LANDING, "notes", FILTERED)]
    }
    shop_to_read.post(run(60, 300, made(("s3://lake", "twice"), both, columns="x"), job="twice"))
    found = shop_to_read.ask("lineage", dataset="twice", column="x", mode="any")
    assert ends(found) == {
        ("landing/customers.phone", "twice.x", "DIRECT", False),
        ("landing/customers.notes", "twice.x", "INDIRECT", False),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("parameters", "status", "said"),
    [
        ({"dataset": "silver/customers", "up": "1001"}, 400, "up=1001"),
        ({"dataset": "silver/customers", "limit": "0"}, 400, "limit=0"),
        ({}, 400, "dataset= is missing"),
        ({"dataset": "silver/custommers"}, 404, "silver/custommers"),
        ({"dataset": BRONZE[1], "namespace": BRONZE[0], "column": "emial"}, 404, "emial"),
    ],
)  # fmt: skip
def test_lineage_refuses_what_it_cannot_answer(
    shop_to_read: Asker, parameters: dict[str, str], status: int, said: str
) -> None:
    assert said in shop_to_read.refused("lineage", status, **parameters)["error"]
