"""Unexpected errors of a target: an event that makes it crash becomes a dead letter, and all other events arrive."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headwater.sinks.connecting.secrets import Secrets
from headwater.sinks.control.service import preview_payloads, redrive_failures
from headwater.sinks.interface.options import Sink
from headwater.sinks.interface.target_registry import TARGETS, open_sink
from tests.support.data.made_events import run_event
from tests.support.data.sink_world import SinkWorld, bodies, no_token, runs, sink
from tests.support.servers.sink_target import SinkServer, eventually, sink_server

pytestmark = pytest.mark.slow

KEY = {"FAILING_KEY": "a-very-secret-key"}
OPTIONS: dict[str, Any] = {"type": "failing", "key": {"env": "FAILING_KEY"}}


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register an additional target, as an extension does."""
    monkeypatch.setitem(TARGETS.built_in, "failing", "tests.support.faults.failing_target")


def of(job: str, **members: Any) -> dict[str, Any]:
    return run_event(job={"namespace": "tests", "name": job, "facets": {}}, **members)


def made() -> list[dict[str, Any]]:
    """Return seven events: the second and sixth cannot be converted, the fourth cannot be delivered."""
    return [of(job) for job in ("a", "unreadable", "b", "undeliverable", "c", "unreadable", "d")]


def failing_sink(server: SinkServer, **more: Any) -> Sink:
    return sink(url=server.url, **OPTIONS, **more)


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize("batch", [1, 4])
def test_an_event_that_a_target_dies_of_is_given_up_and_all_others_arrive(
    tmp_path: Path, batch: int, caplog: pytest.LogCaptureFixture
) -> None:
    world, sent = SinkWorld(tmp_path), made()
    with sink_server() as server:
        world.store(*bodies(sent))
        world.settle(failing_sink(server, batch=batch), KEY)
        assert server.taken == [sent[place] for place in (0, 2, 4, 6)]
    dead = world.dead()
    assert {*dead} == {runs(sent)[place] for place in (1, 3, 5)}
    assert dead[runs(sent)[1]] == "Converting failed with KeyError: 'unreadable ***'"
    assert (
        "although it accepts another one: Delivering failed with KeyError: 'undeliverable ***'" in dead[runs(sent)[3]]
    )
    assert world.ledger.sink_counts("out") == (4, 3, 0)
    assert "Traceback (most recent call last)" in caplog.text
    assert KEY["FAILING_KEY"] not in caplog.text + str(dead)


@pytest.mark.usefixtures("failing")
def test_of_whole_runs_the_run_alone_is_given_up_that_cannot_be_converted(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    starts = [of(job, eventType="START") for job in ("a", "unreadable", "b")]
    ends = [{**event, "eventType": "COMPLETE"} for event in starts]
    with sink_server() as server:
        out = failing_sink(server, path="/runs")
        world.store(*bodies(starts))
        world.settle(out, KEY)
        world.store(*bodies(ends))
        world.settle(out, KEY)
        assert server.taken == [starts[0], starts[2], ends[0], ends[2]]
    assert world.dead().keys() == {runs(starts)[1]}
    assert world.ledger.sink_counts("out") == (4, 2, 0)


@pytest.mark.usefixtures("failing")
def test_one_event_that_cannot_be_delivered_waits_for_another_one_and_holds_it_up_no_longer(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    with sink_server() as server:
        world.store(*bodies([of("undeliverable")]))
        with world.running(failing_sink(server), KEY) as runner:
            eventually(lambda: "Delivering failed with KeyError" in (runner.status.trouble or ""))
            world.store(*bodies([good := of("good")]))
            server.wait(lambda: server.taken == [good])
            eventually(lambda: runner.status.state == "caught up")
    assert world.ledger.sink_counts("out") == (1, 1, 0)


@pytest.mark.usefixtures("failing")
def test_redriven_and_previewed_it_stays_what_it_is_without_its_secret(tmp_path: Path) -> None:
    world, sent = SinkWorld(tmp_path), made()
    secrets = Secrets(no_token, KEY)
    with sink_server() as server:
        world.store(*bodies(sent))
        out = failing_sink(server)
        world.settle(out, KEY)
        with closing(open_sink(out, secrets.reveal)) as target:
            outcome = redrive_failures(world.bronze, world.ledger, out, target, mask_secrets=secrets.mask)
            shown = preview_payloads(world.bronze, target, runs(sent)[1], secrets.mask)
    assert outcome == {"delivered": 0, "refused": 3, "gone": 0}
    assert "KeyError" in shown[0]["unfit"]
    assert KEY["FAILING_KEY"] not in json.dumps(shown)
