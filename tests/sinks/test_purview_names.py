"""Purview's qualified names for the name cases of Microsoft's Databricks accelerator, and for similar names."""

from pathlib import Path
from typing import Any

import pytest

from headwater.lineage.names.canonical_names import NameRules, default_rules
from headwater.lineage.names.metadata_table import MetadataRow
from headwater.sinks.targets.purview.entities import EntityBuilder
from headwater.sinks.targets.purview.names import QualifiedNames
from headwater.sinks.targets.purview.target import qualified_names
from tests.sinks.test_purview import SECRET, account, lineages, purview, table
from tests.support.data.made_events import body, run_event
from tests.support.data.sink_world import SinkWorld, bodies, stored

_DATABRICKS = "adb-unit-test.1.azuredatabricks.net"
_AZURE_SQL = "sqlserver://shop-sql.database.windows.net"
_POOL = "sqlserver://shopws.sql.azuresynapse.net:1433;database=SQLPool1;"
_MOUNTED = {
    "/mnt/rawdata": "abfss://rawdata@acme.dfs.core.windows.net/",
    "/mnt/purview2/": "abfss://purview2@acme.dfs.core.windows.net/",
    "/mnt/x/": "abfss://x@xsa.dfs.core.windows.net/",
    "/mnt/x/y": "abfss://y@ysa.dfs.core.windows.net/",
    "/mnt/x2/": "abfss://myx2@ysa.dfs.core.windows.net/subdir/",
    "/mnt/blobx2/": "wasbs://myx2@ysa.blob.core.windows.net/subdir/",
}


@pytest.fixture(scope="module")
def accelerator_names() -> QualifiedNames:
    mounts = [MetadataRow(kind="mount", id=f"dbfs:{place}", target=target) for place, target in _MOUNTED.items()]
    return QualifiedNames((), NameRules(metadata_rows=mounts), _DATABRICKS)


@pytest.mark.parametrize(
    ("namespace", "name", "qualified_name"),
    [
        ("dbfs", "/user/hive/warehouse/sales.db/orders", f"sales.orders@{_DATABRICKS}"),
        ("dbfs", "/user/hive/warehouse/orders", f"default.orders@{_DATABRICKS}"),
        ("abfss://rawdata@acme.dfs.core.windows.net", "/retail", "https://acme.dfs.core.windows.net/rawdata/retail"),
        ("abfs://rawdata@acme.dfs.core.windows.net", "/retail", "https://acme.dfs.core.windows.net/rawdata/retail"),
        ("abfss://rawdata@acme.blob.core.windows.net", "/retail", "https://acme.dfs.core.windows.net/rawdata/retail"),
        (f"{_AZURE_SQL}:1433;database=shop-db;encrypt=true;", "borrower", "mssql://shop-sql.database.windows.net/shop-db/dbo/borrower"),
        (f"{_AZURE_SQL}:1433;databaseName=shop-db;encrypt=true;", "borrower", "mssql://shop-sql.database.windows.net/shop-db/dbo/borrower"),
        (_POOL, "exampleInputA", "mssql://shopws.sql.azuresynapse.net/SQLPool1/dbo/exampleInputA"),
        ("dbfs", "/mnt/rawdata/retail", "https://acme.dfs.core.windows.net/rawdata/retail"),
        ("dbfs", "/mnt/x/abc", "https://xsa.dfs.core.windows.net/x/abc"),
        ("dbfs", "/mnt/x/y/abc", "https://ysa.dfs.core.windows.net/y/abc"),
        ("dbfs", "/mnt/purview2", "https://acme.dfs.core.windows.net/purview2"),
        ("dbfs", "/mnt/x2/foo", "https://ysa.dfs.core.windows.net/myx2/subdir/foo"),
        ("dbfs", "/mnt/x2/retail", "https://ysa.dfs.core.windows.net/myx2/subdir/retail"),
        ("dbfs", "/mnt/x2/abc", "https://ysa.dfs.core.windows.net/myx2/subdir/abc"),
        ("dbfs", "/mnt/x2/y/abc", "https://ysa.dfs.core.windows.net/myx2/subdir/y/abc"),
        (f"{_AZURE_SQL};database=shop-db;", "[mytest].[tablename.will.mark]", "mssql://shop-sql.database.windows.net/shop-db/mytest/tablename.will.mark"),
        (f"{_AZURE_SQL};database=shop-db;", "mytest.tablename", "mssql://shop-sql.database.windows.net/shop-db/mytest/tablename"),
        (_POOL, "sales.region", "mssql://shopws.sql.azuresynapse.net/SQLPool1/sales/region"),
        ("mysql://shop.mysql.database.azure.com:3306/mydatabase", "fruits", "mysql://shop.mysql.database.azure.com/mydatabase/fruits"),
        ("postgresql://shop.postgres.database.azure.com:5432/postgres", "people", "postgresql://shop.postgres.database.azure.com/postgres/public/people"),
        ("postgresql://shop.postgres.database.azure.com:5432/postgres", "my.people", "postgresql://shop.postgres.database.azure.com/postgres/my/people"),
        ("postgresql://10.2.0.4:5432/postgres", "t1", "postgresql://servers/10.2.0.4:5432/dbs/postgres/schemas/public/tables/t1"),
        ("postgresql://10.2.0.4:5432/postgres", "my.t1", "postgresql://servers/10.2.0.4:5432/dbs/postgres/schemas/my/tables/t1"),
        ("azurekusto://shop.eastus2.kusto.windows.net/database01", "table01", "https://shop.eastus2.kusto.windows.net/database01/table01"),
        # Three names differ on purpose. docs/reference/sinks.md explains why.
        ("wasbs://rawdata@acme.blob.core.windows.net", "/retail", "https://acme.dfs.core.windows.net/rawdata/retail"),
        ("wasb://rawdata@acme.blob.core.windows.net", "/retail", "https://acme.dfs.core.windows.net/rawdata/retail"),
        ("dbfs", "/mnt/blobx2/foo", "https://ysa.dfs.core.windows.net/myx2/subdir/foo"),
        # Names that are similar to these cases.
        (f"{_AZURE_SQL};database=shop-db;", "[table.will.mark]", "mssql://shop-sql.database.windows.net/shop-db/dbo/table.will.mark"),
        (f"{_AZURE_SQL};database=shop-db;", "dbo.[a.b]", "mssql://shop-sql.database.windows.net/shop-db/dbo/a.b"),
        (f"{_AZURE_SQL};database=shop-db;", "[my].orders", "mssql://shop-sql.database.windows.net/shop-db/my/orders"),
        ("postgresql://db:6432/shop", "t1", "postgresql://servers/db:6432/dbs/shop/schemas/public/tables/t1"),
    ],
)  # fmt: skip
def test_names_of_the_databricks_accelerator(
    accelerator_names: QualifiedNames, namespace: str, name: str, qualified_name: str
) -> None:
    assert accelerator_names.explain_name(namespace, name)["qualified_name"] == qualified_name


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        (_AZURE_SQL, "sales.region"),
        ("postgresql://10.2.0.4", "sales.region"),
        ("postgresql://10.2.0.4/shop?currentSchema=sales,public", "region"),
        ("dbfs", "/user/hive/warehouse/sales.db"),
    ],
)
def test_a_name_that_tells_no_database_or_no_table_is_a_placeholder(
    accelerator_names: QualifiedNames, namespace: str, name: str
) -> None:
    assert accelerator_names.explain_name(namespace, name)["type"] == "openlineage_dataset"


def test_without_a_databricks_workspace_a_warehouse_path_is_a_placeholder() -> None:
    found = QualifiedNames((), default_rules()).explain_name("dbfs", "/user/hive/warehouse/orders")
    assert found["type"] == "openlineage_dataset"
    given = qualified_names(purview("http://localhost", databricks_workspace=_DATABRICKS).options)
    assert (
        given.explain_name("dbfs", "/user/hive/warehouse/orders")["qualified_name"] == f"default.orders@{_DATABRICKS}"
    )


@pytest.mark.slow
def test_a_batch_writes_a_synapse_table_in_one_letter_case(tmp_path: Path) -> None:
    def read(name: str) -> dict[str, Any]:
        return run_event(inputs=[table(name, _POOL)], outputs=[table("silver/orders")])

    world = SinkWorld(tmp_path)
    world.store(*bodies([read("orders"), read("Orders")]))
    with account() as (atlas, _, out):
        atlas.types["azure_synapse_dedicated_sql_table"] = set()
        world.settle(out, SECRET)
        world.store(*bodies([read("ORDERS")]))
        world.settle(out, SECRET)
        ((inputs, _, _),) = lineages(atlas)
        assert [*atlas.of("azure_synapse_dedicated_sql_table")] == inputs
    assert inputs == ["mssql://shopws.sql.azuresynapse.net/SQLPool1/dbo/Orders"]


def test_what_purview_has_no_type_for_is_called_by_the_display_names_of_its_workspace_and_item() -> None:
    workspace, item = "3f2a9c1e-0000-4000-8000-00000000aa01", "3eb04867-0000-4000-8000-0000000000b1"
    rows = [
        MetadataRow(kind="workspace", id=workspace, name="Sales"),
        MetadataRow(kind="item", id=item, name="lh.Eventhouse", parent="Sales"),
    ]
    names = QualifiedNames((), NameRules(metadata_rows=rows))
    found = names.explain_name(f"abfss://{workspace}@onelake.dfs.fabric.microsoft.com", f"{item}/Other/raw")
    assert found["shown"] == "lh.Eventhouse/Other/raw"


def test_topics_of_unknown_brokers_are_one_asset_for_the_jobs_of_a_namespace_alone() -> None:
    topic = {"namespace": "kafka://null:-1", "name": "orders"}
    builder = EntityBuilder(QualifiedNames((), default_rules()))
    events = [
        run_event(job={"namespace": namespace, "name": "load"}, inputs=[{"namespace": "s3://b", "name": "a"}],
                  outputs=[topic])
        for namespace in ("prod", "test", "prod")
    ]  # fmt: skip
    made = [builder.run_entities([builder.read_facts(event)]) for event in stored(map(body, events))]
    names = [
        {name for each in entities if "null" in (name := each["attributes"].get("openlineageNamespace", ""))}
        for entities in made
    ]
    assert names == [{"kafka://null:-1/prod"}, {"kafka://null:-1/test"}, {"kafka://null:-1/prod"}]
