"""Search over HTTP against a running `headwater up`: all kinds of results, ranking, typing errors and invalid input."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reference.small_events import CLEAR, made, run
from tests.reference.world_events import dataset, facet, schema, source
from tests.support.commands import commanded
from tests.support.data.shop import ALIAS, DROPPED, EVENTS, LAKE, Asker, up

pytestmark = pytest.mark.slow  # starts Headwater

WORKS = ("s3://lake", "works/dimCustomerAddress")
CRM, DAILY = ("postgres://db", "shop.crm.subscribers"), ("s3://lake", "works/deliveries_daily")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("search") / "data"


@pytest.fixture(scope="module")
def shop(folder: Path) -> Iterator[Asker]:
    with up(folder) as running, Asker(running.url) as asker:
        asker.post(*EVENTS)
        wide = made(WORKS, {"street": [source(("s3://lake", "raw/streets"), "street", CLEAR)]}, columns="street city")
        asker.post(run(20, 110, wide, job="load_addresses"))
        crm = made(CRM, {"subscriber_phone": [source(DAILY, "recipient_phone", CLEAR)]}, columns="subscriber_phone")
        asker.post(run(22, 115, crm, job="load_subscribers"))
        yield asker


def found(shop: Asker, text: str, **more: str) -> list[str]:
    return [_shown(item) for item in shop.ask("search", q=text, **more)["items"]]


def _shown(item: Any) -> str:
    parts = [item["kind"], item["name"], item["column"], item["tag"], item["means"] and item["means"]["dataset"]]
    return " ".join(part for part in parts if part)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("to_gold", "job to_gold"),
        ("gold/mail", "dataset gold/mailing"),
        ("mailing", "dataset gold/mailing"),
        ("s3://lake/other/mailing", "dataset other/mailing"),
        ("Silver Cust", "dataset silver/customers"),
        ("EMAIL_KEY", "column silver/customers email_key"),
        ("silver email", "column silver/customers email"),
        ("shop.customers", "alias shop.customers silver/customers"),
        ("pii", "tag landing/customers email PII"),
        ("du", "dataset export/dump"),
        ("address", "dataset works/dimCustomerAddress"),
        ("custmer", "dataset silver/customers"),
        ("custmoers", "dataset silver/customers"),
        ("mialing", "dataset gold/mailing"),
        ("loaddresses", "job load_addresses"),
        ("<script>", 'dataset it\'s "odd"/<script>alert(1)</script>/\u202e\U0001f600/%2F\nline'),
    ],
)
def test_what_is_meant_comes_first_or_among_the_first(shop: Asker, text: str, first: str) -> None:
    assert first in found(shop, text)[:3]


def test_a_better_match_comes_before_more_use_and_more_use_before_newer(shop: Asker) -> None:
    answer = shop.ask("search", q="customers", kinds="dataset")["items"]
    assert [(item["name"], item["match"], item["uses"]) for item in answer] == [
        ("bronze/customers", "exact", 3),
        ("silver/customers", "exact", 3),
        ("landing/customers", "exact", 1),
        ("works/dimCustomerAddress", "similar", 1),
    ]
    whole = shop.ask("search", q="email", kinds="column")["items"]
    assert [item["match"] for item in whole] == ["exact"] * 3 + ["prefix"]


def test_kinds_limit_and_count(shop: Asker) -> None:
    everything = shop.ask("search", q="customers", limit="60")
    assert {item["kind"] for item in everything["items"]} == {"dataset", "alias"}
    assert (everything["totalCount"], everything["truncated"]) == (5, False)
    some = shop.ask("search", q="customers", kinds="alias, dataset", limit="1")
    assert (len(some["items"]), some["totalCount"], some["truncated"]) == (1, 5, True)
    assert found(shop, "customers", kinds="alias") == [f"alias {ALIAS[1]} silver/customers"]
    assert found(shop, "no such thing", kinds="job") == []


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "q= is missing"),
        ({"q": "  "}, "q= is missing"),
        ({"q": "x" * 201}, "Search for 200 at most"),
        ({"q": "a", "limit": "0"}, "not between 1 and 60"),
        ({"q": "a", "limit": "many"}, "is not a whole number"),
        ({"q": "a", "kinds": "table"}, "Write some of job,dataset"),
        ({"q": "a", "query": "a"}, "does not take the parameter"),
    ],
)
def test_what_is_out_of_form_is_refused_with_the_form(shop: Asker, asked: dict[str, str], said: str) -> None:
    assert said in shop.refused("search", 400, **asked)["error"]


@pytest.mark.parametrize(
    "text", ['"', "'", "*", "own:a", "a AND", "NEAR(", "%", "\x00", "\n", "\u202e", "^", "(((", "-"]
)
def test_no_text_breaks_a_search(shop: Asker, text: str) -> None:
    assert shop.get("search", q=text).status_code in (200, 400)


def test_a_deep_column_is_found_by_the_last_8_parts_and_by_all(shop: Asker) -> None:
    levels = [f"deep{number}" for number in range(12)]
    field: dict[str, Any] = {"name": levels[-1], "type": "string"}
    for level in reversed(levels[:-1]):
        field = {"name": level, "type": "struct", "fields": [field]}
    output = dataset(("s3://lake", "works/deep"), schema=facet(fields=[field]))
    shop.post(run(23, 116, output, job="load_deep"))
    whole = "column works/deep " + ".".join(levels)
    assert found(shop, "deep11")[0] == whole
    assert found(shop, "deep4 deep11") == [whole]
    assert found(shop, ".".join(levels)) == [whole]
    output = dataset(
        ("s3://lake", "works/deep"),
        schema=schema(["flat"]),
        lifecycleStateChange=facet(lifecycleStateChange="OVERWRITE"),
    )
    shop.post(run(24, 117, output, job="load_deep"))
    assert found(shop, "deep4 deep11") == []


def test_columns_that_went_and_datasets_that_were_dropped_are_not_found(shop: Asker) -> None:
    """This test must be among the last, because it changes the data."""
    rewritten = facet(lifecycleStateChange="OVERWRITE")
    output = dataset(WORKS, schema=schema(["street", "postcode"]), lifecycleStateChange=rewritten)
    shop.post(run(21, 120, output, job="load_addresses"))
    assert found(shop, "postcode") == [f"column {WORKS[1]} postcode"]
    assert found(shop, "city") == []
    shop.post(DROPPED)
    assert found(shop, "gold/mailing") == ["dataset other/mailing"]


def test_the_command_line_finds_the_same(shop: Asker, folder: Path) -> None:
    answer = commanded("search", "silver", "email", "--data", folder)
    assert answer.returncode == 0, answer.stderr
    assert LAKE in answer.stdout
    assert "email_key" in answer.stdout


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("silver/custmers", "s3://lake/silver/customers"),
        ("lading/customers", "s3://lake/landing/customers"),
        ("works/deliveries_dialy", "s3://lake/works/deliveries_daily"),
        ("deliveriesdaily", "s3://lake/works/deliveries_daily"),
        ("deliveries_d_aily", "s3://lake/works/deliveries_daily"),
        ("s3://lake/works/deliverys_daily", "s3://lake/works/deliveries_daily"),
        ("crm.subscirbers", "postgres://db/shop.crm.subscribers"),
        ("crm/subscribres", "postgres://db/shop.crm.subscribers"),
        ("shop.crmsubscribers", "postgres://db/shop.crm.subscribers"),
        ("shop.custmers", "hive://meta/shop.customers"),
    ],
)
def test_search_and_impact_find_the_same_name_for_a_slip(shop: Asker, text: str, name: str) -> None:
    items = shop.ask("search", q=text, kinds="dataset,alias")["items"]
    assert name in [f"{item['namespace']}/{item['name']}" for item in items]
    assert {item["match"] for item in items} == {"similar"}
    assert shop.refused("impact", 404, dataset=text)["nearest"][0] == name


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("emial_key", "email_key"),
        ("emailkey", "email_key"),
        ("subscriber_phnoe", "subscriber_phone"),
        ("subscriber-phone", "subscriber_phone"),
        ("subs_criber_phone", "subscriber_phone"),
        ("crm.subscribers.subscribr_phone", "subscriber_phone"),
    ],
)
def test_a_slip_in_a_column_of_several_words_is_found(shop: Asker, text: str, column: str) -> None:
    assert shop.ask("search", q=text, kinds="column")["items"][0]["column"] == column


def test_a_graph_names_the_group_nearest_to_one_with_a_slip(shop: Asker) -> None:
    for text, group in (
        ("group:s3://lake/wroks", "group:s3://lake/works"),
        ("group:shop.cmr", "group:postgres://db/shop.crm"),
    ):
        assert shop.refused("graph", 404, expand=text)["nearest"][0] == group
