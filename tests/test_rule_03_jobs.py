"""Rule 3: which runs are one job, which job a run belongs to, and what a run is part of."""

from random import Random
from typing import Any

import pytest

from headwater.api.marquez.run_answers import brief_json
from headwater.index.reading.catalog import Catalog
from headwater.lineage.time.as_of import AsOf
from headwater.questions.attempts import unfinished_runs
from tests.asking import ask
from tests.lineage_world import LineageWorld
from tests.reference.records import runs_of
from tests.reference.small_events import STREAM, A, B, C, run, with_schema, x_from
from tests.reference.world_events import Json, dataset, deliver, parent, uuid
from tests.test_index_reference import indexed

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
        with views.catalog(AsOf()) as (_, live):
            row = Catalog(live).runs.find(uuid(1))
            marquez = brief_json(row) if row else {}
    assert (shown["duration"], tree["run"]["durationMs"], marquez["durationMs"]) == (None, None, None)


APP = uuid(80)
BELOW = {"parent": parent(APP, ("jobs", "app"), uuid(81))}


def inference(second: float = 1) -> Json:
    """Return the START that Spark's listener sends for a schema inference, of which it never sends an end."""
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
        with views.catalog(AsOf()) as (_, live):
            row = Catalog(live).runs.find(uuid(1))
            marquez = brief_json(row) if row else {}
        assert len(ask(views, "listed_runs", {"state": state, "job": "app.read"})["items"]) == 1
    assert (shown["state"], job["last_run"]["state"], tree["run"]["state"]) == (state,) * 3
    assert marquez["state"] == {"ENDED": "ABORTED", "FAIL": "FAILED"}.get(state, "RUNNING")


def test_a_run_that_ended_with_its_application_proves_nothing_and_is_named_with_its_state() -> None:
    """Rule 6.10; the index and the rules in memory answer alike."""
    events = [inference(), ended(80, 9), run(2, 1, dataset(C), reads=[with_schema(A, "x y")], job="other")]
    seen = LineageWorld(deliver(events))
    with indexed(deliver(events), Random(1)) as views:
        found = ask(views, "impact", {"dataset": "a", "column": "x"})
    assert [run["state"] for stop in found["stops"] for run in stop["runs"]] == ["ENDED"]
    assert [each.state for each in unfinished_runs(seen.scene, seen.scene.graph.sets)] == ["ENDED"]
