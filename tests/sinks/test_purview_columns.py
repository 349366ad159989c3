"""Columns as entities in Purview: only of tables that the sink creates, and according to the newest schema."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headwater.common.errors import WrongSetting
from headwater.operations.runtime.storage import open_bronze
from headwater.sinks.connecting.secrets import Secrets
from headwater.sinks.interface.sinks_file import parse_sinks
from headwater.sinks.interface.target_registry import open_sink
from headwater.sinks.running.feed import SinkFeed
from tests.sinks.test_purview import ADLS, SECRET, account, columns, lineages, table
from tests.support.data.made_events import body, dataset_event, run_event
from tests.support.data.sink_world import SinkWorld, no_token
from tests.support.servers.atlas import ATLAS, Atlas
from tests.support.servers.atlas_golden import GOLDEN
from tests.support.servers.sink_target import Asked, Said

SQL = "mssql://srv.database.windows.net"
ORDERS = f"{SQL}/sales/dbo/orders"
UNITY = "unitycatalog://adb-1.azuredatabricks.net"
PLACE = "openlineage-dataset://unitycatalog%3A%2F%2Fadb-1.azuredatabricks.net"
Field = dict[str, Any]


def schema(*fields: str | Field) -> dict[str, Any]:
    """Return a schema facet. A field is its name or a complete field."""
    about = {"_producer": "https://example.org", "_schemaURL": "https://openlineage.io/spec/facets/1-1-1/S.json"}
    told = [{"name": each, "type": "int"} if isinstance(each, str) else each for each in fields]
    return {"schema": {**about, "fields": told}}


def orders(*fields: str | Field, **facets: Any) -> dict[str, Any]:
    return table("sales.dbo.orders", SQL, **(schema(*fields) if fields else {}), **facets)


def written(*outputs: dict[str, Any], minute: int = 0, **more: Any) -> bytes:
    return body(run_event(eventTime=f"2026-03-01T12:{minute:02}:00.000Z", outputs=[*outputs], **more))


def names(atlas: Atlas, kind: str = "azure_sql_column") -> dict[str, str]:
    """Return the existing columns of a type: qualified name → name."""
    return {name: each["name"] for name, each in atlas.of(kind).items()}


def changes(atlas: Atlas) -> tuple[int, int]:
    """Return how many columns were ever sent, and how many were deleted."""
    return (
        sum(times for (kind, _), times in atlas.upserts.items() if kind.endswith("_column")),
        sum(kind.endswith("_column") for kind, _ in atlas.deleted),
    )


def test_columns_are_entities_of_their_table_in_the_types_of_its_rule(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    fields = ({"name": "id", "type": "bigint", "description": "Its number"}, {"name": "note"})
    hive = table("db.t", "hive://metastore", **schema(fields[0]))
    world.store(written(orders(*fields), hive, table("a", **schema("no type known"))))
    with account() as (atlas, server, out):
        world.settle(out, SECRET)
        assert atlas.of("azure_sql_column") == {
            f"{ORDERS}#id": {
                "name": "id", "qualifiedName": f"{ORDERS}#id", "data_type": "bigint", "description": "Its number",
            },
            f"{ORDERS}#note": {
                "name": "note", "qualifiedName": f"{ORDERS}#note", "data_type": "unknown", "description": "",
            },
        }  # fmt: skip
        assert atlas.of("hive_column") == {
            "db.t.id@metastore": {
                "name": "id", "qualifiedName": "db.t.id@metastore", "type": "bigint", "comment": "Its number",
            }
        }  # fmt: skip
        assert set(atlas.table_of.values()) == {("azure_sql_table", ORDERS), ("hive_table", "db.t@metastore")}
        made = next(asked for asked in server.asked if asked.events and asked.path.startswith(f"{ATLAS}/entity/bulk?"))
        first = [each["typeName"] for each in made.events[0]["entities"] if "azure_sql" in each["typeName"]]
    # in the same request that creates the table
    assert first == ["azure_sql_table", "azure_sql_column", "azure_sql_column"]
    assert world.dead() == {}


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_a_request_with_columns_is_what_pyapacheatlas_makes(tmp_path: Path, number: int) -> None:
    """The tables are one of a Purview type and one of our type (`tests/support/servers/atlas_golden.py`
    creates them).
    """
    world = SinkWorld(tmp_path)
    fields = ({"name": "id", "type": "bigint", "description": "Its number"}, {"name": "total", "type": "decimal"})
    world.store(written([orders(*fields), table("main.sales.orders", UNITY, **schema(*fields))][number]))
    golden = json.loads(GOLDEN.read_text("utf-8"))
    for each in golden["requests"][number][1:]:
        del each["relationshipAttributes"]["table"]["qualifiedName"]  # the sink sends only the guid, which Atlas uses
    with account() as (_, server, out):
        world.settle(out, SECRET)
        told = [asked.events[0] for asked in server.asked if asked.method == "POST" and "search" not in asked.path]
    (types,) = [each for each in told if "entityDefs" in each]
    assert next(each["entities"] for each in told if each is not types) == golden["requests"][number]
    ours = {each["name"]: each for each in types["entityDefs"]}
    assert ours == {each["name"]: each for each in golden["entityDefs"] if each["name"] in ours}
    assert types["relationshipDefs"] == (golden["relationshipDefs"] if "openlineage_column" in ours else [])
    assert ("openlineage_column" in ours) == bool(number)


@pytest.mark.slow
def test_saying_it_again_changes_nothing_and_another_schema_what_is_other(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    with account() as (atlas, _, out):
        for minute in (0, 1):
            world.store(written(orders("id", "gone", "stays"), minute=minute))
            world.settle(out, SECRET)  # each time with a new runner, which has no memory
        assert changes(atlas) == (3, 0)
        guids = {name: atlas.guid(("azure_sql_column", name)) for name in names(atlas)}
        world.store(written(orders({"name": "id", "type": "bigint"}, "stays", "new"), minute=2))
        world.settle(out, SECRET)
        assert [*names(atlas).values()] == ["id", "stays", "new"]
        assert atlas.of("azure_sql_column")[f"{ORDERS}#id"]["data_type"] == "bigint"
        assert changes(atlas) == (5, 1)
        assert atlas.guid(("azure_sql_column", f"{ORDERS}#stays")) == guids[f"{ORDERS}#stays"]
        world.store(written(orders(), minute=3))  # the event reports no columns
        world.settle(out, SECRET)
        assert changes(atlas) == (5, 1)
        world.ledger.reset("out", {})
        world.settle(out, SECRET)
        assert [*names(atlas).values()] == ["id", "stays", "new"]
        assert changes(atlas) == (5, 1)


@pytest.mark.slow
@pytest.mark.parametrize("together", [True, False])
def test_an_older_schema_that_comes_late_brings_nothing_back(tmp_path: Path, together: bool) -> None:
    world = SinkWorld(tmp_path)
    told = [written(orders("a", "b"), minute=1), written(orders("a"), minute=5), written(orders("a", "b"), minute=3)]
    with account() as (atlas, _, out):
        for some in [told] if together else [[each] for each in told]:
            world.store(*some)
            world.settle(out, SECRET)
        assert names(atlas) == {f"{ORDERS}#a": "a"}
        assert changes(atlas) == ((1, 0) if together else (3, 1))


def test_one_connection_asks_about_a_schema_once(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    with account() as (atlas, server, out), closing(open_sink(out, Secrets(no_token, SECRET).reveal)) as target:
        world.store(*(written(orders("a", "b"), minute=minute) for minute in range(4)))
        batch = SinkFeed(open_bronze(world.settings), lambda _: True).next_batch({})
        assert batch
        made, *again = target.convert(batch.events)
        assert not target.deliver([made]).again
        before = len(server.asked)
        for payload in again:
            assert not target.deliver([payload]).again
        asked = [each.path for each in server.asked[before:] if "azure_sql_column" in each.path or "guid" in each.path]
        assert changes(atlas) == (2, 0)
    assert not [path for path in asked if atlas.guid(("azure_sql_column", f"{ORDERS}#a")) in path]


def test_tables_that_a_scan_owns_keep_their_columns(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    with account() as (atlas, _, out):
        atlas.scan("azure_sql_table", ORDERS, name="orders")
        atlas.scan("azure_sql_column", f"{ORDERS}#id", name="id", data_type="uniqueidentifier")
        atlas.table_of["azure_sql_column", f"{ORDERS}#id"] = ("azure_sql_table", ORDERS)
        world.store(written(orders("id", "other")))
        world.settle(out, SECRET)
        assert atlas.of("azure_sql_column")[f"{ORDERS}#id"]["data_type"] == "uniqueidentifier"
        assert changes(atlas) == (0, 0)
        assert len(lineages(atlas)) == 1
    assert world.dead() == {}


@pytest.mark.slow
def test_a_table_that_a_scan_finds_later_is_the_scans_from_then_on(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    with account() as (atlas, _, out):
        world.store(written(orders("id", "gone")))
        world.settle(out, SECRET)
        atlas.scan("azure_sql_column", f"{ORDERS}#scanned", name="scanned", data_type="int")
        atlas.table_of["azure_sql_column", f"{ORDERS}#scanned"] = ("azure_sql_table", ORDERS)
        world.store(written(orders("id"), minute=1))
        world.settle(out, SECRET)
        assert changes(atlas) == (2, 0)


@pytest.mark.slow
def test_a_placeholder_takes_its_columns_along_when_its_asset_appears(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    real = "databricks://adb-1.azuredatabricks.net/catalogs/main/schemas/sales/tables/orders"
    told = table("main.sales.orders", UNITY, **schema("id", "orders"))
    with account() as (atlas, _, out):
        world.store(written(told))
        world.settle(out, SECRET)
        assert names(atlas, "openlineage_column") == {
            f"{PLACE}/main.sales.orders#id": "id", f"{PLACE}/main.sales.orders#orders": "orders",
        }  # fmt: skip
        atlas.types["databricks_table"] = set()
        atlas.scan("databricks_table", real, name="orders")
        world.store(written(told, minute=1))
        world.settle(out, SECRET)
        assert names(atlas, "openlineage_column") == {}
        assert atlas.of("openlineage_dataset") == {}
        assert atlas.table_of == {}
        assert [outputs for _, outputs, _ in lineages(atlas)] == [[real]]


@pytest.mark.slow
def test_a_column_is_never_taken_for_the_table_of_its_name(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    with account() as (atlas, _, out):
        world.store(written(table("main.sales", UNITY, **schema("orders"))))
        world.settle(out, SECRET)
        world.store(written(table("main.sales.orders", UNITY)))
        world.settle(out, SECRET)
        assert {*atlas.of("openlineage_dataset")} == {f"{PLACE}/main.sales", f"{PLACE}/main.sales.orders"}


@pytest.mark.slow
def test_five_thousand_columns_go_in_bounded_requests_and_one_more_is_one_more(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    wide = [f"c{number}" for number in range(5_000)]
    with account() as (atlas, _, out):
        atlas.most = 100
        world.store(written(orders(*wide)))
        world.settle(out, SECRET)
        assert len(names(atlas)) == len(atlas.table_of) == 5_000
        assert max(atlas.requests) == 100
        world.store(written(orders(*wide[1:], "new"), minute=1))
        world.settle(out, SECRET)
        assert changes(atlas) == (5_001, 1)
        assert [*names(atlas).values()][-1] == "new"
    assert world.dead() == {}


@pytest.mark.slow
def test_an_attempt_that_ends_midway_is_made_whole_by_the_next(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    wide = [f"c{number}" for number in range(40)]
    with account(batch=7) as (atlas, server, out):
        posted = iter(range(1_000))

        def answer(asked: Asked) -> Said:
            is_bulk = asked.method == "POST" and "/entity/bulk" in asked.path
            return Said(503) if is_bulk and next(posted) % 3 == 2 else atlas.answer(asked)

        server.answer = answer
        for minute, fields in enumerate((wide, wide[20:])):
            world.store(written(orders(*fields), minute=minute))
            world.settle(out, SECRET)
            assert [*names(atlas).values()] == fields
    assert world.dead() == {}


def test_a_table_that_was_deleted_meanwhile_is_made_again_with_its_columns(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    with account() as (atlas, _, out), closing(open_sink(out, Secrets(no_token, SECRET).reveal)) as target:
        world.store(written(orders("a")), written(orders("a", "b"), minute=1))
        batch = SinkFeed(open_bronze(world.settings), lambda _: True).next_batch({})
        assert batch
        first, second = target.convert(batch.events)
        assert not target.deliver([first]).again
        key = ("azure_sql_table", ORDERS)
        path = f"{ATLAS}/entity/bulk?api-version=2023-09-01&guid={atlas.guid(key)}"
        atlas.answer(Asked(path, [], {"authorization": "Bearer x"}, "DELETE"))
        assert atlas.table_of == {}
        assert target.deliver([second]).again == range(1)
        assert not target.deliver([second]).again
        assert set(atlas.table_of.values()) == {key}
        assert [*names(atlas).values()] == ["a", "b"]


@pytest.mark.slow
def test_odd_names_stay_apart(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    nested = {"name": "s", "type": "struct", "fields": [{"name": "in", "type": "int"}, {"name": "ü"}]}
    told = [
        table("a#b", "odd", **schema("c", "c%23d", "c#d")),
        table("a", "odd", **schema("b#c", "🦆 family", "\ud800 lone", nested, "", "s.in")),
    ]
    with account() as (atlas, _, out):
        for minute in (0, 1):
            world.store(written(*told, minute=minute))
            world.settle(out, SECRET)
        found = names(atlas, "openlineage_column")
        base = "openlineage-dataset://odd/a"
        assert {name: found.get(name) for name in found if name.startswith(f"{base}#b#")} == {
            f"{base}#b#c": "c", f"{base}#b#c%2523d": "c%23d", f"{base}#b#c%23d": "c#d",
        }  # fmt: skip
        own = {name: each for name, each in found.items() if not name.startswith(f"{base}#b#")}
        assert own[f"{base}#b%23c"] == "b#c"
        assert {"🦆 family", "s", "s.in", "s.ü"} <= set(own.values())
        assert changes(atlas) == (len(found), 0)
    assert world.dead() == {}


@pytest.mark.slow
def test_masked_columns_are_entities_and_columnmapping_says_what_it_said(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    facet = columns({"who": [("people", "name")]})
    facet["columnLineage"]["fields"]["who"]["inputFields"][0]["transformations"][0]["masking"] = True
    world.store(body(run_event(inputs=[table("people")], outputs=[orders("who", "other", **facet)])))
    with account() as (atlas, _, out):
        world.settle(out, SECRET)
        ((_, _, process),) = lineages(atlas)
        assert [*names(atlas).values()] == ["who", "other"]
    assert json.loads(process["columnMapping"]) == [
        {
            "DatasetMapping": {"Source": f"{ADLS}/people", "Sink": ORDERS},
            "ColumnMapping": [{"Source": "name", "Sink": "who"}],
        }
    ]


def test_a_declared_dataset_has_its_columns_too(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    world.store(body(dataset_event(dataset=orders("a"))))
    with account() as (atlas, _, out):
        world.settle(out, SECRET)
        assert names(atlas) == {f"{ORDERS}#a": "a"}


def test_a_sinks_own_rule_names_type_relation_and_attributes(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    rule = {
        "id": "adls", "namespace": "abfss://{container}@{account}.dfs.{cloud}", "name": "{path:rest}",
        "type": "azure_datalake_gen2_path", "qualified_name": "https://{account}/{container}/{path}",
        "columns": {"type": "lake_column", "qualified_name": "{qualified_name}//{column:upper}", "data_type": "kind"},
    }  # fmt: skip
    world.store(written(table("a", **schema("x"))))
    with account(names=[rule]) as (atlas, _, out):
        atlas.types["lake_column"] = {"kind", "description"}
        atlas.tables["lake_column"] = "azure_datalake_gen2_path"
        world.settle(out, SECRET)
        assert names(atlas, "lake_column") == {"https://acme/lake/a//X": "x"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ({"type": "hive_column", "data_type": "type"}, "a azure_sql_table has no hive_column"),
        ({"type": "azure_sql_column", "relation": "owner"}, "must have the relation table"),
        ({"type": "azure_sql_column", "data_type": "comment"}, "mandatory attribute"),
        ({"type": "azure_sql_column", "description": "text"}, "has no attributes"),
        ({"type": "unheard_of"}, "Purview does not know the type unheard_of"),
    ],
)
def test_columns_that_do_not_fit_are_refused_and_the_reason_is_told(
    tmp_path: Path, rule: dict[str, str], why: str
) -> None:
    world = SinkWorld(tmp_path)
    whole = {
        "id": "sql", "namespace": "mssql://{server}", "name": "{database}.{schema}.{table}", "columns": rule,
        "type": "azure_sql_table", "qualified_name": "mssql://{server}/{database}/{schema}/{table}",
    }  # fmt: skip
    world.store(written(orders("a")), written(table("b")))
    with account(names=[whole]) as (atlas, _, out):
        world.settle(out, SECRET)
        assert names(atlas) == {}
        assert [outputs for _, outputs, _ in lineages(atlas)] == [[f"{ADLS}/b"]]
    assert [why in reason for reason in world.dead().values()] == [True]


@pytest.mark.parametrize(
    ("table_", "message"),
    [
        (None, "must have the relation table"),
        ({"typeName": "azure_sql_table", "uniqueAttributes": {"qualifiedName": "nowhere"}}, "does not exist"),
        ({"typeName": "azure_sql_table", "guid": "-2"}, "no table before its column"),
        ({"typeName": "hive_table", "guid": "-1"}, "has no azure_sql_column"),
    ],
)
def test_the_stand_in_judges_columns(table_: dict[str, Any] | None, message: str) -> None:
    atlas = Atlas()
    own = {"qualifiedName": "t#c", "name": "c", "data_type": "int"}
    column: dict[str, Any] = {"typeName": "azure_sql_column", "guid": "-1", "attributes": own}
    column |= {"relationshipAttributes": {"table": table_}} if table_ else {}
    later = {"typeName": "azure_sql_table", "guid": "-2", "attributes": {"qualifiedName": "t", "name": "t"}}
    path = f"{ATLAS}/entity/bulk?api-version=2023-09-01"
    said = atlas.answer(Asked(path, [{"entities": [column, later]}], {"authorization": "Bearer x"}))
    assert 400 <= said.status < 500
    assert message in said.body.decode()
    assert atlas.entities == {}


def test_what_is_wrong_in_columns_of_a_rule_has_a_line() -> None:
    text = "version: 1\nsinks:\n  p:\n    type: purview\n    url: http://localhost\n    names:\n      - id: a\n{}"
    typed = "        namespace: '{a}'\n        type: t\n        qualified_name: '{a}'\n        columns: "
    wrong = {
        "        namespace: x\n        columns: {type: c}\n": r"line 7.*`columns` needs `type`",
        typed + "{type: c, qualified_name: '{b}'}\n": r"line 7.*not a placeholder of the pattern",
        typed + "{relation: r}\n": r"line 11.*type is missing",
        typed.replace("{a}", "{column}") + "{type: c}\n": r"line 7.*is reserved",
    }
    for lines, words in wrong.items():
        with pytest.raises(WrongSetting, match=words):
            parse_sinks(text.format(lines), "sinks.yml")
