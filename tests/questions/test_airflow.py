"""Airflow as a producer: the order of tasks in events of Airflow 2 and 3. See `docs/reference/lineage.md`, 3.6."""

from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

import pytest

from headwater.events.python_text import MAX_TEXT, read_list, read_texts
from headwater.index.reading.view_opener import ViewOpener
from tests.index.test_reference import indexed
from tests.reference.small_events import run
from tests.reference.world_events import Json, at, deliver, facet, uuid
from tests.support.data.nested_jobs import kind, part_of
from tests.support.data.recorded_nights import drawing, recorded
from tests.support.questions import ask

RECORDINGS = ("airflow-2.11.2", "airflow-3.3.2")
DAG = "shop_nightly"


@pytest.fixture(scope="module", params=RECORDINGS)
def views(request: pytest.FixtureRequest) -> Iterator[ViewOpener]:
    with indexed(deliver(shuffled(recorded(request.param))), Random(1)) as open_views:
        yield open_views


def shuffled(events: tuple[Json, ...]) -> list[Json]:
    return Random(47).sample(deepcopy(list(events)), len(events))


def control_edges(views: ViewOpener, **parameters: str) -> list[tuple[str, str]]:
    found = ask(views, "jobs", {"granularity": "task", **parameters})
    names = [node["name"] for node in found["nodes"]]
    assert {each["type"] for each in found["controlFlow"]} <= {"TASK_ORDER"}
    return sorted((names[each["from"]], names[each["to"]]) for each in found["controlFlow"])


def of_night(edges: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [edge for edge in edges if edge[0].startswith(f"{DAG}.")]


def test_the_order_of_tasks_is_the_drawn_one(views: ViewOpener) -> None:
    drawn = sorted((start, end) for start, end in drawing("airflow")["control_edges"])
    assert of_night(control_edges(views)) == drawn
    found = ask(views, "jobs", {"granularity": "task"})
    assert {node["level"] for node in found["nodes"] if node["name"].startswith(f"{DAG}.")} == {"task"}
    rules = {found["nodes"][each["to"]]["name"]: each["rule"] for each in found["controlFlow"]}
    assert (rules[f"{DAG}.wait"], rules["clean_up.remove"]) == ("all_success", "all_done")


def test_tasks_of_one_dag_do_not_wait_for_each_other_as_a_dag(views: ViewOpener) -> None:
    assert control_edges(views, granularity="dag") == []


def test_the_jobs_around_a_task_without_datasets_include_those_it_waits_for(views: ViewOpener) -> None:
    found = ask(views, "jobs", {"granularity": "task", "job": f"{DAG}.wait"})
    assert {node["name"]: node["distance"] for node in found["nodes"]} == {
        f"{DAG}.load.customers": -1, f"{DAG}.wait": 0, f"{DAG}.revenue": 1,
    }  # fmt: skip


def listed(**following: list[str]) -> Json:
    """Return the job facets of a DAG with the successors of each task."""
    tasks = {task: {"task_group": None, "downstream_task_ids": after} for task, after in following.items()}
    return {"airflow": facet(taskTree={}, taskGroups={}, tasks=tasks)}


def dag_run(number: int, second: float, job_facets: Json) -> Json:
    event = run(number, second, job_facets={**kind("DAG", "AIRFLOW"), **job_facets}, kind="START")
    event["job"] |= {"namespace": "airflow", "name": "d"}
    return event


def task_run(number: int, second: float, task: str, *order: str, dag: int = 1) -> Json:
    """Return a run of a task. order: the texts of its upstream and downstream tasks."""
    before, after = order
    stated = {"task_id": task, "upstream_task_ids": before, "downstream_task_ids": after}
    facets = {
        "airflow": facet(dag={"dag_id": "d"}, task=stated),
        "parent": part_of(uuid(dag), ("airflow", "d"), uuid(dag), ("airflow", "d")),
    }
    event = run(number, second, job_facets=kind("TASK", "AIRFLOW"), run_facets=facets)
    event["job"] |= {"namespace": "airflow", "name": f"d.{task}"}
    return event


def edges_of(*events: Json) -> list[tuple[str, str]]:
    """Return the edges without the prefix of the DAG, after checking that the order of events does not matter."""
    answers = []
    for seed in range(3):
        with indexed(deliver(Random(seed).sample(list(events), len(events))), Random(seed)) as views:
            answers.append([(start[2:], end[2:]) for start, end in control_edges(views)])
    assert answers == [answers[0]] * 3
    return answers[0]


def test_tasks_that_never_report_are_tasks_of_the_dag_that_lists_them() -> None:
    with indexed(deliver([dag_run(1, 0, listed(a=["b"], b=[]))]), Random(1)) as views:
        found = ask(views, "jobs", {"granularity": "task"})
        assert [(node["name"], node["level"]) for node in found["nodes"]] == [("d.a", "task"), ("d.b", "task")]
        assert ask(views, "jobs", {"granularity": "dag"})["controlFlow"] == []


def test_without_events_of_the_dag_its_tasks_state_their_order() -> None:
    assert edges_of(task_run(2, 1, "a", "[]", "['b', 'c']"), task_run(3, 2, "b", "['a']", "[]")) == [
        ("a", "b"), ("a", "c"),
    ]  # fmt: skip


@pytest.mark.parametrize("newer", ["of the task", "of the dag"])
def test_the_newest_statement_about_two_tasks_decides(newer: str) -> None:
    dag, later = dag_run(1, 0, listed(a=["b"], b=["c"], c=[])), dag_run(9, 60, listed(a=["c"], c=["b"], b=[]))
    if newer == "of the dag":
        assert edges_of(dag, task_run(2, 1, "a", "[]", "['b']"), later) == [("a", "c"), ("c", "b")]
    else:
        assert edges_of(dag, task_run(2, 70, "a", "[]", "['c']")) == [("a", "c"), ("b", "c")]


def test_a_task_that_left_its_dag_has_no_order_any_more() -> None:
    old = (task_run(2, 1, "a", "[]", "['gone']"), task_run(3, 2, "gone", "['a']", "['b']"))
    new = (task_run(4, 61, "a", "[]", "['b']", dag=9), task_run(5, 62, "b", "['a']", "[]", dag=9))
    assert edges_of(*old, *new) == [("a", "b")]


def test_an_old_provider_states_the_order_as_a_tree() -> None:
    tree = {"airflow": facet(taskTree={"a": {"b": {"d": {}}, "c": {"d": {}}}}, taskGroups={}, tasks={"a": {}})}
    assert edges_of(dag_run(1, 0, tree)) == [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]


@pytest.mark.parametrize(
    "odd", [None, 1, [], {"tasks": 1}, {"tasks": {"a": 1, "b": {"downstream_task_ids": "c"}}}, {"taskTree": {"a": 1}}]
)
def test_a_facet_of_another_structure_states_no_order(odd: Any) -> None:
    assert edges_of(dag_run(1, 0, {"airflow": odd})) == []


def test_no_order_of_tasks_is_a_data_edge(views: ViewOpener) -> None:
    found = ask(views, "graph", {"groups": "none"})
    names = {node["id"]: node["name"] for node in found["nodes"]}
    waits = {("orders", "customers")}
    assert not waits & {(names[edge["from"]], names[edge["to"]]) for edge in found["edges"]}


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ("['a', 'b']", ["a", "b"]), ("('a',)", ["a"]), ("{'b', 'a'}", ["a", "b"]), ("[]", []), (["a"], ["a"]),
        ("a", None), ("__import__('os').getcwd()", None), ("[x for x in 'ab']", None), ("['a' * 9]", None),
        ("{}", None), ("['\\" * 40_000, None),
        ("['a'", None), (None, None), (3, None), ("[" * 50 + "]" * 50, None), ("[" + "-" * 9_000 + "1]", None),
        ("[" + "'a'," * 30_000 + "]", None), ("['a\\x00']", ["a\x00"]), ("\x00", None), ("[1, 'a']", ["a"]),
        ("[1" + "+1" * 40_000 + "]", None), ("[-1, 2.5, None, 'a', {'b': [True]}]", ["a"]), ("[1, f'{a}', 'b']", None),
        ("['it\\'s', \"[(\"]", ["it's", "[("]), ("[1 -1 -1]", None),
    ],
)  # fmt: skip
def test_the_text_of_a_list_is_read_and_never_evaluated(text: Any, members: list[str] | None) -> None:
    assert read_texts(text) == members


def test_reading_the_text_of_a_list_is_bounded() -> None:
    within = "[" + "'a'," * ((MAX_TEXT - 2) // 4) + "]"
    assert len(read_list(within) or []) == 2_000
    assert read_list(within + "   ") is None


def test_times_of_statements_are_starts_of_runs() -> None:
    """A task of the previous run may end after the next run of the DAG has started."""
    long = task_run(2, 1, "a", "[]", "['b']")
    begun = deepcopy(long) | {"eventType": "START", "eventTime": at(1)}
    ended = deepcopy(long) | {"eventTime": at(90)}
    assert edges_of(begun, ended, dag_run(9, 60, listed(a=["c"], c=[], b=[]))) == [("a", "c")]


def test_inlets_and_outlets_make_the_drawn_edges(views: ViewOpener) -> None:
    drawn = {(*each["from"], *each["to"], each["job"]) for each in drawing("airflow")["data_edges"]}
    edges = set()
    for target in {each["to"][1] for each in drawing("airflow")["data_edges"]}:
        found = ask(views, "around", {"namespace": "s3://shop.example", "dataset": target, "down": "0"})
        tables = [(table["namespace"], table["dataset"]) for table in found["tables"]]
        edges |= {
            (*tables[edge["from"]], *tables[edge["to"]], job["name"])
            for edge in found["tableEdges"]
            for job in edge["jobs"]
        }
    assert edges == drawn


def test_what_inlets_and_outlets_declare_is_left_out_of_what_runs_report(views: ViewOpener) -> None:
    asked = {"namespace": "s3://shop.example", "dataset": "revenue"}
    whole, observed = (ask(views, "impact", {**asked, **more}) for more in ({}, {"origins": "observed"}))
    assert [each["dataset"] for each in whole["stops"]] == ["revenue"]
    assert observed["stops"] == []
    assert {each["name"] for each in ask(views, "datasets", {"limit": "100"})["items"]} >= {"orders", "report"}


def tree(views: ViewOpener, run_id: str) -> Any:
    return ask(views, "hierarchy", {"run": run_id})


def run_ids(name: str, job: str) -> list[str]:
    return list(dict.fromkeys(each["run"]["runId"] for each in recorded(name) if each["job"]["name"] == job))


def test_a_dag_is_the_drawn_tree_of_groups_and_tasks(views: ViewOpener, request: pytest.FixtureRequest) -> None:
    recording = next(each for each in RECORDINGS if each in request.node.name)
    first, second = run_ids(recording, DAG)
    drawn = drawing("airflow")
    for run_id, day in ((first, "2026-11-01"), (second, "2026-11-02")):
        found = tree(views, run_id)
        tasks = [each["task"] for each in found["items"]]
        assert {(each["group"] or DAG, f"{DAG}.{each['task']}") for each in tasks} <= {
            (start, end) for start, end in drawn["tree_edges"]
        }
        states: dict[str, list[str]] = {task: [] for task in drawn["runs"][day] if task != "dag"}
        for each in found["items"]:
            states[each["task"]["task"]].append(each["state"])
        assert {"dag": found["run"]["state"], **states} == drawn["runs"][day]
        assert [each["map_index"] for each in tasks if each["task"] == "regions"] == [0, 1, 2]
        assert found["run"]["task"]["run_type"] == "scheduled"
    attempts = [
        (each["task"]["attempt"], each["state"]) for each in found["items"] if each["task"]["task"] == "load.customers"
    ]
    assert attempts == [(1, "FAIL"), (2, "COMPLETE")]
    owners = {each["task"]["task"]: (each["task"]["owner"], each["task"]["retries"]) for each in found["items"]}
    assert owners == {task: (told["owner"], told["retries"]) for task, told in drawn["tasks"].items() if task in owners}


def test_the_graph_of_jobs_names_the_group_of_a_task(views: ViewOpener) -> None:
    nodes = ask(views, "jobs", {"granularity": "task"})["nodes"]
    groups = {node["name"]: node["group"] for node in nodes if node["name"].startswith(f"{DAG}.")}
    assert {name for name, group in groups.items() if group == "load"} == {
        f"{DAG}.load.orders",
        f"{DAG}.load.customers",
    }
