"""A Spark application in DataHub: as one job at its end, after silence, while running or by heartbeat, or unmerged."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.sinks.test_datahub import FACET, IDENTITY, SPARK, dataset, source, urn
from tests.sinks.test_datahub_ways import written
from tests.support.data.made_events import run_event
from tests.support.data.sink_world import SinkWorld, bodies, sink
from tests.support.paths import EVENTS
from tools.datahub_env import judged

pytestmark = pytest.mark.slow

NAMES = {"namespace": "prod", "name": "app"}
FLOW = "urn:li:dataFlow:(spark,app,prod)"
JOB = f"urn:li:dataJob:({FLOW},app)"


class Made:
    """Events of one application, one minute apart."""

    def __init__(self) -> None:
        self.own = run_event()["run"]["runId"]
        self.minute = 0

    def event(self, state: str, run_id: str, name: str, kind: str, **members: Any) -> dict[str, Any]:
        self.minute += 1
        facets: dict[str, Any] = dict(SPARK["facets"])
        if kind != "APPLICATION":
            facets["parent"] = FACET | {"run": {"runId": self.own}, "job": NAMES}
        job = {
            "namespace": "prod",
            "name": name,
            "facets": {"jobType": FACET | {"jobType": kind, "integration": "SPARK"}},
        }
        when = f"2026-03-01T12:{self.minute:02}:00Z"
        run = {"runId": run_id, "facets": facets}
        return run_event(eventType=state, eventTime=when, run=run, job=job, **{"inputs": [], "outputs": [], **members})

    def application(self, state: str) -> dict[str, Any]:
        return self.event(state, self.own, "app", "APPLICATION")

    def action(self, name: str, state: str = "COMPLETE", **members: Any) -> list[dict[str, Any]]:
        run_id = run_event()["run"]["runId"]
        return [self.event(each, run_id, f"app.{name}", "SQL_JOB", **members) for each in ("START", state)]


def whole(state: str = "COMPLETE", second: str = "COMPLETE") -> list[dict[str, Any]]:
    """Return an application of two actions. The second reads what the first writes."""
    made = Made()
    fed: dict[str, Any] = {"columnLineage": {"fields": {"b": {"inputFields": [source("a", "x", IDENTITY)]}}}}
    return [
        made.application("START"),
        *made.action("one", inputs=[dataset("a")], outputs=[dataset("b", **fed)]),
        *made.action("two", second, inputs=[dataset("b")], outputs=[dataset("c")]),
        made.application(state),
    ]


class Told:
    """All proposals in a file, and the last value of each aspect."""

    def __init__(self, path: Path) -> None:
        self.all = written(path) if path.exists() else []
        self.last = {(each["entityUrn"], each["aspectName"]): json.loads(each["aspect"]["value"]) for each in self.all}

    def edges(self, job: str = JOB) -> tuple[list[str], list[str]] | None:
        """Return the inputs and outputs of a job, or None if no proposal contains them."""
        if (job, "dataJobInputOutput") not in self.last:
            return None
        found = self.last[job, "dataJobInputOutput"]
        sides = [[edge["destinationUrn"] for edge in found[f"{side}DatasetEdges"]] for side in ("input", "output")]
        return sides[0], sides[1]

    def jobs(self) -> set[str]:
        return {each["entityUrn"] for each in self.all if each["entityType"] == "dataJob"}


def settle(world: SinkWorld, *made: dict[str, Any], **options: Any) -> Told:
    """Store events, and let a new runner, which has no memory, deliver them."""
    path = world.folder / "proposals.json"
    world.store(*bodies(made))
    world.settle(sink(type="datahub", emitter="file", every="1ms", **{"file.filename": str(path)} | options))
    return Told(path)


ALL = ([urn("postgres", name) for name in "ab"], [urn("postgres", name) for name in "bc"])


def test_d9_an_application_is_one_job_with_all_that_its_actions_say(tmp_path: Path) -> None:
    world, made = SinkWorld(tmp_path), whole()
    told = settle(world, *made)
    assert (told.jobs(), told.edges()) == ({JOB}, ALL)
    own = f"urn:li:dataProcessInstance:{made[0]['run']['runId']}"
    assert {each["entityUrn"] for each in told.all if each["entityType"] == "dataProcessInstance"} == {own}
    times = told.last[JOB, "dataJobInfo"]["customProperties"]
    assert (times["startTime"], times["endTime"]) == ("2026-03-01T12:01:00.000Z", "2026-03-01T12:06:00.000Z")
    assert told.last[own, "dataProcessInstanceRunEvent"]["result"]["type"] == "SUCCESS"
    (fine,) = told.last[JOB, "dataJobInputOutput"]["fineGrainedLineages"]
    assert fine["transformOperation"] == "DIRECT:IDENTITY"


def test_nothing_of_its_lineage_is_told_before_it_ends_and_every_cut_comes_to_the_same(tmp_path: Path) -> None:
    made = whole()
    for cut in range(1, len(made)):
        world = SinkWorld(tmp_path / str(cut))
        assert settle(world, *made[:cut]).edges() is None, cut
        ended = settle(world, *made[cut:])
        assert ended.edges() == ALL, cut
        world.ledger.reset("out", {})
        assert settle(world).last == ended.last


def test_an_action_that_comes_after_the_end_is_told(tmp_path: Path) -> None:
    world, made = SinkWorld(tmp_path), whole()
    assert settle(world, *made[:3], made[5]).edges() == (ALL[0][:1], ALL[1][:1])
    assert settle(world, *made[3:5]).edges() == ALL


@pytest.mark.parametrize(("state", "second"), [("FAIL", "COMPLETE"), ("COMPLETE", "FAIL"), ("ABORT", "COMPLETE")])
def test_d9_a_failure_overrides_success_and_what_was_done_before_stays(tmp_path: Path, state: str, second: str) -> None:
    made = whole(state, second)
    told = settle(SinkWorld(tmp_path), *made)
    own = f"urn:li:dataProcessInstance:{made[0]['run']['runId']}"
    assert told.last[own, "dataProcessInstanceRunEvent"]["result"]["type"] == "FAILURE"
    done = ALL if second == "COMPLETE" else (ALL[0][:1], ALL[1][:1])
    assert told.edges() == done


def test_an_application_that_failed_at_once_takes_no_lineage_away(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    settle(world, *whole())
    again = Made()
    assert settle(world, again.application("START"), again.application("COMPLETE")).edges() == ALL
    assert (
        settle(world, again.application("START"), *again.action("x", "FAIL"), again.application("FAIL")).edges() == ALL
    )


def test_each_job_as_it_completes_where_they_are_not_coalesced(tmp_path: Path) -> None:
    told = settle(SinkWorld(tmp_path), *whole()[:3], coalesce_jobs=False)
    assert told.jobs() == {JOB, f"urn:li:dataJob:({FLOW},app.one)"}
    assert told.edges(f"urn:li:dataJob:({FLOW},app.one)") == (ALL[0][:1], ALL[1][:1])


def test_staged_it_is_told_while_it_runs_too(tmp_path: Path) -> None:
    world, made = SinkWorld(tmp_path), whole()
    assert settle(world, *made[:3], stage_metadata_coalescing=True).edges() == (ALL[0][:1], ALL[1][:1])
    assert settle(world, *made[3:5], stage_metadata_coalescing=True).edges() == ALL
    before = len(settle(world, stage_metadata_coalescing=True).all)
    assert len(settle(world, made[5], stage_metadata_coalescing=True).all) > before


def test_one_that_fell_silent_is_told_once_as_far_as_it_came(tmp_path: Path) -> None:
    """No further events arrive. Time alone makes the application due, once, for any runner."""
    world, made = SinkWorld(tmp_path), whole()
    assert settle(world, *made[:5], idle="2h").edges() is None
    world.later_us = 119 * 60 * 1_000_000
    assert settle(world, idle="2h").edges() is None
    world.later_us += 2 * 60 * 1_000_000
    told = settle(world, idle="2h")
    assert told.edges() == ALL
    own = f"urn:li:dataProcessInstance:{made[0]['run']['runId']}"
    assert told.last[own, "dataProcessInstanceRunEvent"]["status"] == "STARTED"
    world.later_us += 10 * 3600 * 1_000_000
    assert len(settle(world, idle="2h").all) == len(told.all)
    assert len(settle(world, made[5], idle="2h").all) > len(told.all)


def test_one_whose_last_words_reach_the_lake_long_after_they_came_is_told_all_the_same(tmp_path: Path) -> None:
    world, made, path = SinkWorld(tmp_path), whole(), tmp_path / "proposals.json"
    out = sink(type="datahub", emitter="file", every="1ms", idle="1m", **{"file.filename": str(path)})
    world.store(*bodies([run_event()]))
    world.append(*bodies(made[:5]))
    world.later_us = 3600 * 1_000_000
    world.settle(out)
    assert Told(path).edges() is None
    world.store()
    world.settle(out)
    assert Told(path).edges() == ALL


def test_an_application_without_a_word_of_its_own_is_known_by_its_actions(tmp_path: Path) -> None:
    made = whole()
    told = settle(SinkWorld(tmp_path), *made[1:5], stage_metadata_coalescing=True)
    own = f"urn:li:dataProcessInstance:{made[0]['run']['runId']}"
    assert (told.jobs(), told.edges()) == ({JOB}, ALL)
    assert told.last[own, "dataProcessInstanceRunEvent"]["result"]["type"] == "SUCCESS"
    assert "parentInstance" not in told.last[own, "dataProcessInstanceRelationships"]


def test_of_a_thousand_actions_each_counts(tmp_path: Path) -> None:
    made = Made()
    events = [made.application("START")]
    for number in range(1_001):
        made.minute = 1
        events += made.action(f"s{number}", inputs=[dataset(f"i{number}")], outputs=[dataset(f"o{number}")])
    edges = settle(SinkWorld(tmp_path), *events, made.application("COMPLETE")).edges()
    assert edges
    assert [len(side) for side in edges] == [1_001, 1_001]


def test_a_streaming_job_is_told_by_heartbeat_and_not_at_its_end(tmp_path: Path) -> None:
    for heartbeat, expected in (("1ms", ALL), ("87600h", (ALL[0][:1], ALL[1][:1]))):
        world, made = SinkWorld(tmp_path / heartbeat), whole()
        streaming = {"streaming_job": True, "streaming_heartbeat": heartbeat}
        assert settle(world, *made[:2], **streaming).edges() == (ALL[0][:1], ALL[1][:1])
        assert settle(world, *made[2:], **streaming).edges() == expected


def test_tasks_of_an_orchestrator_are_no_actions_of_one_application(tmp_path: Path) -> None:
    made = whole()
    for each in made:
        each["run"]["facets"]["processing_engine"] = FACET | {"name": "Airflow", "version": "2"}
        each["job"]["facets"] = {}
    told = settle(SinkWorld(tmp_path), *made)
    flow = "urn:li:dataFlow:(airflow,app,prod)"
    assert told.jobs() == {f"urn:li:dataJob:({flow},app{name})" for name in ("", ".one", ".two")}


def test_datahubs_own_package_reads_what_is_told_of_a_real_application(tmp_path: Path) -> None:
    lines = (EVENTS / "spark-3.5.7-listener-1.53.0.ndjson").read_bytes().splitlines()
    options = {"metadata.dataset.materialize": True, "metadata.dataset.include_schema_metadata": True}
    told = settle(SinkWorld(tmp_path), *map(json.loads, lines), **options)
    of_spark = {job for job in told.jobs() if "(spark," in job}
    assert len(of_spark) == len({json.loads(line)["job"]["name"].split(".")[0] for line in lines})
    count, wrong = judged(told.all)
    assert (count, wrong) == (len(told.all), [])
