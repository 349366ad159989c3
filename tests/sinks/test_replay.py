"""Replay sends the lake's events of a period once more, continues after a kill, and starts from scratch
after its end.
"""

import json
import os
import signal
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from headwater.common.errors import Retry, WrongSetting
from headwater.lake.bronze_follower import sources_ahead
from headwater.lake.events_by_time import EventList, OrderedPlace, Selection
from headwater.operations.runtime.sinks import open_replay
from headwater.operations.runtime.storage import open_bronze
from headwater.sinks.control.replay import Replay
from headwater.sinks.control.replay_span import ReplaySpan
from tests.support.data.made_events import run_event
from tests.support.data.shop import EVENTS, MAILING, Asker
from tests.support.data.sink_world import SinkWorld, bodies, events, runs
from tests.support.lake_check import rows
from tests.support.running import Running, headwater, started
from tests.support.servers.sink_target import Asked, Said, SinkServer, eventually

pytestmark = pytest.mark.slow


def opened(world: SinkWorld, to: str, span: ReplaySpan | None = None, batch: int = 1, key: str | None = None) -> Replay:
    return open_replay(world.settings, world.folder, span or ReplaySpan(), to, rate=None, batch=batch, key=key)


def run(replay: Replay) -> tuple[int, int, int]:
    found = replay.run(lambda *_: None)
    return found["delivered"], found["refused"], found["left_out"]


def received_us(world: SinkWorld, made: Any) -> int:
    """Return when an event was received."""
    found = [row for row in rows(world.folder, "events", ["run_id", "received_at"]) if row["run_id"] in runs([made])]
    return int(found[0]["received_at"].timestamp() * 1e6)


def break_off(world: SinkWorld, server: SinkServer) -> None:
    """Start a replay that stops after a few requests. Afterwards the target accepts all requests again."""
    server.answer = lambda _: Said() if len(server.asked) < 5 else Said(503)

    def stop(settled: int, total: int, status: Any) -> None:
        if status.trouble:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        opened(world, server.url).run(stop)
    server.answer = lambda _: Said()


def test_all_of_it_arrives_in_order_with_the_key_each_time_it_is_asked_for(
    world: SinkWorld, server: SinkServer
) -> None:
    made = events(30)
    world.store(*bodies(made), *bodies(made[:5]))
    for times in (1, 2):
        replay = opened(world, server.url, batch=7, key="a-very-secret-key")
        assert (replay.total, replay.goes_on) == (30, False)
        assert run(replay) == (30, 0, 0)
        assert server.taken == made * times
    assert server.asked[-1].headers["authorization"] == "Bearer a-very-secret-key"


def test_a_span_is_cut_at_both_ends_and_by_whom(world: SinkWorld, server: SinkServer) -> None:
    made = [run_event(job={"namespace": space, "name": "load"}) for space in ("prod", "test", "prod", "prod")]
    for each in made:
        world.store(*bodies([each]))
    since, until = (received_us(world, made[place]) for place in (1, 3))
    assert run(opened(world, server.url, ReplaySpan(since, until, by="receipt"))) == (2, 0, 0)
    assert server.taken == made[1:3]
    assert run(opened(world, server.url, ReplaySpan(namespaces=["pr*"], jobs=["load"]))) == (3, 0, 1)
    assert run(opened(world, server.url, ReplaySpan(runs=runs(made[1:2])))) == (1, 0, 3)
    assert server.taken[2:] == [made[0], *made[2:], made[1]]
    assert run(opened(world, server.url, ReplaySpan(since_us=1 << 60))) == (0, 0, 0)


def at(moment: str, **members: Any) -> dict[str, Any]:
    """Return a run event with this time."""
    return run_event(eventTime=f"2026-03-{moment}Z", **members)


def test_events_that_arrive_late_are_selected_by_their_own_time_and_sent_in_its_order(
    world: SinkWorld, server: SinkServer
) -> None:
    third, first, second, outside = (at(f"0{day}T00:00:00") for day in (3, 1, 2, 9))
    for each in (third, outside, first, second):
        world.store(*bodies([each]))
    since, until = (int(datetime.fromisoformat(f"2026-03-0{day}T00:00:00+00:00").timestamp() * 1e6) for day in (1, 5))
    replay = opened(world, server.url, ReplaySpan(since, until))
    looked = replay.preview()
    assert (replay.total, looked["selected_by"], looked["order"]) == (3, "event time", "event time")
    assert (looked["first"], looked["last"]) == ("2026-03-01T00:00:00.000Z", "2026-03-03T00:00:00.000Z")
    found = replay.run(lambda *_: None)
    assert (found["delivered"], found["selected_by"]) == (3, "event time")
    assert server.taken == [first, second, third]
    assert opened(world, server.url, ReplaySpan(until, since)).total == 0

    span = ReplaySpan(received_us(world, outside), received_us(world, second), by="receipt")
    found = opened(world, server.url, span).run(lambda *_: None)
    assert (found["delivered"], found["selected_by"], found["order"]) == (2, "receipt", "event time")
    assert server.taken[3:] == [first, outside]


def test_the_same_bounds_by_event_and_by_receipt_are_two_replays(world: SinkWorld, server: SinkServer) -> None:
    world.store(*bodies(events(3)))
    server.answer = lambda _: Said() if len(server.taken) < 1 else Said(503)

    def stop(settled: int, total: int, status: Any) -> None:
        if status.trouble:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        opened(world, server.url, ReplaySpan(0, 1 << 60)).run(stop)
    server.answer = lambda _: Said()
    assert opened(world, server.url, ReplaySpan(0, 1 << 60)).goes_on
    assert not opened(world, server.url, ReplaySpan(0, 1 << 60, by="receipt")).goes_on


def test_a_mix_of_event_times_and_receipt_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    given = ["--since", "2026-03-01", "--received-until", "2026-04-01", "--data", str(tmp_path / "data")]
    done = headwater("replay", "--to", "http://127.0.0.1:1", *given, cwd=tmp_path)
    assert done.returncode != 0
    assert "can use only one of them" in " ".join(done.stderr.split())


def test_one_that_was_broken_off_begins_anew_where_events_were_removed(world: SinkWorld, server: SinkServer) -> None:
    """Its position is a row number, and rows have moved. It may repeat events but must not omit any."""
    made = [at(f"01T00:00:{second:02}") for second in range(10)]
    world.store(*bodies(made))
    break_off(world, server)
    server.taken.clear()
    open_bronze(world.settings).events.delete(f"run_id = '{runs(made)[0]}'")
    replay = opened(world, server.url)
    assert (replay.goes_on, replay.total) == (False, 9)
    assert run(replay) == (9, 0, 0)
    assert server.taken == made[1:]


def test_an_end_is_told_with_all_that_came_before_it_in_event_order(world: SinkWorld, server: SinkServer) -> None:
    """The START reached the lake after its COMPLETE, and the COMPLETE is in a separate batch."""
    (end,) = [at("02T00:00:00", eventType="COMPLETE", inputs=[])]
    start = end | {
        "eventType": "START",
        "inputs": [{"namespace": "n", "name": "i"}],
        "eventTime": "2026-03-01T00:00:00Z",
    }
    world.store(*bodies([end]))
    world.store(*bodies([start]))
    out = {"type": "openlineage", "url": server.url, "as": "runs", "compress": False}
    (world.folder / "sinks.yml").write_text(json.dumps({"version": 1, "sinks": {"out": out}}))
    since = int(datetime(2026, 3, 2, tzinfo=UTC).timestamp() * 1e6)
    assert run(opened(world, "out", ReplaySpan(since))) == (1, 0, 0)
    (sent,) = server.taken
    assert [each["name"] for each in sent["inputs"]] == ["i"]


def test_a_list_of_events_is_read_by_pages_and_moments_are_not_divided(world: SinkWorld) -> None:
    """A page contains four rows here, and five events have the same time."""
    made = [
        at(f"01T00:00:{second:02}.{micros:06}") for second, micros in [(9, 0), *[(5, 7)] * 5, (5, 8), (1, 0), (3, 1)]
    ]
    world.store(*bodies(made))
    bronze = open_bronze(world.settings)
    found = EventList(bronze, Selection(sources_ahead(bronze, {}), False, None, None), page=4)
    rows_read: list[OrderedPlace] = []
    row = 0
    while (begin := found.places_after(row, 3))[1]:
        row = begin[0] + len(begin[1])
        rows_read += begin[1]
    assert (found.total, len(rows_read), row) == (9, 9, 9)
    assert [each.event_us for each in rows_read] == sorted(each.event_us for each in rows_read)
    assert {each.sequence for each in rows_read} == set(range(1, 10))
    (removed,) = [each for each in rows_read if each.sequence == 8]  # the first event of all, so its page is read again
    bronze.events.delete(f"run_id = '{runs(made)[7]}'")
    assert found.places_after(0, 9)[1][0].event_us > removed.event_us
    assert [found.places_after(row, 1)[1] for row in range(2, 9)] == [[each] for each in rows_read[2:]]


def test_a_look_counts_and_sends_nothing(world: SinkWorld, server: SinkServer) -> None:
    made = events(3)
    world.store(*bodies(made))
    found = opened(world, server.url, ReplaySpan(runs=runs(made[:2]))).preview()
    sent = sum(len(body) for body in bodies(made[:2]))
    assert (found["would_send"], found["bytes"], found["left_out"], found["goes_on"]) == (2, sent, 1, False)
    assert found["first"] <= found["last"]
    assert {asked.method for asked in server.asked} == {"GET"}


def test_a_marquez_at_an_address_is_recognised_and_no_run_stays_open_there(
    world: SinkWorld, server: SinkServer
) -> None:
    """The late START is in a separate batch. A Headwater is a plain endpoint although it has Marquez's routes."""
    (end,) = events(1, eventType="COMPLETE")
    start = end | {"eventType": "START"}
    world.store(*bodies([end]))
    world.store(*bodies([start]))
    namespaces = Said(
        200, json.dumps({"namespaces": [{"name": "default", "createdAt": "2026-01-01T00:00:00Z"}]}).encode()
    )
    own = {"/api/v1/namespaces?limit=1": namespaces}
    server.answer = lambda asked: own.get(asked.path, Said(404 if asked.method == "GET" else 201))
    found = opened(world, server.url).run(lambda *_: None)
    assert (found["target"], server.taken[-1]["eventType"]) == ("marquez", "COMPLETE")
    own["/health/live"] = Said(401)
    assert opened(world, server.url).preview()["target"] == "openlineage"
    for said in (Said(200, b'{"namespaces": 1}'), Said(302, headers={"location": f"{server.url}/elsewhere"})):
        own["/api/v1/namespaces?limit=1"] = said
        assert opened(world, server.url).preview()["target"] == "openlineage"
    assert "/elsewhere" not in {asked.path for asked in server.asked}


def test_an_address_is_asked_again_while_its_server_starts(world: SinkWorld, server: SinkServer) -> None:
    answers = iter([Said(503), Said(429), Said(hang_up=True)])
    server.answer = lambda asked: next(answers, Said(404)) if asked.method == "GET" else Said(201)
    assert opened(world, server.url).preview()["target"] == "openlineage"
    assert next(answers, None) is None
    server.answer = lambda _: Said(503)
    with pytest.raises(Retry, match=r"is a Marquez server.*returned status 503.*Start the replay again"):
        open_replay(world.settings, world.folder, ReplaySpan(), server.url, rate=None, batch=1, key=None, patience_s=0)


def test_what_is_refused_is_named_and_left_behind(world: SinkWorld, server: SinkServer) -> None:
    made = events(4)
    world.store(*bodies(made))
    server.answer = lambda asked: Said(422, b"no") if runs(made)[2] in str(asked.events) else Said()
    found = opened(world, server.url).run(lambda *_: None)
    assert (found["delivered"], found["refused"]) == (3, 1)
    assert [reason.partition(": ")[2] for reason in found["reasons"]] == ["status 422: no"]
    server.answer = lambda _: Said()
    assert run(opened(world, server.url)) == (4, 0, 0)


def test_one_that_was_broken_off_goes_on_without_what_came_meanwhile(world: SinkWorld, server: SinkServer) -> None:
    made = events(10)
    world.store(*bodies(made))
    break_off(world, server)
    more = events(2)
    world.store(*bodies(more))
    replay = opened(world, server.url)
    assert (replay.goes_on, replay.total) == (True, 6)
    assert run(replay) == (6, 0, 0)
    assert server.taken == made
    assert not opened(world, server.url).goes_on
    assert not opened(world, server.url, ReplaySpan(jobs=["other"])).goes_on


def test_a_sink_of_the_file_is_a_target_and_keeps_its_own_place(world: SinkWorld, server: SinkServer) -> None:
    made = [*events(2, eventType="START"), *events(1, eventType="FAIL")]
    world.store(*bodies(made))
    out = {"type": "marquez", "url": server.url, "only": {"states": ["START"]}}
    named = {"out": out, "folder": {"type": "file", "folder": str(world.folder / "out")}}
    named["table"] = {"type": "delta", "table": str(world.folder / "table")}
    (world.folder / "sinks.yml").write_text(json.dumps({"version": 1, "sinks": named}))
    assert run(opened(world, "out")) == (2, 0, 1)
    assert world.ledger.sink_counts("out") == (0, 0, 0)
    with pytest.raises(WrongSetting, match="sinks reset folder"):
        opened(world, "folder")
    with pytest.raises(WrongSetting, match="sinks reset table"):
        opened(world, "table")
    with pytest.raises(WrongSetting, match="without credentials"):
        opened(world, "http://me:secret@host")


def test_killed_a_replay_of_a_running_headwater_goes_on_and_the_second_answers_as_the_first(
    tmp_path: Path, server: SinkServer
) -> None:
    data, second = tmp_path / "data", tmp_path / "second"
    for folder in (data, second):
        folder.mkdir(mode=0o700)
    hold = threading.Event()

    def answer(_: Asked) -> Said:
        if len(server.asked) >= 6:
            hold.wait(60)
        return Said()

    server.answer = answer
    with (
        Running(second, options=["--tick", "50ms"], cwd=tmp_path) as other,
        Running(data, options=["--tick", "50ms"], cwd=tmp_path) as running,
        Asker(running.url) as mine,
        Asker(other.url) as theirs,
    ):
        mine.post(*EVENTS)
        cut = started("replay", "--to", server.url, "--data", data, "--json")
        server.wait(lambda: len(server.asked) == 6)
        os.kill(cut.pid, signal.SIGKILL)
        cut.communicate()
        hold.set()
        done = headwater("replay", "--to", server.url, "--data", data, "--json", cwd=tmp_path)
        assert (done.returncode, json.loads(done.stdout)["refused"]) == (0, 0), done.stderr
        assert {*map(str, server.taken)} == {*map(str, EVENTS)}

        done = headwater("replay", "--to", other.url, "--batch", "50", "--data", data, "--json", cwd=tmp_path)
        assert json.loads(done.stdout)["delivered"] == len(EVENTS), done.stderr
        theirs.wait_for(f"runs/{EVENTS[-1]['run']['runId']}/lineage")
        eventually(lambda: theirs.ask("freshness")["seconds"] == 0)
        for question, asked in (("coverage", {}), ("surface", {}), ("upstream", {"dataset": MAILING[1]})):
            assert theirs.ask(question, **asked) == mine.ask(question, **asked), question


def test_one_that_fails_for_ever_ends_a_replay_where_another_one_was_taken(
    world: SinkWorld, server: SinkServer
) -> None:
    """No further events arrive that could show that the target works, but it accepted one before."""
    made = events(3)
    world.store(*bodies(made))
    server.answer = lambda asked: Said(500) if made[2] in asked.events else Said()
    assert run(opened(world, server.url)) == (2, 1, 0)
    assert server.taken == [*made[:2], made[1]]


def test_a_look_sees_what_a_replay_sends_of_whole_runs(world: SinkWorld, server: SinkServer) -> None:
    """A run that started before the period is sent with its start, and the preview shows that."""
    (start,) = events(1, eventType="START", inputs=[{"namespace": "n", "name": "i"}])
    world.store(*bodies([start]))
    end = start | {"eventType": "COMPLETE", "inputs": []}
    world.store(*bodies([end]))
    out = {"type": "openlineage", "url": server.url, "as": "runs", "compress": False}
    (world.folder / "sinks.yml").write_text(json.dumps({"version": 1, "sinks": {"out": out}}))
    ended = [row for row in rows(world.folder, "events", ["event_type", "received_at"]) if row["event_type"] != "START"]
    span = ReplaySpan(int(ended[0]["received_at"].timestamp() * 1e6), by="receipt")
    looked = opened(world, "out", span).preview()
    assert run(opened(world, "out", span)) == (1, 0, 0)
    (sent,) = server.taken
    assert [each["name"] for each in sent["inputs"]] == ["i"]
    assert (looked["would_send"], looked["bytes"]) == (1, int(server.asked[-1].headers["content-length"]))
