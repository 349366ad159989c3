"""A sink between a real lake and a real HTTP server: which events arrive, in which order, and how it waits."""

import itertools
import json
import threading
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from headwater.lake.bronze_follower import sources_ahead, sources_before
from headwater.lake.maintenance import compact_tables, vacuum_tables
from headwater.operations.local.log_epochs import begin_epoch
from headwater.sinks.connecting.secrets import Secrets
from headwater.sinks.control.service import parse_position, preview_payloads, redrive_failures
from headwater.sinks.interface.target_registry import open_sink
from headwater.sinks.running.delivery import MAX_BATCH_EVENTS
from headwater.sinks.running.runner import SinkRunner
from tests.support.data.made_events import body, dataset_event, job_event, run_event
from tests.support.data.sink_world import SinkWorld, bodies, events, no_token, runs, sink
from tests.support.servers.sink_target import Asked, Said, SinkServer, eventually, sink_server

SECRET = "a-very-secret-key"


def refuse(*refused: str, status: int = 500, **said: Any) -> Any:
    """Return an answer function that refuses requests with one of these runs, and answers 200 otherwise."""
    return lambda asked: Said(status, **said) if {*runs(asked.events)} & {*refused} else Said()


def says(runner: SinkRunner, word: str) -> bool:
    return word in (runner.status.trouble or "")


def states(taken: list[Any], run: str) -> list[str]:
    return [event["eventType"] for event in taken if event["run"]["runId"] == run]


@pytest.mark.parametrize("batch", [1, 7])
def test_what_the_lake_has_arrives_once_and_in_order(world: SinkWorld, server: SinkServer, batch: int) -> None:
    made = events(20)
    world.store(*bodies(made), *bodies(made[:5]))
    world.settle(sink(type="openlineage", url=server.url, batch=batch))
    assert server.taken == made
    world.settle(sink(type="openlineage", url=server.url, batch=batch))
    assert server.taken == made, "a second start must not send any event again"
    assert world.ledger.sink_counts("out") == (20, 0, 0)


@pytest.mark.slow
def test_a_sink_that_runs_gets_what_comes(world: SinkWorld, server: SinkServer) -> None:
    with world.running(sink(type="openlineage", url=server.url)):
        for count in (3, 2):
            world.store(*bodies(events(count)))
            server.wait(lambda: len(server.taken) % 5 in (0, 3) and len(server.taken) > 0)
        server.wait(lambda: len(server.taken) == 5)


@pytest.mark.parametrize(
    ("only", "wanted"),
    [
        ({"namespaces": ["prod"]}, ["a", "c"]),
        ({"namespaces": ["pr*"], "jobs": ["load.?"]}, ["a"]),
        ({"states": ["FAIL"]}, ["b", "job", "dataset"]),
        ({"kinds": ["RUN"], "states": ["START", "FAIL"]}, ["a", "b"]),
        ({"kinds": ["DATASET"]}, ["dataset"]),
        ({"jobs": ["nothing"]}, []),
    ],
)  # fmt: skip
def test_a_sink_takes_only_what_its_filter_says(
    world: SinkWorld, server: SinkServer, only: dict[str, Any], wanted: list[str]
) -> None:
    made = {
        "a": run_event(eventType="START", job={"namespace": "prod", "name": "load.x"}),
        "b": run_event(eventType="FAIL", job={"namespace": "test", "name": "load.x"}),
        "c": run_event(eventType="COMPLETE", job={"namespace": "prod", "name": "other"}),
        "job": job_event(),
        "dataset": dataset_event(),
    }
    world.store(*map(body, made.values()))
    world.settle(sink(type="openlineage", url=server.url, only=only))
    assert server.taken == [made[name] for name in wanted]
    assert world.ledger.sink_counts("out") == (len(wanted), 0, 5 - len(wanted))


@pytest.mark.parametrize(
    "trouble",
    [Said(503), Said(429, headers={"retry-after": "1"}), Said(401, b"who are you?"), Said(404), Said(hang_up=True),
     Said(302, headers={"location": "http://127.0.0.1:1/elsewhere"})],
)  # fmt: skip
def test_a_target_that_takes_nothing_is_waited_for_and_then_gets_all_in_order(
    world: SinkWorld, server: SinkServer, trouble: Said
) -> None:
    made = events(6)
    world.store(*bodies(made))
    server.answer = lambda _: trouble if len(server.asked) < 2 else Said()
    with world.running(sink(type="openlineage", url=server.url, batch=3)) as runner:
        server.wait(lambda: len(server.asked) == 1)
        eventually(lambda: runner.status.trouble)
        assert runner.status.next_try_us
        server.wait(lambda: len(server.taken) == 6)
        eventually(lambda: runner.status.state == "caught up" and runner.status.trouble is None)
    assert server.taken == made
    assert world.ledger.sink_counts("out") == (6, 0, 0)


def test_a_target_that_answers_too_late_or_is_cut_off_gets_the_event_again(
    world: SinkWorld, server: SinkServer
) -> None:
    (made,) = events(1)
    world.store(body(made))
    late, numbers = threading.Event(), itertools.count()

    def answer(_: Asked) -> Said:
        number = next(numbers)
        if number == 1:
            late.wait(60)
        return Said(200, b"{", headers={"content-length": "100"}) if number == 0 else Said(hang_up=number == 1)

    server.answer = answer
    with world.running(sink(type="openlineage", url=server.url, timeout="300ms")) as runner:
        eventually(partial(says, runner, "IncompleteRead"))
        eventually(partial(says, runner, "timed out"))
        eventually(lambda: world.ledger.sink_counts("out") == (1, 0, 0))
        late.set()
    assert {*runs(server.taken)} == {*runs([made])}


@pytest.mark.slow
def test_an_address_where_nobody_listens_and_a_certificate_that_is_wrong_are_named(
    world: SinkWorld, server: SinkServer
) -> None:
    world.store(*bodies(events(1)))
    nowhere = "http://nowhere.invalid"
    https = server.url.replace("http:", "https:")
    for url, word in (("http://127.0.0.1:1", "refused"), (https, "SSL"), (nowhere, f"No response from {nowhere}")):
        with world.running(sink(type="openlineage", url=url)) as runner:
            eventually(partial(says, runner, word))
    assert world.ledger.sink_counts("out") == (0, 0, 0)


@pytest.mark.slow
def test_what_is_refused_for_good_is_kept_with_its_reason_and_redriven(world: SinkWorld, server: SinkServer) -> None:
    made = events(6)
    bad, poison = runs(made)[1], runs(made)[3]
    world.store(*bodies(made))
    server.answer = lambda asked: (refuse(bad, status=422, body=b"no such thing") if bad in runs(asked.events)
                                   else refuse(poison, status=500))(asked)  # fmt: skip
    out = sink(type="openlineage", url=server.url)
    world.settle(out)
    assert server.taken == [event for event in made if event["run"]["runId"] not in (bad, poison)]
    assert world.dead()[bad] == "status 422: no such thing"
    assert "although it accepts another one: status 500" in world.dead()[poison]
    assert world.ledger.sink_counts("out") == (4, 2, 0)

    server.answer = refuse(bad, status=422)
    with closing(open_sink(out, Secrets(no_token, {}).reveal)) as target:
        assert redrive_failures(world.bronze, world.ledger, out, target) == {"delivered": 1, "refused": 1, "gone": 0}
        assert [*world.dead()] == [bad]
        server.answer = lambda _: Said()
        assert redrive_failures(world.bronze, world.ledger, out, target) == {"delivered": 1, "refused": 0, "gone": 0}
    assert (world.dead(), world.ledger.failure_count("out")) == ({}, 0)
    assert sorted(runs(server.taken)) == sorted(runs(made))


@pytest.mark.slow
def test_what_fails_for_ever_at_the_end_of_a_partition_holds_up_no_other_one(
    world: SinkWorld, server: SinkServer
) -> None:
    (poison,), later = events(1), events(3)
    world.store(body(poison))
    server.answer = refuse(*runs([poison]), status=500)
    with world.running(sink(type="openlineage", url=server.url)) as runner:
        eventually(partial(says, runner, "status 500"))
        begin_epoch(world.settings)
        world.store(*bodies(later))
        server.wait(lambda: server.taken == later)
        eventually(lambda: runner.status.state == "caught up")
    assert [*world.dead()] == runs([poison])
    assert world.ledger.sink_counts("out") == (3, 1, 0)


def test_what_a_batchs_answer_names_is_refused_or_sent_again_alone(world: SinkWorld, server: SinkServer) -> None:
    made = events(5)
    world.store(*bodies(made))
    failed = [
        {"index": 1, "reason": "no such thing", "retriable": False},
        {"index": 3, "reason": "busy", "retriable": True},
    ]
    answer = {"status": "partial_success", "failed_events": failed}
    server.answer = lambda _: Said(200, json.dumps(answer).encode()) if not server.asked else Said(204, b"")
    world.settle(sink(type="openlineage", url=server.url, batch=100))
    assert [runs(asked.events) for asked in server.asked] == [runs(made), runs(made[3:4])]
    assert world.dead() == {runs(made)[1]: "no such thing"}
    assert world.ledger.sink_counts("out") == (4, 1, 0)


def test_events_of_one_run_keep_their_order_whatever_fails(world: SinkWorld, server: SinkServer) -> None:
    starts = events(10, eventType="START")
    ends = [run_event(eventType="COMPLETE", run=event["run"]) for event in starts]
    world.store(*bodies([*starts, *ends]))
    count = iter(range(1000))
    server.answer = lambda _: Said(500 if next(count) % 3 == 1 else 200)
    world.settle(sink(type="openlineage", url=server.url, batch=4))
    assert world.ledger.sink_counts("out") == (20, 0, 0)
    assert all(states(server.taken, run) == ["START", "COMPLETE"] for run in runs(starts))


@pytest.mark.slow
def test_two_sinks_on_one_lake_do_not_wait_for_each_other(world: SinkWorld, server: SinkServer) -> None:
    made = events(50)
    hold = threading.Event()

    def slow(_: Asked) -> Said:
        hold.wait(60)
        return Said()

    with sink_server() as stuck:
        stuck.answer = slow
        world.store(*bodies(made))
        first = sink(type="openlineage", url=stuck.url)._replace(name="stuck")
        with world.running(first), world.running(sink(type="openlineage", url=server.url)) as quick:
            server.wait(lambda: len(server.taken) == 50)
            eventually(lambda: quick.status.state == "caught up")
            assert world.ledger.sink_counts("out").delivered == 50
            assert world.ledger.sink_counts("stuck").delivered == 0
            hold.set()
            stuck.wait(lambda: len(stuck.taken) == 50)


def test_a_paused_sink_stands_still_also_while_it_waits_for_its_target(world: SinkWorld, server: SinkServer) -> None:
    world.store(*bodies(events(3)))
    server.answer = lambda _: Said(503, headers={"retry-after": "3000"})
    with world.running(sink(type="openlineage", url=server.url)) as runner:
        server.wait(lambda: len(server.asked) == 1)
        world.ledger.set_paused("out", is_paused=True)
        eventually(lambda: runner.status.state == "paused")
        server.answer = lambda _: Said()
        asked = len(server.asked)
        world.ledger.set_paused("out", is_paused=False)
        server.wait(lambda: len(server.taken) == 3)
        assert len(server.asked) == asked + 3


@pytest.mark.slow
def test_what_was_delivered_before_a_stop_is_not_delivered_again(world: SinkWorld, server: SinkServer) -> None:
    made = events(8)
    world.store(*bodies(made))
    bad = runs(made)[1]
    server.answer = lambda asked: refuse(bad, status=400)(asked) if len(server.asked) < 5 else Said(503)
    out = sink(type="openlineage", url=server.url)
    with world.running(out):
        server.wait(lambda: len(server.asked) > 5)
    assert world.ledger.sink_counts("out")[:2] == (4, 1)
    assert [*world.dead()] == [bad]
    server.answer = lambda _: Said()
    world.settle(out)
    assert server.taken == [event for event in made if event["run"]["runId"] != bad]
    assert world.ledger.sink_counts("out") == (7, 1, 0)


@pytest.mark.slow
def test_a_reset_sink_sends_again_from_there_and_counts_go_on(world: SinkWorld, server: SinkServer) -> None:
    made = events(6)
    world.store(*bodies(made))
    out = sink(type="openlineage", url=server.url)
    world.settle(out)
    (source,) = sources_ahead(world.bronze, {})
    world.ledger.reset("out", parse_position(world.bronze, world.ledger, "out", f"{source.partition}:4"))
    world.settle(out)
    assert server.taken == made + made[4:]
    world.ledger.reset("out", sources_before(world.bronze, 0))
    world.settle(out)
    assert server.taken == made + made[4:] + made
    world.ledger.reset("out", sources_before(world.bronze, 1 << 60))
    world.settle(out)
    assert len(server.taken) == 14
    assert world.ledger.sink_counts("out").delivered == 14


@pytest.mark.slow
def test_a_sink_that_begins_now_leaves_history_out_even_when_it_starts_again(
    world: SinkWorld, server: SinkServer
) -> None:
    world.store(*bodies(events(3)))
    out = sink(type="openlineage", url=server.url, begin="now")
    world.settle(out)
    later = events(2)
    world.store(*bodies(later))
    world.settle(out)
    assert server.taken == later


def test_secrets_go_to_the_target_and_nowhere_else(
    world: SinkWorld, server: SinkServer, caplog: pytest.LogCaptureFixture
) -> None:
    made = events(2)
    world.store(*bodies(made))
    headers = {"x-api-key": {"env": "OUT_KEY"}, "x-team": "a"}
    out = sink(type="openlineage", url=server.url, key={"env": "OUT_KEY"}, headers=headers)
    server.answer = refuse(runs(made)[0], status=400, body=f"your key {SECRET} is fine, the event is not".encode())
    world.settle(out, {"OUT_KEY": SECRET})
    asked = server.asked[0].headers
    assert (asked["authorization"], asked["x-api-key"], asked["x-team"]) == (f"Bearer {SECRET}", SECRET, "a")
    assert world.dead() == {runs(made)[0]: "status 400: your key *** is fine, the event is not"}
    files = [path.read_bytes() for path in world.folder.rglob("*") if path.is_file()]
    assert files
    assert not any(SECRET.encode() in text for text in files)
    assert SECRET not in caplog.text


def test_a_secret_that_is_not_there_is_waited_for_and_named(world: SinkWorld, server: SinkServer) -> None:
    world.store(*bodies(events(1)))
    with world.running(sink(type="openlineage", url=server.url, key={"env": "OUT_KEY"})) as runner:
        eventually(lambda: "OUT_KEY is not set" in (runner.status.trouble or ""))
    assert server.asked == []


def test_a_preview_is_what_is_sent(world: SinkWorld, server: SinkServer) -> None:
    made = events(3)
    world.store(*bodies(made))
    out = sink(type="openlineage", url=server.url)
    with closing(open_sink(out, Secrets(no_token, {}).reveal)) as target:
        found = preview_payloads(world.bronze, target, runs(made)[1])
    assert [json.loads(item["payload"]) for item in found] == [made[1]]
    assert server.asked == []


@pytest.mark.slow
def test_large_bodies_and_odd_names_go_through(world: SinkWorld, server: SinkServer) -> None:
    made = events(3, job={"namespace": "'; DROP--", "name": "x" * 4000})
    made[1]["job"] = {"namespace": "n", "name": "big", "facets": {"big": {"value": "ü" * (5 << 20)}}}
    world.store(*bodies(made))
    world.settle(sink(type="openlineage", url=server.url, batch=10, compress=False))
    assert server.taken == made


@pytest.mark.slow
def test_what_stands_behind_a_wide_gap_of_the_log_is_found(world: SinkWorld, server: SinkServer) -> None:
    first, last = events(2)
    world.store(*[body(first)] * (MAX_BATCH_EVENTS + 100), body(last))
    world.settle(sink(type="openlineage", url=server.url))
    assert server.taken == [first, last]


@pytest.mark.slow
def test_the_ledger_stays_small_and_keeps_what_it_says(world: SinkWorld, server: SinkServer) -> None:
    made = events(2)
    server.answer = refuse(runs(made)[0], status=400)
    out = sink(type="openlineage", url=server.url)
    for event in made:
        world.store(body(event))
        world.settle(out)
    compact_tables(world.ledger)
    vacuum_tables(world.ledger, 24)
    assert world.ledger.sink_counts("out") == (1, 1, 0)
    assert [*world.dead()] == [runs(made)[0]]
    world.settle(out)
    assert len(server.asked) == 2


@pytest.mark.slow
def test_two_runners_of_one_sink_lose_nothing_and_do_not_go_back(world: SinkWorld, server: SinkServer) -> None:
    made = events(300)
    out = sink(type="openlineage", url=server.url, batch=7)
    with world.running(out), world.running(out):
        for first in range(0, 300, 60):
            world.store(*bodies(made[first : first + 60]))
        server.wait(lambda: {*runs(made)} <= {*runs(server.taken)})
    world.settle(out)
    taken = len(server.taken)
    world.settle(out)
    assert len(server.taken) == taken
    assert world.dead() == {}
