"""Rule 2, form: one canonical name for each dataset, compared with the tables in docs/reference/names.md."""

import json
import pickle
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headwater.common.errors import WrongSetting
from headwater.lineage.edges.facet_contents import FacetContentsInMemory
from headwater.lineage.names.canonical_names import NameRules, default_rules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.metadata_table import MetadataRow, read_metadata
from headwater.lineage.runs.event_reading import make_facts_reader
from headwater.lineage.runs.jobs import job_key, run_key
from headwater.lineage.snapshots.derived_snapshots import FactSnapshot
from headwater.lineage.snapshots.snapshot import Window
from headwater.questions.reach import reach_answer
from headwater.questions.subjects import Bounds, Subject
from tests.reference.world_events import RECEIPT_US
from tests.support.name_addresses import addresses, version
from tests.support.paths import EVENTS, FIXTURES, ROOT, TESTS

DOCS = (ROOT / "docs/reference/names.md").read_text()
COMPARED = (
    (ROOT / "docs/explanation/benchmarks.md")
    .read_text()
    .partition("## Names: comparison with")[2]
    .partition("\n## ")[0]
)
SHIPPED = ROOT / "headwater" / "lineage" / "names" / "names.yaml"
WORKSPACE = "3f2a9c1e-0000-4000-8000-00000000aa01"
ONELAKE = f"abfss://{WORKSPACE}@onelake.dfs.fabric.microsoft.com"
ENDPOINT = "x.datawarehouse.fabric.microsoft.com"
GLUE = "arn:aws:glue:eu-west-1:123456789012"
HOSTILE = [
    "", "/", "//", " ", "'; drop table x --", '"', 'a"b', "a\nb/part-00000", "🦆/🦆=1", "\u202egnp.exe", "<script>",
    "%2F/a%2Fb", "x" * 10_000, "\x00", "\ud800", "=", "a=", "=a", "a=b", "{x}", "[", "s3://", "://",
    "jdbc:jdbc:jdbc:", "file:///", "ΑΣ", "İ",
]  # fmt: skip


def documented(section: str) -> list[tuple[str, Name, Name]]:
    """Return rule, sent name and canonical name of the rows of a table in docs/reference/names.md."""
    text = DOCS.split(section, 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|$", text, re.MULTILINE)
    return [(rule, Name(*sent), Name(*form)) for rule, *rest in rows for sent, form in [(rest[:2], rest[2:])]]


def metadata_of_docs() -> tuple[MetadataRow, ...]:
    return read_metadata(DOCS.split("```csv\n", 1)[1].split("```", 1)[0], "metadata.csv")


def shipped_examples() -> list[tuple[str, Name, Name]]:
    """Return rule, sent name and canonical name of the examples for the default rules."""
    rows = [line.split("\t") for line in (FIXTURES / "names" / "shipped.tsv").read_text().splitlines()[1:]]
    return [(rule, Name(*sent), Name(*form)) for rule, *rest in rows for sent, form in [(rest[:2], rest[2:])]]


PLAIN = shipped_examples()
PLACED = documented("With this table:")


@pytest.mark.parametrize(("rule", "sent", "form"), PLAIN)
def test_rule_2_every_convention_of_the_documentation(rule: str, sent: Name, form: Name) -> None:
    assert default_rules().canonical(*sent.parts) == form
    assert rule in [step.rule for step in default_rules().explain(*sent.parts)]


@pytest.mark.parametrize(("rule", "sent", "form"), PLACED)
def test_rule_2_what_only_the_metadata_table_knows(rule: str, sent: Name, form: Name) -> None:
    rules = NameRules(metadata_rows=metadata_of_docs())
    assert rules.canonical(*sent.parts) == form
    assert rule in [step.rule for step in rules.explain(*sent.parts)]


def test_rule_2_every_shipped_rule_is_documented_in_its_order() -> None:
    shipped = re.findall(r"^  - id: (\S+)$", SHIPPED.read_text(), re.MULTILINE)
    assert list(dict.fromkeys(rule for rule, _, _ in PLAIN)) == [
        rule for rule in shipped if rule not in ("warehouse", "link", "unknown-broker")
    ]
    of_events = re.findall(r"\| `([a-z-]+)` \|" + r" `([^`]+)` \|" * 5, DOCS)
    for rule, namespace, name, job_namespace, *form in of_events:
        assert default_rules().of_events.event_form(Name(namespace, name), "p", job_namespace) == Name(*form)
        assert [step.rule for step in default_rules().explain(namespace, name, None, job_namespace)] == [rule]
    assert [rule for rule, *_ in of_events] == ["unknown-broker"]
    assert {"warehouse", "link"} == {rule for rule, _, _ in PLACED} - {"onelake"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((ONELAKE, "/lh/Tables/x"), (ONELAKE, "lh/Tables/x")),
        ((ONELAKE, "lh/Files/in/part-00000-0f8a15c6-266b-4edd-8028-c157d82e115d-c000.json"), (ONELAKE, "lh/Files/in")),
        ((ONELAKE, "lh/Tables/orders/order_date=2026-02-02"), (ONELAKE, "lh/Tables/orders")),
        ((f"{ONELAKE}/lh/Tables/", "db.t"), (f"{ONELAKE}/lh/Tables", "db.t")),
    ],
)
def test_rule_2_pitfalls_1_10_11_14_listeners_write_one_table_differently(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    assert default_rules().canonical(*one) == default_rules().canonical(*other) == Name(*other)


@pytest.mark.parametrize(
    "name",
    [
        Name("file", "/data/a"),
        Name("file", "/"),
        Name("spark_prod", "db.table"),
        Name("SnowflakeOpenLineage", "customers"),
        Name("my-namespace", "/x/day=1/"),
        Name("kafka://broker:9092", "Topic/part-00000"),
        Name("inmemory://", "Dataset"),
        Name("/tmp/alter_test", "default.t"),
        Name("hdfs://nn/user/hive/warehouse", "default.t1"),
        Name("s3://bucket", "part-numbers"),
        Name("s3://bucket", "lake/part-numbers"),
        Name("s3://bucket", "day=1"),
        Name("s3://bucket", "a/day=1/b"),
        Name("s3://bucket", "a//b"),
        Name("s3://bucket", "a%2Fb"),
        Name("mssql://db\\one", "d.dbo.t"),
        Name("postgres://db/shop?currentSchema=s,u", "t"),
    ],
)
def test_rule_2_what_is_canonical_or_could_tell_two_tables_apart_stays(name: Name) -> None:
    assert default_rules().canonical(*name.parts) == name
    assert default_rules().explain(*name.parts) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("hive://meta:9083", "Sales.Orders"), ("hive://meta", "sales.ORDERS")),
        ((GLUE, "Sales.Orders"), (GLUE, "table/sales/orders")),
        (("trino://Coordinator:8080", "Lake.Sales.Orders"), ("trino://coordinator:8080", "LAKE.sales.orders")),
        (("jdbc:sqlserver://DB:1433;databaseName=Sales", "dbo.Orders"), ("mssql://db", "SALES.DBO.ORDERS")),
        (("mssql://db", "Sales.dbo.Größe"), ("mssql://db", "sales.dbo.GRÖßE")),
        (("oracle://DB:1521/orcl", "hr.emp"), ("oracle://db", "ORCL.HR.EMP")),
        (("oracle://db:1521", 'orcl.hr."Emp"'), ("oracle://db", 'ORCL.HR."Emp"')),
    ],
)  # fmt: skip
def test_rule_2_systems_that_fold_case_know_a_table_by_one_name(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert default_rules().canonical(*one) == default_rules().canonical(*other)


ADDRESSES = tuple(addresses())


def test_rule_2_every_documented_address_of_a_table_has_the_tables_one_name() -> None:
    tables = {each.means for each in ADDRESSES}
    assert len(ADDRESSES) > 350
    assert len(tables) > 75
    assert all(default_rules().canonical(*table.parts) == table for table in tables)
    for each in ADDRESSES:
        if each.kind != "file":  # an extractor parses file addresses before it sends them
            assert default_rules().canonical(each.address, each.table) == each.means, each


def test_rule_2_what_openlineages_extractors_make_of_addresses_is_the_tables_name_or_has_a_reason() -> None:
    tables = {each.means for each in ADDRESSES}
    for each in ADDRESSES:
        if each.extracted is not None:
            form = default_rules().canonical(*each.extracted.parts)
            assert (form != each.means) == bool(each.reason), (each, form)
            assert each.reason in ("", "file-host") or form not in tables, "the name is that of a different table"
    reasons = re.findall(r"^\| `([a-z0-9-]+)` \| It ", COMPARED, re.MULTILINE)
    assert sorted(reasons) == sorted({each.reason for each in ADDRESSES if each.reason})
    differing = sum(bool(each.reason) for each in ADDRESSES)
    extracted = sum(each.extracted is not None for each in ADDRESSES)
    assert f"`openlineage-spark` {version()}" in COMPARED
    assert f"{len(ADDRESSES)} spellings of\n{len(tables)} tables: {extracted} addresses" in COMPARED
    assert f"to {extracted - differing} of the addresses" in COMPARED
    assert f"names for {differing} addresses" in COMPARED


TNS = "(DESCRIPTION=(ADDRESS_LIST=(ADDRESS=(PROTOCOL=TCP)( HOST = Db )(PORT=1521)))(CONNECT_DATA=(SID=o)))"


@pytest.mark.parametrize(
    ("form", "spellings"),
    [
        (
            Name("oracle://db", "O.H.T"),
            [
                ("jdbc:oracle:thin:@db:1521:o", "h.t"),
                ("oracle:thin:@db:o", "h.t"),
                ("oracle:thin:@//db:1521/o", "h.t"),
                ("oracle:thin:@db/o?wallet=x", "h.t"),
                ("oracle:thin:scott/tiger@//DB:1521/o:dedicated/i", "h.t"),
                ("oracle:oci:@tcps://db:1521/o", "h.t"),
                ("oracle:thin:@ldap://db/o,cn=OracleContext", "h.t"),
                (f"oracle:thin:@{TNS}", "h.t"),
                ("oracle://db", "1521/o.h.t"),
                ("oracle://db:1521/o", "h.t"),
                ("oracle://db", '"O"."H"."T"'),
            ],
        ),
        (
            Name("mysql://m1,m2", "d.t"),
            [
                ("jdbc:mysql:replication://m2:3306,m1:3306/d", "t"),
                ("mysql+srv:loadbalance://m1,m2/d", "t"),
                ("jdbc:mariadb:sequential://m1,m2:3306/d?user=u", "t"),
                ("jdbc:aws-wrapper:mysql://m1,m2,m1/d", "t"),
            ],
        ),
        (Name("mssql://db", "d.dbo.t"), [("sqlserver://db,1433;database=D", "[dbo].[T]"), ("mssql://DB", "d.dbo.t")]),
        (
            Name("postgres://p1,p2", "d.s.t"),
            [
                ("jdbc:postgresql://p2:5432,p1:5432/d?currentSchema=s", "s.t"),
                ("jdbc:postgresql://p2,p1/d?currentSchema=s", "t"),
                ("postgresql://p2,p1", "d.d.s.t"),
            ],
        ),
        (
            Name("postgres://p:eu:i", "d.s.t"),
            [("jdbc:postgresql:///d?cloudSqlInstance=p:eu:i&socketFactory=f", "s.t"), ("postgres://p:eu:i", "d.s.t")],
        ),
        (Name("postgres://p", 'd.s."T"'), [("postgres://p", '"d"."s"."T"'), ("postgresql://p/d", '"s"."T"')]),
        (Name("mysql://m", "d.T"), [("mysql://m", "`d`.`T`"), ("mysql://m/d", "`T`")]),
        (Name("bigquery", "my-p.d.t"), [("bigquery", "`my-p.d.t`"), ("bigquery", "`my-p`.d.`t`")]),
        (Name("hive://m1,m2", "a.b"), [("hive://m2:9083,m1:9083", "A.B")]),
        (
            Name("s3://b", "raw/orders"),
            [("s3a://b", "raw/2026/11/20/07/orders/*"), ("s3://b", "raw/dt=20261120/orders")],
        ),
    ],
)
def test_rule_2_every_spelling_of_a_drivers_address_is_one_name(form: Name, spellings: list[tuple[str, str]]) -> None:
    for spelling in spellings:
        assert default_rules().canonical(*spelling) == form


UUID = "0f8a15c6-266b-4edd-8028-c157d82e115d"
GENERATED = [
    f"{UUID}.parquet", f"{UUID.replace('-', '')}.csv", "d41d8cd98f00b204e9800998ecf8427e.avro", f"{'ab1' * 13}c.json",
    "2026-03-01.csv", "20260301T0700.json.gz", "2026_03_01.csv", "part-0001.csv", "part.0.parquet", "batch_17.json",
    "chunk-3.csv.gz", "000000_0", f"00000-7-{UUID}-00001.parquet", f"{UUID}-0_1-2-3_20260301120000.parquet",
    f"20260301_120000_00012_abcde_{UUID}", "orders+0+0000000042.json", f"orders-1-2026-03-01-12-00-00-{UUID}",
    "0000_part_00.parquet", "orders-000000000012.csv", "data_0_1_2.csv.gz",
    "_temporary/0/_temporary/attempt_1/part-00000.csv", f".spark-staging-{UUID}/day=1/part-00000.csv",
    ".hive-staging_hive_2026-03-01_1/-ext-10000/000000_0",
]  # fmt: skip


@pytest.mark.parametrize("file", GENERATED)
def test_rule_2_a_file_with_a_generated_name_belongs_to_its_folder(file: str) -> None:
    for namespace, folder in (("s3://b", "raw/orders"), ("file", "/data/orders")):
        assert default_rules().canonical(namespace, f"{folder}/{file}") == Name(namespace, folder)


@pytest.mark.parametrize(
    "name",
    [
        "raw/customers.csv", "raw/orders.csv", f"tables/{UUID}", "raw/report_2025.csv", "raw/part-numbers.csv",
        "raw/batch_final.csv", "raw/data_2025.csv", "raw/v1.2.csv", "raw/deadbeef.csv", "raw/20261340.csv",
        "2026-03-01.csv", "batch_17.json", "raw/orders-12.csv", "raw/2026.csv", "raw/file1.csv",
    ],
)  # fmt: skip
def test_rule_2_a_file_with_a_name_of_its_own_stays_a_dataset(name: str) -> None:
    assert default_rules().canonical("s3://b", name) == Name("s3://b", name)


def test_rule_2_the_files_of_each_day_are_one_dataset_and_those_of_two_tables_are_two() -> None:
    forms = [
        {default_rules().canonical("s3://b", f"raw/{table}_{day}.csv") for day in ("20260301", "2026-03-02")}
        for table in ("orders", "customers")
    ]
    assert forms == [{Name("s3://b", "raw/orders.csv")}, {Name("s3://b", "raw/customers.csv")}]


@pytest.mark.parametrize(
    "name",
    [
        Name("s3://b", "raw/2026"),
        Name("s3://b", "report_2025"),
        Name("s3://b", "2026-11-20/orders"),
        Name("s3://b", "2026/11/20"),
        Name("s3://b", "raw/20261340"),
        Name("mysql://m1,m2:3307", "d.t"),
        Name("snowflake://a", '"d"."s"."t"'),
    ],
)
def test_rule_2_what_is_no_date_or_default_stays(name: Name) -> None:
    assert default_rules().canonical(*name.parts) == name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("oracle://db", 'o.h."Emp"'), ("oracle://db", 'o.h."EMP"')),
        (("postgres://db", "d.s.Emp"), ("postgres://db", "d.s.emp")),
        (("mysql://db", "d.Emp"), ("mysql://db", "d.emp")),
        (("s3://bucket", "Emp"), ("s3://bucket", "emp")),
        ((f"sqlserver://{ENDPOINT}", "w.dbo.Emp"), (f"fabric://{ENDPOINT}", "w.dbo.emp")),
        (("kafka://b:1", "Emp"), ("kafka://b:1", "emp")),
    ],
)  # fmt: skip
def test_rule_2_where_case_may_tell_two_tables_apart_it_stays(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert default_rules().canonical(*one) != default_rules().canonical(*other)


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.sampled_from(["hive://m", "arn:aws:glue:eu-west-1:1", "trino://t:1", "mssql://m", "oracle://o"]),
    st.text(min_size=1) | st.text('aAbB."ßİΣσς\u212a', min_size=1),
)
def test_rule_2_the_form_of_a_name_whose_case_is_folded_is_that_form(namespace: str, name: str) -> None:
    form = default_rules().canonical(namespace, name)
    assert default_rules().canonical(*form.parts) == form
    assert all(step.rule != "unsettled" for step in default_rules().explain(namespace, name))


def test_rule_2_recorded_names_of_one_listener_stay_apart() -> None:
    sent = {name for name in recorded_names() if not re.search(r"=|part-\d", name.name)}
    assert len(sent) > 20
    assert len({default_rules().canonical(*name.parts) for name in sent}) == len(sent)


def recorded_names() -> set[Name]:
    lines = (EVENTS / "spark-3.5.7-listener-1.53.0.ndjson").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    sets = [one for event in events for one in event.get("inputs", []) + event.get("outputs", [])]
    return {Name(one["namespace"], one["name"]) for one in sets}


GROWING = """
version: 1
rules:
  - {id: grows, namespace: "grow", name: "{x:rest}", to_name: "{x}x"}
  - {id: there, namespace: "s3://a", to_namespace: "s3://b"}
  - {id: from the end, stage: fold, name: "{a:rest}{b:date}_{c:word}_{d:digits}{e:x|y}", to_name: "{a}"}
  - {id: back, namespace: "s3://b", name: "circle", to_namespace: "s3://a"}
"""
PIECES = [
    "s3", "s3a", "S3", "file", "dbfs", "jdbc", "sqlserver", "snowflake", "hdfs", "hive", "oracle", "abfss",
    "wasbs", "https", "bigquery", "grow", ":", "://", "/", "//", "@", ";database=", "?db=", ":8020", ":1433", ".",
    "c@a.blob.core.windows.net",
    "onelake.dfs.fabric.microsoft.com", "x.datawarehouse.fabric.microsoft.com", "Sales", "lh.Lakehouse", "Tables",
    "ext", "mnt/raw", "a", "b", "k=v", "part-00000-x", '"',
]  # fmt: skip
PARTS = st.lists(st.sampled_from([*PIECES, *HOSTILE[:12]]), max_size=8).map("".join) | st.text(max_size=20)
RULES = [default_rules(), NameRules([("names.yaml", GROWING)], metadata_of_docs())]


@example("grow", "x")
@example("s3://a", "circle")
@example("jdbc:" * 20, "a")
@example("s3://b", "a" + "//k=v" * 30)
@example("file:/x" + "/" * 30, "")
@settings(deadline=None)
@given(PARTS, PARTS)
def test_rule_2_the_form_of_a_form_is_that_form_for_any_text(namespace: str, name: str) -> None:
    for rules in RULES:
        form = rules.canonical(namespace, name)
        assert rules.canonical(*form.parts) == form
        steps = rules.explain(namespace, name)
        assert (steps[-1].after if steps else Name(namespace, name)) == form
        assert all(step.before != step.after or step.rule == "unsettled" for step in steps)


@settings(deadline=None)
@given(
    st.text(min_size=1).filter(lambda text: "/" not in text), st.text(min_size=1).filter(lambda text: "/" not in text)
)
def test_rule_2_names_without_a_tail_never_merge(one: str, other: str) -> None:
    for namespace in ("file", "s3://bucket", ONELAKE, "kafka://b:1", "bare", "exa:db"):
        same = default_rules().canonical(namespace, one) == default_rules().canonical(namespace, other)
        assert same == (one == other)


@pytest.mark.parametrize("namespace", ["s3://b", "file", "bigquery", "snowflake://a", "postgres://h", "x", *HOSTILE])
def test_rule_2_hostile_names_have_a_form(namespace: str) -> None:
    for name in HOSTILE:
        form = default_rules().canonical(namespace, name)
        assert default_rules().canonical(*form.parts) == form


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "/",
        "a=b/",
        "/part-00000",
        '"',
        ".",
        ";database=",
        "@",
        ":",
        "://",
        "part-00000-",
        "0",
        "__dbt_tmp",
        "2026-01-01_a_1",
        "_1x",
    ],
)
def test_rule_2_time_is_linear_in_the_length_of_the_name(piece: str) -> None:
    rules = NameRules([("names.yaml", GROWING)], metadata_of_docs())
    long = piece * (100_000 // len(piece))
    for namespace, name in [("s3://b", long), (f"postgres://{long}", "a.b"), (long, long), ("dbfs", f"mnt/{long}")]:
        form = rules.canonical(namespace, name)
        assert rules.canonical(*form.parts) == form


def test_rule_2_a_rule_that_never_rests_leaves_the_name_as_sent_and_says_so() -> None:
    for sent in (Name("grow", "x"), Name("s3://a", "circle")):
        assert RULES[1].canonical(*sent.parts) == sent
        assert RULES[1].explain(*sent.parts)[-1].rule == "unsettled"


def test_rule_2_the_users_rules_come_first_and_may_keep() -> None:
    text = DOCS.split("```yaml\n", 1)[1].split("```", 1)[0]
    rules = NameRules([("names.yaml", text)])
    assert rules.canonical("jdbc:postgresql://DWH-blue.acme.net:5432", "d.s.t") == Name(
        "postgres://dwh.acme.net", "d.s.t"
    )
    assert rules.canonical("s3a://raw", "/by_day/day=1") == Name("s3://raw", "by_day/day=1")
    assert rules.canonical("s3a://raw", "/other/day=1") == Name("s3://raw", "other")
    assert rules.canonical("postgres://dwh.acme.net", "d.s.t_tmp17") == Name("postgres://dwh.acme.net", "d.s.t")
    assert rules.canonical("postgres://dwh.acme.net", "d.s.tmp17") == Name("postgres://dwh.acme.net", "d.s.tmp17")
    assert rules.canonical("postgres://lab.acme.net", "d.s.t__dbt_tmp") == Name(
        "postgres://lab.acme.net", "d.s.t__dbt_tmp"
    )
    assert rules.canonical("s3://b", "a/export_17.csv") == Name("s3://b", "a")
    assert rules.canonical("sqlserver://exact.acme.net:1433;database=D", "dbo.T") == Name(
        "mssql://exact.acme.net", "D.dbo.T"
    )
    assert rules.canonical("sqlserver://other.acme.net", "D.dbo.T") == Name("mssql://other.acme.net", "d.dbo.t")
    assert rules.aliases == {"revenue": Name("s3://gold", "revenue_daily")}


def test_rule_2_the_hash_changes_with_every_rule_and_row_and_with_nothing_else() -> None:
    rows = metadata_of_docs()
    texts = [GROWING, GROWING.replace("}x", "}y"), GROWING.replace("circle", "round"), ""]
    hashes = [NameRules([("names.yaml", text)]).rules_hash for text in texts]
    hashes += [NameRules(metadata_rows=rows[:count]).rules_hash for count in range(1, len(rows) + 1)]
    assert len(set(hashes)) == len(hashes)
    assert hashes[3] == default_rules().rules_hash
    assert NameRules([("elsewhere.yaml", f"# a comment\n{GROWING}")]).rules_hash == hashes[0]


def test_rule_2_the_rules_travel_to_another_process() -> None:
    copy = pickle.loads(pickle.dumps(RULES[1]))
    assert copy.rules_hash == RULES[1].rules_hash
    assert copy.canonical("dbfs", "/mnt/raw/a") == Name("abfss://raw@acme.dfs.core.windows.net", "a")


def test_rule_2_a_chain_of_links_ends_at_its_last_target_and_the_longest_place_counts() -> None:
    rows = [
        MetadataRow("mount", id="/mnt", target="s3://b/all"),
        MetadataRow("mount", id="/mnt/raw", target="s3://b/raw"),
        MetadataRow("shortcut", id="s3://b/raw", target="file:///data/"),
        MetadataRow("mount", id="/mnt", parent="dbfs://ws", target="gs://other"),
        MetadataRow("mount", id="/mnt/hadoop", target="hdfs://nn:8020/data/raw"),
    ]
    rules = NameRules(metadata_rows=rows)
    assert rules.canonical("dbfs", "/mnt/raw/x") == Name("file", "/data/x")
    assert rules.canonical("dbfs", "/mnt/hadoop/x") == Name("hdfs://nn", "/data/raw/x")
    assert rules.canonical("dbfs", "mnt/raw2") == Name("s3://b", "all/raw2")
    assert rules.canonical("dbfs://ws", "mnt/raw") == Name("gs://other", "raw")


CIRCLE = [
    MetadataRow("shortcut", id="s3://a/x", target="s3://b/y"),
    MetadataRow("shortcut", id="s3://b/y", target="s3://a/x"),
]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (CIRCLE, ["leads back to itself"]),
        ([MetadataRow("shortcut", id="s3://a/x", target="s3://a/x/y")], ["leads back to itself"]),
        (
            [MetadataRow("mount", id="/a", target="s3://b"), MetadataRow("mount", id="/a/", target="s3://c")],
            ["keep one"],
        ),
        ([MetadataRow("workspace", id="1", name="A"), MetadataRow("workspace", id="2", name="a")], ["keep one"]),
        ([MetadataRow("shortcut", id="here", target="s3://b")], ["'here' is not a location"]),
        ([MetadataRow("place", id="here")], ["unknown kind 'place'", "workspace"]),
    ],
)
def test_rule_2_a_metadata_table_that_contradicts_itself_is_refused(rows: list[MetadataRow], words: list[str]) -> None:
    with pytest.raises(WrongSetting) as caught:
        NameRules(metadata_rows=rows)
    assert all(word in str(caught.value) for word in words), caught.value


def test_names_of_more_than_4096_characters_are_cut_and_stay_apart() -> None:
    head, tail = "s3/" + "a" * 20_000, "b" * 20_000 + "/mailing"
    forms = [default_rules().canonical("abfss://lake@x", f"{head}{middle}{tail}") for middle in "12"]
    assert forms[0] != forms[1]
    for form in forms:
        assert len(form.name) < 4096
        assert (form.name[:20], form.name[-8:]) == (head[:20], "/mailing")
        assert "[cut: 40012 characters, sha256 " in form.name
        assert default_rules().canonical(*form.parts) == form
    assert [step.rule for step in default_rules().explain("n", "x" * 4097)] == ["too-long"]
    assert default_rules().explain("n", "x" * 4096) == []
    assert job_key(Name("n", "j" * 5000), None) == job_key(Name("n", "j" * 5000).shortened, None)
    assert run_key("no uuid", Name("n", "j" * 5000)) == run_key("no uuid", Name("n", "j" * 5000).shortened)


CASES = TESTS / "proof" / "cases"
"""Streams modelled on public reports. Their names refer to the reports."""


@pytest.mark.parametrize(
    ("case", "asked", "forward", "reached"),
    [
        ("01-jdbc-options-vertica", ("s3://b01", "raw/sales", "email"), True, {"prod.public.sales", "out/rep"}),
        ("02-oracle-thin-and-tns", ("oracle://db.b02.net", "ORCLPDB1.HR.EMP", "EMAIL"), True, {"emp", "emp2", "emp3"}),
        ("03-several-hosts", ("s3://b03", "raw", "email"), True, {"shop.orders", "b03.orders", "out", "kout"}),
        ("04-snowflake-quoted-upper", ("s3://b04", "raw", "email"), True, {"B04.PERF.DAILY", "B04.MART.TOP"}),
        ("06-globs-and-date-folders", ("s3://b06", "landing", "email"), True, {"raw/b06/orders", "out"}),
        ("08-glue-arn-partitions", ("s3://b08", "raw", "email"), True,
         {"wh/gold/orders", "wh/silver/orders", "out", "out2"}),
        ("10-unity-catalog-recreated-table", ("unity-catalog", "main.b10.emp", "email"), True, {"rep"}),
        ("22-job-names-with-date-or-run-id", ("s3://b22", "t", "x"), False, {"new", "old (earlier)"}),
        ("42-kafka-null-minus-1", ("s3://b42", "prod", "x"), True, {"orders", "test_out"}),
    ],
)  # fmt: skip
def test_recorded_streams_with_odd_names_have_the_lineage_that_they_mean(
    case: str, asked: tuple[str, str, str], forward: bool, reached: set[str]
) -> None:
    contents = FacetContentsInMemory()
    reader = make_facts_reader(default_rules(), contents)
    bodies = (CASES / f"{case}.ndjson").read_text().splitlines()
    snapshot = FactSnapshot(
        [reader.read_event(str(at), RECEIPT_US + at, body) for at, body in enumerate(bodies)], contents
    )
    found = reach_answer(
        snapshot, default_rules(), Subject(*asked), snapshot.counted_edges_with_earlier(Window()),
        forward=forward, mode="any",
        bounds=Bounds(9, 99),
    )  # fmt: skip
    assert {f"{each.dataset}{' (earlier)' if each.earlier else ''}" for each in found.columns} == reached
