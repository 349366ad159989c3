"""Who changes something waits until questions see it: woken by the index, not by a clock, and not for ever."""

import asyncio
import json
from pathlib import Path

import pytest

from headwater.api.freshness import IndexWaiter, now_us
from headwater.index.writing.follower import IndexFollower
from headwater.operations.runtime.index import open_freshness, open_index_home, open_rules
from tests.marquez.lake import EVENTS
from tests.support.data.parsing import World

pytestmark = pytest.mark.slow  # a lake

LONG_S = 3600.0


async def _waits(world: World) -> tuple[bool, bool, list[bool]]:
    """Return what one is told who cannot wait, one who never needs to, and many who wait while the index goes on."""
    freshness = open_freshness(world.settings, world.folder, lambda: [world.reader()])
    index_waiter, before_us = IndexWaiter(freshness), 1
    in_time, older = (
        await index_waiter.wait_until_visible(now_us(), within_s=0.05),
        await index_waiter.wait_until_visible(before_us, within_s=LONG_S),
    )
    waiting = [asyncio.create_task(index_waiter.wait_until_visible(now_us(), within_s=LONG_S)) for _ in range(50)]
    for work in (_parse, _follow):
        await asyncio.sleep(0)
        index_waiter.notify()  # a wake that says nothing new answers nobody
        assert not any(each.done() for each in waiting)
        await asyncio.to_thread(work, world)
    index_waiter.notify()
    return in_time, older, await asyncio.gather(*waiting)


def _parse(world: World) -> None:
    parser = world.parser()
    while parser.commit_next():
        pass


def _follow(world: World) -> None:
    follower = IndexFollower(open_index_home(world.folder), world.bronze)
    while follower.process_batches(open_rules(world.settings).current_rules().names):
        pass
    follower.close()


def test_a_change_is_waited_for_until_the_index_has_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(*(json.dumps(event).encode() for event in EVENTS))
    assert asyncio.run(_waits(world)) == (False, True, [True] * 50)
