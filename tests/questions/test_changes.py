"""Changes between two times, apart from lineage, asked of a running Headwater."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.reference.small_events import changed, run
from tests.reference.world_events import Json, at, dataset, dataset_event, facet, uuid
from tests.support.data.shop import Asker, up
from tests.support.waiting import rest

pytestmark = pytest.mark.slow

LAKE = "s3://lake"
ORDERS, OLD, NEW = (LAKE, "orders"), (LAKE, "old"), (LAKE, "new")
LOAD, OTHER = {"namespace": "jobs", "name": "load"}, {"namespace": "jobs", "name": "other"}


def fields(**types: str) -> Json:
    return facet(fields=[{"name": name, "type": kind} for name, kind in types.items()])


def owned(*names: str) -> Json:
    return facet(owners=[{"name": name, "type": "TEAM"} for name in names])


def load(number: int, second: float, version: str, sql: str, output: Json, **more: Any) -> Json:
    code = facet(type="git", url="https://git.example/load", version=version)
    return run(
        number, second, output, job="load", job_facets={"sql": facet(query=sql), "sourceCodeLocation": code}, **more
    )


REPLACED = facet(lifecycleStateChange="OVERWRITE")
FIRST = fields(id="INT", email="STRING", place="STRUCT")
SECOND = fields(id="BIGINT", mail="STRING", place="STRUCT")
SECOND["fields"][2]["fields"] = [{"name": "city", "type": "STRING"}]
EVENTS = [
    load(1, 0, "aaa111", "SELECT 1", dataset(ORDERS, schema=FIRST, ownership=owned("a", "b"))),
    run(2, 10, dataset(OLD, schema=fields(x="INT")), job="other"),
    load(3, 100, "bbb222", "SELECT 2", dataset(
        ORDERS, schema=SECOND, ownership=owned("b", "c"), lifecycleStateChange=REPLACED,
        tags=facet(tags=[{"key": "pii", "value": "true", "field": "mail"}]),
    )),
    load(4, 110, "bbb222", "SELECT 2", dataset(ORDERS), kind="FAIL"),
    run(5, 120, dataset(NEW, schema=fields(x="INT")), job="brand_new"),
    run(6, 130, changed(OLD, "DROP"), job="other"),
]  # fmt: skip
BROUGHT_BY_3 = [
    ("changed", "code", "load", None, "aaa111", "bbb222"),
    ("added", "column", "orders", "mail", None, "STRING"),
    ("added", "column", "orders", "place.city", None, "STRING"),
    ("changed", "column", "orders", "id", "INT", "BIGINT"),
    ("removed", "column", "orders", "email", "STRING", None),
    ("added", "owner", "orders", None, None, "c (TEAM)"),
    ("removed", "owner", "orders", None, "a (TEAM)", None),
    ("changed", "sql", "load", None, "SELECT 1", "SELECT 2"),
    ("added", "tag", "orders", "mail", None, "pii=true"),
]


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    with up(tmp_path_factory.mktemp("changes") / "data") as running, Asker(running.url) as asker:
        asker.post(*EVENTS)
        yield asker


def told(answer: Any, run_id: str | None = None) -> list[tuple[Any, ...]]:
    members = ("change", "thing", "name", "column", "before", "after")
    return sorted(
        (tuple(each[name] for name in members) for each in answer["items"] if run_id in (None, each["run"])), key=str
    )


def test_columns_types_owners_tags_sql_and_code_are_listed_with_the_run_that_brought_them(asker: Asker) -> None:
    answer = asker.ask("changes", **{"from": at(50)})
    assert told(answer, uuid(3)) == sorted(BROUGHT_BY_3, key=str)
    assert {each["job"]["name"] for each in answer["items"] if each["run"] == uuid(3)} == {"load"}
    assert {each["time"] for each in answer["items"] if each["run"] == uuid(3)} == {at(100)}


def test_datasets_and_jobs_come_and_go_newest_first(asker: Asker) -> None:
    answer = asker.ask("changes", **{"from": at(105)})
    assert [(each["change"], each["thing"], each["name"], each["run"]) for each in answer["items"]] == [
        ("removed", "dataset", "old", uuid(6)),
        ("added", "dataset", "new", uuid(5)),
        ("added", "job", "brand_new", uuid(5)),
    ]
    assert answer["counts"] == {"dataset": 2, "job": 1}


def test_what_changed_up_to_a_moment_leaves_out_what_came_later(asker: Asker) -> None:
    assert told(asker.ask("changes", **{"from": at(50), "to": at(105)})) == sorted(BROUGHT_BY_3, key=str)
    assert asker.ask("changes", **{"from": at(50), "to": at(99)})["items"] == []
    cut = asker.ask("changes", **{"from": at(50), "limit": "2"})
    assert (len(cut["items"]), cut["totalCount"], cut["truncated"]) == (2, len(BROUGHT_BY_3) + 3, True)
    rest = asker.ask("changes", **{"from": at(50), "cursor": cut["next"]})
    assert sorted(told(cut) + told(rest), key=str) == told(asker.ask("changes", **{"from": at(50)}))
    only = asker.ask("changes", **{"from": at(50), "thing": "column", "change": "removed", "text": "ORDERS"})
    assert (told(only), only["counts"]["owner"]) == ([("removed", "column", "orders", "email", "STRING", None)], 2)


def test_moments_go_by_the_last_green_run_a_deploy_or_a_run(asker: Asker) -> None:
    assert asker.ask("changes", **{"from": "last_green:load"})["from"] == at(100)
    assert asker.ask("changes", **{"from": "last_green:jobs/load"})["from"] == at(100)
    for before in ("deploy", "deploy:bbb", f"run:{uuid(3)}"):
        assert told(asker.ask("changes", **{"from": before, "to": at(105)})) == sorted(BROUGHT_BY_3, key=str)
    assert asker.ask("changes", **{"from": "deploy:aaa111"})["from"] < at(0)
    assert asker.ask("diff", **{"from": "deploy"})["totalCount"] == 0


def test_yesterday_begins_at_midnight(asker: Asker) -> None:
    begin = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT00:00:00.000Z")
    assert asker.ask("changes", **{"from": "yesterday"})["from"] >= begin


@pytest.mark.parametrize(
    ("given", "status", "says"),
    [
        ({"from": "soon"}, 400, "last_green:JOB"),
        ({"from": "last_green:"}, 400, "is not a time"),
        ({"from": "last_green:nobody"}, 404, "No job 'nobody'"),
        ({"from": "last_green:other_failing"}, 404, "No job"),
        ({"from": "deploy:zzz"}, 404, "bbb222"),
        ({"from": "run:nothing"}, 404, "nothing"),
        ({"from": at(100), "to": at(50)}, 400, "Swap the two times"),
    ],
)
def test_a_moment_that_nothing_is_known_of_is_refused_with_what_to_write(
    asker: Asker, given: dict[str, str], status: int, says: str
) -> None:
    assert says in asker.refused("changes", status, **given)["error"] + asker.refused("changes", status, **given)["fix"]


def test_what_goes_back_to_what_it_was_has_not_changed(asker: Asker) -> None:
    table = (LAKE, "back")
    asker.post(
        run(20, 300, dataset(table, schema=fields(a="INT")), job="back"),
        run(21, 310, dataset(table, schema=fields(a="TEXT")), job="back"),
        run(22, 320, dataset(table, schema=fields(a="INT")), job="back"),
    )
    assert asker.ask("changes", **{"from": at(305), "to": at(330)})["items"] == []
    half = asker.ask("changes", **{"from": at(315), "to": at(330)})
    assert told(half) == [("changed", "column", "back", "a", "TEXT", "INT")]
    assert half["items"][0]["run"] == uuid(22)


def test_neither_a_reader_nor_an_append_with_fewer_columns_removes_one(asker: Asker) -> None:
    table, wide, narrow = (LAKE, "narrowed"), fields(a="INT", b="INT"), fields(a="INT")
    asker.post(
        run(23, 900, dataset(table, schema=wide, lifecycleStateChange=REPLACED), job="wide"),
        run(24, 910, reads=[dataset(table, schema=narrow)], job="reader"),
        run(25, 920, dataset(table, schema=narrow, lifecycleStateChange=facet(lifecycleStateChange="CREATE")),
            job="app.execute_save_into_data_source_command.narrowed"),
        run(26, 930, dataset(table, schema=fields(a="INT", c="INT")), job="adds"),
        run(27, 940, dataset(table, schema=narrow, lifecycleStateChange=REPLACED), job="wide"),
    )  # fmt: skip
    assert told(asker.ask("changes", **{"from": at(905), "to": at(925), "thing": "column"})) == []
    added = asker.ask("changes", **{"from": at(905), "to": at(935), "thing": "column"})
    assert told(added) == [("added", "column", "narrowed", "c", None, "INT")]
    assert added["items"][0]["run"] == uuid(26)
    removed = asker.ask("changes", **{"from": at(935), "to": at(945), "thing": "column"})
    assert told(removed) == [("removed", "column", "narrowed", name, "INT", None) for name in ("b", "c")]
    assert {each["run"] for each in removed["items"]} == {uuid(27)}


def test_a_tag_that_is_taken_off_and_what_no_run_said(asker: Asker) -> None:
    on = dataset_event(at(400), dataset((LAKE, "tagged"), tags=facet(tags=[{"key": "gold", "value": "true"}])))
    off = dataset_event(at(410), dataset((LAKE, "tagged"), tags=facet(tags=[])))
    asker.post(on, off, run(30, 420, job="last"))
    answer = asker.ask("changes", **{"from": at(405), "to": at(415)})
    assert told(answer) == [("removed", "tag", "tagged", None, "gold=true", None)]


def test_a_job_that_was_deleted_by_hand_is_gone_until_it_runs_again(asker: Asker) -> None:
    asker.client.delete("/api/v1/namespaces/jobs/jobs/brand_new").raise_for_status()
    while not (items := asker.ask("changes", **{"from": at(500)})["items"]):
        rest()
    assert ("removed", "job", "brand_new") in [(each["change"], each["thing"], each["name"]) for each in items]


def test_a_column_that_no_reader_lists_any_more_is_not_listed_but_not_removed(asker: Asker) -> None:
    """No run writes the dataset. The readers drop the column from their lists one after the other."""
    vendor, wide, narrow = (LAKE, "vendor"), fields(id="INT", mail="STRING"), fields(id="INT")
    lists = [(1_000, "one", wide), (1_010, "two", wide), (1_020, "one", narrow), (1_030, "two", narrow)]
    asker.post(
        *(
            run(40 + at, second, reads=[dataset(vendor, schema=schema)], job=job)
            for at, (second, job, schema) in enumerate(lists)
        )
    )
    until = {"from": at(1_015), "thing": "column"}
    assert told(asker.ask("changes", **until, to=at(1_025))) == []
    found = asker.ask("changes", **until, to=at(1_035))
    assert told(found) == [("not_listed", "column", "vendor", "mail", "STRING", None)]
    assert (found["items"][0]["run"], found["items"][0]["time"]) == (uuid(43), at(1_030))
    assert asker.ask("changes", **until, change="removed", to=at(1_035))["items"] == []
    asker.post(run(50, 1_040, dataset(vendor, schema=narrow), job="writer"))
    while asker.ask("changes", **until)["items"]:
        rest()
