"""Rule 6.10: a run that did not complete proves nothing and hides nothing."""

from random import Random
from typing import Any

import msgspec
import pytest

from headwater.cli import lineage
from headwater.cli.agents import answers as mcp_answers
from headwater.common.errors import NeverWritten
from headwater.common.paging import ListPage
from headwater.events.times import iso_time
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.moments import last_success_us
from headwater.index.reading.write_times import WriteTimes
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US
from headwater.lineage.rules.user_rules import UserRules
from headwater.questions.answer_types.lineage import Reach
from headwater.questions.reach import reach_answer
from headwater.questions.subjects import Bounds, Subject
from headwater.questions.surface import find_surface, surface_answer
from headwater.questions.unused import verdicts_answer
from tests.index.test_reference import indexed
from tests.reference.small_events import CLEAR, HASHED, A, B, C, changed, made, run, with_schema
from tests.reference.world_events import Json, at, dataset, dataset_event, deliver, facet, parent, schema, source, uuid
from tests.support.data.lineage_world import RULES, LineageWorld, world

TWO = with_schema(A, "x y")
COPIES = made(B, {"x": [source(A, "x", CLEAR)]})
DONE = run(1, 1, COPIES, reads=[TWO])
"""A run that uses x of A but not y."""
TAG = facet(tags=[{"key": "pii", "value": "1", "field": "x"}])
PII = dataset_event(at(3), dataset(A, schema=schema(["x", "y"]), tags=TAG))


def begun(number: int, second: float, *outputs: Json, job: str = "job", **more: Any) -> Json:
    return run(
        number, second, *outputs, reads=more.pop("reads", [TWO]), kind=more.pop("kind", "START"), job=job, **more
    )


def asked(seen: LineageWorld, name: tuple[str, str], *, forward: bool) -> Reach:
    bounds = Bounds(100, 100)
    return reach_answer(
        seen.scene, RULES.names, Subject(*name), seen.counted, forward=forward, mode="value", bounds=bounds
    )


def stops(seen: LineageWorld, name: tuple[str, str], *, forward: bool) -> list[tuple[str, str, list[str]]]:
    found = asked(seen, name, forward=forward).stops
    return [(stop.dataset, stop.reason, [f"{each.job.name} {each.state}" for each in stop.runs]) for stop in found]


def surface(seen: LineageWorld) -> dict[str, str]:
    looked = find_surface(seen.scene, RULES, seen.counted, tag="pii", source=None)
    items = surface_answer(seen.scene, looked, tag="pii", page=ListPage()).items
    return {f"{each.dataset}.{each.column}": each.exposure for each in items}


@pytest.mark.parametrize("state", ["START", "FAIL", "ABORT"])
def test_what_a_run_without_a_complete_reads_is_unknown_and_a_stop(state: str) -> None:
    told = "RUNNING" if state == "START" else state
    seen = world(DONE, begun(2, 2, with_schema(C, "z"), kind=state, job="nightly"))
    assert seen.unused(A) == {"x": "used", "y": "unknown"}
    answer = verdicts_answer(seen.scene, RULES, seen.counted, asked=Subject(*A, "y"), page=ListPage())
    [item] = [each for each in answer.items if each.column == "y"]
    assert (item.reason or "").endswith(f"(wait for its end, or run the job again): run {uuid(2)} of nightly is {told}")
    assert stops(seen, A, forward=True) == [("a", "not_completed", [f"nightly {told}"])]
    assert stops(seen, C, forward=False) == [("c", "not_completed", [f"nightly {told}"])]


def test_readers_of_a_dataset_name_the_runs_that_did_not_complete() -> None:
    seen = world(DONE, begun(2, 2, with_schema(C, "z"), job="nightly"))
    [readers] = verdicts_answer(seen.scene, RULES, seen.counted, asked=Subject(*A), page=ListPage()).readers
    assert [job.name for job in readers.jobs] == ["job"]
    assert [(each.run, each.job.name, each.state) for each in readers.not_completed] == [
        (uuid(2), "nightly", "RUNNING")
    ]


def test_columns_that_such_a_run_may_have_written_are_unknown_on_the_surface() -> None:
    masks = run(1, 1, made(B, {"x": [source(A, "x", HASHED)]}), reads=[TWO])
    assert surface(world(masks, PII)) == {"a.x": "exposed", "b.x": "masked"}
    seen = world(masks, PII, begun(2, 2, COPIES, kind="FAIL"))
    assert surface(seen) == {"a.x": "exposed", "b.x": "unknown"}
    assert surface(world(masks, PII, begun(2, 2, with_schema(C, "z"), job="other")))["c.z"] == "unknown"


def test_a_masked_column_with_the_tag_is_exposed_while_such_a_run_may_write_it() -> None:
    tagged = made(B, {"x": [source(A, "x", HASHED)]}, tags=TAG)
    masks = run(1, 1, tagged, reads=[TWO])
    assert surface(world(masks, PII))["b.x"] == "masked"
    assert surface(world(masks, PII, begun(2, 2, with_schema(B, "x"), job="other")))["b.x"] == "exposed"


def test_a_run_makes_no_edge_writer_or_use_before_it_completes() -> None:
    seen = world(with_schema_event(A, "x y"), begun(2, 2, COPIES))
    assert seen.edges == seen.tables == set()
    assert not seen.scene.was_read_to_write(Name(*A))
    assert not seen.scene.has_lineage_or_schema(Name(*C))
    ended = world(with_schema_event(A, "x y"), begun(2, 2, COPIES), run(2, 3, COPIES, reads=[TWO]))
    assert ended.edges == {("a.x", "b.x", "direct")}
    assert ended.unused(A) == {"x": "used", "y": "unused"}


def with_schema_event(name: tuple[str, str], columns: str) -> Json:
    return dataset_event(at(0), with_schema(name, columns))


def test_a_run_that_reports_what_a_completed_one_reports_leaves_nothing_open() -> None:
    again = begun(2, 2, COPIES)
    seen = world(DONE, again)
    assert seen.unused(A) == {"x": "used", "y": "unused"}
    assert stops(seen, A, forward=True) == []
    other = world(DONE, begun(2, 2, made(B, {"x": [source(A, "y", CLEAR)]})))
    assert other.unused(A) == {"x": "used", "y": "unknown"}


def test_a_later_attempt_that_fails_leaves_open_what_it_reads_and_takes_nothing_back() -> None:
    later = [
        run(1, 2, COPIES, reads=[with_schema(C, "z")], kind=kind) if kind == "START" else run(1, 3, kind=kind)
        for kind in ("START", "FAIL")
    ]
    seen = world(DONE, *later)
    assert seen.states == ["FAIL"]
    assert seen.edges == {("a.x", "b.x", "direct")}
    assert seen.unused(C) == {"z": "unknown"}
    assert stops(seen, C, forward=True) == [("c", "not_completed", ["job FAIL"])]


def test_a_completed_run_below_explains_what_a_running_task_reads() -> None:
    task = begun(9, 2, with_schema(B, "x"), job="dag.task")
    child = run(1, 1, COPIES, reads=[TWO], run_facets={"parent": parent(uuid(9), ("jobs", "dag.task"))})
    assert world(task, child).unused(A) == {"x": "used", "y": "unused"}
    assert world(task, DONE).unused(A) == {"x": "used", "y": "unknown"}


def test_a_run_that_only_read_so_far_is_a_caveat() -> None:
    seen = world(DONE, begun(2, 2, job="show"))
    assert seen.unused(A) == {"x": "used", "y": "unused"}
    assert seen.unused(A, strict=True) == {"x": "used", "y": "unknown"}


def test_a_table_that_is_made_anew_is_there_while_its_run_goes_on() -> None:
    dropped = run(3, 3, changed(B, "DROP"))
    assert not world(DONE, dropped).scene.exists(Name(*B))
    seen = world(DONE, dropped, begun(4, 4, COPIES))
    assert seen.scene.exists(Name(*B))


def test_a_dataset_that_only_such_runs_name_is_refused() -> None:
    seen = world(begun(2, 2, dataset(C), reads=[]))
    with pytest.raises(NeverWritten):
        asked(seen, C, forward=False)


def test_command_and_agents_name_the_run_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    found: Any = msgspec.to_builtins(
        asked(world(DONE, begun(2, 2, with_schema(C, "z"), job="nightly")), A, forward=True)
    )
    assert mcp_answers.shorten_reach(found, ()).stops == [
        f"s3://lake/a: run {uuid(2)} of nightly is RUNNING and reports no lineage; "
        "wait until it ends, or run the job again"
    ]
    lineage.print_stops(found, as_json=False)
    printed = capsys.readouterr().out
    assert "Runs that did not complete" in printed
    assert "nightly" in printed


def test_a_job_whose_newest_attempt_failed_has_the_end_of_its_completed_one_as_its_last_success() -> None:
    events = [DONE, run(1, 2, kind="START"), run(1, 3, kind="FAIL")]
    with indexed(deliver(events), Random(1)) as open_views:

        def question(live: LiveGraph, _: UserRules) -> tuple[int, list[int]]:
            job = live.names.find_number(Name("jobs", "job")) or 0
            return last_success_us(live, "job"), [
                each.time_us for each in WriteTimes(live, MAX_TIME_US).newest_completed_runs(job)
            ]

        green_us, completed_us = open_views.query_current_index(question)
    assert completed_us == [green_us]
    assert iso_time(green_us) == at(1)
