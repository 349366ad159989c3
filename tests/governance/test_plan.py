"""`headwater plan`: what changes break in a small lake, with hand-written expectations."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.api import routes
from headwater.cli.answer_source import DataFolder
from headwater.common.errors import WrongQuestion, WrongSetting
from headwater.governance.planning.dbt_manifest import apply_manifest
from headwater.governance.planning.findings import PlanFinding, plan_findings
from headwater.governance.planning.markdown import change_text, column_text, plan_markdown
from headwater.governance.planning.schema import PlannedChange, PlannedSchema, PresentTable, PresentTables
from headwater.governance.planning.sql_changes import apply_sql
from headwater.governance.planning.yaml_changes import apply_yaml, read_promised_columns
from tests.support.commands import commanded
from tests.support.data.migration_statements import STATEMENTS
from tests.support.data.migration_truth import COLUMNS, TRUTH
from tests.support.data.planning_lake import planned_lake
from tests.support.paths import FIXTURES

pytestmark = pytest.mark.slow  # needs a lake

Plan = Callable[..., list[PlanFinding]]

REVENUE = "breaks: sales.db/daily#revenue sales.db/report#total; jobs/to_daily jobs/to_report; Excel: revenue"
STATUS = REVENUE.replace("sales.db/daily#revenue", "sales.db/daily#day sales.db/daily#revenue")
EMAIL = "breaks: shop.dbo.crm#contact; jobs/to_crm"
TITLE = "breaks: SHOP.S.ITEMS_PUBLIC#TITLE; jobs/publish"
SAFE = "safe"
OPAQUE = "may break; jobs/export"
UNREAD = "may break"
UNKNOWN = "not known"
ODCS = b"kind: DataContract\napiVersion: v3.1.0\nid: x\nschema: ["


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planned_lake(tmp_path_factory.mktemp("plan") / "data")


@pytest.fixture(scope="module")
def tables(data: Path) -> Iterator[tuple[PresentTables, Any]]:
    folder = DataFolder(data)
    questions = {each.path: each for each in routes.ROUTES}

    def ask(question: str, asked: Any) -> Any:
        return folder.ask(questions[question], asked)

    yield PresentTables(ask, None), ask
    folder.open_views.close()


@pytest.fixture
def plan(tables: tuple[PresentTables, Any]) -> Plan:
    """Return a function that applies a schema change and returns what it breaks."""
    known, ask = tables

    def planned(take: Callable[[PlannedSchema], None], dialect: str | None = None) -> list[PlanFinding]:
        schema = PlannedSchema(known.find_table)
        take(schema)
        return [*plan_findings(schema.changes(), known, ask, [], dialect)]

    return planned


def told(findings: list[PlanFinding]) -> dict[str, str]:
    """Return each change with the description of what it breaks."""
    return {change_text(each): _said(each) for each in findings}


def _said(finding: PlanFinding) -> str:
    columns = " ".join(sorted(map(column_text, finding.columns)))
    parts = [f"{finding.outcome}: {columns}" if columns else finding.outcome]
    parts += filter(None, (" ".join(finding.jobs), ", ".join(finding.consumers)))
    return "; ".join(parts)


@pytest.mark.parametrize(
    ("dialect", "sql", "expected"),
    [
        ("spark", "ALTER TABLE sales.orders DROP COLUMN amount", {"drop column sales.db/orders#amount": REVENUE}),
        ("spark", "ALTER TABLE sales.orders DROP COLUMN status", {"drop column sales.db/orders#status": STATUS}),
        ("spark", "ALTER TABLE spark_catalog.other.orders DROP COLUMN amount",
         {"drop column spark_catalog.other.orders#amount": UNKNOWN}),
        ("spark", "ALTER TABLE sales.orders DROP COLUMNS (note, dead)",
         {"drop column sales.db/orders#note": SAFE, "drop column sales.db/orders#dead": SAFE}),
        ("databricks", "ALTER TABLE sales.orders DROP COLUMN note, AMOUNT",
         {"drop column sales.db/orders#amount": REVENUE, "drop column sales.db/orders#note": SAFE}),
        ("spark", "ALTER TABLE sales.orders RENAME COLUMN amount TO gross",
         {"rename column sales.db/orders#amount to gross": REVENUE}),
        ("spark", "ALTER TABLE sales.orders ALTER COLUMN amount TYPE string",
         {"change type of sales.db/orders#amount from decimal(10,2) to STRING": REVENUE}),
        ("spark", "ALTER TABLE sales.orders ALTER COLUMN dead TYPE bigint",
         {"change type of sales.db/orders#dead from int to BIGINT": SAFE}),
        ("spark", "ALTER TABLE sales.orders ALTER COLUMN amount TYPE decimal(12,2)",
         {"change type of sales.db/orders#amount from decimal(10,2) to DECIMAL(12, 2)": SAFE}),
        ("spark", "ALTER TABLE sales.orders ALTER COLUMN amount TYPE decimal(10, 2)", {}),
        ("spark", "ALTER TABLE sales.orders ADD COLUMN channel string", {}),
        ("spark", "DROP TABLE sales.report", {"drop table sales.db/report": "breaks; Excel: revenue"}),
        ("spark", "DROP TABLE IF EXISTS sales.daily",
         {"drop table sales.db/daily": "breaks: sales.db/report#total; jobs/to_report; Excel: revenue"}),
        ("spark", "ALTER TABLE sales.daily RENAME TO sales.by_day",
         {"rename table sales.db/daily to sales.by_day":
          "breaks: sales.db/report#total; jobs/to_report; Excel: revenue"}),
        ("spark", "CREATE OR REPLACE TABLE sales.daily AS"
                  " SELECT current_date() AS day, sum(amount) AS revenue FROM sales.orders", {}),
        ("spark", "CREATE OR REPLACE TABLE sales.daily AS SELECT day, revenue AS total FROM sales.daily",
         {"drop column sales.db/daily#revenue":
          "breaks: sales.db/report#total; jobs/to_report; Excel: revenue"}),
        ("spark", "CREATE OR REPLACE TABLE sales.orders AS SELECT * EXCEPT (amount) FROM sales.orders",
         {"drop column sales.db/orders#amount": REVENUE}),
        ("spark", "CREATE OR REPLACE TABLE sales.orders AS SELECT * FROM unknown.place",
         {"not understood: sales.db/orders": STATUS.replace("breaks", "may break")}),
        ("spark", "CREATE TABLE sales.brand_new AS SELECT * FROM sales.orders", {}),
        ("spark", "CREATE TABLE IF NOT EXISTS sales.orders (id bigint)", {}),
        ("spark", "INSERT INTO sales.orders SELECT 1; SELECT 1; GRANT SELECT ON sales.orders TO a; USE sales", {}),
        ("spark", "ALTER TABLE sales.orders RENAME COLUMN dead TO amount2;"
                  " ALTER TABLE sales.orders RENAME COLUMN amount2 TO dead", {}),
        ("spark", "CREATE TABLE sales.tmp AS SELECT id, amount, note, status FROM sales.orders;"
                  " DROP TABLE sales.orders; ALTER TABLE sales.tmp RENAME TO sales.orders",
         {"drop column sales.db/orders#dead": SAFE}),
        ("tsql", "ALTER TABLE dbo.customers DROP COLUMN [email]", {"drop column shop.dbo.customers#email": EMAIL}),
        ("tsql", "ALTER TABLE [shop].[dbo].[customers] DROP COLUMN name",
         {"drop column shop.dbo.customers#name": "breaks; Power BI: Customers"}),
        ("tsql", "ALTER TABLE dbo.customers ALTER COLUMN email nvarchar(200) NOT NULL",
         {"change type of shop.dbo.customers#email from nvarchar(100) to NVARCHAR(200)": SAFE}),
        ("tsql", "ALTER TABLE dbo.customers ALTER COLUMN email nvarchar(50)",
         {"change type of shop.dbo.customers#email from nvarchar(100) to NVARCHAR(50)": EMAIL}),
        ("tsql", "EXEC sp_rename 'dbo.customers.email', 'mail', 'COLUMN'",
         {"rename column shop.dbo.customers#email to mail": EMAIL}),
        ("tsql", "EXEC sp_rename 'dbo.customers', 'clients'",
         {"rename table shop.dbo.customers to dbo.clients": f"{EMAIL}; Power BI: Customers"}),
        ("tsql", "ALTER TABLE dbo.customers DROP COLUMN id\nGO\nALTER TABLE dbo.customers ADD id int\nGO 2", {}),
        ("tsql", "ALTER SCHEMA archive TRANSFER dbo.crm", {"not understood: shop.dbo.crm": UNREAD}),
        ("tsql", "DROP VIEW dbo.crm", {"drop table shop.dbo.crm": UNREAD}),
        ("tsql", "SELECT id, name INTO #t FROM dbo.customers;"
                 " CREATE OR ALTER VIEW dbo.crm AS SELECT email AS contact FROM dbo.customers", {}),
        ("postgres", "ALTER TABLE public.users DROP COLUMN mail, ALTER COLUMN age SET DATA TYPE bigint",
         {"drop column app.public.users#mail": OPAQUE,
          "change type of app.public.users#age from int to BIGINT": SAFE}),
        ("postgres", 'ALTER TABLE "public"."users" RENAME mail TO email',
         {"rename column app.public.users#mail to email": OPAQUE}),
        ("postgres", "DROP TABLE public.users CASCADE",
         {"drop table app.public.users": "breaks: dump/users; jobs/export"}),
        ("postgres", "ALTER TABLE public.users SET SCHEMA archive",
         {"not understood: app.public.users": "may break: dump/users; jobs/export"}),
        ("snowflake", "ALTER TABLE shop.s.items DROP COLUMN title, price",
         {"drop column SHOP.S.ITEMS#TITLE": TITLE, "drop column SHOP.S.ITEMS#PRICE": SAFE}),
        ("snowflake", "ALTER TABLE s.items MODIFY COLUMN title SET DATA TYPE VARCHAR(10)",
         {"change type of SHOP.S.ITEMS#TITLE from VARCHAR(20) to VARCHAR(10)": TITLE}),
        ("snowflake", "CREATE OR REPLACE VIEW shop.s.items AS SELECT id, title FROM shop.s.items",
         {"drop column SHOP.S.ITEMS#PRICE": SAFE}),
        ("bigquery", "ALTER TABLE `proj.ds.clicks` DROP COLUMN IF EXISTS kind",
         {"drop column proj.ds.clicks#kind": UNREAD}),
        ("bigquery", "CREATE OR REPLACE TABLE ds.clicks AS"
                     " SELECT * EXCEPT(ts), CAST(ts AS STRING) AS ts FROM ds.clicks",
         {"change type of proj.ds.clicks#ts from TIMESTAMP to TEXT": UNREAD}),
        ("spark", "DROP TABLE main.dump.users", {"drop table dump/users": UNREAD}),  # known only by its folder
        ("bigquery", "ALTER TABLE ds.clicks RENAME COLUMN nonsense TO other",
         {"rename column proj.ds.clicks#nonsense to other": UNKNOWN}),
    ],
)  # fmt: skip
def test_sql_breaks_what_a_person_would_say(plan: Plan, dialect: str, sql: str, expected: dict[str, str]) -> None:
    assert told(plan(lambda schema: apply_sql(sql, dialect, schema, "it"), dialect)) == expected


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE main.fct_orders DROP COLUMN amount",
        "ALTER TABLE main.fct_orders ALTER COLUMN amount TYPE varchar",
        "ALTER TABLE main.fct_orders RENAME COLUMN amount TO gross",
        "CREATE OR REPLACE TABLE main.fct_orders AS SELECT id, note, zip FROM main.source_orders",
        "changes: [{table: main.fct_orders, drop: amount}]",
    ],
)
def test_a_column_that_only_sql_names_is_there(plan: Plan, change: str) -> None:
    take = apply_yaml if change.startswith("changes") else None
    found = plan(lambda schema: take(change.encode(), schema, "x") if take else apply_sql(change, "duckdb", schema, ""))
    assert [(each.column, _said(each)) for each in found] == [
        ("amount", "breaks: docs.main.mart_totals#total; jobs/mart_totals")
    ]


def test_a_column_that_only_a_filter_names_is_there(plan: Plan) -> None:
    [found] = plan(lambda schema: apply_sql("ALTER TABLE main.fct_orders DROP COLUMN zip", "duckdb", schema, ""))
    assert found.outcome == "breaks"
    [found] = plan(lambda schema: apply_sql("ALTER TABLE main.fct_orders DROP COLUMN other", "duckdb", schema, ""))
    assert found.outcome == "not known"


def test_a_column_that_is_not_there_is_told_apart_from_a_table_that_is_not(plan: Plan) -> None:
    asked = "ALTER TABLE sales.orders DROP COLUMN amuont; ALTER TABLE sales.ordres DROP COLUMN amount"
    column, table = plan(lambda schema: apply_sql(asked, "spark", schema, "it"), "spark")
    assert (column.outcome, table.outcome) == (UNKNOWN, UNKNOWN)
    assert (column.note or "").endswith("no column of this name at this point. The most similar names are amount.")
    assert (table.note or "").startswith("Headwater does not know this table")


@pytest.mark.parametrize("asked", ["orde_rid", "orderid", "ordre_id"])
def test_the_nearest_column_is_named_for_a_slip_in_a_name_of_several_words(asked: str) -> None:
    table = PresentTable("db", "sales.orders", {"id": "int", "order_id": "int", "amount": "int"})
    schema = PlannedSchema(lambda _: table)
    apply_sql(f"ALTER TABLE sales.orders DROP COLUMN {asked}", "spark", schema, "it")
    (change,) = schema.changes()
    assert "The most similar names are order_id" in (change.why or "")


@pytest.mark.parametrize(("dialect", "sql", "wanted"), STATEMENTS, ids=[f"{each[0]}: {each[1]}" for each in STATEMENTS])
def test_no_statement_of_a_migration_is_passed_over_silently(dialect: str, sql: str, wanted: str) -> None:
    columns: dict[str, str | None] = {"a": "int", "b": "int", "c": "struct<m:int>", "c.m": "int", "m": "int"}
    schema = PlannedSchema(lambda name: PresentTable("db", "t", columns) if name == "t" else None)
    apply_sql(sql, dialect, schema, "it")
    assert ", ".join(sorted(filter(None, map(_in_words, schema.changes())))) == wanted


@pytest.mark.parametrize(("dialect", "sql", "wanted"), TRUTH, ids=[f"{each[0]}: {each[1]}" for each in TRUTH])
def test_a_statement_does_what_its_dialect_documents_or_is_not_understood(dialect: str, sql: str, wanted: str) -> None:
    schema = PlannedSchema(lambda name: PresentTable("db", name, COLUMNS) if name == "sales.orders" else None)
    apply_sql(sql, dialect, schema, "it")
    found = {*map(_in_words, schema.changes())}
    assert found == {*filter(None, wanted.split(", "))} or "unread" in found


def test_most_statements_of_migrations_are_understood() -> None:
    unread = 0
    for dialect, sql, wanted in TRUTH:
        schema = PlannedSchema(lambda name: PresentTable("db", name, COLUMNS) if name == "sales.orders" else None)
        apply_sql(sql, dialect, schema, "it")
        unread += wanted != "unknown" and any(each.kind == "not_understood" for each in schema.changes())
    assert unread <= 23


def test_a_statement_that_the_parser_refuses_hides_no_other() -> None:
    schema = PlannedSchema(lambda name: PresentTable("db", name, COLUMNS) if name == "sales.orders" else None)
    text = "ALTR TABLE sales.orders DROP note; ALTER TABLE sales.orders DROP COLUMN status; SELECT ';' FROM ("
    apply_sql(text, "postgres", schema, "it")
    assert [*map(_in_words, schema.changes())] == ["drop status", "unread", "unread"]
    assert [each.table_name for each in schema.changes()] == ["sales.orders", "sales.orders", ""]


def test_a_list_renames_a_field_within_its_struct() -> None:
    schema = PlannedSchema(lambda name: PresentTable("db", name, COLUMNS) if name == "sales.orders" else None)
    apply_yaml(b"changes:\n  - {table: sales.orders, rename: address.city, to: town}", schema, "it")
    assert [*map(_in_words, schema.changes())] == ["rename address.city address.town"]


def _in_words(change: PlannedChange) -> str:
    if change.kind == "not_understood":
        return "unread"
    if change.kind == "retype_column":
        return f"retype {change.column}"
    words = change.kind.replace("_column", "").replace("_", " ")
    return f"{words} {change.column} {change.after or ''}".strip() if change.column else words


LIST = """
changes:
  - {table: sales.orders, drop: amount}
  - {table: sales.orders, rename: note, to: remark}
  - {table: sales.orders, retype: dead, to: string}
  - {table: sales.report, drop_table: true}
  - {table: dbo.crm, rename_table: contacts}
"""
CONTRACT = """
apiVersion: v3.1.0
kind: DataContract
id: orders
schema:
  - name: Orders
    physicalName: sales.orders
    properties:
      - {name: id, physicalType: bigint}
      - {name: amount, physicalType: string}
      - {name: status, logicalType: string}
      - {name: note}
"""


def test_a_list_and_a_contract_break_what_sql_would(plan: Plan) -> None:
    assert told(plan(lambda schema: apply_yaml(LIST.encode(), schema, "it"))) == {
        "drop column sales.db/orders#amount": REVENUE,
        "rename column sales.db/orders#note to remark": SAFE,
        "change type of sales.db/orders#dead from int to string": SAFE,
        "drop table sales.db/report": "breaks; Excel: revenue",
        "rename table shop.dbo.crm to dbo.contacts": UNREAD,
    }
    assert told(plan(lambda schema: apply_yaml(CONTRACT.encode(), schema, "it"))) == {
        "change type of sales.db/orders#amount from decimal(10,2) to string": REVENUE,
        "drop column sales.db/orders#dead": SAFE,
    }


def test_a_plan_names_the_owners_of_what_it_breaks(plan: Plan) -> None:
    (finding,) = plan(lambda schema: apply_sql("ALTER TABLE sales.orders DROP COLUMN amount", "spark", schema, "x.sql"))
    assert (finding.outcome, finding.owners) == ("breaks", ("finance",))
    assert "- owners: `finance`" in plan_markdown([finding])


MANIFEST = {
    "metadata": {"adapter_type": "spark"},
    "nodes": {
        "model.p.daily": {
            "resource_type": "model", "database": None, "schema": "sales", "alias": "daily", "config": {},
            "depends_on": {"nodes": ["model.p.orders"]},
            "compiled_code": "with o as (select * from sales.orders) select note as day, amount as revenue from o",
        },
        "model.p.orders": {
            "resource_type": "model", "database": None, "schema": "sales", "alias": "orders",
            "config": {"contract": {"enforced": True}}, "depends_on": {"nodes": []},
            "columns": {n: {"name": n, "data_type": None} for n in ("id", "amount", "status")},
        },
        "model.p.report": {
            "resource_type": "model", "database": None, "schema": "sales", "alias": "report", "config": {},
            "depends_on": {"nodes": []}, "columns": {},
        },
        "test.p.x": {"resource_type": "test"},
    },
}  # fmt: skip


def test_models_of_dbt_take_the_place_of_their_tables_in_the_order_of_the_project(plan: Plan) -> None:
    assert told(plan(lambda schema: apply_manifest(MANIFEST, schema, "it"))) == {
        "drop column sales.db/orders#note": SAFE,
        "drop column sales.db/orders#dead": SAFE,
        "not understood: sales.db/report": "may break; Excel: revenue",
    }  # fmt: skip


def test_a_real_project_of_dbt_breaks_what_its_new_code_no_longer_makes(plan: Plan) -> None:
    """The manifest was made by dbt 1.12 with DuckDB: a view, a model with an enforced contract, a CTE and
    `select *`.
    """
    manifest = json.loads((FIXTURES / "dbt" / "manifest.json").read_text())
    assert told(plan(lambda schema: apply_manifest(manifest, schema, "it"), "duckdb")) == {
        "drop column shop.main.stg_orders#discount": "breaks: shop.main.daily_revenue#discount; jobs/dbt",
        "drop column shop.main.daily_revenue#discount": UNREAD,
        "change type of shop.main.customers#customer_id from varchar to bigint": UNREAD,
    }


def test_a_contract_that_promises_a_column_downstream_is_broken_with_it(tables: tuple[PresentTables, Any]) -> None:
    known, ask = tables
    report = CONTRACT.replace("sales.orders", "sales.report").replace("name: amount", "name: TOTAL")
    report = report.replace("id: orders", "id: report")
    held = read_promised_columns([("orders.yml", CONTRACT.encode()), ("r.yml", report.encode()),
                           ("policy.yml", b"policies: []")], known.find_table)  # fmt: skip
    schema = PlannedSchema(known.find_table)
    apply_sql("ALTER TABLE sales.orders DROP COLUMNS (amount, dead)", "spark", schema, "it")
    found = {
        each.column: (each.outcome, each.contracts) for each in plan_findings(schema.changes(), known, ask, held, None)
    }
    assert found == {"amount": ("breaks", ["orders", "report"]), "dead": ("safe", [])}


@pytest.mark.parametrize(
    ("take", "said"),
    [
        (lambda schema: apply_sql("DROP TABLE 'a", "spark", schema, "a.sql"), "is not valid SQL in the dialect spark"),
        (lambda schema: apply_sql("DROP TABLE a /*" * 5000, "postgres", schema, "a.sql"), "in the dialect postgres"),
        (lambda schema: apply_yaml(b"changes:\n  - {table: t, drop: a}\n  - {table: t}", schema, "a.yml"),
         "a.yml, line 3:"),
        (lambda schema: apply_yaml(b"a: 1", schema, "a.yml"), "neither a data contract"),
        (lambda schema: apply_yaml(ODCS + b"{name: t, properties: {id: {}}}]", schema, "a.yml"),
         "`properties` of 't' is not a list"),
        (lambda schema: apply_yaml(ODCS + b"7]", schema, "a.yml"), "does not list any table"),
        (lambda schema: read_promised_columns([("a.yml", ODCS + b"{name: t, properties: [id]}]")], schema.lookup),
         "column of 't' has no `name`"),
        (lambda schema: apply_manifest({"metadata": {}, "nodes": {"m": {"resource_type": "model"}}}, schema, "it"),
         "does not name the table of 'm'"),
        (lambda schema: apply_yaml(b"a: &x 1\nb: *x", schema, "a.yml"), "alias *x is not supported"),
    ],
)  # fmt: skip
def test_what_is_no_change_says_where_and_what_to_write(plan: Plan, take: Any, said: str) -> None:
    with pytest.raises(WrongSetting, match=said.replace("*", r"\*")):
        plan(take)


def test_a_name_that_may_be_several_tables_asks_for_a_namespace(plan: Plan) -> None:
    with pytest.raises(WrongQuestion, match="--namespace"):
        plan(lambda schema: apply_sql("DROP TABLE users", "spark", schema, "it"))


def test_the_command_answers_with_a_status_json_and_markdown(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "change.sql"
    file.write_text("ALTER TABLE sales.orders DROP COLUMN amount")
    done = commanded("plan", file, "--data", data, "--json", "--markdown", tmp_path / "plan.md", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert found["outcomes"] == {"breaks": 1}
    assert [each["column"] for each in found["items"][0]["columns"]] == ["revenue", "total"]
    written = (tmp_path / "plan.md").read_text()
    assert "| ❌ breaks | drop column sales.db/orders\\#amount | 2 | 2 | 1 | 0 |" in written
    assert "- jobs: `jobs/to_daily`, `jobs/to_report`" in written
    (tmp_path / "deep.json").write_text("[" * 200_000)
    deep = commanded("plan", tmp_path / "deep.json", "--data", data)
    assert (deep.returncode, "is not valid JSON" in deep.stderr) == (3, True)
    unread = ("plan", "ALTER TABLE ds.clicks DROP COLUMN kind", "--dialect", "bigquery", "--data", data)
    stricter = ((), ("--fail-on", "breaks"), ("--fail-on", "may-break"), ("--strict",))  # the last option is deprecated
    assert [commanded(*unread, *more, cwd=tmp_path).returncode for more in stricter] == [0, 0, 1, 1]
    shown = commanded("plan", "DO $$ BEGIN END $$", "--dialect", "postgres", "--data", data, cwd=tmp_path).stdout
    assert "Plan, 1 may break, 1 statement not understood" in shown
    gone = commanded("plan", "gone.sql", "--data", data, cwd=tmp_path)
    assert (gone.returncode, "neither a file nor an SQL statement" in gone.stderr) == (3, True)


def test_names_from_elsewhere_make_no_markup(plan: Plan) -> None:
    finding = plan(lambda schema: apply_sql("DROP TABLE sales.report", "spark", schema, "it"))[0]
    hostile = "a`|<img src=x>\n@all"
    text = plan_markdown([finding._replace(dataset=hostile, jobs=[hostile])])
    shown = "`` a`\\|<img src=x> @all ``"  # formatted as code, the name is plain text
    assert shown in text
    assert not {"<img", "@all", "a`|"} & {each for each in ("<img", "@all", "a`| ") if each in text.replace(shown, "")}
