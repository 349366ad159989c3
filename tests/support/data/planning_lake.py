"""A lake for migration plans: tables as five dialects name them, with and without readers that report columns."""

from pathlib import Path

from tests.reference.small_events import Named, run
from tests.reference.world_events import Json, column_lineage, dataset, facet, source, step, symlinks
from tests.support.data.parsing import World
from tests.support.data.shop import bodies

ORDERS, DAILY, REPORT = (("s3://lake", f"sales.db/{name}") for name in ("orders", "daily", "report"))
CUSTOMERS, CRM = (("mssql://db", f"shop.dbo.{name}") for name in ("customers", "crm"))
USERS, DUMP = ("postgres://pg", "app.public.users"), ("s3://lake", "dump/users")
ITEMS, PUBLIC = (("snowflake://org-acct", f"SHOP.S.{name}") for name in ("ITEMS", "ITEMS_PUBLIC"))
DBT_ORDERS, DBT_CUSTOMERS, DBT_DAILY = (
    ("duckdb://shop", f"shop.main.{name}") for name in ("stg_orders", "customers", "daily_revenue")
)
SOURCE, FACT, MART = (("duckdb://docs", f"docs.main.{name}") for name in ("source_orders", "fct_orders", "mart_totals"))
CLICKS = ("bigquery", "proj.ds.clicks")

OWNERS = """version: 1
owners:
  - {dataset: "*/daily", owners: [finance]}
"""
CONSUMERS = """
version: 1
consumers:
  - {consumer: "Power BI: Customers", namespace: "mssql://db", dataset: shop.dbo.customers, columns: [name]}
  - {consumer: "Excel: revenue", namespace: "s3://lake", dataset: sales.db/report, columns: [total]}
"""

CONSTANTS = """
version: 1
constants:
  - {namespace: "s3://lake", dataset: sales.db/daily, column: day}
"""

_SUM, _SAME, _FILTER = step("DIRECT"), step("DIRECT"), step("INDIRECT")


def typed(named: Named, columns: str, **facets: Json) -> Json:
    """Return a dataset with a schema of `name:type` texts."""
    fields = [dict(zip(("name", "type"), each.split(":"), strict=True)) for each in columns.split()]
    return dataset(named, schema=facet(fields=fields), **facets)


def catalogued(named: Named, columns: str, **facets: Json) -> Json:
    """Return a dataset with a schema that also has a name in a catalog."""
    called = named[1].replace(".db/", ".")
    return typed(named, columns, symlinks=symlinks(("hive://meta", called)), **facets)


def lineage(fields: dict[str, list[Json]], *whole: Json) -> Json:
    return column_lineage(fields, whole)


def documented(number: int, target: Named, origin: Named, sql: str) -> Json:
    """Return the run of a dbt model whose schemas list one documented column each and whose SQL names others."""
    told = run(number, number * 10, typed(target, "id:bigint"), reads=[typed(origin, "id:bigint")],
               job=target[1].rpartition(".")[2], job_facets={"sql": facet(query=sql)})  # fmt: skip
    return {**told, "producer": "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/dbt"}


_ORDERS = catalogued(ORDERS, "id:bigint amount:decimal(10,2) note:string status:string dead:int")

PLANNED_LAKE: list[Json] = [
    run(1, 0, catalogued(
        DAILY, "day:date revenue:decimal(20,2)",
        columnLineage=lineage({"revenue": [source(ORDERS, "amount", _SUM)]}, source(ORDERS, "status", _FILTER)),
    ), reads=[_ORDERS], job="to_daily"),
    run(2, 10, catalogued(
        REPORT, "total:decimal(30,2)", columnLineage=lineage({"total": [source(DAILY, "revenue", _SAME)]}),
    ), reads=[dataset(DAILY)], job="to_report"),
    run(3, 20, typed(
        CRM, "contact:nvarchar(100)", columnLineage=lineage({"contact": [source(CUSTOMERS, "email", _SAME)]}),
    ), reads=[typed(CUSTOMERS, "id:int email:nvarchar(100) name:nvarchar(50)")], job="to_crm"),
    run(4, 30, typed(DUMP, "line:string"), reads=[typed(USERS, "id:bigint mail:text age:int")], job="export"),
    run(5, 40, typed(
        PUBLIC, "TITLE:VARCHAR(20)", columnLineage=lineage({"TITLE": [source(ITEMS, "TITLE", _SAME)]}),
    ), reads=[typed(ITEMS, "ID:NUMBER(10,0) TITLE:VARCHAR(20) PRICE:NUMBER(8,2)")], job="publish"),
    run(7, 60, typed(
        DBT_DAILY, "customer_id:bigint revenue:decimal(18,2) orders:bigint discount:decimal(10,2)",
        columnLineage=lineage({"discount": [source(DBT_ORDERS, "discount", _SAME)]}),
    ), typed(DBT_CUSTOMERS, "id:bigint customer_id:varchar"),
        reads=[typed(
            DBT_ORDERS, "id:bigint customer_id:bigint amount:decimal(10,2) status:varchar discount:decimal(10,2)"
        )],
        job="dbt"),
    run(6, 50, typed(CLICKS, "user_id:STRING kind:STRING ts:TIMESTAMP"), job="clicks"),
    documented(8, FACT, SOURCE, "select id, amount, note, upper(zip) as zip from main.source_orders"),
    documented(9, MART, FACT, "select id, sum(amount) as total from main.fct_orders where zip is not null group by id"),
]  # fmt: skip


def planned_lake(folder: Path) -> Path:
    """Create a data folder with the planned lake. No process runs on it."""
    world = World(folder)
    (folder / "rules").mkdir()
    (folder / "rules" / "consumers.yaml").write_text(CONSUMERS)
    (folder / "rules" / "owners.yaml").write_text(OWNERS)
    (folder / "rules" / "constants.yaml").write_text(CONSTANTS)
    world.append(*bodies(PLANNED_LAKE))
    world.parser().commit_next()
    return world.folder
