"""With every fault of one target, the other sinks continue, no event is lost, and the fault is reported."""

from pathlib import Path

import pytest

from headwater.sinks.control.service import redrive_failures
from headwater.sinks.interface.target_registry import open_sink
from tests.support.data.sink_world import SinkWorld, bodies, events, no_token, runs, sink
from tests.support.faults.sink_faults import FAULTS, faulty_server
from tests.support.servers.sink_target import eventually

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_holds_up_no_other_sink_and_loses_nothing(tmp_path: Path, name: str) -> None:
    world, made = SinkWorld(tmp_path / "data"), events(15)
    healthy = sink(type="file", folder=str(tmp_path / "out"), every="1ms")._replace(name="healthy")
    with faulty_server(name) as (server, address, fault, over):
        out = sink(type="openlineage", url=address)
        with world.running(out) as faulty, world.running(healthy):
            for first in (0, 5, 10):
                world.store(*bodies(made[first : first + 5]))
                eventually(lambda upto=first + 5: world.ledger.sink_counts("healthy").delivered == upto)  # type: ignore[misc]
            assert fault.passes or world.ledger.sink_counts("out") == (0, 0, 0)
            if not fault.passes and name != "answers after 30 s":
                eventually(lambda: faulty.status.trouble)
            if fault.passes:
                eventually(lambda: sum(world.ledger.sink_counts("out")) == 15)
            over.set()
        repaired = sink(type="openlineage", url=server.url)
        world.settle(repaired)
        target = open_sink(repaired, no_token)  # type: ignore[arg-type]
        refused = len(world.dead())
        assert all("422" in reason for reason in world.dead().values())
        assert redrive_failures(world.bronze, world.ledger, repaired, target)["delivered"] == refused
        target.close()
    assert {*runs(server.taken)} == {*runs(made)}
    assert world.dead() == {}
    assert refused == (name == "one event refused for ever")
