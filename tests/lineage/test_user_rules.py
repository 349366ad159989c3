"""The user's rules files: the effect of each, one-line errors, and the last valid version stays in force."""

import json
import os
import pickle
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from headwater.common.errors import WrongSetting
from headwater.index.rules_files import FILES, RulesFiles
from headwater.lineage.edges.facet_contents import FacetContentsInMemory
from headwater.lineage.names.canonical_names import NameRules, default_rules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.job_names import read_job_rules
from headwater.lineage.names.metadata_table import read_metadata
from headwater.lineage.names.rule_parser import read_name_rules
from headwater.lineage.rules.owner_rules import read_owners
from headwater.lineage.rules.selectors import SelectedColumn
from headwater.lineage.rules.shown_rules import read_links, read_system
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.rules.user_rules_text import (
    read_constants,
    read_consumers,
    read_masking,
    read_rewrites,
    read_tags,
)
from headwater.lineage.runs.event_reading import FactsReader, make_facts_reader
from headwater.lineage.snapshots.derived_snapshots import FactSnapshot
from headwater.lineage.snapshots.named_columns import verdict_columns
from headwater.lineage.snapshots.snapshot import Window
from headwater.questions.reach import reach_answer
from headwater.questions.subjects import Bounds, Subject
from tests.reference import questions
from tests.reference.names import canonical_form
from tests.reference.solver import Reference
from tests.reference.world_events import START_US, at, dataset_event, deliver
from tests.rule_cases.events import done, table, writes
from tests.support.commands import commanded
from tests.support.paths import ROOT

DOCS = (ROOT / "docs/reference/names.md").read_text()
READERS: dict[str, Any] = {
    "names.yaml": read_name_rules,
    "jobs.yaml": read_job_rules,
    "metadata.csv": read_metadata,
    "tags.yaml": read_tags,
    "masking.yaml": read_masking,
    "constants.yaml": read_constants,
    "rewrites.yaml": read_rewrites,
    "consumers.yaml": read_consumers,
    "system.yaml": read_system,
    "links.yaml": read_links,
    "owners.yaml": read_owners,
}
SHOWN_BY = ("system.yaml", "links.yaml", "owners.yaml")
"""Files that affect only the display and change no row."""

TAGGED = "version: 1\ntags: [{namespace: 's3a://B', dataset: /t/, column: Email, tag: pii}]"


def example(file: str) -> str:
    """Return the example of a file in docs/reference/names.md."""
    found = re.search(rf"^### `{re.escape(file)}`.*?```\w+\n(.*?)```", DOCS, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def rules(tmp_path: Path) -> UserRules:
    for file in FILES:
        (tmp_path / file).write_text(example(file))
    files = RulesFiles(tmp_path)
    found = files.current_rules()
    assert files.problems == []
    return found


@pytest.mark.parametrize(
    ("namespace", "name", "column", "tags"),
    [
        ("s3://landing", "customers", "Customer_EMAIL", {("pii", "high")}),
        ("s3://landing", "customers", "id", set()),
        ("s3://landing", "customers", None, set()),
        ("s3://any", "deep/er/customers", "home_PHONE_2", {("pii", "true")}),
        ("s3://landing", "Customers", "customer_email", set()),
    ],
)
def test_tags_are_on_the_columns_that_the_file_names(
    rules: UserRules, namespace: str, name: str, column: str | None, tags: set[tuple[str, str]]
) -> None:
    assert rules.tags_of(namespace, name, column) == tags


def test_an_exact_name_may_be_any_way_to_write_the_dataset() -> None:
    rules = UserRules(tags=read_tags(TAGGED, "tags.yaml"))
    assert rules.tags_of("s3://b", "t", "email") == {("pii", "true")}


def test_a_tag_without_a_column_is_on_the_dataset_only() -> None:
    rules = UserRules(tags=read_tags("version: 1\ntags: [{dataset: 't*', tag: gold, value: no}]", "tags.yaml"))
    assert rules.tags_of("any", "t1", None) == {("gold", "no")}
    assert rules.tags_of("any", "t1", "c") == set()


EMAIL = SelectedColumn("s3://landing", "customers", "email")


KEY = SelectedColumn("s3://b", "silver/customers", "EMAIL_KEY")
COUNT = SelectedColumn("s3://b", "daily", "n")


@pytest.mark.parametrize(
    ("step", "masked"),
    [
        (("nightly.tokenize.x", KEY, EMAIL), True),
        (("hourly.tokenize", KEY, EMAIL), None),
        (("nightly.tokenize", KEY._replace(column="email"), EMAIL), None),
        (("any", COUNT, EMAIL, "count(email)"), False),
        (("any", COUNT, EMAIL._replace(name="x"), "count(email)"), None),
        (("any", COUNT, EMAIL), None),
        (("nightly.tokenize", KEY, EMAIL, "count(email)"), True),
    ],
)
def test_a_step_is_masked_as_the_first_fitting_rule_declares(
    rules: UserRules, step: tuple[Any, ...], masked: bool | None
) -> None:
    assert rules.declared_masking(*step) is masked


def test_consumers_read_the_columns_they_declare_or_all(rules: UserRules) -> None:
    (report,) = rules.consumers_of("s3://gold", "revenue_daily")
    assert (report.consumer, report.measure) == ("Power BI: Revenue report", "Total revenue")
    assert [report.is_reader_of(column) for column in ("REVENUE", "day", "shop")] == [True, True, False]
    whole = read_consumers("version: 1\nconsumers: [{consumer: BI, dataset: 'g*'}]", "consumers.yaml")
    assert UserRules(consumers=whole).consumers_of("x", "gold")[0].is_reader_of("anything")
    assert rules.consumers_of("s3://gold", "other") == ()


def test_business_names_come_from_both_files(rules: UserRules) -> None:
    assert rules.names.aliases == {"revenue": Name("s3://gold", "revenue_daily"), "orders": Name("s3://gold", "orders")}


def test_the_hash_changes_with_every_file_and_not_with_the_journey(tmp_path: Path, rules: UserRules) -> None:
    hashes = {rules.rules_hash, UserRules().rules_hash}
    for file in FILES:
        (tmp_path / file).unlink()
        hashes.add(RulesFiles(tmp_path).current_rules().rules_hash)
    assert len(hashes) == len(FILES) - len(SHOWN_BY) + 1
    assert UserRules().rules_hash in hashes
    assert pickle.loads(pickle.dumps(rules)).rules_hash == rules.rules_hash


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("names.yaml", "rules: []", ["line 1", "version: 1"]),
        ("names.yaml", "version: 2\nrules: []", ["line 1", "version: 1"]),
        ("names.yaml", "version: 1\nrules:\n- id: [", ["line 3", "no YAML"]),
        ("names.yaml", "version: 1\nrules: {}", ["line 2", "is not a list"]),
        ("names.yaml", "version: 1\nrules:\n- id: a\n- id: b\n  names: x", ["line 5", "rule 2", "'names'", "to_name"]),
        ("names.yaml", "version: 1\nrules:\n- id: a", ["line 3", "rule 1", "keep: true"]),
        ("names.yaml", "version: 1\nrules:\n- id: a\n  id: b", ["line 4", "rule 1", "id is given twice"]),
        ("names.yaml", "version: 1\nrules:\n- {id: a, do: explode}", ["line 3", "'explode'", "fold_tail"]),
        ("names.yaml", "version: 1\nrules:\n- {id: a, stage: z, keep: true}", ["'z'", "rewrite"]),
        ("names.yaml", "version: 1\nrules:\n- {id: a, default_port: -1}", ["default_port is no whole number"]),
        ("names.yaml", "version: 1\nrules:\n- {id: a, name: '{x', keep: true}", ["brace"]),
        ("names.yaml", "version: 1\nrules:\n- {id: a, name: '{x:y}', keep: true}", ["kind 'y'", "digits"]),
        ("names.yaml", "version: 1\nrules:\n- {id: a, name: '{x}{y}', keep: true}", ["the end of {x}"]),
        ("names.yaml", "version: 1\nrules:\n- {id: a, name: '{x}/{x}', keep: true}", ["occurs twice"]),
        ("names.yaml", "version: 1\nrules:\n- {id: a, name: '{x:rest}/{y}', keep: true}", ["follows"]),
        ("names.yaml", "version: 1\nrules:\n- {id: a, namespace: '{x}', name: '{x}', keep: true}", ["share", "'x'"]),
        ("names.yaml", "version: 1\nrules:\n- {id: a, name: '{x}', to_name: '{y}'}", ["{y}", "(x)"]),
        ("names.yaml", "version: 1\nrules:\n- {id: a, namespace: ['{x}', b], to_name: '{x}'}", ["{x}", "(none)"]),
        ("names.yaml", "version: 1\naliases:\n- {alias: a, name: b}", ["line 3", "alias 1", "namespace is missing"]),
        ("metadata.csv", "kind,id\nworkspace,1", ["line 2", "row 1", "workspace without name", "id, name"]),
        ("metadata.csv", "kind,it", ["line 1", "kind,id,name,parent,target"]),
        ("metadata.csv", 'kind,id\n\nworkspace,"1', ["line 3", "not valid CSV"]),
        ("metadata.csv", "kind,id\nworkspace,1,2", ["line 2", "3 cells for 2 columns"]),
        ("metadata.csv", "kind,id,name,parent,target\nitem,1,a,b,c", ["'c'", "Tables/{table}"]),
        ("tags.yaml", "version: 1\ntags:\n- dataset: a", ["line 3", "rule 1", "tag is missing"]),
        ("tags.yaml", "version: 1\ntags:\n- dataset: a\n  tag:", ["line 4", "tag is not a text"]),
        ("tags.yaml", "version: 1\ntags:\n- 7", ["line 3", "rule 1", "no mapping", "dataset"]),
        ("tags.yaml", "\x00", ["line 1", "no YAML"]),
        ("tags.yaml", "[" * 2000, ["line 1", "no YAML"]),
        ("masking.yaml", "version: 1\nmasking:\n- job: a", ["line 3", "masked is missing"]),
        ("constants.yaml", "version: 1\nconstants:\n- {column: a}", ["line 3", "dataset is missing"]),
        ("constants.yaml", "version: 1\nconstants:\n- {dataset: a}", ["line 3", "column is missing"]),
        ("constants.yaml", "version: 1\nconstants:\n- {dataset: '*/*', column: a}", ["line 3", "dataset fits every"]),
        ("constants.yaml", "version: 1\nconstants:\n- {dataset: a, column: '*'}", ["line 3", "column fits every"]),
        ("rewrites.yaml", "version: 1\nrewrites:\n- {namespace: a, writes: whole}", ["line 3", "every write", "a job"]),
        ("rewrites.yaml", "version: 1\nrewrites:\n- {job: '*', writes: whole}", ["line 3", "every write"]),
        ("rewrites.yaml", "version: 1\nrewrites:\n- {job: a, writes: all}", ["line 3", "'all'", "whole, part"]),
        ("rewrites.yaml", "version: 1\nrewrites:\n- {job: a}", ["line 3", "declares nothing", "keeps: 90d"]),
        ("rewrites.yaml", "version: 1\nrewrites:\n- {dataset: a, keeps: 90}", ["line 3", "'90'", "keeps: 90d"]),
        ("rewrites.yaml", "version: 1\nrewrites:\n- {job: a, keeps: 90d}", ["line 3", "of a dataset", "without"]),
        ("masking.yaml", "version: 1\nmasking:\n- masked: 1", ["line 3", "neither true nor false"]),
        ("masking.yaml", "version: 1\nmasking:\n- masked: true", ["line 3", "every step", "job"]),
        ("masking.yaml", "version: 1\nmasking:\n- masked: true\n  output: {col: a}", ["line 4", "output", "column"]),
        ("consumers.yaml", "version: 1\nconsumers:\n- consumer: a", ["line 3", "dataset is missing"]),
        ("consumers.yaml", "version: 1\nconsumers:\n- {consumer: a, dataset: b, columns: {}}", ["columns is not"]),
    ],
)  # fmt: skip
def test_a_broken_file_names_file_line_and_rule_and_what_fits(file: str, text: str, words: list[str]) -> None:
    with pytest.raises(WrongSetting) as caught:
        READERS[file](text, file)
    assert all(word in str(caught.value) for word in [file, *words]), caught.value
    assert "\n" not in str(caught.value)


def test_files_that_are_empty_or_missing_declare_nothing(tmp_path: Path) -> None:
    assert RulesFiles(tmp_path / "nowhere").current_rules() == UserRules(names=default_rules())
    for file in FILES:
        (tmp_path / file).write_text("")
    assert RulesFiles(tmp_path).current_rules().rules_hash == UserRules().rules_hash


def test_the_last_good_file_stays_in_force_visibly_until_it_is_mended(tmp_path: Path) -> None:
    files, tags = RulesFiles(tmp_path), tmp_path / "tags.yaml"
    tags.write_text(TAGGED)
    good = files.current_rules()
    assert files.current_rules() is good
    (tmp_path / "metadata.csv").write_text("kind\nplace")
    tags.write_text(TAGGED + "\nmore: 1")
    broken = files.current_rules()
    assert broken.rules_hash == good.rules_hash
    assert [problem.split(":")[0] for problem in files.problems] == ["metadata.csv, line 2, row 1", "tags.yaml, line 3"]
    assert all("last good rules stay in force" in problem for problem in files.problems)
    (tmp_path / "metadata.csv").unlink()
    tags.write_text(TAGGED.replace("pii", "gdp"))
    assert files.current_rules().tags_of("s3://b", "t", "email") == {("gdp", "true")}
    assert files.problems == []


def test_a_file_that_changes_without_its_size_is_read_again(tmp_path: Path) -> None:
    files, tags = RulesFiles(tmp_path), tmp_path / "tags.yaml"
    tags.write_text(TAGGED)
    files.current_rules()
    tags.write_text(TAGGED.replace("pii", "gdp"))
    os.utime(tags, ns=(1, 1))
    assert files.current_rules().tags_of("s3://b", "t", "email") == {("gdp", "true")}


def test_metadata_may_be_a_delta_table_and_is_read_again_with_each_version(tmp_path: Path) -> None:
    def write(rows: list[dict[str, str | None]]) -> None:
        columns = ("kind", "id", "name", "parent", "target", "noted_by")
        table = pa.table({column: pa.array([row.get(column) for row in rows], pa.string()) for column in columns})
        write_deltalake(tmp_path / "metadata", table, mode="overwrite")

    files = RulesFiles(tmp_path)
    assert files.current_rules().names.canonical("dbfs", "/mnt/raw/t").namespace == "dbfs"
    mount: dict[str, str | None] = {"kind": "mount", "id": "/mnt/raw", "target": "s3://raw", "noted_by": "me"}
    write([mount])
    by_table = files.current_rules()
    assert by_table.names.canonical("dbfs", "/mnt/raw/t") == Name("s3://raw", "t")
    (tmp_path / "metadata.csv").write_text("kind,id,target\nmount,/mnt/raw,s3://raw\n")
    assert files.current_rules().names.canonical("dbfs", "/mnt/raw/t") == Name("s3://raw", "t")
    write([mount, {"kind": "mount", "id": "/mnt/old"}])
    assert files.current_rules().names.canonical("dbfs", "/mnt/raw/t") == Name("s3://raw", "t")
    assert "metadata, row 1 as sorted" in files.problems[0]
    assert "mount without target" in files.problems[0]


def test_the_first_rule_that_fits_declares_how_a_job_writes(rules: UserRules) -> None:
    customers, clicks = Name("s3://lake", "gold/customers"), Name("kafka://broker:9092", "clicks")
    assert rules.declared_write("p", "nightly.publish_all", "run", customers) == "whole"
    assert rules.declared_write("https://acme.example/loader/2", "nightly.publish_all", "run", customers) == "whole"
    assert rules.declared_write("https://acme.example/loader/2", "other", "run", customers) == "append"
    assert rules.declared_write("p", "other", "run", customers) is None
    assert (rules.retention_us(clicks), rules.retention_us(customers)) == (90 * 86_400_000_000, None)


@pytest.mark.parametrize("crawler", ["https://acme.example/crawler/7", "https://acme.example/docs"])
def test_the_lists_of_a_producer_that_is_declared_complete_remove_columns(crawler: str) -> None:
    names = NameRules([("names.yaml", 'version: 1\ncomplete_lists: [{producer: "https://acme.example/crawler/*"}]')])
    before = done(1, 1, writes("b", {"x": "a.x"}), of=[table("a", "x y")])
    events = deliver([before, dataset_event(at(30), table("a", "x"), crawler)])
    contents = FacetContentsInMemory()
    reader = FactsReader(names.canonical, contents, names.canonical_job, names.has_complete_lists)
    facts = [reader.read_event(each.event_id, each.received_us, json.dumps(each.event)) for each in events]
    found = FactSnapshot(facts, contents)
    reference = Reference(
        events, canonical=canonical_form, complete=[crawler] if names.has_complete_lists(crawler) else []
    )
    columns = {"x"} if crawler.endswith("/7") else {"x", "y"}
    assert {*verdict_columns(found, Name("s3://lake", "a")).by_key} == columns
    assert {column[2] for column in questions.unused(reference) if column[1] == "a"} == columns
    assert names.rules_hash != default_rules().rules_hash


BY_PRODUCER = """
version: 1
rules:
  - id: our-loader
    why: the loader leaves out the database
    namespace: "postgres://db"
    name: "{table}"
    producer: "https://acme.example/loader/{version:rest}"
    to_name: "shop.{table}"
"""


def test_a_rule_may_have_conditions_on_the_producer_and_the_namespace_of_the_job() -> None:
    names = NameRules([("names.yaml", BY_PRODUCER)])
    loader, sent = "https://acme.example/loader/7", Name("postgres://db", "orders")
    assert names.canonical(*sent.parts) == sent
    assert names.of_events.event_form(sent, loader, "any") == Name("postgres://db", "shop.orders")
    assert names.of_events.event_form(sent, "https://acme.example/other", "any") == sent
    events = deliver([
        {**done(number, number, writes(output, {"x": "a.x"}), of="a"), "producer": producer}
        for number, producer, output in ((1, loader, sent.parts), (2, "https://acme.example/other", sent.parts))
    ])  # fmt: skip
    reader = make_facts_reader(names, FacetContentsInMemory())
    facts = [reader.read_event(each.event_id, each.received_us, json.dumps(each.event)) for each in events]
    assert [fact.outputs[0].name.name for fact in facts] == ["shop.orders", "orders"]
    assert [step.rule for step in names.explain(*sent.parts, loader, None)] == ["our-loader"]
    assert "depends on the event" in names.explain(*sent.parts)[0].why
    assert names.rules_hash != default_rules().rules_hash


def test_a_shipped_rule_with_conditions_can_be_turned_off() -> None:
    text = "version: 1\nrules: [{id: one-cluster, namespace: 'kafka://null:-1', producer: '{any:rest}', keep: true}]"
    topic = Name("kafka://null:-1", "orders")
    assert NameRules([("names.yaml", text)]).of_events.event_form(topic, "p", "prod") == topic
    assert default_rules().of_events.event_form(topic, "p", "prod") == Name("kafka://null:-1/prod", "orders")


JOBS = """
version: 1
jobs:
  - {namespace: jobs, name: load, renamed_from: load_2, retired: "2026-03-01T12:00:10Z"}
"""


@pytest.mark.parametrize(("until", "is_used"), [(5, True), (10, False), (None, False)])
def test_a_job_that_is_declared_as_retired_uses_nothing_from_then_on(until: int | None, is_used: bool) -> None:
    rules = UserRules(NameRules(job_texts=[("jobs.yaml", JOBS)]))
    copied = done(1, 1, writes("b", {"x": "a.x"}), of=[table("a", "x")], job="load_2")
    events = deliver([copied, done(2, 20, writes("d", {"x": "c.x"}), of=[table("c", "x")])])
    contents = FacetContentsInMemory()
    reader = FactsReader(rules.names.canonical, contents, rules.names.canonical_job)
    facts = [reader.read_event(each.event_id, each.received_us, json.dumps(each.event)) for each in events]
    until_us = None if until is None else START_US + until * 1_000_000
    known = [fact for fact in facts if until_us is None or fact.time_us <= until_us]
    found = FactSnapshot(known, contents, rules=rules, until_us=until_us)
    counted = found.counted_edges_with_earlier(Window(end_us=until_us))
    reached = reach_answer(
        found, rules.names, Subject(None, "a", "x"), counted, forward=True, mode="value", bounds=Bounds(9, 99)
    )
    assert [item.dataset for item in reached.columns] == (["b"] if is_used else [])
    came = reach_answer(
        found, rules.names, Subject(None, "b", "x"), counted, forward=False, mode="value", bounds=Bounds(9, 99)
    )
    assert [(item.dataset, item.earlier) for item in came.columns] == [("a", not is_used)]


def test_a_job_that_was_renamed_has_the_runs_under_both_names() -> None:
    rules = NameRules(job_texts=[("jobs.yaml", JOBS)])
    assert (
        rules.canonical_job(Name("jobs", "load_2_2026-11-19"))
        == rules.canonical_job(Name("jobs", "load_2"))
        == Name("jobs", "load")
    )
    assert rules.canonical_job(Name("other", "load_2")) == Name("other", "load_2")
    assert [step.rule for step in rules.jobs.explain(Name("jobs", "load_2"))] == ["renamed"]
    assert rules.rules_hash != default_rules().rules_hash


@pytest.mark.parametrize(
    ("job", "wrong"),
    [
        ("{namespace: n, name: j}", "it neither renames nor retires the job; add `renamed_from: …`"),
        ("{namespace: n, name: j, retired: yes}", "retired is not a time: 'yes'; write `retired: 2026-11-30`"),
    ],
)
def test_an_entry_of_a_job_without_a_use_is_refused(job: str, wrong: str) -> None:
    with pytest.raises(WrongSetting, match=re.escape(f"jobs.yaml, line 2, rule 1: {wrong}")):
        NameRules(job_texts=[("jobs.yaml", f"version: 1\njobs: [{job}]")])


def test_a_producer_that_would_be_every_producer_is_refused() -> None:
    with pytest.raises(WrongSetting, match=r"line 2, rule 1: the pattern matches every producer; write the producer"):
        read_name_rules("version: 1\ncomplete_lists: [{producer: '*'}]", "names.yaml")


def test_a_file_broken_from_the_start_leaves_the_others_in_force(tmp_path: Path) -> None:
    (tmp_path / "masking.yaml").write_bytes(b"\xff")
    (tmp_path / "consumers.yaml").mkdir()
    (tmp_path / "tags.yaml").write_text(TAGGED)
    files = RulesFiles(tmp_path)
    assert files.current_rules().tags_of("s3://b", "t", "email")
    assert ["masking.yaml" in files.problems[0], "consumers.yaml" in files.problems[1]] == [True, True]
    assert all("None of its rules are in force" in problem for problem in files.problems)


@pytest.mark.slow
def test_headwater_names_shows_which_rule_fired(tmp_path: Path) -> None:
    rules = tmp_path / "data" / "rules"
    rules.mkdir(parents=True)
    (rules / "metadata.csv").write_text(example("metadata.csv"))
    (rules / "tags.yaml").write_text("version: 0")
    ask = ("names", "dbfs", "/mnt/raw/a", "--data", tmp_path / "data")
    found = commanded(*ask, "--at", "2026-03-01T00:00:00Z", "--json", cwd=tmp_path)
    answer = json.loads(found.stdout)
    assert answer["canonical"] == {"namespace": "abfss://raw@acme.dfs.core.windows.net", "name": "a"}
    assert [item["rule"] for item in answer["items"]] == ["as-sent", "object-path", "link", "object-path"]
    assert answer["rules_hash"] == NameRules(metadata_rows=read_metadata(example("metadata.csv"), "")).rules_hash
    assert "tags.yaml, line 1" in answer["problems"][0]
    shown = commanded(*ask, cwd=tmp_path)
    assert "object-path" in shown.stdout
    assert "tags.yaml, line 1" in shown.stderr
    wrong = commanded(*ask, "--at", "soon", cwd=tmp_path)
    assert (wrong.returncode, "at='soon' is not a time" in wrong.stderr) == (3, True)
    lost = commanded(*ask, environment={"HEADWATER_RULES": str(tmp_path / "lost")}, cwd=tmp_path)
    assert (lost.returncode, "setting `rules`" in lost.stderr) == (3, True)
