"""Writers of a dataset: a DatasetEvent is not a job, and a job without reported inputs is still a writer."""

from typing import Any

import msgspec
import pytest
from msgspec import to_builtins

from headwater.cli import lineage
from headwater.cli.agents import answers as mcp_answers
from headwater.common.paging import ListPage
from headwater.governance.planning.findings import _outcome_without_impact
from headwater.governance.planning.schema import PlannedChange
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import keep_job
from headwater.questions.answer_types.lineage import Reach
from headwater.questions.coverage import coverage
from headwater.questions.job_graph import JobBounds, JobContext, job_graph
from headwater.questions.reach import path_answer, reach_answer
from headwater.questions.subjects import Bounds, Subject
from tests.reference.small_events import A, B, C, made, run, with_schema, x_from
from tests.reference.world_events import at, dataset, dataset_event, facet, parent, source, uuid
from tests.support.data.lineage_world import RULES, LineageWorld, world

DESCRIBED = dataset(A, documentation=facet(description="Orders as they land."))
TAGGED = dataset(A, tags=facet(tags=[{"key": "pii", "value": "true", "field": "x"}]))
FROM_A = run(1, 1, x_from(A, B), reads=[dataset(A)])


def covered(seen: LineageWorld) -> Any:
    return to_builtins(coverage(seen.scene, seen.counted, page=ListPage()))


def jobs(seen: LineageWorld) -> list[str]:
    known = JobContext([], keep_job, lambda _: [], lambda _: [], lambda *_: [])
    found = job_graph(seen.scene, seen.counted, known, "job", JobBounds(None, 1, 1, 100))
    return [node.name for node in found.nodes]


def test_a_dataset_that_is_only_described_or_tagged_has_no_writer() -> None:
    for told in (DESCRIBED, TAGGED, dataset(A)):
        for seen in (
            world(FROM_A, dataset_event(at(2), told)),
            world(FROM_A, dataset_event(at(2), told)).of_all_times(),
        ):
            assert jobs(seen) == ["job"]
            answer = covered(seen)
            assert answer["datasets"] == {"column lineage": 1, "no reported job writes it": 1}
            assert answer["jobs"] == {"column lineage": 1}


def test_a_dataset_that_is_only_described_is_known() -> None:
    assert world(dataset_event(at(1), DESCRIBED)).scene.has_lineage_or_schema(Name(*A))


def test_lineage_that_a_catalogue_declares_makes_edges_and_no_job() -> None:
    declared = dataset_event(at(2), made(C, {"x": [source(B, "x")]}))
    seen = world(FROM_A, declared)
    assert seen.edges == {("a.x", "b.x", "direct"), ("b.x", "c.x", "direct")}
    assert jobs(seen) == ["job"]
    assert covered(seen)["jobs"] == {"column lineage": 1}
    assert covered(seen)["datasets"] == {"column lineage": 2, "no reported job writes it": 1}


def found_upstream(seen: LineageWorld, name: tuple[str, str], *, forward: bool = False) -> Reach:
    bounds = Bounds(100, 100)
    asked = Subject(*name)
    return reach_answer(seen.scene, RULES.names, asked, seen.counted, forward=forward, mode="value", bounds=bounds)


def upstream_stops(seen: LineageWorld, name: tuple[str, str], *, forward: bool = False) -> Any:
    """Return (dataset, datasets beyond it, jobs) of each stop."""
    found = found_upstream(seen, name, forward=forward)
    return [
        (stop.dataset, [each.dataset for each in stop.onward], [job.name for job in stop.jobs]) for stop in found.stops
    ]


def test_an_output_whose_writer_reports_no_input_has_a_stop_upstream() -> None:
    seen = world(run(1, 1, with_schema(A, "x"), job="load"), run(2, 2, x_from(A, B), reads=[dataset(A)], job="copy"))
    assert upstream_stops(seen, A) == [("a", [], ["load"])]
    assert upstream_stops(seen, B) == [("a", [], ["load"])]
    assert upstream_stops(seen, A, forward=True) == []


def test_a_dataset_that_nobody_wrote_has_no_stop_upstream() -> None:
    described = dataset_event(at(3), with_schema(A, "x"))
    assert upstream_stops(world(FROM_A, described), A) == []
    assert upstream_stops(world(FROM_A, described), B) == []


def test_a_writer_that_says_its_columns_come_from_nowhere_is_no_stop() -> None:
    assert upstream_stops(world(run(1, 1, made(A, {"x": []}), job="constants")), A) == []


def test_command_and_agents_name_the_writer_that_reports_no_input(capsys: pytest.CaptureFixture[str]) -> None:
    found: Any = msgspec.to_builtins(found_upstream(world(run(1, 1, with_schema(A, "x"), job="load")), A))
    assert [stop["reason"] for stop in found["stops"]] == ["no_input"]
    assert mcp_answers.shorten_reach(found, ()).stops == ["s3://lake/a: written by load, which reports no input"]
    lineage.print_stops(found, as_json=False)
    printed = capsys.readouterr().out
    assert "Written by jobs that report no input" in printed
    assert "load" in printed
    assert "goes on" not in printed
    assert "may be connected" not in printed


IN_SESSION = {"parent": parent(uuid(90), ("jobs", "session"))}
APART = (
    run(1, 1, reads=[with_schema(A, "x")], job="show", run_facets=IN_SESSION),
    run(2, 2, with_schema(B, "x"), job="load", run_facets=IN_SESSION),
)
"""A session that reads rows of one table and writes a different table from memory."""


def test_command_and_agents_name_what_may_be_connected(capsys: pytest.CaptureFixture[str]) -> None:
    for name, forward, line, title in (
        (A, True, "s3://lake/a: read by show, without output; may be connected with s3://lake/b (load)", "no output"),
        (B, False, "s3://lake/b: written by load, which reports no input; may be connected with s3://lake/a (show)",
         "no input"),
    ):  # fmt: skip
        found: Any = msgspec.to_builtins(found_upstream(world(*APART), name, forward=forward))
        assert found["columns"] == []
        assert mcp_answers.shorten_reach(found, ()).stops == [f"{line} in the same application"]
        lineage.print_stops(found, as_json=False)
        printed = capsys.readouterr().out
        assert all(words in printed for words in (f"report {title}", "may be connected"))


def test_a_path_that_is_not_found_names_the_writer_of_its_target_that_reports_no_input() -> None:
    behind = run(3, 3, x_from(B, C), reads=[dataset(B)], job="copy")
    for events, stops in (
        ([FROM_A, APART[1]], []),
        ([run(1, 1, with_schema(C, "y"), reads=[dataset(A)], job="opaque"), APART[1]], ["a no_columns", "b no_input"]),
        (APART, ["a no_output", "b no_input"]),
    ):
        seen = world(*events, behind)
        found = path_answer(seen.scene, RULES.names, Subject(*A), Subject(*C, "x"), seen.counted, mode="value")
        assert [f"{stop.dataset} {stop.reason}" for stop in found.stops] == stops
        assert found.reaches is not bool(stops)


def test_no_plan_is_safe_for_a_column_of_what_may_be_connected() -> None:
    found: Any = msgspec.to_builtins(found_upstream(world(*APART), A, forward=True))
    unused = [{"verdict": "unused", "reason": ""}]
    assert _outcome_without_impact(PlannedChange("drop_column", "a", None, "x"), unused, [])[0] == "safe"
    assert (
        _outcome_without_impact(PlannedChange("drop_column", "a", None, "x"), unused, found["stops"])[0] == "may break"
    )
