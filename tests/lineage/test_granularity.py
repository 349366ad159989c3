"""How jobs are folded (`docs/reference/lineage.md`, "What is part of what"), and the tree of a run."""

from collections.abc import Iterator
from random import Random
from typing import Any, get_args

import pytest
from starlette.datastructures import QueryParams

from headwater.api.marquez.requests import MarquezError, RequestContext
from headwater.api.marquez.table_lineage import TableGraph, get_lineage
from headwater.common.errors import NotKnown
from headwater.index.reading.catalog import Catalog
from headwater.index.reading.view_opener import ViewOpener
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import JobLevel, JobPosition, fold_into_level, job_ancestors
from headwater.lineage.snapshots.as_of import AsOf
from tests.index.test_reference import indexed
from tests.reference.small_events import run, x_from
from tests.reference.world_events import deliver, uuid
from tests.support.data import nested_jobs as grain
from tests.support.few_of_many import few_of
from tests.support.questions import ask

LEVELS = get_args(JobLevel)


@pytest.fixture(scope="module")
def views() -> Iterator[ViewOpener]:
    with indexed(deliver(grain.EVENTS), Random(1)) as open_views:
        yield open_views


def jobs_at(views: ViewOpener, granularity: str, dataset: str) -> dict[str, list[str]]:
    """Return the jobs on each edge around a table, by the names of both ends."""
    found = ask(views, "around", {"dataset": dataset, "up": "9", "down": "9", "granularity": granularity})
    names = [table["dataset"] for table in found["tables"]]
    return {
        f"{names[edge['from']]}>{names[edge['to']]}": [job["name"] for job in edge["jobs"]]
        for edge in found["tableEdges"]
    }


@pytest.mark.parametrize(
    ("granularity", "clean", "out"),
    [
        ("statement", "load_app.insert.clean", "other_app.insert.out"),
        ("job", "load_app.insert.clean", "other_app.insert.out"),
        ("application", "load_app", "other_app"),
        ("task", "daily.load", "weekly.publish"),
        ("dag", "daily", "weekly"),
    ],
)
def test_a_job_folds_into_what_it_is_part_of(views: ViewOpener, granularity: str, clean: str, out: str) -> None:
    found = jobs_at(views, granularity, "clean")
    assert found == {
        "raw>clean": [clean],
        "clean>middle": [clean.replace(".clean", ".middle")],
        "middle>out": [out],
        "out>report": ["report"],
    }


def test_what_stands_is_the_default(views: ViewOpener) -> None:
    asked = {"dataset": "clean", "up": "9", "down": "9"}
    assert ask(views, "around", asked) == ask(views, "around", {**asked, "granularity": "statement"})


@pytest.mark.parametrize("seed", few_of(range(25), 6))
def test_no_level_loses_or_invents_a_way_between_datasets(seed: int) -> None:
    """Every level connects the same datasets, and a coarser level has no more jobs than a finer one."""
    with indexed(deliver(grain.random_pipelines(seed)), Random(seed)) as views:
        ways, counts, passed = [], [], []
        for granularity in LEVELS:
            found = ask(views, "graph", {"groups": "none", "granularity": granularity})
            ways.append(grain.reachable([(edge["from"], edge["to"]) for edge in found["edges"]]))
            counts.append(sum(edge["jobs"] for edge in found["edges"]))
            flow = ask(views, "jobs", {"granularity": granularity, "limit": "2000"})
            passed.append(len(flow["nodes"]))
            assert sum(node["jobs"] for node in flow["nodes"]) == sum(
                node["jobs"] for node in ask(views, "jobs", {"granularity": "statement", "limit": "2000"})["nodes"]
            )
        assert ways == [ways[0]] * len(LEVELS)
        assert ways[0]
        assert passed == sorted(passed, reverse=True), "a coarser level must not have more jobs"
        assert counts == sorted(counts, reverse=True)


def test_jobs_pass_data_and_wait_for_each_other(views: ViewOpener) -> None:
    found = ask(views, "jobs", {"granularity": "task"})
    names = [node["name"] for node in found["nodes"]]
    levels = {node["name"]: (node["level"], node["jobs"]) for node in found["nodes"]}
    assert levels == {
        "daily.load": ("task", 3), "weekly.publish": ("task", 1), "report": ("statement", 1),
        "daily.check": ("task", 0), "daily.notify": ("statement", 0),
    }  # fmt: skip
    assert [
        (names[each["from"]], names[each["to"]], each["datasets"], each["first"]) for each in found["dataFlow"]
    ] == [
        ("daily.load", "weekly.publish", 1, [{"namespace": grain.LAKE, "dataset": "middle"}]),
        ("weekly.publish", "report", 1, [{"namespace": grain.LAKE, "dataset": "out"}]),
    ]
    assert [(names[each["from"]], names[each["to"]], each["type"], each["rule"]) for each in found["controlFlow"]] == [
        ("daily.check", "daily.notify", None, None),
        ("daily.load", "daily.check", "DIRECT_INVOCATION", "EXECUTE_ON_SUCCESS"),
    ]


def test_of_too_many_jobs_some_that_hang_together_are_answered(views: ViewOpener) -> None:
    found = ask(views, "jobs", {"granularity": "task", "limit": "3"})
    assert (found["truncated"], len(found["nodes"]), len(found["dataFlow"]) + len(found["controlFlow"])) == (True, 3, 2)


def test_jobs_around_one(views: ViewOpener) -> None:
    found = ask(views, "jobs", {"granularity": "task", "job": "weekly.publish"})
    assert {node["name"]: node["distance"] for node in found["nodes"]} == {
        "weekly.publish": 0, "daily.load": -1, "report": 1,
    }  # fmt: skip
    by_statement = ask(views, "jobs", {"granularity": "task", "job": "other_app.insert.out"})
    assert by_statement == found, "a question may name the folded job or any of its parts"
    with pytest.raises(NotKnown, match="weekly"):
        ask(views, "jobs", {"job": "weekly.publishh"})


def test_a_job_that_runs_without_a_dataset_is_a_node_without_edges(views: ViewOpener) -> None:
    found = ask(views, "jobs", {"granularity": "statement", "job": "load_app"})
    assert ([node["name"] for node in found["nodes"]], found["dataFlow"], found["controlFlow"]) == (
        ["load_app"],
        [],
        [],
    )


def test_a_dataset_of_many_writers_and_readers_is_a_hub_and_the_answer_stays_linear() -> None:
    hub, many = (grain.LAKE, "hub"), 40
    outputs = {number: (grain.LAKE, f"t{number}") for number in range(many, 2 * many)}
    events = [
        *(run(number, 0, x_from((grain.LAKE, f"s{number}"), hub), job=f"w{number}") for number in range(1, many)),
        *(run(number, 1, x_from(hub, output), job=f"r{number}") for number, output in outputs.items()),
        run(2 * many, 1, x_from(hub, hub), job="both"),
    ]
    with indexed(deliver(events), Random(1)) as views:
        found = ask(views, "jobs", {"granularity": "statement", "limit": "2000"})
        names = [node["name"] for node in found["nodes"]]
        (only,) = found["hubs"]
        assert (only["dataset"], found["dataFlow"]) == ("hub", [])
        assert {names[at] for at in only["writers"]} == {*(f"w{number}" for number in range(1, many)), "both"}
        assert {names[at] for at in only["readers"]} == {*(f"r{number}" for number in range(many, 2 * many)), "both"}
        one = ask(views, "jobs", {"granularity": "statement", "limit": "2000", "job": "w3"})
        names = [node["name"] for node in one["nodes"]]
        assert {node["distance"] for node in one["nodes"]} == {0, 1}
        fed = [names[each["to"]] for each in one["dataFlow"] if names[each["from"]] == "w3"]
        assert sorted(fed) == sorted(set(names) - {"w3"})
        assert one["totalCount"] == many + 2
        around = ask(views, "jobs", {"granularity": "statement", "limit": "2000", "job": "both"})
        assert len(around["dataFlow"]) == 2 * many - 1, "the flows of the job in the question must be listed one by one"
        assert around["hubs"]


def marquez(views: ViewOpener, node: str, **asked: str) -> dict[str, Any]:
    """Return the nodes of Marquez's answer by their ids without namespace."""
    with views.open_view_and_index(AsOf()) as (view, live):
        answer = get_lineage(RequestContext({}, QueryParams({"nodeId": node, **asked}), view, Catalog(live)))
    return {each["id"].rpartition(":")[2]: each for each in answer["graph"]}


def test_marquez_folds_only_where_it_is_asked_to(views: ViewOpener) -> None:
    dataset = f"dataset:{grain.LAKE}:clean"
    plain, statements = marquez(views, dataset), marquez(views, dataset, granularity="statement")
    assert plain == statements
    assert {"load_app.insert.clean", "other_app.insert.out"} < plain.keys()
    assert not any("flows" in each["data"] for each in plain.values())
    with pytest.raises(MarquezError, match="granularity"):
        marquez(views, dataset, granularity="notebook")


def test_a_folded_job_says_from_which_dataset_to_which_it_leads(views: ViewOpener) -> None:
    found = marquez(views, f"dataset:{grain.LAKE}:clean", granularity="task")
    jobs = {name for name, each in found.items() if each["type"] == "JOB"}
    assert jobs == {"daily.load", "weekly.publish", "report"}, "weekly.publish is known only by its children"
    task = found["daily.load"]
    assert {edge["origin"].rpartition(":")[2] for edge in task["inEdges"]} == {"raw", "clean", "aside"}
    flows = {tuple(end.rpartition(":")[2] for end in flow.values()) for flow in task["data"]["flows"]}
    assert flows == {("raw", "clean"), ("clean", "middle"), ("aside", "side")}, "raw must not lead to side"
    assert marquez(views, f"job:{grain.AIRFLOW}:daily.load", granularity="task") == found


@pytest.mark.parametrize("seed", few_of(range(25), 6))
def test_flows_of_folded_jobs_are_those_of_statements(seed: int) -> None:
    with (
        indexed(deliver(grain.random_pipelines(seed)), Random(seed)) as views,
        views.open_view_and_index(AsOf()) as (view, live),
    ):
        found = []
        for granularity in LEVELS:
            tables = TableGraph(RequestContext({}, QueryParams({"granularity": granularity}), view, Catalog(live)))
            jobs = {tables.fold_job(job) for job in view.snapshot.graph.edge_sets_by_job}
            found.append(sorted({flow for job in jobs for flow in tables.dataset_pairs(job)}))
        assert found == [found[0]] * len(LEVELS)


def test_the_tree_of_a_run(views: ViewOpener) -> None:
    found = ask(views, "hierarchy", {"run": grain.APP_RUN, "limit": "2"})
    assert [each["job"]["name"] for each in found["ancestors"]] == ["daily", "daily.load"]
    assert (found["run"]["state"], found["run"]["children"]) == ("COMPLETE", 3)
    assert [(each["job"]["name"], each["state"]) for each in found["items"]] == [
        ("load_app.insert.clean", "COMPLETE"), ("load_app.insert.middle", "COMPLETE"),
    ]  # fmt: skip
    assert (found["states"], found["totalCount"], found["truncated"]) == ({"COMPLETE": 3}, 3, True)
    rest = ask(views, "hierarchy", {"run": grain.APP_RUN, "limit": "2", "offset": "2"})
    assert [each["job"]["name"] for each in rest["items"]] == ["load_app.insert.side"]
    assert not rest["truncated"]


def test_a_run_that_only_others_name_is_in_the_tree(views: ViewOpener) -> None:
    top = ask(views, "hierarchy", {"run": grain.DAG_2})
    assert top["run"] == {
        "id": grain.DAG_2, "job": None, "state": "UNREPORTED", "started": None, "ended": None, "durationMs": None,
        "children": 0, "task": None,
    }  # fmt: skip
    (task,) = top["items"]
    assert (task["id"], task["state"], task["job"]["name"]) == (grain.SILENT_TASK_RUN, "UNREPORTED", "weekly.publish")
    below = ask(views, "hierarchy", {"run": grain.SILENT_TASK_RUN})
    assert [each["job"]["name"] for each in below["items"]] == ["other_app"]
    with pytest.raises(NotKnown):
        ask(views, "hierarchy", {"run": uuid(999_999)})


def name(text: str) -> Name:
    return Name("n", text)


@pytest.mark.parametrize(
    ("chain", "folded"),
    [
        # The kinds from a job upwards, and the position in the chain to which the job folds at job, application, task
        # and dag
        (["MODEL", "JOB", "TASK", "DAG"], (1, 1, 2, 3)),
        (["SQL_JOB", "", "", ""], (0, 1, 2, 3)),
        (["SQL_JOB", "APPLICATION"], (0, 1, 1, 1)),
        (["TASK", "DAG"], (0, 0, 0, 1)),
        (["", ""], (0, 1, 1, 1)),
        ([""], (0, 0, 0, 0)),
        (["DAG", "DAG"], (0, 0, 0, 0)),
        (["sql_job", "odd word", "task"], (0, 1, 2, 2)),
    ],
)
def test_levels_by_the_rule(chain: list[str], folded: tuple[int, ...]) -> None:
    jobs = [name(str(at)) for at in range(len(chain))]
    known = {
        job: JobPosition(kind, jobs[at + 1] if at + 1 < len(jobs) else None)
        for at, (job, kind) in enumerate(zip(jobs, chain, strict=True))
    }
    assert tuple(jobs.index(fold_into_level(level, known.__getitem__)(jobs[0])) for level in LEVELS[1:]) == folded
    assert fold_into_level("statement", known.__getitem__)(jobs[0]) == jobs[0]


def test_a_root_known_by_name_alone_is_a_dag() -> None:
    known = {name("s"): JobPosition("SQL_JOB", name("app"), name("dag")), name("app"): JobPosition("APPLICATION")}
    assert fold_into_level("dag", lambda job: known.get(job, JobPosition()))(name("s")) == name("dag")
    assert fold_into_level("task", lambda job: known.get(job, JobPosition()))(name("s")) == name("app")


def test_parents_in_a_circle_end() -> None:
    known = {name("a"): JobPosition("", name("b")), name("b"): JobPosition("", name("a"))}
    assert [each.job for each in job_ancestors(name("a"), known.__getitem__)] == [name("a"), name("b")]
