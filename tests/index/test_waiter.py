"""A request that changes something waits until answers include the change. The index wakes it, and the wait
is limited.
"""

import asyncio
import json
from pathlib import Path

import pytest

from headwater.api.freshness import IndexWaiter, now_us
from headwater.index.writing.follower import IndexFollower
from headwater.operations.runtime.index import open_freshness, open_index_home, open_rules
from tests.marquez.lake import EVENTS
from tests.support.data.parsing import World

pytestmark = pytest.mark.slow  # needs a lake

LONG_S = 3600.0


async def _waits(world: World) -> tuple[bool, bool, list[bool]]:
    """Return the results of a wait that is too short, of one that is not needed, and of many while the
    index continues.
    """
    freshness = open_freshness(world.settings, world.folder, lambda: [world.reader()])
    index_waiter, before_us = IndexWaiter(freshness), 1
    in_time, older = (
        await index_waiter.wait_until_visible(now_us(), within_s=0.05),
        await index_waiter.wait_until_visible(before_us, within_s=LONG_S),
    )
    waiting = [asyncio.create_task(index_waiter.wait_until_visible(now_us(), within_s=LONG_S)) for _ in range(50)]
    for work in (_parse, _follow):
        await asyncio.sleep(0)
        index_waiter.notify()  # a notification without progress must not end a wait
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
