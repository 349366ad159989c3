"""Replay by tasks of Spark: what `headwater replay` sends, each run in order, and no more than a batch twice."""

import json
import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError

from headwater.common.errors import LakeUnavailable, WrongSetting
from headwater.events.times import iso_time
from headwater.lineage.snapshots.as_of import AsOf
from headwater.operations.runtime.sinks import open_replay
from headwater.sinks.control.replay_span import ReplaySpan, address_options
from headwater.spark.one_pass import hold_lake_lock
from headwater.spark.replay.replay_job import replay
from headwater.spark.replay.spark_replay import SparkReplay
from tests.index.test_reference import compare, indexed
from tests.reference.world_events import START_US
from tests.sinks.test_replay import received_us
from tests.sinks.test_second import arrived, lake_of_worlds, stored_worlds
from tests.support.data.made_events import run_event
from tests.support.data.sink_world import SinkWorld, bodies, events, runs
from tests.support.few_of_many import few_of
from tests.support.running import Running
from tests.support.servers.sink_target import Asked, Said, SinkServer, sink_server
from tests.support.spark.spark_noise import SPARK_NOISE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), *SPARK_NOISE]


@pytest.fixture
def server() -> Iterator[SinkServer]:
    with sink_server() as server:
        yield server


@pytest.fixture
def world(tmp_path: Path) -> SinkWorld:
    return SinkWorld(tmp_path)


def lake(world: SinkWorld) -> str:
    return str(world.folder / "lake")


def opened(
    spark: "SparkSession", world: SinkWorld, url: str, span: ReplaySpan | None = None, *, batch: int = 1, **options: Any
) -> SparkReplay:
    span = span or ReplaySpan()
    return SparkReplay(spark, lake(world), span.replay_sink(address_options(url, batch, None), None), span, **options)


def steps(count: int) -> list[dict[str, Any]]:
    """Return runs of three events each, all mixed up but for the order in each run."""
    made = [[run_event(eventType=state) for state in ("START", "RUNNING", "COMPLETE")] for _ in range(count)]
    for run in made:
        for event in run:
            event["run"] = run[0]["run"]
    left, mixed, draw = [run[:] for run in made], [], Random(7)
    while left:
        chosen = draw.choice(left)
        mixed.append(chosen.pop(0))
        left = [run for run in left if run]
    return mixed


def of_runs(taken: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for event in taken:
        found[event["run"]["runId"]].append(event)
    return found


def test_tasks_send_what_one_process_sends_and_each_run_in_order(
    spark: "SparkSession", world: SinkWorld, server: SinkServer
) -> None:
    made = steps(40)
    world.store(*bodies(made), *bodies(made[:9]))
    outcome = opened(spark, world, server.url, batch=7, streams=3).run(batch_events=50)
    assert outcome == {
        "target": "openlineage",
        "selected_by": "event time",
        "order": "event time",
        "delivered": 120,
        "refused": 0,
        "left_out": 0,
        "reasons": [],
        "went_on": False,
    }
    by_tasks = server.taken[:]
    server.taken.clear()
    replayed = open_replay(world.settings, world.folder, ReplaySpan(), server.url, rate=None, batch=7, key=None)
    assert replayed.run(lambda *_: None)["delivered"] == 120
    assert server.taken == made
    assert of_runs(by_tasks) == of_runs(made)
    assert by_tasks != made, "one stream alone"


def test_a_span_is_cut_as_for_one_process(spark: "SparkSession", world: SinkWorld, server: SinkServer) -> None:
    made = [run_event(job={"namespace": space, "name": "load"}) for space in ("prod", "test", "prod", "prod")]
    for each in made:
        world.store(*bodies([each]))
    since, until = (received_us(world, made[place]) for place in (1, 3))
    spans = {
        ReplaySpan(since, until, by="receipt"): (made[1:3], 0),
        ReplaySpan(until_us=1): ([], 0),
        ReplaySpan(namespaces=("pr*",), jobs=("load",)): ([made[0], *made[2:]], 1),
        ReplaySpan(runs=tuple(runs(made[1:2]))): ([made[1]], 3),
        ReplaySpan(since_us=1 << 60): ([], 0),
    }
    for span, (expected, left_out) in spans.items():
        server.taken.clear()
        ours = opened(spark, world, server.url, span, streams=1)
        looked, sent = ours.preview(), ours.run()
        theirs = open_replay(world.settings, world.folder, span, server.url, rate=None, batch=1, key=None).preview()
        assert (server.taken, sent["left_out"]) == (expected, left_out), span
        assert looked | {"first": 0, "last": 0} == theirs | {"first": 0, "last": 0}, span
    looked = opened(spark, world, server.url, ReplaySpan(since, until, by="receipt")).preview()
    assert (looked["first"], looked["last"]) == (iso_time(since), iso_time(received_us(world, made[2])))


def test_events_that_arrive_late_are_sent_by_tasks_in_the_order_of_their_own_times(
    spark: "SparkSession", world: SinkWorld, server: SinkServer
) -> None:
    made = [run_event(eventTime=f"2026-03-0{day}T00:00:00Z") for day in (3, 9, 1, 2)]
    for each in made:
        world.store(*bodies([each]))
    given = ["--to", server.url, "--streams", "1", "--batch-events", "2", "--since", "2026-03-01"]
    looked = replay([lake(world), *given, "--until", "2026-03-05", "--dry-run"])
    assert (looked["would_send"], looked["selected_by"]) == (3, "event time")
    assert (looked["first"], looked["last"]) == ("2026-03-01T00:00:00.000Z", "2026-03-03T00:00:00.000Z")
    assert replay([lake(world), *given, "--until", "2026-03-05"])["delivered"] == 3
    assert server.taken == [made[2], made[3], made[0]]
    with pytest.raises(WrongSetting, match="can use only one of them"):
        replay([lake(world), *given, "--received-until", "2026-03-05"])


def test_a_job_that_was_cut_off_goes_on_behind_its_last_batch(
    spark: "SparkSession", world: SinkWorld, server: SinkServer
) -> None:
    made, hold = steps(20), threading.Event()
    world.store(*bodies(made))

    def answer(_: Asked) -> Said:
        if len(server.taken) >= 50:
            spark.sparkContext.cancelAllJobs()
            hold.wait(60)
        return Said()

    server.answer = answer
    cut = opened(spark, world, server.url, streams=2)
    with pytest.raises(Py4JJavaError, match="cancelled"):
        cut.run(batch_events=20)
    hold.set()
    server.answer = lambda _: Said()
    before = len(server.taken)
    outcome = opened(spark, world, server.url, streams=3).run(batch_events=20)
    assert (outcome["delivered"], outcome["went_on"]) == (20, True)
    assert before >= 50
    whole = of_runs(server.taken)
    assert {
        run: [event for place, event in enumerate(each) if event not in each[:place]] for run, each in whole.items()
    } == of_runs(made)
    outcome = opened(spark, world, server.url, streams=3).run()
    assert (outcome["delivered"], outcome["went_on"]) == (60, False), "it had ended: it begins anew"


def test_two_at_once_are_one(spark: "SparkSession", world: SinkWorld, server: SinkServer) -> None:
    world.store(*bodies(events(1)))
    found = opened(spark, world, server.url)
    with (
        hold_lake_lock(spark, lake(world), f"sinks/replays/{found.name}.lock"),
        pytest.raises(LakeUnavailable, match="Another"),
    ):
        found.run()
    assert server.asked == []


def test_what_is_refused_or_fails_for_ever_is_named_and_left_behind(
    spark: "SparkSession", world: SinkWorld, server: SinkServer
) -> None:
    made = events(6)
    world.store(*bodies(made))
    refused, failing = runs(made)[2], runs(made)[5]

    def answer(asked: Asked) -> Said:
        said = {refused: Said(422, b"no"), failing: Said(500, b"oops")}
        return said.get(asked.events[0]["run"]["runId"], Said())

    server.answer = answer
    outcome = opened(spark, world, server.url, streams=1).run()
    assert (outcome["delivered"], outcome["refused"]) == (4, 2)
    (first, last) = (reason.partition(": ")[2] for reason in outcome["reasons"])
    assert first == "status 422: no"
    assert last.startswith("The target fails at this event although it accepts another one")


def test_the_job_takes_a_sink_of_a_file_and_its_secret_where_the_task_runs(
    spark: "SparkSession", world: SinkWorld, server: SinkServer, tmp_path: Path
) -> None:
    made = [*events(2, eventType="START"), *events(1, eventType="FAIL")]
    world.store(*bodies(made))
    out = {"type": "marquez", "url": server.url, "only": {"states": ["START"]}, "key": {"env": "PATH"}}
    named = {"out": out, "runs": {"type": "openlineage", "url": server.url, "as": "runs"}}
    file = tmp_path / "sinks.yml"
    file.write_text(json.dumps({"version": 1, "sinks": named}))
    told = [lake(world), "--sinks", str(file), "--to"]
    outcome = replay([*told, "out", "--rate", "1000"])
    assert (outcome["delivered"], outcome["left_out"]) == (2, 1)
    assert server.taken == made[:2]
    assert server.asked[-1].headers["authorization"] == f"Bearer {os.environ['PATH']}"
    assert replay([*told, "out", "--dry-run"])["would_send"] == 2
    assert replay([lake(world), "--to", server.url, "--batch", "10", "--run", runs(made)[2]])["delivered"] == 1
    for wrong, words in {"runs": "headwater replay", "other": "Its sinks: out, runs"}.items():
        with pytest.raises(WrongSetting, match=words):
            replay([*told, wrong])
    with pytest.raises(WrongSetting, match="NO_SUCH_VARIABLE is not set"):
        replay([lake(world), "--to", server.url, "--key-env", "NO_SUCH_VARIABLE"])
    with pytest.raises(WrongSetting, match="has no table `events`"):
        replay([str(tmp_path / "elsewhere"), "--to", server.url])


@pytest.mark.parametrize("seeds", few_of([range(4), range(4, 16)], 1), ids=str)  # `test_sinks_second` replays more
def test_a_second_headwater_answers_as_the_first(spark: "SparkSession", tmp_path: Path, seeds: range) -> None:
    world, second = lake_of_worlds(tmp_path, seeds), tmp_path / "second"
    second.mkdir(mode=0o700)
    with Running(second, options=["--tick", "50ms"], cwd=tmp_path) as other:
        assert opened(spark, world, other.url, batch=100, streams=4).run(batch_events=100)["refused"] == 0
        arrived(world, second)
    mine, theirs = stored_worlds(world.folder), stored_worlds(second)
    assert mine.keys() == theirs.keys()
    for seed, made in mine.items():
        with indexed(theirs[seed], Random(seed)) as open_views:
            for as_of in (AsOf(), AsOf(as_of_us=START_US + 20_000_000)):
                compare(open_views, made, as_of)
