"""Details of runs apart from lineage, the readers of a dataset, and hidden system tables.

See `docs/reference/questions.md` and `docs/reference/names.md`.
"""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec import UNSET, to_builtins

from headwater.index.reading.run_history import RunHistory
from headwater.lake.event_bodies import StoredBody
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.shown_rules import allowed_link, read_links, read_system
from headwater.lineage.rules.user_rules import UserRules
from headwater.questions.run_details import run_details
from headwater.questions.run_lineage import RunContents, run_lineage
from tests.index.test_reference import indexed
from tests.reference.small_events import CLEAR, made, run, with_schema
from tests.reference.world_events import Json, at, dataset, deliver, event_id, facet, run_event, source, uuid
from tests.support.questions import ask

TARGET, ORIGIN = ("s3a://lake", "/target"), ("s3://lake", "origin")


def details(*events: Json, links: str = "") -> Any:
    bodies = [StoredBody(event_id(event), 10**15, json.dumps(event)) for event in events]
    rules = read_links(links, "links.yaml") if links else ()
    return to_builtins(run_details(uuid(1), bodies, default_rules(), lambda name: name, rules))


def counted(side: str, **counts: int) -> Json:
    named = {"inputFacets": "inputStatistics", "outputFacets": "outputStatistics"}[side]
    return {side: {named: facet(**counts)}}


def test_what_the_events_of_a_run_say_together() -> None:
    spark = facet(applicationId="application_1", userName="etl", uiWebUrl="http://driver:4040",
                  historyUrl="https://history.acme.net/application_1")  # fmt: skip
    airflow = facet(taskInstance={"try_number": 2, "log_url": "https://x.astronomer.run/log?dag_id=a&try=2"})
    start = run_event("START", at(0), uuid(1), run_facets={"spark_applicationDetails": spark, "airflow": airflow},
                      outputs=[dataset(TARGET) | counted("outputFacets", rowCount=1)])  # fmt: skip
    nominal = facet(nominalStartTime=at(0), nominalEndTime=at(60))
    end = run_event("COMPLETE", at(9), uuid(1), run_facets={"nominalTime": nominal,
                    "processing_engine": facet(name="spark", version="3.5.1")},
                    inputs=[dataset(ORIGIN) | counted("inputFacets", size=7, fileCount=2)],
                    outputs=[dataset(TARGET) | counted("outputFacets", rowCount=5, size=9)])  # fmt: skip
    expected = {
        "id": uuid(1), "started_by": "etl", "application": "application_1", "attempt": 2,
        "nominal_start": at(0), "nominal_end": at(60), "engine": "spark 3.5.1",
        "links": [
            {"title": "Airflow log", "text": "https://x.astronomer.run/log?dag_id=a&try=2",
             "href": "https://x.astronomer.run/log?dag_id=a&try=2"},
            {"title": "Spark history", "text": "https://history.acme.net/application_1", "href": None},
            {"title": "Spark UI", "text": "http://driver:4040", "href": None},
        ],
        "statistics": [
            {"namespace": "s3://lake", "dataset": "origin", "side": "read", "rows": None, "bytes": 7, "files": 2},
            {"namespace": "s3://lake", "dataset": "target", "side": "written", "rows": 5, "bytes": 9, "files": None},
        ],
        "task": None,
    }  # fmt: skip
    for events in ((start, end), (end, start), (end, start, end)):
        assert details(*events) == expected
    allowed = details(start, links="version: 1\nlinks: [{host: '*.acme.net'}, {host: '*.astronomer.run', link: false}]")
    assert [each["href"] is not None for each in allowed["links"]] == [False, True, False]


@pytest.mark.parametrize(
    "facets",
    [
        {"airflow": facet(taskInstance="no object"), "nominalTime": facet(nominalStartTime=3)},
        {"spark_applicationDetails": facet(userName=["x"], applicationId=None)},
        {"airflow": facet(taskInstance={"try_number": -1, "log_url": {"log_url": 1}})},
        {"airflow": facet(taskInstance={"try_number": True})},
    ],
)
def test_odd_facets_say_nothing(facets: Json) -> None:
    found = details(run_event("COMPLETE", at(0), uuid(1), run_facets=facets,
                              outputs=[dataset(TARGET) | counted("outputFacets", rowCount=-4, size=True)]))  # fmt: skip
    (told,) = found["statistics"]
    assert (told["rows"], told["bytes"], told["files"]) == (None, None, None)
    assert {found[word] for word in ("started_by", "application", "attempt", "nominal_start", "engine")} == {None}


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)", "JavaScript:alert(1)", "http://adb-1.azuredatabricks.net/", "data:text/html,x",
        "https://evil.example/", "https://azuredatabricks.net.evil.example/", "https://a@x.azuredatabricks.net/",
        "https://x.azuredatabricks.net\\@evil.example/", "https://x.azuredatabricks.net/\u202e",
        "//x.azuredatabricks.net",
        "https://x.azuredatabricks.net/a b", "https://x.azuredatabricks.net:port/", "https://", "", " https://x.dbt.com",
        "https://x.dbt.com/\n", "https://x.dbt.com/" + "a" * 2_000, "https://[x.dbt.com/", "https://\u0445.dbt.com/",
    ],
)  # fmt: skip
def test_what_is_no_link(address: str) -> None:
    assert allowed_link((), address) is None


def test_what_is_a_link() -> None:
    assert allowed_link((), "HTTPS://ADB-1.azuredatabricks.net/jobs/1?o=2#x") is not None
    mine = read_links("version: 1\nlinks: [{host: Airflow.Acme.Net}]", "links.yaml")
    assert allowed_link(mine, "https://airflow.acme.net:8443/log") is not None
    assert allowed_link((), "https://airflow.acme.net:8443/log") is None


@pytest.mark.parametrize(
    ("namespace", "name", "system"),
    [
        ("postgres://db", "shop.information_schema.tables", True),
        ("postgres://db", "shop.pg_catalog.pg_class", True),
        ("mssql://db", "sales.sys.objects", True),
        ("oracle://db", "ORCL.SYS.DUAL", True),
        ("oracle://db", "DUAL", True),
        ("snowflake://org-acct", "SHOP.INFORMATION_SCHEMA.COLUMNS", True),
        ("mysql://db", "information_schema.tables", True),
        ("unitycatalog://w", "system.access.audit", True),
        ("bigquery", "p.d._bqc_0f3a5d7c9b1e4f6a8c2d4e6f8a0b1c2d", True),
        ("bigquery", "p.d._sbc_0f3a5d7c9b1e4f6a8c2d4e6f8a0b1c2d", True),
        ("bigquery", "p._0f3a5d7c9b1e4f6a8c2d4e6f8a0b1c2d3e4f5a6b.anon1234", True),
        ("bigquery", "p.d.bqc_orders", False),
        ("bigquery", "p._0a1b2c3d4e5f.anon0a1b2c3d", True),
        ("gs://staging", ".spark-bigquery-local-1700000000000-0f8a15c6/part-00000.avro", True),
        ("gs://staging", "tmp/.spark-bigquery-application_1_1-0f8a15c6", True),
        ("bigquery", "p.sales.anonymous", False),
        ("s3://lake", "sys/objects", False),
        ("postgres://db", "shop.sys.orders", False),
        ("postgres://db", "shop.public.information_schema", False),
        ("s3://lake", "individual", False),
    ],
)
def test_system_tables_by_the_shipped_rules(namespace: str, name: str, system: bool) -> None:
    assert UserRules().is_system(Name(namespace, name)) is system


def test_a_users_rule_comes_before_the_shipped_ones() -> None:
    text = (
        "version: 1\nsystem: [{dataset: '*.pg_catalog.mine', system: false}, {namespace: 's3://lake', dataset: tmp/*}]"
    )
    rules = UserRules(system=read_system(text, "system.yaml"))
    assert not rules.is_system(Name("postgres://db", "shop.pg_catalog.mine"))
    assert rules.is_system(Name("postgres://db", "shop.pg_catalog.other"))
    assert rules.is_system(Name("s3://lake", "tmp/x"))


CATALOG, TABLE, COPY = (
    ("postgres://db", "shop.information_schema.columns"),
    ("s3://lake", "table"),
    ("oracle://db", "o.sys.x"),
)
SYSTEM_EVENTS = [
    run(1, 0, made(TABLE, {"x": [source(CATALOG, "x", CLEAR)], "y": [source(("s3://lake", "own"), "y", CLEAR)]},
                   columns="x y"), job="load"),
    run(2, 10, made(COPY, {"y": [source(TABLE, "y", CLEAR)]}, columns="y"), job="copy"),
]  # fmt: skip


def test_system_tables_are_left_out_and_counted_but_never_of_a_verdict() -> None:
    with indexed(deliver(SYSTEM_EVENTS), Random(1)) as views:
        for question, asked, left_out in (
            ("graph", {"groups": "none"}, 2), ("around", {"dataset": "table"}, 2), ("coverage", {}, 2),
            ("unused", {}, 2), ("datasets", {}, 2), ("datasets", {"namespace": CATALOG[0], "limit": "1"}, 1),
        ):  # fmt: skip
            hidden, every = ask(views, question, asked), ask(views, question, {**asked, "system": "true"})
            assert (hidden["hidden"], every["hidden"]) == (left_out, 0), question
            named = json.dumps(hidden, ensure_ascii=False)
            assert "information_schema" not in named, question
            assert ".SYS." not in named, question
            assert "information_schema" in json.dumps(every) or question == "unused"
        reached = ask(views, "impact", {"dataset": "table", "column": "y"})
        assert [each["dataset"] for each in reached["columns"]] == ["o.sys.x".upper()]
        verdicts = {each["column"]: each["verdict"] for each in ask(views, "unused", {})["items"]}
        assert verdicts == {"x": "unused", "y": "used"}, "a hidden dataset is still a reader"
        own = ask(views, "around", {"dataset": "shop.information_schema.columns"})
        assert [table["dataset"] for table in own["tables"]] == ["shop.information_schema.columns", "table"]


def test_who_reads_a_dataset_by_day_and_week() -> None:
    user = {"spark_applicationDetails": facet(userName="ann")}
    day = 86_400
    events = [
        run(1, 0, made(TABLE, {"x": [source(ORIGIN, "x", CLEAR)]}, columns="x"), job="load"),
        run(2, 60, reads=[dataset(TABLE)], job="look", run_facets=user),
        run(3, day, reads=[dataset(TABLE)], job="look"),
        run(4, 2 * day, made(TARGET, {"x": [source(TABLE, "x", CLEAR)]}), reads=[dataset(TABLE)], job="copy"),
        {**run(5, 2 * day + 9, reads=[dataset(TABLE)], job="copy"), "eventType": "FAIL"},
        run(6, 9 * day, reads=[dataset(TABLE)], job="late"),
    ]  # fmt: skip
    with indexed(deliver(events), Random(1)) as views:
        found = ask(views, "readers", {"dataset": "table", "since": at(0), "to": at(8 * day)})
        assert found["days"] == [
            {"day": "2026-03-01", "runs": 1}, {"day": "2026-03-02", "runs": 1}, {"day": "2026-03-03", "runs": 2},
        ]  # fmt: skip
        assert found["weeks"] == [{"day": "2026-02-23", "runs": 1}, {"day": "2026-03-02", "runs": 3}]
        assert [(each["job"]["name"], each["runs"], each["users"], each["last_read"]) for each in found["items"]] == [
            ("copy", 2, [], at(2 * day + 9)), ("look", 2, ["ann"], at(day)),
        ]  # fmt: skip
        assert (found["runs"], found["totalCount"], found["truncated"]) == (4, 2, False)
        assert ask(views, "readers", {"dataset": "table", "since": at(0), "limit": "1"})["truncated"]


def test_rules_files_are_read(tmp_path: Path) -> None:
    from headwater.index.rules_files import RulesFiles

    (tmp_path / "system.yaml").write_text("version: 1\nsystem: [{dataset: 'tmp/*', sytem: true}]")
    (tmp_path / "links.yaml").write_text("version: 1\nlinks: [{host: a.b}]")
    files = RulesFiles(tmp_path)
    assert allowed_link(files.current_rules().links, "https://a.b/") == "https://a.b/"
    assert "sytem" in files.problems[0]


@pytest.mark.parametrize(("count", "shown"), [(20, 20), (21, 1)])
def test_many_files_of_one_folder_extension_and_schema_are_one_entry_with_their_count(count: int, shown: int) -> None:
    files = [with_schema(("s3://lake", f"raw/country{number:02}_list.csv"), "id") for number in range(count)]
    others = [with_schema(("s3://lake", "raw/zones.csv"), "id zone"), dataset(("s3://lake", "raw/readme.md"))]
    loaded = run(1, 0, *files, job="export")
    event = run(2, 10, made(("s3://lake", "out"), {"x": [source(ORIGIN, "x", CLEAR)]}), reads=[*files, *others])
    with indexed(deliver([loaded, event]), Random(1)) as views:
        found = views.query_current_index(
            lambda live, _: run_lineage(
                RunHistory(live), RunHistory(live).find_run_key(uuid(2)), RunContents({}, {}, [], []), []
            )
        )
        wrote = views.query_current_index(
            lambda live, _: run_lineage(
                RunHistory(live), RunHistory(live).find_run_key(uuid(1)), RunContents({}, {}, [], []), []
            )
        )
    reads = [(each.dataset, each.files) for each in found.reads if each.dataset.startswith("raw/")]
    assert len(reads) == shown + 2
    assert (("raw/*.csv", 21) in reads) == (shown == 1)
    assert {("raw/zones.csv", UNSET), ("raw/readme.md", UNSET)} <= {*reads}
    (written, *more) = wrote.writes
    assert (len(more) + 1, [each.id for each in written.read_by]) == (shown, [uuid(2)])
    assert all(each.written_by is None or each.written_by.id == uuid(1) for each in found.reads)


def test_counts_of_a_topic_of_an_unknown_broker_are_those_of_the_topic_of_the_job_namespace() -> None:
    topic = dataset(("kafka://null:-1", "orders")) | counted("outputFacets", rowCount=3)
    found = details(run_event("COMPLETE", at(0), uuid(1), ("prod", "load"), outputs=[topic]))
    assert [(each["namespace"], each["rows"]) for each in found["statistics"]] == [("kafka://null:-1/prod", 3)]
