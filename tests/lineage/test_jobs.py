"""Rule 3: which runs belong to the same job, the job of a run, and the parents of a run."""

import json
import pickle
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from headwater.api.marquez.runs import brief_run_json
from headwater.common.errors import WrongSetting
from headwater.index.reading.catalog import Catalog
from headwater.lineage.edges.facet_contents import FacetContentsInMemory
from headwater.lineage.names.canonical_names import NameRules, default_rules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.job_names import JOB_OPERATIONS
from headwater.lineage.runs.event_reading import FactsReader
from headwater.lineage.snapshots.as_of import AsOf
from headwater.lineage.snapshots.derived_snapshots import FactSnapshot
from headwater.questions.incomplete_lineage import unfinished_runs
from headwater.questions.names import explain_job
from tests.index.test_reference import indexed
from tests.reference.job_names import canonical_job
from tests.reference.records import runs_of
from tests.reference.small_events import STREAM, A, B, C, D, run, with_schema, x_from
from tests.reference.world_events import Json, dataset, deliver, facet, parent, run_event, uuid
from tests.support.commands import commanded
from tests.support.data.lineage_world import LineageWorld
from tests.support.paths import ROOT
from tests.support.questions import ask

DAG = uuid(90)


def answers(events: list[Json], *asked: tuple[str, dict[str, str]], seed: int = 1) -> list[Any]:
    """Return the answers of an index to questions."""
    with indexed(deliver(events), Random(seed)) as views:
        return [ask(views, question, parameters) for question, parameters in asked]


@pytest.mark.parametrize("name", ["parent", "parentRun"])
def test_old_producers_name_the_parent_in_another_facet(name: str) -> None:
    told = {name: parent(DAG, ("jobs", "dag"), uuid(91))}
    events = [run(1, 1, x_from(A, B), job="dag.task", run_facets=told)]
    (tree,) = answers(events, ("hierarchy", {"run": uuid(1)}))
    assert [(each["id"], each["job"] and each["job"]["name"]) for each in tree["ancestors"]] == [
        (uuid(91), None),
        (DAG, "dag"),
    ]
    (reference,) = runs_of(deliver(events))
    assert (reference.parent, reference.execution) == (DAG, uuid(91))


def test_parent_outweighs_its_old_name() -> None:
    told = {"parentRun": parent(uuid(91), ("jobs", "other")), "parent": parent(DAG, ("jobs", "dag"))}
    (tree,) = answers([run(1, 1, job="dag.task", run_facets=told)], ("hierarchy", {"run": uuid(1)}))
    assert [each["id"] for each in tree["ancestors"]] == [DAG]


def unknown(number: int, second: float, **more: Any) -> Json:
    return run(number, second, x_from(A, B), kind="START", job="unknown", **more)


def listed(found: Any) -> list[str]:
    return [each["name"] for each in found["items"]]


@pytest.mark.parametrize("seed", range(4))
def test_a_name_that_only_an_earlier_event_of_a_run_has_is_no_job(seed: int) -> None:
    events = [unknown(1, 1), run(1, 2, x_from(A, B), job="load")]
    jobs, runs = answers(events, ("listed_jobs", {}), ("listed_runs", {"job": "unknown"}), seed=seed)
    assert listed(jobs) == ["load"]
    assert runs["items"] == []


def test_an_unknown_job_stays_while_a_run_has_no_other_name() -> None:
    events = [unknown(1, 1), run(1, 2, x_from(A, B), job="load"), unknown(2, 3)]
    (jobs,) = answers(events, ("listed_jobs", {}))
    assert listed(jobs) == ["load", "unknown"]


@pytest.mark.parametrize(
    "events",
    [
        [run(1, 1, x_from(A, B))],
        [run(1, 2, x_from(A, B), kind="START"), run(1, 1, x_from(A, B))],
        [run(1, 200_000, x_from(A, B), kind="START"), run(1, 1, x_from(A, B))],
        [run(1, 1, x_from(A, B), kind="START"), run(1, 1, x_from(A, B))],
    ],
    ids=["only the end", "START ahead", "START more than a day ahead", "equal times"],
)
def test_a_run_without_an_event_before_its_end_has_no_duration(events: list[Json]) -> None:
    with indexed(deliver(events), Random(1)) as views:
        (shown,) = ask(views, "listed_runs", {"sort": "-duration"})["items"]
        tree = ask(views, "hierarchy", {"run": uuid(1)})
        with views.open_view_and_index(AsOf()) as (_, live):
            row = Catalog(live).runs.run_by_key(uuid(1))
            marquez = brief_run_json(row) if row else {}
    assert (shown["duration"], tree["run"]["durationMs"], marquez["durationMs"]) == (None, None, None)


APP = uuid(80)
BELOW = {"parent": parent(APP, ("jobs", "app"), uuid(81))}


def inference(second: float = 1) -> Json:
    """Return the START event of a schema inference, for which Spark's listener never sends an end."""
    return run(1, second, x_from(A, B), kind="START", job="app.read", run_facets=BELOW)


def ended(number: int, second: float, kind: str = "COMPLETE") -> Json:
    return run(number, second, kind=kind, job="app")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("others", "state"),
    [
        ([ended(80, 9)], "ENDED"),
        ([ended(80, 9, "FAIL")], "ENDED"),
        ([ended(81, 9)], "ENDED"),
        ([ended(80, 9, "START")], "RUNNING"),
        ([ended(80, 0.5)], "RUNNING"),
        ([ended(80, 9), run(1, 10, kind="RUNNING", job="app.read", run_facets=BELOW)], "RUNNING"),
        ([ended(80, 9), run(1, 10, kind="FAIL", job="app.read", run_facets=BELOW)], "FAIL"),
        ([ended(80, 9), run(80, 10, kind="START", job="app")], "RUNNING"),
        ([ended(80, 9), run(1, 2, kind="RUNNING", job="app.read", job_facets=STREAM, run_facets=BELOW)], "RUNNING"),
    ],
)
def test_a_run_without_an_end_ends_with_its_application(others: list[Json], state: str, seed: int) -> None:
    events = [inference(), *others]
    Random(seed).shuffle(events)
    with indexed(deliver(events), Random(seed)) as views:
        (shown,) = ask(views, "listed_runs", {"job": "app.read"})["items"]
        (job,) = (each for each in ask(views, "listed_jobs", {})["items"] if each["name"] == "app.read")
        tree = ask(views, "hierarchy", {"run": uuid(1)})
        with views.open_view_and_index(AsOf()) as (_, live):
            row = Catalog(live).runs.run_by_key(uuid(1))
            marquez = brief_run_json(row) if row else {}
        assert len(ask(views, "listed_runs", {"state": state, "job": "app.read"})["items"]) == 1
    assert (shown["state"], job["last_run"]["state"], tree["run"]["state"]) == (state,) * 3
    assert marquez["state"] == {"ENDED": "ABORTED", "FAIL": "FAILED"}.get(state, "RUNNING")


def test_a_run_that_ended_with_its_application_proves_nothing_and_is_named_with_its_state() -> None:
    """Rule 6.10. The index and the rules in memory give the same answer."""
    events = [inference(), ended(80, 9), run(2, 1, dataset(C), reads=[with_schema(A, "x y")], job="other")]
    seen = LineageWorld(deliver(events))
    with indexed(deliver(events), Random(1)) as views:
        found = ask(views, "impact", {"dataset": "a", "column": "x"})
    assert [run["state"] for stop in found["stops"] for run in stop["runs"]] == ["ENDED"]
    assert [each.state for each in unfinished_runs(seen.scene, seen.scene.graph.edge_sets)] == ["ENDED"]


RENAMED = "version: 1\nrules: [{id: renamed, name: dag.load, to_name: dag.etl.load}]"
HASHES = ["a" * 64, "b0" * 32]
FOLDED = [
    (f"total_jr_{HASHES[0]}.execute_insert", "total.execute_insert"),
    ("etl_application_1700000000000_0001.append_data.t", "etl.append_data.t"),
    ("etl local-1700000000000", "etl"),
    ("etl j-3H6EATEWWRWS5", "etl"),
    ("job-12-run-998-main.append_data.t", "job-12-main.append_data.t"),
    ("dbt-run-shop-0195c000-0000-7000-8000-000000000001", "dbt-run-shop"),
    ("agg_hour=00_ds=2026_11_19.save", "agg.save"),
    ("report_2026-11-19", "report"),
    ("report_20261119T010203Z.save", "report.save"),
    ("load 2026-11-19T01:02:03.123Z.write", "load.write"),
    ("manual__2026-11-19T01:00:00+00:00", "manual"),
    ("20261119_load.x", "load.x"),
    ("load_1700000000000.x", "load.x"),
    ("app.save.orders_dt=2026-11-19", "app.save.orders"),
    ("x_2026-11-19_2026-11-20_y", "x_y"),
]
APART = [
    "report_2025", "report_2026", "report_2026_11", "2026-11-19.save", "__2026-11-19__", "v20261119", "t12026111900",
    "tenant_0195c000-0000-7000-8000-000000000001_x", "application_1700000000000_0001", "j-customerorders", "", ".",
    "🦆",
    f"jr_{HASHES[0]}", "job-12", "Q-2026",
]  # fmt: skip


@pytest.mark.parametrize(("sent", "job"), FOLDED)
def test_names_of_one_job_from_run_to_run_are_one(sent: str, job: str) -> None:
    rules = default_rules()
    assert rules.canonical_job(Name("ns", sent)) == Name("ns", job) == rules.canonical_job(Name("ns", job))
    assert rules.jobs.explain(Name("ns", sent))[-1].after.name == job


def test_the_documentation_has_an_example_of_each_shipped_rule() -> None:
    text = (ROOT / "docs/reference/names.md").read_text().split("### `jobs.yaml`")[1].split("\n### ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|$", text, re.MULTILINE)
    rules = default_rules()
    for rule, sent, job in rows:
        assert rules.canonical_job(Name("ns", sent)).name == job
        assert rule in [step.rule for step in rules.jobs.explain(Name("ns", sent))]
    told = {rule for rule, *_ in rows} | {"glue-job-run"}
    assert told == {rule.id for rule in rules.jobs.rules}
    assert set(re.findall(r"`(drop_\w+)`", text)) == set(JOB_OPERATIONS)


def test_names_explains_the_name_of_a_job(tmp_path: Path) -> None:
    found = explain_job(default_rules(), "ns", f"total_jr_{HASHES[0]}.save.t_20261119")
    assert [(step.rule, step.name) for step in found.items] == [
        ("as-sent", f"total_jr_{HASHES[0]}.save.t_20261119"),
        ("glue-job-run", "total.save.t_20261119"),
        ("full-date", "total.save.t"),
    ]
    session = explain_job(default_rules(), "ns", "nb_0195c000-0000-7000-8000-000000000001.save")
    assert (session.items[-1].rule, session.canonical.name) == ("session", "nb.save")
    asked = ["names", "--job", "ns", "load_2026-11-19", "--data", str(tmp_path), "--json"]
    assert json.loads(commanded(*asked).stdout)["canonical"] == {"namespace": "ns", "name": "load"}


@pytest.mark.parametrize("sent", APART)
def test_what_tells_jobs_apart_stays(sent: str) -> None:
    assert default_rules().canonical_job(Name("ns", sent)).name == sent


def test_the_reference_folds_alike() -> None:
    known = [
        (sent, job) for sent, job in FOLDED if "jr_" in sent or "application_" in sent or sent.startswith("report")
    ]
    assert [canonical_job(sent) for sent, _ in known] == [job for _, job in known]
    assert [name for name in APART if canonical_job(name) != name] == []


@pytest.mark.parametrize(
    ("end", "output", "job"),
    [
        ("orders_region=eu", "x/orders/region=eu", "orders"),
        ("region=eu_day=1", "x/orders/region=eu/day=1", "orders"),
        ("x_orders", "x/orders", "x_orders"),
        ("orders_region=eu", "other", "orders_region=eu"),
    ],
)
def test_the_output_in_the_name_of_a_job_folds_as_the_output_does(end: str, output: str, job: str) -> None:
    found = default_rules().canonical_job(Name("ns", f"app.save.{end}"), [Name("s3://lake", output)])
    assert found.name == f"app.save.{job}"


def test_rules_of_the_user_come_first_and_one_that_keeps_ends_the_search() -> None:
    text = """
version: 1
rules:
  - id: blue-green
    name: "{job}-{side:blue|green}"
    to_name: "{job}"
  - id: yearly
    namespace: finance
    name: "close_{day:rest}"
    keep: true
"""
    rules = NameRules(job_texts=[("jobs.yaml", text)])
    assert rules.canonical_job(Name("ns", "load_2026-11-19-blue")).name == "load"
    assert rules.canonical_job(Name("finance", "close_2026-11-19")).name == "close_2026-11-19"
    assert rules.canonical_job(Name("ns", "close_2026-11-19")).name == "close"
    assert rules.rules_hash != default_rules().rules_hash
    assert pickle.loads(pickle.dumps(rules)).canonical_job(Name("ns", "x-blue")).name == "x"
    with pytest.raises(WrongSetting, match=r"jobs.yaml, line 2, rule 1: unknown operation 'lower'"):
        NameRules(job_texts=[("jobs.yaml", "version: 1\nrules: [{id: x, do: lower}]")])


@pytest.mark.parametrize("name", ["_" * 4000 + "2026", "_2026-11-19" * 370, "-_ " * 1300, "jr_" + "a" * 4000])
def test_long_names_of_jobs_take_few_steps(name: str) -> None:
    assert len(default_rules().canonical_job(Name("ns", name)).name) <= len(name)


def daily(day: int, job: str, table: tuple[str, str]) -> Json:
    return run(day, day, x_from(table, D), job=job)


@pytest.mark.parametrize("seed", range(3))
def test_a_folded_job_is_one_job_everywhere(seed: int) -> None:
    names = [f"total_jr_{each}.execute_insert" for each in HASHES]
    told = {"parent": parent(DAG, ("jobs", "dag_2026-11-19"))}
    events = [daily(1, names[0], A), daily(2, names[1], B), run(3, 3, job="dag.task", run_facets=told)]
    Random(seed).shuffle(events)
    with indexed(deliver(events), Random(seed)) as views:
        jobs = {each["name"]: each["original_names"] for each in ask(views, "listed_jobs", {})["items"]}
        runs = [len(ask(views, "listed_runs", {"job": name})["items"]) for name in ("total.execute_insert", names[0])]
        with views.open_view_and_index(AsOf()) as (_, live):
            rows = [Catalog(live).find_job(Name("jobs", name)) for name in (*names, "total.execute_insert")]
        upstream = ask(views, "upstream", {"dataset": "d", "column": "x"})["columns"]
        newest = ask(views, "upstream", {"dataset": "d", "column": "x", "view": "newest"})["columns"]
    assert jobs == {"dag": [], "dag.task": [], "total.execute_insert": names[::-1]}
    assert (runs, len({row and row.key_number for row in rows})) == ([2, 1], 1)
    assert [(each["dataset"], each["earlier"]) for each in upstream] == [("a", True), ("b", False)]
    assert [each["dataset"] for each in newest] == ["b"]
    seen = LineageWorld(deliver(events))
    assert {each.job.name for each, _ in seen.scene.graph.edge_sets.values()} == {"total.execute_insert"}
    assert {each.job_key[1] for each in runs_of(deliver(events))} == {"dag.task", "total.execute_insert"}


def test_run_ids_that_are_no_uuids_belong_to_the_job_as_sent() -> None:
    events = [run_event("COMPLETE", "2026-03-01T12:00:00Z", "1", ("jobs", f"load_jr_{each}")) for each in HASHES]
    (runs,) = answers(events, ("listed_runs", {"job": "load"}))
    assert len(runs["items"]) == 2


@pytest.mark.parametrize(("rules", "sources"), [("", ["a", "b"]), (RENAMED, ["b"])])
def test_a_renamed_job_is_one_job_by_a_rule(rules: str, sources: list[str]) -> None:
    events = [
        daily(1, "dag.load", A),
        run(2, 2, x_from(B, D, lifecycleStateChange=facet(lifecycleStateChange="OVERWRITE")), job="dag.etl.load"),
    ]
    names = NameRules(job_texts=[("jobs.yaml", rules)] if rules else [])
    contents = FacetContentsInMemory()
    reader = FactsReader(names.canonical, contents, names.canonical_job)
    facts = [reader.read_event(each.event_id, each.received_us, json.dumps(each.event)) for each in deliver(events)]
    scene = FactSnapshot(facts, contents)
    live = scene.counted_edges().live_mask
    fed = {
        edge.source.name for number, (_, said) in scene.graph.edge_sets.items() if live[number] for edge in said.edges
    }
    assert sorted(fed) == sources
