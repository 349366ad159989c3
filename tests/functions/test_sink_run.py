"""One run of the sinks' timer: whatever one target does, the others receive their events, and the next run
continues.
"""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from functions.sinks import SinkRun
from tests.functions.host import running
from tests.support.data.sink_world import SinkWorld, bodies, events, runs
from tests.support.servers.sink_target import Asked, Said, SinkServer, sink_server

pytestmark = pytest.mark.slow


def name_sinks(world: SinkWorld, **sinks: SinkServer | dict[str, Any]) -> None:
    """Write the sinks file with the URL, or the options, of each sink."""
    named = {
        name: {"type": "openlineage", "url": to.url} if isinstance(to, SinkServer) else to for name, to in sinks.items()
    }
    (world.folder / "sinks.yml").write_text(json.dumps({"version": 1, "sinks": named}))


def at_once(*calls: Callable[[], None]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_target_that_hangs_holds_up_no_other_one_and_is_not_asked_twice_at_a_time(
    world: SinkWorld, server: SinkServer
) -> None:
    made, answered = events(3), threading.Event()
    begun: list[str] = []

    def hang(asked: Asked) -> Said:
        begun.extend(runs(asked.events))
        assert answered.wait(60)
        return Said()

    with sink_server() as hung:
        hung.answer = hang
        name_sinks(world, hung=hung, sound=server)
        world.store(*bodies(made))
        sink_run = SinkRun(world.settings, budget_s=2.0, stop_s=0.1)
        while len(server.taken) < 3 or not begun:
            sink_run.run()
        world.store(*bodies(more := events(1)))
        while len(server.taken) < 4:
            sink_run.run()
        assert begun == runs(made)[:1]
        answered.set()
        while len(hung.taken) < 4:
            sink_run.run()
        assert hung.taken == server.taken == made + more


def test_what_the_budget_leaves_the_next_run_does_by_the_file_as_it_is_then(
    world: SinkWorld, server: SinkServer
) -> None:
    made = events(20)
    world.store(*bodies(made))
    name_sinks(world, slow={"type": "openlineage", "url": server.url, "rate": 1})
    sink_run = SinkRun(world.settings, budget_s=1.0)
    while not server.taken:
        sink_run.run()
    assert len(server.taken) < 20
    name_sinks(world, slow=server)
    while len(server.taken) < 20:
        sink_run.run()
    assert server.taken == made, "each event once, in order"


def test_two_at_once_lose_nothing_and_give_nothing_up_twice(world: SinkWorld, server: SinkServer) -> None:
    made = events(200)
    bad = runs(made)[50]
    server.answer = lambda asked: Said(422) if runs(asked.events) == [bad] else Said()
    world.store(*bodies(made))
    name_sinks(world, out=server)
    at_once(SinkRun(world.settings).run, SinkRun(world.settings).run)
    assert {*runs(server.taken)} == {*runs(made)} - {bad}
    assert [row["run_id"] for row in world.ledger.failures("out", 10)] == [bad]
    taken = len(server.taken)
    SinkRun(world.settings).run()
    assert len(server.taken) == taken


def test_a_sink_that_is_paused_stands_still_in_every_run(world: SinkWorld, server: SinkServer) -> None:
    world.store(*bodies(made := events(2)))
    name_sinks(world, out=server)
    sink_run = SinkRun(world.settings)
    world.ledger.set_paused("out", is_paused=True)
    sink_run.run()
    assert server.asked == []
    world.ledger.set_paused("out", is_paused=False)
    sink_run.run()
    assert server.taken == made


def test_least_time_between_two_batches_holds_from_run_to_run(world: SinkWorld, server: SinkServer) -> None:
    name_sinks(world, out={"type": "openlineage", "url": server.url, "every": "1h"})
    sink_run = SinkRun(world.settings)
    world.store(*bodies(first := events(2)))
    sink_run.run()
    world.store(*bodies(events(1)))
    sink_run.run()
    assert server.taken == first


def test_what_many_short_runs_write_is_kept_small(world: SinkWorld, server: SinkServer) -> None:
    name_sinks(world, out=server)
    for _ in range(3):
        world.store(*bodies(events(1)))
        SinkRun(world.settings).run()  # each run stands for a separate process
    log = world.folder / "lake" / "sinks" / "sink_failures" / "_delta_log"
    assert (log / "_last_checkpoint").exists()
    assert world.ledger.sink_counts("out") == (3, 0, 0)


@pytest.mark.parametrize(("point", "repeated"), [("sinks.delivered", 1), ("sinks.committed", 0)])
def test_an_app_that_is_killed_amid_a_run_repeats_one_batch_at_most(
    package: Path, world: SinkWorld, server: SinkServer, point: str, repeated: int
) -> None:
    tmp_path = world.folder
    made = events(3)
    world.store(*bodies(made))
    name_sinks(world, out=server)
    with running(package, tmp_path / "first.log", triggers=["sinks"], data=world.folder, failpoint=f"{point}:1") as app:
        with pytest.raises(AssertionError, match="The worker has died"):
            app.tick("sinks")
        assert server.taken == made
    with running(package, tmp_path / "second.log", triggers=["sinks"], data=world.folder) as app:
        assert app.tick("sinks") is None
    assert server.taken == made * (1 + repeated)
    assert world.ledger.sink_counts("out") == (3, 0, 0)
