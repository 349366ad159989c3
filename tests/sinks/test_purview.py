"""Purview: names by rules, runs as entities, and a stand-in that stores and checks what it receives."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headwater.cli.sinks import app
from headwater.common.errors import WrongQuestion, WrongSetting
from headwater.lineage.names.canonical_names import default_rules
from headwater.operations.runtime.storage import open_bronze
from headwater.sinks.connecting.secrets import Secrets
from headwater.sinks.control.service import preview_payloads, redrive_failures
from headwater.sinks.interface.options import Sink
from headwater.sinks.interface.sinks_file import parse_sinks
from headwater.sinks.interface.target_registry import open_sink
from headwater.sinks.running.feed import SinkFeed
from headwater.sinks.targets.purview.atlas import type_definitions
from headwater.sinks.targets.purview.names import QualifiedNames
from headwater.sinks.targets.purview.target import qualified_names
from tests.support.data.hostile_names import NAMES, copies
from tests.support.data.made_events import body, dataset_event, job_event, run_event
from tests.support.data.sink_world import SinkWorld, bodies, no_token, sink
from tests.support.paths import EVENTS
from tests.support.servers.atlas import Atlas
from tests.support.servers.atlas_golden import GOLDEN
from tests.support.servers.sink_target import Asked, Said, SinkServer, sink_server

LAKE = "abfss://lake@acme.dfs.core.windows.net"
ADLS = "https://acme.dfs.core.windows.net/lake"
SECRET = {"KEY": "token-1"}


def purview(url: str, **options: Any) -> Sink:
    return sink(type="purview", url=url, key={"env": "KEY"}, **options)


@contextmanager
def account(**options: Any) -> Iterator[tuple[Atlas, SinkServer, Sink]]:
    atlas = Atlas()
    with sink_server() as server:
        server.answer = atlas.answer
        yield atlas, server, purview(server.url, **options)


def table(name: str, namespace: str = LAKE, **facets: Any) -> dict[str, Any]:
    return {"namespace": namespace, "name": name, "facets": facets}


def columns(fields: dict[str, list[tuple[str, str]]], kind: str = "DIRECT", **more: Any) -> dict[str, Any]:
    """Return a columnLineage facet in which each field has sources (dataset of the lake, column)."""
    steps = [{"type": kind, "subtype": "IDENTITY" if kind == "DIRECT" else "FILTER", "masking": False}]
    given = {
        field: {
            "inputFields": [
                {"namespace": LAKE, "name": name, "field": column, "transformations": steps} for name, column in sources
            ]
        }
        for field, sources in fields.items()
    }
    about = {"_producer": "https://example.org", "_schemaURL": "https://openlineage.io/spec/facets/1-2-0/x.json"}
    return {"columnLineage": {**about, "fields": given, **more}}


def lineages(atlas: Atlas) -> list[tuple[list[str], list[str], dict[str, Any]]]:
    """Return inputs, outputs and attributes of each process that has any, ordered by its name in Purview."""
    return [
        (_names(each["inputs"]), _names(each["outputs"]), each)
        for name, each in sorted(atlas.of("openlineage_process").items())
        if "/processes/" in name
    ]


def _names(references: list[dict[str, Any]]) -> list[str]:
    return [each["uniqueAttributes"]["qualifiedName"] for each in references]


def jobs(atlas: Atlas) -> dict[str, str]:
    return {
        name: each["openlineageState"]
        for name, each in atlas.of("openlineage_process").items()
        if "/processes/" not in name
    }


@pytest.mark.parametrize(
    ("namespace", "name", "kind", "qualified_name"),
    [
        (LAKE, "bronze/orders", "azure_datalake_gen2_path", f"{ADLS}/bronze/orders"),
        ("wasbs://lake@ACME.blob.core.windows.net", "/a/b/", "azure_datalake_gen2_path", f"{ADLS}/a/b"),
        (LAKE, "/orders/day=1/part-00000-0f8a.c000.parquet", "azure_datalake_gen2_path", f"{ADLS}/orders"),
        (LAKE, "/", "azure_datalake_gen2_filesystem", ADLS),
        (
            "abfss://ws@onelake.dfs.fabric.microsoft.com", "/lh.Lakehouse/Tables/orders", "fabric_lakehouse_table",
            "https://app.fabric.microsoft.com/groups/ws/lakehouses/lh/tables/orders",
        ),
        (
            "abfss://3F2A9C1E-0000-4000-8000-00000000AA01@onelake.dfs.fabric.microsoft.com",
            "/3F2A9C1E-0000-4000-8000-00000000AA02/Tables/orders", "fabric_lakehouse_table",
            "https://app.fabric.microsoft.com/groups/3f2a9c1e-0000-4000-8000-00000000aa01/lakehouses/"
            "3f2a9c1e-0000-4000-8000-00000000aa02/tables/orders",
        ),
        (
            "abfss://ws@onelake.dfs.fabric.microsoft.com", "lh.Lakehouse/Files/raw/a b", "openlineage_dataset",
            "openlineage-dataset://abfss%3A%2F%2Fws%40onelake.dfs.fabric.microsoft.com/lh.Lakehouse/Files/raw/a b",
        ),
        (
            "sqlserver://srv.database.windows.net:1433;database=sales", "dbo.Orders", "azure_sql_table",
            "mssql://srv.database.windows.net/sales/dbo/orders",
        ),
        (
            "mssql://ws.sql.azuresynapse.net", "pool.dbo.t", "azure_synapse_dedicated_sql_table",
            "mssql://ws.sql.azuresynapse.net/pool/dbo/t",
        ),
        (
            "postgres://p.postgres.database.azure.com:5432", "shop.public.t", "azure_postgresql_table",
            "postgresql://p.postgres.database.azure.com/shop/public/t",
        ),
        ("postgres://db:5432", "shop.public.t", "postgresql_table", "postgresql://servers/db:5432/dbs/shop/schemas/public/tables/t"),
        ("postgres://db:6432", "shop.public.t", "postgresql_table", "postgresql://servers/db:6432/dbs/shop/schemas/public/tables/t"),
        ("mysql://m.mysql.database.azure.com:3306", "shop.t", "azure_mysql_table", "mysql://m.mysql.database.azure.com/shop/t"),
        ("azurekusto://help.kusto.windows.net", "db/T", "azure_data_explorer_table", "https://help.kusto.windows.net/db/T"),
        ("hive://adb-1.azuredatabricks.net:9083", "Sales.T", "hive_table", "sales.t@adb-1.azuredatabricks.net"),
        (
            "unitycatalog://Adb-1.azuredatabricks.net:443", "main.sales.orders", "openlineage_dataset",
            "openlineage-dataset://unitycatalog%3A%2F%2Fadb-1.azuredatabricks.net/main.sales.orders",
        ),
        ("dbfs", "/mnt/raw/a", "openlineage_dataset", "openlineage-dataset://dbfs/mnt/raw/a"),
        ("", "", "openlineage_dataset", "openlineage-dataset:///"),
    ],
)  # fmt: skip
def test_a_name_as_sent_has_one_qualified_name(namespace: str, name: str, kind: str, qualified_name: str) -> None:
    found = QualifiedNames((), default_rules()).explain_name(namespace, name)
    assert (found["type"], found["qualified_name"]) == (kind, qualified_name)
    assert found["rule"]
    assert found["why"]


def test_a_sinks_own_rules_come_first_and_what_is_wrong_in_them_has_a_line() -> None:
    own = {
        "id": "unity", "namespace": "unitycatalog://{host}", "name": "{catalog}.{schema}.{table}",
        "type": "databricks_table", "qualified_name": "databricks://{host}/catalogs/{catalog}/{schema:upper}/{table}",
        "shown": "{table}",
    }  # fmt: skip
    names = qualified_names(purview("http://localhost", names=[own]).options)
    found = names.explain_name("unitycatalog://adb-1.azuredatabricks.net", "main.sales.orders")
    assert found["qualified_name"] == "databricks://adb-1.azuredatabricks.net/catalogs/main/SALES/orders"
    assert (found["rule"], found["shown"]) == ("unity", "orders")
    text = "version: 1\nsinks:\n  p:\n    type: purview\n    url: http://localhost\n    names:\n      - id: a\n{}"
    wrong = {
        "        namespace: x\n        type: t\n": r"line 7.*need each other",
        "        namespace: '{a}{b}'\n        type: t\n        qualified_name: q\n": r"line 7.*is ambiguous",
        "        namespace: '{a}'\n        type: t\n        qualified_name: '{b}'\n": r"line 7.*not a placeholder",
        "        namespace: '{name}'\n        name: '{name}'\n": r"line 7.*use the placeholder",
        "        namespace: x\n        typ: t\n": r"line 9.*unknown key 'typ'",
        "        why: y\n": r"line 7.*namespace is missing",
    }
    for lines, words in wrong.items():
        with pytest.raises(WrongSetting, match=words):
            parse_sinks(text.format(lines), "sinks.yml")
    with pytest.raises(WrongQuestion, match="type purview"):
        qualified_names(sink(type="openlineage", url="http://localhost").options)


def test_names_mean_what_they_mean_in_the_folder_of_rules(tmp_path: Path) -> None:
    (tmp_path / "names.yaml").write_text(
        "version: 1\nrules:\n  - id: moved\n    namespace: dbfs\n    name: /mnt/lake/{path:rest}\n"
        f"    to_namespace: '{LAKE}'\n    to_name: '{{path}}'\n"
    )
    names = qualified_names(purview("http://localhost", rules=str(tmp_path)).options)
    assert names.explain_name("dbfs", "/mnt/lake/orders")["qualified_name"] == f"{ADLS}/orders"
    (tmp_path / "names.yaml").write_text("version: 2\n")
    with pytest.raises(WrongSetting, match=r"names\.yaml, line 1"):
        qualified_names(purview("http://localhost", rules=str(tmp_path)).options)
    with pytest.raises(WrongSetting, match="does not exist"):
        qualified_names(purview("http://localhost", rules=str(tmp_path / "nowhere")).options)


def test_our_process_type_is_the_one_that_was_verified_and_texts_of_ours() -> None:
    (process,) = type_definitions(["openlineage_process"])["entityDefs"]
    assert process["superTypes"] == ["Process"]
    assert process["attributeDefs"][0] == {
        "name": "columnMapping", "typeName": "string", "cardinality": "SINGLE", "isOptional": True, "isUnique": False,
        "isIndexable": False, "includeInNotification": False, "valuesMinCount": 0, "valuesMaxCount": 1,
    }  # fmt: skip


@pytest.mark.slow
def test_loss_9_a_run_is_a_process_between_its_datasets_a_column_of_two_tables_has_both(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    facet = columns(
        {"order_id": [("bronze/orders", "id")], "who": [("bronze/orders", "name"), ("bronze/people", "name")]}
    )

    def made() -> dict[str, Any]:
        return run_event(
            inputs=[table("bronze/orders"), table("bronze/people")], outputs=[table("silver/orders", **facet)]
        )

    world.store(*bodies([made(), made()]))
    with account() as (atlas, _, out):
        world.settle(out, SECRET)
        world.store(body(again := made()))
        world.settle(out, SECRET)
        ((inputs, outputs, process),) = lineages(atlas)
    assert (inputs, outputs) == ([f"{ADLS}/bronze/orders", f"{ADLS}/bronze/people"], [f"{ADLS}/silver/orders"])
    assert process["openlineageRunId"] == again["run"]["runId"]
    assert json.loads(process["columnMapping"]) == [
        {
            "DatasetMapping": {"Source": f"{ADLS}/bronze/orders", "Sink": f"{ADLS}/silver/orders"},
            "ColumnMapping": [{"Source": "id", "Sink": "order_id"}, {"Source": "name", "Sink": "who"}],
        },
        {
            "DatasetMapping": {"Source": f"{ADLS}/bronze/people", "Sink": f"{ADLS}/silver/orders"},
            "ColumnMapping": [{"Source": "name", "Sink": "who"}],
        },
    ]
    assert {name: each["name"] for name, each in atlas.of("azure_datalake_gen2_path").items()} == {
        f"{ADLS}/bronze/orders": "orders", f"{ADLS}/bronze/people": "people", f"{ADLS}/silver/orders": "orders",
    }  # fmt: skip
    assert jobs(atlas) == {"openlineage://tests/job": "COMPLETE"}


def test_loss_2_a_merge_without_inputs_has_those_of_its_columns_a_read_or_a_write_alone_is_kept(tmp_path: Path) -> None:
    """The predecessor dropped runs without inputs or without outputs."""
    world = SinkWorld(tmp_path)
    merge = run_event(outputs=[table("gold/t", **columns({"a": [("silver/s", "a"), ("gold/t", "a")]}))])
    read = run_event(job={"namespace": "tests", "name": "read"}, inputs=[table("silver/s")])
    write = run_event(job={"namespace": "tests", "name": "write"}, outputs=[table("silver/s")])
    world.store(*bodies([merge, read, write]))
    with account() as (atlas, _, out):
        world.settle(out, SECRET)
        assert {each["jobName"]: (inputs, outputs) for inputs, outputs, each in lineages(atlas)} == {
            "job": ([f"{ADLS}/gold/t", f"{ADLS}/silver/s"], [f"{ADLS}/gold/t"]),
            "read": ([f"{ADLS}/silver/s"], []),
            "write": ([], [f"{ADLS}/silver/s"]),
        }
    assert world.dead() == {}


@pytest.mark.slow
def test_loss_4_every_state_is_told_and_only_what_counts_makes_lineage(tmp_path: Path) -> None:
    """The predecessor knew only START and COMPLETE."""
    world = SinkWorld(tmp_path)
    sides = {"inputs": [table("a")], "outputs": [table("b")]}
    streaming = {"jobType": {
        "_producer": "https://example.org", "_schemaURL": "https://openlineage.io/spec/facets/2-0-3/JobTypeJobFacet.json",
        "processingType": "STREAMING", "integration": "FLINK",
    }}  # fmt: skip
    states = {"START": "RUNNING", "RUNNING": "RUNNING", "OTHER": "RUNNING", "FAIL": "FAIL", "ABORT": "ABORT"}
    for state in states:
        world.store(body(run_event(eventType=state, job={"namespace": "tests", "name": state}, **sides)))
    stream = {"namespace": "tests", "name": "stream", "facets": streaming}
    world.store(body(run_event(eventType="RUNNING", job=stream, **sides)))
    with account() as (atlas, _, out):
        world.settle(out, SECRET)
        assert jobs(atlas) == {
            f"openlineage://tests/{job}": state for job, state in {**states, "stream": "RUNNING"}.items()
        }
        assert [each["jobName"] for _, _, each in lineages(atlas)] == ["stream"]


@pytest.mark.slow
def test_what_a_run_said_before_counts_in_the_batch_and_from_the_lake(tmp_path: Path) -> None:
    """The events of a run add up: its COMPLETE need not repeat the content of its START."""
    world = SinkWorld(tmp_path)
    start = run_event(eventType="START", inputs=[table("a")])
    end = run_event(run=start["run"], outputs=[table("b")])
    early = run_event(eventType="START", job={"namespace": "tests", "name": "early"}, inputs=[table("c")])
    late = run_event(run=early["run"], job=early["job"], outputs=[table("d")])
    with account() as (atlas, _, out):
        world.store(*bodies([start, end, early]))
        world.settle(out, SECRET)
        assert [(inputs, outputs) for inputs, outputs, _ in lineages(atlas)] == [([f"{ADLS}/a"], [f"{ADLS}/b"])]
        world.store(body(late))
        world.settle(out, SECRET)  # a new runner, which has no memory
        assert ([f"{ADLS}/c"], [f"{ADLS}/d"]) in [(inputs, outputs) for inputs, outputs, _ in lineages(atlas)]
        with closing(open_sink(out, Secrets(no_token, SECRET).reveal)) as target:
            shown = preview_payloads(open_bronze(world.settings), target, late["run"]["runId"])
    assert [each["payload"].count("/processes/") for each in shown] == [0, 1]


def test_a_long_run_counts_from_its_start_also_where_a_filter_keeps_that_back(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    start = run_event(eventType="START", inputs=[table("a")])
    steps = [
        run_event(run=start["run"], eventType="RUNNING", eventTime=f"2026-03-01T12:{minute:02}:00Z")
        for minute in range(1, 41)
    ]
    end = run_event(run=start["run"], eventTime="2026-03-01T13:00:00Z", outputs=[table("b")])
    world.store(*bodies([start, *steps, end]))
    with account(only={"states": ["COMPLETE"]}) as (atlas, _, out):
        world.settle(out, SECRET)
        assert [(inputs, outputs) for inputs, outputs, _ in lineages(atlas)] == [([f"{ADLS}/a"], [f"{ADLS}/b"])]


@pytest.mark.slow
def test_losses_5_and_8_a_copy_of_a_name_between_stores_is_lineage_and_a_second_end_adds_up(
    tmp_path: Path,
) -> None:
    """The predecessor compared names without namespaces, and lost a second COMPLETE within ten runs."""
    world = SinkWorld(tmp_path)
    other = "abfss://other@acme.dfs.core.windows.net"
    copy = run_event(inputs=[table("t")], outputs=[table("t", other)])
    more = run_event(run=copy["run"], eventTime="2026-03-01T12:00:01Z", inputs=[table("u")])
    with account() as (atlas, _, out):
        world.store(body(copy))
        world.settle(out, SECRET)
        (first,) = lineages(atlas)
        assert first[:2] == ([f"{ADLS}/t"], ["https://acme.dfs.core.windows.net/other/t"])
        world.store(body(more))
        world.settle(out, SECRET)
        assert [inputs for inputs, _, _ in lineages(atlas)] == [[f"{ADLS}/t", f"{ADLS}/u"]]


def test_types_that_somebody_else_makes_meanwhile_are_no_fault(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    world.store(body(run_event(outputs=[table("a", "odd")])))
    with account() as (atlas, server, out):

        def answer(asked: Asked) -> Said:
            if "/typedefs" in asked.path:
                atlas.answer(asked)
            return atlas.answer(asked)

        server.answer = answer
        world.settle(out, SECRET)
        assert {"openlineage_process", "openlineage_dataset"} <= atlas.types.keys()
        assert len(lineages(atlas)) == 1
    assert world.dead() == {}


def test_outputs_of_different_inputs_are_processes_of_their_own(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    outputs = [table("x", **columns({"v": [("a", "v")]})), table("y", **columns({"v": [("b", "v")]}))]
    world.store(body(run_event(inputs=[table("a"), table("b")], outputs=outputs)))
    with account() as (atlas, _, out):
        world.settle(out, SECRET)
        assert sorted((inputs, outputs) for inputs, outputs, _ in lineages(atlas)) == [
            ([f"{ADLS}/a"], [f"{ADLS}/x"]), ([f"{ADLS}/b"], [f"{ADLS}/y"]),
        ]  # fmt: skip


def test_what_only_filters_feeds_the_table_and_no_column(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    facet = columns({"v": [("a", "flag")]}, kind="INDIRECT")
    world.store(body(run_event(inputs=[table("a")], outputs=[table("x", **facet)])))
    with account() as (atlas, _, out):
        world.settle(out, SECRET)
        ((inputs, _, process),) = lineages(atlas)
    assert (inputs, process["columnMapping"]) == ([f"{ADLS}/a"], "[]")


def test_an_asset_that_was_scanned_is_bound_and_not_changed(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    world.store(body(run_event(inputs=[table("a")], outputs=[table("b")])))
    with account(collection="sales") as (atlas, server, out):
        atlas.scan("azure_datalake_gen2_path", f"{ADLS}/a", name="A as scanned", owner="somebody")
        world.settle(out, SECRET)
        assert atlas.of("azure_datalake_gen2_path")[f"{ADLS}/a"]["name"] == "A as scanned"
        assert atlas.upserts["azure_datalake_gen2_path", f"{ADLS}/a"] == 0
        assert [inputs for inputs, _, _ in lineages(atlas)] == [[f"{ADLS}/a"]]
        assert all(
            "collectionId=sales" in asked.path for asked in server.asked if asked.events and "/bulk?" in asked.path
        )


def test_an_asset_that_was_deleted_meanwhile_is_made_again(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    with account() as (atlas, _, out), closing(open_sink(out, Secrets(no_token, SECRET).reveal)) as target:
        world.store(body(run_event(inputs=[table("a")], outputs=[table("b")])))
        batch = SinkFeed(open_bronze(world.settings), lambda _: True).next_batch({})
        assert batch
        (payload,) = target.convert(batch.events)
        assert not target.deliver([payload]).again
        del atlas.entities["azure_datalake_gen2_path", f"{ADLS}/a"]
        assert target.deliver([payload]).again == range(1)
        assert not target.deliver([payload]).again
        assert ("azure_datalake_gen2_path", f"{ADLS}/a") in atlas.entities


def test_no_event_goes_through_without_a_question_to_the_target(tmp_path: Path) -> None:
    """The target is considered to work only after it accepted another event."""
    world = SinkWorld(tmp_path)
    world.store(body(dataset_event(dataset=table("a"))))
    with account() as (_, server, out), closing(open_sink(out, Secrets(no_token, SECRET).reveal)) as target:
        batch = SinkFeed(open_bronze(world.settings), lambda _: True).next_batch({})
        assert batch
        payloads = target.convert(batch.events)
        assert not target.deliver(payloads).again
        server.answer = lambda _: Said(503)
        assert target.deliver(payloads).again == range(1)


def test_a_catalogs_name_is_the_place_that_its_symlink_tells(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    place = {"namespace": LAKE, "name": "warehouse/orders", "type": "LOCATION"}
    about = {"_producer": "https://example.org", "_schemaURL": "https://openlineage.io/spec/facets/1-0-1/S.json"}
    orders = table("db.orders", "hive://metastore", symlinks={**about, "identifiers": [place]})
    world.store(body(run_event(inputs=[orders], outputs=[table("b")])))
    with account() as (atlas, _, out):
        world.settle(out, SECRET)
        assert [inputs for inputs, _, _ in lineages(atlas)] == [[f"{ADLS}/warehouse/orders"]]


def test_batches_are_bounded_and_name_nothing_twice(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    world.store(*(body(run_event(
        job={"namespace": "tests", "name": f"job {number % 7}"},
        inputs=[table(f"in/{number % 5}")], outputs=[table(f"out/{each}") for each in range(12)],
    )) for number in range(60)))  # fmt: skip
    with account(batch=10) as (atlas, _, out):
        atlas.most = 10
        world.settle(out, SECRET)
        newest = {f"job {number % 7}": [f"{ADLS}/in/{number % 5}"] for number in range(60)}
        assert {each["jobName"]: inputs for inputs, _, each in lineages(atlas)} == newest
        assert len(lineages(atlas)) == 7
        assert max(atlas.requests) == 10
        assert {kind for (kind, _), times in atlas.upserts.items() if times > 1} == {"openlineage_process"}
    assert world.dead() == {}


def test_what_atlas_is_told_is_what_pyapacheatlas_makes(tmp_path: Path) -> None:
    """The sent types and entities equal those of Purview's classes (`tests/support/servers/atlas_golden.py` creates
    them).
    """
    world, unity = SinkWorld(tmp_path), table("main.sales.orders", "unitycatalog://Adb-1.azuredatabricks.net:443")
    fed = columns({"order_id": [("bronze/orders", "id")], "total": [("bronze/orders", "amount")]})
    amount = fed["columnLineage"]["fields"]["total"]["inputFields"][0]
    amount |= {"namespace": unity["namespace"], "name": unity["name"]}
    made = run_event(
        run={"runId": "0195c000-0000-7000-8000-00000000a71a"}, job={"namespace": "tests", "name": "load"},
        inputs=[table("bronze/orders"), unity], outputs=[table("silver/orders", **fed)],
    )  # fmt: skip
    world.store(body(made))
    with account() as (_, server, out):
        world.settle(out, SECRET)
        posted = [asked for asked in server.asked if asked.method == "POST" and "search" not in asked.path]
    types = [each for asked in posted if "typedefs" in asked.path for each in asked.events[0]["entityDefs"]]
    told = [each for asked in posted if "entity/bulk" in asked.path for each in asked.events[0]["entities"]]
    golden = json.loads(GOLDEN.read_text("utf-8"))
    by_name = lambda each: each["name"] if "name" in each else each["attributes"]["qualifiedName"]  # noqa: E731
    bare = [{name: value for name, value in each.items() if name != "guid"} for each in [*told, *golden["entities"]]]
    assert sorted(bare[: len(told)], key=by_name) == sorted(bare[len(told) :], key=by_name)
    plain = [each for each in golden["entityDefs"] if each["name"] != "openlineage_column"]
    assert sorted(types, key=by_name) == sorted(plain, key=by_name)


@pytest.mark.slow
def test_an_unknown_type_is_a_dead_letter_alone_and_redriven_once_there(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    odd = run_event(outputs=[table("db/t", "azurekusto://help.kusto.windows.net")])
    world.store(*bodies([run_event(outputs=[table("a")]), odd, run_event(outputs=[table("b")])]))
    with account() as (atlas, _, out):
        world.settle(out, SECRET)
        assert {run: "azure_data_explorer_table" in why for run, why in world.dead().items()} == {
            odd["run"]["runId"]: True
        }
        assert len(lineages(atlas)) == 2
        atlas.types["azure_data_explorer_table"] = set()
        with closing(open_sink(out, Secrets(no_token, SECRET).reveal)) as target:
            found = redrive_failures(open_bronze(world.settings), world.ledger, out, target)
        assert found == {"delivered": 1, "refused": 0, "gone": 0}
        assert len(lineages(atlas)) == 3


@pytest.mark.slow
def test_loss_1_what_a_filter_keeps_back_is_counted_and_stays_in_the_lake(
    tmp_path: Path,
) -> None:
    """The predecessor answered "successfully ingested" and dropped the event before its log."""
    world = SinkWorld(tmp_path)
    world.store(*bodies([run_event(eventType="FAIL", outputs=[table("a")]), run_event(outputs=[table("b")])]))
    with account() as (atlas, server, out):
        world.settle(purview(server.url, only={"states": ["COMPLETE"]}), SECRET)
        assert jobs(atlas) == {"openlineage://tests/job": "COMPLETE"}
        assert world.ledger.sink_counts("out") == (1, 0, 1)
        world.ledger.reset("out", {})
        world.settle(out, SECRET)
        assert world.ledger.sink_counts("out").delivered == 3


@pytest.mark.slow
def test_loss_3_a_run_without_a_word_about_its_environment_is_told_from_its_start(tmp_path: Path) -> None:
    """The predecessor dropped a START without `environment-properties`, and with it the COMPLETE that waited for it."""
    world = SinkWorld(tmp_path)
    start = run_event(eventType="START", inputs=[table("a")])
    assert "facets" not in start["run"]
    world.store(body(start))
    with account() as (atlas, _, out):
        world.settle(out, SECRET)
        assert jobs(atlas) == {"openlineage://tests/job": "RUNNING"}
        world.store(body(run_event(run=start["run"], outputs=[table("b")])))
        world.settle(out, SECRET)
        assert [(inputs, outputs) for inputs, outputs, _ in lineages(atlas)] == [([f"{ADLS}/a"], [f"{ADLS}/b"])]


@pytest.mark.slow
def test_loss_5_runs_are_told_once_each_over_restarts_whatever_is_sent_again(tmp_path: Path) -> None:
    """The predecessor remembered ten runs, in one process."""
    world = SinkWorld(tmp_path)
    made = [run_event(job={"namespace": "tests", "name": f"j{number}"}, outputs=[table("a")]) for number in range(25)]
    with account() as (atlas, _, out):
        for _ in range(3):
            world.store(*bodies(made))
            world.settle(out, SECRET)
        assert world.ledger.sink_counts("out") == (25, 0, 0)
        assert len(lineages(atlas)) == 25


@pytest.mark.slow
def test_loss_7_an_event_of_many_megabytes_is_told(tmp_path: Path) -> None:
    """The predecessor's hub accepted 1 MiB, but a user's plan had 23,347,619 bytes."""
    world = SinkWorld(tmp_path)
    plan = {"_producer": "https://example.org", "_schemaURL": "https://example.org/plan.json", "plan": "x" * (8 << 20)}
    large = run_event(inputs=[table("a")], outputs=[table("b")])
    large["run"] = large["run"] | {"facets": {"spark.logicalPlan": plan}}
    world.store(body(large))
    with account() as (atlas, _, out):
        world.settle(out, SECRET)
        assert len(lineages(atlas)) == 1
    assert world.dead() == {}


def test_loss_10_nothing_of_an_event_is_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The predecessor wrote whole events to its log, with SQL and properties."""
    caplog.set_level("DEBUG")
    world = SinkWorld(tmp_path)
    sql = {"_producer": "https://example.org", "_schemaURL": "https://example.org/sql.json", "query": "SELECT riddle"}
    world.store(body(run_event(job={"namespace": "tests", "name": "j", "facets": {"sql": sql}}, outputs=[table("b")])))
    with account() as (_, server, out):
        answer = server.answer
        asked = iter(range(1_000))
        server.answer = lambda request: Said(429) if next(asked) == 1 else answer(request)
        world.settle(out, SECRET)
    assert "status 429" in caplog.text
    assert "riddle" not in caplog.text
    assert "token-1" not in caplog.text


@pytest.mark.slow
def test_a_dataset_that_scans_spell_otherwise_is_bound_by_search_and_a_resource_set_before_its_folder(
    tmp_path: Path,
) -> None:
    world = SinkWorld(tmp_path)
    facet = columns({"v": [("Orders", "w")]})
    with account() as (atlas, _, out):
        spelt = f"{ADLS.replace('.dfs.', '.blob.')}/ORDERS/"
        atlas.types["azure_datalake_gen2_resource_set"] = set()
        atlas.types["azure_blob_path"] = set()
        atlas.scan("azure_blob_path", spelt, name="ORDERS")
        atlas.scan("azure_datalake_gen2_path", f"{ADLS}/old_orders", name="old_orders")
        world.store(body(run_event(inputs=[table("Orders")], outputs=[table("b", **facet)])))
        world.settle(out, SECRET)
        ((inputs, _, process),) = lineages(atlas)
        assert inputs == [spelt]
        assert json.loads(process["columnMapping"])[0]["DatasetMapping"]["Source"] == spelt
        atlas.scan("azure_datalake_gen2_resource_set", f"{ADLS}/Orders/{{SparkPartitions}}", name="Orders")
        world.store(body(run_event(inputs=[table("Orders")], outputs=[table("b", **facet)])))
        world.settle(out, SECRET)
        ((inputs, _, _),) = lineages(atlas)
        assert inputs == [f"{ADLS}/Orders/{{SparkPartitions}}"]
        assert not any(name.lower().endswith("/lake/orders") for name in atlas.of("azure_datalake_gen2_path"))


@pytest.mark.slow
def test_a_placeholder_goes_when_its_asset_appears_and_takes_nobodys_lineage_along(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    unity, real = "unitycatalog://adb-1.azuredatabricks.net", "databricks://adb-1.azuredatabricks.net/catalogs/main"
    real += "/schemas/sales/tables/orders"
    orders = table("main.sales.orders", unity)
    one = run_event(job={"namespace": "tests", "name": "one"}, inputs=[orders], outputs=[table("b")])
    two = run_event(job={"namespace": "tests", "name": "two"}, inputs=[table("a")], outputs=[orders])
    with account() as (atlas, _, out):
        world.store(*bodies([one, two]))
        world.settle(out, SECRET)
        (placeholder,) = atlas.of("openlineage_dataset")
        atlas.types["databricks_table"] = set()
        atlas.scan("databricks_table", real, name="orders")
        atlas.scan("databricks_table", real.replace("/sales/", "/other/"), name="orders")
        world.store(body(run_event(job=one["job"], inputs=[orders], outputs=[table("b")])))
        world.settle(out, SECRET)
        assert atlas.deleted == [("openlineage_dataset", placeholder)]
        found = {each["jobName"]: (inputs, outputs) for inputs, outputs, each in lineages(atlas)}
        assert found == {"one": ([real], [f"{ADLS}/b"]), "two": ([f"{ADLS}/a"], [real])}


def test_two_assets_that_a_placeholder_may_be_leave_it(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    orders = table("main.sales.orders", "unitycatalog://adb-1.azuredatabricks.net")
    with account() as (atlas, _, out):
        atlas.types["databricks_table"] = set()
        for region in ("a", "b"):
            atlas.scan(
                "databricks_table", f"databricks://adb-1.azuredatabricks.net/{region}/main/sales/orders", name="orders"
            )
        world.store(body(run_event(inputs=[orders])))
        world.settle(out, SECRET)
        assert len(atlas.of("openlineage_dataset")) == 1


@pytest.mark.slow
def test_what_a_job_no_longer_does_is_deleted_what_others_and_its_other_outputs_have_stays(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)

    def made(job: str, inputs: str, outputs: str, minute: int, **more: Any) -> dict[str, Any]:
        sides = {"inputs": [*map(table, inputs)], "outputs": [*map(table, outputs)]}
        when = f"2026-03-01T12:{minute:02}:00Z"
        return run_event(job={"namespace": "tests", "name": job}, eventTime=when, **sides, **more)

    with account() as (atlas, _, out):
        for event in (
            made("j", "a", "x", 1), made("j", "a", "y", 2), made("other", "a", "x", 3), made("j", "ab", "x", 4),
            made("j", "c", "x", 5, eventType="FAIL"), made("j", "d", "x", 0),
        ):  # fmt: skip
            world.store(body(event))
            world.settle(out, SECRET)
            before = [
                (each["jobName"], [*map(_last, inputs)], [*map(_last, outs)]) for inputs, outs, each in lineages(atlas)
            ]
            if event["eventTime"].endswith("12:05:00Z"):
                assert sorted(before) == [("j", ["a"], ["y"]), ("j", ["a", "b"], ["x"]), ("other", ["a"], ["x"])]
    assert ("j", ["a", "b"], ["x"]) in before  # an older run that arrives late must not remove anything newer


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def test_a_job_of_fabric_is_shown_by_its_name_and_known_by_its_artifact(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    artifact = "3f2a9c1e-0000-4000-8000-00000000aa02"
    about = {"_producer": "https://example.org", "_schemaURL": "https://example.org/p.json"}
    properties = {"spark_properties": {**about, "properties": {"trident.artifact.id": artifact}}}
    made = run_event(job={"namespace": "ws", "name": "nb_orders.execute_insert"}, outputs=[table("b")])
    made["run"] = made["run"] | {"facets": properties}
    world.store(body(made))
    with account() as (atlas, _, out):
        world.settle(out, SECRET)
        assert jobs(atlas) == {f"openlineage://ws/{artifact}.execute_insert": "COMPLETE"}
        assert {each["name"] for each in atlas.of("openlineage_process").values()} == {"nb_orders.execute_insert"}


def test_declarations_of_jobs_and_datasets_are_kept(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    job = job_event(inputs=[table("a")], outputs=[table("b")])
    alone = dataset_event(dataset=table("c"))
    world.store(*bodies([job, alone, alone | {"eventTime": "2026-03-02T12:00:00Z"}]))
    with account() as (atlas, _, out):
        world.settle(out, SECRET)
        assert jobs(atlas) == {f"openlineage://tests/{job['job']['name']}": "DECLARED"}
        assert [(inputs, outputs) for inputs, outputs, _ in lineages(atlas)] == [([f"{ADLS}/a"], [f"{ADLS}/b"])]
        assert f"{ADLS}/c" in atlas.of("azure_datalake_gen2_path")
    assert world.dead() == {}


@pytest.mark.slow
def test_loss_6_throttling_and_faults_are_waited_for_and_nothing_is_lost(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    world.store(*(body(run_event(outputs=[table(f"t/{number}")])) for number in range(20)))
    with account(batch=5) as (atlas, server, out):
        asked = iter(range(10_000))
        faults = {3: Said(429, headers={"Retry-After": "0"}), 11: Said(503), 17: Said(hang_up=True), 23: Said(500)}

        def answer(request: Asked) -> Said:
            return faults.get(next(asked)) or atlas.answer(request)

        server.answer = answer
        world.settle(out, SECRET)
        assert len(lineages(atlas)) == 20
    assert world.dead() == {}


def test_a_check_says_who_answers_and_which_types_are_not_there() -> None:
    with account() as (atlas, server, out), closing(open_sink(out, Secrets(no_token, SECRET).reveal)) as target:
        found = target.check()
        assert "responds like Purview" in found
        assert "azure_mysql_table" in found
        assert "hive_table" not in found
        assert "openlineage_process" not in atlas.types
        assert not server.taken
        server.answer = lambda _: Said(403)
        with pytest.raises(WrongSetting, match=r"403.*Data Curator"):
            target.check()


@pytest.mark.slow
@pytest.mark.parametrize(
    "file",
    [
        "spark-3.5.7-listener-1.53.0.ndjson",
        "spark-docs-quickstart.ndjson",
        "compat-spark-dataproc-complete.ndjson",
        "spline-airflow-example.ndjson",
        "spec-full-event.ndjson",
    ],
)
def test_what_real_producers_sent_is_taken_whole(tmp_path: Path, file: str) -> None:
    world = SinkWorld(tmp_path)
    world.store(*(EVENTS / file).read_bytes().splitlines())
    with account() as (atlas, _, out):
        world.settle(out, SECRET)
        first = {key: dict(value) for key, value in atlas.entities.items()}
        world.ledger.reset("out", {})
        world.settle(out, SECRET)
        assert atlas.entities == first
        assert jobs(atlas)
        assert {len(each) for each in lineages(atlas)} == {3}
    assert world.dead() == {}


@pytest.mark.slow
def test_odd_names_are_sent_as_they_are_and_a_huge_event_is_one_process(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    wide = {f"c{number}": [(f"in/{number % 50}", f"s{number}")] for number in range(5_000)}
    huge = run_event(
        job={"namespace": "https://a/b", "name": "n" * 20_000},
        inputs=[table(f"in/{number}") for number in range(1_000)], outputs=[table("wide", **columns(wide))],
    )  # fmt: skip
    lone = run_event(job={"namespace": "tests", "name": "\ud800 lone"}, outputs=[table("a\ud800b", "odd\ud800")])
    world.store(*copies(), body(huge), body(lone))
    with account() as (atlas, _, out):
        world.settle(out, SECRET)
        placeholders = atlas.of("openlineage_dataset").values()
        assert {each["openlineageName"] for each in placeholders} >= set(NAMES)
        found = next(each for _, _, each in lineages(atlas) if len(each["inputs"]) == 1_000)
        assert len(json.loads(found["columnMapping"])) == 50
        assert sum(len(each["ColumnMapping"]) for each in json.loads(found["columnMapping"])) == 5_000
        assert found["qualifiedName"].startswith("openlineage://https%3A%2F%2Fa%2Fb/nnn")
    assert world.dead() == {}


def test_the_command_explains_the_name_of_a_dataset(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    out = {"type": "purview", "url": "http://localhost", "key": {"env": "NOT_SET"}}
    (world.folder / "sinks.yml").write_text(json.dumps({"version": 1, "sinks": {"p": out}}))
    asked = ["names", "p", "wasbs://lake@acme.blob.core.windows.net", "a/day=1", "--data", str(world.folder)]
    found = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)
    assert [step["rule"] for step in found["items"]] == ["azure-storage", "table-folder"]
    assert (found["type"], found["qualified_name"]) == ("azure_datalake_gen2_path", f"{ADLS}/a")
    shown = CliRunner().invoke(app, asked).stdout
    assert f"{ADLS}/a" in shown
    assert "azure-storage → table-folder" in shown
