"""Notices about silence: the tests control the clock, and no event wakes the sink."""

from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headwater.sinks.connecting.secrets import Secrets
from headwater.sinks.control.service import redrive_failures
from headwater.sinks.interface.shape import CLOCK
from headwater.sinks.interface.target_registry import open_sink
from headwater.sinks.running.silence import MAX_PAYLOADS
from tests.support.data.made_events import body, run_event
from tests.support.data.sink_world import SinkWorld, bodies, no_token, runs, sink
from tests.support.servers.sink_target import Said, SinkServer, eventually, sink_server

pytestmark = pytest.mark.slow

HOUR_US = 3600 * 1_000_000
SECRET = {"HOOK": f"whsec_{'A' * 32}"}


def hook(server: SinkServer, **options: Any) -> Any:
    alone = {"notices": ["run.lost"]}
    return sink(type="webhook", url=server.url, secret={"env": "HOOK"}, every="1ms", **alone | options)


def begun(hours_ago: float = 0.0, **members: Any) -> dict[str, Any]:
    at = datetime.now(UTC) - timedelta(hours=hours_ago)
    return run_event(**{"eventType": "START", "eventTime": at.isoformat()} | members)


def told(world: SinkWorld, server: SinkServer, **options: Any) -> list[str]:
    """Return the runs that the sink has reported so far."""
    world.settle(hook(server, **options), SECRET)
    return [each["data"]["runId"] for each in server.taken]


def test_a_run_is_told_once_when_a_day_has_passed_and_again_when_it_is_lost_again(tmp_path: Path) -> None:
    world, run = SinkWorld(tmp_path), begun()
    world.store(body(run))
    with sink_server() as server:
        assert told(world, server) == []
        world.later_us = int(23.9 * HOUR_US)
        assert told(world, server) == []
        world.later_us = int(24.2 * HOUR_US)
        assert told(world, server) == told(world, server) == runs([run])
        world.store(body(run | {"eventType": "RUNNING", "eventTime": begun(-10)["eventTime"]}))
        world.later_us = 30 * HOUR_US
        assert told(world, server) == runs([run])
        world.later_us = int(34.2 * HOUR_US)
        assert told(world, server) == runs([run, run])
    first, second = server.taken
    assert (first["type"], first["data"]["startedAt"]) == ("run.lost", first["data"]["lastEventAt"])
    assert first["id"] != second["id"]
    assert datetime.fromisoformat(first["timestamp"]) - datetime.fromisoformat(
        first["data"]["lastEventAt"]
    ) == timedelta(days=1)


def test_events_that_keep_coming_do_not_hold_silence_back(tmp_path: Path) -> None:
    """A sink that has just received a batch waits for more. A run that is lost meanwhile is still reported."""
    world, run = SinkWorld(tmp_path), begun()
    world.store(body(run))
    with sink_server() as server:
        assert told(world, server) == []
        world.later_us = int(24.2 * HOUR_US)
        world.store(body(begun(-2)))
        busy = sink(type="webhook", url=server.url, secret={"env": "HOOK"}, every="1h", notices=["run.lost"])
        with world.running(busy, SECRET) as runner:
            eventually(lambda: server.taken)
            eventually(lambda: runner.status.state == "collecting")
        assert [each["data"]["runId"] for each in server.taken] == runs([run])


def test_what_has_ended_elsewhere_or_is_not_wanted_is_not_told(tmp_path: Path) -> None:
    """An id that is not a UUID belongs to one job only. A run with a UUID may end under a different job name."""
    world, renamed, other = SinkWorld(tmp_path), begun(30), begun(30, job={"namespace": "else", "name": "job"})
    mine, ended = (begun(30, run={"runId": "nightly"}, job={"namespace": "tests", "name": name}) for name in "ab")
    ends = [
        each | {"eventType": "COMPLETE"} for each in (renamed | {"job": {"namespace": "tests", "name": "x"}}, ended)
    ]
    world.store(*bodies([renamed, other, mine, ended, *ends]))
    with sink_server() as server:
        assert told(world, server, only={"namespaces": ["tests"]}) == ["nightly"]
        assert server.taken[0]["data"]["job"]["name"] == "a"


def test_a_sink_that_begins_now_tells_nothing_of_before_and_one_from_the_start_all(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    made = [begun(30 + number + (100 * 24 if number < 5 else 0)) for number in range(MAX_PAYLOADS + 50)]
    world.append(*bodies(made[:5]))
    world.age(100)
    for first in range(5, len(made), 60):
        world.store(*bodies(made[first : first + 60]))
    with sink_server() as server:
        assert told(world, server, begin="now") == []
    with sink_server() as server:
        again = hook(server)._replace(name="all")
        world.settle(again, SECRET)
        assert sorted(each["data"]["runId"] for each in server.taken) == sorted(runs(made))


def test_one_that_reaches_the_lake_long_after_it_was_silent_is_told(tmp_path: Path) -> None:
    world, late = SinkWorld(tmp_path), begun(30)
    world.store(body(run_event()))
    world.append(body(late))
    world.later_us = HOUR_US
    with sink_server() as server:
        assert told(world, server) == []
        world.store()
        assert told(world, server) == runs([late])


def test_a_notice_that_is_refused_is_kept_with_its_moment_and_redriven(tmp_path: Path) -> None:
    world, run = SinkWorld(tmp_path), begun(30)
    world.store(body(run))
    with sink_server() as server:
        server.answer = lambda _: Said(410)
        assert told(world, server) == []
        (row,) = world.ledger.failures("out", 10)
        assert (row["log"], row["run_id"]) == (CLOCK.log, run["run"]["runId"])
        out, refused = hook(server), server.asked[0].events
        server.answer = lambda _: Said()
        with closing(open_sink(out, Secrets(no_token, SECRET).reveal)) as target:
            assert redrive_failures(world.bronze, world.ledger, out, target)["delivered"] == 1
        assert (server.taken, world.dead()) == (refused, {})


def test_one_notice_that_fails_for_ever_holds_up_no_event_that_comes(tmp_path: Path) -> None:
    world, run, failed = SinkWorld(tmp_path), begun(30), run_event(eventType="FAIL")
    world.store(body(run))
    with sink_server() as server:
        server.answer = lambda asked: Said(500 if asked.events[0]["type"] == "run.lost" else 200)
        with world.running(hook(server, notices=["run.lost", "run.failed"]), SECRET):
            server.wait(lambda: bool(server.asked))
            world.store(body(failed))
            eventually(world.dead)
        assert [each["data"]["runId"] for each in server.taken] == runs([failed])
    assert "although it accepts another one" in world.dead()[run["run"]["runId"]]
    assert world.ledger.sink_counts("out") == (1, 1, 0)


def test_what_is_not_taken_before_the_sink_ends_is_told_by_the_next_one(tmp_path: Path) -> None:
    world, made = SinkWorld(tmp_path), [begun(30), begun(31)]
    world.store(*bodies(made))
    with sink_server() as server:
        server.answer = lambda _: Said(503) if server.taken else Said()
        with world.running(hook(server), SECRET) as runner:
            eventually(lambda: runner.status.trouble)
        assert len(server.taken) == 1
        server.answer = lambda _: Said()
        assert {*told(world, server)} == {*runs(made)}
