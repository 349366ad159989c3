"""The lineage questions over HTTP, against a running `headwater up`: answers, refusals and hostile requests."""

import http.client
import json
import re
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, quote

import httpx
import pytest

from headwater.cli.agents import answers as mcp_answers
from tests.reference.small_events import CLEAR, GUID, made, run
from tests.reference.world_events import at, dataset, dataset_event, facet, parent, schema, source, uuid
from tests.support.data.shop import (
    ALIAS,
    API,
    EVENTS,
    LAKE,
    LANDING,
    LAST,
    MAILING,
    ODD,
    ONCE_CLEAR,
    REMADE,
    SHOWN,
    SILVER,
    SQL,
    Asker,
    columns,
    named,
    told,
    up,
)
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow  # starts Headwater

DOCS = (ROOT / "docs/reference/questions.md").read_text()
WIDE = ("s3://wide", "source")
MANY = 10_000
EMAIL = {"namespace": LAKE, "dataset": "landing/customers", "column": "email"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    with up(tmp_path_factory.mktemp("questions") / "data") as running, Asker(running.url) as asker:
        asker.post(*EVENTS)
        yield asker


def test_every_example_of_the_documentation_is_so(shop: Asker) -> None:
    """This test must be the first, because later ones add events."""
    examples = re.findall(r"^`GET [^`]*v1/([^`?]*)\??([^`]*)`\n\n```json\n(.*?)\n```$", DOCS, re.MULTILINE | re.DOTALL)
    assert len(examples) == 12
    for question, asked, expected in examples:
        found = shop.ask(question, **dict(parse_qsl(asked)))
        found |= {name: "…" for name in ("rules_hash", "next") if found.get(name)}
        assert found == json.loads(expected), question


def test_impact_names_every_column_with_its_distance_mask_and_way(shop: Asker) -> None:
    answer = shop.ask("impact", **EMAIL)
    assert set(answer) == {"column", "mode", "columns", "stops", "truncated", "owners"}
    assert answer["column"] == {"namespace": LAKE, "dataset": "landing/customers", "column": "Email"}
    assert (answer["mode"], answer["truncated"]) == ("value", False)
    assert columns(answer) == {
        "bronze/customers.email": (1, False),
        "gold/phones.key": (2, False),
        "silver/customers.email": (2, False),
        "silver/customers.email_key": (2, True),
        "gold/mailing.contact": (3, False),
    }
    last = answer["columns"][-1]
    assert set(last) == {
        "namespace", "dataset", "column", "distance", "masked", "read_before_recreation", "via", "in_schema",
        "earlier", "last_seen",
    }  # fmt: skip
    assert not any(each["read_before_recreation"] for each in answer["columns"]), "there was no DROP"
    assert last["via"] == {
        "namespace": LAKE,
        "dataset": "silver/customers",
        "column": "email",
        "job": {"namespace": "jobs", "name": "to_gold"},
        "transformation": {"type": "DIRECT", "subtype": "", "masking": False, "description": None},
        "origin": "observed",
    }
    assert answer["stops"] == [
        {
            "namespace": LAKE,
            "dataset": "bronze/customers",
            "reason": "no_columns",
            "onward": [{"namespace": LAKE, "dataset": "silver/customers"}],
            "jobs": [{"namespace": "jobs", "name": "to_silver"}],
            "unread": [],
            "may_be_connected": [],
            "runs": [],
        },
        {
            "namespace": LAKE,
            "dataset": "silver/customers",
            "reason": "no_columns",
            "onward": [{"namespace": LAKE, "dataset": "export/dump"}],
            "jobs": [{"namespace": "jobs", "name": "export"}],
            "unread": [],
            "may_be_connected": [],
            "runs": [],
        },
    ]


@pytest.mark.parametrize(
    ("question", "asked", "found"),
    [
        ("upstream", {"dataset": "gold/mailing", "column": "CONTACT"},
         {"silver/customers.email": 1, "bronze/customers.email": 2, "landing/customers.Email": 3}),
        ("upstream", {"dataset": "gold/mailing", "roots": "true"}, {"landing/customers.Email": 3}),
        ("upstream", {"dataset": "gold/mailing", "depth": "1"}, {"silver/customers.email": 1}),
        ("upstream", {"dataset": "export/dump"}, {}),
        ("impact", {"dataset": "landing/customers", "column": "phone", "roots": "true"}, {"gold/phones.phone": 2}),
        ("impact", {"dataset": "landing/customers", "column": "country"}, {}),
        ("impact", {"dataset": "landing/customers", "column": "country", "mode": "any", "depth": "1", "limit": "3"},
         {"bronze/customers.email": 1, "bronze/customers.id": 1, "bronze/customers.phone": 1}),
        ("impact", {"dataset": "bronze/customers", "column": "email", "seenSince": at(50)}, {"gold/phones.key": 1}),
        ("impact", {"dataset": "bronze/customers", "column": "email", "asOf": at(15)},
         {"silver/customers.email": 1, "silver/customers.email_key": 1}),
        ("impact", {"dataset": "bronze/customers", "asOf": "2026-03-01T13:00:15+01:00", "depth": "1"},
         {"silver/customers.email": 1, "silver/customers.email_key": 1}),
        ("impact", {"dataset": "bronze/customers", "view": "all", "column": "phone"}, {"gold/phones.phone": 1}),
        ("impact", {"dataset": "loop/left", "column": "v", "depth": "1000"},
         {"loop/right.v": 1, f"{ODD[1]}.a'b\"<i>\u202e": 2}),
        ("impact", {"dataset": "bronze/customers", "mode": "", "depth": "", "view": "", "column": "id"}, {}),
    ],
)  # fmt: skip
def test_each_parameter_does_what_it_says(
    shop: Asker, question: str, asked: dict[str, str], found: dict[str, int]
) -> None:
    answer = shop.ask(question, **asked)
    assert {name: distance for name, (distance, _) in columns(answer).items()} == found
    assert answer["truncated"] == (asked.get("depth") == "1" and "asOf" not in asked), (
        "a depth of 1 truncates the answer"
    )


def test_what_was_received_later_is_not_known_then(shop: Asker) -> None:
    assert "No dataset" in shop.refused("impact", 404, dataset="bronze/customers", knownAt=at(0))["error"]
    now = shop.ask("impact", dataset="bronze/customers", knownAt="2999-01-01")
    assert columns(now) == columns(shop.ask("impact", dataset="bronze/customers"))


def test_paths_show_each_way_whole(shop: Asker) -> None:
    found = shop.ask("impact", **EMAIL, paths="true")
    ways = {each["dataset"]: [step["dataset"] for step in each["path"]] for each in found["columns"]}
    assert ways["gold/mailing"] == ["bronze/customers", "silver/customers", "gold/mailing"]


def test_answers_that_are_cut_say_so(shop: Asker) -> None:
    cut = shop.ask("impact", **EMAIL, limit="2")
    assert (len(cut["columns"]), cut["truncated"]) == (2, True)
    assert shop.ask("impact", **EMAIL, limit="5")["truncated"] is False
    for question in ("surface", "unused", "coverage"):
        answer = shop.ask(question, limit="1")
        assert (len(answer["items"]), answer["truncated"], answer["totalCount"] > 1) == (1, True, True)


@pytest.mark.parametrize(
    "asked",
    [
        {"namespace": LAKE, "dataset": "silver/customers"},
        {"namespace": "S3A://lake", "dataset": "/silver/customers/"},
        {"dataset": "s3://lake/silver/customers"},
        {"dataset": "silver/customers"},
        {"dataset": "silver.customers"},
        {"namespace": ALIAS[0], "dataset": ALIAS[1]},
        {"namespace": "hive://META:9083", "dataset": ALIAS[1]},
        {"dataset": "shop.customers"},
    ],
)
def test_a_dataset_goes_by_any_alias_and_any_unique_end(shop: Asker, asked: dict[str, str]) -> None:
    assert shop.ask("impact", **asked, column="email")["column"] == {
        "namespace": LAKE, "dataset": "silver/customers", "column": "email",
    }  # fmt: skip


def test_an_end_that_several_datasets_have_is_refused_with_them(shop: Asker) -> None:
    refused = shop.refused("impact", 400, dataset="mailing")
    assert "matches 2 datasets" in refused["error"]
    assert "s3://lake/gold/mailing" in refused["error"]


def test_odd_names_are_found_and_come_back_as_they_are(shop: Asker) -> None:
    answer = shop.ask("upstream", namespace=ODD[0], dataset=ODD[1])
    assert (answer["column"]["namespace"], answer["column"]["dataset"]) == ODD
    assert columns(answer)["loop/right.v"] == (1, False)


@pytest.mark.parametrize(
    ("question", "asked", "nearest"),
    [
        ("impact", {"dataset": "silver/custmers"}, "s3://lake/silver/customers"),
        ("unused", {"dataset": "gold/mailings"}, "s3://lake/gold/mailing"),
        ("impact", {"dataset": "silver/customers", "column": "e_mail"}, "email"),
        ("path", {"fromDataset": "silver/customers", "toDataset": "gold/phone"}, "s3://lake/gold/phones"),
        ("edge", {"fromDataset": "silver/customers", "fromColumn": "emial", "toDataset": "gold/mailing"}, "email"),
        ("surface", {"tag": "pi"}, "PII"),
        ("surface", {"dataset": "landing/customers", "column": "mail"}, "Email"),
    ],
)
def test_an_unknown_name_is_404_with_the_nearest(
    shop: Asker, question: str, asked: dict[str, str], nearest: str
) -> None:
    refused = shop.refused(question, 404, **asked)
    assert nearest in refused["nearest"]
    assert repr(nearest) in refused["error"]


@pytest.mark.parametrize(
    ("question", "asked", "words"),
    [
        ("impact", {}, "dataset= is missing"),
        ("impact", {"dataset": "x", "mode": "all"}, "value"),
        ("impact", {"dataset": "x", "view": "old"}, "current, newest or all"),
        ("impact", {"dataset": "x", "depth": "0"}, "between 1 and"),
        ("impact", {"dataset": "x", "depth": "1001"}, "between 1 and 1000"),
        ("impact", {"dataset": "x", "limit": "10001"}, "between 1 and 10000"),
        ("impact", {"dataset": "x", "limit": "-1"}, "like 100"),
        ("impact", {"dataset": "x", "limit": "1e3"}, "like 100"),
        ("impact", {"dataset": "x", "limit": "\u0661"}, "like 100"),
        ("impact", {"dataset": "x", "roots": "yes"}, "is not a boolean"),
        ("impact", {"dataset": "x", "asOf": "yesterday"}, "2026-03-01T12:00:00Z"),
        ("impact", {"dataset": "x", "asOf": "2026-03-01T12:00:00+25:00"}, "2026-03-01T12:00:00Z"),
        ("impact", {"dataset": "x", "knownAt": "2026-03-01T12:00:00 01:00"}, "%2B"),
        ("impact", {"dataset": "x", "seenSince": "12"}, "2026-03-01T12:00:00Z"),
        ("impact", {"dataset": "x", "since": at(0)}, "namespace, dataset, column, mode"),
        ("path", {"fromDataset": "x"}, "toDataset= is missing"),
        ("surface", {"since": "soon"}, "2026-03-01T12:00:00Z"),
        ("surface", {"mode": "any"}, "does not take the parameter 'mode'"),
        ("diff", {}, "from=TIME"),
        ("diff", {"from": at(0), "to": "later"}, "2026-03-01T12:00:00Z"),
        ("diff", {"from": at(0), "view": "all"}, "does not take the parameter 'view'"),
        ("coverage", {"dataset": "x"}, "does not take the parameter 'dataset'"),
        ("facets", {"name": "sql"}, "run, job or dataset"),
        ("facets", {"entity": "job"}, "name= is missing"),
        ("facets", {"entity": "job", "name": "sql", "run": "x"}, "does not take the parameter 'run'"),
        ("names", {"namespace": "s3://lake"}, "name= is missing"),
        ("names", {"name": "x", "at": "soon"}, "2026-03-01T12:00:00Z"),
        (f"runs/{LAST}/lineage", {"limit": "1"}, "does not take the parameter 'limit'"),
    ],
)  # fmt: skip
def test_a_parameter_out_of_form_is_400_with_the_form(
    shop: Asker, question: str, asked: dict[str, str], words: str
) -> None:
    refused = shop.refused(question, 400, **asked)
    assert set(refused) == {"error", "field", "fix"}
    assert words in refused["error"]


def test_path_says_whether_and_how_and_where_nobody_can_say(shop: Asker) -> None:
    asked = {**named("from", LANDING, "email"), **named("to", MAILING, "contact")}
    answer = shop.ask("path", **asked)
    assert set(answer) == {"from", "to", "mode", "reaches", "path", "stops"}
    assert (answer["reaches"], len(answer["path"]), answer["stops"]) == (True, 3, [])
    back = shop.ask("path", **named("from", MAILING), **named("to", LANDING))
    assert (back["reaches"], back["path"], back["stops"]) == (False, [], [])
    hidden = shop.ask("path", **named("from", LANDING), toDataset="export/dump")
    stops = [each["dataset"] for each in hidden["stops"]]
    assert (hidden["reaches"], stops) == (False, ["bronze/customers", "silver/customers"])


def test_edge_says_which_job_since_when_and_with_what_sql(shop: Asker) -> None:
    answer = shop.ask("edge", **named("from", SILVER, "email"), **named("to", MAILING, "contact"))
    assert set(answer) == {"from", "to", "items"}
    (item,) = answer["items"]
    assert (item["job"]["name"], item["origin"], item["runs"], item["landed"]) == ("to_gold", "observed", 1, False)
    assert (item["first_seen"], item["last_seen"], item["newest_run"]) == (at(20), at(20), uuid(3))
    assert (item["sql"], item["transformations"][0]["type"]) == (SQL, "DIRECT")
    table = shop.ask("edge", **named("from", SILVER), toDataset="export/dump")
    assert table["items"][0]["transformations"] == []
    assert "No edge" in shop.refused("edge", 404, **named("from", MAILING), **named("to", SILVER))["error"]


def test_surface_tells_exposed_masked_and_unknown_apart(shop: Asker) -> None:
    answer = shop.ask("surface", tag="pii")
    assert {"items", "totalCount", "truncated"} < set(answer)
    behind = {
        "bronze/customers.email": "exposed",
        "silver/customers.email": "exposed",
        "gold/mailing.contact": "exposed",
        "gold/phones.key": "exposed",
        "silver/customers.email_key": "masked",
        "silver/customers.loaded_by": "unknown",
        "export/dump.a": "unknown",
        "export/dump.b": "unknown",
        "other/mailing.x": "unknown",
    }
    assert told(answer, "exposure") == {"landing/customers.Email": "exposed", **behind}
    assert answer["exposures"] == {"exposed": 5, "unknown": 4, "masked": 1, "once_exposed": 0, "tagged": 1}
    for item in answer["items"]:
        assert set(item) == {
            "namespace", "dataset", "column", "exposure", "tagged", "exposed_until", "how", "source", "via",
            "earlier",
        }  # fmt: skip
        assert item["exposed_until"] is None, "masked columns were never written in the clear"
    contact = next(item for item in answer["items"] if item["column"] == "contact")
    assert contact["source"] == {"namespace": LAKE, "dataset": "landing/customers", "column": "Email"}
    of_column = shop.ask("surface", **EMAIL)
    assert told(of_column, "exposure") == behind
    assert (of_column["exposures"]["tagged"], {item["tagged"] for item in of_column["items"]}) == (0, {False})
    phone = shop.ask("surface", dataset="landing/customers", column="phone")
    assert told(phone, "exposure")["gold/phones.phone"] == "exposed"


def test_surface_since_lists_what_became_exposed_whatever_the_limit(shop: Asker) -> None:
    assert list(told(shop.ask("surface", since=at(50)), "exposure")) == ["gold/phones.key"]
    assert shop.ask("surface", since=at(50), limit="1")["totalCount"] == 1
    assert shop.ask("surface", since=at(100))["items"] == []
    before_anything = shop.ask("surface", since="2020-01-01")
    assert (before_anything["totalCount"], before_anything["truncated"]) == (5, False)


def test_surface_begins_with_the_tagged_columns(shop: Asker) -> None:
    first, *_ = shop.ask("surface", tag="pii")["items"]
    email = {"namespace": LAKE, "dataset": "landing/customers", "column": "Email"}
    assert first == email | {
        "exposure": "exposed", "tagged": True, "exposed_until": None, "how": "no write is known to mask this column",
        "source": email, "via": None, "earlier": False,
    }  # fmt: skip
    only = shop.ask("surface", tag="pii", exposure="tagged")
    assert (only["items"], only["totalCount"], only["exposures"]["exposed"]) == ([first], 1, 5)


def test_unused_is_proven_used_or_not_provable(shop: Asker) -> None:
    answer = shop.ask("unused", namespace=LAKE, dataset="landing/customers")
    assert told(answer, "verdict") == {
        "landing/customers.id": "used",
        "landing/customers.Email": "used",
        "landing/customers.phone": "used",
        "landing/customers.country": "used",
        "landing/customers.notes": "unused",
    }
    notes = next(item for item in answer["items"] if item["column"] == "notes")
    assert {
        "namespace", "dataset", "column", "verdict", "reason", "caveats", "readers", "observed_since", "last_used",
    } <= set(notes)  # fmt: skip
    readers = answer["readers"][notes["readers"]]
    assert (readers["dataset"], readers["without_column_lineage"]) == ("landing/customers", [])
    assert (readers["jobs"], notes["observed_since"], notes["last_used"]) == (
        [{"namespace": "jobs", "name": "to_bronze"}], at(0), None,
    )  # fmt: skip
    assert notes["caveats"]
    assert answer["verdicts"] == {"used": 4, "unused": 1, "unknown": 0}
    silver = told(shop.ask("unused", dataset="silver/customers"), "verdict")
    assert silver["silver/customers.email_key"] == "unknown", "the export does not report which columns it reads"
    assert shop.ask("unused")["totalCount"] > len(silver)


def test_diff_between_two_moments(shop: Asker) -> None:
    answer = shop.ask("diff", **{"from": at(75), "to": at(150)})
    assert (answer["added"], answer["removed"], answer["changed"], answer["totalCount"]) == (2, 0, 0, 2)
    assert answer["items"][0] == {
        "change": "added",
        "from": {"namespace": LAKE, "dataset": "bronze/customers", "column": "email"},
        "to": {"namespace": LAKE, "dataset": "gold/phones", "column": "key"},
        "type": "DIRECT",
        "masked": False,
        "job": {"namespace": "jobs", "name": "phones"},
    }
    back = shop.ask("diff", **{"from": at(150), "to": at(75), "limit": "1"})
    assert (back["added"], back["removed"], back["truncated"]) == (0, 2, True)
    assert shop.ask("diff", **{"from": at(75)})["added"] >= 2


def test_coverage_counts_and_gives_reasons(shop: Asker) -> None:
    answer = shop.ask("coverage")
    datasets = {item["dataset"]: item["reason"] for item in answer["items"] if item["kind"] == "dataset"}
    assert datasets["export/dump"] == "written without column lineage"
    assert datasets["landing/customers"] == "no reported job writes it"
    jobs = {item["name"]: item["reason"] for item in answer["items"] if item["kind"] == "job"}
    assert jobs == {"export": "reports no column lineage"}
    assert sum(answer["datasets"].values()) - answer["datasets"]["column lineage"] == len(datasets)


def test_a_run_says_who_wrote_what_it_read_and_who_read_what_it_wrote(shop: Asker) -> None:
    answer = shop.ask(f"runs/{uuid(2).upper()}/lineage")
    assert (answer["run"]["id"], answer["run"]["job"]["name"], answer["run"]["state"]) == (
        uuid(2), "to_silver", "COMPLETE",
    )  # fmt: skip
    (read,), (written,) = answer["reads"], answer["writes"]
    assert (read["dataset"], read["written_by"]["id"]) == ("bronze/customers", uuid(1))
    assert [reader["id"] for reader in written["read_by"]] == [uuid(3), uuid(4)]
    assert (answer["children"], answer["truncated"]) == ([], False)
    assert "No run" in shop.refused("runs/nobody/lineage", 404)["error"]
    shown = uuid(2)[:-1] + "…"  # as pages and tables shorten it
    assert uuid(2) in shop.refused(f"runs/{shown}/lineage", 404)["nearest"]


def test_a_run_names_the_runs_that_are_part_of_it(shop: Asker) -> None:
    shop.post(
        run(80, 500, job="app"),
        run(81, 501, job="app.read", run_facets={"parent": parent(uuid(80), ("jobs", "app"))}),
        run(82, 502, job="app.read.write", kind="FAIL",
            run_facets={"parent": parent(uuid(81), ("jobs", "app.read"), uuid(80))}),
    )  # fmt: skip
    found = shop.ask(f"runs/{uuid(80)}/lineage")
    told = [(each["id"], each["state"], each["job"]["name"]) for each in found["children"]]
    assert told == [(uuid(82), "FAIL", "app.read.write"), (uuid(81), "COMPLETE", "app.read")]
    assert shop.ask(f"runs/{uuid(82)}/lineage")["run"]["execution"] == uuid(80)


def test_a_run_id_that_is_no_uuid_is_found_even_with_a_slash(shop: Asker) -> None:
    for number, job in enumerate(("a", "b")):
        event = run(50, 300 + number, made((LAKE, f"named/{job}"), {}), job=job)
        shop.post(event | {"run": {"runId": f"load/1 '{job}'"}}, run(60 + number, 400, made((LAKE, "n"), {})))
        found = shop.ask(f"runs/load%2F1 '{job}'/lineage")
        assert found["run"]["job"] == {"namespace": "jobs", "name": job}
    shop.post(*[run(50, 310, job=job) | {"run": {"runId": "twice"}} for job in "ab"][:1], run(62, 400))
    shop.post(run(50, 310, job="b") | {"run": {"runId": "twice"}}, run(63, 400))
    refused = shop.refused("runs/twice/lineage", 400)
    assert '["twice","jobs","a"]' in refused["error"]
    assert shop.ask('runs/["twice","jobs","a"]/lineage')["run"]["job"]["name"] == "a"


def test_facets_of_jobs_as_they_were_sent(shop: Asker) -> None:
    answer = shop.ask("facets", entity="job", name="sql")
    assert [(item["name"], item["facet"]["query"]) for item in answer["items"]] == [("to_gold", SQL)]
    assert shop.ask("facets", entity="dataset", name="sql")["items"] == []


def test_names_are_explained_with_their_binding_in_time(shop: Asker) -> None:
    answer = shop.ask("names", namespace="hive://META", name=ALIAS[1])
    assert answer["canonical"] == {"namespace": LAKE, "name": "silver/customers"}
    assert answer["items"][-1]["rule"] == "binding"
    assert shop.ask("names", namespace="", name="free text", at=at(0))["canonical"]["name"] == "free text"


def test_rules_in_force_are_told(shop: Asker) -> None:
    answer = shop.ask("rules")
    assert (answer["problems"], answer["indexed"], len(answer["rules_hash"])) == ([], True, 32)


HOSTILE = [
    "'", '"', "' OR 1=1 --", "%", "_", "*", "a\nb\r\nc", "\x00", "a\x00b", "\U0001f600", "\u202eabc",
    "<script>alert(1)", "%2F", "../../etc/passwd", "/", "//", ":", "#", "[/bold]", "{}", "[]", "null", "-1", "9" * 9,
    "9" * 400, "1e999", "2026-02-30", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "true",
    "x" * 30_000, "x/" * 10_000,
]  # fmt: skip
PLACES = [
    ("impact", "dataset", {}), ("impact", "namespace", {"dataset": "customers"}),
    ("impact", "column", {"dataset": "silver/customers"}), ("impact", "depth", {"dataset": "silver/customers"}),
    ("upstream", "limit", {"dataset": "silver/customers"}), ("upstream", "mode", {"dataset": "silver/customers"}),
    ("upstream", "asOf", {"dataset": "silver/customers"}), ("upstream", "knownAt", {"dataset": "silver/customers"}),
    ("upstream", "seenSince", {"dataset": "silver/customers"}), ("upstream", "view", {"dataset": "silver/customers"}),
    ("upstream", "roots", {"dataset": "silver/customers"}), ("path", "fromDataset", {"toDataset": "gold/mailing"}),
    ("edge", "toColumn", {"fromDataset": "silver/customers", "toDataset": "gold/mailing"}), ("surface", "tag", {}),
    ("surface", "since", {}), ("unused", "dataset", {}), ("diff", "from", {}), ("coverage", "asOf", {}),
    ("facets", "name", {"entity": "run"}), ("facets", "entity", {"name": "sql"}), ("names", "name", {}),
    ("names", "namespace", {"name": "x"}), ("names", "at", {"name": "x"}), ("rules", "x", {}),
]  # fmt: skip


@pytest.mark.parametrize(("question", "parameter", "others"), PLACES)
def test_no_value_breaks_a_question(shop: Asker, question: str, parameter: str, others: dict[str, str]) -> None:
    for value in HOSTILE:
        answer = shop.get(question, **others, **{parameter: value})
        assert answer.status_code in (200, 400, 404), (value[:50], answer.text)
        if answer.status_code != 200:
            assert {"error", "field", "fix"} <= set(answer.json())
            assert len(answer.text) < 2_000


@pytest.mark.parametrize("value", [*HOSTILE[:-2], "a/../b"])
def test_no_run_id_or_parameter_name_breaks_a_question(shop: Asker, value: str) -> None:
    for path in (f"runs/{quote(value, safe='')}/lineage", f"impact?dataset=x&{quote(value, safe='')}=1"):
        assert shop.client.get(f"{API}/{path}").status_code in (400, 404)


@pytest.mark.parametrize(
    "raw", ["%", "%ff%fe", "%ed%a0%80", "%u0041", "a&a&a", "x=1;y=2", "&&&=", "dataset=a&dataset=b"]
)
def test_a_query_that_is_no_text_is_refused(shop: Asker, raw: str) -> None:
    for question in ("impact", "unused", "surface", "diff", "names"):
        joined = raw if "=" in raw else f"dataset={raw}"
        assert shop.client.get(f"{API}/{question}?{joined}").status_code in (200, 400, 404)


def test_a_value_of_100_kb_is_too_large_for_a_url(shop: Asker) -> None:
    connection = http.client.HTTPConnection(shop.client.base_url.host, shop.client.base_url.port)
    connection.request("GET", f"{API}/impact?dataset={'x' * 100_000}")
    assert connection.getresponse().status == 431
    connection.close()


def test_a_table_of_10_000_columns(shop: Asker) -> None:
    names = [f"c{number}" for number in range(MANY)]
    fields = {name: [source(WIDE, name, CLEAR)] for name in names}
    wide = made(
        ("s3://wide", "target"), fields, source(WIDE, "c0", {**CLEAR, "type": "INDIRECT"}), columns=" ".join(names)
    )
    shop.post(run(20, 500, wide, job="wide"))
    answer = shop.ask("impact", namespace="s3://wide", dataset="source", mode="any", limit=str(MANY))
    assert (len(answer["columns"]), answer["truncated"]) == (MANY, False)
    assert shop.ask("impact", namespace="s3://wide", dataset="source", limit=str(MANY - 1))["truncated"]
    assert shop.refused("impact", 404, namespace="s3://wide", dataset="target", column="c_9999x")["nearest"]
    assert shop.ask("unused", namespace="s3://wide", dataset="target", limit="10000")["verdicts"]["unknown"] == MANY
    assert len(shop.ask("surface", namespace="s3://wide", dataset="source", column="c7")["items"]) == 1


def test_unused_names_readers_once_for_a_dataset_and_those_without_column_lineage_in_the_reason(shop: Asker) -> None:
    """The test counts the names of readers, because the answer must not grow with columns x readers."""
    source_name, names = ("s3://much", "source"), [f"c{number}" for number in range(12)]
    shop.post(run(21, 510, dataset(source_name, schema=schema(names)), job="much_written"))
    for number in range(9):
        out = dataset(("s3://much", f"out{number}"), schema=schema(["x"]))
        shop.post(run(22 + number, 511 + number, out, reads=[dataset(source_name)], job=f"reader_{number}"))
    answer = shop.ask("unused", namespace="s3://much", dataset="source")
    jobs = [{"namespace": "jobs", "name": f"reader_{number}"} for number in range(9)]
    assert answer["readers"] == [
        {
            "namespace": "s3://much",
            "dataset": "source",
            "display_name": "much/source",
            "jobs": jobs,
            "without_column_lineage": jobs,
            "shown_by": [],
            "not_completed": [],
            "unread": [],
        }
    ]
    reason = "a reader reports no column lineage"
    assert [(each["reason"], each["readers"]) for each in answer["items"]] == [
        (f"{reason}: reader_0, reader_1, reader_2 and 6 more", 0)
    ] * len(names)
    assert answer["reasons"] == [{"verdict": "unknown", "reason": reason, "count": len(names)}]
    assert json.dumps(answer).count("reader_") == 2 * len(jobs) + 3 * len(names), (
        "the readers are repeated for each column"
    )


def test_a_reader_that_leaves_columns_out_is_named_with_them_in_the_reason(shop: Asker) -> None:
    source_name, wide, bare = (("s3://left-out", name) for name in ("source", "wide", "bare"))
    lineage = {"x": [source(source_name, "x", CLEAR)]}
    reads = [dataset(source_name, schema=schema(["x", "y"]))]
    shop.post(run(41, 530, made(wide, lineage, columns="x At b c d"), job="wide", reads=reads))
    asked = {"namespace": source_name[0], "dataset": source_name[1]}
    reason = "a reader does not say what feeds all its columns"

    def reasons() -> dict[str, str]:
        return {each["column"]: each["reason"] for each in shop.ask("unused", **asked)["items"]}

    assert reasons()["y"] == f"{reason}: wide (At, b, c and 1 more)"
    (upstream,) = shop.ask("upstream", namespace=wide[0], dataset="wide", column="At")["stops"]
    named = {"namespace": source_name[0], "dataset": "source", "display_name": "left-out/source"}
    assert upstream["onward"] == [named]
    assert shop.ask("upstream", namespace=wide[0], dataset="wide", column="x")["stops"] == []
    shop.post(run(42, 531, made(bare, lineage, columns=""), job="bare", reads=reads))
    assert reasons()["y"] == f"{reason}: bare, wide (all of bare, At, b and 2 more)"
    (found,) = shop.ask("surface", **asked, column="y", exposure="unknown", limit="1")["items"]
    assert (found["how"], found["via"]["job"]["name"]) == ("its job does not report what feeds this column", "bare")


def test_a_job_known_by_its_artifact_goes_by_its_newest_name(shop: Asker) -> None:
    artifact = {"spark_properties": facet(properties={"spark.trident.artifact.id": GUID})}
    there, step = ("s3://fabric", "out"), {"x": [source(("s3://fabric", "in"), "x", CLEAR)]}
    for second, job in ((700, f"old_{GUID}.write"), (710, f"new_{GUID.replace('-', '_')}.write")):
        shop.post(run(second, second, made(there, step), job=job, run_facets=artifact))
    for asked in ({}, {"asOf": at(705)}):
        (found,) = shop.ask("impact", dataset="s3://fabric/in", **asked)["columns"]
        assert found["via"]["job"] == {"namespace": "jobs", "name": "old.write" if asked else "new.write"}
    (item,) = shop.ask("edge", fromDataset="s3://fabric/in", toDataset="s3://fabric/out")["items"]
    assert (item["job"]["name"], item["runs"]) == ("new.write", 2)


def test_other_methods_and_routes(shop: Asker) -> None:
    assert shop.client.post(f"{API}/impact").status_code == 405
    assert shop.client.get(f"{API}/impacts").status_code == 404
    assert shop.client.head(f"{API}/coverage").status_code == 200


def test_masked_code_is_not_masked_data(shop: Asker) -> None:
    shop.post(*ONCE_CLEAR)
    asked = {"dataset": "lives/raw", "column": "email"}
    (masked,) = shop.ask("surface", **asked)["items"]
    assert (masked["exposure"], masked["exposed_until"]) == ("masked", at(0))
    once = shop.ask("surface", **asked, exposure="once_exposed")
    assert once["items"] == shop.ask("surface", **asked, exposure="masked")["items"] == [masked]
    assert once["exposures"] == {"exposed": 0, "unknown": 0, "masked": 1, "once_exposed": 1, "tagged": 0}
    assert shop.ask("surface", **asked, exposure="exposed")["items"] == []
    assert "once_exposed" in shop.refused("surface", 400, exposure="never")["error"]
    tags = facet(tags=[{"key": "once", "value": "true"}])
    shop.post(dataset_event(at(20), dataset((LAKE, "lives/masked"), tags=tags)), ONCE_CLEAR[-1])
    shop.wait_for("surface", tag="once")
    own = shop.ask("surface", tag="once", exposure="tagged")
    (item,) = own["items"]
    assert (item["exposure"], item["exposed_until"], item["how"]["masking"]) == ("masked", at(0), True)
    assert (item["source"]["dataset"], item["via"]["column"]) == ("lives/masked", "email")
    assert own["exposures"] == {"exposed": 0, "unknown": 0, "masked": 1, "once_exposed": 1, "tagged": 1}
    steps = shop.ask("timeline", dataset="lives/masked")["items"]
    assert [(each["change"], each["from"]["column"], each["masked"], each["time"]) for each in steps] == [
        ("changed", "email", True, at(10)),
        ("appeared", "email", False, at(0)),
    ]
    of = {"dataset": "lives/masked"}
    told = mcp_answers.summarize_dataset(
        *(shop.ask(question, **of) for question in ("upstream", "impact", "unused", "timeline"))
    )
    assert f"{at(10)} changed {LAKE}/lives/raw#email -> email is now masked by job mask" in told.changes


def test_readers_outlive_re_creation_and_answers_say_so(shop: Asker) -> None:
    shop.post(*REMADE)
    (report,) = shop.ask("impact", dataset="lives/table", column="x")["columns"]
    assert (report["dataset"], report["read_before_recreation"]) == ("lives/report", True)
    (column,) = shop.ask("unused", dataset="lives/table")["items"]
    assert (column["verdict"], column["read_before_recreation"]) == ("used", True)
    assert column["read_by"] == [{"namespace": "jobs", "name": "report"}]


def test_what_is_only_shown_is_a_caveat_or_with_strict_unknown(shop: Asker) -> None:
    shop.post(SHOWN)
    loose, strict = (shop.ask("unused", dataset="lives/raw", strict=strict) for strict in ("false", "true"))
    assert (loose["verdicts"], strict["verdicts"]) == (
        {"used": 1, "unused": 1, "unknown": 0}, {"used": 1, "unused": 0, "unknown": 1},
    )  # fmt: skip
    for answer in (loose, strict):
        notes = next(item for item in answer["items"] if item["column"] == "notes")
        showing = [{"job": {"namespace": "jobs", "name": "notebook"}, "time": at(50)}]
        assert answer["readers"][notes["readers"]]["shown_by"] == showing
        assert notes["shown_by"] == showing, "deprecated, but still answered"
        reason = notes["reason"].partition(": ")[0]  # an `unknown` reason continues with the readers
        assert {"verdict": notes["verdict"], "reason": reason, "count": 1} in answer["reasons"]
        assert any("notebook" in caveat for caveat in notes["caveats"]) == (answer is loose)
    assert "strict" in shop.refused("unused", 400, strict="perhaps")["error"]


def test_eight_askers_while_events_come_in(shop: Asker) -> None:
    """Every answer shows one state of the data: it may lack the end of a chain, but has no gaps."""
    chain = [
        run(100 + number, 600 + number, made(
            (LAKE, f"chain/{number + 1}"), {"x": [source((LAKE, f"chain/{number}"), "x", CLEAR)]}, columns="x",
        ), job=f"chain{number}")
        for number in range(20)
    ]  # fmt: skip
    shop.post(chain[0])
    done, wrong = threading.Event(), []

    def ask(question: str, **asked: str) -> None:
        with httpx.Client(base_url=shop.client.base_url, timeout=60) as client:
            while not done.is_set():
                answer = client.get(f"{API}/{question}", params=asked)
                if answer.status_code != 200 or not _is_whole(answer.json()):
                    wrong.append(answer.text)

    questions: list[tuple[str, dict[str, str]]] = [
        ("impact", {"dataset": "chain/0", "limit": "1000"}), ("impact", {"dataset": "chain/0", "view": "all"}),
        ("surface", {}), ("unused", {}), ("coverage", {}), (f"runs/{uuid(100)}/lineage", {}),
        ("upstream", {"dataset": "chain/1", "asOf": at(700)}), ("diff", {"from": at(0)}),
    ]  # fmt: skip
    threads = [threading.Thread(target=ask, args=(name,), kwargs=asked) for name, asked in questions]
    for thread in threads:
        thread.start()
    for event in chain[1:]:
        shop.client.post("/api/v1/lineage", json=event)
    shop.wait_for(f"runs/{uuid(119)}/lineage")
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(shop.ask("impact", dataset="chain/0")["columns"]) == len(chain)


def _is_whole(answer: Any) -> bool:
    """Return whether the distances of a chain have no gaps. Other answers are always complete."""
    distances = [each["distance"] for each in answer.get("columns", [])]
    return distances == list(range(1, len(distances) + 1))
