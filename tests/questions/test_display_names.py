"""Display names of datasets are unique and as short as possible, and every spelling leads to the same dataset."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from headwater.common.errors import NotKnown, WrongQuestion
from headwater.governance.contracts.breaks import Break
from headwater.governance.contracts.reports import CheckedFile, break_line, junit_text
from headwater.governance.planning.findings import AffectedColumn, plan_findings
from headwater.governance.planning.markdown import change_text, column_text
from headwater.governance.planning.schema import PlannedChange, PresentTable, PresentTables
from headwater.lineage.edges.facet_contents import FacetContentsInMemory
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.display_names import DisplayNames
from headwater.lineage.names.metadata_table import read_metadata
from headwater.lineage.runs.event_reading import FactsReader
from headwater.lineage.snapshots.derived_snapshots import FactSnapshot
from headwater.questions.answer_types.lineage import Coverage, CoverageItem
from headwater.questions.answer_types.lists import ChangeItem, Changes
from headwater.questions.display_names import may_contain_datasets, set_display_names
from headwater.questions.subjects import Subject, find_column, find_dataset, find_job
from tests.reference.small_events import Named, run, with_schema
from tests.reference.world_events import Json, dataset, deliver, schema, symlinks

SALES, HR = "3f2a9c1e-0000-4000-8000-00000000aa01", "3f2a9c1e-0000-4000-8000-00000000aa02"
LH, HR_LH, FLAT, UNKNOWN = (f"3eb04867-0000-4000-8000-0000000000b{number}" for number in range(1, 5))
METADATA = f"""kind,id,name,parent,target
workspace,{SALES},Sales,,
workspace,{HR},HR EU,,
item,{LH},lh.Lakehouse,Sales,
item,{HR_LH},lh.Lakehouse,HR EU,
item,{FLAT},flat.Lakehouse,Sales,Tables/{{table}}
alias,,Best customers,s3://gold,customers
"""


def onelake(workspace: str) -> str:
    return f"abfss://{workspace}@onelake.dfs.fabric.microsoft.com"


RULES = NameRules(metadata_rows=read_metadata(METADATA, "metadata.csv"))
CUSTOMERS, HR_CUSTOMERS = (
    (onelake(SALES), f"{LH}/Tables/silver/customers"),
    (onelake(HR), f"{HR_LH}/Tables/silver/customers"),
)
ORDERS, ITEMS = (onelake(SALES), f"{LH}/Tables/silver/orders"), (onelake(SALES), f"{FLAT}/Tables/items")
SHOWN: list[tuple[Named, str]] = [
    (CUSTOMERS, "Sales.lh.silver.customers"),
    (HR_CUSTOMERS, "`HR EU`.lh.silver.customers"),
    (ORDERS, "lh.silver.orders"),
    (ITEMS, "flat.items"),
    ((onelake(SALES), f"{LH}/Files/raw/orders"), "lh.Lakehouse/Files/raw/orders"),
    ((onelake(SALES), f"{UNKNOWN}/Tables/silver/orders"), f"{UNKNOWN}/Tables/silver/orders"),
    (("unitycatalog://adb-1.azuredatabricks.net", "main.sales.orders"), "main.sales.orders"),
    (("unitycatalog://adb-1.azuredatabricks.net", "main.sales.items"), "adb-1.azuredatabricks.net/main.sales.items"),
    (("unitycatalog://adb-2.azuredatabricks.net", "main.sales.items"), "adb-2.azuredatabricks.net/main.sales.items"),
    (("postgres://db", "shop.crm.people"), "shop.crm.people"),
    (("s3://gold", "customers"), "customers"),
    (("s3://lake", "sales/orders"), "lake/sales/orders"),
    (("s3://other", "sales/orders"), "other/sales/orders"),
    (("gs://other", "sales/orders"), "gs://other/sales/orders"),
    (("file", "/data/orders"), "/data/orders"),
    (("spark_prod", "db.table"), "db.table"),
]  # fmt: skip


def names_of(names: Iterable[Named], rules: NameRules = RULES) -> DisplayNames:
    found = DisplayNames(rules.onelake_names, rules.aliases)
    for name in names:
        found.add(Name(*name), Name(*name))
    return found


@pytest.mark.parametrize(("named", "shown"), SHOWN)
def test_a_display_name_is_the_shortest_form_that_no_other_dataset_has(named: Named, shown: str) -> None:
    if named[0] == "s3://other":
        shown = "s3://other/sales/orders"  # a bucket of gs has this name, too
    found = names_of(each for each, _ in SHOWN)
    assert found.display_name(Name(*named)) == shown
    assert found.find_unique_dataset(shown) == Name(*named)


def test_display_names_do_not_depend_on_the_order_in_which_datasets_become_known() -> None:
    forth, back = (names_of(each for each, _ in order) for order in (SHOWN, SHOWN[::-1]))
    assert [forth.display_name(Name(*each)) for each, _ in SHOWN] == [
        back.display_name(Name(*each)) for each, _ in SHOWN
    ]


def test_a_location_that_unity_catalog_names_is_shown_by_its_name_there() -> None:
    place = Name("s3://metastore", "__unitystorage/catalogs/1/tables/2")
    found = names_of([place.parts])
    found.add(Name("unitycatalog://adb-1.azuredatabricks.net", "main.sales.managed"), place)
    found.add(Name("hive://meta", "sales.managed"), place)
    assert found.display_name(place) == "main.sales.managed"
    assert found.find_by_suffix("sales.managed").by_alias == {place}


def test_no_display_name_is_what_users_call_another_dataset() -> None:
    found = names_of([("s3://gold", "customers"), ("s3://lake", "Best customers")])
    assert found.display_name(Name("s3://lake", "Best customers")) == "lake/Best customers"


_NAMESPACES = st.sampled_from([onelake(SALES), onelake(HR), "s3://a", "gs://a", "postgres://a", "a"])
_NAMES = st.text(alphabet="ab./", min_size=1, max_size=6).map(lambda text: f"{LH}/Tables/{text}") | st.text(
    "ab./`", min_size=1, max_size=5
)


@given(st.sets(st.tuples(_NAMESPACES, _NAMES), max_size=12))
def test_a_display_name_leads_back_to_its_dataset_alone(names: set[Named]) -> None:
    found = names_of(sorted(names))
    shown = {found.display_name(Name(*each)): each for each in names}
    ambiguous = {"/".join(each) for each in names}
    for text, named in shown.items():
        assert found.find_unique_dataset(text) == Name(*named) or text in ambiguous


MANAGED = ("s3://metastore", "__unitystorage/tables/2")
UNITY = ("databricks://adb-1.azuredatabricks.net", "main.sales.managed")
EVENTS: list[Json] = [
    *(
        run(number, number, with_schema(named, "id Email"), job=f"app.to_{number}")
        for number, (named, _) in enumerate(SHOWN)
    ),
    run(60, 60, dataset(MANAGED, schema=schema(["id"]), symlinks=symlinks(UNITY)), job="other.to_1"),
]  # fmt: skip


@pytest.fixture(scope="module")
def scene() -> FactSnapshot:
    contents = FacetContentsInMemory()
    reader = FactsReader(RULES.canonical, contents, RULES.canonical_job)
    facts = [reader.read_event(each.event_id, each.received_us, json.dumps(each.event)) for each in deliver(EVENTS)]
    return FactSnapshot(facts, contents)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        *((shown, named) for named, shown in SHOWN if named[0] != "s3://other"),
        *(("/".join(named), named) for named, _ in SHOWN),
        (f"{onelake('Sales')}/lh.Lakehouse/Tables/silver/customers", CUSTOMERS),
        ("Sales/lh.Lakehouse/Tables/silver/customers", CUSTOMERS),
        ("lh.Lakehouse/Tables/silver/orders", ORDERS),
        ("sales.lh.silver.customers", CUSTOMERS),
        ("Sales.LH.Silver.Customers", CUSTOMERS),
        ("`Sales`.`lh`.`silver`.`customers`", CUSTOMERS),
        ("`HR EU`.lh.silver.customers", HR_CUSTOMERS),
        ("HR EU.lh.silver.customers", HR_CUSTOMERS),
        ("lh.silver.orders", ORDERS),
        ("`lh`.silver.`orders`", ORDERS),
        ("`lh.silver.orders`", ORDERS),
        ("lh/silver/orders", ORDERS),
        ("flat.items", ITEMS),
        ("flat.dbo.items", ITEMS),
        ("main.sales.managed", MANAGED),
        ("`main`.`sales`.`managed`", MANAGED),
        ("sales.managed", MANAGED),
        ("spark_catalog.crm.people", ("postgres://db", "shop.crm.people")),
        ("SHOP.CRM.PEOPLE", ("postgres://db", "shop.crm.people")),
        ('"shop"."crm"."people"', ("postgres://db", "shop.crm.people")),
        ("[crm].[people]", ("postgres://db", "shop.crm.people")),
        ("delta.`s3://lake/sales/orders`", ("s3://lake", "sales/orders")),
        ("best customers", ("s3://gold", "customers")),
    ],
)
def test_every_way_to_write_a_name_leads_to_its_dataset(scene: FactSnapshot, text: str, named: Named) -> None:
    assert find_dataset(scene, RULES, Subject(None, text)).parts == named


@pytest.mark.parametrize(
    ("text", "candidates"),
    [
        ("lh.silver.customers", ["Sales.lh.silver.customers", "`HR EU`.lh.silver.customers"]),
        ("`lh`.silver.customers", ["Sales.lh.silver.customers", "`HR EU`.lh.silver.customers"]),
        ("LH.silver.customers", ["Sales.lh.silver.customers", "`HR EU`.lh.silver.customers"]),
        ("lh.Lakehouse/Tables/silver/customers", ["Sales.lh.silver.customers", "`HR EU`.lh.silver.customers"]),
        ("sales/orders", ["s3://lake/sales/orders", "s3://other/sales/orders", "gs://other/sales/orders"]),
        ("sales.items", ["unitycatalog://adb-1.azuredatabricks.net/main.sales.items",
                         "unitycatalog://adb-2.azuredatabricks.net/main.sales.items"]),
    ],
)  # fmt: skip
def test_an_ambiguous_name_is_refused_with_the_candidates(
    scene: FactSnapshot, text: str, candidates: Sequence[str]
) -> None:
    with pytest.raises(WrongQuestion) as refused:
        find_dataset(scene, RULES, Subject(None, text))
    assert all(repr(each) in str(refused.value) for each in candidates), str(refused.value)


def test_an_unknown_name_suggests_display_names(scene: FactSnapshot) -> None:
    with pytest.raises(NotKnown) as refused:
        find_dataset(scene, RULES, Subject(None, "lh.silver.ordesr"))
    assert refused.value.nearest[0] == "lh.silver.orders"


@pytest.mark.parametrize("text", ["email", "`EMAIL`", "people.Email", "crm.people.`email`", '"Email"'])
def test_a_column_may_be_quoted_and_qualified(scene: FactSnapshot, text: str) -> None:
    assert find_column(scene, Name("postgres://db", "shop.crm.people"), text) == "email"


@pytest.mark.parametrize("text", ["app.to_9", "APP.TO_9", "`app.to_9`", "to_9", "jobs/app.to_9", "JOBS/app.to_9"])
def test_a_job_may_be_asked_for_in_any_case_and_by_the_end_of_its_name(scene: FactSnapshot, text: str) -> None:
    jobs = [Name("jobs", f"app.to_{number}") for number in range(len(SHOWN))]
    assert find_job(scene, jobs, None, text) == Name("jobs", "app.to_9")


def test_the_end_of_the_names_of_several_jobs_is_refused_with_the_candidates(scene: FactSnapshot) -> None:
    with pytest.raises(WrongQuestion, match=r"'jobs/app\.to_1', 'jobs/other\.to_1'"):
        find_job(scene, [Name("jobs", "app.to_1"), Name("jobs", "other.to_1")], None, "to_1")


def test_coverage_and_changes_name_datasets_by_display_names_and_jobs_as_they_are() -> None:
    why = "no producer reports columns"
    covered = [
        CoverageItem(kind="dataset", namespace="s3://lake", dataset="a/b", reason=why, unread=[]),
        CoverageItem(kind="job", namespace="s3://lake", name="a/b", reason=why, unread=[]),
    ]
    changed = [
        ChangeItem("added", "column", of, "s3://lake", "a/b", "x", None, None, "2026-01-01T00:00:00Z", None, None)
        for of in ("dataset", "job")
    ]
    for items in (covered, changed):
        set_display_names(items, lambda _: "b")
        assert [item.display_name for item in items] == ["b", UNSET]
    assert all(map(may_contain_datasets, (Coverage, Changes)))


def test_plans_and_contract_checks_name_datasets_by_display_names() -> None:
    column = AffectedColumn("s3://lake", "Tables/silver/orders", "id", "lh.silver.orders")
    assert column_text(column) == "lh.silver.orders#id"
    assert column_text(column._replace(display_name=None)) == "Tables/silver/orders#id"
    table = PresentTable("s3://lake", "Tables/silver/orders", {"id": "int"}, "lh.silver.orders")
    change = PlannedChange("not_understood", "orders", table, "id", why="MERGE is not read.")
    answers: dict[str, Any] = {
        "impact": {"columns": [], "stops": [], "truncated": False}, "unused": {"items": [], "readers": []},
    }  # fmt: skip
    tables = PresentTables(lambda question, _: answers[question], None)
    (found,) = plan_findings([change], tables, lambda question, _: answers[question], [], None)
    assert change_text(found) == "not understood: lh.silver.orders#id"
    assert (found.namespace, found.dataset) == ("s3://lake", "Tables/silver/orders")
    broken = Break("column.removed", "s3://lake/Tables/silver/orders", "id", "it was removed")
    assert break_line(broken) == "column.removed: s3://lake/Tables/silver/orders#id: it was removed"
    named = broken._replace(display_name="lh.silver.orders")
    assert break_line(named) == "column.removed: lh.silver.orders#id: it was removed"
    assert 'name="column.removed lh.silver.orders#id"' in junit_text([CheckedFile("c.yaml", "", 1, [named])])
