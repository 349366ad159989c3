"""`headwater declare`: lineage that no listener sees is declared, changed and withdrawn, including Power BI's."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from headwater.common.errors import WrongSetting
from headwater.events.validation import validate_event
from headwater.governance.declarations.declaration import Declaration, resolve_declaration
from headwater.governance.declarations.events import (
    FACET,
    ActiveDeclaration,
    active_declarations,
    check_conflicts,
    events_to_declare,
    events_to_withdraw,
)
from headwater.governance.declarations.file import read_declaration_file
from headwater.governance.declarations.powerbi.dax import UsedColumn, dax_references, only_counted_columns
from headwater.governance.declarations.powerbi.declaration import read_powerbi
from headwater.governance.declarations.powerbi.m_expressions import table_source
from tests.support.commands import commanded
from tests.support.data.parsing import World
from tests.support.data.shop import EVENTS, bodies
from tests.support.paths import FIXTURES

POWERBI = FIXTURES / "powerbi"
SPACE = "powerbi://api.powerbi.com/v1.0/myorg/Sales"
NOW = "2026-03-02T12:00:00Z"

CRM = """
version: 1
namespace: s3://lake
owners: crm-team
jobs:
  - name: crm-extract
    description: a REST call, nightly
    outputs:
      - dataset: landing/customers
        columns:
          email: https://crm.acme.net/contacts#mail
          phone:
            - {from: "https://crm.acme.net/contacts#tel", masked: true, description: its last digits}
            - {from: "https://crm.acme.net/contacts#region", how: FILTER}
          notes:
  - name: crm-sync
    reads: [silver/customers#email_key]
datasets:
  - dataset: contacts
    namespace: https://crm.acme.net
    tags: [crm]
    columns: [{name: mail, type: text, tags: [pii]}, tel, fax]
"""


def declaration(text: str, name: str = "crm") -> Declaration:
    return resolve_declaration(read_declaration_file(text.encode(), f"{name}.yml"), name)


def after(events: list[dict[str, Any]]) -> ActiveDeclaration:
    """Return the active declaration after some events."""
    ledger = events[-1]
    item = {**{key: ledger["job"][key] for key in ("namespace", "name")}, "eventTime": ledger["eventTime"]}
    found = active_declarations([{**item, "facet": ledger["job"]["facets"][FACET]}])
    return found.get("crm", ActiveDeclaration("crm"))


def test_a_declaration_is_events_that_keep_to_the_specification_and_stands_after_them() -> None:
    events = events_to_declare(declaration(CRM), None, "", NOW)
    assert [problem for event in events for problem in validate_event(event) if problem.severity == "error"] == []
    extract, _, contacts, _ = events
    assert extract["inputs"] == [{"namespace": "https://crm.acme.net", "name": "contacts"}]
    fields = extract["outputs"][0]["facets"]["columnLineage"]["fields"]
    told = {
        name: [
            (each["field"], *map(each["transformations"][0].get, ("type", "subtype", "masking")))
            for each in of["inputFields"]
        ]
        for name, of in fields.items()
    }
    assert told == {
        "email": [("mail", "DIRECT", "IDENTITY", False)],
        "phone": [("tel", "DIRECT", "TRANSFORMATION", True), ("region", "INDIRECT", "FILTER", False)],
        "notes": [],
    }
    assert extract["job"]["facets"]["ownership"]["owners"] == [{"name": "crm-team"}]
    assert sorted(contacts["dataset"]["facets"]) == ["ownership", "schema", "tags"]
    assert contacts["dataset"]["facets"]["tags"]["tags"][1] == {
        "key": "pii", "value": "true", "source": "HEADWATER", "field": "mail",
    }  # fmt: skip
    stands = after(events)
    assert events_to_declare(declaration(CRM), stands, "", "2026-03-03T12:00:00Z") == []


def test_only_what_changed_is_sent_and_what_is_gone_is_taken_back() -> None:
    stands = after(events_to_declare(declaration(CRM), None, "", NOW))
    text = CRM.replace("  - name: crm-sync\n    reads: [silver/customers#email_key]\n", "").replace(
        "tags: [crm]", "description: x"
    )
    events = events_to_declare(declaration(text), stands, "", NOW)
    assert [problem for event in events for problem in validate_event(event) if problem.severity == "error"] == []
    about = [(event.get("job") or event["dataset"])["name"] for event in events]
    assert about == ["contacts", "crm-sync", "api.delete_job", "declare/crm"]
    assert (events[1]["inputs"], events[1]["outputs"]) == ([], [])
    assert events[0]["dataset"]["facets"]["documentation"]["description"] == "x"
    gone = events_to_withdraw(after(events), NOW)
    assert [each["job"]["name"] for each in gone if "job" in each] == ["crm-extract", "api.delete_job", "declare/crm"]
    facets = next(each["dataset"]["facets"] for each in gone if "dataset" in each)
    assert (facets["schema"]["_deleted"], facets["tags"]["tags"]) == (True, [])
    assert not after(gone).is_active


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "crm.yml, line 1: this is not a declaration. Start with `version: 1`"),
        ("version: 2", "crm.yml, line 1: version: Input should be '1'. Write one of '1'."),
        ("version: 1\njobs:\n  - name: a\n    output: x",
         "line 4: jobs.0.output: Extra inputs are not permitted. Remove it, or correct its name. Known names are"),
        ("version: 1\njobs:\n- {namespace: a}", "line 3: jobs.0.name: Field required. Add it."),
        ("version: 1\njobs:\n- name: a\n  outputs:\n  - dataset: s3://l/x\n    columns:\n      y:\n"
         "      - {from: s3://l/z#q, how: MAGIC}",
         "line 8: jobs.0.outputs.0.columns.y.0.how: Input should be"),
        ("version: 1\njobs: [{name: a, outputs: [x]}]", "'x' has no namespace. Add `namespace:` next to it"),
        ("version: 1\njobs: [{name: a, inputs: [s3://l/x]}]", "job 'a' has no outputs, so it declares no lineage."),
        ("version: 1\njobs:\n- {name: a, outputs: s3://l/x}\n- {name: a, outputs: s3://l/y}",
         "contains the job 'declared/a' twice."),
        ("version: 1\njobs: [\n", "crm.yml, line 3: this is not valid YAML"),
        ("version: 1\nversion: 1", "crm.yml, line 2: this is not valid YAML: the key 'version' occurs twice"),
        ("version: &a 1\nname: *a", "crm.yml, line 2: this is not valid YAML: the alias *a is not supported"),
        ("name: " + "[" * 100_000, "crm.yml, line 1: this is not valid YAML: it nests more than 100 levels"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line_and_what_to_write(text: str, said: str) -> None:
    with pytest.raises(WrongSetting) as refused:
        declaration(text)
    assert said in str(refused.value)


def test_two_declarations_hold_no_job_together() -> None:
    stands = {"crm": after(events_to_declare(declaration(CRM), None, "", NOW))}
    with pytest.raises(WrongSetting, match="is declared by 'new' and by 'crm'"):
        check_conflicts([declaration(CRM, "new")], stands)
    with pytest.raises(WrongSetting, match="Two files have the declaration name 'crm'"):
        check_conflicts([declaration(CRM), declaration(CRM)], {})
    check_conflicts([declaration(CRM)], stands)


def scanned(*more: str) -> tuple[dict[str, Any], list[str]]:
    """Return the jobs of a scanned model by name, and the printed messages."""
    said: list[str] = []
    files = [(each, (POWERBI / each).read_bytes()) for each in more or ("scan.json",)]
    (model,) = read_powerbi(files, "Sales", "Shop", said.append)
    declared = resolve_declaration(model, "")
    assert not [
        problem
        for event in events_to_declare(declared, None, "", NOW)
        for problem in validate_event(event)
        if problem.severity == "error"
    ]
    edges = {
        job.name.name: {
            f"{step.source.name}#{step.column} {step.how} {column}{' masked' if step.masked else ''}"
            for output in job.outputs
            for column, steps in output.columns.items()
            for step in steps
        }
        for job in declared.jobs
    }
    return edges, said


def test_a_scan_of_power_bi_is_lineage_from_tables_to_measures() -> None:
    edges, said = scanned()
    assert said == ["Sales/Shop: skipped table 'Typed in', because its source is unknown."]
    assert edges == {
        "Shop/Orders refresh": {
            "shop.dbo.orders#id IDENTITY id", "shop.dbo.orders#amt IDENTITY Amount",
            "shop.dbo.orders#email IDENTITY email",
        },
        "Shop/Calendar Days refresh": {"lh.dbo.calendar#day IDENTITY day", "lh.dbo.calendar#is day IDENTITY is day"},
        "Shop/Orders calculated": {"Shop/Orders#Amount TRANSFORMATION Gross"},
        "Shop/measures": {
            "Shop/Orders#Amount AGGREGATION Total",
            "Shop/measures#Total AGGREGATION Per Day",
            "Shop/measures#Total AGGREGATION Paid",
            "Shop/Calendar Days#is day AGGREGATION Paid",
            "Shop/Calendar Days#day FILTER Paid",
            "Shop/Calendar Days#is day FILTER Paid",
        },
        "reports/Revenue": set(),
    }  # fmt: skip


def test_lists_of_semantic_link_are_the_same_and_dependencies_count_before_dax() -> None:
    lists = ("measures.csv", "columns.csv", "partitions.csv", "dependencies.csv")
    edges, said = scanned(*lists)
    assert (edges, said) == (
        {
            "Shop/Orders refresh": {"shop.dbo.orders#amt IDENTITY Amount", "shop.dbo.orders#email IDENTITY email"},
            "Shop/measures": {"Shop/Orders#Amount AGGREGATION Total", "Shop/Orders#email AGGREGATION Emails masked"},
        },
        [],
    )
    with pytest.raises(WrongSetting, match="Add --workspace NAME --model NAME"):
        read_powerbi([("a.csv", b"")], None, None, print)
    with pytest.raises(WrongSetting, match="line 1: no semantic link list has these headings"):
        read_powerbi([("a.csv", b"x,y\n")], "w", "m", print)
    with pytest.raises(WrongSetting, match="has no `workspaces`"):
        read_powerbi([("a.json", b"{}")], None, None, print)


@pytest.mark.parametrize(
    ("dax", "expected"),
    [
        ("SUM(Sales[Amount])", [("Sales", "Amount")]),
        ("'It''s'[a]]b]", [("It's", "a]b")]),
        ('"Sales[Amount]" & [M] -- [no]\n /* [no] */ // [no]', [(None, "M")]),
        ("COUNTROWS('Sales')", []),
        ("FILTER(Sales, Sales[x] > 1)", [("Sales", None), ("Sales", "x")]),
        ("[unclosed", [(None, "unclosed")]),
        ("'unclosed", [("unclosed", None)]),
    ],
)
def test_dax_refers_to_what_stands_in_brackets_and_to_whole_tables(dax: str, expected: list[Any]) -> None:
    assert [each[:2] for each in dax_references(dax)] == expected


@pytest.mark.parametrize(
    ("dax", "is_masked"),
    [
        ("COUNT(T[c])", True),
        ("distinctcount ( 'T'[c] )", True),
        ("COUNTROWS(VALUES(T[c])) + COUNTROWS(DISTINCT(T[c]))", True),
        ("CALCULATE(COUNTA(T[c]), T[d] = 1)", True),
        ("COUNT(T[d])", False),
        ("MAX(T[c])", False),
        ("COUNT(T[c]) & MAX(T[c])", False),
        ("COUNT(T[c]) & MAXX(T, [c])", False),
        ("CONCATENATEX(VALUES(T[c]), T[c])", False),
        ("COUNTROWS(FILTER(VALUES(T[c]), T[c] > 1))", False),
        ("'COUNT'(T[c])", False),
        ("COUNT(T[c]", False),
    ],
)
def test_dax_that_only_counts_a_column_masks_it(dax: str, is_masked: bool) -> None:
    column = UsedColumn("T", "c")
    assert only_counted_columns(dax, [column]) == ({column} if is_masked else set())


@pytest.mark.parametrize(
    ("m", "place", "by_name"),
    [
        ('let s = PostgreSQL.Database("pg:5432", "app"), t = s{[Schema="public",Item="users"]}[Data] in t',
         ("postgres://pg:5432", "app.public.users"), True),
        ('let s = Lakehouse.Contents(null), a = s{[workspaceId="w-1"]}[Data], b = a{[lakehouseId="l-1"]}[Data], '
         't = b{[Id="orders",ItemKind="Table"]}[Data] in t',
         ("abfss://w-1@onelake.dfs.fabric.microsoft.com", "l-1/Tables/orders"), True),
        ('let s = Snowflake.Databases("org-a.snowflakecomputing.com","WH"), d = s{[Name="DB",Kind="Database"]}[Data], '
         'e = d{[Name="S",Kind="Schema"]}[Data], t = e{[Name="T",Kind="Table"]}[Data] in t',
         ("snowflake://org-a.snowflakecomputing.com", "DB.S.T"), True),
        ('let s = Databricks.Catalogs("adb-1.azuredatabricks.net", "/sql"), '
         'd = s{[Name="main",Kind="Database"]}[Data], '
         'e = d{[Name="sales",Kind="Schema"]}[Data], t = e{[Name="orders",Kind="Table"]}[Data], '
         'g = Table.Group(t, {"a"}, {}) in g',
         ("unitycatalog://adb-1.azuredatabricks.net", "main.sales.orders"), False),
        ('let s = Sql.Database("h", "d", [Query="select 1"]) in s', None, None),
        ("let s = Web.Contents(\"x\") in s", None, None),
    ],
)  # fmt: skip
def test_m_tells_which_table_is_read(m: str, place: Any, by_name: Any) -> None:
    found = table_source(m, {})
    assert (found and (found.place.namespace, found.place.dataset), found and found.by_name) == (place, by_name)


@pytest.mark.slow
def test_declared_lineage_is_asked_about_like_any_shown_apart_and_gone_when_withdrawn(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    world.append(*bodies(EVENTS))
    world.parser().commit_next()
    folder = tmp_path / "lineage"
    folder.mkdir()
    (folder / "crm.yml").write_text(CRM)
    data = ("--data", world.folder, "--json")

    def ask(*arguments: Any, status: int = 0) -> Any:
        done = commanded(*arguments, *data, cwd=tmp_path)
        assert done.returncode == status, done.stdout + done.stderr
        return json.loads(done.stdout)

    assert ask("declare", folder, "--dry-run")["items"][0]["did"] == "declared"
    assert ask("declare", folder)["events"] == 4
    assert ask("declare", folder)["events"] == 0
    hits = {(each["dataset"], each["column"]): each["masked"] for each in ask("impact", "contacts", "mail")["columns"]}
    assert hits["landing/customers", "Email"] is False
    assert hits["declared/crm-sync", "email_key"] is True
    why = ask("edge", "contacts#mail", "landing/customers#email")["items"]
    assert [each["origin"] for each in why] == ["declared"]
    verdicts = {each["column"]: each["verdict"] for each in ask("unused", "contacts")["items"]}
    assert verdicts == {"fax": "unused", "mail": "used", "region": "used", "tel": "used"}

    (folder / "bi.json").write_bytes((POWERBI / "scan.json").read_bytes())
    ask("declare", "--from-powerbi", folder / "bi.json")
    used = {each["column"]: each["verdict"] for each in ask("unused", "Shop/Orders", "--namespace", SPACE)["items"]}
    assert used == {"id": "unknown", "Amount": "used", "email": "unknown", "Gross": "unknown"}, (
        "a report reads the whole table"
    )
    assert [each["declaration"] for each in ask("declare")["items"]] == ["powerbi Sales/Shop", "crm"]
    written = commanded("declare", "--from-powerbi", folder / "bi.json", "--write", tmp_path / "out", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    (again,) = (tmp_path / "out").iterdir()
    assert ask("declare", again)["items"][0]["did"] == "unchanged", "the written declaration must equal the read one"
    assert yaml.safe_load(again.read_text())["version"] == 1

    (folder / "crm.yml").unlink()
    gone = ask("declare", folder, "--prune")
    assert [(each["declaration"], each["did"]) for each in gone["items"]] == [("crm", "withdrawn")]
    assert ask("impact", "contacts", "mail")["columns"] == []
    wrong = commanded("declare", "--withdraw", "crm", *data, cwd=tmp_path)
    assert wrong.returncode == 3
    assert (
        "There is no declaration 'crm'. Use the name of one of these: 'powerbi Sales/Shop'"
        in msgspec.json.decode(wrong.stderr)["error"]
    )
